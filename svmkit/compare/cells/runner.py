"""The cells of a comparison: parallel lanes of worker processes, or the workers of a cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from svmkit.cluster import Cluster
from svmkit.compare.cells.lane import Lane, Stopped, run_cell
from svmkit.compare.cells.store import Store
from svmkit.compare.cells.worker import CellCallback, Job, Tracking
from svmkit.compare.plan.spec import Cell
from svmkit.errors import InputError, SvmkitError
from svmkit.runtime import interrupt
from svmkit.runtime.threads import cores


class _Queue:
    """The remaining cells, which lanes take in parallel, and the only place where their records are stored.

    Attributes
    ----------
    failure : SvmkitError or None
        Why a lane failed; the other lanes then stop.
    """

    def __init__(
        self,
        todo: list[Cell],
        store: Store,
        callbacks: Sequence[CellCallback],
        tracking: Tracking | Callable[[], Tracking | None] | None,
    ) -> None:
        self.failure: SvmkitError | None = None
        self._todo, self._store, self._callbacks, self._tracking = todo, store, callbacks, tracking
        self._lock, self._opening = threading.Lock(), threading.Lock()
        self._places: list[Tracking | None] = []

    def __len__(self) -> int:
        return len(self._todo)

    def place(self) -> Tracking | None:
        """Return where cells are logged; it is opened by the first call."""
        with self._opening:
            if not self._places:
                self._places.append(self._tracking() if callable(self._tracking) else self._tracking)
            return self._places[0]

    def take(self, data: Any) -> Cell | None:
        """Take the next cell on the data that a lane has loaded, else the first cell; None if none remains."""
        with self._lock:
            if not self._todo:
                return None
            cell = next((cell for cell in self._todo if cell.settings["data"] == data), self._todo[0])
            self._todo.remove(cell)
            return cell

    def report(self, cell: Cell, record: dict[str, Any] | None) -> None:
        """Store the record of a cell, None at its start, and call the callbacks."""
        with self._lock:
            if record is not None:
                self._store.add(record)
            for callback in self._callbacks:
                callback(cell, record)


def _run_lane(queue: _Queue, threads: int, limit: float, curve: bool, flag: interrupt.Flag) -> None:
    """Run cells of the queue in a separate process, one after the other, until none remains."""
    with Lane(threads, flag) as lane:
        if len(queue):
            lane.start()
        data, where = None, queue.place()
        while not flag and queue.failure is None and (cell := queue.take(data)) is not None:
            data = cell.settings["data"]
            try:
                queue.report(cell, None)
                queue.report(cell, run_cell(lane, Job(cell, limit, curve, where)))
            except Stopped:
                return
            except SvmkitError as error:
                queue.failure = queue.failure or error
                return


def run(
    cells: Sequence[Cell],
    store: Store,
    *,
    limit: float,
    jobs: int = 1,
    threads: int | None = None,
    curve: bool = True,
    tracking: Tracking | Callable[[], Tracking | None] | None = None,
    callbacks: Sequence[CellCallback] = (),
    cluster: Cluster | None = None,
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
        The number of parallel lanes.
    threads : int, default=None
        Threads of all lanes together; None is all cores.
    curve : bool, default=True
        Whether to measure test accuracy as models grow, outside measured time.
    tracking : Tracking or callable, default=None
        Where cells are logged; None logs nothing. A callable that returns it is called once, while workers start.
    callbacks : sequence of callable, default=()
        Called when a cell begins and when it has ended (see `CellCallback`).
    cluster : Cluster, default=None
        Run the cells on its workers, one at a time on each, with the worker's threads, instead of `jobs` local lanes.

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
    ClusterLost
        The cluster is gone; finished cells are in the store.

    Examples
    --------
    >>> from svmkit.compare import Store, run
    >>> run([], Store("finished.jsonl"), limit=30.0)
    True
    """
    from joblib import Parallel, delayed

    total = threads or cores()
    if cluster is None and not 1 <= jobs <= total:
        raise InputError(f"--jobs must be between 1 and the {total} threads that there are, not {jobs}")
    todo = [cell for cell in cells if not store.has(cell, limit)]
    queue = _Queue(todo, store, callbacks, tracking)
    with interrupt.catching() as flag:
        if cluster is not None:
            from svmkit.compare.cells.remote import run_on  # here: it is needed only with a cluster

            where = queue.place()
            run_on(cluster, [Job(cell, limit, curve, where) for cell in todo], queue.report, flag)
            return not flag
        lanes = min(jobs, max(len(todo), 1))
        shares = [total // jobs + (k < total % jobs) for k in range(lanes)]
        Parallel(n_jobs=lanes, backend="threading")(
            delayed(_run_lane)(queue, share, limit, curve, flag) for share in shares
        )
    if queue.failure is not None:
        raise queue.failure
    return not flag
