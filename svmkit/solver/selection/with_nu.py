"""Solvers of nu-SVC and nu-SVR: a solver that poses these problems instead of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram import Gram
from svmkit.losses.base import Loss
from svmkit.losses.by_name import LIBLINEAR_NAMES, make_loss
from svmkit.problems.base import Problem
from svmkit.problems.nu_dual import NuBoxQP, NuTubeQP
from svmkit.solver.base import Solver, StepInfo
from svmkit.solver.sampler import Draws
from svmkit.solver.task import Task

FACTS = "name paper monotone recheck reads by_slices runs_on_device sampler"
METHODS = "reason_for patience check check_kernel details resync reactivate"


@dataclass(frozen=True)
class WithNu(Solver):
    """A solver with nu: it poses NuBoxQP for two classes and NuTubeQP for targets, and is otherwise `inner`.

    `inner` solves both problems, such as smo, or chooses a solver for them. InputError if nu is not a finite number >
    0, or the loss of `inner` is not the hinge; further feasibility depends on the data.
    """

    inner: Solver
    nu: float

    def __post_init__(self) -> None:
        nu, loss = self.nu, getattr(self.inner, "loss", "hinge")
        if isinstance(nu, bool) or not (isinstance(nu, int | float | np.number) and math.isfinite(nu) and nu > 0):
            raise InputError(f"nu must be a number with 0 < nu <= 1, not {nu!r}")
        name = loss.name if isinstance(loss, Loss) else loss
        if LIBLINEAR_NAMES.get(name, name) not in ("auto", "hinge"):
            raise InputError(f"nu goes with the hinge loss, not with loss={name}")
        for own in (FACTS + " " + METHODS).split():  # which are those of the solver within
            object.__setattr__(self, own, getattr(self.inner, own))

    @property
    def params(self) -> dict[str, Any]:
        return {**self.inner.params, "nu": float(self.nu)}

    @classmethod
    def problem_for(cls, kernel: Kernel) -> type[Problem]:
        return NuBoxQP

    @classmethod
    def regression_for(cls, kernel: Kernel) -> type[Problem] | None:
        return NuTubeQP

    def pose(self, gram: Gram, target: np.ndarray, C: float | np.ndarray, loss: Loss | None = None) -> Problem:
        """Make the problem with nu: NuBoxQP for two classes, NuTubeQP for targets.

        Parameters
        ----------
        gram, target, C, loss : Gram, ndarray, float or ndarray, Loss or None
            As for `Solver.pose`.
        """
        problem: Any = self.problem_of(gram.kernel, "classify" if loss is None else loss.task)
        return problem(gram, target, C, self.nu)  # weights that are C times as large give the same model

    def loss_for(self, kernel: Kernel, task: str = "classify", epsilon: float | None = None) -> Loss:
        """Return the loss of nu-SVC, the hinge, or of nu-SVR, the epsilon-insensitive loss.

        Parameters
        ----------
        kernel, task, epsilon : Kernel, str, float or None
            As for `Solver.loss_for`.
        """
        return make_loss("hinge", task, epsilon=epsilon)

    def solver_for(self, task: Task) -> Solver:
        return WithNu(self.inner.solver_for(task), self.nu)

    def joint_solver(self, scheme: str) -> Solver | None:
        raise InputError("nu is for two classes at a time (ovo or ovr) and for regression")

    def init(self, problem: Any, start: np.ndarray | None, draws: Draws) -> Any:
        """Return a new state of the inner solver.

        Parameters
        ----------
        problem, start, draws : object, ndarray or None, Draws
            As for `Solver.init`.
        """
        return self.inner.init(problem, start, draws)

    def step(self, state: Any) -> StepInfo:
        return self.inner.step(state)

    def solution(self, state: Any) -> np.ndarray:
        return self.inner.solution(state)


def with_nu(solver: Solver, nu: float | None) -> Solver:
    """Return the solver with this nu; the solver itself for None."""
    return solver if nu is None or isinstance(solver, WithNu) else WithNu(solver, nu)
