"""Calls and the workers that they are given to: one call at a time a worker, and another worker if it ends.

Dask would give a worker as many calls as it has threads, and a call whose worker is gone to nobody if it is bound to
that worker. So the queue is here: a thread gives each free worker a call that is bound to it, and looks at the
scheduler, whose end leaves no call waiting."""

from __future__ import annotations

import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from distributed import Client

from svmkit.cluster import ClusterLost, Needs, WorkerLost
from svmkit.errors import SvmkitError, one_line
from svmkit.plugins import files
from svmkit_dask.cluster import task
from svmkit_dask.cluster.members import SILENCE, Members

TRIES = 3  # workers that a call is given to, if they end under it
PAUSE = 0.05  # seconds between two looks at calls


@dataclass(eq=False)
class _Call:
    """A call that waits for a worker, or is with one."""

    body: bytes
    shared: list[_Shared]
    numbers: list[int]
    began: Callable[[str], Any] | None
    sent: Callable[[Any], Any] | None
    future: Future = field(default_factory=Future)
    lost: list[str] = field(default_factory=list)
    key: str = ""
    at_dask: Any = None
    answer: Future | None = None


@dataclass(eq=False)
class _Shared:
    """An object that is sent to workers once; the cluster may lose it with the worker that has it."""

    value: Any
    at_dask: Any = None


