"""One pool at a time: our loops spread tiles over the cores, BLAS works inside a tile in one thread.

Two pools that spin against each other on few cores cost a factor of ten (measured on two cores: 3.4 ms instead of
0.05 ms for the vector work of one iteration).
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
    """Run the block with `threads` threads (default None: all that numba was given), BLAS held to one.

    Raises InputError when `threads` is not between 1 and the machine's number.
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
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
