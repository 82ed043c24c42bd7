"""A cluster of Dask distributed: found, or started on this machine, checked, and given calls one at a time a worker."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from svmkit.cluster import Cluster, Needs, scheme_of
from svmkit.data.prepare.reading import Reading
from svmkit.errors import InputError, SvmkitError, Unavailable, one_line
from svmkit.runtime import workers as processes

if TYPE_CHECKING:
    from distributed import LocalCluster

REACH = 7.0  # seconds in which a scheduler must answer
CLOSE = 5.0  # seconds for a friendly end
START = 120.0  # seconds that the processes have to begin on a busy machine
LOOK = 0.1


class DaskCluster(Cluster):
    """The workers of a scheduler of Dask distributed, or worker processes on this machine."""

    schemes = ("tcp", "tls", "local", "file")

    def __init__(self, client: Any, address: str, needs: Needs, end: ExitStack) -> None:
        from svmkit_dask.cluster.queue import Calls, Queue
        from svmkit_dask.cluster.watch import Watch

        self.client, self.address, self._end = client, address, end
        self._watch = Watch(client, address, needs)
        self._calls = Calls(Queue(self._watch))

    @classmethod
    def open(cls, address: str, needs: Needs) -> DaskCluster:
        """As in `Cluster`."""
        import dask
        from distributed import Client
        from distributed.utils import silence_logging_cmgr

        with ExitStack() as end:
            end.enter_context(silence_logging_cmgr(logging.CRITICAL))
            # a call of a search holds the rows of its fold, which are few bytes beside the data
            end.enter_context(dask.config.set({"distributed.admin.large-graph-warning-threshold": "10 GB"}))
            if scheme_of(address) == "local":
                at = start_local(int(address.partition(":")[2]), needs.memory)
                end.callback(at.close, timeout=CLOSE)
                place = at.scheduler_address
            else:
                place = _place(address)
                _require_scheduler(address, place)
            client = Client(place, timeout=REACH, set_as_default=False)
            end.callback(client.close, timeout=CLOSE)
            cluster = cls(client, address, needs, ExitStack())
            try:
                cluster._calls.start()
            except BaseException:
                cluster._calls.close()
                raise
            cluster._end = end.pop_all()
            return cluster

    @property
    def workers(self) -> Mapping[str, int]:
        """As in `Cluster`."""
        return {worker: sight.threads for worker, sight in self._watch.workers.items()}

    def submit(
        self,
        function: Callable[..., Any],
        /,
        *args: Any,
        began: Callable[[str], Any] | None = None,
        sent: Callable[[Any], Any] | None = None,
    ) -> Future[Any]:
        """As in `Cluster`."""
        return self._calls.submit(function, args, began, sent)

    @contextmanager
    def sharing(self, *values: Any) -> Iterator[None]:
        """As in `Cluster`."""
        with self._calls.sharing(values):
            yield

    def cancel(self) -> None:
        """As in `Cluster`."""
        self._calls.cancel()

    def training_data(self, parts: Any, *, reading: Reading, **options: Any) -> Any:
        """As in `Cluster`."""
        from svmkit_dask.cluster.executor import DaskExecutor
        from svmkit_dask.driver.data import make_training_data
        from svmkit_dask.parts.sources import from_paths

        sources = [replace(part, reading=reading) for part in from_paths(parts)]
        return make_training_data(DaskExecutor(self._watch), sources, **options)

    def close(self) -> None:
        """As in `Cluster`."""
        self._calls.close()
        self._end.close()


def start_local(n: int, memory: str | int | None) -> LocalCluster:
    """Start a scheduler in this process and n worker processes of one thread, each with this limit on memory."""
    from distributed import LocalCluster

    made: list[LocalCluster] = []
    failed: list[BaseException] = []

    def make() -> None:
        # threads and processes inherit the mask: Ctrl-C is answered by the main thread of this process alone
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            made.append(
                LocalCluster(
                    n_workers=n,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address=None,
                    scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # else it wants port 8787 all the same
                    silence_logs=logging.CRITICAL,
                    memory_limit=memory or 0,
                    preload=[__name__],
                )
            )
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=make, daemon=True)
    thread.start()
    give_up = time.monotonic() + START
    while thread.is_alive() and time.monotonic() < give_up:  # so that signals are heeded
        thread.join(LOOK)
    if failed:
        raise SvmkitError(f"scheduler local:{n}: the workers could not be started: {one_line(failed[0])}") from None
    if not made:
        raise SvmkitError(f"scheduler local:{n}: the workers did not start within {START:.0f} s")
    return made[0]


async def dask_setup(worker: Any) -> None:
    """Bind a worker process to the process that started it; Dask calls it in the worker."""
    processes.end_with(os.getppid())


def _place(address: str) -> str:
    """Return the scheduler's address, which may stand in its file."""
    if scheme_of(address) != "file":
        return address
    try:
        with open(address, encoding="utf-8") as file:
            return str(json.load(file)["address"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{address} is no scheduler file of Dask ({one_line(error)}): give tcp://HOST:PORT") from None


def _require_scheduler(address: str, place: str) -> None:
    """Raise InputError unless a scheduler of Dask answers at a place within `REACH` seconds."""
    from distributed.comm import connect
    from distributed.security import Security

    async def greet() -> None:
        how = Security().get_connection_args("client")
        if place.startswith("tls:") and how.get("ssl_context") is None:
            raise InputError(f"scheduler {address}: set the certificates, distributed.comm.tls of Dask's configuration")
        comm = await connect(place, timeout=REACH - 2.0, **how)
        comm.abort()

    began = time.monotonic()
    try:
        asyncio.run(asyncio.wait_for(greet(), REACH))
    except TimeoutError:
        raise InputError(
            f"scheduler {address}: something listens there, but it did not answer like a scheduler of Dask within "
            f"{REACH:.0f} s: check the port"
        ) from None
    except OSError as error:
        cause = error.__cause__ or error
        known = re.search(r"\[Errno -?\d+\] (.*)", one_line(cause))
        why = known[1] if known else "nobody answers"
        raise InputError(
            f"scheduler {address} cannot be reached ({why}, tried for {time.monotonic() - began:.0f} s): start it by "
            "`dask scheduler`, or check host and port"
        ) from None
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"scheduler {address}: what listens there is no scheduler of Dask ({type(error).__name__}): check the port"
        ) from None


try:
    import distributed  # noqa: F401
except ImportError:
    raise Unavailable("needs Dask: pip install 'svmkit[dask]'", DaskCluster) from None
