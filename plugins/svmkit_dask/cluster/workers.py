"""The workers of a Dask cluster that hold the parts of a training: the placement of the parts, and the delivery of
messages.
"""

from __future__ import annotations

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any, NoReturn

import dask
import numpy as np
from distributed import Future as Task

from svmkit.errors import Gone, InputError, SvmkitError, one_line
from svmkit.runtime import interrupt
from svmkit_dask.cluster import wire
from svmkit_dask.cluster.watch import TICK, Lost, Packed, Slow, Watch
from svmkit_dask.driver.session import Workers
from svmkit_dask.parts.sources import Source
from svmkit_dask.worker.answers import Message, Own
from svmkit_dask.worker.rows import Change, Space, Spec

GAIN = 0.9  # a part moves if the fullest worker then has at most this share of what it had: a move costs much
PATIENCE = 60.0
SILENCE = 3.0  # seconds that a worker or scheduler may take for a heartbeat, at least
LOSSES = 5  # times that a part may lose its worker in one message
HURRY = 5.0  # seconds without a sign of work that are enough once the driver was interrupted
BEGINNINGS = ("count", "propose")  # the messages that begin a round, before which parts may move to other workers
INSIDE = 32 << 10  # bytes of a change that travels within each call; a larger one is a task of its own
WARNING = "distributed.admin.large-graph-warning-threshold"


class Placement:
    """The worker of each part (`worker_of`), of parts that have these numbers of rows."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = [max(1, size) for size in sizes]
        self.worker_of: dict[int, str] = {}

    def settle(self, workers: Mapping[str, int], parts: Sequence[int]) -> None:
        """Assign each part that none of these workers holds to the one with the least load for its threads."""
        lost = sorted((p for p in parts if self.worker_of.get(p) not in workers), key=lambda p: -self.sizes[p])
        rows = self._rows(workers)
        for p in lost:
            best = min(workers, key=lambda w: ((rows[w] + self.sizes[p]) / workers[w], rows[w]))
            self.worker_of[p] = best
            rows[best] += self.sizes[p]

    def level(self, workers: Mapping[str, int]) -> list[int]:
        """Move parts from the fullest worker to the emptiest one while that pays; return the parts that moved."""
        rows, moved = self._rows(workers), []
        while len(workers) > 1:
            load = {w: rows[w] / workers[w] for w in workers}
            full, bare = max(load, key=lambda w: load[w]), min(load, key=lambda w: load[w])

            def after(p: int, full: str = full, bare: str = bare) -> float:
                size = self.sizes[p]
                return max((rows[full] - size) / workers[full], (rows[bare] + size) / workers[bare])

            mine = [p for p, worker in self.worker_of.items() if worker == full and p not in moved]
            best = min(mine, key=after, default=None)
            if best is None or after(best) > GAIN * load[full]:
                break
            self.worker_of[best] = bare
            rows[full] -= self.sizes[best]
            rows[bare] += self.sizes[best]
            moved.append(best)
        return moved

    def share(self, p: int) -> float:
        """Return the part's share of the rows of its worker."""
        worker = self.worker_of[p]
        return self.sizes[p] / self._rows([worker])[worker]

    def _rows(self, workers: Iterable[str]) -> dict[str, int]:
        rows = dict.fromkeys(workers, 0)
        for p, worker in self.worker_of.items():
            if worker in rows:
                rows[worker] += self.sizes[p]
        return rows


Group = tuple[str, list[int]]  # a worker, and the parts that it is asked for in one task


class PartQueue:
    """Idempotent work on parts, each part by its own worker.

    The parts of a worker that has gone, or that is slow while there are others, move to another one. Work is given up
    after `patience` seconds (> 0, else InputError) in which no part is finished and no busy worker sends a heartbeat. A
    worker without heartbeats for a quarter of that time, or for 3 seconds, is slow. `sizes` of parts are in any unit.
    """

    def __init__(self, watch: Watch, names: Sequence[str], sizes: Sequence[int], patience: float = PATIENCE) -> None:
        if not patience > 0.0:
            raise InputError(f"patience must be a number of seconds > 0, not {patience!r}")
        self.watch, self.names, self.patience, self.silence = watch, list(names), patience, max(SILENCE, patience / 4.0)
        self.placement = Placement(sizes)
        self._before: frozenset[str] = frozenset()

    def usable(self) -> dict[str, int]:
        """Return the workers that accept work, and their numbers of threads."""
        return self.watch.usable(self.silence)

    def level(self) -> int:
        """Move parts to workers that have joined if that pays; return the number of moved parts."""
        usable, before = self.usable(), self._before
        if not usable or frozenset(usable) == before:
            return 0
        self._before = frozenset(usable)
        self.placement.settle(usable, range(len(self.names)))
        return len(self.placement.level(usable))


