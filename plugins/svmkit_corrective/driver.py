"""The driver of fully corrective methods: survey all points, add the worst, solve for the working set."""

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
from svmkit.solver.step_info import StepInfo
from svmkit_corrective.rounds import Phase, Rounds

CHUNK = 20_000_000  # entries of v that the SMO steps of one step of the driver may read, approximately
BETWEEN = 64  # SMO steps between two evaluations of the gap of the set
LOOK = 1e-2  # relative gap from which on omitted values are compensated


@dataclass(frozen=True)
class Corrective(Solver):
    """Base of fully corrective methods: a subclass provides the state, which knows the geometry of the problem.

    A round has three parts. The survey updates the gradient of all points from the weights that changed; kernel values
    are not stored for it. In the growth, the points that violate the optimality conditions most join the working set,
    whose kernel matrix is kept within the memory budget; if the set is full, the safest points leave it and keep their
    weights. Then SMO steps with second-order choice solve for the set, until its gap is at most `inner` times its gap
    at first, or times the gap of all points if that is smaller.

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
    def begin(self, problem: Any, start: np.ndarray | None, draws: Draws) -> Rounds:
        """Return the state at the start, or at the default starting point.

        Parameters
        ----------
        problem, start, draws : object, ndarray or None, Draws
            As for `svmkit.solver.Solver.init`.
        """

    def init(self, problem: Any, start: np.ndarray | None, draws: Draws) -> Rounds:
        """Return the state of `begin`, with the relative gap that the solve aims at; 0 if it has none.

        Parameters
        ----------
        problem, start, draws : object, ndarray or None, Draws
            As for `Solver.init`.
        """
        state = self.begin(problem, start, draws)
        state.goal = draws.goal.gap if draws.goal else 0.0
        return state

    def step(self, state: Rounds) -> StepInfo:
        if state.phase is Phase.START:  # the start may already be optimal
            while state.behind:
                state.sync()
            return self.survey(state)
        if state.phase is Phase.SYNCING:
            state.sync()
            return self.meanwhile(state, 0, 0.0) if state.behind else self.survey(state)
        if state.phase is Phase.GROWING:
            if state.spread():
                return self.meanwhile(state, 1, 0.0)
            state.grow(self.first, self.growth)
            state.inner_goal = self.inner * min(state.gap, state.inner_gap())
        return self.solve(state)

    def survey(self, state: Rounds) -> StepInfo:
        """Report on all points once v belongs to the iterate; the set grows in the next step."""
        state.rescale()
        violation = state.violation()
        state.level = state.find_level()
        before, state.value = state.value, state.objective()
        state.gap = gap = state.total_gap()
        relative = state.relative_gap(gap) if gap < math.inf else math.inf
        if relative <= LOOK and state.make_up():
            state.value = before
            return self.survey(state)
        state.before, state.relative = state.relative, relative
        moved = state.phase is Phase.START or state.value < before
        state.phase = Phase.GROWING
        info = StepInfo(state.value, state.n_support, 1.0, gap=relative, gap_abs=gap, moved=moved, steps=0)
        return state.report(info._replace(violation=violation))

    def solve(self, state: Rounds) -> StepInfo:
        """Make some SMO steps in the working set, and leave it when it is solved."""
        most = min(1 + state.n_iter // 64, 1 + CHUNK // state.size)  # few at first, as others report
        steps, fell, solved = 0, 0.0, False
        while not solved and steps < most:
            done, change, solved = state.advance(min(most - steps, BETWEEN))
            steps, fell = steps + done, fell + change
            solved = solved or state.inner_gap() <= state.inner_goal
        smo_steps.require_bound(fell, state.problem.gram.kernel)
        info = self.meanwhile(state, steps, fell)
        if solved:
            state.leave()
            if state.phase is Phase.GROWING:  # no weight of the set has changed
                return info._replace(moved=False)
        return info

    def meanwhile(self, state: Rounds, steps: int, fell: float) -> StepInfo:
        """Report the known values between two surveys.

        Parameters
        ----------
        state, steps, fell : Rounds, int, float
            The state, changed in place, SMO steps since the last report, and the objective's change by them, <= 0.
        """
        state.value, state.n_iter = state.value + fell, state.n_iter + steps
        state.rescale()
        return state.report(StepInfo(state.value, state.n_support, 0.0, steps=steps))

    def solution(self, state: Rounds) -> np.ndarray:
        return state.point

    def resync(self, state: Rounds, certificate: Certificate) -> None:
        state.take(certificate)

    def details(self, state: Rounds) -> dict[str, float]:
        return state.details()
