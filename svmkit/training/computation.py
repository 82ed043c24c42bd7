"""The context of a computation: its threads, its device, and the signal that ends it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from svmkit.kernels.engines import on_device
from svmkit.runtime import interrupt, threads
from svmkit.training.settings import Settings


@contextmanager
def computation(settings: Settings) -> Iterator[interrupt.Flag]:
    """Compute with the threads and on the device of the settings, and yield the flag that Ctrl-C sets."""
    with on_device(settings.device), threads.using(settings.n_threads), interrupt.catching() as flag:
        yield flag
