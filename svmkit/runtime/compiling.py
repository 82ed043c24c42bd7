"""How long numba compiled: a first run takes seconds for this, later ones load what is compiled."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Compiling:
    """What was compiled since counting began, inner functions as parts of those that call them.

    Attributes
    ----------
    seconds : float
        Seconds of compilation.
    functions : list of str
        The names of the functions, without the inner ones.
    """

    def __init__(self) -> None:
        self.seconds, self.functions = 0.0, list[str]()
        self._began: list[float] = []  # numba compiles in one thread at a time

    def on_start(self, event: Any) -> None:
        """Note when numba begins a function."""
        self._began.append(time.perf_counter())

    def on_end(self, event: Any) -> None:
        """Add the seconds of a function that numba has ended, unless another one has asked for it."""
        began = self._began.pop()
        if not self._began:
            self.seconds += time.perf_counter() - began
            self.functions.append(event.data["dispatcher"].py_func.__name__)


@contextmanager
def counted() -> Iterator[Compiling]:
    """Yield a `Compiling` that counts what numba compiles in the block, in whatever thread."""
    from numba.core import event

    counts = Compiling()
    listener = type("Listener", (event.Listener,), {"on_start": counts.on_start, "on_end": counts.on_end})()
    event.register("numba:compile", listener)
    try:
        yield counts
    finally:
        event.unregister("numba:compile", listener)
