"""The logistic loss: optima of scikit-learn and scipy, bounds of rounding, extreme costs, and refusals."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
import scipy.special
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear
from svmkit.kernels.gram import Gram
from svmkit.losses import Logistic, LogisticTerms, loss_values
from svmkit.losses.base import Family
from svmkit.problems.bias import best_bias
from svmkit.problems.box import BoxQP
from svmkit.problems.risks.coordinate_descent import _solve_logistic
from svmkit.problems.risks.linear_risk import LinearDual
from svmkit.problems.risks.points import make_points, total_loss_error
from svmkit.problems.sums import Record
from svmkit.runtime.compiling import njit
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Draws
from svmkit.solver.stopping import Gap

LINEAR = ["newton", "dcd"]


@pytest.fixture(scope="module")
def cancer():
    X, target = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(target > 0, 1.0, -1.0)


def primal(w, b, X, y, C, free):
    return 0.5 * float(w @ w) + (0.0 if free else 0.5 * b * b) + float(C @ np.logaddexp(0.0, -y * (X @ w + b)))


def small(m=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 2))
    y = np.where(X[:, 0] + rng.normal(size=m) > 0.3, 1.0, -1.0)
    return X, y, rng.uniform(0.1, 3.0, m)


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("bias", [1.0, "free"])
@pytest.mark.parametrize("C", [1e-4, 1.0])
def test_linear_optima_are_those_of_scikit_learn(name, form, bias, C, cancer):
    X, y = cancer
    solver = plugins.build("solver", name, {"loss": "logistic", "bias": bias})
    weights = np.random.default_rng(1).uniform(0.2, 2.0, len(y))
    problem = solver.pose(Gram(Linear(), form(X)), y, C * weights)
    found = solve(problem, solver, stop=Gap(1e-7)).certificate
    method = {"solver": "newton-cholesky"} if bias == "free" else {"solver": "liblinear", "intercept_scaling": 1.0}
    theirs = LogisticRegression(C=C, tol=1e-10, max_iter=10_000, **method).fit(X, y, sample_weight=weights)
    best = primal(theirs.coef_[0], theirs.intercept_[0], X, y, C * weights, bias == "free")
    assert found.gap <= 1e-7
    assert found.dual <= best * (1 + 1e-9) and found.primal == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e6])
@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_optima_are_those_of_scikit_learn_on_a_factor_of_the_matrix(C, weighted):
    X, y, weights = small(150)
    weights = weights if weighted else np.ones(len(y))
    problem = BoxQP(Gram(RBF(0.5), X), y, C * weights, loss="logistic")
    found = solve(problem, plugins.build("solver", "klr"), stop=Gap(1e-7)).certificate
    values, vectors = np.linalg.eigh(rbf_kernel(X, gamma=0.5))
    F = vectors * np.sqrt(np.maximum(values, 0.0))
    theirs = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(F, y, weights)
    best = primal(theirs.coef_[0], theirs.intercept_[0], F, y, C * weights, True)
    assert found.gap <= max(1e-7, 2.0 * found.rounding) and found.dual <= best * (1 + 1e-8)
    assert found.primal == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("bias", [0.0, 1.0, "free"])
def test_a_tiny_dual_has_the_optimum_of_scipy(bias):
    X, y, C = small()
    solver = plugins.build("solver", "dcd", {"loss": "logistic", "bias": bias})
    found = solve(solver.pose(Gram(Linear(), X), y, C), solver, stop=Gap(1e-9)).certificate
    ridge = 0.0 if bias in (0.0, "free") else 1.0

    def value(at):
        w, b = at[:2], at[2] if bias != 0.0 else 0.0
        return 0.5 * w @ w + 0.5 * ridge * b * b + C @ np.logaddexp(0.0, -y * (X @ w + b))

    best = scipy.optimize.minimize(value, np.zeros(3), method="BFGS", options={"gtol": 1e-9}).fun
    assert found.gap <= 1e-9 and found.primal == pytest.approx(best, rel=1e-8)


def test_factor_and_conjugate_gradients_lead_to_one_optimum(monkeypatch):
    from svmkit_newton import klr

    X, y, C = small(300)
    problem = BoxQP(Gram(RBF(0.5), X), y, C, loss="logistic")
    solver = plugins.build("solver", "klr")
    monkeypatch.setattr(klr, "SLOW", 10**9)
    whole = solve(problem, solver, stop=Gap(1e-8)).certificate
    monkeypatch.setattr(klr, "FACTORED", 10)
    kept = solve(problem, solver, stop=Gap(1e-8)).certificate
    monkeypatch.setattr(klr, "SHARE", 10**9)
    computed = solve(problem, solver, stop=Gap(1e-8)).certificate
    for other in (kept, computed):
        assert other.gap <= 1e-8 and other.primal == pytest.approx(whole.primal, rel=1e-7)


@pytest.mark.parametrize("spread", [1e-3, 1.0, 30.0])
def test_the_best_bias_balances_the_weights(spread):
    rng = np.random.default_rng(3)
    y, C = np.where(rng.random(200) < 0.2, 1.0, -1.0), 10.0 ** rng.uniform(-3, 3, 200)
    terms, h = Logistic().terms(y, C), spread * rng.standard_cauchy(200)
    b = best_bias(Record.from_terms(terms), terms.target - h)

    def total(at):
        return loss_values(terms, -h - at).sum()

    assert total(b) <= min(total(b + step) for step in (-1e-4, 1e-4, -1.0, 1.0)) + 1e-12 * total(b)


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e6])
def test_separable_classes_and_extreme_costs_are_certified(C):
    X = np.concatenate([np.linspace(-3.0, -1.0, 20), np.linspace(1.0, 3.0, 30)])[:, None]
    y = np.sign(X[:, 0])
    for solver in (
        plugins.build("solver", "newton", {"loss": "logistic", "bias": "free"}),
        plugins.build("solver", "klr"),
    ):
        found = solve(solver.pose(Gram(Linear(), X), y, C), solver, stop=Gap(1e-5)).certificate
        assert found.gap <= 1e-5 and 0.0 < found.dual <= found.primal


def test_rounding_is_part_of_the_gap_far_from_the_origin():
    X, y, C = small(60)
    problem = BoxQP(Gram(Linear(), X), y, C, loss="logistic")
    point = solve(problem, plugins.build("solver", "klr"), stop=Gap(1e-12)).point
    near, far = problem.certificate(point), BoxQP(Gram(Linear(), X + 1e4), y, C, loss="logistic").certificate(point)
    assert far.rounding > 100.0 * near.rounding
    assert far.dual <= near.primal and near.dual <= far.primal * (1 + far.rounding)


def test_whoever_takes_phi_for_a_quadratic_gets_no_number():
    terms = Logistic().terms(np.array([1.0, -1.0]), np.ones(2))
    assert isinstance(terms, LogisticTerms) and isinstance(terms._replace(target=np.ones(2)), LogisticTerms)
    assert (
        np.isnan(terms.ridge_up).all()
        and np.isnan(BoxQP(Gram(RBF(1.0), np.eye(2)), [1, -1], 1.0, loss="logistic").diag).all()
    )


@pytest.mark.parametrize("name", ["smo", "fcsmo", "ocas", "svmlight", "libsvm"])
def test_other_solvers_refuse_it_and_name_those_that_take_it(name):
    solver = plugins.load("solver", name)
    assert Family.LOGISTIC not in solver.losses
    with pytest.raises(
        InputError,
        match=r"does not take loss=logistic; .*with logistic: auto, bmrm, cd, dcd, (dnewton, )?folos, klr, newton",
    ) as said:
        solver.loss_option("logistic")
    assert "\n" not in str(said.value)


def test_workers_are_refused():
    X, y, C = small(50)
    solver = plugins.build("solver", "dcd", {"loss": "logistic", "workers": 2})
    with pytest.raises(InputError, match="set workers=1"):
        solve(LinearDual(Gram(Linear(), X), y, C, "logistic"), solver)


@njit
def _steps(slack, q, held, C):
    out = np.empty((slack.size, 4))
    for i in range(slack.size):
        out[i] = _solve_logistic(slack[i], q[i], held[i], C)
    return out


@pytest.mark.parametrize("C", [1e-6, 1e-2, 1.0, 1e2, 1e6])
def test_a_step_solves_its_problem_of_one_weight(C):
    """z + q C / (1 + exp(-z)) = slack + q held, to the last digits of the terms, for costs and norms of all sizes.

    Newton's method alone does not end where it has a cycle, as from slacks near 2.8 with q = 40 and C >= 1.
    """
    rng, m = np.random.default_rng(0), 20_000
    slack, q, held = 10.0 * rng.normal(size=m), 10.0 ** rng.uniform(-6, 6, m), C * rng.random(m)
    slack[: m // 2], q[: m // 2], held[: m // 2] = rng.uniform(2.0, 4.0, m // 2), 40.0, 0.0
    z, share, before, after = _steps(slack, q, held, C).T
    sigmoid = scipy.special.expit(z)
    pulled, right = q * C * sigmoid, slack + q * held
    assert (np.abs(z + pulled - right) <= 1e-13 * (np.abs(z) + pulled + np.abs(right))).all()
    np.testing.assert_allclose(share, sigmoid, rtol=1e-13)
    np.testing.assert_allclose(before, np.logaddexp(0.0, slack), rtol=1e-13)
    np.testing.assert_allclose(after, np.logaddexp(0.0, z), rtol=1e-13, atol=1e-15)


def test_passes_with_large_costs_know_their_dual_value():
    """A step that missed its optimum would have counted more than it gained."""
    rng = np.random.default_rng(0)
    X = sp.csr_array((rng.random((3_000, 300)) < 0.13).astype(float))
    y = np.where(X @ rng.normal(size=300) + 3.0 * rng.normal(size=3_000) > 0.0, 1.0, -1.0)
    solver = plugins.build("solver", "dcd", {"loss": "logistic", "bias": 1.0})
    problem = solver.pose(Gram(Linear(), X), y, 100.0)
    state = solver.init(problem, None, Draws(solver.sampler, y, 0))
    for _ in range(4):
        found = -solver.step(state).objective
        assert found == pytest.approx(problem.dual(state.beta, problem.weights(state.beta)), rel=1e-10)


@pytest.mark.parametrize("off", [1e-14, 1e-3, 1.0, 5.0])
@pytest.mark.parametrize("spread", [0.1, 3.0, 50.0])
def test_the_error_of_the_losses_bounds_what_decisions_within_theirs_change(spread, off):
    rng, m = np.random.default_rng(1), 200
    y, C = np.where(rng.random(m) < 0.5, 1.0, -1.0), 10.0 ** rng.uniform(-2, 2, m)
    terms, h, error = Logistic().terms(y, C), spread * rng.normal(size=m), off * rng.random(m)
    bound = total_loss_error(*make_points(terms, np.ones(m)), h, error, 2.0**-53)
    worst = (loss_values(terms, -(h - y * error)) - loss_values(terms, -h)).sum()  # each as much larger as it may be
    assert worst <= bound <= 1.1 * (1.0 + 2.0 * off) * worst + 1e-11 * C.sum() * (1.0 + spread)
