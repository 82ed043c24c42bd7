"""Callbacks: the interface that a training calls, and the callbacks that show its progress."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, ClassVar

from svmkit.errors import InputError
from svmkit.model.model import SVMModel
from svmkit.runtime import progress
from svmkit.solver.history import HistoryPoint
from svmkit.solver.loop.recorder import Callback
from svmkit.training.result import Fit

PAUSE = 0.1  # seconds between two updates of the text
DELAY = 0.5  # seconds after which a live line appears


MakeModel = Callable[[], SVMModel]
"""Makes the model of an iterate; of several subproblems, with the current solutions of the others."""

BeforeSolve = Callable[[int, int, str], Sequence[Callback]]
"""Called with (k, number of subproblems, "a vs b") before subproblem k; returns the callbacks of its solve."""


class Callbacks:
    """The calls that a training makes. This class ignores them; derived classes override the methods."""

    passive: bool = True  # it only observes: training is the same without it, and problems may run in parallel
    sees_models: ClassVar[bool] = False  # whether `on_iterate` and `on_end` are to be called

    def on_begin(self, k: int, n_problems: int, name: str) -> Sequence[Callback]:
        """Note that a subproblem begins; return the callbacks of its solve.

        Parameters
        ----------
        k, n_problems, name : int, int, str
            The number of the subproblem, from 0, that of all of them, and its name, such as "a vs b".
        """
        return ()

    def on_trained(self, some: int, n_problems: int) -> None:
        """Note that `some` more subproblems have been trained, of those that are trained many at a time."""

    def on_iterate(self, make_model: MakeModel) -> None:
        """Look at an iterate of the subproblem that began last; the model can be made until this returns.

        It is called off the clock, each time the iterations have grown by a fifth.
        """

    def on_end(self, make_model: MakeModel) -> None:
        """Note that the subproblem that began last has ended, with this model."""


def as_callbacks(given: Callbacks | BeforeSolve | None) -> Callbacks:
    """Return callbacks; a function becomes callbacks that call it before each subproblem, and that may stop a solve."""
    if isinstance(given, Callbacks):
        return given
    callbacks = Callbacks()
    if given is not None:
        callbacks.passive, callbacks.on_begin = False, given  # type: ignore[method-assign, assignment]
    return callbacks


class Display(Callbacks):
    """Callbacks that `show` the progress of a training, with the rate of kernel rows if `n_samples` is known."""

    def __init__(self, show: Callable[[str], Any], n_samples: int = 0) -> None:
        self.n_samples = n_samples
        self._show, self._next, self._done, self._lock = show, 0.0, 0, threading.Lock()

    def on_begin(self, k: int, n_problems: int, name: str) -> list[Callback]:
        """Return a callback that shows the history points of a subproblem, at most one every `PAUSE` seconds.

        Parameters
        ----------
        k, n_problems, name : int, int, str
            As for `Callbacks.on_begin`.
        """
        prefix = f"{k + 1:,}/{n_problems:,} {name}: " if n_problems > 1 else ""

        def look(point: HistoryPoint) -> None:
            now = time.monotonic()
            if now >= self._next:
                self._next = now + PAUSE
                self._show(prefix + line(point, self.n_samples))

        look.patient = True  # type: ignore[attr-defined]
        return [look]

    def on_trained(self, some: int, n_problems: int) -> None:
        with self._lock:
            self._done += some
            self._show(f"{self._done:,}/{n_problems:,} problems")


def line(point: HistoryPoint, n_samples: int) -> str:
    """Return one history point as text."""
    gap = "?" if point.gap is None else f"{max(point.gap, 0.0):.1e}"
    rate = point.kernel_values / max(n_samples, 1) / max(point.seconds, 1e-9)
    text = f"iteration {point.n_iter:,}  gap {gap}  support {point.n_support:,}"
    return f"{text}  {rate:,.0f} rows/s" if n_samples else text


def make_display(verbose: Any) -> AbstractContextManager[Display | None]:
    """Yield a display on stderr or in a notebook, None for `verbose=0`; raise InputError for no whole number >= 0."""
    if isinstance(verbose, float | str) or not (hasattr(verbose, "__index__") and verbose >= 0):
        raise InputError(f"verbose must be 0 (silent) or 1 (progress on stderr), not {verbose!r}")
    return _open_display() if verbose else nullcontext()


@contextmanager
def _open_display() -> Iterator[Display]:
    with progress.live("preparing (the first run compiles)", delay=DELAY, lines=True) as show:
        assert show is not None
        yield Display(lambda text: show(f"svmkit: {text}"))


def write_end(fitted: Fit) -> None:
    """Write the final line about a training."""
    certified = "no gap" if fitted.gap is None else f"gap {fitted.gap:.1e}"
    progress.say(
        f"svmkit: {fitted.model.about['solver']} {fitted.status}: {fitted.n_iter:,} iterations, {certified}, "
        f"{len(fitted.support):,} vectors, {fitted.seconds:.2f} s"
    )
