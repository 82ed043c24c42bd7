"""Objectives, certificates and decision functions of all problems with a dual, number by number from definitions.

The kernel matrix is given, the costs differ from sample to sample, and the bias is none, 1 or 2.5: an expansion that
has the bias for its square, or a cost's mean for the cost, is off by far more than rounding.
"""

import numpy as np
import pytest
from scipy.optimize import brentq
from support.bias import best_margin_bias

from svmkit.errors import InputError, SvmkitError
from svmkit.kernels.functions import Precomputed
from svmkit.kernels.gram import Gram
from svmkit.losses import Hinge
from svmkit.problems.base import DecisionFunction
from svmkit.problems.box import BoxQP
from svmkit.problems.certificate import Certificate, relative_gap
from svmkit.problems.risks.kernel_risk import KernelRisk
from svmkit.problems.risks.points import dual_sums
from svmkit.problems.simplex import SimplexQP, SquaredHinge

M = 6
Y = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
C = np.array([0.5, 4.0, 1.0, 0.125, 2.0, 8.0])
ROWS = np.random.default_rng(0).normal(size=(M, M)) + 0.4 * Y[:, None]
K = ROWS @ ROWS.T
HINGE, SQUARED = "hinge", "squared_hinge"
every_loss = pytest.mark.parametrize("loss", [HINGE, SQUARED], ids=str)
every_bias = pytest.mark.parametrize("bias", [0.0, 1.0, 2.5])
close = {"rtol": 1e-12, "atol": 1e-13}


def gram():
    return Gram(Precomputed(), K, dtype=np.float64)


def loss_of(loss, slack):
    """The sum of C_i loss, sample by sample."""
    power = 1 if loss == HINGE else 2
    return sum(cost * max(0.0, s) ** power for cost, s in zip(C, slack, strict=True))


def points(m=M, total=1.0):
    rng = np.random.default_rng(1)
    yield np.eye(m)[2] * total
    yield np.array([0.5, 0.0, 0.0, 0.0, 0.5, 0.0]) * total
    for _ in range(4):
        yield rng.dirichlet(np.ones(m)) * total


def is_certificate(found, primal, dual):
    assert found.primal == pytest.approx(primal, rel=1e-12)
    assert found.dual == pytest.approx(dual, rel=1e-12)
    assert found.gap == pytest.approx((primal - dual) / max(abs(primal), abs(dual)), abs=1e-9)


# --- the simplex


@every_bias
def test_the_squared_hinge(bias):
    """alpha / f in the dual of 1/2 |w|^2 + bias/2 b^2 + sum C_i loss; f = alpha'A alpha."""
    problem = SquaredHinge(gram(), Y, C, bias=bias)
    A = np.outer(Y, Y) * (K + bias) + np.diag(1.0 / (2.0 * C))
    np.testing.assert_allclose(problem.diag, np.diag(A), **close)
    for alpha in points():
        f = alpha @ A @ alpha
        beta = alpha / f
        h = (K + bias) @ (Y * beta)
        found = problem.certificate(alpha)
        is_certificate(found, 0.5 * (Y * beta) @ h + loss_of(SQUARED, 1.0 - Y * h), beta.sum() - 0.5 * beta @ A @ beta)
        np.testing.assert_allclose(found.gradient, A @ alpha, **close)
        assert problem.objective(alpha) == pytest.approx(f, rel=1e-12)
        assert problem.bound(f) == Certificate(np.inf, 0.5 / f, None)
        for certificate in (found, problem.bound(f)):
            function = problem.decision_function(alpha, certificate)
            np.testing.assert_allclose(function.coef, Y * beta, **close)
            assert function.intercept == pytest.approx(bias * (Y * beta).sum(), rel=1e-12)