class Delivery(ABC):
    """One message on its way to parts, by number; `together` says whether the parts of a worker are one task."""

    together = True

    def __init__(self, queue: PartQueue, parts: Sequence[int]) -> None:
        self.queue, self.watch, self.parts = queue, queue.watch, list(parts)
        self.answers: dict[int, Any] = {}
        self._running: dict[asyncio.Task[bytes], Group] = {}
        self._losses: Counter[int] = Counter()
        self._lost: dict[int, float] = {}  # when a part last lost its worker
        self._moved = time.monotonic()  # when the last sign of work was seen

    @abstractmethod
    def _calls(self, groups: list[Group]) -> list[Packed]:
        """Return the call for each group."""

    @abstractmethod
    def _take(self, group: Group, value: Any, size: int) -> dict[int, Any]:
        """Return the answers, by part, of a group; parts without an answer are worked on again."""

    def _forget(self, worker: str) -> None:  # noqa: B027  optional
        """Forget what a worker holds after a task on it was lost."""

    def send(self) -> dict[int, Any]:
        """Return the answer of each part; raise Gone past a bound, InputError or SvmkitError if work on one failed."""
        return self.watch.wait(self._run())

    async def _run(self) -> dict[int, Any]:
        with self.watch.following():
            try:
                while len(self.answers) < len(self.parts):
                    if self.watch.client.status not in ("running", "connecting"):  # it has not rejoined
                        raise Gone("the scheduler of the cluster has gone away")
                    self._hand_out()
                    if self._running:
                        done, _ = await asyncio.wait(self._running, timeout=TICK, return_when=asyncio.FIRST_COMPLETED)
                        for task in done:
                            self._note_end(task, self._running.pop(task))
                    else:
                        await asyncio.sleep(TICK / 10.0)
                    self._require()
                return self.answers
            finally:
                for task in self._running:
                    task.cancel()

    def _hand_out(self) -> None:
        """Hand all parts without a pending task to their workers.

        A part that has lost its worker waits for the next list of workers from the scheduler, so that a connection that
        fails for a moment counts as one of `LOSSES` at most.
        """
        sent = {p for _, parts in self._running.values() for p in parts}
        left = [p for p in self.parts if p not in sent and p not in self.answers]
        left = [p for p in left if self._lost.get(p, -math.inf) < self.watch.answered]
        usable, placement = self.queue.usable(), self.queue.placement
        if not left or not usable or not self.watch.is_connected:
            return
        placement.settle(usable, left)
        groups: dict[tuple[str, int], list[int]] = {}
        for p in left:  # a part that has lost its worker is sent alone, so that it cannot take others down with it
            alone = self._losses[p] or not self.together
            groups.setdefault((placement.worker_of[p], p if alone else -1), []).append(p)
        given = [(worker, parts) for (worker, _), parts in groups.items()]
        for group, call in zip(given, self._calls(given), strict=True):
            answer = self.watch.run(group[0], call._replace(silence=self.queue.silence))
            self._running[asyncio.ensure_future(answer)] = group

    def _note_end(self, task: asyncio.Task[bytes], group: Group) -> None:
        """Record the answers of a task, or that it was lost."""
        worker, parts = group
        try:
            data = task.result()
        except Slow:
            return
        except Lost:
            self._losses.update(parts)
            self._lost |= dict.fromkeys(parts, time.monotonic())
            self._forget(worker)
            return
        except Exception as error:
            raise SvmkitError(f"worker {worker}: {type(error).__name__}: {one_line(error)}") from None
        self._moved = time.monotonic()
        fine, value = wire.loads(data)
        if not fine:
            self._fail(parts[0], value, worker)
        self.answers |= self._take(group, value, len(data))

    def _fail(self, p: int, error: BaseException, worker: str) -> NoReturn:
        """Raise what ended the work on a part."""
        is_input, name = isinstance(error, InputError | OSError), self.queue.names[p]
        text = one_line(error) if is_input else f"{type(error).__name__}: {one_line(error)}"
        reason = text if text.startswith(name) else f"{name}: {text}"
        raise (InputError if is_input else SvmkitError)(f"{reason} (worker {worker})")

    def _require(self) -> None:
        """Raise Gone once a bound is passed."""
        for p, times in self._losses.items():
            if times >= LOSSES:
                raise Gone(
                    f"{self.queue.names[p]}: its workers ended under it {times} times: look at their logs and memory"
                )
        now = time.monotonic()
        for worker, _ in self._running.values():
            sight = self.watch.workers.get(worker)
            if sight is not None and not sight.is_paused:
                self._moved = max(self._moved, sight.at)
        waited = now - self._moved
        if waited > self.queue.patience or (waited > HURRY and interrupt.asked()):
            raise Gone(self._reason(now))

    def _reason(self, now: float) -> str:
        """Return what the work is waiting for."""
        watch = self.watch
        if not watch.is_connected or now - watch.answered > self.queue.silence:
            return f"the scheduler of the cluster has not answered for {now - watch.answered:.0f} s"
        if not watch.workers:
            return f"the cluster has had no worker for {now - self._moved:.0f} s"
        for worker, parts in self._running.values():
            sight, name = watch.workers.get(worker), self.queue.names[parts[0]]
            if sight is not None and sight.is_paused:
                return f"worker {worker}, which has {name}, is paused, as its memory is nearly used up"
            if sight is not None:
                return f"worker {worker}, which has {name}, was last seen {now - sight.at:.0f} s ago"
        return f"no worker of the cluster has taken work for {now - self._moved:.0f} s"


