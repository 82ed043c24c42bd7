"""Control of the thread pools: compiled loops spread tiles over the cores, BLAS works in one thread within a tile.

Two pools that compete for few cores are slow: on two cores the vector work of an iteration took 3.4 ms instead of 0.05.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numba

from svmkit.errors import InputError


@cache
def _blas():
    import scipy.linalg  # noqa: F401  numba's np.dot calls this BLAS: it must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def using(threads: int | None = None) -> Iterator[int]:
    """Run the block with a number of threads in compiled loops, and with one thread in BLAS.

    Parameters
    ----------
    threads : int, optional
        Number of threads; by default as many as numba uses now.

    Yields
    ------
    int
        The number of threads.

    Raises
    ------
    InputError
        If `threads` is not between 1 and the number that this machine allows.
    """
    most = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    if threads is not None and not 1 <= threads <= most:
        raise InputError(f"threads must be between 1 and {most} on this machine, not {threads}")
    before = numba.get_num_threads()
    numba.set_num_threads(threads or before)
    try:
        with _blas().limit(limits=1, user_api="blas"):
            yield threads or before
    finally:
        numba.set_num_threads(before)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
