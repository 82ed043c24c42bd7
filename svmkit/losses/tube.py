"""Losses outside of a tube of half width epsilon around the predictions: epsilon-insensitive and its square."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from svmkit.losses.base import Family, Loss
from svmkit.losses.options import require_at_least_zero
from svmkit.losses.terms import Terms


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """The loss max(0, |t - h| - epsilon) of epsilon-SVR (Vapnik 1995).

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the tube without loss, >= 0, in units of the targets.

    Raises
    ------
    InputError
        If epsilon is not a finite number >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(epsilon=0.5).value(np.array([1.0, 1.0]), np.array([0.75, 3.0]))
    array([0. , 1.5])
    """

    name: ClassVar[str] = "epsilon_insensitive"
    task: ClassVar[str] = "regress"
    family: ClassVar[Family] = Family.BOUNDED

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        require_at_least_zero(self, "epsilon")

    @property
    def words(self) -> str:
        return "epsilon-insensitive"

    def value(self, target: np.ndarray, h: np.ndarray) -> np.ndarray:
        return np.maximum(np.abs(target - h) - self.epsilon, 0.0)

    def terms(self, target: np.ndarray, C: np.ndarray) -> Terms:
        return Terms.fill(target, lower=-C, upper=C, kink_up=self.epsilon, kink_down=self.epsilon)


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(Loss):
    """The loss max(0, |t - h| - epsilon)^2, LIBLINEAR's L2 loss of regression (Ho, Lin 2012).

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the tube without loss, >= 0, in units of the targets.

    Raises
    ------
    InputError
        If epsilon is not a finite number >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.losses import SquaredEpsilonInsensitive
    >>> SquaredEpsilonInsensitive(epsilon=0.5).value(np.array([1.0, 1.0]), np.array([0.75, 3.0]))
    array([0.  , 2.25])
    """

    name: ClassVar[str] = "squared_epsilon_insensitive"
    task: ClassVar[str] = "regress"
    family: ClassVar[Family] = Family.RIDGED

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        require_at_least_zero(self, "epsilon")

    @property
    def words(self) -> str:
        return "squared epsilon-insensitive"

    def value(self, target: np.ndarray, h: np.ndarray) -> np.ndarray:
        return np.square(np.maximum(np.abs(target - h) - self.epsilon, 0.0))

    def terms(self, target: np.ndarray, C: np.ndarray) -> Terms:
        ridge, kink = 1.0 / (2.0 * C), self.epsilon
        unbounded = {"lower": -np.inf, "upper": np.inf}
        return Terms.fill(target, **unbounded, kink_up=kink, kink_down=kink, ridge_up=ridge, ridge_down=ridge)
