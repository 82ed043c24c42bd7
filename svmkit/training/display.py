"""What is shown of a training under way: the iteration, gap and support vectors of a solve, and how it ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from svmkit.errors import InputError
from svmkit.runtime import progress
from svmkit.solver.history import HistoryPoint
from svmkit.solver.loop.recorder import Callback

PAUSE = 0.1  # seconds between two texts
DELAY = 0.5  # seconds after which a live line appears


class Display:
    """A `watch` of `svmkit.fit` that only looks: training takes the same course with it as without.

    Parameters
    ----------
    show : callable
        Shows a text.
    n_samples : int, default=0
        The number of training samples, for the rate of kernel rows; 0 leaves the rate out.
    """

    def __init__(self, show: Callable[[str], Any], n_samples: int = 0) -> None:
        self.n_samples = n_samples
        self._show, self._next, self._done, self._lock = show, 0.0, 0, threading.Lock()

    def __call__(self, k: int, n_problems: int, name: str) -> list[Callback]:
        prefix = f"{k + 1:,}/{n_problems:,} {name}: " if n_problems > 1 else ""

        def look(point: HistoryPoint) -> None:
            now = time.monotonic()
            if now >= self._next:
                self._next = now + PAUSE
                self._show(prefix + line(point, self.n_samples))

        look.patient = True  # type: ignore[attr-defined]
        return [look]

    def done(self, some: int, n_problems: int) -> None:
        """Say that some more of the class pairs are trained that run many at a time."""
        with self._lock:
            self._done += some
            self._show(f"{self._done:,}/{n_problems:,} problems")


def line(point: HistoryPoint, n_samples: int) -> str:
    """Return one history point in words."""
    gap = "?" if point.gap is None else f"{max(point.gap, 0.0):.1e}"
    rate = point.kernel_values / max(n_samples, 1) / max(point.seconds, 1e-9)
    text = f"iteration {point.n_iter:,}  gap {gap}  support {point.n_support:,}"
    return f"{text}  {rate:,.0f} rows/s" if n_samples else text


@contextmanager
def displayed(verbose: Any) -> Iterator[Display | None]:
    """Yield a display on stderr or in a notebook; None for `verbose=0`.

    Raises
    ------
    InputError
        `verbose` is no whole number >= 0.
    """
    if isinstance(verbose, float | str) or not (hasattr(verbose, "__index__") and verbose >= 0):
        raise InputError(f"verbose must be 0 (silent) or 1 (progress on stderr), not {verbose!r}")
    if not verbose:
        yield None
        return
    with progress.live("preparing (the first run compiles)", delay=DELAY, lines=True) as show:
        assert show is not None
        yield Display(lambda text: show(f"svmkit: {text}"))


def tell_end(solver: str, status: Any, n_iter: int, gap: float | None, n_support: int, seconds: float) -> None:
    """Write how a training ended, as the line that stays."""
    certified = "no gap" if gap is None else f"gap {gap:.1e}"
    progress.say(
        f"svmkit: {solver} {status}: {n_iter:,} iterations, {certified}, {n_support:,} vectors, {seconds:.2f} s"
    )
