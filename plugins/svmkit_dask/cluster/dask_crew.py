"""The crew whose parts are on the workers of a Dask cluster."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np
from distributed import Client

from svmkit_dask.cluster.asking import Asking
from svmkit_dask.cluster.calls import Origin
from svmkit_dask.cluster.counters import Counters
from svmkit_dask.cluster.workers import PATIENCE, Workers
from svmkit_dask.driver.session import Crew
from svmkit_dask.parts.sources import Source
from svmkit_dask.worker.features import Space
from svmkit_dask.worker.rows import Spec

LEVELS = ("count", "propose")  # the messages that begin a round, before which parts may move to other workers


class DaskCrew(Crew):
    """The workers of a Dask cluster; a context manager that lets go of what they hold at its end.

    A worker makes its parts from their sources. A part whose worker is lost, or slow while there are others, goes to
    another worker, which makes it anew.

    Parameters
    ----------
    client : Client
        A connected client.
    sources : sequence of Source
        The parts, in the storage of all parts.
    sizes : sequence of int
        The number of rows of each part.
    space : Space
        Where the rows lie.
    classes : ndarray
        The labels of all parts, sorted.
    patience : float, default=60.0
        As for `Workers`, for each message.

    Attributes
    ----------
    workers : Workers
        The workers, and the part that each has.
    counters : Counters
        What the messages have cost so far.
    """

    def __init__(
        self,
        client: Client,
        sources: Sequence[Source],
        sizes: Sequence[int],
        space: Space,
        classes: np.ndarray,
        *,
        patience: float = PATIENCE,
    ) -> None:
        self.sources, self.space, self.classes = list(sources), space, classes
        self.names = [source.name for source in self.sources]
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.workers = Workers(client, self.names, np.diff(self.offsets).tolist(), patience)
        self.counters = Counters(len(self.sources))
        self.problems: dict[int, Spec] = {}
        self._numbers = count()

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
        self.workers.end()

    def __enter__(self) -> DaskCrew:
        return self

    def __exit__(self, *raised: object) -> None:
        self.end()

    def ask(self, problem, message, own, change, parts):
        began = time.perf_counter()
        if message.do in LEVELS:
            self.counters.moves += self.workers.level()
        asking = Asking(self, problem, message, dict(zip(parts, own, strict=True)), change)
        answers = asking.run()
        self.counters.asked(message.do, asking.traffic, time.perf_counter() - began, len(answers))
        return [answers[p] for p in parts]

    def details(self) -> dict[str, Any]:
        """Return what the messages have cost, for JSON."""
        return self.counters.details()

    def origin(self, p: int) -> Origin:
        """Return how a part is made."""
        n_rows = int(self.offsets[p + 1] - self.offsets[p])
        return Origin(self.sources[p], self.space, self.classes, n_rows, self.workers.homes.share(p))
