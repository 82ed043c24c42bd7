"""The workers of a Dask cluster as the place where parts are worked on, and parts that are results of Dask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, Future, get_worker, wait, worker_client

from svmkit.runtime import threads
from svmkit_dask.cluster.calls import Failure, failure_of, packed, unpacked
from svmkit_dask.cluster.dask_crew import DaskCrew
from svmkit_dask.cluster.delivery import Delivery, Job
from svmkit_dask.cluster.holding import CACHE
from svmkit_dask.cluster.watch import Watch
from svmkit_dask.cluster.workers import PATIENCE, Workers
from svmkit_dask.driver.session import Crew
from svmkit_dask.driver.training import Ground
from svmkit_dask.parts.part import Layout, Part
from svmkit_dask.parts.sources import Source
from svmkit_dask.worker.features import Space


@dataclass(frozen=True)
class HeldPart(Source):
    """A part that is a result of Dask, such as a chunk of a persisted array; workers pass it on, or make it anew.

    Parameters
    ----------
    name : str
        The part in messages.
    future : Future or None
        The result, a `Source`. It stays with the driver.
    key : str
        Its key.
    layout : Layout, default=None
        The storage of all parts, once it is known.
    """

    name: str
    future: Future | None = field(compare=False)
    key: str
    layout: Layout | None = None

    def load(self, cache: Path | None, most: int) -> Part:
        source = self._source()
        return (source if self.layout is None else source.laid_out(self.layout)).load(cache, most)

    def _source(self) -> Source:
        """Return the result on a worker, which gets it from the one that has it, or from a task that makes it anew."""
        worker = get_worker()
        if self.key in worker.data:
            return worker.data[self.key]
        with worker_client() as client:  # this task lets another one run meanwhile
            copy = client.submit(_same, Future(self.key, client), workers=[worker.address], pure=False)
            wait(copy)
            return worker.data[copy.key] if copy.key in worker.data else copy.result()

    def laid_out(self, layout: Layout) -> HeldPart:
        return replace(self, layout=layout)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"future": None}


def _same(source: Source) -> Source:
    return source


def held(client: Client, parts: Sequence[Any]) -> list[HeldPart]:
    """Let a cluster compute delayed parts, and return what describes them."""
    futures = client.compute(list(parts))
    n = len(futures)
    return [HeldPart(f"part {p} of {n}", future, future.key) for p, future in enumerate(futures, start=1)]


class OnCluster(Ground):
    """Parts on the workers of a Dask cluster.

    Parameters
    ----------
    client : Client
        A connected client.
    patience : float, default=60.0
        As for `Workers`.
    """

    def __init__(self, client: Client, patience: float = PATIENCE) -> None:
        self.client, self.patience = client, patience
        self._homes: dict[str, str] = {}  # where each part was worked on, by its name

    def each(self, function, sources, *args):
        workers = Workers(self.client, [source.name for source in sources], [1] * len(sources), self.patience)
        workers.homes.of.update(self._places(sources, workers.watch))
        try:
            found = Visit(workers, sources, function, args).run()
        finally:
            workers.end()
        self._homes.update({source.name: workers.homes.of[p] for p, source in enumerate(sources)})
        return [found[p] for p in range(len(sources))]

    def crew(self, sources: Sequence[Source], sizes: Sequence[int], space: Space, classes: np.ndarray) -> Crew:
        crew = DaskCrew(self.client, sources, sizes, space, classes, patience=self.patience)
        crew.workers.homes.of.update(self._places(sources, crew.workers.watch))
        return crew

    def _places(self, sources: Sequence[Source], watch: Watch) -> dict[int, str]:
        """Return where parts were worked on, or where the results of Dask are that they are made of."""
        places = {p: self._homes[source.name] for p, source in enumerate(sources) if source.name in self._homes}
        fresh = {
            p: source.future
            for p, source in enumerate(sources)
            if p not in places and isinstance(source, HeldPart) and source.future is not None
        }
        has: Mapping[Any, Sequence[str]] = {}
        if fresh:
            with suppress(Exception):  # of a cluster that is gone, which the visit finds out
                has = watch.begin(self._who_has(list(fresh.values()))).result(self.patience)
        return places | {p: has[future.key][0] for p, future in fresh.items() if has.get(future.key)}

    async def _who_has(self, futures: list[Future]) -> Mapping[Any, Sequence[str]]:
        return await self.client.who_has(futures)


class Visit(Delivery):
    """A function on its way to the workers that make parts, of each of which it is to be called once.

    Parameters
    ----------
    workers : Workers
        The workers.
    sources : sequence of Source
        The parts.
    function : callable
        Called with the part, its name and `args`.
    args : tuple
        Further arguments.
    """

    together = False

    def __init__(
        self, workers: Workers, sources: Sequence[Source], function: Callable[..., Any], args: tuple[Any, ...]
    ) -> None:
        super().__init__(workers, range(len(sources)))
        self.sources, self.function, self.args = sources, function, args

    def tasks(self, groups):
        client = self.workers.client
        return [
            client.submit(
                _called,
                self.function,
                self.sources[p],
                self.args,
                key=self.workers.key("svmkit-part"),
                workers=[worker],
                pure=False,
            )
            for worker, (p,) in groups
        ]

    def heed(self, job: Job, data: bytes) -> None:
        (p,), answer = job.parts, unpacked(data)
        if isinstance(answer, Failure):
            self.fail(p, answer, job.worker)
        self.answers[p] = answer


def _called(function: Callable[..., Any], source: Source, args: tuple[Any, ...]) -> bytes:
    """Call a function with a part, on a worker."""
    worker = get_worker()
    with threads.using(min(worker.state.nthreads, threads.most())):
        try:
            part = source.load(Path(worker.local_directory) / CACHE, 0)
            return packed(function(part, source.name, *args))
        except Exception as error:
            return packed(failure_of(error))
