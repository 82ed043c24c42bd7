"""Pegasos, in its linear and its kernel form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from svmkit.kernels.functions import Kernel
from svmkit.problems.base import Problem
from svmkit.problems.risks.kernel_risk import KernelRisk, KernelTubeRisk
from svmkit.problems.risks.linear_risk import LinearRisk, LinearTubeRisk
from svmkit.problems.risks.risk import Risk
from svmkit.runtime.compiling import njit
from svmkit.solver.sampler import Draws
from svmkit_stochastic.kernel_state import KernelState
from svmkit_stochastic.linear_state import LinearState, push, score, take_sample
from svmkit_stochastic.steps import arrive, average, rate, shrink, toward
from svmkit_stochastic.stochastic import Stochastic, Streaming, require


@njit(cache=True)
def _walk(x, order, batch, project, w):
    now = w.now[0]
    h = np.empty(batch)
    for lo in range(0, order.size, batch):
        for j in range(batch):
            i = take_sample(x, order, lo + j)
            arrive(now, x.C[i], x.sq[i])
            h[j] = now.scale * score(x, i, w.v)
        r = rate(now)  # eta_t = 1 / (lambda t), t in samples
        shrink(w, 1.0 - r * batch / now.n)
        for j in range(batch):
            i = order[lo + j]
            e = toward(x.points, x.below, i, h[j], r, batch * x.sq[i])
            if e != 0.0:
                if project:
                    now.norm += e * (2.0 * now.scale * score(x, i, w.v) + e * x.sq[i])
                push(x, i, e / now.scale, w)
        if project and now.norm > now.unit * now.total:  # |w|^2 <= P(0), which is 1 / lambda for the hinge
            shrink(w, math.sqrt(now.unit * now.total / now.norm))
        average(w)


@dataclass(frozen=True)
class Pegasos(Streaming, Stochastic):
    """Pegasos (Shalev-Shwartz, Singer, Srebro, Cotter 2011, Figures 1 to 3): mini-batches in steps of 1 / (lambda t).

    With the linear kernel the iterate is w, with other kernels the coefficients of the samples. An iteration is an
    epoch in a fresh order. The other parameters are those of `Stochastic`.

    Parameters
    ----------
    batch : int, default=1
        Samples in a step, the paper's k.
    project : bool, default=False
        Whether w is projected onto the ball |w| <= 1 / sqrt(lambda) after each step.

    Raises
    ------
    InputError
        If `batch` is not an integer >= 1.
    """

    name = "pegasos"
    paper = "Shalev-Shwartz et al. 2011"
    regression: ClassVar[type[Problem] | None] = Risk
    epochs: ClassVar[int] = 50

    batch: int = 1
    project: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require(isinstance(self.batch, int) and self.batch >= 1, "batch must be a whole number >= 1", self.batch)

    @classmethod
    def problem_for(cls, kernel: Kernel) -> type[Problem]:
        return LinearRisk if kernel.name == "linear" else KernelRisk

    @classmethod
    def regression_for(cls, kernel: Kernel) -> type[Problem] | None:
        return LinearTubeRisk if kernel.name == "linear" else KernelTubeRisk

    def init(self, problem: Risk, start: np.ndarray | None, draws: Draws) -> Any:
        """Return the state at `start` or at 0: over the columns of X for the linear kernel, else over an expansion.

        Parameters
        ----------
        problem, start, draws : Risk, ndarray or None, Draws
            As for `Solver.init`.
        """
        kind = LinearState if problem.is_linear else KernelState
        return kind(problem, start, draws, average=self.average, batch=self.batch)

    def walk(self, state: Any, order: np.ndarray) -> None:
        if isinstance(state, KernelState):
            state.walk(order, self.project)
        else:
            _walk(state.samples, order, self.batch, self.project, state.w)
