"""Worker processes that end with the process that started them, in any case."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time

from svmkit.runtime import interrupt

LOOK = 0.2  # seconds between two checks of the parent
_PR_SET_PDEATHSIG = 1  # of <sys/prctl.h>


def end_with(parent: int) -> None:
    """Bind this worker process to its parent, given by its id; the initializer of every pool of workers.

    SIGTERM ends the worker at once, whatever it computes, and Ctrl-C is left to the parent. When the parent ends, even
    by SIGKILL, so does the worker: on Linux the kernel ensures it at once, even while compiled code holds the
    interpreter lock, and on other systems a thread checks the parent. The thread that started the worker has to live as
    long as the worker is needed, since the kernel treats the end of this thread as the end of the parent.
    """
    interrupt.leave_to_parent()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the kernel was notified
        os._exit(1)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def may_start_processes() -> None:
    """Allow this process to start processes, even if it is a daemonic one of `multiprocessing`, like workers of Dask.
    The rule prevents orphaned processes, which `end_with` prevents, too.
    """
    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK)
    os._exit(1)
