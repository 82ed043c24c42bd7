"""The bounds on rounding errors in certificates, term by term, with a unit roundoff so coarse that each term counts."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from support.liblinear import total

from svmkit.kernels.functions import Precomputed
from svmkit.kernels.gram import Gram
from svmkit.kernels.gram.semidefinite import Definiteness
from svmkit.problems import base, box, rounding, simplex
from svmkit.problems.box import BoxQP
from svmkit.problems.certificate import Certificate, is_rounding
from svmkit.problems.risks import kernel_risk, risk
from svmkit.problems.risks.kernel_risk import KernelRisk
from svmkit.problems.rounding import dot_error
from svmkit.problems.simplex import SimplexQP, SquaredHinge, squared_loss_error
from svmkit.problems.sums import Bounds

M, U, ETA = 5, 2.0**-9, 1e-3
Y = np.array([1.0, -1.0, 1.0, -1.0, -1.0])
C = np.array([0.5, 4.0, 1.0, 2.0, 8.0])
ROWS = np.random.default_rng(7).normal(size=(M, M)) + 0.4 * Y[:, None]
K = ROWS @ ROWS.T
HINGE, SQUARED = "hinge", "squared_hinge"
every_loss = pytest.mark.parametrize("kind", [HINGE, SQUARED], ids=str)


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    """A unit roundoff of 1/512, and kernel products that are off by a thousandth of the sum of the weights."""
    for module in (simplex, box, kernel_risk, risk, rounding):
        if hasattr(module, "U"):
            monkeypatch.setattr(module, "U", U)
    monkeypatch.setattr(Gram, "product_error", lambda self, weights: ETA * float(np.abs(weights).sum()))
    shift = lambda problem: problem.gram.definiteness.shift
    monkeypatch.setattr(BoxQP, "_bounds", lambda self: Bounds(ETA, 0.0, 1, shift(self), U))


def gram():
    return Gram(Precomputed(), K, dtype=np.float64)


def dot(terms):
    """(n + 1) u sum |terms|."""
    return (len(terms) + 1) * U * sum(abs(term) for term in terms)


def errors_of(found, dual):
    """The bounds on the errors of P and of D in a certificate whose D was computed as `dual`."""
    of_dual = dual - found.dual
    return found.rounding * max(abs(found.primal), abs(found.dual)) - of_dual, of_dual


def is_close(found, want):
    assert found == pytest.approx(want, rel=1e-9)


def points(total=1.0):
    rng = np.random.default_rng(1)
    yield np.array([0.5, 0.0, 0.0, 0.5, 0.0]) * total
    for _ in range(3):
        yield rng.dirichlet(np.ones(M)) * total


def loss_error(slack, of_slack):
    """Of sum C_i loss: the error of each slack carried through the loss, and the rounding of the sum."""
    return squared_loss_error(np.asarray(slack), C, np.asarray(of_slack))


@pytest.mark.parametrize("bias", [0.0, 2.5])
@pytest.mark.parametrize("linear", [False, True])
def test_of_the_simplex(bias, linear):
    ridge, c = np.linspace(0.0, 0.5, M), np.linspace(-2.0, 1.0, M) if linear else None
    problem = SimplexQP(gram(), Y, bias=bias, ridge=ridge, linear_term=c)
    for alpha in points():
        alpha = alpha * (1.0 + 1e-10)
        g = problem.gradient(alpha)
        value = alpha @ g + (c @ alpha if linear else 0.0)
        parts = bias + (alpha * ridge).max() + np.abs(g).max() + (2.0 if linear else 0.0)
        of_g = ETA * alpha.sum() + bias * dot(alpha) + 4.0 * U * parts
        product = of_g + dot(alpha * g)
        of_value = product + (dot(alpha * c) if linear else 0.0)
        excess = abs(alpha.sum() - 1.0) + dot(alpha)
        want = of_value, of_value + 4.0 * product + 4.0 * excess * (abs(alpha @ g) + abs(value))
        is_close(errors_of(problem.certificate(alpha), value - 2.0 * (alpha @ g - g.min())), want)


@pytest.mark.parametrize("bias", [0.0, 2.5])
@pytest.mark.parametrize("linear", [False, True])
def test_of_the_simplex_with_a_ridge_on_each_point(bias, linear):
    """D = 2 t - sum max(0, t - h_i)^2 / ridge_i - alpha'(h - c), whose slacks are off by what g is, and rounding."""
    ridge, c = np.linspace(0.1, 0.5, M), np.linspace(-2.0, 1.0, M) if linear else np.zeros(M)
    problem = SimplexQP(gram(), Y, bias=bias, ridge=ridge, linear_term=c if linear else None)
    for alpha in points():
        g = problem.gradient(alpha)
        h, value = g - alpha * ridge, alpha @ g + c @ alpha
        t = brentq(lambda t, h=h: (np.maximum(0.0, t - h) / ridge).sum() - 1.0, h.min(), h.max() + 1.0, xtol=1e-15)
        parts = bias + (alpha * ridge).max() + np.abs(g).max() + np.abs(c).max()
        of_g = ETA * alpha.sum() + bias * dot(alpha) + 4.0 * U * parts
        of_h = of_g + 4.0 * U * (np.abs(g) + 2.0 * ridge * alpha + abs(t))
        of_value = of_g + dot(alpha * g) + (dot(alpha * c) if linear else 0.0)
        of_bent = alpha @ of_h + 2.0 * U * (alpha @ np.abs(h - c)) + dot(alpha * (h - c))
        want = of_value, squared_loss_error(t - h, 1.0 / ridge, of_h) + of_bent + 8.0 * U * abs(t)
        dual = 2.0 * t - (np.square(np.maximum(0.0, t - h)) / ridge).sum() - alpha @ (h - c)
        found = problem.certificate(alpha)
        assert found.primal == pytest.approx(value, rel=1e-13)
        assert errors_of(found, dual) == pytest.approx(want, rel=1e-7)


