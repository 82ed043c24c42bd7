"""Regularised risks: the linear one in its primal and its dual form, and the one in a kernel's space.

All of them minimise P = 1/2 |w|^2 + sum_i C_i loss(1 - y_i h(x_i)), the bias, if there is one, part of w; in the form
lambda/2 |w|^2 + mean loss that stochastic methods are written in, lambda = 1 / sum C_i, and P is lambda times smaller.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.gram import Gram
from svmkit.problems.base import Certificate, DecisionFunction, Problem, labels_and_costs
from svmkit.problems.loss import Loss


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
        scale = scale_within(float(beta.sum()), norm + float(np.square(beta) @ self.ridge), self.loss)
        dual = scale * float(beta.sum()) - 0.5 * scale**2 * (norm + float(np.square(beta) @ self.ridge))
        return Certificate.of(primal, dual)

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        return DecisionFunction(point.copy(), self.bias**2 * float(point.sum()))

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        return coef.copy()


def scale_within(total: float, curvature: float, loss: Loss) -> float:
    """argmax of s total - s^2 curvature / 2 over s >= 0; of weights in a box, s <= 1."""
    most = 1.0 if loss is Loss.HINGE else np.inf
    if curvature <= 0.0:
        return 1.0
    return min(max(total / curvature, 0.0), most)
