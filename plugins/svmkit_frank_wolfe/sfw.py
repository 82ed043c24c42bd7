"""Stochastic Frank-Wolfe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from svmkit.problems.simplex import SimplexQP
from svmkit.solver.capabilities import LearnsFromStreams
from svmkit.solver.sampler import Draws, Permuted, Sampler
from svmkit.solver.step_info import StepInfo
from svmkit_frank_wolfe.iterate.directions import toward
from svmkit_frank_wolfe.iterate.line_search import Direction
from svmkit_frank_wolfe.steps.arrivals import BATCH, ArrivalState, arrival
from svmkit_frank_wolfe.steps.oracle import Choice
from svmkit_frank_wolfe.steps.step import FrankWolfe, advance


@dataclass(frozen=True)
class SFW(LearnsFromStreams, FrankWolfe):
    """Stochastic Frank-Wolfe (Ouyang, Gray 2010, Algorithms 1 and 2): samples arrive one at a time, streams included.

    A sample joins the working set when its g is at most the lowest g inside. Then one toward step goes to the best
    vertex of the working set. An iteration is an arrival, and m of them are an epoch; the sampler gives the order, by
    default a fresh permutation in each epoch. A step scales alpha in O(1) and g in one pass over the working set.
    """

    name = "sfw"
    sampler: ClassVar[Sampler] = Permuted(BATCH)
    tracks_all: ClassVar[bool] = False
    state_class: ClassVar[type[ArrivalState]] = ArrivalState

    def origin(self, problem: SimplexQP, rng: np.random.Generator) -> np.ndarray:
        point = np.zeros(problem.m)  # line 1
        point[rng.integers(problem.m)] = 1.0
        return point

    def prepare(self, state: ArrivalState) -> None:
        """Do nothing: a sample arrives with the step."""

    def choose(self, state: ArrivalState) -> Choice:
        return arrival(state)

    def direction(self, state: ArrivalState) -> Direction:
        return toward(state)

    def members(self, state: ArrivalState) -> np.ndarray:
        return state.tracked.idx

    def renew(self, state: ArrivalState, problem: SimplexQP, draws: Draws) -> None:
        state.renew(problem, draws)

    def step(self, state: ArrivalState) -> StepInfo:
        info = self.look(state)  # the estimates are those of the iterate before the step
        advance(state, self.direction(state))
        return info._replace(objective=state.objective, n_support=state.active)
