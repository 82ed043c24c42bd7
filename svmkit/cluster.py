"""Clusters: processes on this machine or on others that call functions, one call at a time each.

`connect` opens a cluster by its address. What it opens is a plugin of the group ``svmkit.clusters``; the schedulers are
other people's, and the core knows the interface only.
"""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from svmkit.errors import InputError, SvmkitError, SvmkitWarning, Unavailable
from svmkit.plugins import describe, names
from svmkit.plugins.contracts import fault_of_texts

MOST_LOCAL = 256  # processes of local:N
WAIT = 30.0  # seconds that a cluster may be without workers
LOOK = 0.1  # seconds between two looks at the caller's flag
_FORMS = "tcp://HOST:PORT, tls://HOST:PORT, a scheduler file, or local:N"


class WorkerLost(SvmkitError):
    """The workers that were given a call ended before it did, as often as it was tried."""


class ClusterLost(SvmkitError):
    """The scheduler has gone away, or no worker is left."""


@dataclass(frozen=True)
class Needs:
    """What is asked of a cluster."""

    solvers: Sequence[str] = ()  # those that each worker has to have, of the same package in the same version as here
    memory: str | int | None = None  # limit on each process of local:N, such as "1GB"; None sets no limit
    wait: float = WAIT  # seconds that the cluster may be without workers
    # called with one line when a worker is waited for, lost or refused, from any thread; None gives an SvmkitWarning
    notify: Callable[[str], Any] | None = None

    def tell(self, line: str) -> None:
        """Pass on one line."""
        if self.notify is not None:
            self.notify(line)
        else:
            warnings.warn(line, SvmkitWarning, stacklevel=2)


class Cluster(ABC):
    """Workers that call functions, one call at a time each; a context manager that releases them at its end."""

    # the kinds of addresses that it opens: "tcp" for tcp://..., "local" for local:N, "file" for that of a scheduler
    schemes: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def fault(cls) -> str | None:
        """Return what is wrong with `schemes`, in words that follow the name of the cluster, or None."""
        return fault_of_texts(cls, "schemes", '("tcp",)')

    @classmethod
    @abstractmethod
    def open(cls, address: str, needs: Needs) -> Cluster:
        """Connect to the cluster at an address, or start it, and check its workers; errors as for `connect`."""

    @property
    @abstractmethod
    def workers(self) -> Mapping[str, int]:
        """The addresses of the workers that can be given a call now, and the number of threads of each."""

    @abstractmethod
    def submit(
        self,
        function: Callable[..., Any],
        /,
        *args: Any,
        began: Callable[[str], Any] | None = None,
        sent: Callable[[Any], Any] | None = None,
    ) -> Future[Any]:
        """Have a worker call a function; calls begin in the order in which they were submitted.

        A call whose worker ends is given to another one, a bounded number of times. The future has the value, or the
        exception that the function raised; `WorkerLost` if its workers ended, `ClusterLost` if the cluster did. Its
        `cancel` works at any time, and the function learns of it (`Here.wanted`).

        Parameters
        ----------
        function, *args : callable, object
            The function, which `here` tells on the worker about its surroundings, and its arguments.
        began : callable, default=None
            Called with the worker's address when a worker is given the call, each time.
        sent : callable, default=None
            Called with each value that the function sends (`Here.send`).
        """

    @abstractmethod
    def sharing(self, *values: Any) -> AbstractContextManager[None]:
        """In the block, these very objects travel to a worker once, not with each call whose arguments hold them."""

    def training_data(self, parts: Any, method: Any, reading: Any) -> Any:
        """Return training data whose parts the workers hold.

        Parameters
        ----------
        parts, method, reading : object, Method, Reading
            Files that each worker has at the same place, what is done with them, and how a table is read.
        """
        raise InputError(f"clusters of the class {type(self).__name__} hold no parts to train on")

    @abstractmethod
    def cancel(self) -> None:
        """Cancel all calls that have not ended."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the cluster, whose pending calls are cancelled; processes that were started here end."""

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def n_workers(self) -> int:
        """The number of workers that can be given a call now."""
        return len(self.workers)

    def map(
        self,
        function: Callable[[Any], Any],
        arguments: Iterable[Any],
        *,
        began: Callable[[int, str], Any] | None = None,
        stop: Any = False,
    ) -> Iterator[tuple[int, Future[Any]]]:
        """Call a function for each argument, and yield the argument's number and the call as each of them ends.

        Parameters
        ----------
        function, arguments : callable, iterable
            A function of one argument, and the arguments.
        began : callable, default=None
            Called with the number of an argument and a worker's address when that worker is given the call.
        stop : object, default=False
            Looked at again and again; once it is true, the calls that are left are cancelled.
        """
        at: dict[Future[Any], int] = {}
        for k, argument in enumerate(arguments):
            at[self.submit(function, argument, began=began and partial(began, k))] = k
        left = set(at)
        try:
            while left and not stop:
                ended, left = wait(left, LOOK, FIRST_COMPLETED)
                for future in sorted(ended, key=at.__getitem__):
                    yield at[future], future
        finally:
            for future in left:
                future.cancel()

    def parallel_backend(self, sent: Callable[[Any], Any] | None = None) -> AbstractContextManager[Any]:
        """Run the parallel loops of joblib, and so of scikit-learn, on the workers while the block runs.

        `sent` is called with each value that a task sends (`Here.send`).
        """
        import joblib

        from svmkit.runtime.joblib_backend import FutureBackend

        submit = partial(self.submit, sent=sent)
        return joblib.parallel_config(backend=FutureBackend(submit, lambda: self.n_workers), n_jobs=-1)


