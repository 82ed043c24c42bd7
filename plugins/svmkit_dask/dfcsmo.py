"""Fully corrective SMO over the parts of distributed data, or of data that are cut into parts in this process."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
from svmkit_corrective.fcsmo import FCSMO
from svmkit_corrective.rounds import Phase

from svmkit.errors import InputError, Unavailable
from svmkit.kernels.extent import NOWHERE, Extent
from svmkit.kernels.gram import Gram
from svmkit.problems.box import BoxQP
from svmkit.problems.dual import DualQP
from svmkit.problems.tube import TubeQP
from svmkit_dask.driver.candidates import CandidateSet, SharedGram
from svmkit_dask.driver.problem import ScatteredQP, ScatteredTubeQP
from svmkit_dask.driver.session import LocalWorkers, Session
from svmkit_dask.driver.state import ClusterState
from svmkit_dask.parts.part import MemoryPart
from svmkit_dask.worker.rows import Features, Portion, Space, Spec


class Stretch(Features):
    """The samples lo to hi - 1 of a Gram as the features of a part; the Gram's own engine computes."""

    def __init__(self, gram: Gram, lo: int, hi: int) -> None:
        X = gram.engine.X[lo:hi]
        super().__init__(MemoryPart(X, np.zeros(hi - lo)), Space(gram.kernel, Extent(NOWHERE, 0.0), X.shape[1]))
        self._gram, self._lo = gram, lo

    def engines(self):
        yield 0, self._gram.engine

    def take(self, rows):
        return self._gram.engine.take(rows + self._lo)

    def diag(self, at):
        return self._gram.diag[at + self._lo]

    def cut(self, at):
        if len(at):
            yield slice(0, len(at)), self._gram.engine, at + self._lo


def split(problem: DualQP, n_parts: int) -> Session:
    """Return the session of a BoxQP or TubeQP whose samples are cut into parts of nearly equal size, in their order."""
    gram, target, has_targets = problem.gram, problem.record.target, isinstance(problem, TubeQP)
    answers = target if has_targets else (target > 0.0).astype(np.int64)
    # the costs become the weights of the rows; there are fewer parts if there are fewer samples
    ends = np.linspace(0, problem.m, min(n_parts, problem.m) + 1).astype(np.int64).tolist()
    portions = [Portion(Stretch(gram, lo, hi), answers[lo:hi], problem.C[lo:hi]) for lo, hi in pairwise(ends)]
    spec = Spec(0, 0 if has_targets else 1, 1.0, np.ones(2), problem.loss, gram.dtype, problem.centre)
    return Session(LocalWorkers(portions, portions[0].features.space), spec)


@dataclass(frozen=True)
class DFCSMO(FCSMO):
    """Fully corrective SMO over parts of the data, on a cluster or in this process.

    The driver solves for a working set, as in `fcsmo`. The parts keep the gradient of their own rows; in each round
    they follow the changed weights, and answer with sums and with the rows that violate their condition most. The
    messages of a round do not grow with the number of rows (Bellet, Liang, Garakani, Balcan, Sha 2015). Once the
    working set fills the driver's memory, every other round is one of parallel block minimisation (Hsieh, Si, Dhillon
    2016): each part solves for its own rows, and the driver follows the sum of their changes as far as f falls.

    Parameters
    ----------
    loss, first, growth, inner : optional
        As for `FCSMO`.
    parts : int, default=4
        The number of parts into which data in the memory of this process are cut; > 0, else InputError.
    """

    name = "dfcsmo"
    problem = BoxQP
    further = (ScatteredQP, ScatteredTubeQP)
    regression = TubeQP
    paper = "Bellet et al. 2015"

    parts: int = 4

    def __post_init__(self):
        super().__post_init__()
        if not (isinstance(self.parts, int) and self.parts > 0):
            raise InputError(f"parts must be a whole number > 0, not {self.parts!r}")

    def begin(self, problem, start, draws):
        """Return the state over the parts of the data, or over `parts` parts of a problem in this process.

        Parameters
        ----------
        problem, start, draws : Problem, ndarray or None, Draws
            As for `Solver.init`.
        """
        if isinstance(problem, ScatteredQP):
            gram, beta = problem.gram, np.zeros(len(problem.candidates)) if start is None else problem.beta(start)
        else:
            candidates = CandidateSet(split(problem, self.parts))
            gram, numbers = SharedGram(candidates, problem.gram), np.flatnonzero(0.0 if start is None else start)
            beta = candidates.weights_at(numbers, start[numbers]) if len(numbers) else np.zeros(0)
        return ClusterState(problem, gram, beta, draws)

    def step(self, state):
        if state.phase is Phase.GROWING and state.parts_turn():
            info = self.meanwhile(state, state.minimise_blocks(self.inner), 0.0)
        else:
            info = super().step(state)
        if isinstance(state.problem, ScatteredQP) and info.gap < math.inf:
            state.problem.estimate = info.gap_abs - state.value, state.session.spec.centre - state.level
        state.problem.gram.kernel_values += state.count()
        return info

    def solution(self, state):
        beta = state.point
        if isinstance(state.problem, ScatteredQP):
            return state.problem.point(beta)
        point = np.zeros(state.problem.m)
        point[state.candidates.number] = beta
        return point


if find_spec("distributed") is None:
    raise Unavailable("needs Dask: pip install 'svmkit[dask]'", DFCSMO)
