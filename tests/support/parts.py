"""Parts in this process: rows dealt out as chunks, and workers that go away."""

import sys
from itertools import pairwise

import numpy as np
from svmkit_dask.driver.data import ScatteredData
from svmkit_dask.driver.session import LocalWorkers
from svmkit_dask.parts.sources import ChunkPart
from svmkit_dask.worker.rows import portion_of

from svmkit.errors import Gone
from svmkit.kernels.functions import RBF
from svmkit.training.settings import Settings, resolve

SCALED = RBF("scale")


class LocalExecutor:
    """Parts in the memory of this process, in place of a cluster's."""

    def __init__(self):
        self.parts = {}

    def part(self, source):
        return self.parts.setdefault(source.name, source.load(None, sys.maxsize))

    def map(self, function, sources, *args):
        return [function(self.part(source), source.name, *args) for source in sources]

    def workers(self, sources, sizes, space, classes):
        laid_out = [source.load(None, sys.maxsize) for source in sources]
        return LocalWorkers([portion_of(part, space, classes) for part in laid_out], space)


def chunks(X, y, ends, weights=None):
    """The rows up to each of `ends`, and the rest."""
    cuts = [0, *ends, len(y)]
    given = [None if weights is None else weights[lo:hi] for lo, hi in pairwise(cuts)]
    return [
        ChunkPart(f"part {p}", X[lo:hi], y[lo:hi], weight)
        for p, ((lo, hi), weight) in enumerate(zip(pairwise(cuts), given, strict=True), start=1)
    ]


def data_in_parts(X, y, ends=(40, 41, 90), weights=None, *, executor=None, kernel=SCALED, **options):
    """The training data of rows that are dealt into parts."""
    method = resolve(Settings(kernel=kernel, **options))
    return ScatteredData(executor or LocalExecutor(), chunks(X, y, ends, weights), method)


def three_classes(n=150, seed=0):
    """Rows of three classes that overlap, in random order, with labels in text."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, n)
    codes[:3] = [0, 1, 2]
    X = rng.normal(size=(n, 3)) + 1.2 * np.stack([np.sin(codes * 2.1), np.cos(codes * 2.1), codes * 0.0]).T
    return X, np.array(["ant", "bee", "cat"])[codes]


class Leaving(LocalExecutor):
    """A place whose workers are gone after so many messages."""

    def __init__(self, messages):
        super().__init__()
        self.left = messages

    def workers(self, *args):
        workers, place = super().workers(*args), self
        ask = workers.ask

        def counted(*message):
            place.left -= 1
            if place.left < 0:
                raise Gone("the cluster is gone")
            return ask(*message)

        workers.ask = counted
        return workers
