"""Ctrl-C and SIGTERM as a flag, so that no step is interrupted half-way and the best model so far is returned."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Flag:
    """A flag that is true once the process has been asked to stop."""

    def __init__(self) -> None:
        self.raised = False

    def __bool__(self) -> bool:
        return self.raised


_flag: Flag | None = None  # of the outermost `catching` block, which owns the handlers
_before: dict[signal.Signals, Any] = {}  # the handlers outside that block
_left = False  # whether this process leaves signals to its parent


def leave_to_parent() -> None:
    """Let SIGTERM end this worker process at once from now on, and ignore Ctrl-C, which its parent answers."""
    global _left
    _left = True
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def asked() -> bool:
    """Return whether the process has been asked to stop inside a `catching` block that has not ended."""
    return _flag is not None and _flag.raised


@contextmanager
def catching() -> Iterator[Flag]:
    """Turn the first SIGINT or SIGTERM in the block into the flag that is yielded; a second raises KeyboardInterrupt.

    Nested blocks share the flag of the outermost block. Signals reach the main thread only, so that the flag is never
    raised in other threads. A process that is forked inside a block is not in it: signals end it as they would have
    ended its parent before the block.
    """
    global _flag
    if _left or _flag is not None or threading.current_thread() is not threading.main_thread():
        yield _flag if _flag is not None else Flag()
        return
    flag = _flag = Flag()

    def handler(signum, frame):
        if flag.raised:
            raise KeyboardInterrupt
        flag.raised = True

    try:
        for signum in (signal.SIGINT, signal.SIGTERM):
            _before[signum] = signal.signal(signum, handler)
        yield flag
    finally:
        if _flag is flag:
            _end()


def _end() -> None:
    """End the outermost block: forget its flag and restore the handlers."""
    global _flag
    _flag = None
    while _before:
        signum, old = _before.popitem()
        signal.signal(signum, old if old is not None else signal.SIG_DFL)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end)
