"""The base of the family, and the step that all variants share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from svmkit.problems.base import Certificate
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.base import StepInfo
from svmkit.solver.capabilities import LimitsSupport
from svmkit.solver.sampler import Draws
from svmkit_frank_wolfe import oracle
from svmkit_frank_wolfe.line_search import Direction, line_search
from svmkit_frank_wolfe.oracle import Choice
from svmkit_frank_wolfe.state import SimplexState


@dataclass(frozen=True)
class FrankWolfe(LimitsSupport):
    """Base of the family: a variant says which direction to take, what follows the step, or which vertices it sees.

    Attributes
    ----------
    keeps : int
        Number of iterates whose alpha and g are kept.
    tracks_all : bool
        Whether all points are tracked as soon as their gradient is known.
    state_class : type
        Class of the states that `init` makes.
    """

    monotone: ClassVar[bool] = True
    keeps: ClassVar[int] = 1
    tracks_all: ClassVar[bool] = True
    state_class: ClassVar[type[SimplexState]] = SimplexState

    def init(self, problem: SimplexQP, start: np.ndarray | None, draws: Draws) -> SimplexState:
        point = self.origin(problem, draws.rng) if start is None else start
        # all points at once where the first look takes them all: a start with many vectors is multiplied out once
        everything = self.tracks_all and draws.every
        state = self.state_class(problem, point / point.sum(), draws, self.keeps, everything)
        self.prepare(state)
        return state

    def origin(self, problem: SimplexQP, rng: np.random.Generator) -> np.ndarray:
        """Return the point (m,) at which a solve without a start begins."""
        return oracle.first(problem, rng)

    def prepare(self, state: SimplexState) -> None:
        """Find the vertex of the next step."""
        self.look(state)

    @abstractmethod
    def direction(self, state: SimplexState) -> Direction:
        """Return the direction of the next step from (alpha, g, f, toward vertex i, away vertex j) in `state`."""

    def choose(self, state: SimplexState) -> Choice:
        """Ask the oracle for the next vertex."""
        return oracle.best(state)

    def step(self, state: SimplexState) -> StepInfo:
        return self.look(state, advance(state, self.direction(state)))

    def look(self, state: SimplexState, moved: bool = True) -> StepInfo:
        """Aim at the next vertex and report."""
        return oracle.within(state, self.choose(state), moved)

    def limit_support(self, state: SimplexState, most: int) -> None:
        state.limit(most)
        self.prepare(state)

    def solution(self, state: SimplexState) -> np.ndarray:
        return state.point()

    def resync(self, state: SimplexState, certificate: Certificate) -> None:
        state.resync(certificate, self.tracks_all)
        self.prepare(state)


def advance(state: SimplexState, d: Direction) -> bool:
    """Make the exact step along d; return whether it had a length above 0."""
    lam = line_search(d.slope, d.curvature, d.lam_max)
    state.move(lam, d)
    state.settle()
    return lam > 0.0
