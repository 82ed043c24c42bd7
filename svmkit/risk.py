"""Regularised risks: the linear one in its primal and its dual form, and the one in a kernel's space.

All of them minimise P = 1/2 |w|^2 + sum_i C_i loss(1 - y_i h(x_i)), the bias, if there is one, part of w; in the form
lambda/2 |w|^2 + mean loss that stochastic methods are written in, lambda = 1 / sum C_i, and P is lambda times smaller.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from svmkit.box import infeasible_in_box
from svmkit.errors import InputError
from svmkit.gram import Gram
from svmkit.linear import Design, coordinate_pass
from svmkit.loss import Loss
from svmkit.problem import Certificate, Expansion, Problem, labels_and_costs
from svmkit.slacks import weights_near_margin

PASSES = 2  # of coordinate descent that a lower bound is improved by each time it is asked for


class Risk(Problem):
    """What the three have in common: labels, costs, loss, and a bias that is regularised.

    Parameters as for `Problem.classifier`; loss : "hinge" or "squared_hinge"; bias : value of the column that is added
    for it (LIBLINEAR's -B, scikit-learn's intercept_scaling), 0 for no bias
    """

    name: ClassVar[str] = "Risk"

    def __init__(
        self, gram: Gram, y: np.ndarray, C: float | np.ndarray, *, loss: str = "hinge", bias: float = 1.0
    ) -> None:
        y, self.C = labels_and_costs(y, C, gram.m)
        super().__init__(gram, y)
        self.loss, self.bias = Loss.of(loss), float(bias)
        if not 0.0 <= self.bias < np.inf:
            raise InputError(f"bias must be a finite number >= 0 (0: none), not {bias}")
        self.upper, self.ridge = self.loss.upper_bounds(self.C), self.loss.ridge(self.C)

    @classmethod
    def classifier(cls, gram, y, C, **terms) -> Risk:
        return cls(gram, y, C, **terms)

    @classmethod
    def formulation(cls, *, loss: str = "hinge", bias: float = 1.0, penalty: str = "l2", **terms) -> str:
        word = {0.0: "no bias", 1.0: "regularised bias"}.get(float(bias), f"regularised bias of {bias:g}")
        return f"{loss.replace('_', ' ')}, {word}" + ("" if penalty == "l2" else f", {penalty} penalty")

    @property
    def lam(self) -> float:
        """lambda = 1 / sum C_i, which is 1 / (m C) without weights."""
        return 1.0 / float(self.C.sum())

    def bound(self, objective: float) -> Certificate:
        return Certificate(objective, None, None)

    def objective(self, point: np.ndarray) -> float:
        return self.certificate(point).primal

    def infeasible(self, point: np.ndarray) -> str | None:
        shape = self.shape
        if point.shape != shape or point.dtype != np.float64 or not np.isfinite(point).all():
            return f"it should be finite float64 of shape {shape}, not {point.dtype} of shape {point.shape}"
        return None

    @property
    def shape(self) -> tuple[int]:
        """Of a point."""
        return (self.m,)


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

    def expansion(self, point: np.ndarray, certificate: Certificate) -> Expansion:
        w, intercept = self.design.split(self.weights(point))
        return Expansion(self.y * point, intercept, w)

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        return np.clip(coef * self.y, 0.0, self.upper)

    def start_weights(self, w: np.ndarray, intercept: float) -> np.ndarray | None:
        return self._suggested(1.0 - self.margins(self.design.joined(w, intercept)))


class LinearRisk(LinearProblem):
    """min 1/2 |w|^2 + sum_i C_i loss(1 - y_i h(x_i)), or |w|_1 instead of the square (math.md, problem 3).

    A point is w (d,), the weight of the bias column behind it if there is one. Its certificate has a dual value
    although the solvers have none: from the dual weights that the slacks suggest (`svmkit.slacks`), and with the l2
    penalty two passes of coordinate descent on the best ones so far. So D costs some passes over X, rises from
    certificate to certificate, and is a lower bound on the optimum whatever the solver does.

    penalty : "l2" or "l1"; the others as for `Risk`
    """

    name: ClassVar[str] = "LinearRisk"

    def __init__(self, gram: Gram, y: np.ndarray, C: float | np.ndarray, *, penalty: str = "l2", **terms) -> None:
        super().__init__(gram, y, C, **terms)
        if penalty not in ("l1", "l2"):
            raise InputError(f"penalty={penalty!r} is not known; there are: l2, l1")
        self.penalty = penalty
        self._rng = np.random.default_rng(0)
        self._known: tuple[float, np.ndarray] = (0.0, np.zeros(self.m))  # the best D so far, and its beta

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
        return Certificate.of(self.primal(point, margins), self.raise_bound(1.0 - margins), margins)

    def raise_bound(self, slack: np.ndarray) -> float:
        """The best lower bound on the optimum so far, after a look at the dual weights that `slack` (m,) suggests."""
        if self.penalty == "l1":
            return self.offer(self.loss.weights(slack, self.C))
        self._keep(self._suggested(slack))
        d, beta = self.design, self._known[1].copy()
        v = d.pull(self.y * beta)
        for _ in range(PASSES):
            order = self._rng.permutation(self.m)  # the same order again and again gets nowhere
            coordinate_pass(d.rows, d.bias, self.points, order, self.m, beta, v, np.inf, -np.inf)
        return self._keep(beta)

    def offer(self, beta: np.ndarray) -> float:
        """A solver's own dual weights (m,), each within its box: the best lower bound with them."""
        if self.penalty == "l1":  # its dual asks for |X'(y beta)| <= 1
            beta = beta * _best_scale_l1(beta, self.design.pull(self.y * beta), self.ridge)
        return self._keep(beta)

    def _keep(self, beta: np.ndarray) -> float:
        v = self.design.pull(self.y * beta) if self.penalty == "l2" else np.zeros(1)
        value = self._dual(beta, v)
        if value > self._known[0]:
            self._known = value, beta
        return self._known[0]

    def expansion(self, point: np.ndarray, certificate: Certificate) -> Expansion:
        margins = certificate.gradient
        coef = np.zeros(self.m) if margins is None else self.y * self.loss.weights(1.0 - margins, self.C)
        w, intercept = self.design.split(point)
        return Expansion(coef, intercept, w)

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        return self.design.pull(coef)

    def start_weights(self, w: np.ndarray, intercept: float) -> np.ndarray | None:
        return self.design.joined(w, intercept)


