"""newton: optima against LIBLINEAR, scikit-learn and scipy, its derivatives, both kinds of steps, and ugly data."""

from functools import partial

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC, LinearSVR
from support.newton import samples, steps, trained
from support.problems import blobs, make
from svmkit_newton import narrow
from svmkit_newton import newton as module
from svmkit_newton.hessian import SHARE, Matrix, Products
from svmkit_newton.samples import fill_derivatives, line_search

from svmkit import SVMClassifier, SVMRegressor, fit
from svmkit.errors import InputError
from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.losses import Expectile, Huber, SmoothedHinge, SquaredEpsilonInsensitive, SquaredError, SquaredHinge
from svmkit.solver.loop.recorder import Journal
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Draws, Full
from svmkit.solver.stopping import Gap, Iterations
from svmkit.training.checkpoint import LastProgress

LOSSES = [
    SquaredHinge(), SmoothedHinge(0.5), SquaredEpsilonInsensitive(0.3), SquaredError(), Huber(0.4), Expectile(0.8),
]  # fmt: skip
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
every_bias = pytest.mark.parametrize("bias", [1.0, 0.0, 3.0, "free"])


def by_scipy(X, target, C, loss, bias):
    """P of the optimum by L-BFGS on the definition of the loss, with derivatives by its record."""
    terms = loss.terms(target, C)
    column = 1.0 if bias == "free" else bias
    A = np.column_stack([X, np.full(len(X), column)])
    penalty = np.append(np.ones(X.shape[1]), 0.0 if bias == "free" else 1.0)

    def value(w):
        h = A @ w
        e = target - h
        up = np.clip(np.maximum(e - terms.kink_up, 0.0) / terms.ridge_up, 0.0, terms.upper)
        down = np.clip(np.maximum(-e - terms.kink_down, 0.0) / terms.ridge_down, 0.0, -terms.lower)
        return 0.5 * penalty @ np.square(w) + C @ loss.value(target, h), penalty * w - A.T @ (up - down)

    found = scipy.optimize.minimize(
        value,
        np.zeros(A.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10**5},
    )
    return found.fun


# --- optima


@every_loss
@every_bias
@steps
def test_the_optimum_is_that_of_scipy(loss, bias, options):
    X, target, C = samples(loss)
    solution, _, w, intercept = trained(X, target, C, loss, bias=bias, **options)
    best = by_scipy(X, target, C, loss, bias)
    assert solution.certificate.primal == pytest.approx(best, rel=1e-7)
    own = 0.0 if bias in ("free", 0.0) else 0.5 * (intercept / bias) ** 2
    assert 0.5 * w @ w + own + C @ loss.value(target, X @ w + intercept) == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e6])
@steps
def test_it_is_liblinear_primal(C, options):
    X, y, _ = samples(SquaredHinge(), m=300)
    ours = trained(X, y, C, SquaredHinge(), gap=1e-7, bias=1.0, **options)
    theirs = LinearSVC(C=C, dual=False, tol=1e-12, max_iter=100_000).fit(X, y)
    w, b = theirs.coef_[0], theirs.intercept_[0]
    P = 0.5 * (w @ w + b * b) + C * np.square(np.maximum(1.0 - y * (X @ w + b), 0.0)).sum()
    assert ours[0].certificate.primal == pytest.approx(P, rel=1e-6)
    assert ours[0].certificate.dual <= P * (1.0 + 1e-12)


@steps
def test_it_is_liblinear_in_regression(options):
    X, t, _ = samples(SquaredEpsilonInsensitive(0.3))
    ours = trained(X, t, 2.0, SquaredEpsilonInsensitive(0.3), bias=1.0, **options)
    theirs = LinearSVR(
        C=2.0, epsilon=0.3, loss="squared_epsilon_insensitive", dual=False, tol=1e-12, max_iter=100_000
    ).fit(X, t)
    np.testing.assert_allclose(np.append(ours[2], ours[3]), np.append(theirs.coef_, theirs.intercept_), atol=1e-4)


