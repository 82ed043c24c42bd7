"""The driver of fully corrective methods: survey all points, let the worst join, solve for the working set."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.problems.certificate import Certificate
from svmkit.solver.base import Solver, libsvm_patience
from svmkit.solver.requirements import Reads
from svmkit.solver.sampler import Draws
from svmkit.solver.smo import steps as smo_steps
from svmkit.solver.smo.box import Box
from svmkit.solver.step_info import StepInfo
from svmkit_corrective.standard_form import Phase, StandardForm
from svmkit_corrective.state import CorrectiveState

CHUNK = 20_000_000  # entries of v that the SMO steps of one step of the driver may read, approximately
BETWEEN = 64  # SMO steps between two evaluations of the gap of the set
LOOK = 1e-2  # relative gap from which on values that were left out are made up for


@dataclass(frozen=True)
class Corrective(Solver):
    """Base of fully corrective methods: a subclass gives its problem, its gap and the level of its conditions.

    A round has three parts. The survey brings the gradient of all points up to date, from the weights that changed;
    kernel values are not stored for it. In the growth the points that violate the optimality conditions most join the
    working set, whose kernel matrix is kept within the memory budget; where the set is full, the points that are
    safest leave it and keep their weights. Then SMO steps with second-order choice solve for the set, until its gap
    is at most `inner` times what it was, or times the gap of all points if that is smaller.

    Parameters
    ----------
    first : int, default=1000
        Number of points drawn for the first set, and least number of points that may join in a round.
    growth : float, default=1.0
        Number of points that may join in a round, as a multiple of the support vectors so far.
    inner : float, default=0.1
        Gap within the set at which all points are surveyed again, as a fraction of the smaller of the gap of all points
        and the gap that the set had at first.

    Raises
    ------
    InputError
        `first` is not a positive integer, `growth` is not positive, or `inner` is not between 0 and 1.
    """

    monotone: ClassVar[bool] = True
    recheck: ClassVar[int] = 1
    reads: ClassVar[Reads | None] = Reads.BLOCKS

    first: int = 1000
    growth: float = 1.0
    inner: float = 0.1

    def __post_init__(self) -> None:
        if not (isinstance(self.first, int) and self.first > 0):
            raise InputError(f"first must be a whole number of points > 0, not {self.first!r}")
        if not (self.growth > 0.0 and 0.0 < self.inner < 1.0):
            raise InputError(f"growth must be > 0 and inner between 0 and 1, not {self.growth:g} and {self.inner:g}")

    def patience(self, m: int) -> int:
        return libsvm_patience(m)

    @abstractmethod
    def form(self, problem: Any) -> StandardForm:
        """Return the problem as the driver takes it."""

    @abstractmethod
    def origin(self, problem: Any, rng: np.random.Generator) -> np.ndarray:
        """Return the point (m,) at which a solve without a start begins."""

    @abstractmethod
    def level(self, state: CorrectiveState) -> float:
        """Return an estimate of v at the points between their bounds, see `CorrectiveState`."""

    @abstractmethod
    def gap(self, state: CorrectiveState, box: Box, level: float | None) -> float:
        """Return the absolute gap over some of the points.

        Parameters
        ----------
        state : CorrectiveState
            The state of the solve.
        box : Box
            SMO's state over these points.
        level : float or None
            Estimate of v at the points between their bounds; None takes the best level for all points.

        Returns
        -------
        float
            P - D of a BoxQP, 2 (f - min g) of a SimplexQP; inf if it is unknown.
        """

    @abstractmethod
    def objective(self, state: CorrectiveState) -> float:
        """Return the problem's objective, from all points."""

    @abstractmethod
    def relative(self, state: CorrectiveState, gap: float) -> float:
        """Return the relative gap of all points from their absolute `gap`."""

    def init(self, problem: Any, start: np.ndarray | None, draws: Draws) -> CorrectiveState:
        point = self.origin(problem, draws.rng) if start is None else start.copy()
        return self.set_goal(CorrectiveState(problem, self.form(problem), point, draws.rng), draws)

    def set_goal(self, state: CorrectiveState, draws: Draws) -> CorrectiveState:
        """Tell a new state what the stop rules ask for."""
        state.goal = draws.goal.gap if draws.goal else 0.0
        return state

    def step(self, state: CorrectiveState) -> StepInfo:
        if state.phase is Phase.START:  # the start may be optimal already
            while state.behind:
                state.sync()
            return self.survey(state)
        if state.phase is Phase.SYNCING:
            state.sync()
            return self.meanwhile(state, 0, 0.0) if state.behind else self.survey(state)
        if state.phase is Phase.GROWING:
            state.grow(self.first, self.growth)
            state.inner_goal = self.inner * min(state.gap, self.inner_gap(state))
        return self.solve(state)

    def survey(self, state: CorrectiveState) -> StepInfo:
        """Report on all points, once v belongs to the iterate; the set grows in the next step."""
        violation = state.violation()
        state.level = self.level(state)
        before, state.value = state.value, self.objective(state)
        state.gap = gap = self.gap(state, state.box, None)
        if gap < math.inf and self.relative(state, gap) <= LOOK and state.make_up():
            state.value = before
            return self.survey(state)
        state.before, state.relative = state.relative, self.relative(state, gap) if gap < math.inf else math.inf
        moved = state.phase is Phase.START or state.value < before
        state.phase = Phase.GROWING
        return StepInfo(
            state.value,
            state.n_support,
            1.0,
            gap=state.relative,
            gap_abs=gap,
            moved=moved,
            steps=0,
            violation=violation,
        )

    def solve(self, state: CorrectiveState) -> StepInfo:
        """Make some SMO steps in the working set, and leave it when it is solved."""
        assert state.inner is not None
        most = min(1 + state.n_iter // 64, 1 + CHUNK // len(state.inner.v))  # few at first, as others report
        steps, fell, solved = 0, 0.0, False
        while not solved and steps < most:
            done, change, solved = state.advance(min(most - steps, BETWEEN))
            steps, fell = steps + done, fell + change
            solved = solved or self.inner_gap(state) <= state.inner_goal
        smo_steps.require_bound(fell, state.problem.gram.kernel.name)
        info = self.meanwhile(state, steps, fell)
        if solved:
            state.leave()
            if state.phase is Phase.GROWING:  # not a weight of the set has changed
                return info._replace(moved=False)
        return info

    def inner_gap(self, state: CorrectiveState) -> float:
        """Return the gap within the working set while it is solved for."""
        assert state.inner is not None
        return self.gap(state, state.inner, state.middle(state.inner))

    def meanwhile(self, state: CorrectiveState, steps: int, fell: float) -> StepInfo:
        """Report what is known between two surveys."""
        state.value, state.n_iter = state.value + fell, state.n_iter + steps
        return StepInfo(state.value, state.n_support, 0.0, steps=steps)

    def solution(self, state: CorrectiveState) -> np.ndarray:
        return state.point

    def resync(self, state: CorrectiveState, certificate: Certificate) -> None:
        state.take(certificate)
