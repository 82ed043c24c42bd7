"""One problem on the workers that hold the parts: messages to all of them, and the recovery of parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from svmkit.errors import Gone, SvmkitError
from svmkit_dask.worker.answers import Message, Own, answer
from svmkit_dask.worker.rows import Change, Portion, Rows, Space, Spec

PATIENCE = 20  # consecutive times that one part may lose its rows before they are used


class Workers(ABC):
    """The workers of all parts, `names` in messages; row r of part p has the number offsets[p] + r of all rows."""

    names: list[str]
    offsets: np.ndarray
    space: Space

    @abstractmethod
    def open(self, spec: Spec) -> int:
        """Begin a problem and return its number; parts make their rows on the first request."""

    @abstractmethod
    def close(self, problem: int) -> None:
        """Drop the rows of a problem."""

    def end(self) -> None:  # noqa: B027  of a process there is nothing to end
        """Have the workers drop all parts."""

    @abstractmethod
    def ask(
        self, problem: int, message: Message, own: Sequence[Own], change: Change | None, parts: Sequence[int]
    ) -> list[Any]:
        """Send a message to some parts and return their answers; None for a part that lost its worker: its rows begin
        anew.

        SvmkitError is raised for a part that cannot be recovered within the limits of the workers.

        Parameters
        ----------
        problem, message : int, Message
            The number of the problem, and what to do.
        own, change : sequence of Own, Change or None
            The data for one part only, for each of `parts`, and the large data for all parts.
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
        self._rows = {key: rows for key, rows in self._rows.items() if key[0] != problem}

    def ask(self, problem, message, own, change, parts):
        """Answer a message for some parts in this process; the rows of a part are made on the first request.

        Parameters
        ----------
        problem, message, own, change, parts
            As for `Workers.ask`.
        """
        answers = []
        for p, mine in zip(parts, own, strict=True):
            if (problem, p) not in self._rows:
                self._rows[problem, p] = Rows(self.portions[p], self._specs[problem])
            answers.append(answer(self._rows[problem, p], message, mine, change))
        return answers


class Session:
    """One problem on workers."""

    def __init__(self, workers: Workers, spec: Spec) -> None:
        self.workers, self.spec = workers, spec
        self.stamp = self.kernel_values = 0  # stamp: the state of the parts
        self.gone: Gone | None = None  # why the workers no longer answer
        self.parts = list(range(len(workers.names)))
        self._problem = workers.open(spec)
        counted = self.ask(Message("count"))
        self.counts = np.array([replies[:2] for replies in counted], dtype=np.int64)  # (n_parts, 2): labels +1 and -1
        self.m = int(self.counts.sum())
        self.widest = max(replies[2] for replies in counted)  # the largest k(x, x)
        # the largest error and size of a kernel value, and the panel of the sums
        self.bounds = tuple(max(values) for values in zip(*(replies[3] for replies in counted), strict=True))
        self.parts = np.flatnonzero(self.counts.sum(axis=1)).tolist()  # the parts that have rows in the problem

    def close(self) -> None:
        """Have the parts drop their rows."""
        if self.gone is None:
            self.workers.close(self._problem)

    def ask(
        self,
        message: Message,
        own: Sequence[Own] | Mapping[int, Own] | None = None,
        change: Change | None = None,
        *,
        parts: Sequence[int] | None = None,
        restore: Callable[[list[int]], Any] | None = None,
    ) -> list[Any]:
        """Return the answers of the parts to a message.

        A part that loses its rows too often raises SvmkitError, lost workers raise `Gone`.

        Parameters
        ----------
        message, own, change : Message, sequence of Own or Mapping[int, Own] or None, Change or None
            As for `Workers.ask`, where `own` is by part.
        parts : sequence of int, optional
            The parts, ascending; by default all that have rows in the problem.
        restore : callable, optional
            Brings parts, given by number, to the state of the message; it may return another message for them.
        """
        parts = left = self.parts if parts is None else list(parts)
        if change is not None:
            self.kernel_values += len(change.coef) * int(self.counts[parts].sum())
        own = dict.fromkeys(parts, Own()) if own is None else own
        replies: dict[int, Any] = {}
        for _ in range(PATIENCE):
            if self.gone is not None:
                raise self.gone
            try:
                answers = self.workers.ask(self._problem, message, [own[p] for p in left], change, left)
            except Gone as error:
                self.gone = error
                raise
            replies |= zip(left, answers, strict=True)
            left = [p for p in left if replies[p] is None]
            if not left:
                return [replies[p] for p in parts]
            if restore is None:
                break
            instead = restore(left)
            message, change = (instead, None) if isinstance(instead, Message) else (message, change)
        lost = self.workers.names[left[0]]
        raise SvmkitError(f"{lost} loses its rows again and again: look at the memory and the log of its worker")
