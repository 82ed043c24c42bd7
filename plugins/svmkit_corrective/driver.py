"""The driver that fully corrective methods share: look at all points, let the worst join, solve for the set."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.problems.base import Certificate
from svmkit.solver import smo_steps
from svmkit.solver.base import Solver, StepInfo
from svmkit.solver.sampler import Draws
from svmkit.solver.smo_steps import Box
from svmkit_corrective.state import BETWEEN, CHUNK, Face, WorkingSet


@dataclass(frozen=True)
class Corrective(Solver):
    """Base of the two: a subclass says what its problem looks like and how far a point is from optimal.

    Rounds of three parts. All points: their gradient, from the weights that changed, never stored kernel values.
    Growth: the points that violate the conditions most join the working set, whose kernel matrix is kept within the
    memory budget; where it is full, points that need to be there least leave, and their weights stay as they are.
    Solving for the set: pairwise steps by the second order rule, until its gap is `inner` of what it was, or of that of
    all points.

    first : points of the first set and least growth; growth : of the set in a round, as a part of the vectors so far
    inner : gap within the set at which all points are looked at again, as a part of theirs
    """

    monotone: ClassVar[bool] = True
    recheck: ClassVar[int] = 1

    first: int = 1000
    growth: float = 1.0
    inner: float = 0.1

    def __post_init__(self) -> None:
        if not (isinstance(self.first, int) and self.first > 0):
            raise InputError(f"first must be a whole number of points > 0, not {self.first!r}")
        if not (self.growth > 0.0 and 0.0 < self.inner < 1.0):
            raise InputError(f"growth must be > 0 and inner between 0 and 1, not {self.growth:g} and {self.inner:g}")

    def patience(self, m: int) -> int:
        return max(10_000_000, 100 * m)  # LIBSVM's

    @abstractmethod
    def face(self, problem: Any) -> Face:
        """The problem as the driver takes it."""

    @abstractmethod
    def origin(self, problem: Any, rng: np.random.Generator) -> np.ndarray:
        """The point at which a solve without a start begins."""

    @abstractmethod
    def level(self, state: WorkingSet) -> float:
        """v of the points between the bounds, nearly."""

    @abstractmethod
    def gap(self, state: WorkingSet, box: Box, level: float | None) -> float:
        """P - D, or 2 (f - min g), as far as it comes from the points of `box`; level None: the best one for all."""

    @abstractmethod
    def objective(self, state: WorkingSet) -> float:
        """The problem's objective, from all points."""

    @abstractmethod
    def relative(self, state: WorkingSet, gap: float) -> float:
        """The relative gap of all points, whose `gap` is this one."""

    def init(self, problem: Any, start: np.ndarray | None, draws: Draws) -> WorkingSet:
        point = self.origin(problem, draws.rng) if start is None else start.copy()
        return WorkingSet(problem, self.face(problem), point, draws.rng)

    def step(self, state: WorkingSet) -> StepInfo:
        if state.fresh:  # the start: this may be the end of it
            while not state.synced:
                state.sync()
            return self.survey(state)
        if not state.synced and state.inner is None:
            state.sync()
            return self.survey(state) if state.synced else self.meanwhile(state, 0, 0.0)
        if state.inner is None:
            state.grow(self.first, self.growth)
            state.enter()
            state.goal = self.inner * min(state.apart, self.gap(state, state.inner, state.middle(state.inner)))
        most = min(1 + state.n_iter // 64, 1 + CHUNK // len(state.inner.v))  # few at first, as others report
        steps, fell, solved = 0, 0.0, False
        while not solved and steps < most:
            done, change, solved = state.advance(min(most - steps, BETWEEN))
            steps, fell = steps + done, fell + change
            solved = solved or self.gap(state, state.inner, state.middle(state.inner)) <= state.goal
        smo_steps.require_bound(fell, state.problem.gram.kernel.name)
        info = self.meanwhile(state, steps, fell)
        if solved:
            state.leave()
            if state.synced:  # not a weight of the set has changed
                return info._replace(moved=False)
        return info

    def meanwhile(self, state: WorkingSet, steps: int, fell: float) -> StepInfo:
        """What is known between two looks at all points."""
        state.value, state.n_iter = state.value + fell, state.n_iter + steps
        return StepInfo(state.value, state.n_support, 0.0, steps=steps)

    def survey(self, state: WorkingSet) -> StepInfo:
        """What is known once v belongs to the iterate."""
        violation = state.violation()
        state.level = self.level(state)
        before, state.value = state.value, self.objective(state)
        apart = self.gap(state, state.box, None)
        state.apart, moved = apart, state.fresh or state.value < before
        state.fresh = False
        return StepInfo(
            state.value,
            state.n_support,
            1.0,
            gap=self.relative(state, apart) if apart < math.inf else math.inf,
            gap_abs=apart,
            moved=moved,
            steps=0,
            violation=violation,
        )

    def solution(self, state: WorkingSet) -> np.ndarray:
        return state.point

    def resync(self, state: WorkingSet, certificate: Certificate) -> None:
        state.take(certificate)
