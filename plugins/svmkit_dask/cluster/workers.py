"""The workers of a Dask cluster as one driver uses them: which has which part, and what is left on them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress
from itertools import count

from distributed import Client, Future

from svmkit.errors import InputError
from svmkit_dask.cluster.holding import Lease
from svmkit_dask.cluster.homes import Homes
from svmkit_dask.cluster.watch import Watch

PATIENCE = 60.0
SILENCE = 3.0  # seconds that a worker or scheduler may at least take for a sign of life


class Workers:
    """The workers of a Dask cluster.

    Parameters
    ----------
    client : Client
        A connected client.
    names : sequence of str
        The parts in messages.
    sizes : sequence of int
        How large each part is, in any unit.
    patience : float, default=60.0
        Seconds without any sign of work after which work for the parts is given up: no part is done, and none of the
        workers that are at work has sent a heartbeat. A worker without heartbeats for a quarter of them, or 3, counts
        as slow: its parts go to other workers, if there are any.

    Attributes
    ----------
    run : str
        A name that no other driver has.
    homes : Homes
        The worker of each part.
    watch : Watch
        The workers as the scheduler sees them.

    Raises
    ------
    InputError
        `patience` is no number > 0.
    """

    def __init__(self, client: Client, names: Sequence[str], sizes: Sequence[int], patience: float = PATIENCE) -> None:
        if not patience > 0.0:
            raise InputError(f"patience must be a number of seconds > 0, not {patience!r}")
        self.client, self.names, self.patience = client, list(names), patience
        self.run = f"svmkit-{uuid.uuid4().hex}"
        self.homes, self.watch = Homes(sizes), Watch(client, max(SILENCE, patience / 4.0))
        self._keys = count()
        self._leases: dict[str, Future] = {}
        self._spent: list[Future] = []
        self._known: frozenset[str] = frozenset()

    def key(self, what: str) -> str:
        """Return a key that no other task has."""
        return f"{what}-{self.run}-{next(self._keys)}"

    def lease(self, worker: str) -> None:
        """Leave a lease on a worker, once."""
        lease = self._leases.get(worker)
        if lease is None or lease.status in ("cancelled", "lost", "error"):
            key = self.key("svmkit-lease")
            self._leases[worker] = self.client.submit(Lease, self.run, key=key, workers=[worker], pure=False)

    def level(self) -> int:
        """Move parts to workers that have joined, where that pays; return how many were moved."""
        self.watch.look()
        usable, before = self.watch.usable(), self._known
        if not usable or frozenset(usable) == before:
            return 0
        self._known = frozenset(usable)
        self.homes.settle(usable, range(len(self.names)))
        return len(self.homes.level(usable))

    def spend(self, task: Future) -> None:
        """Have Dask forget a task when the next ones begin: the client sends no two messages within 10 ms."""
        self._spent.append(task)

    def clear(self) -> None:
        """Have Dask forget the tasks that are spent."""
        while self._spent:
            release(self._spent.pop())

    def end(self) -> None:
        """Let the workers forget what they hold."""
        self.clear()
        for lease in self._leases.values():
            release(lease)
        self._leases.clear()


def release(task: Future) -> None:
    """Tell Dask that nobody waits for a task any more."""
    with suppress(Exception):  # of a client that is closed
        task.release()
