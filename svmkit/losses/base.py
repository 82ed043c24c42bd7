"""The contract of a loss, for authors of plugins: a definition for judges and a record for solvers.

    @dataclass(frozen=True)
    class Mine(Loss):
        '''My loss (Author, Year).'''
        name = "mine"
        task = "regress"
        family = Family.BOUNDED
        width: float = 1.0
        def value(self, target, h): ...
        def terms(self, target, C): ...

An entry point in the package's pyproject.toml registers it:

    [project.entry-points."svmkit.losses"]
    mine = "my_package:Mine"
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.losses.terms import Terms

TASKS_OF_LOSSES = ("classify", "regress")  # a ranking has the losses of classification


@dataclass(frozen=True)
class Loss(ABC):
    """A convex loss of a target and a decision value: a frozen dataclass whose fields are its options.

    Attributes
    ----------
    name : str
        The registered name.
    task : {"classify", "regress"}
        The task in which it is used.
    family : Family
        The property on which solvers rely.
    words : str
        The loss in words; two losses of equal words and options are the same.
    is_likelihood : bool, default=False
        Whether the loss is minus the logarithm of the probability 1 / (1 + exp(-y h)) of its label, so that decisions
        are logarithms of odds.

    Examples
    --------
    >>> from svmkit.losses import Huber
    >>> Huber(delta=2.0).params
    {'delta': 2.0}
    """

    name: ClassVar[str] = ""
    task: ClassVar[str] = "classify"
    family: ClassVar[Family]
    is_likelihood: ClassVar[bool] = False

    @abstractmethod
    def value(self, target: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Return the losses (m,) of decision values h (m,), for C = 1: the definition on which judges rely.

        Parameters
        ----------
        target : ndarray of float64, shape (m,)
            Labels -1.0 or +1.0, or the targets of regression.
        h : ndarray of float64, shape (m,)
            Decision values, the bias included.

        Returns
        -------
        ndarray of float64, shape (m,)
            Numbers >= 0, convex in h.
        """

    @abstractmethod
    def terms(self, target: np.ndarray, C: np.ndarray) -> Terms:
        """Return the record on which solvers and certificates rely: the dual of C times `value`.

        Parameters
        ----------
        target, C : ndarray of float64, shape (m,)
            Targets as in `value`, and costs > 0.
        """

    @classmethod
    def fault(cls) -> str | None:
        """Return what `task` or `family` lacks, as a continuation of the loss's name; None if both can be used."""
        if cls.task not in TASKS_OF_LOSSES:
            return f"has the task {cls.task!r}: take {' or '.join(TASKS_OF_LOSSES)}"
        family = getattr(cls, "family", None)
        if not isinstance(family, Family):
            has = "lacks family" if family is None else f"has the family {family!r}"
            return f"{has}: take {', '.join(f'Family.{one.name}' for one in Family)} (svmkit.losses.Family)"
        return None

    def _require(self, option: str, words: str, holds: Callable[[float], bool]) -> None:
        """Make an option a float; raise InputError, which says in `words` what it must be, unless that holds."""
        value = getattr(self, option)
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not holds(number):
            raise InputError(
                f"{option} must be {words}, not {f'{value:g}' if isinstance(value, float) else repr(value)}"
            )
        object.__setattr__(self, option, number)

    @property
    def words(self) -> str:
        """The loss in words, with the options that shape it, such as "quantile tau=0.9"."""
        return " ".join(
            [self.name.replace("_", " "), *(f"{key}={format_option(of)}" for key, of in self.params.items())]
        )

    @property
    def params(self) -> dict[str, Any]:
        """The options as plain values."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def levels(self) -> tuple[Loss, ...]:
        """The loss of each output: one for each value of an option that has several, else the loss alone."""
        return (self,)


def format_option(value: float | tuple[float, ...]) -> str:
    """Return the value of an option, or its several values, in the syntax of the command line."""
    return ",".join(map(write_number, value if isinstance(value, tuple) else (value,)))


def write_number(value: float) -> str:
    """Return a number in as few digits as identify it."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


class Family(Enum):
    """Kinds of losses, by the form of their duals; solvers say which kinds they support.

    Attributes
    ----------
    BOUNDED
        Finite bounds on both sides and no ridge: the slope of the loss is bounded and jumps, like the hinge's.
    RIDGED
        A ridge on both sides and no bound: the loss is smooth and grows like a square.
    SMOOTH
        A ridge and finite bounds: the loss is smooth and grows linearly, like Huber's.
    LOGISTIC
        Not piecewise: an entropy instead of ridges (`LogisticTerms`), so that weights lie inside their bounds.

    Examples
    --------
    >>> from svmkit.losses.base import Family
    >>> Family.SMOOTH.value
    'smooth and linear in the end'
    """

    BOUNDED = "piecewise linear"
    RIDGED = "smooth and quadratic"
    SMOOTH = "smooth and linear in the end"
    LOGISTIC = "logistic"


PIECEWISE = Family.BOUNDED, Family.RIDGED, Family.SMOOTH
"""The families of piecewise linear-quadratic losses."""
