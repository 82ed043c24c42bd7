"""Work for parts on its way to the workers of a Dask cluster, until all is done or the bounds are passed."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from concurrent.futures import CancelledError as Cancelled
from concurrent.futures import Future as Answer
from typing import Any, NamedTuple, NoReturn

from distributed import Future, KilledWorker
from distributed.client import FutureCancelledError

from svmkit.errors import Gone, InputError, SvmkitError, one_line
from svmkit.runtime import interrupt
from svmkit_dask.cluster.calls import Failure
from svmkit_dask.cluster.workers import Workers, release

TICK = 0.1  # seconds between two looks at workers
LOSSES = 5  # times that a part may lose its worker in one delivery
HURRY = 5.0  # seconds without a sign of work that are enough once the driver was interrupted
LOST = (Cancelled, FutureCancelledError, KilledWorker, OSError)  # what ends a task whose worker or scheduler is gone


class Job(NamedTuple):
    """The parts of one worker, which are one task.

    Attributes
    ----------
    worker : str
        The address of the worker.
    parts : list of int
        The parts.
    task : Future
        The task at Dask.
    """

    worker: str
    parts: list[int]
    task: Future


class Delivery(ABC):
    """Work for some parts on its way, which can be done twice without harm.

    Each part is worked on by its home. The parts of a worker that is gone, or slow while there are others, go to
    another one; what the slow one answers later is not heeded.

    Parameters
    ----------
    workers : Workers
        The workers.
    parts : sequence of int
        The parts.

    Attributes
    ----------
    answers : dict
        The answers so far, by part.
    """

    together = True  # whether the parts of a worker are one task

    def __init__(self, workers: Workers, parts: Sequence[int]) -> None:
        self.workers, self.parts = workers, list(parts)
        self.answers: dict[int, Any] = {}
        self._jobs: dict[Answer[bytes], Job] = {}
        self._losses: Counter[int] = Counter()
        self._moved = time.monotonic()  # when there was the last sign of work

    @abstractmethod
    def tasks(self, groups: list[tuple[str, list[int]]]) -> list[Future]:
        """Submit a task for the parts of each group, bound to its worker."""

    @abstractmethod
    def heed(self, job: Job, data: bytes) -> None:
        """Take over what a task has returned. A part that it leaves without an answer is worked on again."""

    def run(self) -> dict[int, Any]:
        """Return the answer of each part, by number.

        Raises
        ------
        Gone
            A bound is passed.
        InputError, SvmkitError
            The work on a part failed.
        """
        try:
            while len(self.answers) < len(self.parts):
                if self.workers.client.status not in ("running", "connecting"):  # it has not found its scheduler again
                    raise Gone("the scheduler of the cluster has gone away")
                self.workers.watch.look()
                self._send()
                if self._jobs:
                    done, _ = wait(self._jobs, timeout=TICK, return_when=FIRST_COMPLETED)
                    for answer in done:
                        self._take(answer, self._jobs.pop(answer))
                else:
                    time.sleep(TICK)
                self._redo()
                self._require()
            return self.answers
        finally:
            self.end()

    def end(self) -> None:
        """Tell Dask that nobody waits for a task any more."""
        for answer in list(self._jobs):
            self._drop(answer)

    def fail(self, p: int, failure: Failure, worker: str) -> NoReturn:
        """Raise what ended the work on a part."""
        name, kind = self.workers.names[p], InputError if failure.is_input else SvmkitError
        reason = failure.reason if failure.reason.startswith(name) else f"{name}: {failure.reason}"
        raise kind(f"{reason} (worker {worker})")

    def _send(self) -> None:
        """Give all parts that no task is to answer to their homes."""
        sent = {p for job in self._jobs.values() for p in job.parts}
        left = [p for p in self.parts if p not in sent and p not in self.answers]
        usable = self.workers.watch.usable()
        if not left or not usable or self.workers.client.status != "running":
            return
        self.workers.homes.settle(usable, left)
        groups: dict[tuple[str, int], list[int]] = {}
        for p in left:  # a part that has lost its worker goes alone, so that the others do not share its fate
            alone = self._losses[p] or not self.together
            groups.setdefault((self.workers.homes.of[p], p if alone else -1), []).append(p)
        given = [(worker, parts) for (worker, _), parts in groups.items()]
        try:
            begun = self.workers.watch.begin(self._begun(given)).result(self.workers.patience)
        except TimeoutError:
            raise Gone("the client of the cluster does not answer") from None
        except Exception:
            if self.workers.client.status == "running":
                raise  # otherwise the client has lost its scheduler just now
            return
        for (worker, parts), (task, answer) in zip(given, begun, strict=True):
            self._jobs[answer] = Job(worker, parts, task)

    async def _begun(self, groups: list[tuple[str, list[int]]]) -> list[tuple[Future, Answer[bytes]]]:
        """Submit tasks within the client's loop, so that they leave in one message to the scheduler."""
        tasks = self.tasks(groups)
        self.workers.clear()
        return [(task, self.workers.watch.begin(_answered(task))) for task in tasks]

    def _take(self, answer: Answer[bytes], job: Job) -> None:
        """Take note of a task that has ended."""
        self.workers.spend(job.task)
        try:
            data = answer.result()
        except LOST:
            self._losses.update(job.parts)
            return
        except Exception as error:
            raise SvmkitError(f"worker {job.worker}: {type(error).__name__}: {one_line(error)}") from None
        self._moved = time.monotonic()
        self.heed(job, data)

    def _redo(self) -> None:
        """Give up tasks whose worker is gone, or slow while there are other workers."""
        workers, usable = self.workers.watch.workers, self.workers.watch.usable()
        for answer, job in list(self._jobs.items()):
            is_gone = job.worker not in workers
            if is_gone or (job.worker not in usable and usable):
                if is_gone:
                    self._losses.update(job.parts)
                self._drop(answer)

    def _drop(self, answer: Answer[bytes]) -> None:
        answer.cancel()
        release(self._jobs.pop(answer).task)

    def _require(self) -> None:
        """Raise an exception once a bound is passed."""
        for p, times in self._losses.items():
            if times >= LOSSES:
                raise Gone(
                    f"{self.workers.names[p]}: its workers ended under it {times} times: look at their logs and memory"
                )
        watch, now = self.workers.watch, time.monotonic()
        for job in self._jobs.values():
            sight = watch.workers.get(job.worker)
            if sight is not None and not sight.is_paused:
                self._moved = max(self._moved, sight.at)
        waited = now - self._moved
        if waited > self.workers.patience or (waited > HURRY and interrupt.asked()):
            raise Gone(self._reason(now))

    def _reason(self, now: float) -> str:
        """Return what is waited for."""
        watch = self.workers.watch
        if self.workers.client.status != "running" or now - watch.answered > watch.silence:
            return f"the scheduler of the cluster has not answered for {now - watch.answered:.0f} s"
        if not watch.workers:
            return f"the cluster has had no worker for {now - self._moved:.0f} s"
        for job in self._jobs.values():
            sight, name = watch.workers.get(job.worker), self.workers.names[job.parts[0]]
            if sight is not None and sight.is_paused:
                return f"worker {job.worker}, which has {name}, is paused, as its memory is nearly used up"
            if sight is not None:
                return f"worker {job.worker}, which has {name}, was last seen {now - sight.at:.0f} s ago"
        return f"no worker of the cluster has taken work for {now - self._moved:.0f} s"


async def _answered(task: Future) -> bytes:
    return await task  # `gather` would wait in a task of asyncio that complains where it is cancelled