@pytest.mark.parametrize("bare", [0, 1])
@pytest.mark.parametrize("linear", [False, True])
@every_bias
def test_the_simplex(bias, linear, bare):
    """P = alpha'A alpha + 2 c'alpha; D = P - 2 (alpha'g - min g), where g = A alpha + c.

    With a ridge on each point D is the minimum of 2 h'a + sum ridge_i a_i^2 over the simplex less alpha'(h - c), where
    h is g without the ridge's part.
    """
    rng = np.random.default_rng(2)
    c, ridge = rng.normal(size=M), rng.uniform(0.1, 2.0, M)
    ridge[:bare] = 0.0
    problem = SimplexQP(gram(), Y, bias=bias, ridge=ridge, linear_term=c if linear else None)
    A, c = np.outer(Y, Y) * (K + bias) + np.diag(ridge), c if linear else np.zeros(M)
    for alpha in points():
        g = A @ alpha + c
        value = alpha @ A @ alpha + 2.0 * c @ alpha
        found = problem.certificate(alpha)
        dual = value - 2.0 * (alpha @ g - g.min())
        if not bare:
            h = g - ridge * alpha
            t = brentq(lambda t, h=h: (np.maximum(0.0, t - h) / ridge).sum() - 1.0, h.min(), h.max() + 2.0, xtol=1e-14)
            best = np.maximum(0.0, t - h) / ridge
            dual = 2.0 * h @ best + ridge @ best**2 - alpha @ (h - c)
        is_certificate(found, value, dual)
        np.testing.assert_allclose(found.gradient, g, **close)
        np.testing.assert_allclose(problem.gradient(alpha), g, **close)
        np.testing.assert_allclose(problem.gradient(alpha, np.array([4, 1])), g[[4, 1]], **close)
        assert problem.objective(alpha) == pytest.approx(value, rel=1e-12)
        assert problem.bound(value) == Certificate(value, None, None)
        function = problem.decision_function(alpha, found)
        np.testing.assert_allclose(function.coef, Y * alpha, **close)
        assert function.intercept == pytest.approx(bias * Y @ alpha, rel=1e-12, abs=1e-15)
    np.testing.assert_allclose(
        problem.image(np.array([0.5, -0.25]), np.array([3, 0])), A[:, [3, 0]] @ [0.5, -0.25], **close
    )


def test_the_simplex_without_signs_has_ones():
    problem = SimplexQP(gram())
    assert problem.y.tolist() == [1.0] * M and problem.bias == 0.0
    np.testing.assert_allclose(problem.gradient(np.full(M, 1 / M)), K.mean(axis=1), **close)


def test_the_certificate_of_an_optimal_vertex_has_no_gap():
    problem = SimplexQP(Gram(Precomputed(), np.eye(3), dtype=np.float64), linear_term=np.array([0.0, 5.0, 5.0]))
    found = problem.certificate(np.array([1.0, 0.0, 0.0]))
    assert (found.primal, found.dual, found.gap) == (1.0, pytest.approx(1.0, abs=1e-13), pytest.approx(0.0, abs=1e-13))


def test_what_a_simplex_refuses():
    for ridge in (-1e-300, np.inf, np.full(M, np.nan), -Y, np.where(Y > 0, np.inf, 1.0)):
        with pytest.raises(InputError, match="the ridge must be finite and >= 0"):
            SimplexQP(gram(), Y, ridge=ridge)
    for term in (np.zeros(M + 1), np.full(M, np.nan), np.where(Y > 0, np.inf, 1.0)):
        with pytest.raises(InputError, match="the linear term must be 6 finite numbers"):
            SimplexQP(gram(), Y, linear_term=term)
    problem = SimplexQP(gram(), Y)
    assert problem.infeasible(np.full(M, 1 / M)) is None
    assert problem.infeasible(np.full(M, (1.0 + 0.9e-9) / M)) is None
    for total in (1.0 + 1.1e-9, 1.0 - 1.1e-9, 0.0):
        assert "weights should sum to 1, not" in problem.infeasible(np.full(M, total / M))
    assert ">= 0" in problem.infeasible(np.array([1.5, -0.5, 0.0, 0.0, 0.0, 0.0]))
    assert problem.infeasible(np.array([1.0, 0.0, 0.0, 0.0, 0.0, -0.0])) is None


def test_a_start_has_the_signs_of_the_labels_and_sums_to_one():
    problem = SimplexQP(gram(), Y)
    assert problem.start(np.array([2.0, -1.0, -5.0, 0.0, -1.0, 7.0])).tolist() == [0.5, 0.25, 0.0, 0.0, 0.25, 0.0]
    assert problem.start(-Y) is None and problem.start(np.zeros(M)) is None


def test_no_certificate_where_f_is_not_positive():
    problem = SquaredHinge(Gram(Precomputed(), -K, dtype=np.float64), Y, 1e6 * C)
    with pytest.raises(SvmkitError, match="is not positive"):
        problem.bound(0.0)
    with pytest.raises(SvmkitError, match="is nan"):
        problem.bound(float("nan"))


# --- the box


