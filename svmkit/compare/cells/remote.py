"""Cells on the workers of a cluster: each worker keeps a process for them, like a lane on this machine.

The fit runs in that process and not in the worker itself: it can be stopped at its limits whatever it computes, its
crash costs one cell and no worker, nothing else runs in it during the measurement, and the worker's heartbeat
continues.
"""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from svmkit.cluster import Cluster, Here, WorkerLost, here
from svmkit.compare.cells import lane as lanes
from svmkit.compare.cells import worker
from svmkit.compare.cells.worker import CellCallback, Job
from svmkit.compare.plan.sets import digests
from svmkit.errors import InputError, SvmkitError, one_line
from svmkit.runtime.workers import may_start_processes

IDLE = 30  # seconds that a worker's process waits for the next cell
LOOK = 0.1


class Order(NamedTuple):
    """A cell for a worker."""

    job: Job
    comparison: str  # the key of the cell's comparison; a process kept for another comparison is not used
    folder: str  # of the comparison
    host: str  # the machine of the comparison


class Unwanted:
    """True once a call on this worker is no longer needed."""

    def __init__(self, at: Here) -> None:
        self.at = at

    def __bool__(self) -> bool:
        return not self.at.wanted


def run_on(cluster: Cluster, jobs: list[Job], tell: CellCallback, stop: Any) -> None:
    """Run cells on the workers of a cluster.

    Raises ClusterLost: the cluster is gone; finished cells have been reported.

    Parameters
    ----------
    cluster, jobs : Cluster, list of Job
        The workers, and the cells, one at a time on each worker.
    tell, stop : callable, object
        Called with a cell and None when it begins, and with its record at its end; true once the user has interrupted.
    """
    about = (f"{platform.node()}-{os.getpid()}-{id(jobs)}", os.getcwd(), platform.node())
    begun: set[int] = set()

    def began(k: int, _: str) -> None:
        if k not in begun:  # a second time, if its worker was lost
            begun.add(k)
            tell(jobs[k].cell, None)

    for k, ended in cluster.map(run_order, [Order(job, *about) for job in jobs], began=began, stop=stop):
        error = ended.exception()
        if error is not None and not isinstance(error, WorkerLost):
            raise error
        tell(jobs[k].cell, ended.result() if error is None else worker.failure(jobs[k].bare, error))


# --- on the worker

_busy = threading.Lock()  # one cell at a time, whatever the number of the worker's threads
_kept: tuple[str, lanes.Lane] | None = None  # the comparison of the last cell, and its process


def run_order(order: Order) -> dict[str, Any]:
    """Run a cell on this worker and return its record, which names the worker."""
    at = here()
    assert at is not None
    job, tracking = order.job, order.job.tracking
    is_server = tracking is not None and str(tracking.uri).startswith(("http://", "https://"))
    if order.host != platform.node() and not is_server:
        job = job._replace(tracking=None)
    with _lane(order.comparison, at.threads, Unwanted(at)) as lane:
        try:
            lane.call(lanes.AROUND, take_place, order, at.worker)
            record = lanes.run_cell(lane, job)
        except (SvmkitError, lanes.WorkerLost, TimeoutError) as error:
            record = worker.failure(job.bare, error)
    if job.tracking is not tracking:
        note = f"not logged: the store is on another machine than worker {at.worker}: give --tracking-uri http://..."
        record["notes"] = [*record.get("notes", []), note]
    return record | {"worker": at.worker, "worker_threads": at.threads}


@contextmanager
def _lane(comparison: str, threads: int, flag: Unwanted) -> Iterator[lanes.Lane]:
    """Yield the process of this worker for the cells of a comparison; raise Stopped once it is not needed."""
    global _kept
    while not _busy.acquire(timeout=LOOK):
        if flag:
            raise lanes.Stopped
    try:
        may_start_processes()
        if _kept is None or _kept[0] != comparison:
            if _kept is not None:
                _kept[1].renew()
            _kept = comparison, lanes.Lane(threads, flag, idle=IDLE)
        _kept[1].flag = flag
        yield _kept[1]
    finally:
        _busy.release()


def take_place(order: Order, address: str) -> None:
    """Change to the folder of the comparison, if it exists here, and check that the files of a cell are the same."""
    if os.path.isdir(order.folder):
        os.chdir(order.folder)
    for name, digest in order.job.cell.settings["data"]["files"].items():
        where = f"worker {address} on {platform.node()}"
        try:
            actual = digests({"source": name, "test": None})
        except SvmkitError as error:
            there = f"in {os.getcwd()}: {one_line(error)}"
            remedy = "a file has to lie at the same path on each worker, a named set in its $SVMKIT_DATA or cache"
            raise InputError(f"{where} cannot read {name} {there}; {remedy}") from None
        if actual.get(name) != digest:
            raise InputError(f"{where} has a {name} with other content than this machine: copy the file there")
