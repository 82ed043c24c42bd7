"""fcsmo and fcfw in regression: the optimum of scikit-learn and of a QP solver, sets that do not fit, hard cases."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_friedman1
from sklearn.svm import SVR, LinearSVR
from support.problems import make
from svmkit_corrective.corrective_state import CorrectiveState
from svmkit_corrective.working_set import sparse
from svmkit_corrective.working_set.sparse import SparseSquare
from svmkit_corrective.working_set.square import Square

from svmkit import SVMRegressor
from svmkit.kernels.functions import RBF, Linear
from svmkit.kernels.gram import Gram
from svmkit.problems.tube import BiasedTubeQP, TubeQP
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Seconds

pytestmark = pytest.mark.usefixtures("one_pool")
THREE = pytest.mark.parametrize(
    ("name", "options"), [("fcfw", {}), ("fcsmo", {}), ("fcsmo", {"loss": "squared_hinge"})]
)


def targets(m=400, seed=0, noise=1.0):
    X, t = make_friedman1(m, n_features=6, noise=noise, random_state=seed)
    return (X - X.mean(axis=0)) / X.std(axis=0), (t - t.mean()) / t.std()


def posed(name, options, X, t, C=1.0, epsilon=0.1, kernel=None, **gram):
    return make(name, **options).pose_regression(Gram(kernel or RBF(0.3), X, **gram), t, C, epsilon)


def quadprog_optimum(problem, K):
    """The optimum of the dual over its 2m weights by an active-set method, which a small ridge makes definite."""
    quadprog = pytest.importorskip("quadprog", reason="needs the trusted QP solver quadprog (extra `test`)")
    m, eps = problem.m, problem.epsilon
    signs = np.repeat([1.0, -1.0], m)
    G = np.outer(signs, signs) * np.tile(K + problem.bias, (2, 2)) + np.diag(np.tile(problem.ridge, 2) + 1e-6)
    a = signs * np.tile(problem.t, 2) - eps
    rows, least = [np.eye(2 * m)], [np.zeros(2 * m)]
    if np.isfinite(problem.upper).all():
        rows, least = [*rows, -np.eye(2 * m)], [*least, -np.tile(problem.upper, 2)]
    equal = 0 if problem.bias else 1
    C = np.vstack([signs[None] if equal else np.empty((0, 2 * m)), *rows]).T
    weights = quadprog.solve_qp(G, a, C, np.concatenate([np.zeros(equal), *least]), equal)[0]
    return -problem.objective(weights[:m] - weights[m:])  # without the ridge


# --- the optimum


@pytest.mark.parametrize("first", [7, 1000])
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2])
def test_fcsmo_equals_svr(C, first):
    X, t = targets()
    problem = posed("fcsmo", {}, X, t, C)
    solution = solve(problem, make("fcsmo", first=first), stop=Gap(1e-7))
    fitted, d = SVR(C=C, gamma=0.3, epsilon=0.1, tol=1e-8).fit(X, t), np.zeros(400)
    d[fitted.support_] = fitted.dual_coef_[0]
    assert type(problem) is TubeQP and solution.status is Status.CONVERGED
    assert solution.certificate.dual == pytest.approx(-problem.objective(d), rel=1e-6)


@pytest.mark.parametrize("first", [7, 1000])
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e1])
def test_fcfw_equals_linearsvr(C, first):
    X, t = targets()
    t = t + 0.7  # a bias that the regularisation holds back
    problem = posed("fcfw", {}, X, t, C, kernel=Linear())
    solution = solve(problem, make("fcfw", first=first), stop=Gap(1e-7))
    fitted = LinearSVR(C=C, epsilon=0.1, loss="squared_epsilon_insensitive", tol=1e-9, max_iter=10**6).fit(X, t)
    over = np.maximum(np.abs(t - fitted.predict(X)) - 0.1, 0.0)
    primal = 0.5 * (np.square(fitted.coef_).sum() + fitted.intercept_[0] ** 2) + C * np.square(over).sum()
    assert type(problem) is BiasedTubeQP and solution.status is Status.CONVERGED
    assert solution.certificate.primal == pytest.approx(primal, rel=1e-6)


@THREE
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
def test_the_optimum_is_that_of_a_trusted_qp_solver(name, options, epsilon):
    X, t = targets(60)
    problem = posed(name, options, X, t, 5.0, epsilon)
    solution = solve(problem, make(name, first=10, **options), stop=Gap(1e-9))
    K = problem.gram.block(np.arange(60), np.arange(60))
    assert solution.certificate.dual == pytest.approx(quadprog_optimum(problem, K), rel=1e-6)


@THREE
def test_costs_of_samples_are_kept(name, options):
    X, t = targets(200)
    C = np.where(np.arange(200) % 3 == 0, 5.0, 0.1)
    problem = posed(name, options, X, t, C)
    solution = solve(problem, make(name, first=20, **options), stop=Gap(1e-6))
    assert solution.status is Status.CONVERGED and problem.infeasible(solution.point) is None
    if problem.upper[0] < np.inf:
        fitted, d = SVR(C=1.0, gamma=0.3, tol=1e-8).fit(X, t, sample_weight=C), np.zeros(200)
        d[fitted.support_] = fitted.dual_coef_[0]
        assert solution.certificate.dual == pytest.approx(-problem.objective(d), rel=1e-6)


def test_the_objective_of_fcfw_in_words_and_through_the_estimator():
    assert make("fcfw").formulation(RBF(0.3), "regress") == "squared epsilon-insensitive, regularised bias"
    assert "regularised" in make("fcfw").formulation(RBF(0.3))
    X, t = targets(200)
    model = SVMRegressor("fcfw", loss="squared_epsilon_insensitive", gamma=0.3, tol=1e-7).fit(X, t)
    solution = solve(posed("fcfw", {}, X, t), make("fcfw"), stop=Gap(1e-7))
    assert model.bound_ == pytest.approx(solution.certificate.dual, rel=1e-6)
    assert model.intercept_[0] == pytest.approx(solution.point.sum(), abs=1e-3)


# --- memory and precision


@THREE
@pytest.mark.parametrize("memory", ["9KB", "40KB", "1GB"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sets_that_do_not_fit_are_solved_in_turns(name, options, memory, dtype):
    X, t = targets(500)
    problem = posed(name, options, X, t, 2.0, memory=memory, dtype=dtype)
    solution = solve(problem, make(name, first=20, **options), stop=Gap(1e-4))
    assert solution.status is Status.CONVERGED
    if memory == "9KB":
        assert solution.n_support > Square(Gram(RBF(0.3), X, memory=memory, dtype=dtype)).most
    best = solve(posed(name, options, X, t, 2.0), make(name, **options), stop=Gap(1e-7)).certificate.dual
    assert best * (1.0 - 1e-4) <= solution.certificate.dual <= best * (1.0 + 1e-7)


@pytest.mark.slow
@THREE
def test_a_value_of_two_samples_is_computed_once_for_both_signs(name, options):
    X, t = targets(300)
    problem = posed(name, options, X, t, 1.0, dtype=np.float32)
    solver = make(name, first=300, **options)
    solution = solve(problem, solver, stop=Gap(1e-3))
    assert solution.status is Status.CONVERGED
    # those of the square, and passes for the gradient; a square of both signs would have 4 values of each pair
    assert problem.gram.kernel_values <= 3 * 300**2


@pytest.mark.float32
@THREE
def test_a_tolerance_beyond_16_bits_and_float32_is_reached(name, options):
    X, t = targets(300)
    problem = posed(name, options, X, t, 10.0, dtype=np.float32)
    solution = solve(problem, make(name, first=50, **options), stop=Gap(1e-10))
    assert solution.certificate.gap <= max(1e-10, 2.0 * solution.certificate.rounding) <= 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_sparse_rows_give_the_same_optimum(loss, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 8))
    t = X[:, 0] + 0.3 * rng.normal(size=1500)
    made = []
    monkeypatch.setattr(sparse.SparseSquare, "append", _noting(SparseSquare.append, made))
    runs = [
        solve(
            posed("fcsmo", {"loss": loss}, X, t, 10.0, kernel=RBF(3.0), dtype=dtype),
            make("fcsmo", loss=loss),
            stop=Gap(1e-5),
        )
        for dtype in (np.float32, np.float64)
    ]
    assert made
    assert runs[0].status is Status.CONVERGED
    assert runs[0].certificate.dual == pytest.approx(runs[1].certificate.dual, rel=2e-5)


def _noting(append, made):
    def noted(self, points):
        made.append(len(points))
        return append(self, points)

    return noted


# --- starts, interruptions, hard cases


@THREE
def test_a_solve_that_is_cut_short_is_feasible_and_goes_on(name, options):
    X, t = targets()
    problem = posed(name, options, X, t, 5.0)
    dual = -np.inf
    for most in (3, 30, 300):
        part = solve(problem, make(name, first=40, **options), stop=Gap(1e-9) | Iterations(most))
        assert problem.infeasible(part.point) is None and part.certificate.dual >= dual
        dual = part.certificate.dual
    rest = solve(problem, make(name, **options), stop=Gap(1e-7), start=part.point)
    whole = solve(problem, make(name, **options), stop=Gap(1e-7))
    assert rest.status is Status.CONVERGED
    assert rest.certificate.dual == pytest.approx(whole.certificate.dual, rel=1e-6)


@THREE
def test_a_start_at_the_optimum_needs_few_steps(name, options):
    X, t = targets()
    problem = posed(name, options, X, t, 5.0)
    whole = solve(problem, make(name, **options), stop=Gap(1e-5))
    start = problem.start(problem.decision_function(whole.point, whole.certificate).coef)
    again = solve(problem, make(name, **options), stop=Gap(1e-4), start=start)
    assert again.status is Status.CONVERGED and again.n_iter < 0.1 * whole.n_iter


@THREE
def test_objectives_that_are_reported_fall_and_are_those_of_the_points(name, options):
    X, t = targets(300)
    problem, last = posed(name, options, X, t, 10.0), np.inf
    solution = solve(problem, make(name, first=20, **options), stop=Gap(1e-6))
    for point in solution.history:
        assert point.objective <= last + 1e-12 * abs(last)
        last = point.objective
    assert last == pytest.approx(problem.objective(solution.point), rel=1e-9)


@pytest.mark.float32
@THREE
@pytest.mark.parametrize(
    "case",
    [
        "duplicates",
        "opposite duplicates",
        "one feature",
        "constant",
        "two values",
        "outlier",
        "large",
        "shifted",
        "csr",
    ],
)
def test_hostile_targets(name, options, case):
    X, t = targets(240)
    if "duplicates" in case:
        X, t = np.repeat(X, 3, axis=0), np.repeat(t, 3) * (np.tile([1, -1, 1], 240) if "opposite" in case else 1)
    if case == "one feature":
        X = X[:, :1]
    if case == "constant":
        t = np.full(240, 3.0)
    if case == "two values":
        t = np.where(t > 0.0, 1.0, -1.0)
    if case == "outlier":
        t[7] = 1e4
    if case == "csr":
        X = sp.csr_array(X)
    if case == "large":
        t = t * 1e6
    if case == "shifted":
        t = t + 1e6
    for dtype in (np.float64, np.float32):
        problem = posed(name, options, X, t, 1.0, dtype=dtype)
        solution = solve(problem, make(name, first=30, **options), stop=Gap(1e-3) | Seconds(60))
        assert solution.status is Status.CONVERGED, dtype
        assert problem.infeasible(solution.point) is None
        assert solution.certificate.gap <= 1e-3


@pytest.mark.slow
@pytest.mark.threads
@THREE
def test_threads_change_nothing(name, options):
    X, t = targets(700)
    solver = make(name, first=60, **options)
    runs = [solve(posed(name, options, X, t, dtype=np.float32), solver, n_threads=threads) for threads in (1, None)]
    np.testing.assert_array_equal(runs[0].point, runs[1].point)


@pytest.mark.parametrize("penalty", [None, 0.7])
@pytest.mark.parametrize("away", [False, True])
def test_a_change_that_goes_too_far_ends_at_the_minimum(away, penalty):
    """Along a change whose weights keep their signs |beta| is linear, so that the minimum is that of a parabola."""
    rng = np.random.default_rng(0)
    m, changed, kink = 12, np.array([1, 4, 7]), 0.4
    before, change = np.full(3, 0.5), rng.uniform(0.5, 1.0, 3) * (-0.6 if away else 1.0)
    A = rng.normal(size=(m, m))
    K, v, beta = A @ A.T, rng.normal(size=m), np.zeros(m)
    v[changed] = -np.sign(change) * rng.uniform(1.0, 2.0, 3)
    ahead = K[:, changed] @ change
    ahead *= 3.0 * abs(change @ v[changed]) / (change @ ahead[changed])  # the minimum is well before the end
    beta[changed], sign = before + change, np.where(np.arange(m) % 3, 1.0, -1.0)
    state = SimpleNamespace(
        box=SimpleNamespace(v=v.copy(), beta=beta.copy()),
        form=SimpleNamespace(sign=sign, bias_penalty=penalty, kinks=kink),
        changed=changed, change=change, ahead=ahead.copy(), phase=None, whole=0.9, imprecise=False, done=3,
    )  # fmt: skip
    CorrectiveState._settle(state)
    parts = np.linspace(0.0, 1.0, 100_001)
    values = parts * (change @ (sign * v)[changed]) + 0.5 * parts**2 * (change @ (sign * ahead)[changed])
    if penalty:
        values += 0.5 * penalty * (sign[changed] @ (before[:, None] + change[:, None] * parts)) ** 2
    values += kink * np.abs(before[:, None] + change[:, None] * parts).sum(axis=0)
    best = parts[values.argmin()]
    assert 0.0 < best < 0.9 and state.imprecise
    np.testing.assert_allclose(state.box.beta[changed], before + best * change, atol=1e-4)
    np.testing.assert_allclose(state.box.v, v + best * ahead, atol=1e-3 * np.abs(ahead).max())


@pytest.mark.parametrize("drift", [0.0, 0.1, 0.3])
def test_an_exact_gradient_is_taken_over(drift):
    exact, limits = np.arange(4.0), []
    square = SimpleNamespace(lossy=True, limits=lambda size: limits.append(size) or True)
    state = SimpleNamespace(
        box=SimpleNamespace(v=exact + drift * np.eye(4)[1]), v_of=lambda gradient: gradient,
        working=SimpleNamespace(square=square), violation=lambda: 2.0, imprecise=None,
    )  # fmt: skip
    CorrectiveState.take(state, SimpleNamespace(gradient=exact))
    np.testing.assert_array_equal(state.box.v, exact)
    assert (
        not square.lossy
        and state.imprecise == (drift > 0.2)
        and limits == pytest.approx([drift] if drift > 0.2 else [])
    )
