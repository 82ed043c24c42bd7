"""The cells of a comparison: lanes of worker processes beside one another, or the workers of a cluster."""

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
        Lanes side by side.
    threads : int, default=None
        Threads of all lanes together; None is all cores.
    curve : bool, default=True
        Measure test accuracy as models grow, off the clock.
    tracking : Tracking or callable, default=None
        Where cells are logged; None logs nothing. A callable that returns it is called once, while workers start.
    callbacks : sequence of callable, default=()
        Called when a cell begins and when it has ended (see `CellCallback`).
    cluster : Cluster, default=None
        Run the cells on its workers, one at a time on each, with the worker's threads, in place of `jobs` lanes here.

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
        The cluster has gone away; finished cells are in the store.

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
    lock, opening = threading.Lock(), threading.Lock()
    failure: list[SvmkitError] = []
    places: list[Tracking | None] = []  # where cells are logged, once that is known

    def place() -> Tracking | None:
        with opening:
            if not places:
                places.append(tracking() if callable(tracking) else tracking)
            return places[0]

    def tell(cell: Cell, record: dict[str, Any] | None) -> None:
        with lock:
            if record is not None:
                store.add(record)
            for callback in callbacks:
                callback(cell, record)

    def lane(first: int) -> None:
        with Lane(total // jobs + (first < total % jobs), flag) as at:
            if todo:
                at.start()
            data, where = None, place()
            while not flag and not failure:
                with lock:
                    if not todo:
                        return
                    # the next cell on the data that the lane has loaded, else the first cell
                    cell = next((cell for cell in todo if cell.settings["data"] == data), todo[0])
                    todo.remove(cell)
                data = cell.settings["data"]
                try:
                    tell(cell, None)
                    tell(cell, run_cell(at, Job(cell, limit, curve, where)))
                except Stopped:
                    return
                except SvmkitError as error:
                    failure.append(error)
                    return

    with interrupt.catching() as flag:
        if cluster is not None:
            from svmkit.compare.cells.remote import run_on  # here: it is not needed without a cluster

            where = place()
            run_on(cluster, [Job(cell, limit, curve, where) for cell in todo], tell, flag)
            return not flag
        lanes = min(jobs, max(len(todo), 1))
        Parallel(n_jobs=lanes, backend="threading")(delayed(lane)(k) for k in range(lanes))
    if failure:
        raise failure[0]
    return not flag
