"""Losses of the margin s = 1 - y h: hinge, squared hinge, smoothed hinge; and of y h: logistic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from svmkit.losses.base import Family, Loss
from svmkit.losses.terms import LogisticTerms, Terms


@dataclass(frozen=True)
class Hinge(Loss):
    """The hinge max(0, 1 - y h) of C-SVC (Cortes, Vapnik 1995); LIBLINEAR's L1 loss.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.losses import Hinge
    >>> Hinge().value(np.array([1.0, -1.0]), np.array([0.25, 0.5]))
    array([0.75, 1.5 ])
    """

    name: ClassVar[str] = "hinge"
    family: ClassVar[Family] = Family.BOUNDED

    def value(self, target: np.ndarray, h: np.ndarray) -> np.ndarray:
        return np.maximum(1.0 - target * h, 0.0)

    def terms(self, target: np.ndarray, C: np.ndarray) -> Terms:
        return _one_sided(target, C, 0.0)


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """The squared hinge max(0, 1 - y h)^2 of L2-SVM; LIBLINEAR's L2 loss.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.losses import SquaredHinge
    >>> SquaredHinge().value(np.array([1.0, -1.0]), np.array([0.5, -2.0]))
    array([0.25, 0.  ])
    """

    name: ClassVar[str] = "squared_hinge"
    family: ClassVar[Family] = Family.RIDGED

    def value(self, target: np.ndarray, h: np.ndarray) -> np.ndarray:
        return np.square(np.maximum(1.0 - target * h, 0.0))

    def terms(self, target: np.ndarray, C: np.ndarray) -> Terms:
        return _one_sided(target, np.full(len(C), np.inf), 1.0 / (2.0 * C))


@dataclass(frozen=True)
class SmoothedHinge(Loss):
    """The hinge with a quadratic piece of width delta (Shalev-Shwartz, Zhang 2013, equation 22).

    It is s^2 / (2 delta) for 0 <= s = 1 - y h <= delta, and s - delta / 2 beyond.

    Parameters
    ----------
    delta : float, default=1.0
        Width of the quadratic piece in units of h, > 0.

    Raises
    ------
    InputError
        If delta is not a finite number > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.losses import SmoothedHinge
    >>> SmoothedHinge(delta=0.5).value(np.array([1.0, 1.0]), np.array([0.75, -1.0]))
    array([0.0625, 1.75  ])
    """

    name: ClassVar[str] = "smoothed_hinge"
    family: ClassVar[Family] = Family.SMOOTH

    delta: float = 1.0

    def __post_init__(self) -> None:
        self._require("delta", "a finite number > 0", lambda delta: 0.0 < delta < math.inf)

    def value(self, target: np.ndarray, h: np.ndarray) -> np.ndarray:
        slack = np.maximum(1.0 - target * h, 0.0)
        return np.where(slack < self.delta, np.square(slack) / (2.0 * self.delta), slack - 0.5 * self.delta)

    def terms(self, target: np.ndarray, C: np.ndarray) -> Terms:
        return _one_sided(target, C, self.delta / C)


@dataclass(frozen=True)
class Logistic(Loss):
    """The logistic loss log(1 + exp(-y h)) of logistic regression, LIBLINEAR's -s 0 and 7 (Yu, Huang, Lin 2011).

    A decision is the logarithm of the odds of the second class, so models have probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.losses import Logistic
    >>> Logistic().value(np.array([1.0, -1.0]), np.array([0.0, 100.0]))
    array([  0.69314718, 100.        ])
    """

    name: ClassVar[str] = "logistic"
    family: ClassVar[Family] = Family.LOGISTIC
    is_likelihood: ClassVar[bool] = True

    def value(self, target: np.ndarray, h: np.ndarray) -> np.ndarray:
        slack = -target * h
        return np.maximum(slack, 0.0) + np.log1p(np.exp(-np.abs(slack)))

    def terms(self, target: np.ndarray, C: np.ndarray) -> Terms:
        return LogisticTerms.from_bound(target * C)


def _one_sided(y: np.ndarray, most: np.ndarray, ridge: float | np.ndarray) -> Terms:
    """Return the terms of a loss of the margin: a weight has the sign of its label and is at most `most` (m,)."""
    bound = y * most
    lower, upper = np.minimum(bound, 0.0), np.maximum(bound, 0.0)
    return Terms.fill(y, lower=lower, upper=upper, ridge_up=ridge, ridge_down=ridge)
