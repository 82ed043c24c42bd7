"""A cluster of Dask distributed: found or started on this machine, checked, and given one call at a time per worker."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from svmkit.cluster import Cluster, ClusterLost, Needs, WorkerLost, scheme_of
from svmkit.data.prepare.reading import Reading
from svmkit.errors import InputError, SvmkitError, Unavailable, one_line
from svmkit.training.settings import Method

if find_spec("distributed") is not None:
    from svmkit_dask.cluster import wire
    from svmkit_dask.cluster.watch import SILENCE, Packed, Watch

REACH = 7.0  # seconds in which a scheduler must answer
CLOSE = 5.0  # seconds for a graceful shutdown
START = 120.0  # seconds that the processes may take to start on a busy machine
PAUSE = 0.05  # seconds between two checks for free workers
TRIES = 3  # workers to which a call is given in turn if they end during it


@dataclass(eq=False)
class _Shared:
    """An object that is sent to the workers once; the cluster may lose it together with the worker that holds it."""

    value: Any
    at_dask: Any = None


@dataclass(eq=False)
class _Call:
    """A call that waits for a worker, or that a worker makes."""

    packed: tuple[bytes, list[int]]
    shared: list[_Shared]
    began: Callable[[str], Any] | None
    sent: Callable[[Any], Any] | None
    future: Future = field(default_factory=Future)
    lost: list[str] = field(default_factory=list)  # the workers that have ended during it
    key: str = ""
    running: asyncio.Task | None = None

    def drop(self) -> None:
        """Drop a call whose result is no longer needed."""
        if self.running is not None:
            self.running.cancel()

    def settle(self, value: Any, fine: bool = False) -> None:
        """End the call with a value or an exception, unless the caller has cancelled it meanwhile."""
        with suppress(InvalidStateError):
            (self.future.set_result if fine else self.future.set_exception)(value)


class DaskCluster(Cluster):
    """The workers of a scheduler of Dask distributed, or worker processes on this machine."""

    schemes = ("tcp", "tls", "local", "file")

    def __init__(self, client: Any, address: str, needs: Needs) -> None:
        self.client, self.address, self.needs, self._end = client, address, needs, ExitStack()
        self._watch = Watch(client, address, needs)
        self._todo: deque[_Call] = deque()
        self._with: dict[str, _Call] = {}  # by worker
        self._shared: list[_Shared] = []
        self._sending = asyncio.Lock()
        self._over: SvmkitError | None = None

    @classmethod
    def open(cls, address: str, needs: Needs) -> DaskCluster:
        import dask
        from distributed import Client
        from distributed.utils import silence_logging_cmgr

        with ExitStack() as end:
            end.enter_context(silence_logging_cmgr(logging.CRITICAL))
            # a call of a search holds the rows of its fold, which are few bytes beside the data
            end.enter_context(dask.config.set({"distributed.admin.large-graph-warning-threshold": "10 GB"}))
            scheme, place = scheme_of(address), address
            if scheme == "local":
                at = start_local(int(address.partition(":")[2]), needs.memory)
                end.callback(at.close, timeout=CLOSE)
                place = at.scheduler_address
            elif scheme == "file":
                try:
                    with open(address, encoding="utf-8") as file:
                        place = str(json.load(file)["address"])
                except (OSError, ValueError, KeyError, TypeError) as error:
                    text = f"{address} is no scheduler file of Dask ({one_line(error)}): give tcp://HOST:PORT"
                    raise InputError(text) from None
            if scheme != "local":
                _require_scheduler(address, place)
            client = Client(place, timeout=REACH, set_as_default=False)
            end.callback(client.close, timeout=CLOSE)
            cluster = cls(client, address, needs)
            try:
                client.subscribe_topic(cluster._watch.name, cluster._pass_on)
                cluster._watch.wait(cluster._watch.first())
            except BaseException:
                cluster.close()
                raise
            cluster._watch.on_loss = cluster._note_loss
            cluster._watch.begin(cluster._serve())
            cluster._end = end.pop_all()
            return cluster

    @property
    def workers(self) -> Mapping[str, int]:
        return {worker: sight.threads for worker, sight in self._watch.workers.items()}

    def submit(self, function, /, *args, began=None, sent=None):
        """Queue a call for the next free worker; return its future.

        Parameters
        ----------
        function, *args, began, sent : callable, object, callable or None, callable or None
            As for `Cluster.submit`.
        """
        shared = list(self._shared)
        packed = wire.pack(function, args, [one.value for one in shared])
        call = _Call(packed, [shared[k] for k in packed[1]], began, sent)
        call.future.add_done_callback(lambda future: future.cancelled() and self._soon(call.drop))
        if not (self._soon(self._todo.append, call) and self._soon(self._hand_out)):
            call.settle(self._over or self._watch.gone())
        return call.future

    @contextmanager
    def sharing(self, *values: Any) -> Iterator[None]:
        ours = [_Shared(value) for value in values]
        self._shared = [*self._shared, *ours]
        try:
            yield
        finally:
            self._shared = [one for one in self._shared if one not in ours]

    def cancel(self) -> None:
        for call in [*self._todo, *self._with.values()]:
            call.future.cancel()

    def training_data(self, parts: Any, method: Method, reading: Reading) -> Any:
        """Return training data whose parts the workers hold, as `ScatteredData`.

        Parameters
        ----------
        parts, method, reading : object, Method, Reading
            As for `Cluster.training_data`.
        """
        from svmkit_dask.cluster.executor import DaskExecutor
        from svmkit_dask.driver.data import ScatteredData
        from svmkit_dask.parts.sources import from_paths

        return ScatteredData(DaskExecutor(self._watch), from_paths(parts, reading), method)

    def close(self) -> None:
        error = ClusterLost(f"scheduler {self.address} was closed")
        with suppress(Exception):  # of a loop that has ended
            self._watch.begin(self._fail_all(error)).result(SILENCE)
        self._over = self._over or error
        self._end.close()

    def _soon(self, function: Callable[..., Any], *args: Any) -> bool:
        """Have the client's loop call a function; return whether there is a loop."""
        try:
            self.client.loop.asyncio_loop.call_soon_threadsafe(function, *args)
        except RuntimeError:
            return False
        return True

    # --- in the client's loop

    async def _serve(self) -> None:
        watch = self._watch
        try:
            with watch.following():
                while self._over is None:
                    watch.require(bool(self._todo or self._with))
                    self._hand_out()
                    await asyncio.sleep(PAUSE)
        except SvmkitError as error:
            await self._fail_all(error)
        except Exception as error:  # of the client, whose connection ends at any moment
            text = f"scheduler {self.address}: {one_line(error)}"
            await self._fail_all(SvmkitError(text) if watch.is_connected else watch.gone())

    async def _fail_all(self, error: SvmkitError) -> None:
        """Fail all remaining calls, and later ones."""
        self._over = self._over or error
        self._watch.workers = {}
        for call in list(self._with.values()):
            call.drop()
            call.settle(error)
        self._hand_out()
        self._watch.clear()
        await asyncio.sleep(0)  # so that the cancelled tasks release what they hold

    def _note_loss(self, worker: str) -> None:
        if worker not in self._with:
            self.needs.tell(f"worker {worker} has left the cluster")

    def _hand_out(self) -> None:
        """Give calls to the workers that have none, or end them all once the cluster is gone."""
        while self._over is not None and self._todo:
            self._todo.popleft().settle(self._over)
        for worker in self._watch.workers:
            while self._todo and self._todo[0].future.cancelled():
                self._todo.popleft()
            if not self._todo:
                return
            if worker not in self._with:
                call = self._with[worker] = self._todo.popleft()
                call.key = self._watch.key("svmkit-call")
                call.running = asyncio.ensure_future(self._do(call, worker))

    async def _do(self, call: _Call, worker: str) -> None:
        """Have a worker do a call, and settle it or put it back."""
        try:
            if call.began is not None:
                await asyncio.to_thread(call.began, worker)
            shared = [await self._send_shared(one) for one in call.shared]
            answer = await self._watch.run(worker, Packed(call.key, *call.packed, shared))
            fine, value = wire.loads(answer)
        except Exception:  # outside its function: its worker, its result or the data that it needs were lost
            fine, value = False, None
            if self._watch.is_connected:  # else `_serve` ends all calls
                call.lost.append(worker)
                if len(call.lost) == TRIES:
                    where = f"({', '.join(call.lost)}), perhaps for their memory"
                    value = WorkerLost(f"its workers ended under it {TRIES} times {where}")
                else:
                    self.needs.tell(f"worker {worker} was lost; its work goes to another one")
            if value is None:
                self._todo.appendleft(call)
        finally:
            del self._with[worker]
            self._hand_out()
        if fine or value is not None:
            await asyncio.to_thread(call.settle, value, fine)

    async def _send_shared(self, one: _Shared) -> Any:
        """Return a shared object as a future of Dask; it is sent anew if the cluster has lost it."""
        async with self._sending:
            if one.at_dask is None or one.at_dask.status != "finished":
                (one.at_dask,) = await self.client.scatter([one.value], hash=False, asynchronous=True)
            return one.at_dask

    def _pass_on(self, event: tuple[float, Any]) -> None:
        said = event[1]
        for call in list(self._with.values()):
            if call.key == said["key"] and call.sent is not None:
                call.sent(said["value"])


