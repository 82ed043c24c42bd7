"""Progress of a training run on stderr, on a terminal only: iteration, gap, support vectors, rows per second."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from svmkit.cli.common import note
from svmkit.runtime.progress import live
from svmkit.training.callbacks import Display


@contextmanager
def training_line(n_samples: int, about: str = "") -> Iterator[Display | None]:
    """Yield callbacks of a training that draw a live line; None when stderr is not a terminal.

    What is said `about` the run stands at the end of the line.
    """
    with live("preparing (the first run compiles)") as show:
        behind = f"  {about}" if about else ""
        yield None if show is None else Display(lambda text: show(text + behind), n_samples)


@contextmanager
def cells_shown(todo: int) -> Iterator[Callable[[Any, dict[str, Any] | None], None]]:
    """Yield a `told` for `svmkit.compare.run`: a line for each cell and, on a terminal, a bar with the time left."""
    if not (sys.stderr.isatty() and todo):
        yield lambda cell, record: None if record is None else note(cell_line(cell, record))
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
               TextColumn("{task.description}", markup=False))  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task, under_way = bar.add_task("loading, compiling", total=todo), []

        def told(cell: Any, record: dict[str, Any] | None) -> None:
            if record is None:
                under_way.append(cell.name)
            else:
                under_way.remove(cell.name)
                bar.console.print(cell_line(cell, record), highlight=False, markup=False)
                bar.advance(task)
            bar.update(task, description=", ".join(under_way))

        yield told


def cell_line(cell: Any, record: dict[str, Any]) -> str:
    """Return a finished cell of a comparison in words."""
    if "fit_s" not in record:
        return f"{cell.name}: {record['status']}: {record['reason']}"
    gap = "gap not known" if record["gap"] is None else f"gap {record['gap']:.1e}"
    tested = "" if record["test_accuracy"] is None else f", {record['test_accuracy']:.2%}"
    tested += "" if record.get("test_r2") is None else f", R2 {record['test_r2']:.4f}"
    return f"{cell.name}: {record['status']}, {gap}, {record['fit_s']:.2f} s, {record['n_support']:,} vectors{tested}"
