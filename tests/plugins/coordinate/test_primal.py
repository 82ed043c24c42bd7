"""Coordinate descent on the primal: the optima of LIBLINEAR and scikit-learn, any storage, any data, exact zeros."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression
from support.liblinear import liblinear, primal

from svmkit import fit, plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.losses import (
    Expectile,
    Huber,
    Logistic,
    SmoothedHinge,
    SquaredEpsilonInsensitive,
    SquaredError,
    SquaredHinge,
)
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Draws, Full
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations

LOSSES = [
    SquaredHinge(),
    SmoothedHinge(0.5),
    SquaredError(),
    SquaredEpsilonInsensitive(0.2),
    Huber(0.3),
    Expectile(0.8),
    Logistic(),
]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)


def samples(m, d, used=5, density=None, seed=0):
    """X (m, d), dense or CSR, with labels and targets that depend on some columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d)) if density is None else sp.random(m, d, density, format="csr", rng=rng)
    w = np.zeros(d)
    w[:used] = rng.normal(size=used)
    t = X @ w + 0.3 * rng.normal(size=m)
    return X, np.where(t > 0.0, 1.0, -1.0), t


def pose(X, target, C, loss, **options):
    solver = plugins.build("solver", "cd", {"loss": loss, **options})
    return solver.pose(Gram(Linear(), X), target, C, loss), solver


def found(X, target, C, loss=None, gap=1e-8, **options):
    problem, solver = pose(X, target, C, loss or SquaredHinge(), **options)
    solution = solve(problem, solver, stop=Gap(gap) | Iterations(2000))
    assert solution.status is Status.CONVERGED, (solution.status, solution.certificate)
    return problem, solution


@pytest.mark.parametrize("C", [1e-4, 0.05, 1.0, 50.0])
@pytest.mark.parametrize("density", [None, 0.1])
def test_the_logistic_objective_is_liblinears(C, density):
    """LIBLINEAR's -s 6, whose bias is a column of ones that is penalised as the others are."""
    X, y, _ = samples(150, 40, density=density)
    peer = LogisticRegression(penalty="l1", solver="liblinear", C=C, tol=1e-9, max_iter=20_000).fit(X, y)
    h = np.asarray(X @ peer.coef_[0]) + peer.intercept_[0]
    theirs = np.abs(peer.coef_).sum() + abs(peer.intercept_[0]) + C * np.logaddexp(0.0, -y * h).sum()
    ours = found(X, y, C, Logistic(), bias=1.0)[1].certificate
    assert ours.primal <= theirs * (1.0 + 1e-9) and ours.dual <= theirs and ours.primal >= theirs * (1.0 - 1e-5)


@pytest.mark.parametrize("bias", [1.0, 0.0, 2.5])
@pytest.mark.parametrize(
    ("m", "d", "density", "C"),
    [(200, 30, None, 1.0), (60, 300, None, 0.3), (300, 200, 0.05, 2.0), (500, 8, None, 20.0)],
)
def test_the_objective_is_liblinears(m, d, density, C, bias):
    X, y, _ = samples(m, d, density=density)
    _, solution = found(X, y, C, bias=bias)
    peer = primal(X, y, C, liblinear(X, y, C, "squared_hinge", bias, "l1", tol=1e-6), "squared_hinge", bias, "l1")
    ours = primal(X, y, C, solution.point, "squared_hinge", bias, "l1")
    assert ours == pytest.approx(solution.certificate.primal, rel=1e-12)
    assert ours == pytest.approx(peer, rel=1e-6)
    assert (solution.point == 0.0).any() or d < 10


@pytest.mark.parametrize("bias", ["free", 0.0])
@pytest.mark.parametrize(("m", "d"), [(100, 20), (40, 200)])
@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_least_squares_are_the_lasso_and_the_elastic_net(m, d, bias, ratio):
    """1/(2 m) |t - h|^2 + alpha Omega(w) is C |t - h|^2 + Omega(w) with C = 1 / (2 m alpha)."""
    X, _, t = samples(m, d)
    alpha = 0.05
    options = {"penalty": "l1"} if ratio == 1.0 else {"penalty": "elasticnet", "l1_ratio": ratio}
    problem, solution = found(X, t, 1.0 / (2.0 * m * alpha), SquaredError(), gap=1e-9, bias=bias, **options)
    peer = (Lasso(alpha) if ratio == 1.0 else ElasticNet(alpha, l1_ratio=ratio)).set_params(
        fit_intercept=bias == "free", tol=1e-12, max_iter=100_000
    )
    peer.fit(X, t)
    w, intercept = peer.coef_, peer.intercept_

    theirs = problem.certificate(problem.start_weights(w, intercept)).primal
    assert solution.certificate.primal == pytest.approx(theirs, rel=1e-8)
    model = problem.decision_function(solution.point, solution.certificate)
    np.testing.assert_allclose(model.w, w, atol=1e-4)
    np.testing.assert_array_equal(np.abs(model.w) > 1e-4, np.abs(w) > 1e-4)
    assert model.intercept == pytest.approx(intercept, abs=1e-4)


@every_loss
@pytest.mark.parametrize("bias", ["free", 1.0, 0.0])
@pytest.mark.parametrize("penalty", [{"penalty": "l1"}, {"penalty": "elasticnet", "l1_ratio": 0.3}], ids=["l1", "net"])
def test_every_smooth_loss_converges(loss, bias, penalty):
    X, y, t = samples(80, 40)
    target = y if loss.task == "classify" else t
    for C in (1e-4, 0.1, 10.0):
        problem, solution = found(X, target, C, loss, gap=1e-7, bias=bias, **penalty)
        rest = solution.certificate.dual
        for w in np.random.default_rng(0).normal(size=(5, problem.design.width)):
            assert rest <= problem.objective(w)


