"""The progress of a search, reported while it runs."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from svmkit.tune.records import Records
from svmkit.tune.result import from_records

Report = Callable[["Progress"], Any]
LOOK = 0.3  # seconds between two looks at the finished folds


@dataclass(frozen=True)
class Progress:
    """The progress of a search.

    Attributes
    ----------
    fits : int
        The number of models trained so far.
    of : int or None
        The number of models of the whole search; None if it is unknown (halving).
    seconds : float
        Time since the search began.
    best : float
        The highest mean of the metric so far; nan before the first.

    Examples
    --------
    >>> from svmkit.tune import Progress
    >>> Progress(fits=3, of=15, seconds=1.5, best=0.95).of
    15
    """

    fits: int
    of: int | None
    seconds: float
    best: float


@contextmanager
def watch(records: Records, cv: int, n_fits: int | None, report: Report | None) -> Iterator[None]:
    """Start a thread that calls `report` with the progress while the block runs."""
    if report is None:
        yield
        return
    over, began = threading.Event(), time.perf_counter()

    def look() -> None:
        while not over.wait(LOOK):
            done = records.all()
            means = [fact.mean() for t in from_records(done, cv) for k, fact in t.scores.items() if k == "score"]
            known = [mean for mean in means if not math.isnan(mean)]
            fits, seconds = sum(record["n_fits"] for record in done), time.perf_counter() - began
            report(Progress(fits, n_fits, seconds, max(known, default=math.nan)))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
