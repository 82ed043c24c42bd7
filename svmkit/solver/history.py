"""The history of a solve, kept outside the solver, on a clock that stops during evaluation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class HistoryPoint(NamedTuple):
    """One point of a history.

    Attributes
    ----------
    n_iter : int
        Iterations so far.
    seconds : float
        Time in the loop so far, evaluation excluded.
    objective : float
        Objective of the problem at the iterate.
    gap : float or None
        The loop's estimate of the relative gap; None if unknown.
    n_support : int
        Number of non-zero weights.
    kernel_values : int
        Kernel values computed so far.
    accuracy : float or None, default=None
        Accuracy on a validation set; None if it was not measured, and in regression.
    score : float or None, default=None
        Another metric on the validation set; None if none was requested. In regression R2, or the requested one.

    Examples
    --------
    >>> from svmkit.solver import HistoryPoint
    >>> HistoryPoint(10, 0.5, 2.0, 1e-3, 7, 1000).is_measured
    False
    """

    n_iter: int
    seconds: float
    objective: float
    gap: float | None
    n_support: int
    kernel_values: int
    accuracy: float | None = None
    score: float | None = None

    @property
    def is_measured(self) -> bool:
        """Whether the point has measurements on a validation set."""
        return self.accuracy is not None or self.score is not None

    def with_scores(self, answer: float | Measured | None) -> HistoryPoint:
        """Return the point with measurements on a validation set."""
        if isinstance(answer, Measured):
            return self._replace(accuracy=answer.accuracy, score=answer.score)
        return self._replace(accuracy=answer)


class Measured(NamedTuple):
    """The accuracy on a validation set, None in regression, and another metric, None if it is not defined."""

    accuracy: float | None
    score: float | None


class History(list[HistoryPoint]):
    """The points of one solve in order, a list of `HistoryPoint`.

    Examples
    --------
    >>> from svmkit.solver import History, HistoryPoint
    >>> history = History([HistoryPoint(1, 0.1, 5.0, None, 2, 100), HistoryPoint(2, 0.2, 4.0, 1e-3, 3, 200)])
    >>> history.columns()["objective"]
    [5.0, 4.0]
    """

    def columns(self) -> dict[str, list]:
        """Return the points as lists by the names of `HistoryPoint`'s fields."""
        return {name: [getattr(p, name) for p in self] for name in HistoryPoint._fields}

    def to_frame(self) -> pd.DataFrame:
        """Return the points as a table.

        Returns
        -------
        pandas.DataFrame
            A row for each point and a column for each field of `HistoryPoint`. Counts are int64, all other columns
            float64 with NaN for None.
        """
        import pandas as pd

        counts = {"n_iter", "n_support", "kernel_values"}
        columns = self.columns().items()
        return pd.DataFrame({k: pd.Series(v, dtype="int64" if k in counts else "float64") for k, v in columns})


class Clock:
    """A clock; calling it returns `offset` plus the seconds since it was made, time inside `pause()` excluded."""

    def __init__(self, offset: float = 0.0) -> None:
        self._start = self._made = time.perf_counter() - offset

    def __call__(self) -> float:
        return time.perf_counter() - self._start

    def total(self) -> float:
        """Return the seconds since the clock was made, time inside `pause()` included."""
        return time.perf_counter() - self._made

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Stop the clock during a block."""
        at = time.perf_counter()
        try:
            yield
        finally:
            self._start += time.perf_counter() - at


class Schedule:
    """When to write a history point: each iteration at first, then each 3% more, and at least twice a second.

    `n_iter` includes the iterations of the earlier solve that is continued.
    """

    def __init__(self, n_iter: int = 0) -> None:
        self._next_iter, self._next_time = n_iter + 1, 0.0

    def due(self, n_iter: int, seconds: float) -> bool:
        """Return whether a point is due, and if so schedule the next one."""
        if n_iter < self._next_iter and seconds < self._next_time:
            return False
        self._next_iter = n_iter + max(1, n_iter // 32)
        self._next_time = seconds + 0.5
        return True
