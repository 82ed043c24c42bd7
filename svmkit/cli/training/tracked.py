"""The run of the tracker that a command opens, and how it is closed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from svmkit.cli.training.train_options import TrainOptions
from svmkit.data import Dataset
from svmkit.tracking import Tracker, tracker


@contextmanager
def tracked(
    options: TrainOptions, name: str, params: dict[str, Any], tags: dict[str, str], data: Dataset | None = None
) -> Iterator[Tracker]:
    """Open a run for the block and yield its tracker, which logs nothing under --no-track."""
    run = Tracker() if options.no_track else tracker(options.tracking_uri, options.experiment)
    run.start(name, params, tags, data)
    with closing(run):
        yield run


@contextmanager
def closing(run: Tracker) -> Iterator[None]:
    """Close the run at the end of the block as FINISHED, KILLED (Ctrl-C) or FAILED; a closed run stays as it is."""
    status = "FAILED"
    try:
        yield
        status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        raise
    finally:
        run.end(status)
