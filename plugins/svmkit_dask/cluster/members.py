"""The workers of a cluster as its scheduler knows them: those that can be used, those that have gone, or none."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any

from distributed import Client

from svmkit.cluster import ClusterLost, Needs
from svmkit.errors import InputError
from svmkit_dask.cluster.versions import faults

LOOK = 0.5  # seconds between two questions to the scheduler
SILENCE = 30.0  # seconds after which a scheduler that does not answer counts as gone


class Members:
    """The workers of a cluster, each of which is checked once.

    Parameters
    ----------
    client : Client
        A connected client.
    address : str
        How the user named the cluster.
    needs : Needs
        What is asked of it.

    Attributes
    ----------
    threads : dict of str to int
        The workers that can be used, and their threads.
    """

    def __init__(self, client: Client, address: str, needs: Needs) -> None:
        self.client, self.address, self.needs = client, address, needs
        self.threads: dict[str, int] = {}
        self._refused: set[str] = set()
        self._question: Future | None = None
        self._asked = self._empty_since = time.monotonic()

    def wait(self) -> None:
        """Wait for a first worker; raise InputError if one cannot be used, ClusterLost if none comes in time."""
        found = self._now()
        if not found:
            self.needs.tell(f"scheduler {self.address} has no workers: waiting up to {self.needs.wait:.0f} s")
        while not found:
            self.require()
            time.sleep(LOOK)
            found = self._now()
        wrong = faults(self.client, list(found), self.needs.solvers)
        if wrong:
            raise InputError(min(wrong.values()))
        self.threads = found

    def look(self) -> list[str]:
        """Take note of changes; return the workers that are gone since the last look; raise ClusterLost at its end."""
        found = self._told()
        if found is None:
            return []
        new = [worker for worker in found if worker not in self.threads and worker not in self._refused]
        wrong = faults(self.client, new, self.needs.solvers) if new else {}
        if wrong:
            found = self._now()  # one that ended while it was asked is not wrong, but gone
        for worker in wrong.keys() & found.keys():
            self._refused.add(worker)
            self.needs.tell(f"{wrong[worker]}; it gets no work")
        gone = [worker for worker in self.threads if worker not in found]
        self.threads = {worker: n for worker, n in found.items() if worker not in self._refused}
        return gone

    def require(self, needed: bool = True) -> None:
        """Raise ClusterLost if there has been no worker for too long while one was needed."""
        now = time.monotonic()
        if self.threads or not needed:
            self._empty_since = now
        elif now - self._empty_since > self.needs.wait:
            raise ClusterLost(
                f"scheduler {self.address} has had no workers for {now - self._empty_since:.0f} s: start some by "
                f"`dask worker {self.address}`"
            )

    def gone(self) -> ClusterLost:
        """Return the error of a scheduler that has gone away."""
        return ClusterLost(f"the scheduler at {self.address} has gone away, and its workers with it")

    @property
    def is_connected(self) -> bool:
        """Whether the scheduler is there, as far as is known."""
        return self.client.status == "running"

    def ask(self, coroutine: Coroutine) -> Future[Any]:
        """Run a coroutine in the client's loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.client.loop.asyncio_loop)

    def _now(self) -> dict[str, int]:
        return self._answer(self.ask(self.client.nthreads(asynchronous=True)))

    def _answer(self, question: Future) -> dict[str, int]:
        try:
            return dict(question.result(SILENCE))
        except Exception:
            raise self.gone() from None

    def _told(self) -> dict[str, int] | None:
        """Return the workers if the scheduler has answered since the last look, and ask it again now and then."""
        if not self.is_connected:
            raise self.gone()
        now, question = time.monotonic(), self._question
        if question is None:
            if now - self._asked >= LOOK:
                self._question, self._asked = self.ask(self.client.nthreads(asynchronous=True)), now
            return None
        if not question.done():
            if now - self._asked > SILENCE:
                raise ClusterLost(f"the scheduler at {self.address} has not answered for {SILENCE:.0f} s")
            return None
        self._question = None
        return self._answer(question)
