"""The workers of a Dask cluster as the place where parts are worked on, and parts that are results of Dask."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, Future, get_worker, wait, worker_client

from svmkit.errors import InputError
from svmkit_dask.cluster import wire
from svmkit_dask.cluster.watch import Watch
from svmkit_dask.cluster.workers import PATIENCE, DaskWorkers, PartQueue
from svmkit_dask.driver.session import Executor, Workers
from svmkit_dask.parts.collections import from_collections, is_collection
from svmkit_dask.parts.part import Layout, Part
from svmkit_dask.parts.sources import ChunkPart, Source, from_paths
from svmkit_dask.worker.features import Space


@dataclass(frozen=True)
class HeldPart(Source):
    """A part that is a result of Dask, such as a chunk of a persisted array; workers pass it on, or make it anew."""

    name: str  # the part in messages
    future: Future | None = field(compare=False)  # the result, a `Source`. It stays with the driver
    key: str  # its key
    layout: Layout | None = None  # the storage of all parts, once it is known

    def load(self, cache: Path | None, most: int) -> Part:
        source = self._source()
        return (source if self.layout is None else source.with_layout(self.layout)).load(cache, most)

    def _source(self) -> Source:
        """Return the result on a worker, which gets it from the one that has it, or from a task that makes it anew."""
        worker = get_worker()
        if self.key in worker.data:
            return worker.data[self.key]
        with worker_client() as client:  # this task lets another one run meanwhile
            copy = client.submit(_same, Future(self.key, client), workers=[worker.address], pure=False)
            wait(copy)
            return worker.data[copy.key] if copy.key in worker.data else copy.result()

    def with_layout(self, layout: Layout) -> HeldPart:
        return replace(self, layout=layout)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"future": None}


def _same(source: Source) -> Source:
    return source


class DaskExecutor(Executor):
    """Parts on the workers of a Dask cluster; `patience` is that of `PartQueue`."""

    def __init__(self, watch: Watch, patience: float = PATIENCE) -> None:
        self.watch, self.patience = watch, patience
        self._worker_of: dict[str, str] = {}  # where each part was worked on, by its name

    def map(self, function, sources, *args):
        queue = PartQueue(self.watch, [source.name for source in sources], [1] * len(sources), self.patience)
        queue.placement.worker_of.update(self._places(sources))

        def calls(groups: list[tuple[str, list[int]]]) -> list[tuple[str, bytes, list[int], list[Any]]]:
            bodies = [wire.pack(wire.visit, (function, sources[p], args)) for _, (p,) in groups]
            return [(queue.key("svmkit-part"), body, numbers, []) for body, numbers in bodies]

        try:
            answers = queue.deliver(
                range(len(sources)), calls, lambda group, value, _: {group[1][0]: value}, together=False
            )
        finally:
            queue.end()
        self._worker_of.update({source.name: queue.placement.worker_of[p] for p, source in enumerate(sources)})
        return [answers[p] for p in range(len(sources))]

    def workers(
        self, sources: Sequence[Source], sizes: Sequence[int], space: Space, classes: np.ndarray | None
    ) -> Workers:
        workers = DaskWorkers(self.watch, sources, sizes, space, classes, patience=self.patience)
        workers.queue.placement.worker_of.update(self._places(sources))
        return workers

    def _places(self, sources: Sequence[Source]) -> dict[int, str]:
        """Return where parts were worked on, or where the results of Dask are that they are made of."""
        places = {p: self._worker_of[one.name] for p, one in enumerate(sources) if one.name in self._worker_of}
        fresh = {
            p: source.future
            for p, source in enumerate(sources)
            if p not in places and isinstance(source, HeldPart) and source.future is not None
        }
        has: Mapping[Any, Sequence[str]] = {}
        if fresh:
            with suppress(Exception):  # of a cluster that is gone, which the visit finds out
                has = self.watch.begin(self._who_has(list(fresh.values()))).result(self.patience)
        return places | {p: has[future.key][0] for p, future in fresh.items() if has.get(future.key)}

    async def _who_has(self, futures: list[Future]) -> Mapping[Any, Sequence[str]]:
        return await self.watch.client.who_has(futures)


def sources_from(client: Client, X: Any, y: Any, sample_weight: Any) -> list[Source]:
    """Return the parts of what `fit` of an estimator was given: collections, lists of delayed arrays, or files.

    Parameters
    ----------
    client : Client
        Computes chunks of collections.
    X, y, sample_weight
        As for `DaskSVMClassifier.fit`.
    """
    first = X[0] if isinstance(X, list | tuple) and len(X) else X
    if isinstance(first, str | os.PathLike):
        if y is not None or sample_weight is not None:
            raise InputError("y and sample_weight go with collections: files hold their labels themselves")
        return list(from_paths(X))
    if y is None:
        raise InputError("y is missing: give the labels beside a collection, as a dask array or a column's name")
    if isinstance(X, list | tuple):
        return _computed_parts(client, _delayed_parts(X, y, sample_weight))
    if is_collection(X):  # what is persisted is kept until the parts are asked for
        persisted = [client.persist(one) if is_collection(one) else one for one in (X, y, sample_weight)]
        return _computed_parts(client, from_collections(*persisted))
    raise InputError(
        f"X is {type(X).__name__}, which is in the memory of this process: train it with SVMClassifier, or pass a "
        "dask array (dask.array.from_array(X, chunks))"
    )


def _computed_parts(client: Client, parts: list[Any]) -> list[Source]:
    """Have a cluster compute delayed parts, and return what describes them."""
    futures, n = client.compute(parts), len(parts)
    return [HeldPart(f"part {p} of {n}", future, future.key) for p, future in enumerate(futures, start=1)]


def _delayed_parts(X: Any, y: Any, sample_weight: Any) -> list[Any]:
    """Return the parts of lists of delayed arrays (or futures), one part for each of them."""
    import dask

    lists = [X, y] if sample_weight is None else [X, y, sample_weight]
    if any(not isinstance(one, list | tuple) or len(one) != len(X) for one in lists) or not len(X):
        raise InputError("X is a list: y and sample_weight must be lists with as many delayed arrays")
    part = dask.delayed(ChunkPart, pure=False)
    return [part(f"part {p} of {len(X)}", *arrays) for p, arrays in enumerate(zip(*lists, strict=True), start=1)]