def leave_interrupts() -> None:
    """Block Ctrl-C in this thread, where the system can, and in the threads and processes that it starts, which inherit
    the mask: the main thread of this process alone answers.
    """
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def start_local(n: int, memory: str | int | None) -> Any:
    """Start a scheduler in this process and n worker processes of one thread, each with this limit on memory."""
    from distributed import LocalCluster

    made: Future[Any] = Future()

    def make() -> None:
        leave_interrupts()
        try:
            cluster = LocalCluster(
                n_workers=n,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address=None,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # else it wants port 8787 all the same
                silence_logs=logging.CRITICAL,
                memory_limit=memory or 0,
                preload=[__package__],
            )
            made.set_result(cluster)
        except BaseException as error:
            made.set_exception(error)

    threading.Thread(target=make, daemon=True).start()
    if not wait([made], START).done:
        raise SvmkitError(f"scheduler local:{n}: the workers did not start within {START:.0f} s")
    error = made.exception()
    if error is not None:
        raise SvmkitError(f"scheduler local:{n}: the workers could not be started: {one_line(error)}") from None
    return made.result()


def _refusal(place: str) -> str:
    """Return why no connection to a place can be made, in the words of the system."""
    from distributed.comm import get_address_host_port

    try:
        socket.create_connection(get_address_host_port(place), timeout=1.0).close()
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or "nobody answers"
    return "nobody answers"


