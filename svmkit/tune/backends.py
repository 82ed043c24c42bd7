"""Where the fits of a search run: the backends of joblib, and a thread that a signal ends at any moment."""

from __future__ import annotations

import importlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from svmkit import plugins
from svmkit.cluster import Cluster
from svmkit.errors import InputError
from svmkit.runtime import interrupt, workers
from svmkit.tune.records import Records

_NEEDS = {"loky": "joblib", "threading": "joblib", "dask": "distributed", "ray": "ray"}
_INSTALL = {"dask": "pip install 'dask[distributed]'", "ray": "pip install ray"}
BACKENDS = tuple(_NEEDS)
LOOK = 0.1  # seconds between two looks at the flag
GRACE = 10.0  # seconds that the work has to end after a signal
LATE = 0.5  # seconds by which a signal may arrive after the failure of a worker that it ended

T = TypeVar("T")


def require(backend: str) -> None:
    """Raise InputError unless a backend is known and installed; the message says how to install it."""
    if backend not in _NEEDS:
        raise InputError(f"backend {backend!r} is not known; there are: {', '.join(BACKENDS)}")
    try:
        importlib.import_module(_NEEDS[backend])
    except ImportError as error:
        raise InputError(f"backend {backend} is not installed ({error}): {_INSTALL[backend]}") from None


@contextmanager
def running(backend: str, jobs: int, n_threads: int) -> Iterator[None]:
    """Run the parallel loops of the block on a backend, `jobs` fits at a time with `n_threads` threads each.

    Dask and Ray use the active client, or else a client of their own on this machine, which is closed with the block.
    Worker processes of loky end with the block, and with this process, however it ends.
    """
    import joblib

    config: dict[str, Any] = {"backend": backend, "n_jobs": jobs}
    with ExitStack() as stack:
        if plugins.files() and backend == "ray":
            raise InputError("--plugin files cannot go to workers of ray: take another backend, or install a package")
        if jobs == 1 and backend in ("loky", "threading"):
            config = {"n_jobs": 1}
        elif backend == "loky":
            # otherwise a worker takes its share of the cores instead of `n_threads`
            config |= {
                "inner_max_num_threads": n_threads,
                "initializer": _begin,
                "initargs": (os.getpid(), plugins.files()),
            }
            stack.callback(end_workers)
        elif backend == "dask":
            stack.enter_context(_dask(jobs))
        elif backend == "ray":
            stack.enter_context(_ray(jobs))
        stack.enter_context(joblib.parallel_config(**config))
        yield


def _begin(parent: int, files: tuple[plugins.PluginFile, ...]) -> None:
    """Begin a worker process: bind it to its parent, and load the plugin files that the parent has loaded."""
    workers.end_with(parent)
    plugins.load_files(files)


@contextmanager
def running_on(cluster: Cluster, records: Records, *data: Any) -> Iterator[None]:
    """Run the parallel loops of the block on a cluster's workers, which get the `data` once and send the `records`."""
    with cluster.sharing(*data), cluster.parallel_backend(sent=records.add):
        yield


def end_workers() -> None:
    """End the processes of joblib's pool, whatever they compute."""
    from joblib.externals.loky import reusable_executor

    executor = reusable_executor._executor
    if executor is not None:
        executor.shutdown(wait=False, kill_workers=True)


@contextmanager
def _dask(jobs: int) -> Iterator[None]:
    import logging

    from distributed import Client, get_client

    try:
        client = get_client()
    except ValueError:  # there is no active client
        with Client(
            n_workers=jobs, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
        ) as client:
            _load_on_workers(client)
            yield
        return
    _load_on_workers(client)
    yield


def _load_on_workers(client: Any) -> None:
    """Load the plugin files of this process on all workers of a Dask client, including workers that join later."""
    from distributed import WorkerPlugin

    files = plugins.files()

    class Loads(WorkerPlugin):
        name = "svmkit-plugin-files"

        def setup(self, worker: Any) -> None:
            plugins.load_files(files)

    if files:
        client.register_plugin(Loads())


@contextmanager
def _ray(jobs: int) -> Iterator[None]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage statistics are sent
    import ray
    from ray.util.joblib import register_ray

    ours = not ray.is_initialized()
    if ours:
        ray.init(num_cpus=jobs, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    register_ray()
    try:
        yield
    finally:
        if ours:
            ray.shutdown()


def supervise(
    work: Callable[[], T],
    *,
    stop: Callable[[], None],
    kill: Callable[[], None] | None,
    seconds: float = math.inf,
) -> T | None:
    """Return what `work` returns, or raise what it raises; None if SIGINT, SIGTERM or the limit in seconds ended it.

    After the first signal, `stop` asks the work to end and `kill` ends its worker processes; the second one raises
    KeyboardInterrupt. An exception raised by a signal handler may be lost: in a callback, in a finalizer, or while a
    library starts a process. A flag is not lost.

    Parameters
    ----------
    work, stop, kill : callable, callable, callable or None
        The work, a function that asks it to end, and a function that kills its worker processes.
    seconds : float, default=inf
        The time limit of the work.
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
    last = time.monotonic() + seconds
    with interrupt.catching() as flag:
        thread.start()
        try:
            while thread.is_alive() and not flag and (left := last - time.monotonic()) > 0.0:
                thread.join(min(LOOK, left))
            late = time.monotonic() + LATE
            while failed and not flag and time.monotonic() < late:
                time.sleep(LOOK)
            if not done and (flag or thread.is_alive()):
                end()
                flag.raised = False  # this signal is handled: another one ends later work of the same command
                return None
        except BaseException:
            end()
            raise
    if failed:
        raise failed[0]
    return done[0]
