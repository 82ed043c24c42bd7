"""newton with losses that have kinks, by the proximal point method: optima against LIBSVM, LIBLINEAR and scipy."""

import json
from functools import partial

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from sklearn.svm import SVC, SVR, LinearSVC
from support import newton
from support.newton import steps, trained
from support.problems import make
from svmkit_newton.many import _first_shares
from svmkit_newton.proximal import put_centre, shares_of
from svmkit_newton.samples import sum_slopes

from svmkit import fit
from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.losses import AbsoluteError, EpsilonInsensitive, Hinge, Huber, Logistic, Quantile, SquaredHinge
from svmkit.losses.base import Family
from svmkit.losses.residual import Expectile, SquaredError
from svmkit.losses.terms import Terms, conjugates, curvatures, dual_weights, loss_values
from svmkit.problems.risks.points import make_points, make_two_sided
from svmkit.solver.auto import FEW_COLUMNS, FLAT, LONG, fastest
from svmkit.solver.loop.recorder import Journal
from svmkit.solver.loop.solve import solve
from svmkit.solver.stopping import Gap, Iterations
from svmkit.solver.task import Task
from svmkit.training.checkpoint import LastProgress


class Lopsided(Huber):
    """A loss of a smooth family that has a kink on one side, and none on the other."""

    name = "lopsided"
    family = Family.SMOOTH

    def terms(self, target: np.ndarray, C: np.ndarray) -> Terms:
        return super().terms(target, C)._replace(ridge_up=np.zeros(len(target)))


samples = partial(newton.samples, m=120)
LOSSES = [Hinge(), EpsilonInsensitive(0.3), AbsoluteError(), Quantile(0.8), Lopsided(0.4)]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)


def dual_by_scipy(X, target, C, loss, bias):
    """The optimum by L-BFGS-B on the dual, with the weights above and below 0 apart."""
    terms = loss.terms(target, C)
    A = np.column_stack([X, np.full(len(X), bias)])
    m = len(X)

    def value(parts):
        up, down = parts[:m], parts[m:]
        v = A.T @ (up - down)
        phi = terms.kink_up @ up + terms.kink_down @ down
        phi += 0.5 * (terms.ridge_up @ up**2 + terms.ridge_down @ down**2)
        g = A @ v - target
        gradient = np.append(g + terms.kink_up + terms.ridge_up * up, -g + terms.kink_down + terms.ridge_down * down)
        return 0.5 * v @ v - target @ (up - down) + phi, gradient

    bounds = [(0.0, b) for b in np.append(terms.upper, -terms.lower)]
    tight = {"ftol": 1e-16, "gtol": 1e-10, "maxiter": 10**5, "maxfun": 10**6}
    return -scipy.optimize.minimize(
        value, np.zeros(2 * m), jac=True, method="L-BFGS-B", bounds=bounds, options=tight
    ).fun


@pytest.mark.parametrize(
    "loss",
    [*LOSSES, Huber(0.4), SquaredHinge(), SquaredError(), Expectile(0.3), Logistic()],
    ids=lambda loss: loss.name,
)
def test_slopes_along_a_line_are_those_of_the_losses(loss):
    """The first and the second derivative, and the sizes of the terms of the first one, over some samples."""
    rng, m = np.random.default_rng(0), 60
    _, target, C = samples(loss, m=m)
    terms, (h, change) = loss.terms(target, C), rng.normal(size=(2, m))
    points = make_points(terms, np.ones(m))
    for t, (first, last) in ((0.0, (0, m)), (0.7, (0, m)), (-0.3, (11, 40))):
        e, at = terms.target - h - t * change, slice(first, last)
        beta, bends = dual_weights(terms, e), curvatures(terms, e)
        found = sum_slopes(points.rows, points.below, h, change, t, first, last)
        expected = -beta[at] @ change[at], bends[at] @ change[at] ** 2, np.abs(beta[at]) @ np.abs(change[at])
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "loss", [*LOSSES, Huber(0.4), SquaredHinge(), SquaredError(), Expectile(0.3)], ids=lambda loss: loss.name
)
def test_the_many_problems_of_pairs_have_the_shares_of_one(loss):
    _, target, C = samples(loss, m=40)
    terms = loss.terms(target, C)
    shares, finite = _first_shares(make_two_sided(terms).rows)
    np.testing.assert_array_equal(shares, shares_of(make_two_sided(terms)))
    assert finite


# --- optima


