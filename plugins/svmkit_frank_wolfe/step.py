"""Directions on the simplex and the one line search (math.md, "Frank-Wolfe steps").

Every direction is D = s alpha + c_in e_i + c_out e_j, so one formula moves alpha and g for all of them.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from svmkit.problem import Certificate
from svmkit.sampler import Draws
from svmkit.solver import Solver, StepInfo
from svmkit_frank_wolfe.state import SimplexState

TINY = 1e-300  # floor of a curvature: a zero one means a step to the bound


class Direction(NamedTuple):
    """D = s alpha + c_in e_i + c_out e_j with D'g, D'A D and the largest feasible step."""

    slope: float
    curvature: float
    lam_max: float
    s: float
    c_in: float
    c_out: float
    j: int = -1

    @property
    def gain(self) -> float:
        """Decrease of f by the unclipped step, slope^2 / curvature; 0 for a direction that does not descend."""
        return self.slope**2 / max(self.curvature, TINY) if self.slope < 0.0 else 0.0


def line_search(slope: float, curvature: float, lam_max: float) -> float:
    """Exact minimiser of f along a direction, clipped to [0, lam_max]."""
    if not slope < 0.0:
        return 0.0
    return min(-slope / max(curvature, TINY), lam_max)


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
