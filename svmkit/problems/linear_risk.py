"""The linear risk in its primal and its dual form, and lower bounds on its optimum from a primal point alone.

With the hinge a sample within its margin has weight C, one beyond it 0, and the few on the margin something in between
that the slacks do not tell: guessed wrong, they make D worthless. So the samples nearest to the margin get a weight by
their place in a band around it, and some cheap passes of coordinate descent among themselves; D is then about as close
to the optimum as P is, whatever the model.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from operator import itemgetter
from typing import ClassVar, NamedTuple

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.gram import Gram
from svmkit.problems.base import Certificate, DecisionFunction
from svmkit.problems.box import infeasible_in_box
from svmkit.problems.coordinate_descent import coordinate_pass
from svmkit.problems.design import Design
from svmkit.problems.loss import Loss
from svmkit.problems.risk import Risk, scale_within

PASSES = 2  # of coordinate descent that a lower bound is improved by each time it is asked for
BANDS = (5, 20, 80)  # a fifth of the samples, ...: the better the model, the narrower the band that pays
BAND_PASSES = 2  # over all samples are worth as many rows as the passes over a band may read
LEAST = 100_000  # rows that may be read at any rate: small sets are cheap
MOST = 1000  # passes over a band
SMALL = 1000  # samples that are a band together


class Bound(NamedTuple):
    """A lower bound on the optimum, and the dual weights (m,) that prove it."""

    dual: float
    beta: np.ndarray


_dual_value = itemgetter(0)


class LinearProblem(Risk):
    """A risk of a linear model: what it knows of X."""

    is_linear: ClassVar[bool] = True

    def __init__(self, gram: Gram, y: np.ndarray, C: float | np.ndarray, **terms) -> None:
        super().__init__(gram, y, C, **terms)
        self.design = Design(gram, self.bias)

    @cached_property
    def points(self) -> np.ndarray:
        """What `coordinate_pass` needs of each point, (m, 4)."""
        return self.design.points(self.y, self.upper, self.ridge)

    def margins(self, w: np.ndarray) -> np.ndarray:
        """y h (m,) of w (width,)."""
        return self.y * self.design.margins(w)

    def _suggested(self, slack: np.ndarray) -> np.ndarray:
        """Dual weights (m,) that these slacks suggest with the l2 penalty; of the squared hinge, the best multiple."""
        if self.loss is Loss.HINGE:
            return weights_near_margin(self, slack)
        beta = self.loss.weights(slack, self.C)
        return beta * _best_scale(beta, self.design.pull(self.y * beta), self.ridge, self.loss)

    def _dual(self, beta: np.ndarray, v: np.ndarray) -> float:
        return float(beta.sum()) - 0.5 * (float(v @ v) + float(np.square(beta) @ self.ridge))


class LinearDual(LinearProblem):
    """min 1/2 beta'Q beta - 1'beta over 0 <= beta <= upper, the dual of LinearRisk with the l2 penalty.

    Q_ij = y_i y_j (x_i'x_j + bias^2) + [i=j] ridge_i, never formed: w = sum_i beta_i y_i x_i. A point is beta (m,).
    """

    name: ClassVar[str] = "LinearDual"

    def weights(self, beta: np.ndarray) -> np.ndarray:
        """w (width,) from scratch."""
        return self.design.pull(self.y * beta)

    def value(self, beta: np.ndarray, w: np.ndarray) -> float:
        """The objective at beta, whose weights w (width,) the caller has computed."""
        return -self._dual(beta, w)

    def objective(self, point: np.ndarray) -> float:
        return self.value(point, self.weights(point))

    def infeasible(self, point: np.ndarray) -> str | None:
        return infeasible_in_box(point, self.upper)

    def certificate(self, point: np.ndarray) -> Certificate:
        w = self.weights(point)
        margins = self.margins(w)
        primal = 0.5 * float(w @ w) + self.loss.total(1.0 - margins, self.C)
        return Certificate.of(primal, self._dual(point, w), margins - 1.0 + self.ridge * point)

    def bound(self, objective: float) -> Certificate:
        return Certificate(float("inf"), -objective, None)

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        w, intercept = self.design.split(self.weights(point))
        return DecisionFunction(self.y * point, intercept, w)

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        return np.clip(coef * self.y, 0.0, self.upper)

    def start_weights(self, w: np.ndarray, intercept: float) -> np.ndarray | None:
        return self._suggested(1.0 - self.margins(self.design.joined(w, intercept)))


class LinearRisk(LinearProblem):
    """min 1/2 |w|^2 + sum_i C_i loss(1 - y_i h(x_i)), or |w|_1 instead of the square (math.md, problem 3).

    A point is w (d,), the weight of the bias column behind it if there is one. Its certificate has a dual value
    although the solvers have none: from the dual weights that the slacks suggest (`weights_near_margin`), and with the
    l2 penalty two passes of coordinate descent on the best ones so far. So D costs some passes over X, rises from
    certificate to certificate, and is a lower bound on the optimum whatever the solver does.

    penalty : "l2" or "l1"; the others as for `Risk`
    """

    name: ClassVar[str] = "LinearRisk"

    def __init__(self, gram: Gram, y: np.ndarray, C: float | np.ndarray, *, penalty: str = "l2", **terms) -> None:
        super().__init__(gram, y, C, **terms)
        if penalty not in ("l1", "l2"):
            raise InputError(f"penalty={penalty!r} is not known; there are: l2, l1")
        self.penalty = penalty
        self._known = Bound(0.0, np.zeros(self.m))  # the best one of those offered
        self._offers = 0

    @property
    def shape(self) -> tuple[int]:
        return (self.design.width,)

    def primal(self, w: np.ndarray, margins: np.ndarray) -> float:
        """P at w, whose margins y h (m,) the caller has computed."""
        size = float(np.abs(w).sum()) if self.penalty == "l1" else 0.5 * float(w @ w)
        return size + self.loss.total(1.0 - margins, self.C)

    def objective(self, point: np.ndarray) -> float:
        return self.primal(point, self.margins(point))

    def certificate(self, point: np.ndarray) -> Certificate:
        margins = self.margins(point)
        dual, beta = self._bound(1.0 - margins)
        return replace(Certificate.of(self.primal(point, margins), dual, margins), beta=beta)

    def raise_bound(self, certificate: Certificate) -> None:
        if certificate.dual is not None and certificate.beta is not None:
            self._keep(Bound(certificate.dual, certificate.beta))

    def offer(self, beta: np.ndarray) -> float:
        """Let certificates know a solver's own dual weights.

        Parameters
        ----------
        beta : ndarray of shape (m,), float64
            Dual weights, each within its box. With the l1 penalty they are scaled until they are feasible.

        Returns
        -------
        float
            The best lower bound on the optimum that has been offered so far, this one included.
        """
        return self._keep(self._valued(beta))

    def _keep(self, bound: Bound) -> float:
        self._known, self._offers = max(self._known, bound, key=_dual_value), self._offers + 1
        return self._known.dual

    def _bound(self, slack: np.ndarray) -> Bound:
        """The best of the bound offered, the one that `slack` (m,) suggests, and (l2 only) some passes from there."""
        if self.penalty == "l1":
            return max(self._known, self._valued(self.loss.weights(slack, self.C)), key=_dual_value)
        known = max(self._known, self._valued(self._suggested(slack)), key=_dual_value)
        d, beta = self.design, known.beta.copy()
        v, rng = d.pull(self.y * beta), np.random.default_rng(self._offers)  # one order again and again gets nowhere
        for _ in range(PASSES):
            coordinate_pass(d.rows, d.bias, self.points, rng.permutation(self.m), self.m, beta, v, np.inf, -np.inf)
        return max(known, self._valued(beta), key=_dual_value)

    def _valued(self, beta: np.ndarray) -> Bound:
        """The lower bound that beta (m,) proves; with the l1 penalty its dual asks for |X'(y beta)| <= 1."""
        v = self.design.pull(self.y * beta)
        if self.penalty == "l1":
            beta, v = beta * _best_scale_l1(beta, v, self.ridge), np.zeros(1)
        return Bound(self._dual(beta, v), beta)

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        margins = certificate.gradient
        coef = np.zeros(self.m) if margins is None else self.y * self.loss.weights(1.0 - margins, self.C)
        w, intercept = self.design.split(point)
        return DecisionFunction(coef, intercept, w)

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        return self.design.pull(coef)

    def start_weights(self, w: np.ndarray, intercept: float) -> np.ndarray | None:
        return self.design.joined(w, intercept)


def _best_scale(beta: np.ndarray, v: np.ndarray, ridge: np.ndarray, loss: Loss) -> float:
    """The multiple of beta at which D is largest."""
    return scale_within(float(beta.sum()), float(v @ v) + float(np.square(beta) @ ridge), loss)


def _best_scale_l1(beta: np.ndarray, v: np.ndarray, ridge: np.ndarray) -> float:
    """The same where max |v| may be 1 at most and |v|^2 costs nothing."""
    largest, curvature = float(np.abs(v).max(initial=0.0)), float(np.square(beta) @ ridge)
    fits = 1.0 / largest if largest > 0.0 else np.inf
    best = float(beta.sum()) / curvature if curvature > 0.0 else 1.0
    return min(best, fits)


def weights_near_margin(problem: LinearProblem, slack: np.ndarray) -> np.ndarray:
    """beta (m,) of the largest D among several bands; `slack` (m,) = 1 - y h(x), hinge and l2 penalty."""
    m, distance = problem.m, np.abs(slack)
    least = min(2 * problem.design.width, m // BANDS[0])  # as many as columns lie on the margin, give or take
    parts = BANDS if m > SMALL else (1, *BANDS)
    sizes = sorted({max(m // part, least, 1) for part in parts}, reverse=True)
    found = []
    for size in sizes:
        inside = np.argpartition(distance, size - 1)[:size]
        width = max(float(distance[inside].max()), 1e-12)
        beta = problem.C * np.clip(0.5 + slack / (2.0 * width), 0.0, 1.0)
        found.append(_descended(problem, beta, inside))
    return max(found, key=lambda pair: pair[0])[1]


def _descended(problem: LinearProblem, beta: np.ndarray, inside: np.ndarray) -> tuple[float, np.ndarray]:
    """(D, beta) after coordinate descent with shrinking over the samples `inside`; beta is changed in place."""
    d, rng = problem.design, np.random.default_rng(0)
    points, v = d.points(problem.y, problem.upper, problem.ridge), d.pull(problem.y * beta)
    left, high, low = max(BAND_PASSES * problem.m, LEAST), np.inf, -np.inf
    for _ in range(MOST):
        left -= inside.size
        if left < 0 or not inside.size:
            break
        order = rng.permutation(inside)
        seen = coordinate_pass(d.rows, d.bias, points, order, order.size, beta, v, high, low)
        inside = order[: seen.n]
        high, low = seen.top if seen.top > 0.0 else np.inf, seen.low if seen.low < 0.0 else -np.inf
    return float(beta.sum()) - 0.5 * float(v @ v), beta
