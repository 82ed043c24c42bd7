"""The one queue of a cluster: tasks that are bound to workers.

Dask would give a worker as many calls as it has threads, and a task that is bound to a worker that is gone to nobody.
So each task is bound to a worker that the watch sees, and is given up with it; who asked for it finds another worker.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError as Cancelled
from contextlib import suppress
from itertools import count
from typing import Any, NamedTuple

from distributed import Future as Task
from distributed import KilledWorker
from distributed.client import FutureCancelledError

from svmkit.plugins import files
from svmkit_dask.cluster import wire
from svmkit_dask.cluster.watch import Watch

TICK = 0.1  # seconds between two looks at the worker of a task
LOST = (asyncio.CancelledError, Cancelled, FutureCancelledError, KilledWorker, OSError)  # what a lost worker leads to


class Lost(Exception):
    """The worker of a task has gone (`is_gone`), or is slow while there are others, so that the task was given up."""

    def __init__(self, is_gone: bool) -> None:
        super().__init__(is_gone)
        self.is_gone = is_gone


class Packed(NamedTuple):
    """A call as `wire.pack` makes it, its shared objects, and the name of its task."""

    key: str
    body: bytes
    numbers: list[int]
    shared: Sequence[Any] = ()


class Queue:
    """Tasks at the workers of a cluster; all of it is used in the loop of the client.

    A worker without a heartbeat for `silence` seconds counts as slow; None waits for it as long as it is there. `name`
    is that of no other queue, and the topic of the values that functions send.
    """

    def __init__(self, watch: Watch, silence: float | None = None) -> None:
        self.watch, self.client, self.silence = watch, watch.client, silence
        self.name = f"svmkit-{uuid.uuid4().hex}"
        self._keys = count()
        self._spent: list[Task] = []

    def key(self, what: str) -> str:
        """Return a key that no other task has."""
        return f"{what}-{self.name}-{next(self._keys)}"

    def usable(self) -> dict[str, int]:
        """Return the workers that take work, and their numbers of threads."""
        return self.watch.usable(self.silence)

    def submit(self, key: str, workers: str | list[str], function: Callable[..., Any], *args: Any) -> Task:
        """Have Dask call a function on one of these workers, and on no other.

        Parameters
        ----------
        key, workers, function, *args
            As for `Client.submit`.
        """
        how: dict[str, Any] = {"allow_other_workers": False, "pure": False, "retries": 0}
        return self.client.submit(function, *args, key=key, workers=workers, **how)

    async def run(self, worker: str, call: Packed) -> bytes:
        """Return what a worker answers to a call; raise Lost if it goes, or is slow while others are not."""
        key, *packed, shared = call
        task = self.submit(key, worker, wire.run, key, self.name, files(), *packed, *shared)
        self.clear()
        answer = asyncio.ensure_future(_answer(task))
        try:
            while not (await asyncio.wait([answer], timeout=TICK))[0]:
                is_gone, usable = worker not in self.watch.workers, self.usable()
                if is_gone or (worker not in usable and usable):
                    raise Lost(is_gone)
            try:
                return answer.result()
            except LOST:
                raise Lost(True) from None
        finally:
            if answer.done():
                self.spend(task)
            else:
                answer.cancel()
                release(task)

    def spend(self, task: Task) -> None:
        """Have Dask forget a task when the next one begins: the client sends no two messages within 10 ms."""
        self._spent.append(task)

    def clear(self) -> None:
        """Have Dask forget all tasks that have ended."""
        while self._spent:
            release(self._spent.pop())


async def _answer(task: Task) -> bytes:
    return await task  # `gather` would wait in a task of asyncio that complains where it is cancelled


def release(task: Task) -> None:
    """Tell Dask that nobody waits for a task any more."""
    with suppress(Exception):  # of a client that is closed
        task.release()
