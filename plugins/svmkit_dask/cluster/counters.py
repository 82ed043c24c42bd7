"""What the messages of the workers have cost: bytes, seconds and memory."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from svmkit_dask.cluster.wire import Reply, peak_memory


@dataclass
class Traffic:
    """What one message has cost."""

    sent: int = 0  # bytes, before what Dask adds to them
    received: int = 0
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))  # what each worker needed to answer
    peaks: dict[str, int] = field(default_factory=dict)  # the most bytes of memory that each worker has used so far
    loaded: list[int] = field(default_factory=list)  # the parts that were loaded

    def add(self, worker: str, reply: Reply) -> None:
        """Add a reply."""
        self.seconds[worker] += reply.seconds
        self.peaks[worker] = reply.peak
        self.loaded += reply.loaded


@dataclass
class _Kind:
    """What the messages of one kind have cost."""

    messages: int = 0
    sent: int = 0
    received: int = 0
    wall: float = 0.0
    compute: float = 0.0


class Counters:
    """What the messages to n_parts parts have cost, and the `moves` of parts to workers that have joined."""

    def __init__(self, n_parts: int) -> None:
        self.moves = self.brings = 0
        self._loads = [0] * n_parts
        self._began = time.perf_counter()
        self._kinds: dict[str, _Kind] = defaultdict(_Kind)
        self._rounds = [0]  # bytes of each
        self._busy: dict[str, float] = defaultdict(float)
        self._peaks: dict[str, int] = {}

    def add(self, do: str, traffic: Traffic, wall: float, n_parts: int) -> None:
        """Add a message to n_parts parts that took `wall` seconds."""
        kind = self._kinds[do]
        kind.messages += 1
        kind.sent += traffic.sent
        kind.received += traffic.received
        kind.wall += wall
        kind.compute += max(traffic.seconds.values(), default=0.0)
        if do == "propose":
            self._rounds.append(0)
        self._rounds[-1] += traffic.sent + traffic.received
        self.brings += n_parts * (do == "bring")
        for p in traffic.loaded:
            self._loads[p] += 1
        for worker, seconds in traffic.seconds.items():
            self._busy[worker] += seconds
        self._peaks |= traffic.peaks

    def details(self) -> dict[str, Any]:
        """Return all of it as a dictionary for JSON; sizes in bytes, times in seconds."""
        kinds = self._kinds.values()
        wall, compute = sum(kind.wall for kind in kinds), sum(kind.compute for kind in kinds)
        return {
            "rounds": len(self._rounds) - 1,
            "messages": sum(kind.messages for kind in kinds),
            "sent": sum(kind.sent for kind in kinds),
            "received": sum(kind.received for kind in kinds),
            "bytes_of_rounds": list(self._rounds),
            "seconds": {"compute": compute, "wait": wall - compute, "driver": time.perf_counter() - self._began - wall},
            "kinds": {name: dict(vars(kind)) for name, kind in self._kinds.items()},
            "reloads": sum(max(0, loads - 1) for loads in self._loads),
            "brings": self.brings,
            "moves": self.moves,
            "workers": {
                worker: {"seconds": self._busy[worker], "peak_memory": self._peaks[worker]} for worker in self._peaks
            },
            "peak_memory": peak_memory(),
        }
