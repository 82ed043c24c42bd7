"""Samplers: which points a solver looks at next. Index arrays from a seeded Generator: same seed, same arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from svmkit.errors import InputError


@dataclass(frozen=True)
class Sampler(ABC):
    """A frozen dataclass of options and one generator. `every`: each draw is all points, in an order that solvers
    may ignore."""

    name: ClassVar[str] = ""
    every: ClassVar[bool] = False

    @property
    def before(self) -> int | None:
        """How many samples of a stream came before those it draws, each of them once; None: there is no stream."""
        return None

    @abstractmethod
    def draws(self, y: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Yield int64 index arrays into y (m,), whose values are -1.0 and +1.0, for ever."""

    def __str__(self) -> str:
        """As the command line spells it: the name, and the first option after a colon."""
        return ":".join([self.name, *(str(getattr(self, f.name)) for f in fields(self)[:1])])


@dataclass(frozen=True)
class Full(Sampler):
    """All points, every time."""

    name: ClassVar[str] = "full"
    every: ClassVar[bool] = True

    def draws(self, y, rng):
        every = np.arange(len(y))
        while True:
            yield every


@dataclass(frozen=True)
class Shuffled(Sampler):
    """All points, every time in a fresh random order."""

    name: ClassVar[str] = "shuffled"
    every: ClassVar[bool] = True

    def draws(self, y, rng):
        while True:
            yield rng.permutation(len(y))


@dataclass(frozen=True)
class _Sized(Sampler):
    """`size` points a draw. 59 hold, with probability 0.95, one of the best 5%; 194, with 0.98, of the best 2%."""

    size: int = 59

    def __post_init__(self) -> None:
        if not isinstance(self.size, int) or self.size < 1:
            raise InputError(f"sample size must be a whole number >= 1, not {self.size!r}")


@dataclass(frozen=True)
class Uniform(_Sized):
    """`size` points drawn uniformly with replacement (CVM's probabilistic speed-up; FW/CVM paper, section 3.3)."""

    name: ClassVar[str] = "uniform"

    def draws(self, y, rng):
        while True:
            yield rng.integers(len(y), size=self.size)


@dataclass(frozen=True)
class Balanced(_Sized):
    """Half of the draw from each class, so that a rare class is looked at as often as the other one."""

    name: ClassVar[str] = "balanced"

    def draws(self, y, rng):
        sides = [side for side in (np.flatnonzero(y > 0), np.flatnonzero(y < 0)) if len(side)]
        while True:
            share = -(-self.size // len(sides))
            yield np.concatenate([side[rng.integers(len(side), size=share)] for side in sides])[: self.size]


@dataclass(frozen=True)
class Cyclic(_Sized):
    """`size` points in turn, in the order of the data."""

    name: ClassVar[str] = "cyclic"

    def draws(self, y, rng):
        at = 0
        while True:
            yield np.arange(at, at + self.size) % len(y)
            at = (at + self.size) % len(y)


@dataclass(frozen=True)
class Permuted(_Sized):
    """`size` points in turn from a fresh random permutation in each epoch; the last draw of an epoch may be short."""

    name: ClassVar[str] = "permuted"

    def draws(self, y, rng):
        while True:
            order = rng.permutation(len(y))
            for at in range(0, len(order), self.size):
                yield order[at : at + self.size]


class Draws:
    """A sampler bound to labels and a Generator: call it for the next index array."""

    def __init__(self, sampler: Sampler, y: np.ndarray, rng: np.random.Generator) -> None:
        self.every, self.before, self.rng = sampler.every, sampler.before, rng
        self._draws = sampler.draws(y, rng)

    def __call__(self) -> np.ndarray:
        return next(self._draws)