class KernelRisk(Risk):
    """The same in a kernel's space, h(x) = sum_i c_i (k(x_i, x) + bias^2) (math.md, problem 4).

    A point is c (m,), of any sign. D comes from the dual weights y_i c_i cut to their box, times the best factor.
    """

    name: ClassVar[str] = "KernelRisk"

    def decision(self, coef: np.ndarray) -> np.ndarray:
        """h (m,) with the bias, from scratch in float64."""
        idx = np.flatnonzero(coef)
        return self.gram.matvec(coef[idx], idx) + self.bias**2 * float(coef.sum())

    def certificate(self, point: np.ndarray) -> Certificate:
        h = self.decision(point)
        primal = 0.5 * float(point @ h) + self.loss.total(1.0 - self.y * h, self.C)
        beta = np.clip(self.y * point, 0.0, self.upper)
        if not np.array_equal(beta * self.y, point):
            h = self.decision(beta * self.y)
        norm = float((beta * self.y) @ h)
        scale = _scale_within(float(beta.sum()), norm + float(np.square(beta) @ self.ridge), self.loss)
        dual = scale * float(beta.sum()) - 0.5 * scale**2 * (norm + float(np.square(beta) @ self.ridge))
        return Certificate.of(primal, dual)

    def expansion(self, point: np.ndarray, certificate: Certificate) -> Expansion:
        return Expansion(point.copy(), self.bias**2 * float(point.sum()))

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        return coef.copy()


def _best_scale(beta: np.ndarray, v: np.ndarray, ridge: np.ndarray, loss: Loss) -> float:
    """The multiple of beta at which D is largest."""
    return _scale_within(float(beta.sum()), float(v @ v) + float(np.square(beta) @ ridge), loss)


def _scale_within(total: float, curvature: float, loss: Loss) -> float:
    """argmax of s total - s^2 curvature / 2 over s >= 0; of weights in a box, s <= 1."""
    most = 1.0 if loss is Loss.HINGE else np.inf
    if curvature <= 0.0:
        return 1.0
    return min(max(total / curvature, 0.0), most)


def _best_scale_l1(beta: np.ndarray, v: np.ndarray, ridge: np.ndarray) -> float:
    """The same where max |v| may be 1 at most and |v|^2 costs nothing."""
    largest, curvature = float(np.abs(v).max(initial=0.0)), float(np.square(beta) @ ridge)
    fits = 1.0 / largest if largest > 0.0 else np.inf
    best = float(beta.sum()) / curvature if curvature > 0.0 else 1.0
    return min(best, fits)
