"""The base of the adapters: a step is a whole fit by third-party software, the next fit has a tenth of its eps."""

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

FINEST = 1e-9  # below it the rounding of the software's float32 rows decides


class Found(NamedTuple):
    """The end of a fit.

    Attributes
    ----------
    point : ndarray
        The fitted point of the problem.
    n_iter : int
        Iterations, as the software counts them.
    cut_short : bool
        Whether the fit used all iterations that it was given.
    """

    point: np.ndarray
    n_iter: int
    cut_short: bool


class State:
    """State of a solve: the problem, the eps of the next fit, and the point that the last fit left."""

    def __init__(self, problem: Any, point: np.ndarray, eps: float, seed: int) -> None:
        self.problem, self.point, self.eps, self.seed = problem, point, eps, seed


@dataclass(frozen=True)
class Reference(Solver):
    """Base of the adapters of third-party software; the loop certifies the returned point, off the clock.

    A start is ignored, and a budget or Ctrl-C takes effect after the fit. Where the certificate is above the
    tolerance of the run, the software fits again with a tenth of its eps. `kernel_values` counts the values that
    svmkit computed, not those of the software.

    Parameters
    ----------
    eps : float, default=0.001
        Tolerance of the first fit, in the software's own terms.

    Attributes
    ----------
    module : str
        Module with the software's estimators.
    """

    external: ClassVar[bool] = True
    module: ClassVar[str] = "sklearn.svm"  # imported when a solver is made, so that the clock of a run does not see it

    eps: float = 1e-3

    def __post_init__(self) -> None:
        import_module(self.module)
        if not 0.0 < self.eps < math.inf:
            raise InputError(f"eps must be a finite number > 0, not {self.eps}")

    def estimator(self, name: str, **params: Any) -> Any:
        """Return an unfitted estimator of the module."""
        return getattr(import_module(self.module), name)(**params)

    @abstractmethod
    def zero(self, problem: Any) -> np.ndarray:
        """Return the point of the empty model."""

    @abstractmethod
    def fitted(self, problem: Any, eps: float, seed: int) -> Found:
        """Fit `problem` with this tolerance and seed."""

    def init(self, problem: Problem, start: np.ndarray | None, draws: Draws) -> State:
        point = self.zero(problem) if start is None else start.copy()
        return State(problem, point, self.eps, int(draws.rng.integers(2**31 - 1)))

    def step(self, state: State) -> StepInfo:
        if state.eps < FINEST:
            return StepInfo(math.nan, int(np.count_nonzero(state.point)), 0.0, moved=False, steps=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the status tells that the iterations ran out
            found = self.fitted(state.problem, state.eps, state.seed)
        violation = math.inf if found.cut_short else state.eps
        state.point, state.eps = found.point, 0.0 if found.cut_short else state.eps / 10.0
        n_support = int(np.count_nonzero(found.point))
        return StepInfo(math.nan, n_support, float(found.n_iter), steps=found.n_iter, violation=violation)

    def solution(self, state: State) -> np.ndarray:
        return state.point.copy()


def features(gram: Gram) -> Any:
    """Return X as scikit-learn takes it, dense or as CSR with int32 indices.

    Raises
    ------
    InputError
        If the CSR has more stored values than int32 can count.
    """
    X = gram.engine.X  # type: ignore[attr-defined]
    if sp.issparse(X) and X.indices.dtype != np.int32:
        raise InputError(f"{X.nnz:,} stored values are more than the int32 indices of this software can count")
    return X