def test_a_small_C_leaves_no_column():
    X, y, _ = samples(50, 10)
    _, solution = found(X, y, 1e-4, bias="free")
    assert not solution.point[:-1].any() and len(solution.history) == 1  # rounding may make a round of some steps


@pytest.mark.parametrize("bias", ["free", 1.0])
def test_storage_does_not_matter(bias):
    X, y, _ = samples(150, 60, density=0.1)
    dense = X.toarray().astype(np.float32).astype(np.float64)
    kinds = dense, np.asfortranarray(dense), dense.astype(np.float32), sp.csr_array(dense), sp.csc_array(dense).tocsr()
    kinds += (sp.csr_array(dense.astype(np.float32)),)
    values = [found(kind, y, 3.0, bias=bias)[1].certificate.primal for kind in kinds]
    assert values == pytest.approx([values[0]] * len(kinds), rel=1e-7)


@every_loss
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e3])
def test_columns_that_depend_on_each_other(loss, C):
    """Duplicate, constant, zero, huge and tiny columns, more columns than rows."""
    X, y, t = samples(40, 30)
    ones = np.ones((40, 1))
    X = np.hstack([X, X[:, :5], -X[:, :2], 0.0 * ones, 3.0 * ones, ones, 1e4 * X[:, 5:7], 1e-4 * X[:, 7:9]])
    target = y if loss.task == "classify" else t
    for bias in ("free", 1.0):
        problem, solver = pose(X, target, C, loss, bias=bias)
        solution = solve(problem, solver, stop=Gap(1e-6) | Iterations(5000))
        certificate = solution.certificate
        assert certificate.flaw is None
        assert certificate.gap <= 1e-6 or certificate.is_exhausted, (solution.status, certificate)
        assert np.isfinite(solution.point).all() and solution.point[37] == 0.0


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e3, pytest.param(1e6, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("m", "d"), [(1000, 10), (20, 500)])
def test_any_C(C, m, d):
    X, y, _ = samples(m, d)
    for bias in ("free", 1.0):
        problem, solver = pose(X, y, C, SquaredHinge(), bias=bias)
        certificate = solve(problem, solver, stop=Gap(1e-5) | Iterations(5000)).certificate
        assert certificate.flaw is None and (certificate.gap <= 1e-5 or certificate.is_exhausted), certificate


def test_what_the_gap_leaves_out_is_0_at_the_optimum():
    X, y, _ = samples(100, 200)
    problem, solution = found(X, y, 0.05, gap=1e-10, bias=1.0)
    solver = plugins.build("solver", "cd")
    state, left_out = solver.init(problem, None, Draws(Full(), problem.y, 0)), []
    for _ in range(10):
        solver.step(state)
        state.leave_out()
        left_out.append(int(state.out.sum()))
        assert not solution.point[:-1][state.out].any()
    assert left_out[-1] >= 150


def test_weights_of_samples_multiply_C():
    X, y, _ = samples(60, 10)
    weights = np.random.default_rng(0).integers(1, 4, 60)
    weighed = found(X, y, 0.5 * weights)[1].certificate.primal
    repeated = found(np.repeat(X, weights, axis=0), np.repeat(y, weights), 0.5)[1].certificate.primal
    assert weighed == pytest.approx(repeated, rel=1e-7)


def test_a_start_near_the_optimum_is_taken():
    X, y, _ = samples(200, 100)
    problem, solution = found(X, y, 1.0)
    again = solve(problem, plugins.build("solver", "cd"), stop=Gap(1e-8), start=solution.point)
    assert again.n_iter <= 1 < solution.n_iter


def test_a_kink_is_refused_by_name():
    solver = plugins.build("solver", "cd")
    X, y, _ = samples(10, 5)
    with pytest.raises(
        InputError, match=r"cd does not take loss=hinge; it takes squared_hinge, logistic, smoothed_hinge, .*huber"
    ):
        plugins.build("solver", "cd", {"loss": "hinge"}).pose(Gram(Linear(), X), y, 1.0)
    with pytest.raises(InputError, match="needs a share of"):
        replace(solver, penalty="l2")


def test_other_solvers_of_l1_refuse_a_free_bias():
    X, y, _ = samples(10, 5)
    solver = plugins.build("solver", "folos", {"penalty": "l1", "bias": "free"})
    with pytest.raises(InputError, match="a free bias with penalty=l1 is for cd"):
        solve(solver.pose(Gram(Linear(), X), y, 1.0), solver)


@pytest.mark.parametrize("C", [0.1, 32.0, 1e3])
def test_a_solve_that_nothing_improves_ends(C):
    """Of eight rows, without a gap to reach: the optimum is exact after a few steps."""
    X, y = np.random.default_rng(8).normal(size=(8, 3)), np.where(np.arange(8) % 2, 1.0, -1.0)
    for bias in ("free", 1.0):
        problem, solver = pose(X, y, C, SquaredHinge(), bias=bias)
        assert solve(problem, solver, stop=Iterations(1000)).n_iter < 400


def test_losses_beyond_float64_are_refused_in_one_line():
    X, y = np.split(np.random.default_rng(0).normal(size=(20, 4)), [3], axis=1)
    with pytest.raises(InputError, match="float64 cannot hold the losses") as told:
        fit(X, 1e160 * y[:, 0], task="regress", solver="cd", kernel=Linear(), loss="squared_epsilon_insensitive")
    assert "\n" not in str(told.value)
