"""Cells in worker processes: each lane keeps one worker, and replaces it when it dies or has to be stopped.

The clock of a cell is that of its worker. A worker that crashes (or that the system kills for its memory) costs one
cell, and so does a worker that exceeds the limit: solvers of other software cannot be stopped from inside.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import Any, TypeVar

from svmkit.compare import worker
from svmkit.compare.spec import Cell
from svmkit.compare.store import FAILED, TIMEOUT, Store, names
from svmkit.compare.worker import Tracking
from svmkit.errors import InputError, SvmkitError
from svmkit.plugins import load
from svmkit.runtime import interrupt, workers
from svmkit.runtime.threads import cores
from svmkit.solver.solution import Status

T = TypeVar("T")
Told = Callable[[Cell, dict[str, Any] | None], None]
"""Called with a cell and None when it begins, and with its record when it has ended; from any thread, one at a time."""

GRACE = 30.0  # seconds beyond the limit for the last step and the certificate
AROUND = 3600.0  # seconds for loading, compiling, predicting, logging
_LOOK = 0.1  # seconds between looks at the interrupt flag


class Stopped(Exception):
    """The user has interrupted the comparison."""


class WorkerLost(Exception):
    """A worker process died; the message says how."""


def run(
    cells: Sequence[Cell],
    store: Store,
    *,
    limit: float,
    jobs: int = 1,
    threads: int | None = None,
    curve: bool = True,
    tracking: Tracking | None = None,
    told: Told | None = None,
) -> bool:
    """Run the cells that the store does not have, and add their records to it.

    Parameters
    ----------
    cells : sequence of Cell
        The cells of the comparison.
    store : Store
        The finished cells.
    limit : float
        Seconds of fitting for one cell.
    jobs : int, default=1
        Lanes side by side.
    threads : int, default=None
        Threads of all lanes together; None is all cores.
    curve : bool, default=True
        Measure test accuracy as models grow, off the clock.
    tracking : Tracking, default=None
        Where cells are logged; None logs nothing.
    told : callable, default=None
        Called when a cell begins and when it has ended (see `Told`).

    Returns
    -------
    bool
        False if the user interrupted; running cells are dropped, and finished cells are in the store.

    Raises
    ------
    InputError
        There are more jobs than threads.
    SvmkitError
        A lane failed.
    """
    from joblib import Parallel, delayed

    total = threads or cores()
    if not 1 <= jobs <= total:
        raise InputError(f"--jobs must be between 1 and the {total} threads that there are, not {jobs}")
    todo = deque(cell for cell in cells if not store.has(cell, limit))
    lock = threading.Lock()
    failure: list[SvmkitError] = []

    def tell(cell: Cell, record: dict[str, Any] | None) -> None:
        with lock:
            if record is not None:
                store.add(record)
            if told is not None:
                told(cell, record)

    def lane(first: int) -> None:
        with Lane(total // jobs + (first < total % jobs), flag) as at:
            data = None
            while not flag and not failure:
                with lock:
                    cell = _next(todo, data)
                if cell is None:
                    return
                data = cell.settings["data"]
                try:
                    tell(cell, None)
                    tell(cell, _measured(at, cell, limit, curve, tracking))
                except Stopped:
                    return
                except SvmkitError as error:
                    failure.append(error)
                    return

    with interrupt.catching() as flag:
        lanes = min(jobs, max(len(todo), 1))
        Parallel(n_jobs=lanes, backend="threading")(delayed(lane)(k) for k in range(lanes))
    if failure:
        raise failure[0]
    return not flag


def _next(todo: deque[Cell], data: Any) -> Cell | None:
    """Return the next cell on the data that a lane has loaded, else the first cell."""
    if not todo:
        return None
    found = next((cell for cell in todo if cell.settings["data"] == data), todo[0])
    todo.remove(found)
    return found


def _measured(lane: Lane, cell: Cell, limit: float, curve: bool, tracking: Tracking | None) -> dict[str, Any]:
    """Run a cell and return its record, whatever happens to the worker."""
    bare = names(cell) | {"time_limit": limit, "settings": cell.settings}
    stoppable = not load("solver", cell.settings["solver"]["solver"]).external
    hard = limit + max(GRACE, limit) if stoppable else limit + 1.0
    try:
        lane.call(AROUND, worker.get_ready, cell)
        record = lane.call(hard, worker.run, cell, limit, curve)
    except NotYet:
        lane.renew()
        return bare | {"status": TIMEOUT, "reason": f"stopped after {hard:.0f} s: it did not end on its own"}
    except WorkerLost as error:
        return worker.failed(bare, str(error))
    except Stopped:
        raise
    except Exception as error:  # raised in the preparation: the data cannot be used
        return worker.failed(bare, error)
    if record["status"] == Status.INTERRUPTED:
        raise Stopped
    if record["status"] == FAILED:
        return record
    try:
        return lane.call(AROUND, worker.finish, record, cell, tracking)
    except NotYet:
        lane.renew()
        reason = f"prediction and logging took more than {AROUND:.0f} s"
    except Stopped:
        raise
    except Exception as error:
        reason = f"prediction or logging failed: {' '.join(str(error).split()) or type(error).__name__}"
    return record | {"notes": [*record.get("notes", []), reason]}


class Lane:
    """One worker process at a time, with its share of the threads.

    Parameters
    ----------
    threads : int
        Threads of the worker.
    flag : object
        True once the user has interrupted.
    """

    def __init__(self, threads: int, flag: Any) -> None:
        self.threads, self.flag = threads, flag
        self.executor: Any = None

    def __enter__(self) -> Lane:
        return self

    def __exit__(self, *exc: object) -> None:
        self.renew()

    def renew(self) -> None:
        """Stop the worker, whatever it is doing; the next call gets a new one."""
        if self.executor is not None:
            self.executor.shutdown(wait=True, kill_workers=True)
            self.executor = None

    def call(self, seconds: float, function: Callable[..., T], *args: Any) -> T:
        """Call a function in the worker.

        Parameters
        ----------
        seconds : float
            Time limit of the call.
        function : callable
            A function of a module, which the worker imports by name.
        *args : object
            Its arguments.

        Returns
        -------
        object
            The value that the function returns.

        Raises
        ------
        TimeoutError
            The call took more than `seconds`.
        WorkerLost
            The process died.
        Stopped
            The user has interrupted.
        Exception
            Any that the function itself raises.
        """
        if self.executor is None:
            self.executor = self._worker()
        future: Future[T] = self.executor.submit(function, *args)
        give_up = time.monotonic() + seconds
        while True:
            if self.flag:
                self.renew()
                raise Stopped
            try:
                return future.result(timeout=min(_LOOK, max(give_up - time.monotonic(), 0.0)))
            except NotYet:
                if time.monotonic() >= give_up:
                    raise
            except Exception as error:
                if not _is_loss(error):
                    raise
                self.renew()
                if self._is_stopping():
                    raise Stopped from None
                raise WorkerLost(_how(error)) from None

    def _is_stopping(self) -> bool:
        """Whether the user interrupts: a signal to all processes of the group may end the worker first."""
        end = time.monotonic() + 5 * _LOOK
        while not self.flag and time.monotonic() < end:
            time.sleep(_LOOK)
        return bool(self.flag)

    def _worker(self) -> Any:
        from joblib.externals.loky import ProcessPoolExecutor

        share = str(self.threads)
        names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        return ProcessPoolExecutor(
            max_workers=1, env=dict.fromkeys(names, share), initializer=workers.end_with, initargs=(os.getpid(),)
        )


def _is_loss(error: Exception) -> bool:
    from concurrent.futures.process import BrokenProcessPool

    return isinstance(error, BrokenProcessPool)


def _how(error: Exception) -> str:
    text = " ".join(str(error).split())
    if "SIGKILL" in text:
        return "its process was killed, probably for its memory: give a smaller memory, or fewer rows"
    return f"its process died: {text[:300]}"
