"""One problem on the workers that hold the parts: messages to all of them, and what brings a part back."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from svmkit.errors import Gone, SvmkitError
from svmkit_dask.parts.part import Part
from svmkit_dask.parts.sources import Source
from svmkit_dask.worker.answers import Behind, Message, Own, answer
from svmkit_dask.worker.features import Space
from svmkit_dask.worker.rows import Change, Portion, Rows, Spec


class Workers(ABC):
    """The workers of all parts, `names` in messages; row r of part p has the number offsets[p] + r of all rows."""

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

        A part whose worker was lost answers `Behind`, as its rows begin anew. SvmkitError is raised for one that cannot
        be brought back within the bounds of the workers.

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
        """


class LocalWorkers(Workers):
    """This process as the worker of all parts."""

    def __init__(self, portions: Sequence[Portion], space: Space) -> None:
        self.portions, self.space = list(portions), space
        self.names = [f"part {p}" for p in range(len(self.portions))]
        self.offsets = np.concatenate([[0], np.cumsum([len(portion.weights) for portion in self.portions])])
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
            answer(self._rows_of(problem, p), message, mine, change) for p, mine in zip(parts, own, strict=True)
        ]  # fmt: skip

    def _rows_of(self, problem: int, p: int) -> Rows:
        """Return the rows of a part in a problem."""
        if (problem, p) not in self._rows:
            self._rows[problem, p] = Rows(self.portions[p], self._specs[problem])
        return self._rows[problem, p]


PATIENCE = 20  # times in a row that one part may have lost its rows before they were used
NOTHING = Own()

Weights = tuple[Change, list[Own]]
"""All vectors that have weights, and for each part the positions and the weights of its own."""


class Executor(ABC):
    """Where the parts are worked on."""

    @abstractmethod
    def map(self, function: Callable[..., Any], sources: Sequence[Source], *args: Any) -> list[Any]:
        """Return function(part, name, *args) of the part that each source makes.

        A part that cannot be made, or that the function refuses, raises InputError, which names it.
        """

    @abstractmethod
    def workers(
        self, sources: Sequence[Source], sizes: Sequence[int], space: Space, classes: np.ndarray | None
    ) -> Workers:
        """Return the workers that hold the parts, which have so many rows."""


class LocalExecutor(Executor):
    """Parts in the memory of this process."""

    def __init__(self) -> None:
        self._parts: dict[int, Part] = {}

    def _part(self, source: Source) -> Part:
        if id(source) not in self._parts:
            self._parts[id(source)] = source.load(None, sys.maxsize)
        return self._parts[id(source)]

    def map(self, function, sources, *args):
        return [function(self._part(source), source.name, *args) for source in sources]

    def workers(self, sources, sizes, space, classes):
        portions = []
        for part in map(self._part, sources):
            portions.append(Portion.from_part(part, space, classes))
        return LocalWorkers(portions, space)


class Session:
    """One problem on workers.

    Attributes
    ----------
    stamp : int
        The state that the parts are in.
    parts : list of int
        The parts that have rows in the problem.
    counts : ndarray of int64, shape (n_parts, 2)
        The rows of each part with the labels +1 and -1.
    widest : float
        The largest k(x, x).
    bounds : tuple of float, float, int
        The largest error and size of a kernel value, and the panel of the sums.
    gone : Gone or None
        Why the workers answer no more.
    """

    def __init__(self, workers: Workers, spec: Spec) -> None:
        self.workers, self.spec = workers, spec
        self.stamp = self.kernel_values = 0
        self.gone: Gone | None = None
        self.parts = list(range(workers.n_parts))
        self._problem = workers.open(spec)
        counted = self.ask(Message("count"))
        self.counts = np.array([replies[:2] for replies in counted], dtype=np.int64)
        self.widest = max(replies[2] for replies in counted)
        errors, sizes, panels = zip(*(replies[3] for replies in counted), strict=True)
        self.bounds = max(errors), max(sizes), max(panels)
        self.parts = np.flatnonzero(self.counts.sum(axis=1)).tolist()

    @property
    def m(self) -> int:
        """The number of samples."""
        return int(self.counts.sum())

    def close(self) -> None:
        """Let the parts forget their rows."""
        if self.gone is None:
            self.workers.close(self._problem)

    def ask(
        self,
        message: Message,
        own: Sequence[Own] | Mapping[int, Own] | None = None,
        change: Change | None = None,
        *,
        parts: Sequence[int] | None = None,
        mend: Callable[[list[int]], Message | None] | None = None,
    ) -> list[Any]:
        """Return the answers of the parts to a message.

        A part that loses its rows too often raises SvmkitError, workers that are gone raise `Gone`.

        Parameters
        ----------
        message, own, change
            As for `Workers.ask`, where `own` is by part.
        parts : sequence of int, optional
            The parts, ascending; by default all that have rows in the problem.
        mend : callable, optional
            Brings parts, given by number, to the state that the message belongs to; it returns the message that they
            then get instead, None for the same message.
        """
        parts = self.parts if parts is None else list(parts)
        if change is not None:
            self.kernel_values += len(change.coef) * int(self.counts[parts].sum())
        given = dict.fromkeys(parts, NOTHING) if own is None else {p: own[p] for p in parts}
        replies = dict(zip(parts, self._ask(message, list(given.values()), change, parts), strict=True))
        for _ in range(PATIENCE):
            behind = [p for p in parts if isinstance(replies[p], Behind)]
            if not behind:
                return [replies[p] for p in parts]
            if mend is None:
                break
            instead = mend(behind)
            message, change = (message, change) if instead is None else (instead, None)
            again = self._ask(message, [given[p] for p in behind], change, behind)
            replies |= dict(zip(behind, again, strict=True))
        lost = self.workers.names[next(p for p in parts if isinstance(replies[p], Behind))]
        raise SvmkitError(f"{lost} loses its rows again and again: look at the memory and the log of its worker")

    def _ask(self, message: Message, own: list[Own], change: Change | None, parts: list[int]) -> list[Any]:
        """Ask the workers, unless it is gone."""
        if self.gone is not None:
            raise self.gone
        try:
            return self.workers.ask(self._problem, message, own, change, parts)
        except Gone as error:
            self.gone = error
            raise

    def bring(self, parts: list[int], weights: Weights, stamp: int) -> None:
        """Bring parts to a state from scratch."""
        change, own = weights
        self.ask(Message("bring", options={"stamp": stamp}), own, change, parts=parts)


def concatenate(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return arrays of several parts as one."""
    return np.concatenate(parts) if parts else np.empty(0)