@pytest.mark.parametrize("bias", [0.0, 2.5])
def test_of_the_squared_hinge(bias):
    problem = SquaredHinge(gram(), Y, C, bias=bias)
    ridge = 1.0 / (2.0 * C)
    for alpha in points():
        g = problem.gradient(alpha)
        f, shares = alpha @ g, alpha * ridge
        h = (g - shares) / f
        of_g = ETA + bias * dot(alpha) + 4.0 * U * (bias + shares.max() + np.abs(g).max())
        of_h = (of_g + U * (np.abs(g) + 2.0 * shares)) / f + 4.0 * U * (1.0 + np.abs(h))
        norm = (of_g + dot(alpha * g) + dot(alpha * shares)) / (2.0 * f**2)
        excess = abs(alpha.sum() - 1.0) + dot(alpha)
        want = loss_error(1.0 - h, of_h) + norm + U / f, norm + (excess + 4.0 * U) / f
        is_close(errors_of(problem.certificate(alpha), 0.5 / f), want)


@every_loss
def test_of_the_box(kind):
    problem = BoxQP(gram(), Y, C, loss=kind)
    ridge = np.zeros(M) if kind == HINGE else 1.0 / (2.0 * C)
    for coef in points(total=2.0):
        beta = problem.start(Y * coef)
        beta[1] *= 1.01  # y'beta is not quite 0
        h = K @ (Y * beta)
        found = problem.certificate(beta)
        slack = 1.0 - Y * (h + found.bias)
        norm, shares = (Y * beta) @ h, beta**2 * ridge
        primal = 0.5 * norm + total(kind, slack, C)
        of_h = ETA * beta.sum()
        half = 0.5 * (beta.sum() * of_h + dot(beta * h))
        above, own = (
            np.maximum(slack, 0.0),
            total(kind, slack, C),
        )  # residuals lack what float64 leaves out of them
        moved = np.where(slack > -of_h, of_h * (C if kind == HINGE else 2.0 * C * (above + of_h)), 0.0)
        losses = moved.sum() + (M + 1 + 6.0) * U * own + 4.0 * U * primal
        dual = beta.sum() - 0.5 * (norm + shares.sum())
        largest = 1.0 + math.sqrt(2.0 * primal * K.diagonal().max())
        balance = (abs(Y @ beta) + dot(beta)) * largest
        of_sums = 2.0 * dot(beta) + dot(shares) + 4.0 * U * (abs(norm) + shares.sum() + abs(dual))
        is_close(errors_of(found, dual), (half + losses, half + of_sums + balance))


