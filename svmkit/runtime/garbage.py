"""Garbage collection, deferred while many objects are created that are all kept."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

MANY = 100  # number of results with so many objects that looking for garbage among them takes a tenth of a fit
YOUNG, OLD = 20_000, 20  # objects, and collections of younger ones, after which Python collects within the block

_lock = threading.Lock()
_thresholds: list[tuple[int, int, int]] = []  # thresholds outside all blocks, once for each block that has not ended


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Collect garbage a thirtieth as often inside the block, in all threads: the objects created there are large, and
    most of them are kept until the end of the block.
    """
    with _lock:
        _thresholds.append(_thresholds[0] if _thresholds else gc.get_threshold())
        if _thresholds[0][0]:  # else collection is disabled
            gc.set_threshold(max(_thresholds[0][0], YOUNG), OLD, OLD)
    try:
        yield
    finally:
        with _lock:
            before = _thresholds.pop()
            if not _thresholds:  # blocks of several threads may end in any order
                gc.set_threshold(*before)


def collecting_later(n: int) -> AbstractContextManager[None]:
    """Disable garbage collection inside the block, in all threads, except for explicit calls; if few results (n) are
    created there, nothing changes, which would slow down small fits.
    """
    return _collecting_later() if n >= MANY else nullcontext()


@contextmanager
def _collecting_later() -> Iterator[None]:
    """Disable garbage collection inside the block.

    Python looks at all young objects each time their number has grown, and occasionally at all objects: if hundreds of
    thousands are created and kept, that takes a third of the time, and finds nothing.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
