"""The three directions on the simplex, and the step that all variants share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from svmkit.problem import Certificate
from svmkit.sampler import Draws
from svmkit.solver import Solver, StepInfo
from svmkit_frank_wolfe.direction import Direction, line_search
from svmkit_frank_wolfe.state import SimplexState


def toward(state: SimplexState) -> Direction:
    """D = e_i - alpha, the Frank-Wolfe direction to the vertex i that the oracle chose."""
    g_i, f = state.g[state.i], state.f
    return Direction(g_i - f, state.diag[state.i] - 2.0 * g_i + f, 1.0, -1.0, 1.0, 0.0)


def away(state: SimplexState, j: int) -> Direction:
    """D = alpha - e_j, away from the active vertex j; no step when it is the only one."""
    g_j, f, weight = state.g[j], state.f, state.alpha[j]
    lam_max = weight / (1.0 - weight) if weight < 1.0 else 0.0
    return Direction(f - g_j, state.diag[j] - 2.0 * g_j + f, lam_max, 1.0, 0.0, -1.0, j)


def pairwise(state: SimplexState, j: int) -> Direction:
    """D = e_i - e_j: weight moves from the active vertex j to the vertex i."""
    curvature = state.diag[state.i] - 2.0 * state.entry(j) + state.diag[j]
    return Direction(state.g[state.i] - state.g[j], curvature, state.alpha[j], 0.0, 1.0, -1.0, j)


@dataclass(frozen=True)
class FrankWolfe(Solver):
    """Base of the family: a variant says which direction to take, or what follows the step."""

    monotone: ClassVar[bool] = True
    keeps: ClassVar[int] = 1  # iterates whose alpha and g are kept

    def init(self, problem, start: np.ndarray | None, draws: Draws) -> SimplexState:
        return SimplexState(problem, start, draws, self.keeps)

    @abstractmethod
    def direction(self, state: SimplexState) -> Direction:
        """The direction of the next step from (alpha, g, f, toward vertex i, away vertex j) in `state`."""

    def step(self, state: SimplexState) -> StepInfo:
        d = self.direction(state)
        lam = line_search(d.slope, d.curvature, d.lam_max)
        state.move(lam, d)
        return state.look(moved=lam > 0.0)

    def solution(self, state: SimplexState) -> np.ndarray:
        return state.point()

    def resync(self, state: SimplexState, certificate: Certificate) -> None:
        state.resync(certificate)
