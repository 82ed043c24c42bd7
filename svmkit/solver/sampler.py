"""Samplers, which choose the points that a solver looks at next.

A sampler draws index arrays with a seeded generator, so that the same seed gives the same arrays.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from svmkit.errors import InputError


@dataclass(frozen=True)
class Sampler(ABC):
    """Base of all samplers: a frozen dataclass whose fields are the options.

    Attributes
    ----------
    name : str
        The registered name.
    every : bool, default=False
        Each draw holds all points, in an order that solvers may ignore.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.solver import Uniform
    >>> draws = Uniform(3).draws(np.ones(100), np.random.default_rng(0))
    >>> len(next(draws)), str(Uniform(3))
    (3, 'uniform:3')
    """

    name: ClassVar[str] = ""
    every: ClassVar[bool] = False

    @property
    def before(self) -> int | None:
        """Samples of a stream that came before the ones to draw, each drawn once; None if there is no stream."""
        return None

    @abstractmethod
    def draws(self, y: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Yield index arrays without end.

        Parameters
        ----------
        y : ndarray of float64, shape (m,)
            Labels, -1.0 and +1.0.
        rng : numpy.random.Generator
            The only source of randomness.

        Yields
        ------
        ndarray of int64
            Points to look at, each in 0, ..., m - 1.
        """

    def __str__(self) -> str:
        """Return the spelling of the command line: the name, then the first option after a colon."""
        return ":".join([self.name, *(str(getattr(self, f.name)) for f in fields(self)[:1])])


@dataclass(frozen=True)
class Full(Sampler):
    """Draw all points, every time.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.solver import Full
    >>> next(Full().draws(np.ones(4), np.random.default_rng(0))).tolist()
    [0, 1, 2, 3]
    """

    name: ClassVar[str] = "full"
    every: ClassVar[bool] = True

    def draws(self, y, rng):
        every = np.arange(len(y))
        while True:
            yield every


@dataclass(frozen=True)
class Shuffled(Sampler):
    """Draw all points, every time in a fresh random order.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.solver import Shuffled
    >>> sorted(next(Shuffled().draws(np.ones(4), np.random.default_rng(0))).tolist())
    [0, 1, 2, 3]
    """

    name: ClassVar[str] = "shuffled"
    every: ClassVar[bool] = True

    def draws(self, y, rng):
        while True:
            yield rng.permutation(len(y))


@dataclass(frozen=True)
class _Sized(Sampler):
    """Draw `size` points; InputError if that is not a whole number >= 1.

    59 points drawn uniformly hold one of the best 5% with probability 0.95, and 194 points one of the best 2% with
    probability 0.98.
    """

    size: int = 59

    def __post_init__(self) -> None:
        if not isinstance(self.size, int) or self.size < 1:
            raise InputError(f"sample size must be a whole number >= 1, not {self.size!r}")


@dataclass(frozen=True)
class Uniform(_Sized):
    """Draw `size` points uniformly with replacement (CVM's probabilistic speed-up; FW/CVM paper, section 3.3).

    Parameters
    ----------
    size : int, default=59
        Points in a draw, >= 1.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.solver import Uniform
    >>> len(next(Uniform(59).draws(np.ones(1000), np.random.default_rng(0))))
    59
    """

    name: ClassVar[str] = "uniform"

    def draws(self, y, rng):
        while True:
            yield rng.integers(len(y), size=self.size)


