"""What a worker process holds for crews: parts, and the rows of problems. All of it can be made anew.

A crew leaves a `Lease` on each of its workers, as the result of a task. Dask drops it once nobody refers to that task
any more, as when the crew is closed or its driver has died, and with it goes all that the process holds for the crew.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from distributed import get_worker

from svmkit.runtime import threads
from svmkit_dask.cluster.calls import Call, Failure, Origin, Reply, failure_of, packed, unpacked
from svmkit_dask.worker.answers import answer
from svmkit_dask.worker.rows import Change, Portion, Rows

CACHE = "svmkit-parts"  # the folder of decoded rows below the local directory of a worker
BASE = 300 << 20  # bytes of a process that holds no rows yet, compiled loops included
PER_ROW = 120  # bytes of weights, gradients and bounds that a problem keeps for each row
FOR_PARTS = 0.4  # share of what is left that parts may hold in memory: an engine may need a copy of its rows


class _Cell:
    """Something of a part, and the lock of those who use it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.value: Any = None


class Holding:
    """The parts and the rows that this process holds."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # the end of a lease may come at any point
        self._portions: dict[tuple[str, int], _Cell] = {}
        self._rows: dict[tuple[str, int, int], _Cell] = {}

    def portion(self, run: str, p: int) -> _Cell:
        """Return the place of a part of a crew."""
        with self._lock:
            return self._portions.setdefault((run, p), _Cell())

    def rows(self, run: str, problem: int, p: int) -> _Cell:
        """Return the place of the rows of a part in a problem."""
        with self._lock:
            return self._rows.setdefault((run, problem, p), _Cell())

    def close(self, run: str, still: tuple[int, ...]) -> None:
        """Forget the rows of all problems of a crew but these."""
        with self._lock:
            for key in [key for key in self._rows if key[0] == run and key[1] not in still]:
                del self._rows[key]

    def forget(self, run: str) -> None:
        """Forget all that is held for a crew."""
        with self._lock:
            for held in (self._portions, self._rows):
                for key in [key for key in held if key[0] == run]:
                    del held[key]

    def runs(self) -> set[str]:
        """Return the names of the crews for which something is held."""
        with self._lock:
            return {key[0] for held in (self._portions, self._rows) for key in held}


HERE = Holding()


class Lease:
    """What a crew leaves on a worker: with it ends what the process holds for the crew."""

    def __init__(self, run: str) -> None:
        self.run = run

    def __del__(self) -> None:
        with suppress(Exception):  # the process may be ending
            HERE.forget(self.run)


def work(body: bytes, change: bytes | None = None) -> bytes:
    """Do on a worker what a call asks for; `change` is the one that came as a task of its own."""
    began = time.perf_counter()
    call: Call = unpacked(body)
    worker = get_worker()
    given = change if change is not None else call.change
    whole: Change | None = None if given is None else unpacked(given)
    HERE.close(call.run, call.open)
    answers: dict[int, Any] = {}
    loaded: list[int] = []
    failures: dict[int, Failure] = {}
    with threads.using(min(worker.state.nthreads, threads.most())):
        for p, own in call.own.items():
            try:
                cell = HERE.rows(call.run, call.problem, p)
                with cell.lock:
                    if cell.value is None:
                        portion = _portion(call, p, worker, loaded)
                        if portion is None:
                            continue
                        cell.value = portion.rows(call.spec)
                    rows: Rows = cell.value
                    answers[p] = answer(rows, call.message, own, whole)
            except Exception as error:
                failures[p] = failure_of(error)
                break
    return packed(Reply(answers, failures, time.perf_counter() - began, tuple(loaded), peak_memory()))


def _portion(call: Call, p: int, worker: Any, loaded: list[int]) -> Portion | None:
    """Return a part, which is loaded if it is not held; None if the call does not say how."""
    cell = HERE.portion(call.run, p)
    with cell.lock:
        origin = call.origins.get(p)
        if cell.value is None and origin is not None:
            cache = Path(worker.local_directory) / CACHE
            cell.value = origin.portion(origin.source.load(cache, _room(origin, worker.memory_manager.memory_limit)))
            loaded.append(p)
        return cell.value


def _room(origin: Origin, limit: int | None) -> int:
    """Return the bytes that a part may hold on a worker with this limit on its memory."""
    if not limit:
        return sys.maxsize
    left = limit - BASE - PER_ROW * origin.n_rows / max(origin.share, 1e-9)
    return max(0, int(FOR_PARTS * origin.share * left))


def peak_memory() -> int:
    """Return the most bytes of memory that this process has used so far."""
    with suppress(OSError), open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    with suppress(ImportError):  # of Windows
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return int(most if sys.platform == "darwin" else 1024 * most)
    return 0
