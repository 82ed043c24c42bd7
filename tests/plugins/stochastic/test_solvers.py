"""Stochastic subgradient methods on linear problems: step by step against plain numpy, and what each one promises."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.problems import blobs, make, posed
from support.stochastic import LINEAR, Replay, after, means, rows, state_of

from svmkit.errors import InputError
from svmkit.kernels.functions import RBF
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Full, Shuffled, Uniform
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Epochs, Gap, Iterations

pytestmark = pytest.mark.usefixtures("one_pool")

every_linear = pytest.mark.parametrize("name", LINEAR)
every_loss = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])


def last(iterates):
    *_, w = iterates
    return w


# --- the published algorithms


@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("batch", [1, 7, 40])
@every_loss
def test_pegasos(loss, batch, project):
    data = rows(m=40)  # 7 does not divide 40: a mini-batch goes on in the next epoch
    options = {"loss": loss, "batch": batch, "project": project, "average": "none"}
    for epochs in (1, 3):
        want = last(Replay(data, loss=loss, epochs=epochs).pegasos(batch, project))
        np.testing.assert_allclose(after("pegasos", epochs, data=data, **options)[1], want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("bias", [0.0, 2.0])
@every_loss
def test_sgd(loss, bias):
    state, w = after("sgd", loss=loss, bias=bias, average="none")
    t0 = state.w.now[0]["t0"]
    assert t0 > 0.0
    np.testing.assert_allclose(w, last(Replay(rows(), loss=loss, bias=bias).sgd(t0)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("clip", [2.0, 100.0, 1e4])
@pytest.mark.parametrize("skip", [1, 6])
@pytest.mark.parametrize("curvature", ["step", "column"])
@every_loss
def test_sgdqn(loss, curvature, skip, clip):
    data = rows()
    options = {"skip": skip, "clip": clip, "curvature": curvature}
    state, w = after("sgdqn", data=data, loss=loss, average="none", **options)
    want = last(Replay(data, loss=loss).sgdqn(state.w.now[0]["t0"], **options))
    np.testing.assert_allclose(w, want, rtol=1e-8, atol=1e-11)
    assert np.ptp(state.B) > 0.0


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@every_loss
def test_folos(loss, penalty):
    data = rows()
    state, w = after("folos", data=data, loss=loss, penalty=penalty, average="none")
    now = state.w.now[0]
    want = last(Replay(data, loss=loss).folos(penalty, t0=now["t0"], eta0=now["eta"] * data[2].mean()))
    np.testing.assert_allclose(w, want, rtol=1e-9, atol=1e-12)
    if penalty == "l1":
        assert w[2] == 0.0


@pytest.mark.parametrize("average", ["mean", "late"])
@every_linear
def test_averages_are_means_of_the_iterates(name, average):
    data, epochs = rows(), 4
    state, w = after(name, epochs, data=data, average=average)
    t0 = state.w.now[0]["t0"]
    replay = Replay(data, epochs=epochs)
    iterates = {
        "pegasos": lambda: replay.pegasos(),
        "sgd": lambda: replay.sgd(t0),
        "folos": lambda: replay.folos("l2", t0),
        "sgdqn": lambda: replay.sgdqn(t0, state.skip, 1e4, "column"),
    }[name]()
    np.testing.assert_allclose(w, means(iterates, average), rtol=1e-9, atol=1e-12)


def test_a_mean_of_many_iterates_keeps_its_digits():
    data = rows(m=400)
    for options in ({"average": "mean"}, {"average": "late"}, {"average": "late", "project": True}):
        _, w = after("pegasos", 30, data=data, **options)
        want = means(Replay(data, epochs=30).pegasos(project="project" in options), options["average"])
        np.testing.assert_allclose(w, want, rtol=1e-7)


def test_the_projection_bound_holds():
    X, y, C = rows(m=60)
    solver = make("pegasos", project=True, average="none")
    problem = posed(solver, 30.0 * X, y, C)
    state, free = (state_of(s, problem, Uniform(1)) for s in (solver, make("pegasos", average="none")))
    radius, beyond = np.sqrt(C.sum()), 0
    for _ in range(300):
        solver.step(state), make("pegasos", average="none").step(free)
        assert np.linalg.norm(solver.solution(state)) <= radius * (1 + 1e-9)
        beyond += np.linalg.norm(solver.solution(free)) > radius
    assert beyond > 10


@every_loss
def test_the_first_step_is_the_best_of_those_around_it(loss):
    data = _, y, C = rows(m=200)
    state, _ = after("sgd", 0, data=data, loss=loss, average="none")
    eta0 = make("sgd").details(state)["eta0"]
    assert state.w.now[0]["t0"] == pytest.approx(C.sum() / eta0)
    order = np.random.default_rng(0).permutation(200)  # the sample: all rows, in the order they were drawn in

    def ending(eta):
        replay = Replay(data, loss=loss)
        for i in order:
            replay.w = replay.w - eta * (replay.lam * replay.w - replay.pull(i, replay.w) * y[i] * replay.X[i])
        return state.problem.objective(replay.w)

    assert ending(eta0) < min(ending(2.0 * eta0), ending(0.5 * eta0))


# --- what comes out


@pytest.mark.parametrize("C", [0.01, 1.0])
@every_loss
@every_linear
def test_within_one_percent_of_the_certified_optimum(name, loss, C):
    X, y = blobs(500, 5)
    dcd, solver = make("dcd", loss=loss), make(name, loss=loss)
    optimum = solve(posed(dcd, X, y, C), dcd, stop=Gap(1e-6)).certificate.primal
    solution = solve(posed(solver, X, y, C), solver, stop=Epochs(300))
    assert optimum <= solution.certificate.primal * (1 + 1e-6) <= 1.01 * optimum
    assert solution.certificate.gap <= 0.02 and solution.n_iter == 300


def test_the_default_rule_ends():
    X, y = blobs(300, 3, share=0.03)
    for name in LINEAR:
        solver = make(name)
        solution = solve(posed(solver, X, y, 1.0), solver)
        assert solution.status in (Status.CONVERGED, Status.MAX_ITER)
        assert solution.certificate.gap <= 0.05


def test_l1_equals_liblinear_and_has_zeros():
    from sklearn.svm import LinearSVC

    X, y = blobs(600, 4)
    X = sp.csr_array(sp.hstack([X, sp.random(600, 100, density=0.01, rng=np.random.default_rng(0))]))
    solver = make("folos", loss="squared_hinge", penalty="l1", bias=0.5)
    problem = posed(solver, X, y, 0.05)
    peer = LinearSVC(penalty="l1", loss="squared_hinge", dual=False, C=0.05, intercept_scaling=0.5, tol=1e-8).fit(X, y)
    want = problem.objective(np.append(peer.coef_[0], peer.intercept_[0] / 0.5))
    solution = solve(problem, solver, stop=Iterations(100))
    assert want * (1 - 1e-6) <= solution.certificate.primal <= 1.001 * want
    zero, ours = peer.coef_[0] == 0.0, solution.point[:-1] == 0.0
    assert zero.sum() == 100 and ours[zero].sum() >= 90 and not ours[~zero].any()
    assert np.count_nonzero(solution.point) <= 15


def test_l1_hinge_equals_the_linear_program():
    from scipy.optimize import linprog

    X, y, C = rows(m=30)
    Xb = np.column_stack([X, np.ones(30)])
    d = Xb.shape[1]  # w = u - v, u, v >= 0, and slacks
    signed = y[:, None] * Xb
    best = linprog(np.r_[np.ones(2 * d), C], A_ub=np.hstack([-signed, signed, -np.eye(30)]), b_ub=-np.ones(30))
    solver = make("folos", penalty="l1")
    solution = solve(posed(solver, X, y, C), solver, stop=Iterations(5000))
    assert best.fun * (1 - 1e-9) <= solution.certificate.primal <= 1.01 * best.fun


def test_sgdqn_needs_fewer_epochs_than_sgd_where_columns_differ():
    X, y = blobs(2000, 12)
    X[:, 6:] *= 0.05
    target, dcd = 1.01, make("dcd")
    optimum = solve(posed(dcd, X, y, 1.0), dcd, stop=Gap(1e-5)).certificate.primal
    epochs = {}
    for name in ("sgd", "sgdqn"):
        solver = make(name)
        problem = posed(solver, X, y, 1.0)
        state = state_of(solver, problem, Shuffled())
        epochs[name] = 0
        while problem.objective(solver.solution(state)) > target * optimum and epochs[name] < 400:
            solver.step(state)
            epochs[name] += 1
    assert epochs["sgdqn"] < epochs["sgd"]


# --- what goes in


STORED = {
    "csr": sp.csr_array,
    "int64": lambda X: _wide(sp.csr_array(X)),
    "explicit zeros": lambda X: sp.csr_array((X.ravel(), np.tile(np.arange(4), len(X)), np.arange(0, X.size + 1, 4))),
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "float32 csr": lambda X: sp.csr_array(X.astype(np.float32)),
}


def _wide(X):
    return sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)


@pytest.mark.parametrize("storage", STORED)
@pytest.mark.parametrize(("name", "options"), [*((n, {}) for n in LINEAR), ("folos", {"penalty": "l1"})])
def test_every_storage_gives_the_same(name, options, storage):
    X, y, C = rows(m=80)
    X = X.astype(np.float32).astype(np.float64)
    kept = STORED[storage](X)
    assert not sp.issparse(kept) or "zeros" not in storage or kept.nnz == X.size
    want = after(name, data=(X, y, C), **options)[1]
    np.testing.assert_allclose(after(name, data=(kept, y, C), **options)[1], want, rtol=1e-6, atol=1e-8)


@every_linear
@pytest.mark.slow
def test_read_only_arrays(name):
    X, y, C = rows(m=80)
    want = after(name, data=(X, y, C))[1]
    for part in (X, y, C):
        part.setflags(write=False)
    for kept in (X, sp.csr_array(X)):
        if sp.issparse(kept):
            for part in (kept.data, kept.indices, kept.indptr):
                part.setflags(write=False)
        np.testing.assert_allclose(after(name, data=(kept, y, C))[1], want, rtol=1e-9, atol=1e-12)


@every_loss
@every_linear
def test_rows_far_larger_than_the_others_and_rows_of_zeros(name, loss):
    X, y = blobs(300, 3)
    X[::50] *= 1e4
    X[1::50] = 0.0
    for C in (1e-4, 1.0, 1e6):
        solver = make(name, loss=loss)
        assert np.isfinite(solve(posed(solver, X, y, C), solver, stop=Iterations(20)).certificate.primal)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("pegasos", {"batch": 0}, "batch must be a whole number >= 1, not 0"),
        ("pegasos", {"average": "all"}, "average must be one of none, mean, late, not 'all'"),
        ("sgd", {"loss": "log"}, "loss='log' is not known; there are: hinge, squared_hinge, logistic, smoothed_hinge"),
        ("sgdqn", {"skip": -1}, "skip must be a whole number >= 0"),
        ("sgdqn", {"clip": 0.5}, "clip must be a finite number >= 1, not 0.5"),
        ("sgdqn", {"curvature": "all"}, "curvature must be column or step"),
        ("folos", {"penalty": "l3"}, "penalty must be l2 or l1, not 'l3'"),
        ("norma", {"eta": 0.0}, "eta must be a finite number > 0, not 0.0"),
        ("norma", {"tau": -2}, "tau must be a whole number >= 0 .*not -2"),
    ],
)
def test_options_out_of_range(name, options, words):
    with pytest.raises(InputError, match=words) as error:
        make(name, **options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["sgd", "sgdqn", "folos"])
def test_other_kernels_are_refused(name):
    X, _ = blobs(20)
    with pytest.raises(InputError, match=rf"{name} needs the linear kernel, not rbf; with rbf: .*pegasos"):
        make(name).check_kernel(RBF(0.5))
    with pytest.raises(InputError, match="one class only"):
        posed(make(name), X, np.ones(20), 1.0)


@every_linear
def test_the_order_is_the_samplers(name):
    one, two, again = (after(name, 2, sampler=Shuffled(), seed=seed)[1] for seed in (1, 2, 1))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, two)
    solver = make(name)
    state = state_of(solver, posed(solver, *rows()), Full())
    info = solver.step(state)
    assert np.isnan(info.objective) and info.epochs == 1.0 and info.n_support == 4