@dataclass(frozen=True)
class Balanced(_Sized):
    """Draw half of `size` points from each class, so that a rare class is drawn as often as the other class.

    Parameters
    ----------
    size : int, default=59
        Points in a draw, >= 1.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.solver import Balanced
    >>> y = np.array([1.0] * 90 + [-1.0] * 10)
    >>> y[next(Balanced(8).draws(y, np.random.default_rng(0)))].sum().item()
    0.0
    """

    name: ClassVar[str] = "balanced"

    def draws(self, y, rng):
        sides = [side for side in (np.flatnonzero(y > 0), np.flatnonzero(y < 0)) if len(side)]
        while True:
            share = -(-self.size // len(sides))
            yield np.concatenate([side[rng.integers(len(side), size=share)] for side in sides])[: self.size]


@dataclass(frozen=True)
class Cyclic(_Sized):
    """Draw `size` points in turn, in the order of the data.

    Parameters
    ----------
    size : int, default=59
        Points in a draw, >= 1.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.solver import Cyclic
    >>> draws = Cyclic(3).draws(np.ones(5), np.random.default_rng(0))
    >>> next(draws).tolist(), next(draws).tolist()
    ([0, 1, 2], [3, 4, 0])
    """

    name: ClassVar[str] = "cyclic"

    def draws(self, y, rng):
        at = 0
        while True:
            yield np.arange(at, at + self.size) % len(y)
            at = (at + self.size) % len(y)


@dataclass(frozen=True)
class Permuted(_Sized):
    """Draw `size` points in turn from a random permutation, a fresh one in each epoch.

    Parameters
    ----------
    size : int, default=59
        Points in a draw, >= 1; the last draw of an epoch may be shorter.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.solver import Permuted
    >>> draws = Permuted(2).draws(np.ones(4), np.random.default_rng(0))
    >>> sorted([*next(draws).tolist(), *next(draws).tolist()])
    [0, 1, 2, 3]
    """

    name: ClassVar[str] = "permuted"

    def draws(self, y, rng):
        while True:
            order = rng.permutation(len(y))
            for at in range(0, len(order), self.size):
                yield order[at : at + self.size]


class Goal(NamedTuple):
    """The goal of the stop rules, for a solver that takes many steps before it reports."""

    gap: float  # the relative gap at which the solve ends; 0.0 without such a rule
    iterations: float  # the iterations after which it ends; inf without such a rule
    watched: bool = False  # iterates are observed on the way, which must not change them
    begun: int = 0  # iterations of the earlier solve that is continued, not counted in `iterations`
    passes: float = math.inf  # over the data, after which a step of many iterations has to end


class Draws:
    """A sampler bound to labels and a generator; calling it returns the next index array.

    Parameters
    ----------
    sampler : Sampler
        The sampler.
    y : ndarray of float64, shape (m,)
        Labels, -1.0 and +1.0.
    rng : numpy.random.Generator or int
        Source of randomness, or its seed: many solves never draw.
    over : callable, default=lambda: False
        Returns whether the solve has to end: its time is spent, or a signal asks it to end.
    goal : Goal, default=None
        The goal of the stop rules; None if a rule needs more iterates than a gap does.

    Attributes
    ----------
    every : bool
        Each draw holds all points (`Sampler.every`).
    before : int or None
        Earlier samples of the stream (`Sampler.before`).
    rng : numpy.random.Generator
        The generator, for a solver's other random choices.
    over : callable
        Called as over(); True once the solve has to end. A solver whose start or step takes long calls it now and then,
        and returns early with its current result.
    goal : Goal or None
        As the parameter.
    carried : dict or None
        In `Solver.init`, the data of the earlier solve that this one continues (`Solver.carry`); else None.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.solver import Cyclic, Draws
    >>> draws = Draws(Cyclic(2), np.ones(5), 0)
    >>> draws().tolist(), draws().tolist()
    ([0, 1], [2, 3])
    """

    def __init__(
        self,
        sampler: Sampler,
        y: np.ndarray,
        rng: np.random.Generator | int,
        over: Callable[[], bool] = lambda: False,
        goal: Goal | None = None,
    ) -> None:
        self.every, self.before, self.over, self.goal = sampler.every, sampler.before, over, goal
        self.carried: dict | None = None
        self._sampler, self._y, self._given = sampler, y, rng

    @cached_property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self._given)

    @property
    def rng_state(self) -> dict | None:
        """The state of NumPy's bit generator; None if nothing has been drawn since the seed."""
        return dict(self.rng.bit_generator.state) if "rng" in vars(self) else None

    @property
    def has_drawn(self) -> bool:
        """Whether anything has been drawn by the sampler."""
        return "_drawn" in vars(self)

    @cached_property
    def _drawn(self) -> Iterator[np.ndarray]:
        return self._sampler.draws(self._y, self.rng)

    def __call__(self) -> np.ndarray:
        return next(self._drawn)
