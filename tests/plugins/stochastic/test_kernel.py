"""Pegasos and NORMA on coefficients of the samples: step by step against plain numpy, truncation, chunks."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise
from support.problems import blobs, make, posed
from support.stochastic import Replay, after, means, norma, rows, state_of

from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear, Precomputed, Sigmoid
from svmkit.kernels.gram import Gram
from svmkit.problems.risks.kernel_risk import KernelRisk
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Full, Permuted, Uniform
from svmkit.solver.stopping import Epochs, Gap, Iterations, Support

pytestmark = pytest.mark.usefixtures("one_pool")

every_kernel = pytest.mark.parametrize("name", ["pegasos", "norma"])
every_loss = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
GAMMA = RBF(0.5)


def matrix(X, bias=1.0):
    return pairwise.rbf_kernel(X, gamma=0.5) + bias**2


def last(iterates):
    *_, point = iterates
    return point


# --- the published algorithms


@pytest.mark.parametrize(("m", "options"), [(40, {}), (600, {}), (600, {"batch": 7}), (600, {"project": True})])
@pytest.mark.parametrize("average", ["none", "late"])
@every_loss
def test_pegasos_is_the_linear_one_in_the_kernels_space(loss, average, m, options):
    data = X, y, C = rows(m)
    solver = make("pegasos", loss=loss, average=average, **options)
    problem = KernelRisk(Gram(Linear(), X), y, C, loss=loss)
    state = state_of(solver, problem)
    iterates = list(Replay(data, loss=loss, epochs=2).pegasos(**options))
    for _ in range(2):
        solver.step(state)
    w = np.column_stack([X, np.ones(m)]).T @ solver.solution(state)
    want = iterates[-1] if average == "none" else means(iterates, average)
    np.testing.assert_allclose(w, want, rtol=1e-7, atol=1e-9)
    if options.get("project"):
        assert np.linalg.norm(w) <= np.sqrt(C.sum()) * (1 + 1e-9)


@pytest.mark.parametrize("tau", [0, 1, 5, 300])
@pytest.mark.parametrize("eta", [0.2, 2.0])
@every_loss
def test_norma(loss, eta, tau):
    data = X, y, C = rows(m=700)
    want = list(norma(matrix(X), y, C, eta=eta, tau=tau, loss=loss))
    _, c = after("norma", 2, data=data, loss=loss, eta=eta, tau=tau, average="none")
    np.testing.assert_allclose(c, want[-1], rtol=1e-7, atol=1e-9)
    if tau:
        assert np.count_nonzero(c) == np.count_nonzero(want[-1]) <= tau
    else:
        _, mean = after("norma", 2, data=data, loss=loss, eta=eta, average="mean")
        np.testing.assert_allclose(mean, np.mean(want, axis=0), rtol=1e-7, atol=1e-9)


def test_truncation_keeps_the_last_ones():
    data = X, y, C = rows(m=500)
    state, c = after("norma", 1, data=data, tau=20, average="none")
    every = last(norma(matrix(X), y, C, epochs=1))
    kept = np.flatnonzero(c)
    assert len(kept) == 20 and state.members.tolist() == kept.tolist()
    assert kept.min() > 350 and set(kept) <= set(np.flatnonzero(last(norma(matrix(X), y, C, tau=20, epochs=1))))
    assert np.count_nonzero(every) > 100


@pytest.mark.parametrize("sampler", [Uniform(9), Permuted(33)])
@every_kernel
def test_draws_of_any_size_are_the_same_walk(name, sampler):
    X, y, C = rows(m=300)
    solver = make(name, **({"tau": 50} if name == "norma" else {"batch": 4}))
    problem = posed(solver, X, y, C, kernel=GAMMA)
    rng = np.random.default_rng(3)
    generator = sampler.draws(y, rng)
    drawn = [next(generator) for _ in range(40)]
    state, whole = state_of(solver, problem, sampler, seed=3), state_of(solver, problem)
    for _ in range(40):
        solver.step(state)
    solver.walk(whole, whole.whole_batches(np.concatenate(drawn)))
    np.testing.assert_allclose(solver.solution(state), whole.w.point, rtol=1e-7, atol=1e-10)
    np.testing.assert_array_equal(state.waiting, whole.waiting)


# --- what comes out


@pytest.mark.parametrize("C", [0.05, 1.0])
@every_loss
@every_kernel
def test_within_one_percent_of_the_certified_optimum(name, loss, C):
    X, y = blobs(200, 3)
    # rows of the factor of the kernel matrix with its bias: a linear problem with the same optimum
    factor = np.linalg.cholesky(matrix(X) + 1e-9 * np.eye(200))
    dcd, solver = make("dcd", loss=loss, bias=0.0), make(name, loss=loss)
    optimum = solve(posed(dcd, factor, y, C), dcd, stop=Gap(1e-6)).certificate.primal
    solution = solve(posed(solver, X, y, C, kernel=GAMMA), solver, stop=Iterations(200))
    assert optimum * (1 - 1e-6) <= solution.certificate.primal <= 1.01 * optimum
    assert 0.0 <= solution.certificate.gap <= 0.05


@every_kernel
def test_a_start_without_a_certificate_moves(name):
    """The kernel is not positive semidefinite, so that no gap says how good the start is."""
    X, y = blobs(200)
    problem = posed(make(name), X, y, 1.0, Sigmoid(0.1, -0.5))
    start = np.full(200, 0.01)
    assert problem.certificate(start).gap is None
    ends = [solve(problem, make(name), stop=Epochs(30), start=given).certificate.primal for given in (None, start)]
    assert ends[1] == pytest.approx(ends[0], rel=0.01)


def test_squared_hinge_is_the_simplex_program():
    X, y = blobs(150, 3)
    swap, solver = make("swap2o"), make("pegasos", loss="squared_hinge")
    optimum = solve(swap.pose(Gram(GAMMA, X), y, 1.0), swap, stop=Gap(1e-6)).certificate
    solution = solve(posed(solver, X, y, 1.0, kernel=GAMMA), solver, stop=Iterations(300))
    assert optimum.dual <= solution.certificate.primal <= 1.01 * optimum.primal


@pytest.mark.parametrize("most", [1, 7, 40])
def test_a_support_budget_is_tau(most):
    X, y = blobs(300, 3)
    solver = make("norma")
    problem = posed(solver, X, y, 1.0)
    solution = solve(problem, solver, stop=Support(most) | Iterations(3))
    assert np.count_nonzero(solution.point) <= most and solution.n_iter == 3
    cut = solve(problem, make("norma", tau=most), stop=Iterations(3))
    np.testing.assert_allclose(solution.point, cut.point)
    # from a start, the largest stay
    start = y * np.random.default_rng(0).uniform(0.1, 1.0, size=300)
    state = state_of(solver, problem, start=start)
    solver.limit_support(state, most)
    np.testing.assert_array_equal(np.flatnonzero(solver.solution(state)), np.sort(np.argsort(np.abs(start))[-most:]))


def test_no_more_kernel_values_than_needed():
    X, y, C = rows(m=600)
    solver = make("norma", tau=30)
    problem = posed(solver, X, y, C)
    state = state_of(solver, problem)
    solver.step(state)
    assert problem.gram.kernel_values <= 600 * (30 + 30 + 30)  # expansion, chunk of tau, those that leave


# --- what goes in


STORED = {
    "csr": sp.csr_array,
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "float32 csr": lambda X: sp.csr_array(X.astype(np.float32)),
}


@pytest.mark.parametrize("storage", STORED)
@every_kernel
def test_every_storage_gives_the_same(name, storage):
    X, y, C = rows(m=300)
    X = X.astype(np.float32).astype(np.float64)
    want = after(name, 2, data=(X, y, C), kernel=GAMMA)[1]
    got = after(name, 2, data=(STORED[storage](X), y, C), kernel=GAMMA)[1]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@every_kernel
def test_a_precomputed_kernel_and_read_only_arrays(name):
    X, y, C = rows(m=100)
    K = pairwise.rbf_kernel(X, gamma=0.5)
    want = after(name, 2, data=(X, y, C), kernel=GAMMA)[1]
    for part in (K, y, C):
        part.setflags(write=False)
    np.testing.assert_allclose(after(name, 2, data=(K, y, C), kernel=Precomputed())[1], want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("bias", [0.0, 2.0])
@every_kernel
def test_the_bias_is_a_constant_of_the_kernel(name, bias):
    X, y, C = rows(m=100)
    K = pairwise.rbf_kernel(X, gamma=0.5) + bias**2
    got = after(name, 2, data=(X, y, C), kernel=GAMMA, bias=bias)[1]
    want = after(name, 2, data=(K, y, C), kernel=Precomputed(), bias=0.0)[1]
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


@every_kernel
def test_equal_rows_and_one_class(name):
    X, y = blobs(60, 2)
    X, y = np.vstack([X, X]), np.r_[y, -y]  # every sample with both labels
    solver = make(name)
    solution = solve(posed(solver, X, y, 1.0, kernel=GAMMA), solver, stop=Iterations(50))
    assert 120.0 <= solution.certificate.primal <= 1.01 * 120.0  # w = 0 is best
    with pytest.raises(InputError, match="one class only"):
        posed(solver, X, np.ones(120), 1.0, kernel=GAMMA)


def test_the_sampler_may_repeat_a_row_in_a_chunk():
    X, y, C = rows(m=30)
    solver = make("norma", average="none")
    problem = posed(solver, X, y, C)
    state = state_of(solver, problem, Full())
    order = np.random.default_rng(0).integers(30, size=200)
    solver.walk(state, order)
    K, s, c = matrix(X), C / C.mean(), np.zeros(30)
    for t, i in enumerate(order, 1):
        step = 0.2 * C.mean() * np.sqrt(30 / t)
        loses = y[i] * (K[i] @ c) < 1.0
        c *= 1.0 - step / C.sum()
        c[i] += step * s[i] * y[i] * loses
    np.testing.assert_allclose(solver.solution(state), c, rtol=1e-9, atol=1e-12)
