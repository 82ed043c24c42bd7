"""From parts to training data: what each part says of itself, and the workers that hold the parts."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from svmkit.data.prepare.features import Features as Rows
from svmkit.errors import InputError
from svmkit.kernels.extent import FAR, NOWHERE, WORTH, Extent
from svmkit.kernels.forms import Argument
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.kernels.loops.norms import square_norms
from svmkit_dask.driver.data import ScatteredData
from svmkit_dask.driver.session import LocalWorkers, Workers
from svmkit_dask.parts.facts import facts_of
from svmkit_dask.parts.part import Part
from svmkit_dask.parts.sources import Source
from svmkit_dask.parts.summary import Summary
from svmkit_dask.worker.features import Features, Space
from svmkit_dask.worker.rows import Portion


class Executor(ABC):
    """Where the parts are worked on."""

    @abstractmethod
    def map(self, function: Callable[..., Any], sources: Sequence[Source], *args: Any) -> list[Any]:
        """Return function(part, name, *args) of the part that each source makes.

        A part that cannot be made, or that the function refuses, raises InputError, which names it.
        """

    @abstractmethod
    def workers(self, sources: Sequence[Source], sizes: Sequence[int], space: Space, classes: np.ndarray) -> Workers:
        """Return the workers that hold the parts, which have so many rows."""


class LocalExecutor(Executor):
    """Parts in the memory of this process."""

    def __init__(self) -> None:
        self._parts: dict[int, Part] = {}

    def _part(self, source: Source) -> Part:
        if id(source) not in self._parts:
            self._parts[id(source)] = source.load(None, sys.maxsize)
        return self._parts[id(source)]

    def map(self, function, sources, *args):
        return [function(self._part(source), source.name, *args) for source in sources]

    def workers(self, sources, sizes, space, classes):
        portions = []
        for part in map(self._part, sources):
            weights = np.ones(part.n_rows) if part.weights is None else part.weights
            portions.append(Portion(Features(part, space), np.searchsorted(classes, part.answers), weights))
        return LocalWorkers(portions, space)


class Reach(NamedTuple):
    """The largest |x|^2 of the rows of a part, from 0 and from another origin."""

    from_zero: float
    from_origin: float


def reach_of(part: Part, name: str, space: Space, origin: np.ndarray) -> Reach:
    """Return how far the rows of a part reach, after preprocessing."""
    found = Reach(0.0, 0.0)
    for _, X in part.blocks():
        X = space.features(X)
        far = [float(square_norms(X, where).max(initial=0.0)) for where in (NOWHERE, origin)]
        found = Reach(*map(max, found, far))
    return found


def few_of(part: Part, name: str, n: int) -> tuple[Rows, np.ndarray]:
    """Return the first rows of a part and their labels."""
    n = min(n, part.n_rows)
    return part.take(np.arange(n)), part.answers[:n]


def make_training_data(
    executor: Executor,
    sources: Sequence[Source],
    *,
    kernel: Kernel,
    scale: str | None = None,
    class_weight: Any = None,
    multiclass: str = "ovo",
    memory: str | int = "1GB",
) -> ScatteredData:
    """Return the training data that some parts make up, with their workers.

    A part that cannot be read, parts that do not belong together, and an option that cannot be used raise InputError in
    one line.

    Parameters
    ----------
    executor : Executor
        Where the parts are worked on.
    sources : sequence of Source
        The parts.
    kernel : Kernel
        The kernel; its gamma may be a rule such as "scale".
    scale : {"standard", "minmax", "maxabs"}, default=None
        The scaling, learnt from all parts.
    class_weight, multiclass, memory
        As for `ScatteredData`.
    """
    if isinstance(kernel, Precomputed):
        raise InputError("a precomputed kernel matrix cannot be cut into parts: train on this machine alone")
    summary = Summary(executor.map(facts_of, sources))
    classes, preprocessing = summary.classes, summary.preprocessing(scale)
    resolved = summary.resolve(kernel, preprocessing)
    filled = [sources[p].with_layout(summary.layout) for p in summary.filled]
    sizes = [summary.offsets[p + 1] - summary.offsets[p] for p in summary.filled]
    space = Space(resolved, Extent(NOWHERE, 0.0), summary.n_features, preprocessing)
    space = space._replace(extent=_extent(executor, filled, space, summary))
    workers = executor.workers(filled, sizes, space, classes)

    def few(n: int) -> tuple[Rows, np.ndarray]:
        return executor.map(few_of, filled[:1], n)[0]

    return ScatteredData(workers, summary, few, class_weight=class_weight, multiclass=multiclass, memory=memory)


def _extent(executor: Executor, sources: Sequence[Source], space: Space, summary: Summary) -> Extent:
    """Return the extent of the rows of all parts, as `Extent.measure` would of all rows in one place."""
    kernel = space.kernel
    if kernel.form is None:
        return space.extent
    around = kernel.form.argument is Argument.SQUARE and not summary.layout.is_sparse
    mean = summary.mean(space.preprocessing or summary.preprocessing(None)) if around else NOWHERE
    found = executor.map(reach_of, sources, space, mean if np.isfinite(mean).all() else NOWHERE)
    reach, centred = (max(values) for values in zip(*found, strict=True))
    worth = len(mean) and kernel.scalars[1] * reach > FAR and centred * WORTH < reach
    return Extent(mean, centred) if worth else Extent(NOWHERE, reach)
