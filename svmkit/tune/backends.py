"""The backends of joblib on which the fits of a search run."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from svmkit.errors import InputError
from svmkit.runtime import workers

_NEEDS = {"loky": "joblib", "threading": "joblib", "dask": "distributed", "ray": "ray"}
_INSTALL = {"dask": "pip install 'dask[distributed]'", "ray": "pip install ray"}
BACKENDS = tuple(_NEEDS)


def require(backend: str) -> None:
    """Check that a backend is known and installed.

    Raises
    ------
    InputError
        The backend is unknown, or not installed; the message says how to install it.
    """
    if backend not in _NEEDS:
        raise InputError(f"backend {backend!r} is not known; there are: {', '.join(BACKENDS)}")
    try:
        importlib.import_module(_NEEDS[backend])
    except ImportError as error:
        raise InputError(f"backend {backend} is not installed ({error}): {_INSTALL[backend]}") from None


@contextmanager
def running(backend: str, jobs: int, n_threads: int) -> Iterator[None]:
    """Run the parallel loops of the block on a backend.

    Dask and Ray use the client that is active, else a client of their own on this machine, closed with the block.
    Worker processes of loky end with the block, and with this process, however it ends.

    Parameters
    ----------
    backend : {"loky", "threading", "dask", "ray"}
    jobs : int
        Fits at a time.
    n_threads : int
        Threads of each fit.
    """
    import joblib

    config: dict[str, Any] = {"backend": backend, "n_jobs": jobs}
    with ExitStack() as stack:
        if jobs == 1 and backend in ("loky", "threading"):
            config = {"n_jobs": 1}
        elif backend == "loky":
            # otherwise a worker takes its share of the cores instead of `n_threads`
            config |= {"inner_max_num_threads": n_threads, "initializer": workers.end_with, "initargs": (os.getpid(),)}
            stack.callback(end_workers)
        elif backend == "dask":
            stack.enter_context(_dask(jobs))
        elif backend == "ray":
            stack.enter_context(_ray(jobs))
        stack.enter_context(joblib.parallel_config(**config))
        yield


def end_workers() -> None:
    """End the processes of joblib's pool, whatever they compute; they are bound to the thread that started them."""
    from joblib.externals.loky import reusable_executor

    executor = reusable_executor._executor
    if executor is not None:
        executor.shutdown(wait=False, kill_workers=True)


@contextmanager
def _dask(jobs: int) -> Iterator[None]:
    import logging

    from distributed import Client, get_client

    try:
        get_client()
    except ValueError:  # there is no active client
        with Client(n_workers=jobs, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL):
            yield
        return
    yield


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
