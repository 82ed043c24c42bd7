"""Ctrl-C and SIGTERM as a flag, so that no step is interrupted half-way and the best model so far is returned."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Flag:
    """A flag that is true once the process has been asked to stop."""

    def __init__(self) -> None:
        self.raised = False

    def __bool__(self) -> bool:
        return self.raised


_flag: Flag | None = None  # of the outermost `catching` block, which owns the handlers


@contextmanager
def catching() -> Iterator[Flag]:
    """Turn the first SIGINT or SIGTERM inside the block into a flag; a second one raises KeyboardInterrupt.

    Yields
    ------
    Flag
        The flag. Nested blocks share the flag of the outermost block. Signals reach the main thread only, so that the
        flag is never raised in other threads.
    """
    global _flag
    if _flag is not None or threading.current_thread() is not threading.main_thread():
        yield _flag if _flag is not None else Flag()
        return
    flag = _flag = Flag()
    before = {}

    def handler(signum, frame):
        if flag.raised:
            raise KeyboardInterrupt
        flag.raised = True

    try:
        for signum in (signal.SIGINT, signal.SIGTERM):
            before[signum] = signal.signal(signum, handler)
        yield flag
    finally:
        _flag = None
        for signum, old in before.items():
            signal.signal(signum, old if old is not None else signal.SIG_DFL)
