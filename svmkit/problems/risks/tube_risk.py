"""The risks of regression: those of classification with losses outside a tube around the predictions."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from svmkit.kernels.gram import Gram
from svmkit.kernels.rounding import U
from svmkit.problems.base import costs
from svmkit.problems.loss import Loss
from svmkit.problems.risks.linear_risk import LinearDual, LinearRisk
from svmkit.problems.risks.risk import KernelRisk, Risk
from svmkit.problems.rounding import dot_error
from svmkit.problems.targets import checked_epsilon, checked_targets, infeasible_between, sides


class TubeRisk(Risk):
    """Base of the risks 1/2 |w|^2 + sum_i C_i loss(|t_i - h(x_i)| - epsilon) of targets t_i.

    The losses are the epsilon-insensitive loss and its square. The weights of a dual point are the coefficients d_i of
    the samples, |d_i| <= upper_i, so that D = t'd - epsilon |d|_1 - 1/2 |sum_i d_i x_i|^2 - 1/2 sum_i ridge_i d_i^2.
    What the base classes call margins are the predictions h here.

    Parameters
    ----------
    gram : Gram
        The kernel matrix of the m samples.
    t : ndarray of shape (m,)
        Targets, finite.
    C : float or ndarray of shape (m,)
        Cost of a unit of loss, > 0.
    epsilon : float, default=0.1
        Half the width of the tube in which there is no loss, >= 0, in units of the targets.
    **terms
        `loss`, `bias` and further terms, as for the base classes.

    Attributes
    ----------
    t : ndarray of float64, shape (m,)
        The targets.
    y : ndarray of float64, shape (m,)
        +1.0 for targets above the median and -1.0 for the others, which samplers may use.

    Raises
    ------
    InputError
        If a target, epsilon, C or a term is not valid.

    References
    ----------
    Ho, Lin (2012), Large-scale linear support vector regression, JMLR 13, equations 2 to 8.
    """

    task: ClassVar[str] = "regress"
    epsilon: float

    def __init__(self, gram: Gram, t: np.ndarray, C: float | np.ndarray, epsilon: float = 0.1, **terms) -> None:
        self.epsilon = checked_epsilon(epsilon)
        super().__init__(gram, t, C, **terms)

    def _read(self, y: np.ndarray, C: float | np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
        self.t, C = checked_targets(y, m), costs(C, m)
        return sides(self.t), C

    @classmethod
    def regressor(cls, gram: Gram, t: np.ndarray, C: float | np.ndarray, epsilon: float, **terms) -> TubeRisk:
        return cls(gram, t, C, epsilon, **terms)

    @classmethod
    def formulation(cls, *, loss: str = "hinge", **terms) -> str:
        _, _, rest = super().formulation(loss=loss, **terms).partition(", ")
        return ("" if Loss.of(loss) is Loss.HINGE else "squared ") + f"epsilon-insensitive, {rest}"

    @property
    def targets(self) -> np.ndarray:
        return self.t

    @property
    def unit(self) -> float:
        return self.loss.total(np.abs(self.t) - self.epsilon, self.C) * self.lam or 1.0

    def margins_of(self, h: np.ndarray) -> np.ndarray:
        return h

    def residual(self, margins: np.ndarray) -> np.ndarray:
        return self.t - margins

    def slack(self, margins: np.ndarray) -> np.ndarray:
        return np.abs(self.t - margins) - self.epsilon

    def slack_rounding(self, margins: np.ndarray) -> np.ndarray:
        return 2.0 * U * (np.abs(self.t) + np.abs(margins) + self.epsilon)

    def slack_line(self, margins: np.ndarray, change: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        above = self.t - margins  # two losses a sample, of which one is 0
        slack = np.concatenate([above, -above]) - self.epsilon
        return slack, np.concatenate([change, -change]), np.concatenate([self.C, self.C])

    def excess(self, margins: np.ndarray) -> np.ndarray:
        return np.copysign(np.maximum(self.slack(margins), 0.0), self.t - margins)

    def blurred(self, margins: np.ndarray, width: float) -> np.ndarray:
        above = self.t - margins
        over, under = (np.clip(0.5 + (side - self.epsilon) / (2.0 * width), 0.0, 1.0) for side in (above, -above))
        return self.C * (over - under)

    def coefficients(self, point: np.ndarray) -> np.ndarray:
        return point

    def clipped(self, coef: np.ndarray) -> np.ndarray:
        return np.clip(coef, -self.upper, self.upper)

    def reward(self, point: np.ndarray) -> float:
        return float(self.t @ point) - self.epsilon * float(np.abs(point).sum())

    def reward_error(self, point: np.ndarray) -> float:
        return dot_error(self.t * point) + dot_error(point, self.epsilon)

    def outside_box(self, point: np.ndarray) -> str | None:
        return infeasible_between(point, self.upper)


class LinearTubeDual(TubeRisk, LinearDual):
    """min 1/2 d'K d - t'd + epsilon |d|_1 + 1/2 sum_i ridge_i d_i^2 over |d| <= upper, the dual of `LinearTubeRisk`.

    K_ij = x_i'x_j + bias^2 is never formed, since w = sum_i d_i x_i. A point is d (m,): one signed weight a sample
    stands for the two weights beta_i, beta*_i >= 0, of which one is 0. The parameters are those of `TubeRisk`.
    """

    name: ClassVar[str] = "LinearTubeDual"


class LinearTubeRisk(TubeRisk, LinearRisk):
    """min 1/2 |w|^2 + sum_i C_i loss(|t_i - h(x_i)| - epsilon), or with |w|_1 instead of 1/2 |w|^2.

    A point is w (width,), as for `LinearRisk`, whose `penalty` is a term here as well. The other parameters are those
    of `TubeRisk`.
    """

    name: ClassVar[str] = "LinearTubeRisk"


class KernelTubeRisk(TubeRisk, KernelRisk):
    """The risk in the feature space of a kernel. A point is c (m,), as for `KernelRisk`.

    The parameters are those of `TubeRisk`.
    """

    name: ClassVar[str] = "KernelTubeRisk"
