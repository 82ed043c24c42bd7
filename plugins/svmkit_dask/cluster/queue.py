"""The one queue of a cluster: tasks that are bound to workers, and calls that are given to free workers.

Dask would give a worker as many calls as it has threads, and a task that is bound to a worker that is gone to nobody.
So each task is bound to a worker that the watch sees, and is given up with it; who asked for it finds another worker.
Everything but the constructors and the methods of `Cluster` is done in the loop of the client.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError as Cancelled
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from distributed import Future as Task
from distributed import KilledWorker
from distributed.client import FutureCancelledError

from svmkit.cluster import ClusterLost, Needs, WorkerLost
from svmkit.errors import SvmkitError, one_line
from svmkit.plugins import files
from svmkit_dask.cluster import wire
from svmkit_dask.cluster.watch import SILENCE, Watch

TICK = 0.1  # seconds between two looks at the worker of a task
PAUSE = 0.05  # seconds between two looks at free workers
TRIES = 3  # workers that a call is given to, if they end under it
LOST = (asyncio.CancelledError, Cancelled, FutureCancelledError, KilledWorker, OSError)  # what a lost worker leads to


class Lost(Exception):
    """The worker of a task has gone (`is_gone`), or is slow while there are others, so that the task was given up."""

    def __init__(self, is_gone: bool) -> None:
        super().__init__(is_gone)
        self.is_gone = is_gone


class Queue:
    """Tasks at the workers of a cluster.

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
        if self.silence is None:
            return {worker: sight.threads for worker, sight in self.watch.workers.items()}
        return self.watch.usable(self.silence)

    def submit(self, key: str, workers: Sequence[str], function: Callable[..., Any], *args: Any) -> Task:
        """Have Dask call a function on one of these workers, and on no other."""
        how: dict[str, Any] = {"allow_other_workers": False, "pure": False, "retries": 0}
        return self.client.submit(function, *args, key=key, workers=list(workers), **how)

    async def run(self, key: str, worker: str, body: bytes, numbers: list[int], shared: Sequence[Any] = ()) -> bytes:
        """Return what a worker answers to a call; raise Lost if it goes, or is slow while others are not.

        Parameters
        ----------
        key, worker : str
            The name of the task, and the worker's address.
        body, numbers, shared
            The call as `wire.pack` returns it, and its shared objects.
        """
        task = self.submit(key, [worker], wire.run, key, self.name, files(), body, numbers, *shared)
        self._clear()
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

    def end(self) -> None:
        """Have Dask forget all tasks that have ended."""
        self._clear()

    def _clear(self) -> None:
        while self._spent:
            release(self._spent.pop())


async def _answer(task: Task) -> bytes:
    return await task  # `gather` would wait in a task of asyncio that complains where it is cancelled


def release(task: Task) -> None:
    """Tell Dask that nobody waits for a task any more."""
    with suppress(Exception):  # of a client that is closed
        task.release()


@dataclass(eq=False)
class _Shared:
    """An object that is sent to workers once; the cluster may lose it with the worker that has it."""

    value: Any
    at_dask: Any = None


@dataclass(eq=False)
class _Call:
    """A call that waits for a worker, or is with one."""

    body: bytes
    numbers: list[int]
    shared: list[_Shared]
    began: Callable[[str], Any] | None
    sent: Callable[[Any], Any] | None
    future: Future = field(default_factory=Future)
    lost: list[str] = field(default_factory=list)  # the workers that have ended under it
    key: str = ""
    running: asyncio.Task | None = None


