"""Risks of regression: certificates at LIBLINEAR's optimum, at a linear program's, and at points of any kind."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from support.liblinear import every_loss
from support.problems import make
from support.regression import linear_svr, primal, quantities, tube, with_bias

from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear
from svmkit.kernels.gram import Gram
from svmkit.problems.risks.kernel_risk import KernelTubeRisk
from svmkit.problems.risks.linear_risk import LinearTubeDual, LinearTubeRisk
from svmkit.problems.tube import BiasedTubeQP
from svmkit.solver.loop.solve import solve
from svmkit.solver.stopping import Gap

pytestmark = pytest.mark.usefixtures("one_pool")

every_epsilon = pytest.mark.parametrize("epsilon", [0.0, 0.3])
STORAGES = {
    "dense": np.asarray,
    "csr": sp.csr_array,
    "float32": lambda X: X.astype(np.float32),
    "int64": lambda X: with_zeros(sp.csr_array(X)),
}


def with_zeros(X):
    """The same matrix with explicit zeros and indices of int64."""
    dense = X.toarray()
    m, d = dense.shape
    return sp.csr_array((dense.ravel(), np.tile(np.arange(d), m), np.arange(0, m * d + 1, d, dtype=np.int64)), (m, d))


@every_loss
@every_epsilon
@pytest.mark.parametrize("storage", STORAGES.values(), ids=STORAGES)
@pytest.mark.parametrize("bias", [0.0, 1.0, 3.0])
@pytest.mark.slow
def test_liblinears_optimum_is_certified(storage, loss, bias, epsilon):
    X, t, C = quantities(70)
    X = X.astype(np.float32)  # the numbers that all storages hold
    w = linear_svr(X, t, C, epsilon, loss, bias)
    risk = LinearTubeRisk(Gram(Linear(), storage(X)), t, C, tube(loss, epsilon), bias=bias)
    assert risk.infeasible(w) is None and risk.shape == w.shape
    first = risk.certificate(w)
    assert first.primal == pytest.approx(primal(X, t, C, epsilon, w, loss, bias), rel=1e-12)
    assert risk.objective(w) == first.primal
    for _ in range(60):
        last = risk.certificate(w)
        risk.raise_bound(last)
    assert 0.0 <= last.gap <= 1e-3 and last.gap <= first.gap
    assert last.dual <= first.primal * (1.0 + 1e-9)
    assert risk.infeasible(w[:-1]) is not None


def lasso(X, t, C, epsilon, bias):
    """(w, P) that minimise |w|_1 + sum C_i max(0, |t - h| - epsilon), a linear program, by HiGHS."""
    F, (m, width) = with_bias(X, bias), (len(t), X.shape[1] + (bias > 0))
    costs = np.concatenate([np.ones(2 * width), C])
    over = np.hstack([F, -F, -np.eye(m)])  # h - t - epsilon <= xi
    under = np.hstack([-F, F, -np.eye(m)])
    found = linprog(costs, np.vstack([over, under]), np.concatenate([t + epsilon, epsilon - t]), method="highs")
    return found.x[:width] - found.x[width : 2 * width], found.fun


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_l1_against_a_linear_program(bias):
    X, t, C = quantities(60)
    w, least = lasso(X, t, 0.05 * C, 0.2, bias)
    risk = LinearTubeRisk(Gram(Linear(), X), t, 0.05 * C, tube("hinge", 0.2), penalty="l1", bias=bias)
    assert risk.objective(w) == pytest.approx(least, rel=1e-9)
    rng = np.random.default_rng(0)
    for point in (w, np.zeros_like(w), *rng.normal(size=(20, w.size))):
        certificate = risk.certificate(point)
        assert certificate.dual <= least * (1.0 + 1e-9) <= certificate.primal * (1.0 + 1e-8)
        risk.raise_bound(certificate)


@every_loss
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_lower_bounds_hold_wherever_the_point_is(loss, penalty):
    X, t, C = quantities(40)
    rng = np.random.default_rng(5)
    risk, other = (LinearTubeRisk(Gram(Linear(), X), t, C, tube(loss, 0.2), penalty=penalty) for _ in range(2))
    values, before = [], 0.0
    for _ in range(40):
        certificate = risk.certificate(rng.normal(size=6) * rng.choice([0.01, 1.0, 10.0]))
        values.append(certificate.primal)
        assert certificate.dual >= before and 0.0 <= certificate.gap <= 1.0
        assert (np.abs(certificate.beta) <= risk.terms.upper).all()
        assert other.offer(certificate.beta) >= certificate.dual * (1.0 - 1e-12)
        before = certificate.dual
        risk.raise_bound(certificate)
    assert before <= min(values)


@every_loss
@every_epsilon
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_dual_by_its_definition(loss, epsilon, bias):
    X, t, C = quantities(60)
    dual = LinearTubeDual(Gram(Linear(), X), t, C, tube(loss, epsilon), bias=bias)
    best = primal(X, t, C, epsilon, linear_svr(X, t, C, epsilon, loss, bias), loss, bias)
    F, rng = with_bias(X, bias), np.random.default_rng(0)
    K = F @ F.T
    for _ in range(20):
        d = dual.clip(rng.normal(size=60) * rng.choice([0.01, 0.3, 3.0]))
        assert dual.infeasible(d) is None
        certificate = dual.certificate(d)
        value = t @ d - epsilon * np.abs(d).sum() - 0.5 * d @ K @ d - 0.5 * dual.terms.ridge_up @ d**2
        assert certificate.dual == pytest.approx(value, rel=1e-9, abs=1e-9) == -dual.objective(d)
        assert certificate.primal == pytest.approx(primal(X, t, C, epsilon, F.T @ d, loss, bias), rel=1e-9)
        assert certificate.dual <= best * (1.0 + 1e-9) <= certificate.primal * (1.0 + 1e-8)
        np.testing.assert_allclose(certificate.gradient, K @ d + dual.terms.ridge_up * d - t, atol=1e-9)
        found = dual.decision_function(d, certificate)
        np.testing.assert_array_equal(found.coef, d)
        np.testing.assert_allclose(X @ found.w + found.intercept, K @ d, atol=1e-9)
        np.testing.assert_array_equal(dual.start(found.coef), d)


@every_loss
def test_a_start_from_weights_is_about_as_good_as_the_weights(loss):
    X, t, C = quantities(300)
    dual = LinearTubeDual(Gram(Linear(), X), t, C, tube(loss, 0.2))
    w = linear_svr(X, t, C, 0.2, loss)
    start = dual.start_weights(w[:-1], w[-1])
    assert dual.infeasible(start) is None and dual.certificate(start).gap <= 0.05


def test_dual_points_outside_their_box_are_named():
    X, t, _ = quantities(60)
    dual = LinearTubeDual(Gram(Linear(), X), t, 0.5)
    d = np.zeros(60)
    d[7] = -0.6
    assert "row 7" in dual.infeasible(d) and "shape" in dual.infeasible(np.zeros(59))
    assert LinearTubeDual(Gram(Linear(), X), t, 0.5, loss="squared_hinge").infeasible(d) is None


@every_loss
@pytest.mark.parametrize("bias", [0.0, 2.0])
def test_kernel_risk_with_the_linear_kernel_is_the_linear_risk(loss, bias):
    X, t, C = quantities(60)
    gram = Gram(Linear(), X)
    solution = solve(LinearTubeDual(gram, t, C, tube(loss, 0.2), bias=bias), make("dcd", loss=loss), stop=Gap(1e-7))
    risk = KernelTubeRisk(gram, t, C, tube(loss, 0.2), bias=bias)
    best = risk.certificate(solution.point)
    assert best.primal == pytest.approx(solution.certificate.primal, rel=1e-9)
    assert best.dual == pytest.approx(solution.certificate.dual, rel=1e-6) and 0.0 <= best.gap <= 1e-6
    rng = np.random.default_rng(0)
    for _ in range(20):  # any coefficients
        found = risk.certificate(solution.point + rng.normal(size=60) * rng.choice([1e-3, 0.1, 3.0]))
        assert found.dual <= best.primal * (1.0 + 1e-9) <= found.primal * (1.0 + 1e-6)
        assert 0.0 <= found.gap <= 1.0


@every_loss
def test_kernel_risk_is_the_tube_with_a_regularised_bias(loss):
    X, t, C = quantities(60)
    gram, rng = Gram(RBF(0.5), X), np.random.default_rng(0)
    risk, qp = KernelTubeRisk(gram, t, C, tube(loss, 0.2)), BiasedTubeQP(gram, t, C, 0.2, loss=loss)
    for _ in range(20):
        d = risk.clip(rng.normal(size=60) * rng.choice([1e-3, 0.1, 3.0]))
        ours, theirs = risk.certificate(d), qp.certificate(d)
        assert ours.primal == pytest.approx(theirs.primal, rel=1e-9)
        assert ours.dual >= theirs.dual - 1e-9 * ours.primal  # d times the best factor
        assert risk.decision_function(d, ours).intercept == pytest.approx(d.sum())


@every_loss
@pytest.mark.parametrize("t", [np.full(60, 7.0), np.zeros(60)], ids=["constant", "zero"])
def test_constant_targets(loss, t):
    X, _, C = quantities(60)
    w = linear_svr(X, t, C, 0.0, loss)
    certificate = LinearTubeRisk(Gram(Linear(), X), t, C, tube(loss, 0.0)).certificate(w)
    assert certificate.primal == pytest.approx(primal(X, t, C, 0.0, w, loss), rel=1e-12)
    assert certificate.dual <= certificate.primal * (1.0 + 1e-9) and certificate.gap <= 0.05


@every_loss
@pytest.mark.parametrize("scale", [1e-5, 1e9])
def test_certificates_scale_with_the_targets(loss, scale):
    """With targets, epsilon and w times s and C times s, or 1 for the squared loss, P and D are those times s^2."""
    X, t, C = quantities(60)
    w = linear_svr(X, t, C, 0.2, loss)
    one = LinearTubeRisk(Gram(Linear(), X), t, C, tube(loss, 0.2)).certificate(w)
    costs = C * (scale if loss == "hinge" else 1.0)
    risk = LinearTubeRisk(Gram(Linear(), X), scale * t, costs, tube(loss, scale * 0.2))
    other = risk.certificate(scale * w)
    assert other.primal == pytest.approx(scale**2 * one.primal, rel=1e-9)
    assert other.dual == pytest.approx(scale**2 * one.dual, rel=1e-3) and other.gap == pytest.approx(one.gap, abs=1e-3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"target": np.full(60, np.nan)}, "the targets must be a finite number for each of the 60 rows"),
        ({"C": 0.0}, "C must be finite and > 0"),
        ({"loss": "log"}, "there are: absolute_error, epsilon_insensitive, expectile"),
        ({"bias": -1.0}, "bias must be a finite number >= 0"),
    ],
)
def test_terms_that_are_refused(given, words):
    X, t, C = quantities(60)
    with pytest.raises(InputError, match=words):
        LinearTubeRisk(Gram(Linear(), X), **{"target": t, "C": C} | given)


def test_the_objective_in_words():
    assert LinearTubeDual.formulation() == BiasedTubeQP.formulation() == "epsilon-insensitive, regularised bias"
    words = "squared epsilon-insensitive, no bias, l1 penalty"
    assert LinearTubeRisk.formulation(loss="squared_epsilon_insensitive", bias=0.0, penalty="l1") == words