@steps
def test_least_squares_is_ridge_in_one_step(options):
    X, t, _ = samples(SquaredError())
    solution, _, w, intercept = trained(X, t, 2.0, SquaredError(), bias="free", gap=1e-10, **options)
    theirs = Ridge(alpha=1.0 / (2.0 * 2.0), tol=1e-12).fit(X, t)
    np.testing.assert_allclose(np.append(w, intercept), np.append(theirs.coef_, theirs.intercept_), atol=1e-6)
    assert options.get("wide") == 0 or solution.n_iter <= 2


@every_loss
def test_far_fewer_steps_than_samples(loss):
    X, target, C = samples(loss, m=2000, d=20)
    for scale in (1e-3, 1.0, 1e3):
        assert trained(X, target, scale * C, loss, bias="free")[0].n_iter <= 25


# --- its parts


def begun(loss, bias="free", seed=0, wide=1000):
    X, target, C = samples(loss, seed=seed)
    solver = make("newton", loss=loss, bias=bias, wide=wide)
    problem = solver.pose(Gram(Linear(), X), target, C, loss)
    return problem, module.Wide(problem, None, 1e-3, wide)


@every_loss
@pytest.mark.parametrize("bias", [2.0, "free"])
def test_gradient_and_hessian_are_finite_differences(loss, bias):
    problem, state = begun(loss, bias)
    rng = np.random.default_rng(1)
    w, points = rng.normal(size=state.w.size), problem.points
    penalty = state.penalty

    def gradient(w):
        slopes, curvature = np.empty(problem.m), np.empty(problem.m)
        sums = fill_derivatives(points, problem.decision(w), slopes, curvature)
        return 0.5 * penalty @ np.square(w) + sums.loss, penalty * w - problem.design.pull(slopes), curvature

    value, g, curvature = gradient(w)
    assert value == pytest.approx(
        0.5 * penalty @ np.square(w) + problem.C @ problem.loss.value(problem.terms.target, problem.decision(w))
    )
    matrix, products = Matrix(problem.design, penalty), Products(problem.design, penalty)
    matrix.update(curvature)
    products.update(curvature)
    H = np.triu(matrix.H) + np.triu(matrix.H, 1).T + np.diag(penalty)
    for k, e in enumerate(np.eye(w.size)):
        step = 1e-6
        up, down = gradient(w + step * e), gradient(w - step * e)
        assert (up[0] - down[0]) / (2 * step) == pytest.approx(g[k], rel=1e-4, abs=1e-3)
        np.testing.assert_allclose((up[1] - down[1]) / (2 * step), H[k], rtol=1e-4, atol=1e-3 * np.abs(H).max())
        np.testing.assert_allclose(products.times(e), H[k], rtol=1e-10, atol=1e-10 * np.abs(H).max())


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_a_matrix_follows_second_derivatives(storage):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6)) * (rng.random((80, 6)) < 0.5)
    problem = make("newton").pose(Gram(Linear(), storage(X)), np.sign(rng.normal(size=80)), 1.0)
    matrix, A = Matrix(problem.design, np.ones(7)), np.column_stack([X, np.ones(80)])
    matrix.pairs = storage is sp.csr_array  # which only longer rows would be worth
    weights = rng.uniform(0.5, 2.0, 80)
    for share in (1.0, 0.9, 0.85, 0.3, 0.3, 0.0):
        curvature = weights * (np.arange(80) < share * 80)
        matrix.update(curvature)
        np.testing.assert_allclose(np.triu(matrix.H), np.triu(A.T @ (curvature[:, None] * A)), atol=1e-12)
        g = rng.normal(size=7)
        s = matrix.direction(g)[0]
        np.testing.assert_allclose(A.T @ (curvature * (A @ s)) + s, -g, atol=1e-10)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("bias", [0.0, 2.0, "free"])
def test_the_preconditioner_is_mixed_from_the_diagonal(storage, bias):
    rng = np.random.default_rng(0)
    X, curvature = rng.normal(size=(80, 6)), rng.uniform(0.0, 2.0, 80)
    problem = make("newton", bias=bias).pose(Gram(Linear(), storage(X)), np.sign(rng.normal(size=80)), 1.0)
    columns = [] if bias == 0.0 else [np.full((80, 1), problem.bias)]
    diagonal = curvature @ np.hstack([X, *columns]) ** 2
    penalty = np.ones(len(diagonal))
    if bias == "free":
        penalty[-1] = 0.0
    products = Products(problem.design, penalty)
    products.update(curvature)
    expected = SHARE * diagonal + penalty
    if bias == "free":
        expected[-1] = diagonal[-1]
    np.testing.assert_allclose(1.0 / products.inverse, expected)


