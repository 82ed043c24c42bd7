"""Messages between a driver and the workers of a Dask cluster, and how a worker handles them and holds data."""

from __future__ import annotations

import asyncio
import io
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
from distributed import Worker, get_worker

from svmkit import cluster
from svmkit.errors import InputError, SvmkitError, one_line
from svmkit.plugins import PluginFile, load_files
from svmkit.runtime import threads
from svmkit_dask.parts.sources import Source
from svmkit_dask.worker.answers import Message, Own, answer
from svmkit_dask.worker.rows import Change, Portion, Rows, Space, Spec, portion_of

dumps, loads = cloudpickle.dumps, pickle.loads  # for messages; only this module names them
_RUNNING = ("executing", "long-running")  # states of a task of Dask whose result is still needed
CACHE = "svmkit-parts"  # the folder of decoded rows below the local directory of a worker
BASE = 300 << 20  # bytes of a process without rows, compiled loops included
PER_ROW = 120  # bytes of weights, gradients and bounds that a problem keeps for each row
FOR_PARTS = 0.4  # share of the rest that parts may hold in memory: an engine may need a copy of its rows


class _Pickler(cloudpickle.Pickler):
    """Writes the number of a shared object instead of the object."""

    def __init__(self, file: io.BytesIO, shared: Sequence[Any]) -> None:
        super().__init__(file)
        self.numbers = {id(value): k for k, value in enumerate(shared)}
        self.used: set[int] = set()

    def persistent_id(self, obj: Any) -> int | None:
        number = self.numbers.get(id(obj))
        if number is not None:
            self.used.add(number)
        return number


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, shared: dict[int, Any]) -> None:
        super().__init__(file)
        self.shared = shared

    def persistent_load(self, pid: Any) -> Any:
        return self.shared[pid]


def pack(function: Callable[..., Any], args: tuple, shared: Sequence[Any] = ()) -> tuple[bytes, list[int]]:
    """Return a call as bytes, and the numbers of its shared objects, which are not among the bytes."""
    file = io.BytesIO()
    pickler = _Pickler(file, shared)
    pickler.dump((function, args))
    return file.getvalue(), sorted(pickler.used)


def run(task: tuple[str, str], files: tuple[PluginFile, ...], call: tuple[bytes, list[int]], *shared: Any) -> bytes:
    """Run the call on the worker; return, pickled, whether its function returned, and its value or its exception.

    `task` is its key, and the topic of Dask's events for values that the function sends; the call and its shared
    objects come from `pack`. The caller's plugin files are loaded first. All bytes come only from the scheduler's own
    network.
    """
    return _run(get_worker(), task, files, call, shared)


async def run_aside(
    task: tuple[str, str], files: tuple[PluginFile, ...], call: tuple[bytes, list[int]], held: str, dask_worker: Worker
) -> bytes | None:
    """Do the same as `run` on a thread of Dask's tasks but without a task; None if the worker lacks the held object.

    A task waits in queues of the client, the scheduler and the worker, for longer than a small message takes.

    Parameters
    ----------
    task, files, call, held, dask_worker : tuple, tuple, tuple, str, Worker
        As for `run`, and the key of the one shared object; Dask adds the worker.
    """
    if held not in dask_worker.data:
        return None
    given = dask_worker, task, files, call, (dask_worker.data[held],)
    return await asyncio.get_running_loop().run_in_executor(dask_worker.executors["default"], _run, *given)


def _run(worker: Worker, task: tuple[str, str], files: tuple[PluginFile, ...], call: tuple, shared: tuple) -> bytes:
    with cluster.enter_surroundings(DaskHere(worker, *task)):
        try:
            load_files(files)
            body, numbers = call
            function, args = _Unpickler(io.BytesIO(body), dict(zip(numbers, shared, strict=True))).load()
            return dumps((True, function(*args)))
        except BaseException as error:  # a fit raises KeyboardInterrupt once its result is no longer needed
            return dumps((False, _portable(error)))


def _portable(error: BaseException) -> BaseException:
    """Return an exception that survives the way back, without its frames, which may hold the data."""
    error = error.with_traceback(None)
    error.__cause__ = error.__context__ = None
    with suppress(Exception):
        if type(loads(dumps(error))) is type(error):
            return error
    return SvmkitError(f"{type(error).__name__}: {one_line(error)}")


class DaskHere(cluster.Here):
    """The environment of a call on a worker of Dask; parameters as for `run`."""

    def __init__(self, worker: Worker, key: str, topic: str) -> None:
        self.worker, self.threads = worker.address, worker.state.nthreads
        self.of_dask, self._key, self._topic = worker, key, topic

    @property
    def wanted(self) -> bool:
        task = self.of_dask.state.tasks.get(self._key)  # Dask also cancels the tasks of a client that has gone
        return task is not None and task.state in _RUNNING and self.of_dask.status.name == "running"

    def send(self, value: Any) -> None:
        self.of_dask.log_event(self._topic, {"key": self._key, "value": value})