class Calls:
    """The calls of a `Cluster`: one at a time a worker, in their order, and another worker if one ends."""

    def __init__(self, queue: Queue) -> None:
        self.queue, self.watch = queue, queue.watch
        self._todo: deque[_Call] = deque()
        self._with: dict[str, _Call] = {}  # by worker
        self._shared: list[_Shared] = []
        self._sending = asyncio.Lock()
        self._over: SvmkitError | None = None
        self._service: Future | None = None

    @property
    def _needs(self) -> Needs:
        assert self.watch.needs is not None
        return self.watch.needs

    def start(self) -> None:
        """Find and check the workers, then serve calls; errors as for `Watch.first`."""
        self.queue.client.subscribe_topic(self.queue.name, self._pass_on)
        self.watch.wait(self.watch.first())
        self.watch.on_loss = self._note_loss
        self._service = self.watch.begin(self._serve())

    def submit(self, function: Any, args: tuple, began: Any, sent: Any) -> Future:
        """As `Cluster.submit`."""
        shared = list(self._shared)
        body, numbers = wire.pack(function, args, [one.value for one in shared])
        call = _Call(body, numbers, [shared[k] for k in numbers], began, sent)
        call.future.add_done_callback(lambda future: future.cancelled() and self._soon(self._drop, call))
        if not self._soon(self._enter, call):
            self._settle(call, self._over or self.watch.gone())
        return call.future

    @contextmanager
    def sharing(self, values: Sequence[Any]) -> Iterator[None]:
        """As `Cluster.sharing`."""
        ours = [_Shared(value) for value in values]
        self._shared = [*self._shared, *ours]
        try:
            yield
        finally:
            self._shared = [one for one in self._shared if one not in ours]

    def cancel(self) -> None:
        """As `Cluster.cancel`."""
        for call in [*self._todo, *self._with.values()]:
            call.future.cancel()

    def close(self) -> None:
        """Cancel all calls and end."""
        error = ClusterLost(f"scheduler {self.watch.address} was closed")
        with suppress(Exception):  # of a loop that has ended
            self.watch.begin(self._end(error)).result(SILENCE)
        self._over = self._over or error

    def _soon(self, function: Callable[..., Any], *args: Any) -> bool:
        """Have the client's loop call a function; return whether there is a loop."""
        try:
            self.queue.client.loop.asyncio_loop.call_soon_threadsafe(function, *args)
        except RuntimeError:
            return False
        return True

    # --- in the client's loop

    async def _serve(self) -> None:
        try:
            async with self.watch.following():
                while self._over is None:
                    self.watch.require(bool(self._todo or self._with))
                    self._hand_out()
                    await asyncio.sleep(PAUSE)
        except SvmkitError as error:
            await self._end(error)
        except Exception as error:  # of the client, whose connection ends at any moment
            known, where = self.watch.is_connected, f"scheduler {self.watch.address}"
            await self._end(SvmkitError(f"{where}: {one_line(error)}") if known else self.watch.gone())

    async def _end(self, error: SvmkitError) -> None:
        """Fail all calls that are left, and those to come."""
        self._over = self._over or error
        left = [*self._todo, *self._with.values()]
        self._todo.clear()
        self.watch.workers = {}
        for call in left:
            self._drop(call)
            self._settle(call, error)
        self.queue.end()
        await asyncio.sleep(0)  # so that the tasks that were cancelled let go of what they have

    def _enter(self, call: _Call) -> None:
        if self._over is not None:
            self._settle(call, self._over)
            return
        self._todo.append(call)
        self._hand_out()

    def _drop(self, call: _Call) -> None:
        """Let go of a call that nobody waits for."""
        if call.running is not None:
            call.running.cancel()

    def _note_loss(self, worker: str) -> None:
        if worker not in self._with:
            self._needs.tell(f"worker {worker} has left the cluster")

    def _hand_out(self) -> None:
        """Give calls to the workers that have none."""
        for worker in self.watch.workers:
            while self._todo and self._todo[0].future.cancelled():
                self._todo.popleft()
            if not self._todo or self._over is not None:
                return
            if worker not in self._with:
                call = self._with[worker] = self._todo.popleft()
                call.key = self.queue.key("svmkit-call")
                call.running = asyncio.ensure_future(self._do(call, worker))

    async def _do(self, call: _Call, worker: str) -> None:
        """Have a worker do a call, and settle it or put it back."""
        try:
            if call.began is not None:
                await asyncio.to_thread(call.began, worker)
            shared = [await self._send_shared(one) for one in call.shared]
            answer = await self.queue.run(call.key, worker, call.body, call.numbers, shared)
            fine, value = wire.unpack(answer)
        except Exception:  # not in its function: its worker, its result or the data that it needs were lost
            fine, value = False, self._put_back(call, worker)
        finally:
            del self._with[worker]
            self._hand_out()
        if fine or value is not None:
            await asyncio.to_thread(self._settle, call, value, fine)

    def _put_back(self, call: _Call, worker: str) -> SvmkitError | None:
        """Put a call back whose worker has ended; return the error of one to which that has happened too often."""
        if self.watch.is_connected:  # else `_serve` ends all calls
            call.lost.append(worker)
            if len(call.lost) == TRIES:
                where = f"({', '.join(call.lost)}), perhaps for their memory"
                return WorkerLost(f"its workers ended under it {TRIES} times {where}")
            self._needs.tell(f"worker {worker} was lost; its work goes to another one")
        self._todo.appendleft(call)
        return None

    async def _send_shared(self, one: _Shared) -> Task:
        """Return a shared object as a future of Dask; it is sent anew if the cluster has lost it."""
        async with self._sending:
            if one.at_dask is None or one.at_dask.status != "finished":
                (one.at_dask,) = await self.queue.client.scatter([one.value], hash=False, asynchronous=True)
            return one.at_dask

    def _settle(self, call: _Call, value: Any, fine: bool = False) -> None:
        with suppress(InvalidStateError):  # the caller has cancelled it meanwhile
            if fine:
                call.future.set_result(value)
            else:
                call.future.set_exception(value)

    def _pass_on(self, event: tuple[float, Any]) -> None:
        """Pass on a value that a function has sent."""
        said = event[1]
        for call in list(self._with.values()):
            if call.key == said["key"] and call.sent is not None:
                call.sent(said["value"])