@every_loss
def test_the_box(loss):
    """D = 1'beta - 1/2 beta'Q beta; P with the best bias; the gradient is Q beta - 1."""
    problem = BoxQP(gram(), Y, C, loss=loss)
    ridge = np.zeros(M) if loss == HINGE else 1.0 / (2.0 * C)
    Q = np.outer(Y, Y) * K + np.diag(ridge)
    assert problem.upper.tolist() == (C if loss == HINGE else np.full(M, np.inf)).tolist()
    np.testing.assert_allclose(problem.diag, np.diag(Q), **close)
    for coef in points(total=3.0):
        beta = problem.start(Y * coef)
        if beta is None:
            continue
        h = K @ (Y * beta)
        tried = [loss_of(loss, 1.0 - Y * (h + b)) for b in np.linspace(-9.0, 9.0, 3601)]
        found = problem.certificate(beta)
        slacks = loss_of(loss, 1.0 - Y * (h + found.bias))
        assert slacks <= min(tried) + 1e-12 and slacks >= min(tried) - 0.1
        is_certificate(found, 0.5 * (Y * beta) @ h + slacks, beta.sum() - 0.5 * beta @ Q @ beta)
        np.testing.assert_allclose(found.gradient, Q @ beta - 1.0, **close)
        np.testing.assert_allclose(problem.gradient(beta, np.array([5, 0])), (Q @ beta - 1.0)[[5, 0]], **close)
        assert problem.objective(beta) == pytest.approx(-found.dual, rel=1e-12)
        assert problem.bound(problem.objective(beta)) == Certificate(np.inf, -problem.objective(beta), None)
        for certificate in (found, problem.bound(problem.objective(beta))):
            function = problem.decision_function(beta, certificate)
            np.testing.assert_allclose(function.coef, Y * beta, **close)
            assert function.intercept == found.bias
    np.testing.assert_allclose(
        problem.image(np.array([0.5, -0.25]), np.array([3, 0])), Q[:, [3, 0]] @ [0.5, -0.25], **close
    )


def test_a_start_in_the_box_scales_the_heavier_class_down():
    problem = BoxQP(gram(), Y, C)
    found = problem.start(Y * np.array([1.0, 1.0, 0.25, 1.0, 1.0, 1.5]))  # clipped to 0.5, 1, .25, .125, 1, 1.5
    np.testing.assert_allclose(found, np.array([0.5, 0.25, 0.25, 0.125, 0.25, 0.375]), **close)
    other = problem.start(Y * np.array([0.5, 0.125, 0.25, 1.0, 0.125, 0.1]))
    assert other[Y < 0].tolist() == [0.125, 0.125, 0.1] and other[Y > 0].sum() == pytest.approx(0.35, rel=1e-12)
    assert problem.start(np.maximum(Y, 0.0)) is None and problem.start(np.minimum(Y, 0.0)) is None


def test_what_a_box_refuses():
    problem = BoxQP(gram(), Y, C)
    good = np.array([0.5, 0.25, 0.25, 0.125, 0.25, 0.375])
    assert problem.infeasible(good) is None
    for size, least in ((1e-3, 1e-9), (1.0, 1.75e-9), (1e6, 1.75e-3)):  # 1e-9 of the sum of the weights, or of 1
        problem = BoxQP(gram(), Y, C * max(size, 1.0))
        assert problem.infeasible(size * good + np.eye(M)[1] * 0.99 * least) is None
        tilted = size * good + np.eye(M)[1] * 1.01 * least
        assert f"y'beta should be 0, not {-1.01 * least:g}" in problem.infeasible(tilted)
    problem = BoxQP(gram(), Y, C)
    over = np.array([0.5, 0.5, 0.0, 0.125 + 1e-9, 0.125, 0.0])
    assert "the weight of row 3 should be at most 0.125" in problem.infeasible(over)


# --- a risk in the kernel's space