@every_loss
@pytest.mark.parametrize("bias", [2.0, "free"])
@pytest.mark.parametrize("kind", ["narrow", "wide"])
def test_near_the_optimum_the_gap_is_that_of_the_dual_point(loss, bias, kind):
    X, target, C = samples(loss)
    solver = make("newton", loss=loss, bias=bias)
    problem = solver.pose(Gram(Linear(), X), target, C, loss)
    state = module.Narrow(problem, None, 0.1) if kind == "narrow" else module.Wide(problem, None, 0.1, 1000)
    while state.gap > 0.1:
        state.move(1)
    assert state.gap == pytest.approx(problem.certificate(solver.solution(state)).gap, rel=1e-6, abs=1e-9)


@every_loss
@pytest.mark.parametrize("m", [40, 20_000])
def test_the_line_search_is_exact(loss, m):
    rng = np.random.default_rng(2)
    target = np.sign(rng.normal(size=m)) if loss.task == "classify" else rng.normal(size=m)
    problem = make("newton", loss=loss).pose(Gram(Linear(), rng.normal(size=(m, 1))), target, 1.0, loss)
    h, change = rng.normal(size=m), rng.normal(size=m)
    t = line_search(problem.points, h, change, -1.0, 2.0, 1.0)

    def value(t):
        return -t + t * t + problem.total_loss(h + t * change)

    best = scipy.optimize.minimize_scalar(value, tol=1e-12)
    assert value(t) <= best.fun * (1.0 + 1e-12) and t == pytest.approx(best.x, abs=1e-5)


@every_loss
@steps
def test_bounds_close_from_both_sides(loss, options):
    X, target, C = samples(loss)
    best = trained(X, target, C, loss, bias="free", gap=1e-10)[0].certificate
    solver = make("newton", loss=loss, bias="free", **options)
    for k in range(1, 6):
        problem = solver.pose(Gram(Linear(), X), target, C, loss)
        solution = solve(problem, solver, stop=Iterations(k))
        assert solution.n_iter <= k and problem.infeasible(solution.point) is None
        assert solution.certificate.dual <= best.primal * (1.0 + 1e-12)
        assert solution.certificate.primal >= best.dual * (1.0 - 1e-12)


@every_loss
def test_the_history_of_a_compiled_solve_has_a_point_for_each_iteration(loss):
    X, target, C = samples(loss)
    solver = make("newton", loss=loss, bias="free")
    problem = solver.pose(Gram(Linear(), X), target, C, loss)
    history = solve(problem, solver, stop=Gap(1e-10)).history
    assert [point.n_iter for point in history] == list(range(1, len(history) + 1))
    assert len(history) > 2 or loss.name == "squared_error"  # one step is all that a parabola needs
    for point in history:
        last = solve(problem, solver, stop=Iterations(point.n_iter)).history[-1]
        assert (point.objective, point.n_support) == (pytest.approx(last.objective), last.n_support)
    times = [point.seconds for point in history]
    assert sorted(set(times)) == times


@every_bias
@pytest.mark.parametrize("steps", ["narrow", "matrix", "products"])
def test_decision_values_are_those_of_the_weights(bias, options):
    X, y, C = samples(SquaredHinge())
    solver = make("newton", bias=bias, **options)
    problem = solver.pose(Gram(Linear(), X), y, C, SquaredHinge())
    state = solver.init(problem, None, Draws(Full(), y, np.random.default_rng(0)))
    assert isinstance(state, module.Narrow) == module.is_narrow(problem.m, problem.design.width)
    for _ in range(3):
        np.testing.assert_allclose(problem.decision(state.w), state.h, atol=1e-10 * np.abs(state.h).max())
        state.move(1)


