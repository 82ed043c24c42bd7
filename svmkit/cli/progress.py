"""Progress of a training run on stderr, on a terminal only: iteration, gap, support vectors, rows per second."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from svmkit.cli.common import note
from svmkit.solver.history import HistoryPoint
from svmkit.training.trainer import Watch


@contextmanager
def shown(n_samples: int) -> Iterator[Watch | None]:
    """Yield a `watch` for `svmkit.training.fit` that draws a live line; None when stderr is not a terminal."""
    with live("preparing (the first run compiles)") as show:
        if show is None:
            yield None
            return

        def watch(k: int, n_problems: int, name: str):
            prefix = f"{k + 1}/{n_problems} {name}: " if n_problems > 1 else ""
            return [lambda point: show(prefix + line(point, n_samples))]

        yield watch


@contextmanager
def live(first: str) -> Iterator[Callable[[str], None] | None]:
    """Yield a function that replaces the text `first` of a live line; None when stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(first)
        yield lambda text: bar.update(task, description=text)


def line(point: HistoryPoint, n_samples: int) -> str:
    """Return one history point in words."""
    gap = "?" if point.gap is None else f"{max(point.gap, 0.0):.1e}"
    rate = point.kernel_values / n_samples / max(point.seconds, 1e-9)
    return f"iteration {point.n_iter:,}  gap {gap}  support {point.n_support:,}  {rate:,.0f} rows/s"


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
    return f"{cell.name}: {record['status']}, {gap}, {record['fit_s']:.2f} s, {record['n_support']:,} vectors{tested}"
