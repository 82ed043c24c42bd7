"""Ctrl-C and SIGTERM as a flag, so that no step is interrupted half-way and the best model so far is returned."""

from __future__ import annotations

import os
import signal
import sys
import threading
from _signal import signal as set_handler  # `signal.signal` makes enumerations of it, which takes as long again
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any


class Flag:
    """A flag that is true once the process has been asked to stop."""

    def __init__(self) -> None:
        self.raised = False

    def __bool__(self) -> bool:
        return self.raised


class Interrupted(KeyboardInterrupt):
    """The exception of a signal. Python ends a process by SIGINT, whatever its exit code, once a KeyboardInterrupt
    itself has left code that was compiled from text, such as that of dataclasses during imports, even if it was caught
    later.
    """


SIGNALS = (signal.SIGINT, signal.SIGTERM)
SOON = 0.01  # seconds after which a destructor or a callback has ended
_flag: Flag | None = None  # flag of the outermost `catching` block, which owns the handlers
_before: dict[signal.Signals, Any] = {}  # the handlers outside that block
_outside: dict[signal.Signals, Any] = {}  # the handlers outside a `command`
_raised = False  # whether KeyboardInterrupt has been raised in the command; a library may have swallowed it
_hook: Any = None  # Python's hook for exceptions that cannot be caught, while ours replaces it
_signum: int = signal.SIGINT  # signal of the last Interrupted
_left = False  # whether this process leaves signals to its parent


def _interrupt(signum: int, frame: FrameType | None) -> None:
    """Raise Interrupted; if Python can only print and discard it, the signal is soon sent again."""
    global _hook, _signum
    if _hook is None:
        _hook = sys.unraisablehook
        sys.unraisablehook = _send_again
    _signum = signum
    raise Interrupted


def _send_again(unraisable: Any) -> None:
    """Send the signal again if its exception cannot be caught; Python's hook for exceptions of destructors, of the
    callbacks of weak references, one of which belongs to every import, and of the collector.
    """
    if not issubclass(unraisable.exc_type, Interrupted):
        (_hook or sys.__unraisablehook__)(unraisable)
        return
    again = threading.Timer(SOON, os.kill, (os.getpid(), _signum))
    again.daemon = True
    again.start()


def leave_to_parent() -> None:
    """Make SIGTERM end this worker process at once, and ignore Ctrl-C, which its parent handles."""
    global _left
    _left = True
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def asked() -> bool:
    """Return whether the process has been asked to stop in an active `catching` block or `command`."""
    return _raised or (_flag is not None and _flag.raised)


def broke_off() -> bool:
    """Return whether a signal has raised KeyboardInterrupt in the `command`, even if it was caught since."""
    return _raised


@contextmanager
def command(*, is_process: bool = False) -> Iterator[None]:
    """Raise KeyboardInterrupt for SIGTERM, as for Ctrl-C, in the block, which is a command of the command line.

    If the command is all that the process does (`is_process`), signals after it are ignored: its results are out, and
    neither the modules' clean-up nor the exit code may be lost.
    """
    global _raised
    if _left or threading.current_thread() is not threading.main_thread():
        yield
        return

    def handler(signum, frame):
        global _raised
        _raised = True
        _interrupt(signum, frame)

    try:
        for signum in SIGNALS:
            _outside[signum] = set_handler(signum, handler)
        yield
    finally:
        if is_process:
            for signum in SIGNALS:
                signal.signal(signum, signal.SIG_IGN)
        else:
            _leave()
        _raised = False


def catching(*, to_end: bool = False) -> AbstractContextManager[Flag]:
    """Turn the first SIGINT or SIGTERM in the block into the flag that is yielded; a second raises KeyboardInterrupt.

    Nested blocks share the flag of the outermost block. With `to_end`, in a `command`, the block lasts until the
    command has ended: later work, such as its report, is protected in the same way. Signals reach the main thread only,
    so that the flag is never set in other threads. A process that is forked inside a block is outside of it: signals
    end it as they would have ended its parent before the block.
    """
    return _Block(to_end)


class _Block:
    """A block of `catching`; a generator would take twice as long, which slows down small fits."""

    def __init__(self, to_end: bool) -> None:
        self.to_end = to_end
        self.flag: Flag | None = None  # that of this block, if it is the outermost one

    def __enter__(self) -> Flag:
        global _flag
        if _flag is not None or _left or threading.current_thread() is not threading.main_thread():
            return Flag() if _flag is None else _flag
        flag = _flag = self.flag = Flag()
        flag.raised = _raised  # by a signal whose KeyboardInterrupt a library has caught: nothing new is begun

        def handler(signum, frame):
            if flag.raised:
                _interrupt(signum, frame)
            flag.raised = True

        try:
            for signum in SIGNALS:
                _before[signum] = set_handler(signum, handler)
        except BaseException:  # a signal between the two
            self.__exit__()
            raise
        return flag

    def __exit__(self, *error: object) -> None:
        if self.flag is not None and _flag is self.flag and not (self.to_end and _outside):
            _end()


def _end() -> None:
    """End the outermost block: forget its flag and restore the handlers."""
    global _flag, _hook
    _flag = None
    _restore(_before)
    if _hook is not None:
        if sys.unraisablehook is _send_again:
            sys.unraisablehook = _hook
        _hook = None


def _leave() -> None:
    """End all blocks, and the command."""
    _end()
    _restore(_outside)


def _restore(handlers: dict[signal.Signals, Any]) -> None:
    while handlers:
        signum, old = handlers.popitem()
        set_handler(signum, old if old is not None else int(signal.SIG_DFL))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave)