@every_loss
@pytest.mark.parametrize("bias", [0.0, 2.5])
def test_of_the_risk_of_a_kernel(kind, bias):
    problem = KernelRisk(gram(), Y, C, loss=kind, bias=bias)
    ridge = np.zeros(M) if kind == HINGE else 1.0 / (2.0 * C)
    full = K + bias**2

    def of(coef):
        h = full @ coef
        of_h = ETA * np.abs(coef).sum() + bias**2 * dot(coef) + U * np.abs(h).max()
        return of_h, np.abs(coef).sum() * of_h + dot(coef * h)

    for size in (0.05, 0.7):
        for point in (size * Y * np.arange(1.0, 6.0), size * np.arange(1.0, 6.0)):
            h = full @ point
            of_h, of_norm = of(point)
            of_h, slack = of_h + 2.0 * U * (1.0 + np.abs(h)), 1.0 - Y * h
            beyond, above = np.maximum(slack + of_h, 0.0), np.maximum(slack, 0.0)
            steepest, losses = (C * (beyond > 0.0), C * above) if kind == HINGE else (2.0 * C * beyond, C * above**2)
            of_primal = 0.5 * of_norm + steepest @ of_h + 4.0 * dot(losses)
            beta = Y * problem.clip(point)
            norm, shares = (Y * beta) @ full @ (Y * beta), beta**2 * ridge
            curvature = norm + shares.sum()
            scale = beta.sum() / curvature if kind == SQUARED else min(1.0, beta.sum() / curvature)
            of_dual = scale * dot(beta) + scale**2 * (of(Y * beta)[1] + dot(shares))
            found = problem.certificate(point)
            is_close(errors_of(found, scale * beta.sum() - 0.5 * scale**2 * curvature), (of_primal, of_dual))


def test_of_a_sum():
    assert dot_error(np.array([1.0, -2.0, 4.0])) == pytest.approx(4 * U * 7.0, rel=1e-12)
    assert dot_error(np.array([1.0, -2.0, 4.0]), 0.5) == pytest.approx(4 * U * 3.5, rel=1e-12)
    assert dot_error(np.zeros(3)) == dot_error(np.ones(3), 0.0) == 0.0
    assert dot_error(np.array([1e-320])) > 0.0 and dot_error(np.array([np.inf])) == math.inf


def test_of_the_losses_covers_slacks_that_are_off():
    """At least what the losses change by when each slack moves by its error, and not much more than twice that."""
    slack, off = np.array([-1.0, -0.01, 0.0, 0.3, 2.0]), np.array([0.1, 0.05, 0.02, 0.01, 0.5])
    found = loss_error(slack, off)
    change = total(SQUARED, slack + off, C) - total(SQUARED, slack, C)
    assert change <= found <= 2.0 * change + 6 * U * total(SQUARED, slack + off, C)


def test_of_the_losses():
    slack, off = np.array([-1.0, -0.01, 0.0, 0.3, 2.0]), np.array([0.1, 0.05, 0.02, 0.01, 0.5])
    moved, above = off * np.array([0.0, 1.0, 1.0, 1.0, 1.0]), np.maximum(slack, 0.0)  # the first stays below 0
    is_close(squared_loss_error(slack, C, off), C @ (2.0 * moved * above + moved**2) + 2.0 * dot(C * above**2))


def problems():
    yield SimplexQP(gram(), Y, ridge=0.5), np.full(M, 1 / M)
    yield SquaredHinge(gram(), Y, C), np.full(M, 1 / M)
    yield BoxQP(gram(), Y, C), np.zeros(M)
    yield KernelRisk(gram(), Y, C), np.zeros(M)


def test_a_matrix_that_is_semidefinite_up_to_a_shift_is_off_by_it():
    for problem, _ in problems():
        problem.gram.definiteness = Definiteness(0.25)
        assert problem.image_error(np.array([0.5, 0.0, -2.0, 0.0, 0.25])) == pytest.approx(2.75 * ETA + 0.5, rel=1e-12)
        assert problem.image_error(np.zeros(M)) == 0.0


