"""Primal coordinate descent for penalties that set weights exactly to 0."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.losses.base import Family, Loss
from svmkit.problems.base import NUMBER_OR_FREE, Problem
from svmkit.problems.certificate import Certificate
from svmkit.problems.risks.linear_risk import LinearRisk, LinearTubeRisk
from svmkit.problems.risks.penalty import L1_RATIO, make_penalty
from svmkit.solver.base import Solver
from svmkit.solver.requirements import Requires
from svmkit.solver.sampler import Draws
from svmkit.solver.step_info import StepInfo
from svmkit_coordinate.groups import GroupState
from svmkit_coordinate.primal_state import NOTHING, State


@dataclass(frozen=True)
class CD(Solver):
    """Coordinate descent on the primal for penalties that set weights exactly to 0: |w|_1 and the elastic net.

    It works on a growing set of columns (Johnson, Guestrin 2015; Massias, Gramfort, Salmon 2018): columns of non-zero
    weights and columns that violate the optimality conditions most. Within it, coordinate descent minimises a quadratic
    model of the losses at the point, and a line search on the losses themselves follows (Yuan, Ho, Lin 2012); if that
    is slow, the non-zero weights are solved for at once. Columns that the gap proves to have weight 0 are left out
    (Ndiaye, Fercoq, Gramfort, Salmon 2017). A free bias is set to the best one after each working set. An iteration is
    a Newton step.

    Parameters
    ----------
    loss : str or Loss, default="squared_hinge"
        Any piecewise linear-quadratic loss that is smooth.
    bias : float or "free", default=1.0
        Value of the column added for the bias, which is penalised like any other; 0 for no bias. "free" for a bias that
        is not penalised.
    penalty : {"l1", "elasticnet", "group"}, default="l1"
        |w|_1, l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2, or sum_g sqrt(n_g) |w_g| (Yuan, Lin 2006), which sets the
        weights of whole groups to 0.
    l1_ratio : float, default=0.5
        The share of |w|_1 in the elastic net, 0 < l1_ratio <= 1.
    groups : str, default=None
        For the penalty "group", the numbers of columns of groups of adjacent columns, such as "3+2*1"; further columns
        are groups of their own.

    Raises
    ------
    InputError
        If the penalty is another one, or the groups are invalid.
    """

    name = "cd"
    problem: ClassVar[type[Problem]] = LinearRisk
    regression: ClassVar[type[Problem] | None] = LinearTubeRisk
    terms = ("loss", "bias", "penalty", "l1_ratio", "groups")
    losses = ("squared_hinge", Family.RIDGED, Family.SMOOTH, Family.LOGISTIC)
    requires = (Requires.LINEAR_KERNEL,)
    frees_bias: ClassVar[bool] = True
    monotone: ClassVar[bool] = True
    recheck: ClassVar[int] = 1
    paper = "Massias, Gramfort, Salmon 2018"

    loss: str | Loss = "squared_hinge"
    bias: float | str = field(default=1.0, metadata=NUMBER_OR_FREE)
    penalty: str = "l1"
    l1_ratio: float = L1_RATIO
    groups: str | None = None

    def __post_init__(self) -> None:
        if not make_penalty(self.penalty, self.l1_ratio, self.groups).l1:
            raise InputError("solver cd needs a share of |w|_1 in the penalty: take auto for penalty=l2")

    def patience(self, m: int) -> int:
        return 10_000

    def init(self, problem: LinearRisk, start: np.ndarray | None, draws: Draws) -> State:
        """Return the state at `start` or at w = 0, over groups of columns if the penalty has groups.

        Parameters
        ----------
        problem, start, draws : LinearRisk, ndarray or None, Draws
            As for `Solver.init`.
        """
        if problem.penalty.has_groups:
            return GroupState(problem, start, draws)
        return State(problem, start, draws)

    def step(self, state: State) -> StepInfo:
        before, passes = (state.primal, state.dual), state.passes
        if state.is_crowded:
            state.leave_out()
        steps = state.improve()
        state.examine()
        size = max(abs(state.primal), abs(state.dual))
        return StepInfo(
            state.primal,
            int(np.count_nonzero(state.w)),
            state.passes - passes,
            gap=state.gap,
            gap_abs=state.gap * size,
            moved=before[0] - state.primal > NOTHING * size or state.dual - before[1] > NOTHING * size,
            steps=steps,
            violation=state.worst,
        )

    def solution(self, state: State) -> np.ndarray:
        if state.best is not None and state.best is not state.offered:
            state.problem.offer(state.best)
            state.offered = state.best
        return state.w.copy()

    def resync(self, state: State, certificate: Certificate) -> None:
        state.anew()