@every_loss
@every_bias
def test_the_risk_of_a_kernel(loss, bias):
    """P = 1/2 |w|^2 + sum C_i loss with k + bias^2 for k; D of the clipped weights times their best factor."""
    problem = KernelRisk(gram(), Y, C, loss=loss, bias=bias)
    full = K + bias**2
    ridge, upper = (np.zeros(M), C) if loss == HINGE else (1.0 / (2.0 * C), np.full(M, np.inf))
    assert problem.lam == pytest.approx(1.0 / 15.625, rel=1e-15) and problem.shape == (M,)
    rng = np.random.default_rng(3)
    for size in (0.01, 0.3, 5.0):
        for signs in (Y, rng.choice([-1.0, 1.0], M)):
            point = size * rng.random(M) * signs
            h = full @ point
            np.testing.assert_allclose(problem.decision(point), h, **close)
            beta = np.clip(Y * point, 0.0, upper)
            curvature = (Y * beta) @ full @ (Y * beta) + ridge @ beta**2
            scales = np.linspace(0.0, 1.0 if loss == HINGE else 40.0, 4001)
            best = (scales * beta.sum() - 0.5 * scales**2 * curvature).max()
            found = problem.certificate(point)
            assert found.primal == pytest.approx(0.5 * point @ h + loss_of(loss, 1.0 - Y * h), rel=1e-12)
            assert best <= found.dual * (1.0 + 1e-12) and found.dual == pytest.approx(best, rel=1e-2)
            scale = min(beta.sum() / curvature, 1.0 if loss == HINGE else np.inf)
            is_certificate(found, found.primal, scale * beta.sum() - 0.5 * scale**2 * curvature)
            assert problem.objective(point) == found.primal
            function = problem.decision_function(point, found)
            assert function.coef.tolist() == point.tolist() and function.coef is not point
            assert function.intercept == pytest.approx(bias**2 * point.sum(), rel=1e-12)
            assert problem.start(point).tolist() == point.tolist() and problem.infeasible(point) is None
    nothing = problem.certificate(np.zeros(M))
    assert (nothing.primal, nothing.dual) == (C.sum(), 0.0) and nothing.gap == pytest.approx(1.0, abs=1e-13)
    assert problem.bound(3.0) == Certificate(3.0, None, None)


def test_what_a_risk_refuses():
    for bias in (-1e-300, np.inf, np.nan):
        with pytest.raises(InputError, match=r"bias must be a finite number >= 0 \(0: none\), not"):
            KernelRisk(gram(), Y, C, bias=bias)
    problem = KernelRisk(gram(), Y, C)
    assert problem.bias == 1.0 and problem.loss == Hinge()
    for point in (np.zeros(M, np.float32), np.zeros(M + 1), np.full(M, np.nan), np.where(Y > 0, np.inf, 1.0)):
        assert "it should be finite float64 of shape (6,)" in problem.infeasible(point)


@pytest.mark.parametrize("loss", [HINGE, SQUARED, "logistic"])
@pytest.mark.parametrize("size", [-0.2, 0.05, 0.5])
@pytest.mark.parametrize("norm", [0.0, 0.02, 0.5, 40.0])
def test_the_best_factor_within_the_box(loss, size, norm):
    problem = KernelRisk(gram(), Y, C, loss=loss)
    beta = problem.clip(size * Y * C.min())

    def dual(scale):
        linear, ridged = dual_sums(*problem.points, scale * beta)
        return linear - 0.5 * (scale**2 * norm + ridged)

    scale, most = problem.best_factor(beta, norm), problem.most_scale
    assert 0.0 <= scale <= most
    others = [dual(s) for s in 2.0 ** np.arange(-60.0, 1.0)] + [dual(0.0)]  # logistic losses take a power of 1/2
    others += [dual(s) for s in np.linspace(0.0, min(most, 50.0), 501)] if loss != "logistic" else []
    assert dual(scale) >= max(others) - 1e-12


def test_objectives_in_words():
    assert KernelRisk.formulation() == "hinge, regularised bias"
    assert KernelRisk.formulation(loss="squared_hinge", bias=0) == "squared hinge, no bias"
    assert KernelRisk.formulation(bias=2.5, penalty="l1") == "hinge, regularised bias of 2.5, l1 penalty"
    assert BoxQP.formulation(loss="squared_hinge") == "squared hinge, free bias"
    assert SquaredHinge.formulation() == "squared hinge, regularised bias"


# --- what all of them share


def test_the_relative_gap():
    assert Certificate.from_values(4.0, 3.0).gap == 0.25 and Certificate.from_values(1.0, -4.0).gap == 1.25
    assert Certificate.from_values(0.0, 0.0).gap == 0.0 and Certificate.from_values(-3.0, -4.0).gap == 0.25
    assert relative_gap(1.0, 3.0) == 0.25 and relative_gap(5.0, -4.0) == 1.25 and relative_gap(0.0, 2.0) == 0.0
    assert relative_gap(np.inf, 1.0) == np.inf and relative_gap(0.0, 0.0) == 0.0 and relative_gap(1.0, -4.0) == 0.25