@every_loss
@pytest.mark.parametrize("bias", [1.0, 3.0])
@steps
def test_the_optimum_is_that_of_scipy(loss, bias, options):
    X, target, C = samples(loss)
    best = dual_by_scipy(X, target, C, loss, bias)
    certificate = trained(X, target, C, loss, bias=bias, **options)[0].certificate
    assert certificate.dual == pytest.approx(best, rel=1e-6) and certificate.primal >= best * (1.0 - 1e-9)


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e3])
@steps
def test_a_free_bias_is_that_of_libsvm(C, options):
    X, y, weights = samples(Hinge())
    theirs = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y, sample_weight=weights)
    h = theirs.decision_function(X)
    P = 0.5 * float(theirs.coef_[0] @ theirs.coef_[0]) + C * weights @ np.maximum(1.0 - y * h, 0.0)
    ours = trained(X, y, C * weights, Hinge(), bias="free", **options)[0].certificate
    # LIBSVM's own point is that far from its optimum with a large C
    assert ours.primal == pytest.approx(P, rel=1e-4 if C > 1.0 else 1e-6) and ours.dual <= P * (1.0 + 1e-12)


@steps
def test_a_free_bias_is_that_of_libsvm_in_regression(options):
    X, t, _ = samples(EpsilonInsensitive(0.3))
    theirs = SVR(kernel="linear", C=2.0, epsilon=0.3, tol=1e-8).fit(X, t)
    P = 0.5 * float(theirs.coef_[0] @ theirs.coef_[0])
    P += 2.0 * np.maximum(np.abs(t - theirs.predict(X)) - 0.3, 0.0).sum()
    ours = trained(X, t, 2.0, EpsilonInsensitive(0.3), bias="free", **options)[0].certificate
    assert ours.primal == pytest.approx(P, rel=1e-6) and ours.dual <= P * (1.0 + 1e-12)


def test_it_is_liblinear():
    X, y, _ = samples(Hinge())
    theirs = LinearSVC(C=0.5, loss="hinge", tol=1e-10, max_iter=10**6).fit(X, y)
    w, b = theirs.coef_[0], theirs.intercept_[0]
    P = 0.5 * (w @ w + b * b) + 0.5 * np.maximum(1.0 - y * (X @ w + b), 0.0).sum()
    assert trained(X, y, 0.5, Hinge(), bias=1.0)[0].certificate.primal == pytest.approx(P, rel=1e-6)


@every_loss
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_overlapping_classes_take_few_steps(loss, scale):
    """Coordinate descent takes thousands of epochs for them."""
    X, target, C = samples(loss, m=2000, d=20)
    assert trained(X, target, scale * C, loss, gap=1e-3, bias="free")[0].n_iter <= 60


@every_loss
@steps
def test_bounds_close_from_both_sides(loss, options):
    X, target, C = samples(loss)
    best = trained(X, target, C, loss, bias="free", gap=1e-9)[0].certificate
    solver = make("newton", loss=loss, bias="free", **options)
    for k in (1, 2, 4, 8, 16):
        problem = solver.pose(Gram(Linear(), X), target, C, loss)
        solution = solve(problem, solver, stop=Iterations(k))
        assert solution.n_iter <= k and problem.infeasible(solution.point) is None
        assert solution.certificate.dual <= best.primal * (1.0 + 1e-12)
        assert solution.certificate.primal >= best.dual * (1.0 - 1e-12)


@every_loss
@steps
def test_it_starts_from_a_point(loss, options):
    X, target, C = samples(loss)
    solution, problem, *_ = trained(X, target, C, loss, bias="free", **options)
    again = solve(problem, make("newton", loss=loss, bias="free", **options), stop=Gap(1e-6), start=solution.point)
    assert again.n_iter <= 2 and again.certificate.gap <= 1e-6


# --- its parts


@every_loss
def test_a_centre_moves_the_optimum_to_the_proximal_point(loss):
    """The maximiser of beta e - phi(beta) - r (beta - c)^2 / 2 in closed form is that of the terms around c."""
    rng = np.random.default_rng(0)
    target, C = (np.sign(rng.normal(size=40)) if loss.task == "classify" else rng.normal(size=40)), np.full(40, 0.7)
    terms, width = loss.terms(target, C), 0.3
    points, shares = make_two_sided(terms), shares_of(make_two_sided(terms))
    centre = rng.uniform(terms.lower, terms.upper)
    rows, h = points.rows.copy(), rng.normal(size=40)
    put_centre(*points, shares, width, centre, rows)
    around = terms._replace(target=rows[:, 0], ridge_up=rows[:, 1], ridge_down=rows[:, 5])
    losses = loss_values(around, around.target - h) - 0.5 * width * shares * centre**2
    grid = terms.lower + np.linspace(0.0, 1.0, 20_001)[:, None] * (terms.upper - terms.lower)
    grid = np.clip(grid, terms.lower, terms.upper)
    values = grid * (target - h) - np.array([conjugates(terms, beta) for beta in grid])
    values -= 0.5 * width * shares * (grid - centre) ** 2
    np.testing.assert_allclose(losses, values.max(axis=0), atol=1e-6)


