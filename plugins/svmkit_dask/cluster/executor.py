"""The workers of a Dask cluster as the executor of work on parts, and parts that are results of Dask."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dask
from distributed import Client, Future, get_worker, wait, worker_client
from tlz import identity

from svmkit.errors import InputError
from svmkit_dask.cluster import wire
from svmkit_dask.cluster.watch import Packed, Watch
from svmkit_dask.cluster.workers import PATIENCE, DaskWorkers, Delivery, PartQueue
from svmkit_dask.parts.collections import from_collections, is_collection
from svmkit_dask.parts.part import Part
from svmkit_dask.parts.sources import ChunkPart, Source, from_paths


@dataclass(frozen=True)
class HeldPart(Source):
    """A part that is a result of Dask, such as a chunk of a persisted array; workers pass it on, or recompute it."""

    name: str
    future: Future | None = field(compare=False)  # the result, a `Source`. It stays with the driver
    key: str  # its key

    def _load(self, cache: Path | None, most: int) -> Part:
        worker = get_worker()
        if self.key in worker.data:
            return worker.data[self.key].load(cache, most)
        with worker_client() as client:  # this task lets another run meanwhile; Dask fetches or computes the result
            copy = client.submit(identity, Future(self.key, client), workers=[worker.address], pure=False)
            wait(copy)
            source = worker.data[copy.key] if copy.key in worker.data else copy.result()
        return source.load(cache, most)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"future": None}


class _Visit(Delivery):
    """A function that is called with each of some parts; parameters as for `DaskExecutor.map`."""

    together = False

    def __init__(self, queue: PartQueue, function: Any, sources: Sequence[Source], args: tuple) -> None:
        super().__init__(queue, range(len(sources)))
        self._bodies = [wire.pack(wire.visit, (function, source, args)) for source in sources]

    def _calls(self, groups):
        return [Packed(self.watch.key("svmkit-part"), *self._bodies[p]) for _, (p,) in groups]

    def _take(self, group, value, size):
        return {group[1][0]: value}


class DaskExecutor:
    """The workers of a Dask cluster as the executor of work on parts; `patience` is that of `PartQueue`."""

    def __init__(self, watch: Watch, patience: float = PATIENCE) -> None:
        self.watch, self.patience = watch, patience
        self._worker_of: dict[str, str] = {}  # where each part was worked on, by its name

    def map(self, function: Callable[..., Any], sources: Sequence[Source], *args: Any) -> list[Any]:
        """Return function(part, name, *args) for the part that each source makes; InputError names one that fails."""
        queue = PartQueue(self.watch, [source.name for source in sources], [1] * len(sources), self.patience)
        queue.placement.worker_of.update(self._places(sources))
        try:
            answers = _Visit(queue, function, sources, args).send()
        finally:
            self.watch.clear()
        self._worker_of.update({source.name: queue.placement.worker_of[p] for p, source in enumerate(sources)})
        return [answers[p] for p in range(len(sources))]

    def workers(self, sources: Sequence[Source], *given: Any) -> DaskWorkers:
        """Return the workers that hold the parts; the other arguments are those of `DaskWorkers`."""
        workers = DaskWorkers(self.watch, sources, *given, patience=self.patience)
        workers.queue.placement.worker_of.update(self._places(sources))
        return workers

    def _places(self, sources: Sequence[Source]) -> dict[int, str]:
        """Return where parts were processed, or where the results of Dask are that they consist of."""
        places = {p: self._worker_of[one.name] for p, one in enumerate(sources) if one.name in self._worker_of}
        fresh = {
            p: source.future
            for p, source in enumerate(sources)
            if p not in places and isinstance(source, HeldPart) and source.future is not None
        }

        async def ask() -> dict[Any, Sequence[str]]:
            return dict(await self.watch.client.who_has(list(fresh.values())))

        has: dict[Any, Sequence[str]] = {}
        if fresh:
            with suppress(Exception):  # for a cluster that is gone, which the visit detects
                has = self.watch.begin(ask()).result(self.patience)
        return places | {p: has[future.key][0] for p, future in fresh.items() if has.get(future.key)}


def sources_from(client: Client, X: Any, *given: Any) -> list[Source]:
    """Return the parts of the arguments of `fit`, X, y and weights: collections, lists of delayed arrays, or files."""
    first, (y, sample_weight) = X[0] if isinstance(X, list | tuple) and len(X) else X, given
    if isinstance(first, str | os.PathLike):
        if y is not None or sample_weight is not None:
            raise InputError("y and sample_weight go with collections: files hold their labels themselves")
        return list(from_paths(X))
    if y is None:
        raise InputError("y is missing: give the labels beside a collection, as a dask array or a column's name")
    if isinstance(X, list | tuple):
        lists = [one for one in (X, y, sample_weight) if one is not None]
        if any(not isinstance(one, list | tuple) or len(one) != len(X) for one in lists) or not len(X):
            raise InputError("X is a list: y and sample_weight must be lists with as many delayed arrays")
        part = dask.delayed(ChunkPart, pure=False)
        parts = [part(f"part {p} of {len(X)}", *arrays) for p, arrays in enumerate(zip(*lists, strict=True), start=1)]
    elif is_collection(X):  # persisted collections are kept until the parts are requested
        persisted = [client.persist(one) if is_collection(one) else one for one in (X, y, sample_weight)]
        parts = from_collections(*persisted)
    else:
        raise InputError(
            f"X is {type(X).__name__}, which is in the memory of this process: train it with SVMClassifier, or pass a "
            "dask array (dask.array.from_array(X, chunks))"
        )
    futures, n = client.compute(parts), len(parts)
    return [HeldPart(f"part {p} of {n}", future, future.key) for p, future in enumerate(futures, start=1)]
