"""Losses, the best bias, and the regularised risks: their certificates against LIBLINEAR, quadprog and definitions."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from sklearn.metrics.pairwise import rbf_kernel
from support.bias import best_margin_bias
from support.liblinear import every_loss, liblinear, primal, total
from support.problems import blobs, make

from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear
from svmkit.kernels.gram import Gram
from svmkit.problems.risks.kernel_risk import KernelRisk
from svmkit.problems.risks.linear_risk import LinearDual, LinearRisk
from svmkit.problems.simplex import SquaredHinge
from svmkit.problems.weights import outside_bounds
from svmkit.solver.loop.solve import solve
from svmkit.solver.stopping import Gap

pytestmark = pytest.mark.usefixtures("one_pool")

ROUNDING = 1e-12
STORAGES = {"dense": np.asarray, "csr": sp.csr_array, "float32": lambda X: X.astype(np.float32)}
every_storage = pytest.mark.parametrize("storage", STORAGES.values(), ids=STORAGES)


# The best bias


def bias_cases():
    rng = np.random.default_rng(0)
    for case in range(150):
        m = int(rng.integers(2, 30))
        y = np.where(rng.random(m) < rng.choice([0.1, 0.5, 0.9]), 1.0, -1.0)
        y[0], y[1] = 1.0, -1.0
        h = rng.normal(size=m) * rng.choice([0.01, 1.0, 50.0])
        C = rng.uniform(0.01, 2.0, m) * rng.choice([1e-4, 1.0, 1e6])
        if case % 3 == 0:  # many equal breaks, and whole intervals of best values
            h, C = np.round(h), np.full(m, C[0])
        if case % 5 == 0:  # separable
            h = 3.0 * y + 0.1 * h / max(1.0, np.abs(h).max())
        yield y, h, C


@every_loss
def test_best_bias_against_brute_force(loss):
    for y, h, C in bias_cases():

        def at(b):
            return total(loss, 1.0 - y * (h + b), C)  # noqa: B023

        b = best_margin_bias(loss, y, h, C)
        breaks = np.sort(y - h)  # convex, and its pieces end here
        tries = [at(x) for x in breaks]
        k = int(np.argmin(tries))
        lo, hi = breaks[max(k - 1, 0)], breaks[min(k + 1, len(breaks) - 1)]
        fine = minimize_scalar(at, bounds=(lo, hi), method="bounded", options={"xatol": 1e-12}) if hi > lo else None
        least = min([*tries, *([fine.fun] if fine else [])])
        assert at(b) <= least + 1e-9 * max(C.max(), least)


@every_loss
def test_best_bias_is_the_middle_of_an_interval(loss):
    y, h = np.array([1.0, -1.0]), np.array([3.0, -3.0])  # no loss for -2 <= b <= 2
    assert best_margin_bias(loss, y, h + 0.5, np.ones(2)) == pytest.approx(-0.5)


def test_best_bias_of_the_hinge_ignores_who_is_far_off():
    y, h = np.array([1.0, 1.0, 1.0, -1.0, -1.0]), np.array([0.0, 0.1, -1e6, -2.0, -2.1])
    b = best_margin_bias("hinge", y, h, np.ones(5))
    assert 0.9 <= b <= 1.1


# Linear: what LIBLINEAR finds is certified, and bounds what anybody finds


def samples(m=70, seed=0):
    X, y = blobs(m, 4, seed=seed, shift=0.5)
    X[3], X[4] = 0.0, X[5]
    return X, y, np.random.default_rng(seed).uniform(0.05, 1.0, m)


@every_loss
@every_storage
@pytest.mark.parametrize("bias", [0.0, 1.0, 3.0])
@pytest.mark.slow
def test_liblinears_optimum_is_certified(storage, loss, bias):
    X, y, C = samples()
    X = X.astype(np.float32)  # the numbers that all storages hold
    w = liblinear(X, y, C, loss, bias)
    risk = LinearRisk(Gram(Linear(), storage(X)), y, C, loss=loss, bias=bias)
    assert risk.infeasible(w) is None and risk.shape == w.shape
    first = risk.certificate(w)
    assert first.primal == pytest.approx(primal(X, y, C, w, loss, bias), rel=1e-12)
    assert risk.objective(w) == first.primal
    for _ in range(60):
        last = risk.certificate(w)
        risk.raise_bound(last)
    assert -ROUNDING <= last.gap <= 1e-3 and last.gap <= first.gap
    assert last.dual <= first.primal * (1.0 + 1e-9)


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_liblinears_l1_optimum_is_certified(bias):
    X, y, C = samples()
    w = liblinear(X, y, C, "squared_hinge", bias, "l1")
    risk = LinearRisk(Gram(Linear(), X), y, C, loss="squared_hinge", bias=bias, penalty="l1")
    certificate = risk.certificate(w)
    assert certificate.primal == pytest.approx(primal(X, y, C, w, "squared_hinge", bias, "l1"), rel=1e-12)
    assert -1e-9 <= certificate.gap <= 1e-5
    worse = risk.certificate(1.3 * w)
    assert worse.primal > certificate.primal and worse.dual <= certificate.primal * (1.0 + 1e-9)


@every_loss
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_lower_bounds_hold_wherever_the_point_is(loss, penalty):
    X, y, C = samples(40)
    rng = np.random.default_rng(5)
    risk = LinearRisk(Gram(Linear(), X), y, C, loss=loss, penalty=penalty)
    values, before = [], 0.0
    for _ in range(40):
        w = rng.normal(size=5) * rng.choice([0.01, 0.3, 10.0])
        certificate = risk.certificate(w)
        values.append(certificate.primal)
        assert 0.0 <= certificate.gap <= 1.0
        assert certificate.dual >= before  # it never forgets a better one
        before = certificate.dual
        risk.raise_bound(certificate)
    assert before <= min(values)
    offered = risk.offer(risk.clip(y * rng.uniform(0.0, 0.05, 40)))
    assert before <= offered <= min(values)


@every_loss
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_asking_for_a_certificate_changes_nothing(loss, penalty):
    X, y, C = samples()
    risk = LinearRisk(Gram(Linear(), X), y, C, loss=loss, penalty=penalty)
    rng = np.random.default_rng(6)
    near, far = rng.normal(size=(2, 5)) * [[0.1], [10.0]]
    for _ in range(3):
        first = risk.certificate(near)
        assert risk.certificate(far) == risk.certificate(far)
        again = risk.certificate(near)
        assert again == first  # whatever was asked for in between
        np.testing.assert_array_equal(again.beta, first.beta)
        risk.raise_bound(first)
        assert risk.certificate(far).dual >= first.dual


@every_loss
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_a_certificate_holds_the_dual_weights_that_prove_it(loss, penalty):
    X, y, C = samples()
    risk, other = (LinearRisk(Gram(Linear(), X), y, C, loss=loss, penalty=penalty) for _ in range(2))
    certificate = risk.certificate(np.full(5, 0.1))
    assert outside_bounds(risk.terms, certificate.beta) is None and certificate.beta.any()
    assert other.offer(certificate.beta) == pytest.approx(certificate.dual, rel=1e-12)


def test_no_weights_at_all_are_certified_when_that_is_best():
    """l1 with small C: w = 0 is the optimum, and its dual weights prove it."""
    X, y, _ = samples()
    risk = LinearRisk(Gram(Linear(), X), y, 1e-4, loss="squared_hinge", penalty="l1")
    assert risk.certificate(np.zeros(5)).gap == pytest.approx(0.0, abs=1e-9)


@every_loss
def test_dual_is_bounded_by_and_meets_liblinears(loss):
    X, y, C = samples()
    w = liblinear(X, y, C, loss)
    dual = LinearDual(Gram(Linear(), X), y, C, loss=loss)
    best = primal(X, y, C, w, loss, 1.0)
    full = np.append(X, np.ones((len(y), 1)), axis=1)
    Q = full @ full.T + np.diag(dual.terms.ridge_up)
    rng = np.random.default_rng(0)
    for _ in range(20):
        beta = dual.clip(y * rng.uniform(0.0, 0.4, len(y)))
        assert dual.infeasible(beta) is None
        certificate = dual.certificate(beta)
        assert certificate.dual == pytest.approx(y @ beta - 0.5 * beta @ Q @ beta, rel=1e-9)
        assert dual.objective(beta) == pytest.approx(-certificate.dual, rel=1e-12)
        assert certificate.dual <= best <= certificate.primal
        np.testing.assert_allclose(certificate.gradient, Q @ beta - y, atol=1e-10)
        found = dual.decision_function(beta, certificate)
        np.testing.assert_allclose(np.append(found.w, found.intercept), full.T @ beta, atol=1e-10)
    solution = solve(dual, make("dcd", loss=loss), stop=Gap(1e-8))
    assert solution.certificate.primal == pytest.approx(best, rel=1e-7)
    assert dual.bound(solution.certificate.dual * -1.0).dual == solution.certificate.dual


@every_loss
def test_dual_points_outside_their_box_are_named(loss):
    X, y, _ = samples()
    dual = LinearDual(Gram(Linear(), X), y, 0.5, loss=loss)
    beta = np.zeros(70)
    beta[7] = -0.1 * y[7]
    assert "the weight of row 7 should be between" in dual.infeasible(beta)
    beta[7] = 0.6 * y[7]
    assert (loss == "hinge") == ("row 7" in (dual.infeasible(beta) or ""))
    assert "shape" in dual.infeasible(np.zeros(69))


@every_loss
def test_sgds_lambda_is_one_over_the_sum_of_costs(loss):
    X, y, C = samples()
    assert LinearRisk(Gram(Linear(), X), y, C, loss=loss).lam == pytest.approx(1.0 / C.sum())


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"bias": -1.0}, "bias must be a finite number >= 0"),
        ({"bias": float("inf")}, "bias must be a finite number >= 0"),
        ({"loss": "log"}, "there are: hinge, logistic, smoothed_hinge, squared_hinge"),
        ({"penalty": "l0"}, "there are: l2, l1"),
    ],
)
def test_terms_that_are_refused(terms, words):
    X, y, C = samples()
    with pytest.raises(InputError, match=words):
        LinearRisk(Gram(Linear(), X), y, C, **terms)


# In a kernel's space


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_kernel_risk_is_the_simplex_problem_of_the_squared_hinge(bias):
    X, y, _ = samples(60)
    gram = Gram(RBF(0.5), X)
    simplex = SquaredHinge(gram, y, 0.7, bias=bias)
    solution = solve(simplex, make("swap2o"), stop=Gap(1e-9))
    found = simplex.decision_function(solution.point, solution.certificate)
    risk = KernelRisk(gram, y, 0.7, loss="squared_hinge", bias=bias)
    certificate = risk.certificate(found.coef)
    assert certificate.primal == pytest.approx(solution.certificate.primal, rel=1e-9)
    assert certificate.dual == pytest.approx(solution.certificate.dual, rel=1e-6)
    assert -ROUNDING <= certificate.gap <= 1e-6
    again = risk.decision_function(found.coef, certificate)
    np.testing.assert_array_equal(again.coef, found.coef)
    assert again.intercept == pytest.approx(found.intercept)


@every_loss
@pytest.mark.parametrize("bias", [0.0, 2.0])
def test_kernel_risk_against_a_qp_solver(loss, bias):
    quadprog = pytest.importorskip("quadprog", reason="needs the trusted QP solver quadprog (extra `test`)")
    X, y, C = samples(40)
    risk = KernelRisk(Gram(RBF(0.5), X), y, C, loss=loss, bias=bias)
    K = rbf_kernel(X, gamma=0.5) + bias**2
    Q = np.outer(y, y) * K + np.diag(risk.terms.ridge_up) + 1e-10 * np.eye(40)
    sides = [np.eye(40)] + ([-np.eye(40)] if loss == "hinge" else [])
    limits = np.append(np.zeros(40), -C) if loss == "hinge" else np.zeros(40)
    beta, value = quadprog.solve_qp(Q, np.ones(40), np.hstack(sides), limits)[:2]
    beta = risk.clip(y * beta)
    certificate = risk.certificate(beta)
    assert -1e-9 <= certificate.gap <= 1e-5
    assert certificate.dual == pytest.approx(-value, rel=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(20):  # points of any sign: P by its definition, D a bound
        c = beta + rng.normal(size=40) * rng.choice([1e-3, 0.1, 3.0])
        certificate = risk.certificate(c)
        slack = np.maximum(1.0 - y * (K @ c), 0.0)
        cost = C @ (slack if loss == "hinge" else slack**2)
        assert certificate.primal == pytest.approx(0.5 * c @ K @ c + cost, rel=1e-9)
        assert 0.0 <= certificate.dual <= -value * (1.0 + 1e-9) <= certificate.primal * (1.0 + 1e-6)
        assert 0.0 <= certificate.gap <= 1.0


def test_kernel_risk_of_no_weights():
    X, y, C = samples(40)
    certificate = KernelRisk(Gram(RBF(0.5), X), y, C).certificate(np.zeros(40))
    assert certificate.primal == pytest.approx(C.sum()) and certificate.dual == 0.0
