"""A crew holds the parts of a set of data and hands each message to all of them; here the crew of one process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from svmkit_dask.answers import Message, Own, answer
from svmkit_dask.features import Features, Space
from svmkit_dask.rows import Change, Rows, Spec


class Crew(ABC):
    """The workers of all parts.

    Attributes
    ----------
    names : list of str
        The name of each part, for messages.
    offsets : ndarray of int64, shape (n_parts + 1,)
        The number of rows before each part, and of all: row r of part p has the number offsets[p] + r.
    space : Space
        Where the rows lie.
    """

    names: list[str]
    offsets: np.ndarray
    space: Space

    @property
    def n_parts(self) -> int:
        """The number of parts."""
        return len(self.names)

    @abstractmethod
    def open(self, spec: Spec) -> int:
        """Begin a problem and return its number; parts make their rows when they are first asked."""

    @abstractmethod
    def close(self, problem: int) -> None:
        """Forget the rows of a problem."""

    def details(self) -> dict[str, Any]:
        """Return what the messages have cost, for JSON."""
        return {}

    def end(self) -> None:  # noqa: B027  of a process there is nothing to end
        """Let the workers forget all parts."""

    @abstractmethod
    def ask(
        self, problem: int, message: Message, own: Sequence[Own], change: Change | None, parts: Sequence[int]
    ) -> list[Any]:
        """Send a message to some parts and return their answers, once all of them have answered.

        Parameters
        ----------
        problem : int
            The number of the problem.
        message : Message
            What to do.
        own : sequence of Own
            What is for one part only, for each of `parts`.
        change : Change or None
            What is for all parts, and large.
        parts : sequence of int
            The parts, in ascending order.

        Returns
        -------
        list
            For each of `parts` what `svmkit_dask.answers.answer` returns. A part whose worker was lost answers
            `Behind`, as its rows begin anew.

        Raises
        ------
        SvmkitError
            A part cannot be brought back within the bounds of the crew.
        """


class Portion(NamedTuple):
    """A part as its worker holds it: features, and the code and the weight of each row."""

    features: Features
    codes: np.ndarray
    weights: np.ndarray

    def rows(self, spec: Spec) -> Rows:
        """Return the rows of a problem at weights of 0."""
        return Rows(self.features, self.codes, self.weights, spec)


class LocalCrew(Crew):
    """The crew of parts that are in this process.

    Parameters
    ----------
    portions : sequence of Portion
        The parts.
    space : Space
        Where their rows lie.
    """

    def __init__(self, portions: Sequence[Portion], space: Space) -> None:
        self.portions, self.space = list(portions), space
        self.names = [f"part {p}" for p in range(len(self.portions))]
        self.offsets = np.concatenate([[0], np.cumsum([len(portion.codes) for portion in self.portions])])
        self._specs: list[Spec] = []
        self._rows: dict[tuple[int, int], Rows] = {}

    def open(self, spec: Spec) -> int:
        self._specs.append(spec)
        return len(self._specs) - 1

    def close(self, problem: int) -> None:
        for p in range(self.n_parts):
            self._rows.pop((problem, p), None)

    def ask(self, problem, message, own, change, parts):
        return [
            answer(self._of(problem, p), message, mine, change) for p, mine in zip(parts, own, strict=True)
        ]  # fmt: skip

    def _of(self, problem: int, p: int) -> Rows:
        """Return the rows of a part in a problem."""
        if (problem, p) not in self._rows:
            self._rows[problem, p] = self.portions[p].rows(self._specs[problem])
        return self._rows[problem, p]
