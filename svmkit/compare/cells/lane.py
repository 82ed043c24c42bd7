"""A lane: one worker process at a time that runs cells, and is replaced when it dies or has to be stopped.

The clock of a cell is that of its worker. A worker that crashes (or that the system kills for its memory) costs one
cell, and so does a worker that exceeds the limit: solvers of other software cannot be stopped from inside.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from svmkit.compare.cells import worker
from svmkit.compare.cells.store import FAILED, TIMEOUT
from svmkit.compare.cells.worker import Job
from svmkit.plugins import files, load
from svmkit.runtime import workers
from svmkit.solver.solution import Status

T = TypeVar("T")

GRACE = 30.0  # seconds beyond the limit for the last step and the certificate
AROUND = 3600.0  # seconds for loading, compiling, predicting, logging
_LOOK = 0.1  # seconds between checks of the interrupt flag
_SOON = 0.001  # seconds between checks of work that another thread does at once


class Stopped(Exception):
    """The user has interrupted the comparison."""


class WorkerLost(Exception):
    """A worker process died; the message says how."""


def _begin(parent: int) -> None:
    """Begin a worker process: bind it to its parent, and let it keep data between the steps of a cell, whatever their
    size. loky would retire a worker that has grown by 300 MB, as a data set and a solver may require.
    """
    from joblib.externals.loky import process_executor

    workers.end_with(parent)
    process_executor._USE_PSUTIL = False


def run_cell(lane: Lane, job: Job) -> dict[str, Any]:
    """Run a cell on a lane and return its record, whatever happens to the worker."""
    cell, limit, bare = job.cell, job.limit, job.bare
    stoppable = not load("solver", cell.settings["solver"]["solver"]).external
    hard = limit + max(GRACE, limit) if stoppable else limit + 1.0
    try:
        lane.call(AROUND, worker.get_ready, cell, files())
        record = lane.call(hard, worker.run, cell, limit, job.curve)
    except NotYet:
        lane.renew()
        return bare | {"status": TIMEOUT, "reason": f"stopped after {hard:.0f} s: it did not end on its own"}
    except WorkerLost as error:
        return worker.failure(bare, str(error))
    except Stopped:
        raise
    except Exception as error:  # raised in the preparation: the data are invalid
        return worker.failure(bare, error)
    if record["status"] == Status.INTERRUPTED:
        raise Stopped
    if record["status"] == FAILED:
        return record
    try:
        record, recorder = lane.call(AROUND, worker.finish, record, cell, job.tracking, patience=GRACE)
        return worker.log(record, recorder, job.tracking) if recorder and job.tracking else record
    except NotYet:
        lane.renew()
        return worker.failure(bare, f"prediction took more than {AROUND:.0f} s")
    except Stopped:
        raise
    except Exception as error:  # without its accuracy a cell is unfinished: the same command runs it again
        return worker.failure(bare, f"prediction or logging failed: {str(error) or type(error).__name__}")


class Lane:
    """One worker process at a time, with its share of the threads, until `flag` is true."""

    def __init__(self, threads: int, flag: Any, idle: float | None = None) -> None:
        self.threads, self.flag = threads, flag
        self.idle = idle  # seconds without a call after which a worker ends; None means never
        self.executor: Any = None
        self._last: Future[Any] | None = None  # the last call of the worker

    def __enter__(self) -> Lane:
        return self

    def __exit__(self, *exc: object) -> None:
        self.renew()

    def renew(self) -> None:
        """Stop the worker, whatever it is doing; the next call gets a new one."""
        if self.executor is not None:
            # a pool that is shut down before it has accepted a call fails in its thread, and leaves the worker
            while self._last is not None and not (self._last.running() or self._last.done()):
                time.sleep(_SOON)
            self.executor.shutdown(wait=True, kill_workers=True)
            self.executor = None

    def start(self) -> None:
        """Start the worker, whose imports proceed in the background."""
        self._submit(worker.wake)

    def _submit(self, function: Callable[..., T], *args: Any) -> Future[T]:
        """Submit a call to the worker, which is started if there is none."""
        if self.executor is None:
            self.executor = self._worker()
        future: Future[T] = self.executor.submit(function, *args)
        self._last = future
        return future

    def call(self, seconds: float, function: Callable[..., T], *args: Any, patience: float = 0.0) -> T:
        """Call a module's function, which the worker imports by name, in the worker, and return its value.

        Raises the exceptions of the function, TimeoutError, WorkerLost, and Stopped after the flag was set.

        Parameters
        ----------
        seconds : float
            The time limit of the call.
        function, *args : callable, object
            The function, and its arguments.
        patience : float, default=0.0
            Seconds from the flag to Stopped, so that a trained model is also measured.
        """
        future = self._submit(function, *args)
        give_up, stop = time.monotonic() + seconds, math.inf
        while True:
            if self.flag:
                stop = min(stop, time.monotonic() + patience)
            if time.monotonic() >= stop:
                self.renew()
                raise Stopped
            try:
                return future.result(timeout=min(_LOOK, max(give_up - time.monotonic(), 0.0)))
            except NotYet:
                if time.monotonic() >= give_up:
                    raise
            except BrokenProcessPool as error:
                self.renew()
                end = time.monotonic() + 5 * _LOOK
                while not self.flag and time.monotonic() < end:  # a signal to the whole group may end the worker first
                    time.sleep(_LOOK)
                if self.flag:
                    raise Stopped from None
                text = " ".join(str(error).split())
                killed = "its process was killed, probably for its memory: give a smaller memory, or fewer rows"
                raise WorkerLost(killed if "SIGKILL" in text else f"its process died: {text[:300]}") from None

    def _worker(self) -> Any:
        from joblib.externals.loky import ProcessPoolExecutor

        names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        return ProcessPoolExecutor(
            max_workers=1,
            timeout=self.idle,
            env=dict.fromkeys(names, str(self.threads)),
            initializer=_begin,
            initargs=(os.getpid(),),
        )
