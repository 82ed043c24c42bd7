"""What travels between the driver of a crew and the workers of a Dask cluster: calls and replies, as bytes."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from svmkit.errors import InputError, one_line
from svmkit_dask.parts.part import Part
from svmkit_dask.parts.sources import Source
from svmkit_dask.parts.summary import places
from svmkit_dask.worker.answers import Message, Own
from svmkit_dask.worker.features import Features, Space
from svmkit_dask.worker.rows import Portion, Spec


class Origin(NamedTuple):
    """All that a worker has to know to make the portion of a part anew, at any time.

    Attributes
    ----------
    source : Source
        The rows.
    space : Space
        Where the rows of all parts lie.
    classes : ndarray
        The labels of all parts, sorted: the code of a row is the place of its label.
    n_rows : int
        The number of rows that the part had when its facts were learnt.
    share : float
        The part's share of the memory that its worker has for rows.
    """

    source: Source
    space: Space
    classes: np.ndarray
    n_rows: int
    share: float

    def portion(self, part: Part) -> Portion:
        """Return the portion of the part that `source` has made.

        Raises
        ------
        InputError
            The rows are others than before.
        """
        if part.n_rows != self.n_rows:
            raise InputError(f"{self.source.name}: had {self.n_rows} rows and has {part.n_rows}: it was changed")
        codes = places(self.classes, part.answers) if part.n_rows else np.empty(0, dtype=np.int64)
        if (codes < 0).any():
            raise InputError(f"{self.source.name}: holds labels that it did not hold before: it was changed")
        weights = np.ones(part.n_rows) if part.weights is None else part.weights
        return Portion(Features(part, self.space), codes, weights)


class Call(NamedTuple):
    """A message to the parts of one worker.

    Attributes
    ----------
    run : str
        The name of the crew.
    problem : int
        The number of the problem.
    open : tuple of int
        The numbers of the problems that are not closed: the rows of others are forgotten.
    spec : Spec
        The problem.
    message : Message
        What to do.
    own : dict
        For each part, by number, what is for that part only.
    origins : dict
        How parts are made, where the worker is known to lack them.
    change : bytes or None
        The pickled `Change` that is for all parts, where it is small; a large one comes as a task of its own.
    """

    run: str
    problem: int
    open: tuple[int, ...]
    spec: Spec
    message: Message
    own: dict[int, Own]
    origins: Mapping[int, Origin]
    change: bytes | None


class Failure(NamedTuple):
    """What ended the work on a part: a mistake in the input, or any other exception."""

    is_input: bool
    reason: str


class Reply(NamedTuple):
    """What a worker answers to a call.

    Attributes
    ----------
    answers : dict
        The answer of each part, by number; parts that the worker lacks, with no origin given, are left out.
    failures : dict
        The parts at which the work failed; those behind them were not tried.
    seconds : float
        What the worker needed.
    loaded : tuple of int
        The parts that were loaded.
    peak : int
        The most bytes of memory that the process has used so far.
    """

    answers: dict[int, Any]
    failures: dict[int, Failure]
    seconds: float
    loaded: tuple[int, ...]
    peak: int


def failure_of(error: Exception) -> Failure:
    """Return an exception as it travels."""
    if isinstance(error, InputError | OSError):
        return Failure(True, one_line(error))
    return Failure(False, f"{type(error).__name__}: {one_line(error)}")


def packed(what: Any) -> bytes:
    """Return an object as bytes."""
    return pickle.dumps(what, protocol=pickle.HIGHEST_PROTOCOL)


def unpacked(data: bytes) -> Any:
    """Return the object that a process of the same cluster has packed."""
    return pickle.loads(data)
