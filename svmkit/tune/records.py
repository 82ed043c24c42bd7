"""Finished folds as files of a scratch folder, through which processes report progress and learn of Ctrl-C."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svmkit.cluster import here
from svmkit.scoring.metric import Metric

TRIES = 100  # attempts to remove a folder, since pending writes may still add a file to it
LOOK = 0.1  # seconds between two looks at the folder: a look at every history point took 8 % of a search

Report = Callable[["Progress"], Any]


@contextmanager
def scratch() -> Iterator[str]:
    """Yield a folder for records that is removed after the block. Threads that have not yet noticed the end of the
    search may still write: into a subfolder that has been renamed by then.
    """
    with tempfile.TemporaryDirectory(prefix="svmkit-tune-") as outer:
        folder, ended = os.path.join(outer, "records"), os.path.join(outer, "ended")
        os.mkdir(folder)
        try:
            yield folder
        finally:
            os.rename(folder, ended)
            for _ in range(TRIES):
                shutil.rmtree(ended, ignore_errors=True)
                if not os.path.exists(ended):
                    break


class Records:
    """A scratch folder of JSON files, one for each path and fold, that several processes of one machine share.

    A search whose fits are all made in its own process needs no folder: "" stands for none.

    scikit-learn's searches return their results only at the end, and only as numbers. On a worker of a cluster, the
    records are sent to the process of the search, which writes them, and the search has ended once the call has. If the
    folder does not exist (Dask or Ray on another machine), nothing is written: only the progress and the reasons of
    failures are lost.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._at = here()
        self._here = bool(folder) and os.path.isdir(folder)
        self._read: dict[str, dict[str, Any]] = {}
        self._next_look, self._stopped = -math.inf, False

    def add(self, record: dict[str, Any]) -> None:
        """Write one record atomically, or send it to the process that does."""
        if self._at is not None:
            self._at.send(record)
            return
        with suppress(OSError):
            handle, part = tempfile.mkstemp(dir=self.folder, suffix=".part")
            with os.fdopen(handle, "w") as out:
                json.dump(record, out)
            os.replace(part, Path(part).with_suffix(".json"))

    def keep(self, record: dict[str, Any]) -> None:
        """Keep a record in the search's own process, without a file, replacing an earlier record of the same fit."""
        self._read[f"kept {record['path']} {record['fold']}"] = record

    def all(self) -> list[dict[str, Any]]:
        """Return all records so far, in no particular order."""
        if self.folder:
            for file in Path(self.folder).glob("*.json"):
                if file.name not in self._read:
                    self._read[file.name] = json.loads(file.read_text())
        return list(self._read.values())

    def stop(self) -> None:
        """Tell all processes of this search to end."""
        self._next_look = -math.inf
        if not self.folder:
            self._stopped = True
            return
        with suppress(OSError):
            (Path(self.folder) / "stop").touch()

    @property
    def stopped(self) -> bool:
        """Return whether the search has ended, as seen at most `LOOK` seconds ago; its folder may be gone by then."""
        if self._at is not None:
            return not self._at.wanted
        if self._here and time.monotonic() >= self._next_look:
            self._stopped = os.path.exists(os.path.join(self.folder, "stop")) or not os.path.isdir(self.folder)
            self._next_look = time.monotonic() + LOOK
        return self._stopped


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


def progress_line(at: Progress, metric: Metric | None = None) -> str:
    """Return the progress of a search in words; None is a metric that is not known yet."""
    if at.fits == 0:
        return "searching (the first run compiles)"
    best = (
        ""
        if math.isnan(at.best)
        else f"  best so far {at.best:.4f}"
        if metric is None
        else f"  best so far {metric.format(at.best)}"
    )
    if at.of is None:
        return f"{at.fits:,} fits{best}"
    left = at.seconds / at.fits * (at.of - at.fits)
    return f"{at.fits:,} of {at.of:,} fits{best}  about {left:,.0f} s left"
