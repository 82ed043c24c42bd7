"""Worker processes on this machine, which end with the process that started them; they preload this module."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from typing import Any

from distributed import LocalCluster

from svmkit.errors import SvmkitError, one_line
from svmkit.runtime import workers

START = 120.0  # seconds that the processes have to begin on a busy machine
LOOK = 0.1


def start(n: int, memory: str | int | None) -> LocalCluster:
    """Start a scheduler in this process, and worker processes of one thread each.

    Parameters
    ----------
    n : int
        The number of processes.
    memory : str or int or None
        The limit on the memory of each; None sets no limit.

    Raises
    ------
    SvmkitError
        They could not be started.
    """
    made: list[LocalCluster] = []
    failed: list[BaseException] = []

    def make() -> None:
        # threads and processes inherit the mask: Ctrl-C is answered by the main thread of this process alone
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            made.append(
                LocalCluster(
                    n_workers=n,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address=None,
                    scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # else it wants port 8787 all the same
                    silence_logs=logging.CRITICAL,
                    memory_limit=memory or 0,
                    preload=[__name__],
                )
            )
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=make, daemon=True)
    thread.start()
    give_up = time.monotonic() + START
    while thread.is_alive() and time.monotonic() < give_up:  # so that signals are heeded
        thread.join(LOOK)
    if failed:
        raise SvmkitError(f"scheduler local:{n}: the workers could not be started: {one_line(failed[0])}") from None
    if not made:
        raise SvmkitError(f"scheduler local:{n}: the workers did not start within {START:.0f} s")
    return made[0]


async def dask_setup(worker: Any) -> None:
    """Bind a worker process to the process that started it; Dask calls it in the worker."""
    workers.end_with(os.getppid())