class Counters:
    """The cost of the messages to n_parts parts, and the `moves` of parts to workers that have joined."""

    def __init__(self, n_parts: int) -> None:
        self.moves = self.brings = 0
        self._loads = [0] * n_parts
        self._began = time.perf_counter()
        self._kinds: dict[str, Counter[str]] = defaultdict(Counter)
        self._rounds = [0]  # bytes of each
        self._workers: dict[str, dict[str, float]] = {}

    def add(self, asking: _Asking, wall: float) -> None:
        """Add a message that took so many seconds."""
        do, sent, received, needed = asking.message.do, asking.sent, 0, Counter[str]()
        for worker, reply, size in asking.replies:
            needed[worker] += reply.seconds
            received += size
            known = self._workers.setdefault(worker, {"seconds": 0.0, "peak_memory": 0})
            known["seconds"] += reply.seconds
            known["peak_memory"] = reply.peak
            self.brings += len(reply.answers) * (do == "bring")
            for p in reply.loaded:
                self._loads[p] += 1
        compute = max(needed.values(), default=0.0)
        self._kinds[do].update(messages=1, sent=sent, received=received, wall=wall, compute=compute)
        if do in ("propose", "slopes"):  # with which a round begins
            self._rounds.append(0)
        self._rounds[-1] += sent + received

    def details(self) -> dict[str, Any]:
        """Return all of it as a dictionary for JSON; sizes in bytes, times in seconds."""
        total: Counter[str] = Counter()
        for kind in self._kinds.values():
            total.update(kind)
        wall, compute = total["wall"], total["compute"]
        return {
            "rounds": len(self._rounds) - 1,
            "messages": total["messages"],
            "sent": total["sent"],
            "received": total["received"],
            "bytes_of_rounds": list(self._rounds),
            "seconds": {"compute": compute, "wait": wall - compute, "driver": time.perf_counter() - self._began - wall},
            "kinds": {name: dict(kind) for name, kind in self._kinds.items()},
            "reloads": sum(max(0, loads - 1) for loads in self._loads),
            "brings": self.brings,
            "moves": self.moves,
            "workers": {worker: dict(known) for worker, known in self._workers.items()},
            "peak_memory": wire.peak_memory(),
        }