class Origin(NamedTuple):
    """All data from which a worker can make the portion of a part anew at any time."""

    source: Source  # the rows
    space: Space  # where the rows of all parts lie
    classes: np.ndarray | None  # the labels of all parts, sorted: the code of a row is the place of its label
    n_rows: int  # the number of rows that the part had when its facts were learnt
    share: float  # the part's share of the worker's memory for rows

    def portion(self, worker: Worker) -> Portion:
        """Make the portion on a worker; raise InputError if the rows have changed."""
        source, room = self.source, _room(self, worker.memory_manager.memory_limit)
        part = source.load(Path(worker.local_directory) / CACHE, room)
        if part.n_rows != self.n_rows:
            raise InputError(f"{source.name}: had {self.n_rows} rows and has {part.n_rows}: it was changed")
        portion = portion_of(part, self.space, self.classes)
        if self.classes is not None and (portion.answers < 0).any():
            raise InputError(f"{source.name}: holds labels that it did not hold before: it was changed")
        return portion


class Call(NamedTuple):
    """A message to the parts of one worker."""

    problem: int  # the number of the problem
    open: tuple[int, ...]  # the open problems: rows of others are dropped
    spec: Spec  # the problem
    message: Message  # what to do
    own: dict[int, Own]  # for each part, by number, the data for that part only
    origins: Mapping[int, Origin]  # how parts are made, for parts that the worker is known to lack


class Reply(NamedTuple):
    """A worker's answer to a call."""

    answers: dict[int, Any]  # by part; parts that the worker lacks, with no origin given, are left out
    failures: dict[int, BaseException]  # the part at which the work failed; later parts were not tried
    seconds: float  # the time that the worker needed
    loaded: tuple[int, ...]  # the parts that were loaded
    peak: int  # the peak memory of the process so far, in bytes


@dataclass
class _Cell:
    """An object of a part, and the lock of its users."""

    lock: Any = field(default_factory=threading.RLock)
    value: Any = None


class Held:
    """What a worker holds for one driver: parts, and the rows of problems. All of it can be made anew.

    It is the result of a task, and Dask drops it with that task. A copy of it, as for another worker, is empty.
    """

    def __init__(self) -> None:
        self.portions: dict[int, _Cell] = {}
        self.rows: dict[tuple[int, int], _Cell] = {}  # by problem and part

    def __reduce__(self) -> tuple[Any, ...]:
        return Held, ()


def work(call: Call, held: Held, change: Change | None) -> Reply:
    """Do a call's work for its parts on a worker; `change` is the large data that all parts share."""
    # several threads may call this at once: a dictionary's own methods are atomic, and each cell has a lock
    began = time.perf_counter()
    for key in list(held.rows):
        if key[0] not in call.open:
            held.rows.pop(key, None)
    answers: dict[int, Any] = {}
    loaded: list[int] = []
    failures: dict[int, BaseException] = {}
    with _all_threads() as worker:
        for p, own in call.own.items():
            try:
                rows, portion = held.rows.setdefault((call.problem, p), _Cell()), held.portions.setdefault(p, _Cell())
                with rows.lock:
                    with portion.lock:
                        if rows.value is None and portion.value is None and p in call.origins:
                            portion.value = call.origins[p].portion(worker)
                            loaded.append(p)
                    if rows.value is None and portion.value is not None:
                        rows.value = Rows(portion.value, call.spec)
                    if rows.value is not None:
                        answers[p] = answer(rows.value, call.message, own, change)
            except Exception as error:
                failures[p] = _portable(error)
                break
    return Reply(answers, failures, time.perf_counter() - began, tuple(loaded), peak_memory())


def visit(function: Callable[..., Any], source: Source, args: tuple[Any, ...]) -> Any:
    """Return function(part, name, *args) for the part that a source makes, on a worker."""
    with _all_threads() as worker:
        return function(source.load(Path(worker.local_directory) / CACHE, 0), source.name, *args)


@contextmanager
def _all_threads() -> Iterator[Worker]:
    """Use all threads of this worker inside the block."""
    here = cluster.here()
    assert isinstance(here, DaskHere)
    worker = here.of_dask
    with threads.using(min(worker.state.nthreads, threads.most())):
        yield worker


def _room(origin: Origin, limit: int | None) -> int:
    """Return the bytes that a part may hold on a worker with this limit on its memory."""
    if not limit:
        return sys.maxsize
    left = limit - BASE - PER_ROW * origin.n_rows / max(origin.share, 1e-9)
    return max(0, int(FOR_PARTS * origin.share * left))


def peak_memory() -> int:
    """Return the peak memory of this process so far, in bytes."""
    with suppress(OSError), open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    with suppress(ImportError):  # of Windows
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return int(most if sys.platform == "darwin" else 1024 * most)
    return 0
