"""One problem on a crew: messages to all of its parts, and what brings a part back that has lost its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from svmkit.errors import Gone, SvmkitError
from svmkit_dask.answers import Behind, Message, Own
from svmkit_dask.crew import Crew
from svmkit_dask.rows import Change, Spec

PATIENCE = 20  # times in a row that one part may have lost its rows before they were used
NOTHING = Own()

Weights = tuple[Change, list[Own]]
"""All vectors that have weights, and for each part the positions and the weights of its own."""


class Session:
    """One problem on a crew.

    Parameters
    ----------
    crew : Crew
        Holds the parts.
    spec : Spec
        The problem.

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
    kernel_values : int
        The kernel values that the parts have been asked for.
    gone : Gone or None
        Why the crew answers no more.
    """

    def __init__(self, crew: Crew, spec: Spec) -> None:
        self.crew, self.spec = crew, spec
        self.stamp = self.kernel_values = 0
        self.gone: Gone | None = None
        self.parts = list(range(crew.n_parts))
        self._problem = crew.open(spec)
        counted = self.ask(Message("count"))
        self.counts = np.array([found[:2] for found in counted], dtype=np.int64)
        self.widest = max(found[2] for found in counted)
        errors, sizes, panels = zip(*(found[3] for found in counted), strict=True)
        self.bounds = max(errors), max(sizes), max(panels)
        self.parts = np.flatnonzero(self.counts.sum(axis=1)).tolist()

    @property
    def m(self) -> int:
        """The number of samples."""
        return int(self.counts.sum())

    def close(self) -> None:
        """Let the parts forget their rows."""
        if self.gone is None:
            self.crew.close(self._problem)

    def ask(
        self,
        message: Message,
        own: Sequence[Own] | Mapping[int, Own] | None = None,
        change: Change | None = None,
        *,
        parts: Sequence[int] | None = None,
        mend: Callable[[list[int]], Message | None] | None = None,
    ) -> list[Any]:
        """Send a message to all parts of the problem, or to some, and return their answers.

        Parameters
        ----------
        message : Message
            What to do.
        own : sequence or mapping of Own, optional
            What is for one part only, by the number of the part in the crew.
        change : Change, optional
            What is for all parts.
        parts : sequence of int, optional
            The parts, ascending; by default all that have rows in the problem.
        mend : callable, optional
            Brings parts, given by number, to the state that the message belongs to; it returns the message that they
            then get instead, None for the same message.

        Raises
        ------
        SvmkitError
            A part has lost its rows too often, or the crew gives up; `Gone` if there is no crew any more.
        """
        parts = self.parts if parts is None else list(parts)
        if change is not None:
            self.kernel_values += len(change.coef) * int(self.counts[parts].sum())
        given = dict.fromkeys(parts, NOTHING) if own is None else {p: own[p] for p in parts}
        found = dict(zip(parts, self._ask(message, list(given.values()), change, parts), strict=True))
        for _ in range(PATIENCE):
            behind = [p for p in parts if isinstance(found[p], Behind)]
            if not behind:
                return [found[p] for p in parts]
            if mend is None:
                break
            instead = mend(behind)
            message, change = (message, change) if instead is None else (instead, None)
            again = self._ask(message, [given[p] for p in behind], change, behind)
            found |= dict(zip(behind, again, strict=True))
        lost = self.crew.names[next(p for p in parts if isinstance(found[p], Behind))]
        raise SvmkitError(f"{lost} loses its rows again and again: look at the memory and the log of its worker")

    def _ask(self, message: Message, own: list[Own], change: Change | None, parts: list[int]) -> list[Any]:
        """Ask the crew, unless it is gone."""
        if self.gone is not None:
            raise self.gone
        try:
            return self.crew.ask(self._problem, message, own, change, parts)
        except Gone as error:
            self.gone = error
            raise

    def bring(self, parts: list[int], weights: Weights, stamp: int) -> None:
        """Bring parts to a state from scratch."""
        change, own = weights
        self.ask(Message("bring", options={"stamp": stamp}), own, change, parts=parts)


def joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return arrays of several parts as one."""
    return np.concatenate(parts) if parts else np.empty(0)
