"""NORMA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from svmkit.problems.base import Problem
from svmkit.problems.risks.kernel_risk import KernelRisk, KernelTubeRisk
from svmkit.solver.capabilities import LimitsSupport
from svmkit.solver.sampler import Draws
from svmkit_stochastic.kernel_state import KernelState
from svmkit_stochastic.stochastic import Stochastic, Streaming, require


@dataclass(frozen=True)
class NORMA(Streaming, LimitsSupport, Stochastic):
    """NORMA, kernel SGD with truncation (Kivinen, Smola, Williamson 2004, section 3): steps of eta / sqrt(t).

    A step is eta mean(C) sqrt(n / t): with eta = 1 the step on the n-th sample is as long as that of `Pegasos`. In a
    stream n is t. The bias is regularised, as in every solver of this problem. An iteration is an epoch in a fresh
    order. The other parameters are those of `Stochastic`; with `tau` the solution is always the last iterate.

    Parameters
    ----------
    eta : float, default=0.2
        Factor of the steps, > 0.
    tau : int, default=0
        Largest number of coefficients; the latest ones are kept, and 0 keeps all. A sample that is drawn again gets a
        new coefficient, and a sample without a loss has none, whereas the paper counts a coefficient of 0.

    Raises
    ------
    InputError
        If `eta` is not a finite number > 0 or `tau` not an integer >= 0.
    """

    name = "norma"
    problem: ClassVar[type[Problem]] = KernelRisk
    regression: ClassVar[type[Problem] | None] = KernelTubeRisk
    paper = "Kivinen et al. 2004"
    epochs: ClassVar[int] = 50

    eta: float = 0.2
    tau: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0.0 < self.eta < np.inf, "eta must be a finite number > 0", self.eta)
        require(isinstance(self.tau, int) and self.tau >= 0, "tau must be a whole number >= 0 (0: all)", self.tau)

    def init(self, problem: KernelRisk, start: np.ndarray | None, draws: Draws) -> KernelState:
        """Return the state at `start` or at 0, whose steps are eta / sqrt(t).

        Parameters
        ----------
        problem, start, draws : KernelRisk, ndarray or None, Draws
            As for `Solver.init`.
        """
        state = KernelState(problem, start, draws, average=self.average, tau=self.tau)
        now = state.w.now[0]
        now["eta"], now["power"] = self.eta, 0.5
        return state

    def walk(self, state: KernelState, order: np.ndarray) -> None:
        state.walk(order)

    def limit_support(self, state: KernelState, most: int) -> None:
        state.limit(most)
