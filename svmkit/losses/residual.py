"""Symmetric losses of the residual e = t - h: absolute error, squared error, Huber's loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from svmkit.losses.base import Family, Loss
from svmkit.losses.options import require_positive
from svmkit.losses.terms import Terms


@dataclass(frozen=True)
class AbsoluteError(Loss):
    """The absolute error |t - h|: the epsilon-insensitive loss without a tube.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.losses import AbsoluteError
    >>> AbsoluteError().value(np.array([1.0, 1.0]), np.array([0.75, 3.0]))
    array([0.25, 2.  ])
    """

    name: ClassVar[str] = "absolute_error"
    task: ClassVar[str] = "regress"
    family: ClassVar[Family] = Family.BOUNDED

    def value(self, target: np.ndarray, h: np.ndarray) -> np.ndarray:
        return np.abs(target - h)

    def terms(self, target: np.ndarray, C: np.ndarray) -> Terms:
        return Terms.fill(target, lower=-C, upper=C)


@dataclass(frozen=True)
class SquaredError(Loss):
    """The squared error (t - h)^2, the loss of ridge regression and of the least squares SVM (Suykens 1999).

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.losses import SquaredError
    >>> SquaredError().value(np.array([1.0, 1.0]), np.array([0.5, 3.0]))
    array([0.25, 4.  ])
    """

    name: ClassVar[str] = "squared_error"
    task: ClassVar[str] = "regress"
    family: ClassVar[Family] = Family.RIDGED

    def value(self, target: np.ndarray, h: np.ndarray) -> np.ndarray:
        return np.square(target - h)

    def terms(self, target: np.ndarray, C: np.ndarray) -> Terms:
        ridge = 1.0 / (2.0 * C)
        return Terms.fill(target, lower=-np.inf, upper=np.inf, ridge_up=ridge, ridge_down=ridge)


@dataclass(frozen=True)
class Huber(Loss):
    """Huber's loss (Huber 1964): e^2 up to |e| = delta, and the tangent 2 delta |e| - delta^2 beyond.

    Parameters
    ----------
    delta : float, default=1.35
        The residual at which the loss turns linear, > 0, in units of the targets.

    Raises
    ------
    InputError
        If delta is not a finite number > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.losses import Huber
    >>> Huber(delta=1.0).value(np.array([1.0, 1.0]), np.array([0.5, 3.0]))
    array([0.25, 3.  ])
    """

    name: ClassVar[str] = "huber"
    task: ClassVar[str] = "regress"
    family: ClassVar[Family] = Family.SMOOTH

    delta: float = 1.35

    def __post_init__(self) -> None:
        require_positive(self, "delta")

    def value(self, target: np.ndarray, h: np.ndarray) -> np.ndarray:
        size = np.abs(target - h)
        return np.where(size < self.delta, np.square(size), self.delta * (2.0 * size - self.delta))

    def terms(self, target: np.ndarray, C: np.ndarray) -> Terms:
        most, ridge = 2.0 * C * self.delta, 1.0 / (2.0 * C)
        return Terms.fill(target, lower=-most, upper=most, ridge_up=ridge, ridge_down=ridge)
