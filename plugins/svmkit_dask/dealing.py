"""Data in the memory of this process, dealt into parts: the same method without a cluster."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from svmkit.kernels.extent import NOWHERE, Extent
from svmkit.kernels.gram import Gram
from svmkit.problems.box import BoxQP
from svmkit_dask.crew import LocalCrew, Portion
from svmkit_dask.features import Features, Space
from svmkit_dask.part import MemoryPart
from svmkit_dask.roster import Roster
from svmkit_dask.rows import Spec
from svmkit_dask.session import Session


class Stretch(Features):
    """Consecutive samples of a Gram as the features of a part.

    Parameters
    ----------
    gram : Gram
        The Gram of all samples, whose engine is used.
    lo, hi : int
        The samples.
    """

    def __init__(self, gram: Gram, lo: int, hi: int) -> None:
        X = gram.engine.X[lo:hi]  # type: ignore[attr-defined]
        super().__init__(MemoryPart(X, np.zeros(hi - lo)), Space(gram.kernel, Extent(NOWHERE, 0.0), X.shape[1]))
        self._gram, self._lo = gram, lo

    def engines(self):
        yield 0, self._gram.engine

    def take(self, rows):
        return self._gram.engine.take(rows + self._lo)

    def diag(self, at):
        return self._gram.diag[at + self._lo]

    def _cut(self, at):
        if len(at):
            yield slice(0, len(at)), self._gram.engine, at + self._lo


class DealtGram:
    """The kernel among the rows of a roster, in the form that a `Square` takes, from the Gram of all samples.

    Attributes
    ----------
    kernel_values : int
        Always 0: the Gram counts its own.
    """

    kernel_values = 0

    def __init__(self, roster: Roster, gram: Gram) -> None:
        self.roster, self._gram, self.kernel, self.m = roster, gram, gram.kernel, gram.m
        self.diag, self.budget = gram.diag, gram.budget

    @property
    def dtype(self) -> np.dtype:
        """Type of the values that are kept."""
        return self._gram.dtype

    def block(self, I, J, out=None, *, rough=False):
        """Return k(x_i, x_j) as `Gram.block` does, for rows of the roster."""
        number = self.roster.number
        return self._gram.block(number[I], number[J], out, rough=rough)

    def renew(self) -> None:
        """Nothing is kept of the roster's rows."""

    def promote(self) -> bool:
        """Change to float64 values, as the Gram does."""
        return self._gram.promote()


def dealt(problem: BoxQP, n_parts: int) -> Session:
    """Return the session of a BoxQP whose samples are dealt into parts of nearly equal size, in their order.

    Parameters
    ----------
    problem : BoxQP
        The problem; its costs become the weights of the rows.
    n_parts : int
        The number of parts; fewer if there are fewer samples.
    """
    gram = problem.gram
    codes = (problem.y > 0.0).astype(np.int64)
    ends = np.linspace(0, problem.m, min(n_parts, problem.m) + 1).astype(np.int64).tolist()
    portions = [Portion(Stretch(gram, lo, hi), codes[lo:hi], problem.C[lo:hi]) for lo, hi in pairwise(ends)]
    spec = Spec(0, 1, 2, 1.0, np.ones(2), problem.loss, gram.dtype)
    return Session(LocalCrew(portions, portions[0].features.space), spec)