def _require_scheduler(address: str, place: str) -> None:
    """Raise InputError unless a scheduler of Dask answers at a place within `REACH` seconds."""
    from distributed.comm import connect
    from distributed.security import Security

    how, began = Security().get_connection_args("client"), time.monotonic()
    if place.startswith("tls:") and how.get("ssl_context") is None:
        raise InputError(f"scheduler {address}: set the certificates, distributed.comm.tls of Dask's configuration")

    async def greet() -> None:
        (await connect(place, timeout=REACH - 2.0, **how)).abort()

    try:
        asyncio.run(asyncio.wait_for(greet(), REACH))
    except TimeoutError:
        raise InputError(
            f"scheduler {address}: something listens there, but it did not answer like a scheduler of Dask within "
            f"{REACH:.0f} s: check the port"
        ) from None
    except OSError as error:
        known = re.search(r"\[Errno -?\d+\] (.*)", one_line(error.__cause__ or error))
        why = known[1] if known else _refusal(place)  # Dask forgets the errors of its tries if the last one is too slow
        raise InputError(
            f"scheduler {address} cannot be reached ({why}, tried for {time.monotonic() - began:.0f} s): start it by "
            "`dask scheduler`, or check host and port"
        ) from None
    except Exception as error:
        raise InputError(
            f"scheduler {address}: what listens there is no scheduler of Dask ({type(error).__name__}): check the port"
        ) from None


if find_spec("distributed") is None:
    raise Unavailable("needs Dask: pip install 'svmkit[dask]'", DaskCluster)
