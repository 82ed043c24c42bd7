"""The default solver: what most people want to have minimised, by the fastest way to it.

What is minimised follows from the kernel alone, so that the optimum depends neither on the size of the data nor on the
machine. `fastest` is the rule for the way; docs/choosing.md has the measurements behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from svmkit import plugins
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram import Gram
from svmkit.problems.base import Problem
from svmkit.problems.box import BoxQP
from svmkit.problems.certificate import Certificate
from svmkit.problems.linear_risk import LinearDual
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.base import Solver, StepInfo
from svmkit.solver.sampler import Draws, Sampler
from svmkit.solver.task import Task

SMALL = 5_000  # samples up to which steps on the whole kernel matrix are faster than a growing working set
SHARE = 4  # the whole matrix may take this part of the memory budget: Gram keeps float64 rows up to the same limit
FLOAT64 = 8  # bytes of a kernel value

LIMITED = "swap2o"  # keeps to a limit on support vectors and improves within it; smo and fcsmo can only stop at it


def fastest(task: Task) -> tuple[str, str]:
    """Choose the fastest solver of a task.

    Parameters
    ----------
    task : Task
        What is minimised, and how large it is.

    Returns
    -------
    solver : str
        The name of a solver of `task.problem`.
    reason : str
        Why it was chosen, in words.
    """
    if task.problem.is_linear:
        return "dcd", "its steps need no kernel values"
    if issubclass(task.problem, SimplexQP):
        return "fcfw", "fastest at every size"
    if task.m <= SMALL and FLOAT64 * task.m**2 <= task.memory // SHARE:
        return "smo", "the kernel matrix fits"
    return "fcsmo", "a growing working set needs few of the kernel values"


@dataclass(frozen=True)
class Auto(Solver):
    """The fastest solver for size, kernel and memory, of LIBSVM's problem, and of LIBLINEAR's with the linear kernel.

    Kernels: the hinge loss with a free bias, solved by smo or fcsmo. The linear kernel: the squared hinge loss with a
    regularised bias, solved by dcd, at every size. One-class models: SimplexQP.

    Parameters
    ----------
    loss : str, default="auto"
        "hinge" or "squared_hinge"; "auto" is the default of LIBSVM, hinge, and with the linear kernel that of
        LIBLINEAR, squared_hinge.
    """

    name = "auto"
    problem = BoxQP
    terms = ("loss",)
    losses = ("hinge", "squared_hinge")
    paper = "Chang, Lin 2011; Fan et al. 2008"

    loss: str = "auto"

    @classmethod
    def problem_for(cls, kernel: Kernel) -> type[Problem]:
        return LinearDual if kernel.name == "linear" else BoxQP

    def sampler_for(self, kernel: Kernel) -> Sampler:
        return self._poser(kernel).sampler_for(kernel)

    def pose(self, gram: Gram, y: np.ndarray, C: float | np.ndarray) -> Problem:
        return self._poser(gram.kernel).pose(gram, y, C)

    def formulation(self, kernel: Kernel) -> str:
        return self._poser(kernel).formulation(kernel)

    def _poser(self, kernel: Kernel) -> Solver:
        """Return a solver of the problem, to pose it."""
        return self.solver_for(Task(self.problem_for(kernel), kernel, 0, 0))

    def solver_for(self, task: Task) -> Solver:
        if issubclass(task.problem, SimplexQP):
            return _made(fastest(task)[0])
        loss = self.loss
        if loss == "auto":
            loss = "squared_hinge" if task.problem.is_linear else "hinge"
        return _made(fastest(task)[0], loss)

    def reason_for(self, task: Task) -> str:
        return fastest(task)[1]

    def within_support(self) -> Solver:
        return _made(LIMITED) if self.loss == "auto" else self

    def init(self, problem: Any, start: np.ndarray | None, draws: Draws) -> _Chosen:
        solver = self.solver_for(Task.of(problem))
        return _Chosen(solver, solver.init(problem, start, draws))

    def step(self, state: _Chosen) -> StepInfo:
        return state.solver.step(state.state)

    def solution(self, state: _Chosen) -> np.ndarray:
        return state.solver.solution(state.state)

    def resync(self, state: _Chosen, certificate: Certificate) -> None:
        state.solver.resync(state.state, certificate)

    def reactivate(self, state: _Chosen) -> None:
        state.solver.reactivate(state.state)


class _Chosen(NamedTuple):
    """A chosen solver and its state."""

    solver: Solver
    state: Any


@cache
def _made(name: str, loss: str | None = None) -> Solver:
    return plugins.build("solver", name, {} if loss is None else {"loss": loss})
