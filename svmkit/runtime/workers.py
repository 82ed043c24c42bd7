"""Worker processes that end with the process that started them, however that one ends."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time

from svmkit.runtime import interrupt

LOOK = 0.2  # seconds between two looks at the parent
_PR_SET_PDEATHSIG = 1  # of <sys/prctl.h>


def end_with(parent: int) -> None:
    """Bind this worker process to its parent, given by its id; the initializer of every pool of workers.

    SIGTERM ends the worker at once, whatever it computes, and Ctrl-C is left to the parent. When the parent ends, by
    SIGKILL too, so does the worker: the kernel of Linux sees to it at once, even while compiled code holds Python's
    lock, and on other systems a thread that looks at the parent. The thread that started the worker has to live as long
    as it is needed, since the kernel counts the end of this thread as the end of the parent.
    """
    interrupt.leave_to_parent()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the kernel was asked
        os._exit(1)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def may_start_processes() -> None:
    """Let this process start processes, though it is a daemonic one of `multiprocessing`, as workers of Dask are. The
    rule keeps processes from being orphaned, which `end_with` sees to.
    """
    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK)
    os._exit(1)
