"""Work in a thread of its own, so that a signal is heeded at any moment, also while worker processes start."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from svmkit.runtime import interrupt

T = TypeVar("T")

LOOK = 0.1  # seconds between two looks at the flag
GRACE = 10.0  # seconds that the work has to end after a signal
LATE = 0.5  # seconds by which a signal may come later than the failure of a worker that it ended


def supervise(work: Callable[[], T], *, stop: Callable[[], None], kill: Callable[[], None] | None) -> T | None:
    """Return what `work` returns, or raise what it raises; None if SIGINT or SIGTERM ended it.

    After the first signal, `stop` asks the work to end and `kill` ends its worker processes; the second one raises
    KeyboardInterrupt. An exception that a handler of signals raises may be lost: in a callback, a finalizer, or where a
    library starts a process. A flag is not.
    """
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:
            failed.append(error)

    def end() -> None:
        stop()
        over = time.monotonic() + GRACE
        while True:  # the work may have been about to start its workers
            if kill is not None:
                kill()
            thread.join(LOOK)
            if not thread.is_alive() or time.monotonic() > over:
                return

    thread = threading.Thread(target=run, daemon=True)
    with interrupt.catching() as flag:
        thread.start()
        try:
            while thread.is_alive() and not flag:
                thread.join(LOOK)
            late = time.monotonic() + LATE
            while failed and not flag and time.monotonic() < late:
                time.sleep(LOOK)
            if flag and not done:
                end()
                return None
        except BaseException:
            end()
            raise
    if failed:
        raise failed[0]
    return done[0]