class Here(ABC):
    """The surroundings of a function that a worker calls: the worker's address, and the number of its threads."""

    worker: str
    threads: int

    @property
    @abstractmethod
    def wanted(self) -> bool:
        """Whether anybody still waits for the function: False once the call is cancelled or its caller has ended."""

    @abstractmethod
    def send(self, value: Any) -> None:
        """Send a value of JSON's types to the caller at once (`Cluster.submit`, sent)."""


_here: ContextVar[Here | None] = ContextVar("svmkit_here", default=None)


def here() -> Here | None:
    """Return the surroundings of the running function on a cluster; None in any other process."""
    return _here.get()


@contextmanager
def enter_surroundings(by: Here) -> Iterator[None]:
    """Let `here` return these surroundings in the block; for plugins."""
    token = _here.set(by)
    try:
        yield
    finally:
        _here.reset(token)


def connect(
    address: str,
    *,
    solvers: Sequence[str] = (),
    memory: str | int | None = None,
    wait: float = WAIT,
    notify: Callable[[str], Any] | None = None,
) -> Cluster:
    """Connect to a cluster, or start one on this machine; its workers have been found to have svmkit in this version.

    Parameters
    ----------
    address : str
        tcp://HOST:PORT or tls://HOST:PORT of a scheduler, the path of its scheduler file, or local:N, which starts N
        worker processes with one thread each on this machine; they end with the cluster, and with this process.
    solvers, memory, wait, notify : sequence of str, str or int or None, float, callable or None
        As for `Needs`.

    Raises
    ------
    InputError, Unavailable, ClusterLost
        The address is not valid, no scheduler answers there within 10 seconds, or a worker has another version; the
        software that it takes is not installed; the cluster got no workers within `wait` seconds.
    """
    scheme = scheme_of(address)
    missing: Unavailable | None = None
    for row in describe("cluster"):
        if row.status == "ok" and scheme in row.plugin.schemes:
            return row.plugin.open(address, Needs(tuple(solvers), memory, wait, notify))
        if row.status == "unavailable" and (row.plugin is None or scheme in row.plugin.schemes):
            missing = Unavailable(f"scheduler {address}: {row.error}", row.plugin)
        elif row.status == "broken":
            missing = missing or Unavailable(f"scheduler {address}: {row.error}")
    known = ", ".join(names("cluster")) or "none"
    raise missing or InputError(f"scheduler {address}: no cluster takes such addresses; installed: {known}")


def scheme_of(address: str) -> str:
    """Return the kind of an address, as in `Cluster.schemes`; raise InputError for text that is no address."""
    kind, _, rest = address.partition(":")
    if kind == "local":
        if not re.fullmatch("[0-9]{1,9}", rest) or not 1 <= int(rest) <= MOST_LOCAL:
            raise InputError(f"scheduler {address!r}: local:N takes a whole number N from 1 to {MOST_LOCAL}")
        return kind
    if rest.startswith("//"):
        match = re.fullmatch(r"([a-z]+)://(?:\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):([0-9]{1,5})/?", address)
        if not match or not 0 < int(match[2]) < 65536:
            raise InputError(f"scheduler {address!r} is no address: write {kind}://HOST:PORT, as tcp://10.0.0.5:8786")
        return match[1]
    if Path(address).is_file():
        return "file"
    raise InputError(f"scheduler {address!r} is neither an address nor an existing file: give {_FORMS}")
