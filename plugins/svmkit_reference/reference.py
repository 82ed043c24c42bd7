"""What the adapters share: a step is a whole fit by other software, and the next fit has a tenth of its eps."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError
from svmkit.kernels.gram import Gram
from svmkit.problems.base import Problem
from svmkit.solver.base import Solver, StepInfo
from svmkit.solver.sampler import Draws

FINEST = 1e-9  # below, rounding in the other software's float32 rows decides


class Found(NamedTuple):
    """What a fit ended with: a point of the problem, iterations as it counts them, and whether it used all it had."""

    point: np.ndarray
    n_iter: int
    cut_short: bool


class State:
    """The problem, the eps of the next fit, and the point that the last one left."""

    def __init__(self, problem: Any, point: np.ndarray, eps: float, seed: int) -> None:
        self.problem, self.point, self.eps, self.seed = problem, point, eps, seed


@dataclass(frozen=True)
class Reference(Solver):
    """Other software that solves one of our problems; the loop certifies what it returns, off the clock.

    It takes no start and keeps to no budget: a start is left aside, and a budget or Ctrl-C is heeded after the fit.
    Where the certificate is above the tolerance of the run, it fits again with a tenth of its eps. `kernel_values`
    counts what svmkit computed, not what the other software did.
    """

    external: ClassVar[bool] = True
    module: ClassVar[str] = "sklearn.svm"  # imported when a solver is made: not before, and not on the clock of a run

    eps: float = 1e-3

    def __post_init__(self) -> None:
        import_module(self.module)
        if not 0.0 < self.eps < math.inf:
            raise InputError(f"eps must be a finite number > 0, not {self.eps}")

    def estimator(self, name: str, **params: Any) -> Any:
        """An unfitted estimator of the module."""
        return getattr(import_module(self.module), name)(**params)

    @abstractmethod
    def zero(self, problem: Any) -> np.ndarray:
        """The point of the empty model."""

    @abstractmethod
    def fitted(self, problem: Any, eps: float, seed: int) -> Found:
        """Hand `problem` over and take the result back."""

    def init(self, problem: Problem, start: np.ndarray | None, draws: Draws) -> State:
        point = self.zero(problem) if start is None else start.copy()
        return State(problem, point, self.eps, int(draws.rng.integers(2**31 - 1)))

    def step(self, state: State) -> StepInfo:
        if state.eps < FINEST:
            return StepInfo(math.nan, int(np.count_nonzero(state.point)), 0.0, moved=False, steps=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it ran out of iterations is in the status
            found = self.fitted(state.problem, state.eps, state.seed)
        violation = math.inf if found.cut_short else state.eps
        state.point, state.eps = found.point, 0.0 if found.cut_short else state.eps / 10.0
        n_support = int(np.count_nonzero(found.point))
        return StepInfo(math.nan, n_support, float(found.n_iter), steps=found.n_iter, violation=violation)

    def solution(self, state: State) -> np.ndarray:
        return state.point.copy()


def features(gram: Gram) -> Any:
    """X as scikit-learn takes it: dense, or CSR with int32 indices.

    Raises InputError for a CSR that int32 cannot index.
    """
    X = gram.engine.X  # type: ignore[attr-defined]
    if sp.issparse(X) and X.indices.dtype != np.int32:
        raise InputError(f"{X.nnz:,} stored values are more than the int32 indices of this software can count")
    return X
