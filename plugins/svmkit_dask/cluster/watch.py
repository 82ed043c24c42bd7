"""The workers of a Dask cluster: which ones exist, are alive and meet the requirements; and tasks bound to them.

Dask would never run a task that is bound to a worker that has gone, so the task is given up with its worker.
"""

from __future__ import annotations

import asyncio
import platform
import time
import uuid
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import CancelledError as Cancelled
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, NamedTuple, TypeVar

from distributed import Client, KilledWorker
from distributed import Future as Task
from distributed.client import FutureCancelledError

from svmkit._version import __version__
from svmkit.cluster import ClusterLost, Needs
from svmkit.errors import Gone, InputError
from svmkit.plugins import files, requirement
from svmkit_dask.cluster import wire

LOOK = 0.5  # seconds between two requests to the scheduler
SILENCE = 30.0  # seconds after which a scheduler that does not answer counts as gone
ANSWER = 15.0  # seconds that a worker has to report its versions

TICK = 0.1  # seconds between two checks of a task's worker
LOST = (asyncio.CancelledError, Cancelled, FutureCancelledError, KilledWorker, OSError)  # what a lost worker leads to

T = TypeVar("T")


class Sight(NamedTuple):
    """A worker when last seen."""

    threads: int
    is_paused: bool  # whether it accepts no work, as its memory is nearly used up
    beat: float  # the time of its last heartbeat, by the scheduler's clock
    at: float  # when this heartbeat was first seen here, by `time.monotonic`


class Lost(Exception):
    """The worker of a task has gone, so that the task was given up."""


class Slow(Exception):
    """The worker of a task is slow while others are available, so that the task was given up."""


class Packed(NamedTuple):
    """A call from `wire.pack`, its shared objects, and the name of its task."""

    key: str
    body: bytes
    numbers: list[int]
    shared: Sequence[Any] = ()
    silence: float | None = None  # seconds without a heartbeat after which the worker is slow; None waits for it
    held: str | None = None  # the key of the one shared object, if it is at the worker, which is called without a task


