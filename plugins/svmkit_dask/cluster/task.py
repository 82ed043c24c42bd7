"""A call on its way to a worker of Dask, and on the worker."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import cloudpickle
from distributed import Worker, get_worker

from svmkit import cluster
from svmkit.errors import SvmkitError, one_line
from svmkit.plugins import PluginFile, load_files

_RUNNING = ("executing", "long-running")  # states of a task of Dask for which somebody still waits


class _Pickler(cloudpickle.Pickler):
    """Writes the number of a shared object in its place."""

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


def packed(function: Callable[..., Any], args: tuple, shared: Sequence[Any]) -> tuple[bytes, list[int]]:
    """Return a call as bytes, and the numbers of the shared objects that it holds, which are not among the bytes."""
    file = io.BytesIO()
    pickler = _Pickler(file, shared)
    pickler.dump((function, args))
    return file.getvalue(), sorted(pickler.used)


class DaskHere(cluster.Here):
    """The surroundings of a call on a worker of Dask.

    Parameters
    ----------
    worker : Worker
        The worker.
    key, topic : str
        The name of the call, and the topic of Dask's events by which its values are sent.
    """

    def __init__(self, worker: Worker, key: str, topic: str) -> None:
        self.worker, self.threads = worker.address, worker.state.nthreads
        self._worker, self._key, self._topic = worker, key, topic

    @property
    def wanted(self) -> bool:
        """As in `Here`: Dask cancels the tasks of a client that has gone, too."""
        task = self._worker.state.tasks.get(self._key)
        return task is not None and task.state in _RUNNING and self._worker.status.name == "running"

    def send(self, value: Any) -> None:
        """As in `Here`."""
        self._worker.log_event(self._topic, {"key": self._key, "value": value})


def run(key: str, topic: str, files: tuple[PluginFile, ...], call: bytes, numbers: list[int], *shared: Any) -> bytes:
    """Do a call on the worker, which loads the caller's plugin files first; return what `unpacked` takes."""
    with cluster.surrounded(DaskHere(get_worker(), key, topic)):
        try:
            load_files(files)
            function, args = _Unpickler(io.BytesIO(call), dict(zip(numbers, shared, strict=True))).load()
            return cloudpickle.dumps((True, function(*args)))
        except BaseException as error:  # KeyboardInterrupt is how a fit says that nobody waits for it
            return cloudpickle.dumps((False, _portable(error)))


def unpacked(answer: bytes) -> tuple[bool, Any]:
    """Return whether the function of a call returned, and its value or its exception."""
    fine, value = pickle.loads(answer)
    return fine, value


def _portable(error: BaseException) -> BaseException:
    """Return an exception that survives the way back, without its frames, which may hold the data."""
    error = error.with_traceback(None)
    error.__cause__ = error.__context__ = None
    with suppress(Exception):
        if type(pickle.loads(cloudpickle.dumps(error))) is type(error):
            return error
    return SvmkitError(f"{type(error).__name__}: {one_line(error)}")
