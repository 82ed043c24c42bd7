"""Garbage collection, put off while many objects are made that are all kept."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collecting_later() -> Iterator[None]:
    """Let no garbage be collected inside the block, in any thread, unless somebody has it collected anyway.

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