@steps
def test_it_starts_from_a_point(options):
    X, y, C = samples(SquaredHinge())
    solution, problem, _, _ = trained(X, y, C, SquaredHinge(), bias="free", **options)
    again = solve(problem, make("newton", bias="free", **options), stop=Gap(1e-6), start=solution.point)
    assert again.n_iter <= 1 and again.certificate.gap <= 1e-6


@pytest.mark.parametrize(("m", "options"), [(300, {}), (3_000, {}), (3_000, {"wide": 0}), (20_000, {})], ids=str)
@pytest.mark.parametrize("bias", [1.0, "free"])
def test_a_solve_that_is_continued_takes_no_more_steps(m, options, bias):
    """The dual weights alone are far from the optimum where C is large, and w near it."""
    rng = np.random.default_rng(0)
    scales = np.geomspace(1.0, 30.0, 10)
    X = rng.normal(size=(m, 10)) * scales
    y = np.sign(X @ (rng.normal(size=10) / scales) + 3.0 * rng.normal(size=m))
    solver = make("newton", bias=bias, **options)
    posed = partial(solver.pose, Gram(Linear(), X), y, 1000.0)
    whole, saver = solve(posed(), solver, stop=Gap(1e-5)), LastProgress()
    half = solve(posed(), solver, stop=Iterations(max(whole.n_iter - 2, 1)), journal=Journal(saver))
    again = solve(posed(), solver, stop=Gap(1e-5), start=saver.progress)
    assert half.n_iter < again.n_iter <= whole.n_iter + 1 and again.certificate.gap <= 1e-5
    for damaged in ({}, {"w": "x"}, {"w": [1.0]}, {"w": [np.nan] * 11}, {"w": None}):
        other = solve(posed(), solver, stop=Gap(1e-5), start=saver.progress._replace(carried=damaged))
        assert other.certificate.gap <= 1e-5


# --- ugly data


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["dense", "csr", "int64", "read only", "explicit zeros", "by columns"])
@pytest.mark.parametrize("bias", [1.0, "free"])
@steps
def test_every_storage(dtype, kind, bias, options):
    X, y, _ = samples(SquaredHinge())
    X = np.where(np.abs(X) > 0.3, X, 0.0).astype(dtype)
    given = X.copy()
    if kind in ("csr", "int64", "explicit zeros"):
        given = sp.csr_array(X)
        if kind == "explicit zeros":
            given = sp.csr_array((X.ravel(), np.tile(np.arange(5), 150), np.arange(0, 751, 5)), X.shape)
        if kind == "int64":
            given.indices, given.indptr = given.indices.astype(np.int64), given.indptr.astype(np.int64)
    elif kind == "by columns":
        given = np.asfortranarray(X)
    elif kind == "read only":
        given.flags.writeable = False
    solver = make("newton", bias=bias, **options)
    found = fit(given, y, solver=solver, kernel=Linear(), stop=Gap(1e-8))
    best = by_scipy(X.astype(np.float64), y, np.ones(150), SquaredHinge(), bias)
    assert found.status == "converged" and found.objective == pytest.approx(best, rel=1e-7)


@steps
def test_constant_and_huge_columns(options):
    X, y, _ = samples(SquaredHinge())
    X = np.column_stack([X, np.ones(150), np.zeros(150), 1e3 * X[:, 0], 1e-6 * X[:, 1]])
    for C in (1e-4, 1.0, 1e4):
        found = fit(X, y, solver=make("newton", bias="free", **options), kernel=Linear(), C=C, stop=Gap(1e-6))
        assert found.status == "converged" and found.gap <= 1e-6


@steps
def test_samples_without_weight_do_not_count(options):
    X, y, _ = samples(SquaredHinge())
    weights = np.where(np.arange(150) % 3 == 0, 0.0, 1.5)
    solver = make("newton", bias="free", **options)
    one = fit(X, y, solver=solver, kernel=Linear(), stop=Gap(1e-8), sample_weight=weights)
    some = weights > 0.0
    other = fit(X[some], y[some], solver=solver, kernel=Linear(), C=1.5, stop=Gap(1e-8))
    assert one.objective == pytest.approx(other.objective, rel=1e-7)


