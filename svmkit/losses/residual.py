"""Losses of the residual e = t - h: symmetric ones, those with a tube of half width epsilon, and asymmetric ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.losses.base import Family, Loss
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
        self._require("delta", "a finite number > 0", lambda delta: 0.0 < delta < math.inf)

    def value(self, target: np.ndarray, h: np.ndarray) -> np.ndarray:
        size = np.abs(target - h)
        return np.where(size < self.delta, np.square(size), self.delta * (2.0 * size - self.delta))

    def terms(self, target: np.ndarray, C: np.ndarray) -> Terms:
        most, ridge = 2.0 * C * self.delta, 1.0 / (2.0 * C)
        return Terms.fill(target, lower=-most, upper=most, ridge_up=ridge, ridge_down=ridge)


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
        self._require("epsilon", "a finite number >= 0, in units of the targets", lambda width: 0.0 <= width < math.inf)

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
        self._require("epsilon", "a finite number >= 0, in units of the targets", lambda width: 0.0 <= width < math.inf)

    @property
    def words(self) -> str:
        return "squared epsilon-insensitive"

    def value(self, target: np.ndarray, h: np.ndarray) -> np.ndarray:
        return np.square(np.maximum(np.abs(target - h) - self.epsilon, 0.0))

    def terms(self, target: np.ndarray, C: np.ndarray) -> Terms:
        ridge, width = 1.0 / (2.0 * C), self.epsilon
        unbounded = {"lower": -np.inf, "upper": np.inf}
        return Terms.fill(target, **unbounded, kink_up=width, kink_down=width, ridge_up=ridge, ridge_down=ridge)


@dataclass(frozen=True)
class _Tilted(Loss):
    """A loss whose two sides weigh tau and 1 - tau; with several tau it stands for as many outputs of one model."""

    task: ClassVar[str] = "regress"

    # text as well: 0.1,0.5,0.9
    tau: float | tuple[float, ...] = field(default=0.5, metadata={"type": str})

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", _read_levels(self.tau))

    @property
    def levels(self) -> tuple[Loss, ...]:
        return tuple(type(self)(tau) for tau in self.tau) if isinstance(self.tau, tuple) else (self,)

    @property
    def level(self) -> float:
        """The one tau; InputError if there are several."""
        if isinstance(self.tau, tuple):
            raise InputError(f"{self.words} has {len(self.tau)} levels, each a loss of its own: take one of them")
        return self.tau


def _read_levels(given: Any) -> float | tuple[float, ...]:
    """Return tau as a number, or several as a tuple; raise InputError unless they ascend between 0 and 1."""
    items: Any = [part.strip() for part in given.split(",")] if isinstance(given, str) else given
    levels = []
    for item in items if isinstance(items, list | tuple | np.ndarray) and np.ndim(items) else [items]:
        try:
            tau = math.nan if isinstance(item, bool) else float(item)
        except (TypeError, ValueError):
            tau = math.nan
        if not 0.0 < tau < 1.0:
            said = f"{item:g}" if isinstance(item, float) else repr(item)
            raise InputError(f"tau must be a number with 0 < tau < 1, not {said}")
        levels.append(tau)
    if not levels:
        raise InputError("tau is an empty list: give one level or several, such as 0.1,0.5,0.9")
    for below, above in pairwise(levels):
        if below == above:
            raise InputError(f"tau={below:g} is given twice: give each level once")
        if below > above:
            raise InputError(f"tau must ascend, and {below:g} is before {above:g}: sort the levels")
    return levels[0] if len(levels) == 1 else tuple(levels)


@dataclass(frozen=True)
class Quantile(_Tilted):
    """The pinball loss of the quantile tau (Koenker, Bassett 1978): tau e for e = t - h >= 0, (tau - 1) e below.

    Parameters
    ----------
    tau : float or sequence of float, default=0.5
        The quantile, 0 < tau < 1; or several, ascending, each of which becomes an output of one model.

    Raises
    ------
    InputError
        If a tau is not between 0 and 1, or they are not ascending.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.losses import Quantile
    >>> Quantile(tau=0.75).value(np.array([1.0, 1.0]), np.array([0.0, 2.0]))
    array([0.75, 0.25])
    """

    name: ClassVar[str] = "quantile"
    family: ClassVar[Family] = Family.BOUNDED

    def value(self, target: np.ndarray, h: np.ndarray) -> np.ndarray:
        e, tau = target - h, self.level
        return np.maximum(tau * e, (tau - 1.0) * e)

    def terms(self, target: np.ndarray, C: np.ndarray) -> Terms:
        return Terms.fill(target, lower=-C * (1.0 - self.level), upper=C * self.level)


@dataclass(frozen=True)
class Expectile(_Tilted):
    """The asymmetric squared error of the expectile tau (Newey, Powell 1987): |tau - [e < 0]| e^2, e = t - h.

    Parameters
    ----------
    tau : float or sequence of float, default=0.5
        The expectile, 0 < tau < 1; or several, ascending, each of which becomes an output of one model.

    Raises
    ------
    InputError
        If a tau is not between 0 and 1, or they are not ascending.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.losses import Expectile
    >>> Expectile(tau=0.75).value(np.array([1.0, 1.0]), np.array([-1.0, 3.0]))
    array([3., 1.])
    """

    name: ClassVar[str] = "expectile"
    family: ClassVar[Family] = Family.RIDGED

    def value(self, target: np.ndarray, h: np.ndarray) -> np.ndarray:
        e, tau = target - h, self.level
        return np.where(e < 0.0, 1.0 - tau, tau) * np.square(e)

    def terms(self, target: np.ndarray, C: np.ndarray) -> Terms:
        up, down = 1.0 / (2.0 * C * self.level), 1.0 / (2.0 * C * (1.0 - self.level))
        return Terms.fill(target, lower=-np.inf, upper=np.inf, ridge_up=up, ridge_down=down)
