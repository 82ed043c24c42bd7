"""History of a solve, kept outside the solver, on a clock that stops while others look."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class HistoryPoint(NamedTuple):
    """One row of a history. `gap` is the loop's estimate, None where there is none.

    `accuracy` is on a validation set, None where it was not measured.
    """

    n_iter: int
    seconds: float
    objective: float
    gap: float | None
    n_support: int
    kernel_values: int
    accuracy: float | None = None


class History(list[HistoryPoint]):
    """Points of one solve in order; `columns()` gives them as lists by name, `to_frame()` as a DataFrame."""

    def columns(self) -> dict[str, list]:
        return {name: [getattr(p, name) for p in self] for name in HistoryPoint._fields}

    def to_frame(self) -> pd.DataFrame:
        """One row a point, one column a field of `HistoryPoint`: counts int64, all others float64, None as NaN."""
        import pandas as pd

        counts = {"n_iter", "n_support", "kernel_values"}
        columns = self.columns().items()
        return pd.DataFrame({k: pd.Series(v, dtype="int64" if k in counts else "float64") for k, v in columns})


class Clock:
    """Seconds since it was made, `offset` included, less what was spent inside `stopped()`."""

    def __init__(self, offset: float = 0.0) -> None:
        self._start = time.perf_counter() - offset

    def __call__(self) -> float:
        return time.perf_counter() - self._start

    @contextmanager
    def stopped(self) -> Iterator[None]:
        at = time.perf_counter()
        try:
            yield
        finally:
            self._start += time.perf_counter() - at


class Schedule:
    """When to write a history point: every iteration at first, then each 3% more, and at least twice a second."""

    def __init__(self, n_iter: int = 0) -> None:
        self._next_iter, self._next_time = n_iter + 1, 0.0

    def due(self, n_iter: int, seconds: float) -> bool:
        if n_iter < self._next_iter and seconds < self._next_time:
            return False
        self._next_iter = n_iter + max(1, n_iter // 32)
        self._next_time = seconds + 0.5
        return True
