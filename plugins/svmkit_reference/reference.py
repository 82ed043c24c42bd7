"""The base of the adapters: each step is a whole fit by third-party software, with a tenth of the previous eps."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError
from svmkit.kernels.gram import Gram
from svmkit.losses.base import Loss
from svmkit.problems.base import Problem
from svmkit.solver.base import Solver
from svmkit.solver.sampler import Draws
from svmkit.solver.step_info import StepInfo
from svmkit_reference import outside

FINEST = 1e-9  # a smaller eps is pointless: the rounding of the software's float32 kernel rows dominates


class Fitted(NamedTuple):
    """The result of one fit."""

    point: np.ndarray  # the fitted point of the problem: dual weights of shape (m,), or w with its bias entry
    n_iter: int  # iterations, as the software counts them
    cut_short: bool  # whether the fit used all of its iterations


@dataclass
class State:
    """State of a solve."""

    problem: Any
    point: np.ndarray  # result of the last fit; before the first fit the start, or the point of the empty model
    eps: float  # tolerance of the next fit; 0.0 if no further fit makes sense
    seed: int
    over: Callable[[], bool]  # whether the solve has to end


@dataclass(frozen=True)
class Reference(Solver):
    """Base of the adapters of third-party software; the loop certifies the fitted point, off the clock.

    The software ignores a start. It works in a separate process, which a limit in seconds or a signal ends; the
    answer is then the last fit that was complete, or the start. Other budgets take effect after a fit. When the
    certified gap is above the tolerance of the run, the software fits again with a tenth of its eps. `kernel_values`
    counts the values that svmkit computed, not those of the software.

    Parameters
    ----------
    eps : float, default=0.001
        Tolerance of the first fit, in the software's own terms.

    Raises
    ------
    InputError
        `eps` is not a finite number > 0.
    """

    external: ClassVar[bool] = True
    # of the software's estimators; imported when a solver is made, so that the clock of a run does not include it
    module: ClassVar[str] = "sklearn.svm"

    eps: float = 1e-3

    def __post_init__(self) -> None:
        import_module(self.module)
        if not 0.0 < self.eps < math.inf:
            raise InputError(f"eps must be a finite number > 0, not {self.eps}")

    def pose(self, gram: Gram, target: np.ndarray, C: float | np.ndarray, loss: Loss | None = None) -> Problem:
        """Pose the problem, and prepare a process that has imported the software.

        Parameters
        ----------
        gram, target, C, loss : Gram, ndarray, float or ndarray, Loss or None
            As for `Solver.pose`.
        """
        problem = super().pose(gram, target, C, loss)
        outside.prepare(self.module)  # here, so that the clock of the solve does not include it
        return problem

    def outside(self, name: str, *given: Any, **params: Any) -> dict[str, np.ndarray] | None:
        """Return attributes of the module's estimator `name`, fitted in another process as `outside.fit` does it."""
        return outside.fit(self.module, name, params, *given)

    @abstractmethod
    def zero(self, problem: Any) -> np.ndarray:
        """Return the point of the empty model."""

    @abstractmethod
    def fit_once(self, problem: Any, eps: float, seed: int, over: Callable[[], bool]) -> Fitted | None:
        """Fit the problem once; None if the fit was killed because the solve has to end.

        Parameters
        ----------
        problem, eps : Problem, float
            The problem, and the tolerance of this fit in the software's own terms.
        seed : int
            The seed of the software's random choices.
        over : callable
            Returns whether the solve has to end.
        """

    def init(self, problem: Problem, start: np.ndarray | None, draws: Draws) -> State:
        """Return the state at `start`, or at the empty model.

        Parameters
        ----------
        problem, start, draws : Problem, ndarray or None, Draws
            As for `Solver.init`.
        """
        point = self.zero(problem) if start is None else start.copy()
        return State(problem, point, self.eps, int(draws.rng.integers(2**31 - 1)), draws.over)

    def step(self, state: State) -> StepInfo:
        if not state.eps:
            return StepInfo(math.nan, int(np.count_nonzero(state.point)), 0.0, moved=False, steps=0)
        fitted = self.fit_once(state.problem, state.eps, state.seed, state.over)
        if fitted is None:  # the point is that of the last fit, or the start
            return StepInfo(math.nan, int(np.count_nonzero(state.point)), 0.0, moved=False, steps=0)
        violation = math.inf if fitted.cut_short else state.eps
        finer = state.eps / 10.0  # the first fit has the requested eps, however small
        state.point, state.eps = fitted.point, 0.0 if fitted.cut_short or finer < FINEST else finer
        n_support = int(np.count_nonzero(fitted.point))
        return StepInfo(math.nan, n_support, float(fitted.n_iter), steps=fitted.n_iter, violation=violation)

    def solution(self, state: State) -> np.ndarray:
        return state.point.copy()


def features(gram: Gram) -> Any:
    """Return a Gram's X in a storage that scikit-learn accepts, dense or CSR with int32 indices, else InputError."""
    X = gram.engine.X
    if sp.issparse(X) and not X.indices.dtype == X.indptr.dtype == np.int32:
        raise InputError(f"{X.nnz:,} stored values are more than the int32 indices of this software can count")
    return X