class Dispatch:
    """The queue of a cluster, and the thread that serves it.

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
    members : Members
        The workers.
    """

    def __init__(self, client: Client, address: str, needs: Needs) -> None:
        self.client, self.address, self.needs = client, address, needs
        self.members = Members(client, address, needs)
        self._topic = f"svmkit-{uuid.uuid4().hex}"
        self._lock = threading.Lock()
        self._todo: deque[_Call] = deque()
        self._with: dict[str, _Call] = {}  # by worker
        self._shared: list[_Shared] = []
        self._over: SvmkitError | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="svmkit-cluster", daemon=True)

    def start(self) -> None:
        """Find and check the workers, then serve calls; errors as for `Members.wait`."""
        self.client.subscribe_topic(self._topic, self._received)
        self.members.wait()
        self._thread.start()

    def submit(self, function: Any, args: tuple, began: Any, sent: Any) -> Future:
        """As `Cluster.submit`."""
        with self._lock:
            shared = list(self._shared)
        body, numbers = task.packed(function, args, [one.value for one in shared])
        call = _Call(body, [shared[k] for k in numbers], numbers, began, sent)
        with self._lock:
            over = self._over
            if over is None:
                self._todo.append(call)
        if over is not None:
            call.future.set_exception(over)
        return call.future

    @contextmanager
    def sharing(self, values: Sequence[Any]) -> Iterator[None]:
        """As `Cluster.sharing`."""
        ours = [_Shared(value) for value in values]
        with self._lock:
            self._shared = [*self._shared, *ours]
        try:
            yield
        finally:
            with self._lock:
                self._shared = [one for one in self._shared if one not in ours]

    def cancel(self) -> None:
        """As `Cluster.cancel`."""
        with self._lock:
            calls = [*self._todo, *self._with.values()]
        for call in calls:
            call.future.cancel()

    def close(self) -> None:
        """Cancel all calls and end the thread."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join(SILENCE)
        self._end(ClusterLost(f"scheduler {self.address} was closed"))

    # --- the thread

    def _serve(self) -> None:
        try:
            while not self._closed.wait(PAUSE):
                for worker in self.members.look():
                    self._lose(worker)
                self._collect()
                self._hand_out()
                self.members.require(bool(self._todo or self._with))
        except SvmkitError as error:
            self._end(error)
        except Exception as error:  # of the client, whose connection ends at any moment
            known = self.members.is_connected
            self._end(SvmkitError(f"scheduler {self.address}: {one_line(error)}") if known else self.members.gone())

    def _end(self, error: SvmkitError) -> None:
        """Fail all calls that are left, and those to come."""
        with self._lock:
            self._over = self._over or error
            left, self._todo = [*self._todo, *self._with.values()], deque()
        self._with, self.members.threads = {}, {}
        for call in left:
            self._release(call)
            self._settle(call, error)

    # --- workers

    def _lose(self, worker: str) -> None:
        call = self._with.pop(worker, None)
        if call is None:
            self.needs.tell(f"worker {worker} has left the cluster")
            return
        self._release(call)
        self._retry(call, worker)

    def _retry(self, call: _Call, worker: str) -> None:
        """Put a call back whose worker has ended, or fail it if that has happened too often."""
        call.lost.append(worker)
        if len(call.lost) < TRIES:
            self.needs.tell(f"worker {worker} was lost; its work goes to another one")
            with self._lock:
                self._todo.appendleft(call)
            return
        reason = f"its workers ended under it {TRIES} times ({', '.join(call.lost)}), perhaps for their memory"
        self._settle(call, WorkerLost(reason))

    # --- calls

    def _hand_out(self) -> None:
        for worker in self.members.threads:
            if worker in self._with:
                continue
            with self._lock:
                while self._todo and self._todo[0].future.cancelled():
                    self._todo.popleft()
                if not self._todo:
                    return
                call = self._todo.popleft()
            self._with[worker] = call
            data = [self._scattered(one) for one in call.shared]
            call.key = f"svmkit-{uuid.uuid4().hex}"
            call.at_dask = self.client.submit(
                task.run, call.key, self._topic, files(), call.body, call.numbers, *data,
                key=call.key, workers=[worker], allow_other_workers=False, pure=False, retries=0,
            )  # fmt: skip
            if call.began is not None:
                call.began(worker)

    def _scattered(self, one: _Shared) -> Any:
        """Return the object as a future of Dask; it is sent anew if the cluster has lost it."""
        if one.at_dask is None or one.at_dask.status != "finished":
            asked = self.members.ask(self.client.scatter([one.value], hash=False, asynchronous=True))
            while not asked.done():
                if not self.members.is_connected:
                    raise self.members.gone()
                time.sleep(PAUSE)
            one.at_dask = asked.result()[0]
        return one.at_dask

    def _collect(self) -> None:
        """Settle the calls that have ended, and let go of those that were cancelled."""
        for worker, call in list(self._with.items()):
            if call.future.cancelled():
                del self._with[worker]
                self._release(call)
            elif call.answer is None and call.at_dask.status == "finished":
                call.answer = self.members.ask(self.client.gather(call.at_dask, asynchronous=True))
            elif call.at_dask.status not in ("pending", "finished"):
                del self._with[worker]
                self._failed(worker, call)
            elif call.answer is not None and call.answer.done():
                del self._with[worker]
                self._answered(worker, call, call.answer)

    def _answered(self, worker: str, call: _Call, answer: Future) -> None:
        try:
            fine, value = task.unpacked(answer.result())
        except Exception:
            self._failed(worker, call)
            return
        self._release(call)
        self._settle(call, value, fine=fine)

    def _failed(self, worker: str, call: _Call) -> None:
        """Try a call anew that failed, but not in its function: its result or the data that it needs were lost."""
        if not self.members.is_connected:
            raise self.members.gone()
        self._release(call)
        self._retry(call, worker)

    def _settle(self, call: _Call, value: Any, *, fine: bool = False) -> None:
        with suppress(InvalidStateError):  # the caller has cancelled it meanwhile
            if fine:
                call.future.set_result(value)
            else:
                call.future.set_exception(value)

    def _release(self, call: _Call) -> None:
        """Tell the scheduler that nobody waits for a call, so that its worker learns of it."""
        if call.at_dask is not None:
            with suppress(Exception):
                call.at_dask.release()
        if call.answer is not None:
            call.answer.cancel()
        call.at_dask = call.answer = None

    def _received(self, event: tuple[float, Any]) -> None:
        """Pass on a value that a function has sent."""
        said = event[1]
        for call in list(self._with.values()):
            if call.key == said["key"] and call.sent is not None:
                call.sent(said["value"])
