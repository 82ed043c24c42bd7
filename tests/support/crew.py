"""Parts of a small problem on a crew, in this process or on a Dask cluster, and the certificate of the whole."""

import os
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from svmkit_dask.cluster.watch import Watch
from svmkit_dask.cluster.workers import DaskWorkers
from svmkit_dask.driver.problem import ScatteredQP
from svmkit_dask.driver.session import LocalWorkers, Session
from svmkit_dask.parts.part import MemoryPart
from svmkit_dask.parts.sources import FilePart, Source
from svmkit_dask.worker.rows import Features, Portion, Space, Spec

from svmkit.data.prepare.reading import Reading
from svmkit.kernels.extent import Extent
from svmkit.kernels.functions import RBF
from svmkit.kernels.gram import Gram
from svmkit.losses import Hinge
from svmkit.problems.box import BoxQP

HINGE = Hinge()
KERNEL = RBF(0.3)
CLASSES = np.array([-1.0, 1.0])


@dataclass(frozen=True)
class Deadly(Source):
    """A part under which its process ends."""

    name: str

    def _load(self, cache, most):
        os.kill(os.getpid(), signal.SIGKILL)


class Forgetful(LocalWorkers):
    """Some parts forget their rows before each message, and some right after it."""

    share, lost = 0.2, 0

    def __init__(self, portions, space):
        super().__init__(portions, space)
        self.rng = np.random.default_rng(1)

    def ask(self, problem, message, own, change, parts):
        self.forget(problem, parts)
        answers = super().ask(problem, message, own, change, parts)
        self.forget(problem, parts)
        return answers

    def forget(self, problem, parts):
        for p in parts:
            if self.rng.random() < self.share:
                self.lost += self._rows.pop((problem, p), None) is not None


def killing_once(part, name, mark):
    """The rows of a part; the first of all calls ends the process."""
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return part.n_rows


def rows(n=600, d=4, seed=0):
    """Rows of two classes that overlap."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.uniform(size=n) < 0.4, 1.0, -1.0)
    return rng.normal(size=(n, d)) + 0.7 * y[:, None], y


def space_of(X, kernel):
    return Space(kernel, Extent.measure(kernel, X), X.shape[1])


def posed(crew, *, loss=HINGE, C=1.0):
    """The problem on a crew."""
    return ScatteredQP(Session(crew, Spec(0, 1, C, np.ones(2), loss, np.dtype(np.float32))), 1 << 20)


def local_crew(X, y, cuts, *, kernel=KERNEL, of=LocalWorkers, answers=None):
    """A crew in this process, with parts that end at these rows."""
    space, answers = space_of(X, kernel), (y > 0).astype(np.int64) if answers is None else answers
    return of(
        [
            Portion(Features(MemoryPart(X[a:b], y[a:b]), space), answers[a:b], np.ones(b - a))
            for a, b in pairwise([0, *cuts, len(y)])
        ],
        space,
    )


def written(folder, X, y, cuts):
    """The sources of parts that end at these rows, as files."""
    sources = []
    for p, (a, b) in enumerate(pairwise([0, *cuts, len(y)])):
        np.savez(folder / f"part{p}.npz", X=X[a:b], y=y[a:b])
        sources.append(FilePart(folder / f"part{p}.npz", Reading.from_options({})))
    return sources


@contextmanager
def dask_crew(client, folder, X, y, cuts, *, kernel=KERNEL, sources=None, **options):
    """A crew of a Dask cluster, whose workers read parts that end at these rows, and forget them at the end."""
    sizes, sources = np.diff([0, *cuts, len(y)]), sources or written(folder, X, y, cuts)
    crew = DaskWorkers(Watch(client), sources, sizes, space_of(X, kernel), CLASSES, **options)
    try:
        yield crew
    finally:
        crew.end()


def of_all_rows(problem, X, y, point, C=1.0):
    """The certificate that a BoxQP of all rows gives the same point."""
    same = BoxQP(Gram(problem.gram.kernel, X), y, C, loss=problem.loss)
    beta = np.zeros(len(y))
    beta[point[:, 0].astype(int)] = point[:, 1]
    return same.certificate(beta)