def test_certificates_are_compared_and_shown_by_their_numbers():
    one, other = (Certificate(2.0, 1.0, 0.5, np.full(3, v), 0.5, np.full(3, v)) for v in (0.0, 1.0))
    assert one == other and "array" not in repr(one)


def test_only_problems_over_columns_are_linear():
    assert not (SimplexQP.is_linear or BoxQP.is_linear or KernelRisk.is_linear)


def test_labels_and_costs_that_are_none():
    for y in (Y[:5], np.where(Y > 0, 1.0, 2.0), np.array([0.0, *Y[1:]]), np.append(Y, 1.0)):
        with pytest.raises(InputError, match="y must hold -1 or \\+1 for each of the 6 rows"):
            BoxQP(gram(), y, C)
    for cost in (0.0, -1.0, np.inf, np.nan, np.where(Y > 0, 1.0, 0.0), np.where(Y > 0, 1.0, np.inf)):
        with pytest.raises(InputError, match="C must be finite and > 0 for every sample"):
            BoxQP(gram(), Y, cost)
    for y in (np.ones(M), -np.ones(M)):
        with pytest.raises(InputError, match="y holds one class only"):
            BoxQP(gram(), y, C)
    problem = BoxQP(gram(), Y, C)
    for point, words in (
        (np.zeros(M, np.float32), "float64"),
        (np.zeros(5), "shape"),
        (np.full(M, np.inf), "finite"),
        (np.array([np.inf, 0.0, 0.0, 0.0, 0.0, 0.0]), "finite"),
        (-Y, ">= 0"),
    ):
        assert words in problem.infeasible(point)


def test_a_decision_function_of_its_support_alone():
    function = DecisionFunction(np.array([0.0, 2.0, -1.0, 0.0]), 0.5).restrict(np.array([7, 8, 9, 10]))
    assert (function.coef.tolist(), function.rows.tolist(), function.intercept) == ([2.0, -1.0], [8, 9], 0.5)


def test_the_best_bias_by_hand():
    y, cost = np.array([1.0, 1.0, -1.0, -1.0]), np.array([1.0, 2.0, 4.0, 0.5])
    h = np.array([0.0, -2.0, 1.0, -5.0])  # breaks at 1, 3 (positive) and -2, 4 (negative)
    assert best_margin_bias(HINGE, y, h, cost) == -2.0
    assert best_margin_bias(HINGE, y, h, np.array([1.0, 2.0, 0.5, 4.0])) == 3.0
    assert best_margin_bias(HINGE, y, h, np.array([1.0, 2.0, 3.0, 1.0])) == -0.5  # flat from -2 to 1
    # the squared hinge at b in [-2, 1]: 1 (1 - b) + 2 (3 - b) = 4 (b + 2)
    assert best_margin_bias(SQUARED, y, h, cost) == pytest.approx(-1.0 / 7.0, rel=1e-14)
    # in [1, 3]: 2 (3 - b) = 0.5 (b + 2)
    assert best_margin_bias(SQUARED, y, h, np.array([1.0, 2.0, 0.5, 1.0])) == pytest.approx(2.0, rel=1e-14)
    for loss in (HINGE, SQUARED):
        assert best_margin_bias(loss, y, np.array([2.0, 4.0, -1.5, -2.0]), cost) == -0.25  # no loss from -1 to 0.5


def test_many_certificates_are_those_of_single_points():
    rng = np.random.default_rng(0)
    some = np.array([0.0, -0.0, 1.0, -1.0, 1e-12, 1e300, 5e-324, np.inf, -np.inf, np.nan, 2.0, 1.0 + 1e-15])
    values = np.column_stack([rng.choice(some, 4000) for _ in range(4)])
    values[:, 2:] = np.abs(values[:, 2:])
    near = rng.normal(size=2000)
    values[2000:] = np.column_stack([near, near - rng.random(2000) * 1e-3, *rng.random((2, 2000)) * 1e-5])
    gradients, biases = list(rng.normal(size=(4000, 2))), rng.normal(size=4000).tolist()
    found = Certificate.from_many(values, gradients, biases)
    assert sum(certificate.gap is not None for certificate in found) > 2000
    for certificate, (primal, dual, of_primal, of_dual), gradient, bias in zip(
        found, values.tolist(), gradients, biases, strict=True
    ):
        expected = Certificate.from_values(primal, dual, gradient, bias, errors=(of_primal, of_dual))
        assert repr(certificate) == repr(expected) and certificate.gradient is gradient
