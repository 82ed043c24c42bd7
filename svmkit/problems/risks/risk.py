"""Regularised risks: their common base class and the risk in the feature space of a kernel.

All of them minimise P = 1/2 |w|^2 + sum_i C_i loss(1 - y_i h(x_i)), where the bias, if there is one, is part of w.
`tube_risk` has the same with losses of regression. What the two differ in are the methods from `targets` on.
Papers on stochastic methods write lambda/2 |w|^2 + mean loss instead: lambda = 1 / sum C_i, and P times lambda.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.gram import Gram
from svmkit.kernels.rounding import U
from svmkit.problems.base import DecisionFunction, Problem, labels_and_costs
from svmkit.problems.box import infeasible_in_box
from svmkit.problems.certificate import Certificate
from svmkit.problems.loss import Loss
from svmkit.problems.rounding import dot_error


class Risk(Problem):
    """Base of the regularised risks: labels, costs, the loss and a bias that is regularised.

    Parameters
    ----------
    gram : Gram
        The kernel matrix of the m samples.
    y : ndarray of shape (m,)
        Labels, -1.0 or +1.0; both must occur.
    C : float or ndarray of shape (m,)
        Cost of a unit of loss, > 0.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss.
    bias : float, default=1.0
        Value >= 0 of the column that is added to X for the bias (LIBLINEAR's -B, scikit-learn's intercept_scaling);
        0.0 for no bias.

    Raises
    ------
    InputError
        If y, C, the loss or the bias is not valid.
    """

    name: ClassVar[str] = "Risk"
    epsilon: float | None = None  # of regression

    def __init__(
        self, gram: Gram, y: np.ndarray, C: float | np.ndarray, *, loss: str = "hinge", bias: float = 1.0
    ) -> None:
        y, self.C = self._read(y, C, gram.m)
        super().__init__(gram, y)
        self.loss, self.bias = Loss.of(loss), float(bias)
        if not 0.0 <= self.bias < np.inf:
            raise InputError(f"bias must be a finite number >= 0 (0: none), not {bias}")
        self.upper, self.ridge = self.loss.upper_bounds(self.C), self.loss.ridge(self.C)

    def _read(self, y: np.ndarray, C: float | np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the labels and the costs, both of shape (m,), once they have been checked."""
        return labels_and_costs(y, C, m)

    @classmethod
    def classifier(cls, gram, y, C, **terms) -> Risk:
        return cls(gram, y, C, **terms)

    @classmethod
    def formulation(cls, *, loss: str = "hinge", bias: float = 1.0, penalty: str = "l2", **terms) -> str:
        word = {0.0: "no bias", 1.0: "regularised bias"}.get(float(bias), f"regularised bias of {bias:g}")
        return f"{loss.replace('_', ' ')}, {word}" + ("" if penalty == "l2" else f", {penalty} penalty")

    @property
    def lam(self) -> float:
        """lambda = 1 / sum C_i, which is 1 / (m C) without sample weights."""
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
        """Shape of a point."""
        return (self.m,)

    def suggested(self, margins: np.ndarray) -> np.ndarray:
        """Return the dual weights (m,) that the margins of a primal point suggest."""
        return self.loss.signed_weights(self.excess(margins), self.C)

    @property
    def targets(self) -> np.ndarray:
        """The labels of classification, the targets of regression, shape (m,)."""
        return self.y

    @property
    def unit(self) -> float:
        """The mean loss of the empty model, in regression 1.0 where that is 0."""
        return 1.0

    def margins_of(self, h: np.ndarray) -> np.ndarray:
        """Return the margins y h (m,) of decision values h (m,)."""
        return self.y * h

    def residual(self, margins: np.ndarray) -> np.ndarray:
        """Return minus the gradient of the dual without its ridge, shape (m,)."""
        return 1.0 - margins

    def slack(self, margins: np.ndarray) -> np.ndarray:
        """Return the slacks (m,), of any sign, whose losses P adds up."""
        return 1.0 - margins

    def slack_rounding(self, margins: np.ndarray) -> np.ndarray:
        """Return bounds (m,) on the rounding errors of `slack` itself."""
        return 2.0 * U * (1.0 + np.abs(margins))

    def slack_line(self, margins: np.ndarray, change: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return slacks, their decrease per unit of s, and costs, all (n,), of the losses at margins + s change."""
        return 1.0 - margins, change, self.C

    def excess(self, margins: np.ndarray) -> np.ndarray:
        """Return the positive parts of the slacks (m,), in regression with the signs of t - h."""
        return np.maximum(1.0 - margins, 0.0)

    def blurred(self, margins: np.ndarray, width: float) -> np.ndarray:
        """Return `suggested(margins)` of the hinge, rising from 0 to C over a band of that half width."""
        return self.C * np.clip(0.5 + (1.0 - margins) / (2.0 * width), 0.0, 1.0)

    def coefficients(self, point: np.ndarray) -> np.ndarray:
        """Return the coefficients of the samples in h (m,) for the dual weights `point` (m,)."""
        return self.y * point

    def clipped(self, coef: np.ndarray) -> np.ndarray:
        """Return the dual weights (m,) of coefficients (m,), clipped to their box."""
        return np.clip(coef * self.y, 0.0, self.upper)

    def reward(self, point: np.ndarray) -> float:
        """Return the part of D that does not curve, at the dual weights `point` (m,)."""
        return float(point.sum())

    def reward_error(self, point: np.ndarray) -> float:
        """Return a bound on the rounding error of `reward`."""
        return dot_error(point)

    def outside_box(self, point: np.ndarray) -> str | None:
        """Return why the dual weights `point` are not within their box, or None if they are."""
        return infeasible_in_box(point, self.upper)


class KernelRisk(Risk):
    """The risk in the feature space of a kernel, where h(x) = sum_i c_i (k(x_i, x) + bias^2).

    A point is c (m,), of any sign. D is the dual value of the weights y_i c_i, clipped to their box and multiplied by
    the best factor. The parameters are those of `Risk`.
    """

    name: ClassVar[str] = "KernelRisk"

    def decision(self, coef: np.ndarray) -> np.ndarray:
        """Return h (m,) of the samples with the bias, from scratch in float64."""
        idx = np.flatnonzero(coef)
        return self.gram.matvec(coef[idx], idx) + self.bias**2 * float(coef.sum())

    def certificate(self, point: np.ndarray) -> Certificate:
        h = self.decision(point)
        margins, norm = self.margins_of(h), float(point @ h)
        slack = self.slack(margins)
        primal = 0.5 * norm + self.loss.total(slack, self.C)
        of_h, of_norm = self._errors(point, h)
        of_primal = 0.5 * of_norm + self.loss.total_error(slack, self.C, of_h + self.slack_rounding(margins))
        beta = self.clipped(point)
        coef = self.coefficients(beta)
        if not np.array_equal(coef, point):
            h = self.decision(coef)
            norm, of_norm = float(coef @ h), self._errors(coef, h)[1]
        ridge, reward = float(beta @ (beta * self.ridge)), self.reward(beta)
        scale = scale_within(reward, norm + ridge, self.loss)
        dual = scale * reward - 0.5 * scale**2 * (norm + ridge)
        of_dual = scale * self.reward_error(beta) + scale**2 * (of_norm + dot_error(beta * (beta * self.ridge)))
        return Certificate.of(primal, dual, errors=(of_primal, of_dual), flaw=self.gram.definiteness.flaw)

    def _errors(self, coef: np.ndarray, h: np.ndarray) -> tuple[float, float]:
        """Return bounds on the errors of each entry of h = `decision(coef)` and of coef'h."""
        of_h = self.image_error(coef) + dot_error(coef, self.bias**2) + U * float(np.abs(h).max())
        return of_h, float(np.abs(coef).sum()) * of_h + dot_error(coef * h)

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        return DecisionFunction(point.copy(), self.bias**2 * float(point.sum()))

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        return coef.copy()


def scale_within(total: float, curvature: float, loss: Loss) -> float:
    """Return the argmax of s total - s^2 curvature / 2 over s >= 0; for the hinge also s <= 1, to stay in the box."""
    most = 1.0 if loss is Loss.HINGE else np.inf
    if curvature <= 0.0:
        return 1.0
    return min(max(total / curvature, 0.0), most)
