"""One message of a crew on its way to the parts on a Dask cluster."""

from __future__ import annotations

from typing import Protocol

import dask
from distributed import Future

from svmkit_dask.cluster.calls import Call, Origin, Reply, packed, unpacked
from svmkit_dask.cluster.counters import Traffic
from svmkit_dask.cluster.delivery import Delivery, Job
from svmkit_dask.cluster.holding import work
from svmkit_dask.cluster.workers import Workers
from svmkit_dask.worker.answers import Message, Own
from svmkit_dask.worker.rows import Change, Spec

INSIDE = 32 << 10  # bytes of a change that travels within each call; a larger one is a task of its own
WARNING = "distributed.admin.large-graph-warning-threshold"


class Asker(Protocol):
    """What is asked of the crew that sends a message."""

    workers: Workers
    problems: dict[int, Spec]

    def origin(self, p: int) -> Origin: ...


class Asking(Delivery):
    """A message on its way.

    Parameters
    ----------
    crew : Asker
        The crew.
    problem : int
        The number of the problem.
    message : Message
        What to do.
    own : dict of int to Own
        What is for one part only.
    change : Change or None
        What is for all parts.

    Attributes
    ----------
    traffic : Traffic
        What the message has cost.
    """

    def __init__(self, crew: Asker, problem: int, message: Message, own: dict[int, Own], change: Change | None) -> None:
        super().__init__(crew.workers, list(own))
        self.crew, self.problem, self.message, self.own = crew, problem, message, own
        self.change = None if change is None else packed(change)
        self.traffic = Traffic()
        self._carriers: list[Future] = []
        self._lacking: set[int] = set()  # parts whose worker has to be told how to make them

    def tasks(self, groups):
        workers, carried = self.workers, self._carried(sorted({worker for worker, _ in groups}))
        found = []
        for worker, parts in groups:
            workers.lease(worker)
            body = packed(self._call(parts, None if carried else self.change))
            self.traffic.sent += len(body)
            key = workers.key(f"svmkit-{self.message.do}")
            found.append(workers.client.submit(work, body, *carried, key=key, workers=[worker], pure=False))
        return found

    def heed(self, job: Job, data: bytes) -> None:
        reply: Reply = unpacked(data)
        for p, failure in reply.failures.items():
            self.fail(p, failure, job.worker)
        self.answers.update(reply.answers)
        self._lacking.difference_update(reply.answers)
        self._lacking.update(set(job.parts) - set(reply.answers))
        self.traffic.received += len(data)
        self.traffic.replied(job.worker, reply)

    def end(self) -> None:
        super().end()
        for carrier in self._carriers:
            self.workers.spend(carrier)

    def _call(self, parts: list[int], change: bytes | None) -> Call:
        crew = self.crew
        own = {p: self.own[p] for p in parts}
        origins = {p: crew.origin(p) for p in parts if p in self._lacking}
        spec = crew.problems[self.problem]
        return Call(self.workers.run, self.problem, tuple(crew.problems), spec, self.message, own, origins, change)

    def _carried(self, to: list[str]) -> list[Future]:
        """Return the task that brings a large change to workers, which pass it on to each other; none for small ones.

        Unlike data that are scattered, it is made again by Dask if the worker that holds it is lost.
        """
        if self.change is None or len(self.change) <= INSIDE:
            return []
        client, key = self.workers.client, self.workers.key("svmkit-change")
        with dask.config.set({WARNING: "100 GB"}):
            carrier = client.submit(bytes, self.change, key=key, workers=to, pure=False)
        self._carriers.append(carrier)
        self.traffic.sent += len(self.change) * len(to)
        return [carrier]
