"""Losses that weigh residuals above and below zero differently: pinball loss of quantiles, and expectiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from svmkit.losses.base import Family, Loss
from svmkit.losses.options import require_between_zero_and_one
from svmkit.losses.terms import Terms


@dataclass(frozen=True)
class Quantile(Loss):
    """The pinball loss of the quantile tau (Koenker, Bassett 1978): tau e for e = t - h >= 0, (tau - 1) e below.

    Parameters
    ----------
    tau : float, default=0.5
        The quantile, 0 < tau < 1.

    Raises
    ------
    InputError
        If tau is not between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.losses import Quantile
    >>> Quantile(tau=0.75).value(np.array([1.0, 1.0]), np.array([0.0, 2.0]))
    array([0.75, 0.25])
    """

    name: ClassVar[str] = "quantile"
    task: ClassVar[str] = "regress"
    family: ClassVar[Family] = Family.BOUNDED

    tau: float = 0.5

    def __post_init__(self) -> None:
        require_between_zero_and_one(self, "tau")

    def value(self, target: np.ndarray, h: np.ndarray) -> np.ndarray:
        e = target - h
        return np.maximum(self.tau * e, (self.tau - 1.0) * e)

    def terms(self, target: np.ndarray, C: np.ndarray) -> Terms:
        return Terms.fill(target, lower=-C * (1.0 - self.tau), upper=C * self.tau)


@dataclass(frozen=True)
class Expectile(Loss):
    """The asymmetric squared error of the expectile tau (Newey, Powell 1987): |tau - [e < 0]| e^2, e = t - h.

    Parameters
    ----------
    tau : float, default=0.5
        The expectile, 0 < tau < 1.

    Raises
    ------
    InputError
        If tau is not between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.losses import Expectile
    >>> Expectile(tau=0.75).value(np.array([1.0, 1.0]), np.array([-1.0, 3.0]))
    array([3., 1.])
    """

    name: ClassVar[str] = "expectile"
    task: ClassVar[str] = "regress"
    family: ClassVar[Family] = Family.RIDGED

    tau: float = 0.5

    def __post_init__(self) -> None:
        require_between_zero_and_one(self, "tau")

    def value(self, target: np.ndarray, h: np.ndarray) -> np.ndarray:
        e = target - h
        return np.where(e < 0.0, 1.0 - self.tau, self.tau) * np.square(e)

    def terms(self, target: np.ndarray, C: np.ndarray) -> Terms:
        up, down = 1.0 / (2.0 * C * self.tau), 1.0 / (2.0 * C * (1.0 - self.tau))
        return Terms.fill(target, lower=-np.inf, upper=np.inf, ridge_up=up, ridge_down=down)
