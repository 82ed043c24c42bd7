"""Garbage collection, put off while many objects are made that are all kept."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

MANY = 100  # results that are so many objects that looking for garbage among them takes a tenth of a fit
YOUNG, OLD = 20_000, 20  # objects, and collections of younger ones, after which Python looks while it collects seldom

_lock = threading.Lock()
_thresholds: list[tuple[int, int, int]] = []  # those outside all blocks, once for each block that has not ended


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Let garbage be collected a thirtieth as often inside the block, in any thread: what is made there is large, and
    most of it is kept until the end of the block.
    """
    with _lock:
        _thresholds.append(_thresholds[0] if _thresholds else gc.get_threshold())
        if _thresholds[0][0]:  # else nothing is collected
            gc.set_threshold(max(_thresholds[0][0], YOUNG), OLD, OLD)
    try:
        yield
    finally:
        with _lock:
            before = _thresholds.pop()
            if not _thresholds:  # blocks of several threads may end in any order
                gc.set_threshold(*before)


def collecting_later(n: int) -> AbstractContextManager[None]:
    """Let no garbage be collected inside the block, in any thread, unless somebody has it collected anyway; where few
    results (n) are made there, nothing changes, which a small fit feels.
    """
    return _collecting_later() if n >= MANY else nullcontext()


@contextmanager
def _collecting_later() -> Iterator[None]:
    """Let no garbage be collected inside the block.

    Python looks at all young objects each time their number has grown, and now and then at all there are: where
    hundreds of thousands are made and kept that takes a third of the time, and finds nothing.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