@steps
def test_separable_classes_and_few_samples(options):
    for X, y in (([[-1.0], [1.0]], [-1, 1]), blobs(40, 60, shift=2.0)):
        found = fit(np.array(X), np.array(y), solver=make("newton", bias="free", **options), kernel=Linear(), C=1e3)
        assert found.status == "converged" and (found.model.predict(np.array(X)) == np.array(y)).all()


def test_many_classes_and_estimators():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 6)), np.arange(600) % 12
    X[:, 0] += y
    for multiclass in ("ovo", "ovr"):
        one, other = (
            SVMClassifier(solver, kernel="linear", loss="squared_hinge", multiclass=multiclass, tol=1e-9).fit(X, y)
            for solver in ("newton", "dcd")
        )
        np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-3)
        np.testing.assert_allclose(one.intercept_, other.intercept_, atol=2e-3)
    with pytest.raises(InputError, match="newton"):
        SVMClassifier("newton", kernel="linear", multiclass="crammer_singer").fit(X, y)
    found = SVMRegressor("newton", kernel="linear", loss="squared_error", tol=1e-9).fit(X, X[:, 0] + 0.1 * X[:, 1])
    assert found.score(X, X[:, 0] + 0.1 * X[:, 1]) > 0.99


@pytest.mark.parametrize("wide", [-1, 2.5, "x"])
def test_what_wide_may_be(wide):
    with pytest.raises(InputError, match="wide"):
        make("newton", wide=wide)


def test_products_of_little_data_are_those_of_numpy():
    rng = np.random.default_rng(0)
    X, w, beta = rng.normal(size=(11, 5)), rng.normal(size=5), np.where(np.arange(11) % 3, rng.normal(size=11), 0.0)
    h, v = np.full(11, np.nan), np.full(5, np.nan)
    narrow.multiply(X, w, h)
    narrow.combine(X, beta, v)
    np.testing.assert_allclose(h, X @ w, rtol=0, atol=1e-14)
    np.testing.assert_allclose(v, X.T @ beta, rtol=0, atol=1e-14)
    for n in (0, 1, 3, 4, 6, 8, 11):  # four at a time, and what is left
        H, rows, changes = rng.normal(size=(5, 5)), rng.permutation(11)[:n], rng.normal(size=n)
        want = H + np.tril(X[rows].T @ (changes[:, None] * X[rows]))
        narrow.add_rows(H, X, rows, changes)
        np.testing.assert_allclose(H, want, rtol=0, atol=1e-13)


def test_conjugate_gradients_end_when_the_solve_does(monkeypatch):
    rng, products = np.random.default_rng(0), []
    X = rng.normal(size=(300, 60)) * np.geomspace(1.0, 30.0, 60)
    y = np.sign(X[:, 0] + rng.normal(size=300))
    monkeypatch.setattr(module, "is_narrow", lambda m, width: False)
    times = Products.times

    def count(self, p, room=None):
        products.append(0)
        return times(self, p, room)

    monkeypatch.setattr(Products, "times", count)
    solver = make("newton", bias="free", wide=0)
    problem = solver.pose(Gram(Linear(), X), y, 1.0)
    state = solver.init(problem, None, Draws(Full(), y, 0, lambda: len(products) >= 3))
    before = state.primal
    solver.step(state)
    assert len(products) == 3 and state.primal < before
    certificate = problem.certificate(solver.solution(state))
    assert certificate.primal == pytest.approx(state.primal) and certificate.dual <= certificate.primal


def test_a_direction_that_is_exact_enough_takes_few_products():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 60)) * np.geomspace(1.0, 30.0, 60), np.sign(rng.normal(size=300))
    problem = make("newton", bias=0.0).pose(Gram(Linear(), X), y, 1.0)
    curvature, g, passes = np.full(300, 2.0), rng.normal(size=60), []
    for enough in (1e-6, 0.5):
        products = Products(problem.design, np.ones(60))
        products.loose = 0.0
        products.update(curvature)
        s, n = products.direction(g, None, enough)
        assert np.linalg.norm(s + 2.0 * X.T @ (X @ s) + g) <= enough * 1.001
        passes.append(n)
    assert passes[1] < passes[0] < 500.0
