"""Regression by decomposition against LIBSVM: objectives, decisions, hard targets and every kind of kernel row."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVR

from svmkit import fit, plugins
from svmkit.kernels.functions import RBF, Linear, Precomputed
from svmkit.kernels.gram import Gram
from svmkit.kernels.gram.complete import CompleteGram, CompleteKernel
from svmkit.losses import loss_names
from svmkit.problems.certificate import relative_gap
from svmkit.problems.tube import TubeQP
from svmkit.solver import Gap, Iterations, solve
from svmkit.solver.sampler import Draws
from svmkit.solver.smo.box import extremes, l1_part, slopes, take_sides
from svmkit.solver.solution import Status

pytestmark = pytest.mark.usefixtures("one_pool")

NAMES = ["smo", "smo1", "smol2", "svmlight"]
TIGHT = 1e-7


def sets():
    X, t = make_friedman1(200, n_features=6, noise=0.5, random_state=0)
    yield "friedman", X, t, 1.0
    X, t = load_diabetes(return_X_y=True)
    yield "diabetes", X[:250] / X.std(axis=0), t[:250], 0.1
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 3))
    X[:, 1], X[50:100] = 4.0, X[:50]  # a constant feature, and duplicates whose targets differ
    yield "duplicates", X, np.sign(X[:, 0]) + 0.3 * rng.normal(size=150), 0.5


SETS = {name: (X, t, gamma) for name, X, t, gamma in sets()}


def grams(X, gamma):
    """A Gram that computes rows on demand, and one with all of them."""
    yield Gram(RBF(gamma), X)
    yield CompleteKernel(RBF(gamma), X, [np.arange(len(X))], 1 << 28).gram(0, 0)


def libsvm(X, t, C, epsilon, gamma, weights=None):
    """(objective, fitted) of SVR at a tight tolerance; kernel values are given, so that they are float64."""
    fitted = SVR(C=C, kernel="precomputed", epsilon=epsilon, tol=1e-9 * max(1.0, float(np.abs(t).max())))
    K = rbf_kernel(X, gamma=gamma)
    fitted.fit(K, t, sample_weight=weights)
    d = np.zeros(len(t))
    d[fitted.support_] = fitted.dual_coef_[0]
    return 0.5 * d @ K @ d - t @ d + epsilon * np.abs(d).sum(), d, fitted


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("C", "wide"), list(itertools.product([0.1, 10.0], [0.0, 0.2, 1.0])))
@pytest.mark.slow
def test_objective_is_that_of_libsvm(name, C, wide):
    X, t, gamma = SETS[name]
    epsilon = wide * t.std()
    weights = np.random.default_rng(0).uniform(0.2, 3.0, len(t)) if wide == 0.2 else None
    best, _, _ = libsvm(X, t, C, epsilon, gamma, weights)
    for gram in grams(X, gamma):
        problem = TubeQP(gram, t, C * weights if weights is not None else C, epsilon)
        solution = solve(problem, plugins.build("solver", "smo"), stop=Gap(TIGHT))
        assert solution.status is Status.CONVERGED and problem.infeasible(solution.point) is None
        assert problem.objective(solution.point) == pytest.approx(best, rel=1e-6)
        assert -solution.certificate.primal <= best + 1e-9 * abs(best)
        assert -solution.certificate.dual >= best - 1e-9 * abs(best)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("complete", [True, False])
def test_every_variant_finds_the_optimum(name, complete):
    X, t, gamma = SETS["friedman"]
    solver = plugins.build("solver", name)
    for loss in (name for name in solver.losses if isinstance(name, str)):
        if len(solver.losses) > 1:
            solver = plugins.build("solver", name, {"loss": loss})
        gram = list(grams(X, gamma))[complete]
        problem = solver.pose_regression(gram, t, 2.0, 0.3)
        solution = solve(problem, solver, stop=Gap(1e-6))
        assert solution.status is Status.CONVERGED
        if loss == "hinge":
            assert problem.objective(solution.point) == pytest.approx(libsvm(X, t, 2.0, 0.3, gamma)[0], rel=1e-6)


def test_predictions_are_those_of_libsvm():
    X, t, gamma = SETS["friedman"]
    _, _, fitted = libsvm(X, t, 1.0, 0.1, gamma)
    done = fit(X, t, task="regress", epsilon=0.1, kernel=RBF(gamma), solver="smo", stop=Gap(1e-10))
    h = fitted.predict(rbf_kernel(X, gamma=gamma))
    np.testing.assert_allclose(done.model.predict(X), h, atol=2e-4)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_targets_of_any_size(scale, shift):
    """C and the objective in units of t: h is scale times that of targets of size 1, plus the shift."""
    X, t, gamma = SETS["friedman"]
    plain = fit(X, t, task="regress", epsilon=0.1, kernel=RBF(gamma), solver="smo", stop=Gap(1e-8)).model.predict(X)
    there = fit(
        X,
        scale * t + scale * shift,
        task="regress",
        C=scale,
        epsilon=0.1 * scale,
        kernel=RBF(gamma),
        solver="smo",
        stop=Gap(1e-6),
    )
    assert there.status is Status.CONVERGED
    np.testing.assert_allclose(there.model.predict(X) / scale - shift, plain, atol=2e-2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_constant_targets_are_their_own_model(name, epsilon):
    """`fit` refuses them; the problem itself is solved at its start, with a gap of exactly 0."""
    X = SETS["friedman"][0]
    for gram in grams(X, 1.0):
        solver = plugins.build("solver", name)
        problem = solver.pose_regression(gram, np.full(len(X), 7.3), 1.0, epsilon)
        solution = solve(problem, solver)
        found = problem.decision_function(solution.point, solution.certificate)
        assert solution.status is Status.CONVERGED and solution.certificate.gap == 0.0
        assert not found.coef.any() and found.intercept == 7.3


@pytest.mark.parametrize("name", NAMES)
def test_a_tube_that_holds_all_targets_needs_no_vector(name):
    X, t, gamma = SETS["friedman"]
    done = fit(X, t, task="regress", epsilon=float(np.ptp(t)), kernel=RBF(gamma), solver=name)
    assert done.status is Status.CONVERGED and done.gap == 0.0 and len(done.support) == 0
    np.testing.assert_allclose(done.model.predict(X[:3]), 0.5 * (t.min() + t.max()))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_small_problems_by_brute_force(loss):
    """Every sign and every set at its bound: the optimum of the smooth problem that is left, the best of all."""
    rng = np.random.default_rng(7)
    for _ in range(5):
        X, t = rng.normal(size=(4, 2)), rng.normal(size=4)
        problem = TubeQP(Gram(RBF(0.7), X), t, 0.8, 0.25, loss=loss)
        solution = solve(problem, plugins.build("solver", "smo", {"loss": loss}), stop=Gap(1e-12) | Iterations(5000))
        K, best = rbf_kernel(X, gamma=0.7) + np.diag(problem.ridge), 0.0
        at_bound = (-2.0, 2.0) if loss == "hinge" else ()
        for states in itertools.product((-1.0, 0.0, 1.0, *at_bound), repeat=4):
            signs = np.sign(states)
            free = np.flatnonzero(np.abs(states) == 1.0)
            d = np.where(np.abs(states) == 2.0, signs * 0.8, 0.0)
            system = np.zeros((len(free) + 1, len(free) + 1))
            system[:-1, :-1], system[:-1, -1], system[-1, :-1] = K[np.ix_(free, free)], 1.0, 1.0
            right = np.append((t - 0.25 * signs - K @ d)[free], -d.sum())
            found = np.linalg.lstsq(system, right, rcond=None)[0]
            d[free] = found[:-1]
            feasible = (signs[free] * d[free] >= 0.0).all() and (np.abs(d) <= problem.upper + 1e-12).all()
            if feasible and abs(d.sum()) < 1e-9:
                best = min(best, 0.5 * d @ K @ d - t @ d + 0.25 * np.abs(d).sum())
        assert problem.objective(solution.point) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("kind", ["float32", "csr", "precomputed", "linear"])
def test_every_kind_of_rows(kind):
    X, t, gamma = SETS["friedman"]
    kernel = {"precomputed": Precomputed(), "linear": Linear()}.get(kind, RBF(gamma))
    K = X @ X.T if kind == "linear" else rbf_kernel(X, gamma=gamma)
    data = {"float32": X.astype(np.float32), "csr": sp.csr_array(X), "precomputed": K, "linear": X}[kind]
    d = np.zeros(len(t))
    fitted = SVR(C=1.0, kernel="precomputed", epsilon=0.2, tol=1e-9).fit(K, t)
    d[fitted.support_] = fitted.dual_coef_[0]
    best = 0.5 * d @ K @ d - t @ d + 0.2 * np.abs(d).sum()
    problem = TubeQP(Gram(kernel, data), t, 1.0, 0.2)
    solution = solve(problem, plugins.build("solver", "smo"), stop=Gap(TIGHT))
    assert solution.certificate.gap <= TIGHT
    # float32 data are other data: their kernel values differ by some 1e-7
    assert problem.objective(solution.point) == pytest.approx(best, rel=1e-5 if kind == "float32" else 1e-6)


@pytest.mark.slow
def test_shrinking_and_a_small_cache_lead_to_the_same_optimum():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    t = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=900)
    values = []
    for shrinking, memory in ((True, 1 << 28), (True, 100 * 900 * 4), (False, 1 << 28)):
        problem = TubeQP(Gram(RBF(0.5), X, memory=memory), t, 20.0, 0.3)
        solution = solve(problem, plugins.build("solver", "smo", {"shrinking": shrinking}), stop=Gap(TIGHT))
        assert solution.certificate.gap <= TIGHT
        values.append(problem.objective(solution.point))
    assert values == pytest.approx([values[0]] * 3, rel=1e-7)


def test_a_small_set_is_trained_in_slices():
    """`fit` hands smo all kernel rows of a set that fits, and each value is computed once at most."""
    X, t, gamma = SETS["friedman"]
    solver = plugins.build("solver", "smo")
    problem = TubeQP(list(grams(X, gamma))[1], t, 10.0, 0.1)
    assert isinstance(problem.gram, CompleteGram)
    solution = solve(problem, solver, stop=Gap(1e-6))
    assert solution.certificate.gap <= 1e-6 and problem.gram.kernel_values <= len(t) ** 2
    again = solve(TubeQP(list(grams(X, gamma))[1], t, 10.0, 0.1), solver, stop=Gap(1e-6), start=solution.point)
    assert again.n_iter <= solution.n_iter // 4 and again.certificate.gap <= 1e-6


@pytest.mark.parametrize("loss", loss_names("regress"))
@pytest.mark.parametrize("name", NAMES)
def test_every_report_is_that_of_the_weights(name, loss):
    """The gradient, the sides and the objective, which steps bring forward, are those from scratch."""
    X, t = make_friedman1(60, n_features=6, noise=0.5, random_state=0)
    options = {"tau": 0.2} if loss in ("expectile", "quantile") else {}
    solver = plugins.load("solver", name)
    if loss not in solver.loss_names("regress"):
        pytest.skip(f"{name} does not take {loss}")
    solver, own = plugins.build("solver", name, {"loss": loss}), plugins.build("loss", loss, options)
    C = np.random.default_rng(0).uniform(0.5, 3.0, 60)
    for gram in (Gram(RBF(0.5), X), CompleteKernel(RBF(0.5), X, [np.arange(60)], 1 << 20).gram(0, 0)):
        problem = TubeQP.from_loss(gram, t, C, own)
        state, kinks = (
            solver.init(problem, None, Draws(plugins.build("sampler", "full"), np.ones(60), 0)),
            l1_part(problem),
        )
        for _ in range(300):
            info, point, box = solver.step(state), state.point, state.box
            gradient = problem.gradient(point)
            assert problem.infeasible(point) is None
            np.testing.assert_allclose(box.v, problem.signs * gradient, rtol=1e-9, atol=1e-9)
            sides = box.side.copy()
            take_sides(box, kinks)
            np.testing.assert_array_equal(box.side, sides)
            assert info.objective == pytest.approx(problem.value(point, gradient), rel=1e-9)
            assert info.n_support == np.count_nonzero(point)
            middle = 0.5 * sum(slopes(box, *extremes(box.v, box.side, kinks), kinks))  # minus the bias
            h = gram.matvec(point, np.arange(60))
            P = 0.5 * point @ h + C @ own.value(t, h - middle + problem.centre)
            assert info.gap == pytest.approx(relative_gap(P + info.objective, -info.objective), rel=1e-6, abs=1e-10)
            if info.gap < 1e-6:
                break
        assert info.gap < 1e-6 and problem.certificate(point).gap < 2e-6