class DaskWorkers(Workers):
    """The workers of a Dask cluster, which hold parts until `end`; parameters as of `Origin` and `PartQueue`."""

    def __init__(
        self,
        watch: Watch,
        sources: Sequence[Source],
        sizes: Sequence[int],
        space: Space,
        classes: np.ndarray | None,
        *,
        patience: float = PATIENCE,
    ) -> None:
        self.sources, self.space, self.classes = list(sources), space, classes
        self.names = [source.name for source in self.sources]
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.queue = PartQueue(watch, self.names, np.diff(self.offsets).tolist(), patience)
        self.counters = Counters(len(self.sources))
        self.problems: dict[int, Spec] = {}  # those that are open
        self._numbers = count()
        self.held: dict[str, Task] = {}  # what each worker holds, as a result of Dask

    def open(self, spec: Spec) -> int:
        problem = next(self._numbers)
        self.problems[problem] = spec
        return problem

    def close(self, problem: int) -> None:
        """Forget a problem; workers do so when they get the next message."""
        self.problems.pop(problem, None)

    def end(self) -> None:
        """Let workers forget all parts; messages cannot be sent any more."""
        self.problems.clear()
        self.queue.watch.spent += self.held.values()
        self.held.clear()
        self.queue.watch.clear()

    def ask(self, problem, message, own, change, parts):
        """Send a message to the workers that hold some parts and return the answers, in the order of `parts`.

        Parameters
        ----------
        problem, message, own, change, parts
            As for `Workers.ask`.
        """
        began = time.perf_counter()
        if message.do in BEGINNINGS:
            self.counters.moves += self.queue.level()
        asking = _Asking(self, problem, message, dict(zip(parts, own, strict=True)), change)
        try:
            answers = asking.send()
        finally:
            self.queue.watch.spent += asking.carriers
        self.counters.add(asking, time.perf_counter() - began)
        return [answers[p] for p in parts]


class _Asking(Delivery):
    """A message of a driver; parameters as for `Workers.ask`."""

    def __init__(
        self, workers: DaskWorkers, problem: int, message: Message, own: dict[int, Own], change: Change | None
    ) -> None:
        super().__init__(workers.queue, list(own))
        self.workers, self.problem, self.message, self.own, self.change = workers, problem, message, own, change
        self.sent, self.carriers = 0, list[Task]()  # its bytes, before what Dask adds to them
        self.replies: list[tuple[str, wire.Reply, int]] = []  # of a worker's address, with their bytes
        self._lacking: set[int] = set()  # parts whose worker has to learn how to make them
        self._body = b"" if change is None else wire.dumps(change)

    def _calls(self, groups):
        us, watch, calls = self.workers, self.watch, []
        carried = self._carriers(sorted({worker for worker, _ in groups}))
        sizes, share = np.diff(us.offsets).tolist(), us.queue.placement.share
        for worker, parts in groups:
            held = us.held.get(worker)
            if held is None or held.status in ("cancelled", "lost", "error"):
                held = us.held[worker] = watch.client.submit(wire.Held, key=watch.key("svmkit-held"), workers=worker)
            origins = {
                p: wire.Origin(us.sources[p], us.space, us.classes, sizes[p], share(p))
                for p in self._lacking.intersection(parts)
            }
            own, spec = {p: self.own[p] for p in parts}, us.problems[self.problem]
            call = wire.Call(self.problem, tuple(us.problems), spec, self.message, own, origins)
            shared: list[Any] = [held, *carried]
            change = carried[0] if carried else self.change
            body, numbers = wire.pack(wire.work, (call, held, change), shared)
            self.sent += len(body)
            key = watch.key(f"svmkit-{self.message.do}")
            # Dask's tasks carry large data and load parts, which may wait for other tasks
            aside = held.key if held.status == "finished" and not (origins or carried) else None
            calls.append(Packed(key, body, numbers, [shared[k] for k in numbers], held=aside))
        return calls

    def _forget(self, worker: str) -> None:
        # its data may be what was lost: Dask fails the tasks that need them before it informs the client
        held = self.workers.held.pop(worker, None)
        self.watch.spent += [] if held is None else [held]

    def _take(self, group, reply, size):
        worker, parts = group
        for p, error in reply.failures.items():
            self._fail(p, error, worker)
        self._lacking.difference_update(reply.answers)
        self._lacking.update(set(parts) - set(reply.answers))
        self.replies.append((worker, reply, size))
        return reply.answers

    def _carriers(self, to: list[str]) -> list[Task]:
        """Return the task that brings workers a large change, which they pass on to each other; none for small ones."""
        watch, body = self.watch, self._body
        if len(body) <= INSIDE:
            return []
        with dask.config.set({WARNING: "100 GB"}):  # unlike scattered data, Dask makes it again if its worker is lost
            task = watch.client.submit(wire.loads, body, key=watch.key("svmkit-change"), workers=to)
        self.carriers.append(task)
        self.sent += len(body) * len(to)
        return [task]
