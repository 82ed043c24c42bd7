"""Progress of a training run on stderr, on a terminal only: iteration, gap, support vectors, rows a second."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from svmkit.history import Point
from svmkit.training import Watch


@contextmanager
def shown(n_samples: int) -> Iterator[Watch | None]:
    """A `watch` for `svmkit.training.fit` that draws a live line; None when stderr is no terminal."""
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
    """A function that replaces the text of a live line, `first` at first; None when stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(first)
        yield lambda text: bar.update(task, description=text)


def line(point: Point, n_samples: int) -> str:
    """One history point in words."""
    gap = "?" if point.gap is None else f"{max(point.gap, 0.0):.1e}"
    rate = point.kernel_values / n_samples / max(point.seconds, 1e-9)
    return f"iteration {point.n_iter:,}  gap {gap}  support {point.n_support:,}  {rate:,.0f} rows/s"
