"""The three directions on the simplex, and the step that all variants share."""

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
from svmkit_frank_wolfe.direction import Direction, line_search
from svmkit_frank_wolfe.state import Choice, SimplexState


def toward(state: SimplexState) -> Direction:
    """D = e_i - alpha, the Frank-Wolfe direction to the vertex i that the oracle chose."""
    g_i, f = state.g[state.i], state.f
    curvature = state.diag[state.i] - 2.0 * state.image(state.i) + state.f - state.c_alpha
    return Direction(g_i - f, curvature, 1.0, -1.0, 1.0, 0.0)


def away(state: SimplexState, j: int) -> Direction:
    """D = alpha - e_j, away from the active vertex j; no step when it is the only one."""
    g_j, f, weight = state.g[j], state.f, state.weight(j)
    lam_max = weight / (1.0 - weight) if weight < 1.0 else 0.0
    curvature = state.diag[j] - 2.0 * state.image(j) + f - state.c_alpha
    return Direction(f - g_j, curvature, lam_max, 1.0, 0.0, -1.0, j)


def toward_or_away(state: SimplexState) -> Direction:
    """Whichever of the two descends faster, toward when f - g_i >= g_j - f."""
    t, a = toward(state), away(state, state.j)
    return t if t.slope <= a.slope else a


def pairwise(state: SimplexState, j: int) -> Direction:
    """D = e_i - e_j: weight moves from the active vertex j to the vertex i."""
    curvature = state.diag[state.i] - 2.0 * state.entry(j) + state.diag[j]
    return Direction(state.g[state.i] - state.g[j], curvature, state.weight(j), 0.0, 1.0, -1.0, j)


@dataclass(frozen=True)
class FrankWolfe(LimitsSupport):
    """Base of the family: a variant says which direction to take, what follows the step, or which vertices it sees."""

    monotone: ClassVar[bool] = True
    keeps: ClassVar[int] = 1  # iterates whose alpha and g are kept
    roams: ClassVar[bool] = True  # goes over to all points when it has their gradient

    def init(self, problem: SimplexQP, start: np.ndarray | None, draws: Draws) -> SimplexState:
        point = oracle.first(problem, draws.rng) if start is None else start / start.sum()
        # all points at once where the first look takes them all: a start with many vectors is multiplied out once
        state = SimplexState(problem, point, draws, self.keeps, everything=self.roams and draws.every)
        self.prepare(state)
        return state

    def prepare(self, state: SimplexState) -> None:
        """What has to be known before the next step: its vertex."""
        self.look(state)

    @abstractmethod
    def direction(self, state: SimplexState) -> Direction:
        """The direction of the next step from (alpha, g, f, toward vertex i, away vertex j) in `state`."""

    def choose(self, state: SimplexState) -> Choice:
        """The vertex to look at next."""
        return oracle.best(state)

    def step(self, state: SimplexState) -> StepInfo:
        return self.look(state, advance(state, self.direction(state)))

    def look(self, state: SimplexState, moved: bool = True) -> StepInfo:
        """Ask the oracle for the next vertex, and report."""
        return oracle.within(state, self.choose(state), moved)

    def limit_support(self, state: SimplexState, most: int) -> None:
        state.limit(most)
        self.prepare(state)

    def solution(self, state: SimplexState) -> np.ndarray:
        return state.point()

    def resync(self, state: SimplexState, certificate: Certificate) -> None:
        state.resync(certificate, self.roams)
        self.prepare(state)


def advance(state: SimplexState, d: Direction) -> bool:
    """One exact step along d; whether it led anywhere."""
    lam = line_search(d.slope, d.curvature, d.lam_max)
    state.move(lam, d)
    state.settle()
    return lam > 0.0
