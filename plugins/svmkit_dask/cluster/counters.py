"""What the messages of the workers have cost: bytes, seconds and memory."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from svmkit_dask.cluster.wire import Reply, peak_memory


class Counters:
    """What the messages to n_parts parts have cost, and the `moves` of parts to workers that have joined."""

    def __init__(self, n_parts: int) -> None:
        self.moves = self.brings = 0
        self._loads = [0] * n_parts
        self._began = time.perf_counter()
        self._kinds: dict[str, Counter[str]] = defaultdict(Counter)
        self._rounds = [0]  # bytes of each
        self._workers: dict[str, dict[str, float]] = {}

    def add(self, do: str, wall: float, sent: int, replies: Sequence[tuple[str, Reply, int]]) -> None:
        """Add a message.

        Parameters
        ----------
        do, wall, sent : str, float, int
            What it asked for, the seconds that it took, and its bytes, before what Dask adds to them.
        replies : sequence of tuple
            The address of a worker, what it has answered, and how many bytes that took.
        """
        needed: Counter[str] = Counter()
        received = 0
        for worker, reply, size in replies:
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
        if do == "propose":
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
            "peak_memory": peak_memory(),
        }
