"""One live line: rich's on a terminal, a widget in a notebook, and occasional plain lines elsewhere."""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from svmkit.runtime.terminal import console, shows_progress, visible

Show = Callable[[str], None]
"""Replaces the text of a live line."""

FIRST, LONGEST = 2.0, 60.0  # seconds before the first plain line, and at most between two
PER_SECOND = 4  # updates of a live line per second
_drawing = threading.Lock()  # a terminal has one live line; if it is taken, plain lines are written


def is_notebook() -> bool:
    """Return whether the program runs in a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell" or "google.colab" in str(type(shell))


def say(line: str) -> None:
    """Write a line that stays, in one piece, on stderr or below a notebook's cell."""
    stream = sys.stdout if is_notebook() else sys.stderr
    stream.write(visible(line) + "\n")
    stream.flush()


@contextmanager
def live(first: str, *, delay: float = 0.0, lines: bool = False) -> Iterator[Show | None]:
    """Yield a function that replaces the text of a live line, which vanishes at the end.

    The line appears after `delay` seconds: work that is finished by then shows none, and costs nothing. If no line can
    be live, `lines` requests plain ones at growing intervals; otherwise None is yielded. A live line is possible on a
    terminal or in a notebook with widgets, not in a worker process.
    """
    shows = find_spec("ipywidgets") is not None if is_notebook() else shows_progress()
    main = multiprocessing.current_process().name == "MainProcess"
    if not (main and shows and _drawing.acquire(blocking=False)):
        yield _Lines() if lines else None
        return
    try:
        line = _Live(first)
        timer = threading.Timer(delay, line.open)
        timer.daemon = True
        if delay > 0.0:
            timer.start()
        else:
            line.open()
        try:
            yield line
        finally:
            timer.cancel()
            line.close()
    finally:
        _drawing.release()


class _Live:
    """A line of rich, which may not have been drawn yet."""

    def __init__(self, first: str) -> None:
        self.text, self.bar, self.task = first, None, 0
        self._closed, self._lock = False, threading.Lock()

    def open(self) -> None:
        """Draw the line, unless it is closed already."""
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        with self._lock:
            if self._closed:
                return
            bar: Any = Progress(
                *columns, console=console(stderr=not is_notebook()), transient=True, refresh_per_second=PER_SECOND
            )
            self.task = bar.add_task(self.text)
            bar.start()
            self.bar = bar

    def __call__(self, text: str) -> None:
        self.text = text
        if self.bar is not None:
            self.bar.update(self.task, description=text)

    def close(self) -> None:
        """Remove the line."""
        with self._lock:
            self._closed = True
            if self.bar is not None:
                self.bar.stop()


class _Lines:
    """Plain lines, each at twice the time of the previous one."""

    def __init__(self) -> None:
        self._begun, self._next = time.monotonic(), FIRST

    def __call__(self, text: str) -> None:
        passed = time.monotonic() - self._begun
        if passed >= self._next:
            self._next = passed + min(passed, LONGEST)
            say(text)