def test_only_kinks_take_a_share():
    assert shares_of(make_two_sided(Huber(0.5).terms(np.zeros(3), np.ones(3)))).size == 0
    terms = Hinge().terms(np.array([1.0, -1.0, 1.0]), np.array([2.0, 4.0, 0.0]))
    np.testing.assert_allclose(shares_of(make_two_sided(terms)), [0.5, 0.25, 0.0])


# --- ugly data


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array, np.asfortranarray])
@steps
def test_every_storage(dtype, stored, options):
    X, y, _ = samples(Hinge())
    X = np.where(np.abs(X) > 0.3, X, 0.0).astype(dtype)
    found = fit(stored(X), y, solver=make("newton", loss="hinge", bias=1.0, **options), kernel=Linear(), stop=Gap(1e-7))
    best = dual_by_scipy(X.astype(np.float64), y, np.ones(len(y)), Hinge(), 1.0)
    assert found.status == "converged" and found.objective == pytest.approx(best, rel=1e-6)


@steps
def test_samples_without_weight_do_not_count(options):
    X, y, _ = samples(Hinge())
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.5)
    solver, some = make("newton", loss="hinge", bias="free", **options), weights > 0.0
    one = fit(X, y, solver=solver, kernel=Linear(), stop=Gap(1e-8), sample_weight=weights)
    other = fit(X[some], y[some], solver=solver, kernel=Linear(), C=1.5, stop=Gap(1e-8))
    assert one.objective == pytest.approx(other.objective, rel=1e-7)


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e6])
@steps
def test_separable_classes_duplicates_and_constant_columns(C, options):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 3)), 3, axis=0)
    X, y = np.column_stack([X, np.ones(60), np.zeros(60)]), np.repeat(np.arange(20) % 2, 3)
    for shift in (0.0, 10.0):
        X[:, 0] += shift * y
        found = fit(X, y, solver=make("newton", loss="hinge", bias="free", **options), kernel=Linear(), C=C)
        assert found.gap <= 1e-3 or found.status in ("stalled", "max_iter")
        if C == 1.0:
            assert found.status == "converged"


def test_a_tube_that_holds_all_targets_has_the_optimum_0():
    X, t = np.arange(10.0)[:, None], 0.01 * np.arange(10.0)
    found = fit(X, t, solver=make("newton", loss=EpsilonInsensitive(1.0), bias="free"), kernel=Linear(), task="regress")
    assert found.status == "converged" and found.objective == 0.0


# --- the choice of auto


def test_auto_takes_it_where_columns_are_few():
    kind = make("newton").regression

    def choice(m, d, loss=None):
        return fastest(Task(kind, Linear(), m, 10**9, d=d), loss)[0]

    assert choice(1000, 10) == choice(1000, 10, EpsilonInsensitive()) == "newton"
    d = FEW_COLUMNS
    enough = int(FLAT * d**2) + 1
    assert choice(enough, d, Hinge()) == "newton" and choice(enough, d + 1, Hinge()) == "dcd"
    assert choice(LONG * 20, 20, Hinge()) == "newton" and choice(LONG * 20 - 1, 20, Hinge()) == "dcd"
    X, t, _ = samples(EpsilonInsensitive(), m=300)
    assert "newton" in str(fit(X, t, kernel=Linear(), task="regress").choices[0])


@steps
@pytest.mark.parametrize(("loss", "bias"), [(Hinge(), "free"), (EpsilonInsensitive(0.3), 1.0)], ids=str)
def test_a_solve_that_is_continued_takes_no_more_steps(loss, bias, options):
    """It goes on around the centre of the earlier one, by its width."""
    X, target, C = samples(loss)
    solver = make("newton", loss=loss, bias=bias, **options)
    posed = partial(solver.pose, Gram(Linear(), X), target, C, loss)
    whole, saver = solve(posed(), solver, stop=Gap(1e-8)), LastProgress()
    solve(posed(), solver, stop=Gap(1e-8) | Iterations(whole.n_iter // 2), journal=Journal(saver))
    resumed = partial(solve, solver=solver, stop=Gap(1e-8))
    carried = json.loads(json.dumps(saver.progress.carried))  # as a file holds it
    again = resumed(posed(), start=saver.progress._replace(carried=carried))
    assert again.certificate.gap <= 1e-8 and again.n_iter <= whole.n_iter + 1
    for damaged in ({"w": carried["w"]}, {"centre": [0.0]}, {"width": 0.0}, {"width": np.inf}, {"least": np.nan}):
        kept = damaged if "w" in damaged else carried | damaged
        assert resumed(posed(), start=saver.progress._replace(carried=kept)).certificate.gap <= 1e-8