class Watch:
    """The workers as the scheduler sees them, and their tasks; all but `wait` runs in the loop of the client.

    `needs` is what each worker must have; None accepts every worker.
    """

    def __init__(self, client: Client, address: str = "", needs: Needs | None = None) -> None:
        self.client, self.address, self.needs = client, address, needs
        self.workers: dict[str, Sight] = {}  # workers that meet the requirements, by address
        self.answered = self._empty_since = time.monotonic()  # when the scheduler did, and when there was a worker last
        self.on_loss: Callable[[str], Any] = lambda worker: None  # called with the address of each worker that has left
        self._asked, self._refused, self._looking = -LOOK, set[str](), asyncio.Lock()
        self.name = f"svmkit-{uuid.uuid4().hex}"  # unique to this watch; the topic of the values that functions send
        self._keys = count()
        # the tasks that Dask is to forget when the next one begins: the client sends no two messages within 10 ms
        self.spent: list[Task] = []

    def begin(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine in the client's loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.client.loop.asyncio_loop)

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine that the client's loop runs; called from another thread."""
        future = self.begin(coroutine)
        try:
            while not wait_for([future], timeout=1.0).done:
                if self.client.status == "closed":
                    raise Gone("the client of the cluster is closed")
            return future.result()
        finally:
            future.cancel()

    @contextmanager
    def following(self) -> Iterator[None]:
        """Check the workers repeatedly while the block runs; of several concurrent blocks, one does."""
        looks = asyncio.ensure_future(self._follow())
        try:
            yield
        finally:
            looks.cancel()

    async def first(self) -> None:
        """Wait for a first worker; raise InputError if one cannot be used, ClusterLost if none comes in time."""
        report = await self._ask_or_lose()
        if not report:
            self.needs.tell(f"scheduler {self.address} has no workers: waiting up to {self.needs.wait:.0f} s")
        while not report:
            self.require()
            await asyncio.sleep(LOOK)
            report = await self._ask_or_lose()
        wrong = await faults(self.client, list(report), self.needs.solvers)
        if wrong:
            raise InputError(min(wrong.values()))
        self.note(report, time.monotonic())

    async def _ask_or_lose(self) -> dict[str, Any]:
        try:
            return await asyncio.wait_for(self._ask(), SILENCE)
        except Exception:
            raise self.gone() from None

    async def _ask(self) -> dict[str, Any]:
        report = (await self.client.scheduler.identity())["workers"]
        self.answered = time.monotonic()
        return dict(report)

    async def look(self) -> None:
        """Ask the scheduler for its workers once, and new workers for their versions."""
        self._asked = time.monotonic()
        report = await self._ask()
        new = [worker for worker in report if worker not in self.workers and worker not in self._refused]
        wrong = await faults(self.client, new, self.needs.solvers) if new and self.needs is not None else {}
        if wrong:
            report = await self._ask()  # a worker that ended while it was asked is not faulty, but gone
        for worker in wrong.keys() & report.keys():
            self._refused.add(worker)
            self.needs.tell(f"{wrong[worker]}; it gets no work")
        self.note(report, time.monotonic())

    def note(self, report: dict[str, Any], now: float) -> None:
        """Take over the scheduler's report on its workers."""
        before, self.workers = self.workers, {}
        for worker, info in report.items():
            if worker not in self._refused:
                known, beat = before.get(worker), float(info["last_seen"])
                at = known.at if known is not None and known.beat == beat else now
                self.workers[worker] = Sight(int(info["nthreads"]), info["status"] != "running", beat, at)
        for worker in before.keys() - self.workers.keys():
            self.on_loss(worker)

    def usable(self, silence: float | None) -> dict[str, int]:
        """Return the threads of the workers that accept work and had a heartbeat within `silence` seconds; None accepts
        all.
        """
        return {
            worker: sight.threads
            for worker, sight in self.workers.items()
            if silence is None or (not sight.is_paused and self.answered - sight.at <= silence)
        }

    @property
    def is_connected(self) -> bool:
        """Whether the scheduler is there, as far as is known."""
        return self.client.status == "running"

    def require(self, needed: bool = True) -> None:
        """Raise ClusterLost if the scheduler is gone, or has had no worker for too long while one was needed."""
        now = time.monotonic()
        if not self.is_connected:
            raise self.gone()
        if now - self.answered > SILENCE:
            raise ClusterLost(f"the scheduler at {self.address} has not answered for {SILENCE:.0f} s")
        if self.workers or not needed:
            self._empty_since = now
        elif now - self._empty_since > self.needs.wait:
            raise ClusterLost(
                f"scheduler {self.address} has had no workers for {now - self._empty_since:.0f} s: start some by "
                f"`dask worker {self.address}`"
            )

    def gone(self) -> ClusterLost:
        """Return the error of a scheduler that has gone away."""
        return ClusterLost(f"the scheduler at {self.address} has gone away, and its workers with it")

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(max(0.0, self._asked + LOOK - time.monotonic()))
            async with self._looking:
                if self._asked + LOOK <= time.monotonic():
                    with suppress(Exception):  # for a scheduler that is gone: waiting calls detect it by `answered`
                        await self.look()

    # --- tasks

    def key(self, what: str) -> str:
        """Return a unique key of a task."""
        return f"{what}-{self.name}-{next(self._keys)}"

    async def run(self, worker: str, call: Packed) -> bytes:
        """Return a worker's answer to a call; raise Lost if it goes, Slow if it is slow while others are not."""
        key, body, numbers, shared, silence, held = call
        given = (key, self.name), files(), (body, numbers)
        if held is None:
            task = self.client.submit(wire.run, *given, *shared, key=key, workers=worker)
            answer = asyncio.ensure_future(task)  # `gather` would wait in a task that complains where it is cancelled
        else:
            task, answer = None, asyncio.ensure_future(self._run_aside(worker, *given, held))
        self.clear()
        # asyncio prints an exception that is never retrieved, as when this call is cancelled in the step that brings it
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            while not (await asyncio.wait([answer], timeout=TICK))[0]:
                if worker not in self.workers:
                    raise Lost
                usable = self.usable(silence)
                if usable and worker not in usable:
                    raise Slow
            try:
                return answer.result()
            except LOST:
                raise Lost from None
        finally:
            if task is not None:
                self.spent.append(task)
            if not answer.done():
                answer.cancel()
                self.clear()

    async def _run_aside(self, worker: str, *given: Any) -> bytes:
        call = self.client.run(wire.run_aside, *given, workers=[worker], on_error="return", asynchronous=True)
        answer = (await call)[worker]
        if answer is None:
            raise Lost
        if isinstance(answer, BaseException):
            raise answer
        return bytes(answer)

    def clear(self) -> None:
        """Release the tasks that are no longer needed in Dask."""
        while self.spent:
            with suppress(Exception):  # for a client that is closed
                self.spent.pop().release()


async def faults(client: Client, workers: Sequence[str], solvers: Sequence[str]) -> dict[str, str]:
    """Return one line for each of these workers that is unusable, by its address."""

    async def ask(asked: Any) -> dict[str, Any]:  # without an answer in time there is an exception
        try:
            return dict(await asyncio.wait_for(asked, ANSWER))
        except Exception as error:
            return dict.fromkeys(workers, error)

    report = await ask(client.scheduler.broadcast(msg={"op": "versions"}, workers=list(workers), on_error="return"))
    wrong = {worker: fault for worker in workers if (fault := python_fault(report.get(worker)))}
    # code of another Python cannot be sent: the others are asked by a function that brings its code along
    left = [worker for worker in workers if worker not in wrong]
    if left:
        wanted = {name: requirement("solver", name) for name in solvers}
        report = await ask(client.run(_asker(list(wanted)), workers=left, on_error="return", asynchronous=True))
        wrong |= {worker: fault for worker in left if (fault := _package_fault(report.get(worker), wanted))}
    return {worker: f"worker {worker} {fault}" for worker, fault in wrong.items()}


def python_fault(answer: Any) -> str | None:
    """Return the fault of the Python of a worker with this answer; None if there is none."""
    here = ".".join(platform.python_version_tuple()[:2])
    if not isinstance(answer, dict):
        return f"does not answer within {ANSWER:.0f} s: restart it"
    there = ".".join(str(answer["host"]["python"]).split(".")[:2])
    return None if there == here else f"has Python {there}, and here it is {here}: use the same version on both"


def _asker(solvers: list[str]) -> Callable[[], dict[str, Any]]:
    """Return a function that travels by value, since the worker may have no svmkit."""

    def ask() -> dict[str, Any]:
        from importlib.metadata import entry_points

        try:
            from svmkit._version import __version__ as version
        except ImportError:
            return {"svmkit": None}
        dists = {point.name: point.dist for point in entry_points(group="svmkit.solvers") if point.name in solvers}
        return {"svmkit": version, "solvers": {name: f"{dist.name}=={dist.version}" for name, dist in dists.items()}}

    return ask


def _package_fault(answer: Any, wanted: dict[str, str | None]) -> str | None:
    if not isinstance(answer, dict):
        return f"could not be asked for its versions ({type(answer).__name__}): restart it"
    there = answer["svmkit"]
    if there is None:
        return f"has no svmkit, and here it is {__version__}: pip install 'svmkit[dask]=={__version__}' there"
    if there != __version__:
        return f"has svmkit {there}, and here it is {__version__}: install the same version on both"
    for name, package in wanted.items():
        has = answer["solvers"].get(name, f"no solver {name}")
        if package is not None and has != package:
            return f"has {has}, and here solver {name} is of {package}: pip install '{package}' there"
    return None