def test_a_matrix_that_is_not_semidefinite_leaves_no_bound():
    for problem, point in problems():
        problem.gram.definiteness = Definiteness(0.0, "for a reason")
        found = problem.certificate(point)
        assert (found.dual, found.gap, found.flaw) == (None, None, "for a reason") and found.primal > 0.0


def test_a_norm_below_zero_shows_a_matrix_that_is_not_semidefinite():
    """By more than rounding allows: twice the error of P."""
    for size, shows in ((1.0, True), (1e-6, False)):
        problem = BoxQP(Gram(Precomputed(), -size * K, dtype=np.float64), Y, C)
        problem.gram.definiteness = Definiteness()
        beta = problem.start(Y * np.full(M, 0.25))
        found = problem.certificate(beta)
        norm = -size * (Y * beta) @ K @ (Y * beta)
        assert norm < 0.0 and (found.flaw is not None) is shows
        if shows:
            assert "not positive semidefinite" in found.flaw and found.dual is None


# --- what a certificate makes of them


def test_errors_widen_the_gap():
    """P's error belongs to the gap and D is lowered by its own; both are the part that is rounding."""
    found = Certificate.from_values(5.0, 4.5, errors=(0.5, 0.5))
    assert (found.primal, found.dual, found.flaw) == (5.0, 4.0, None)
    assert found.gap == pytest.approx(1.5 / 4.5) and found.rounding == pytest.approx(1.0 / 5.0)
    found = Certificate.from_values(1.0, -7.0, errors=(0.5, 1.0))
    assert (found.dual, found.gap, found.rounding) == (-8.0, 9.5 / 6.0, 1.5 / 8.0)
    found = Certificate.from_values(1.0, 0.5, errors=(0.75, 0.75))
    assert (found.dual, found.gap, found.rounding) == (-0.25, 2.0, 1.5)  # (P - D) / max(|P|, |D|) is at most 2
    found = Certificate.from_values(1.0, 0.5, errors=(2.0, 2.0))
    assert (found.dual, found.gap, found.rounding) == (-1.5, 2.0, 2.0)
    assert (
        Certificate.from_values(0.0, 0.0) == Certificate(0.0, 0.0, 0.0)
        and Certificate.from_values(0.0, 0.0).rounding == 0.0
    )


def test_flaws_leave_no_bound():
    for primal, dual, errors, words in (
        (math.inf, 1.0, (0.0, 0.0), "objective overflows"),
        (math.nan, 1.0, (0.0, 0.0), "objective overflows"),
        (1.0, -math.inf, (0.0, 0.0), "rounding errors exceed"),
        (1.0, 0.5, (math.inf, 0.0), "rounding errors exceed"),
        (1.0, 0.5, (0.0, math.inf), "rounding errors exceed"),
        (1.0, 1.6, (0.5, 0.0), "below its lower bound"),
    ):
        found = Certificate.from_values(primal, dual, errors=errors)
        assert words in found.flaw and (found.dual, found.gap) == (None, None) and not found.is_exhausted
    for errors in ((0.5, 0.0), (0.0, 0.5), (0.25, 0.25)):
        assert Certificate.from_values(1.0, 1.5, errors=errors).flaw is None
    given = Certificate.from_values(1.0, 0.5, flaw="for a reason")
    assert (given.flaw, given.primal, given.dual) == ("for a reason", 1.0, None)


def test_a_gap_is_exhausted_when_half_of_it_is_rounding():
    assert is_rounding(0.2, 0.1) and not is_rounding(0.2, 0.099) and not is_rounding(0.0, 1.0)
    assert is_rounding(0.2, 1.0) and not is_rounding(-0.1, 1.0) and is_rounding(1e-9, 1.0)
    assert Certificate.from_values(1.0, 1.0, errors=(0.01, 0.0)).is_exhausted
    assert not Certificate.from_values(1.0, 0.9, errors=(0.01, 0.0)).is_exhausted
    assert (
        not Certificate(1.0, None, None).is_exhausted and base.Certificate.from_values(0.0, 0.0).is_exhausted is False
    )
