"""Pairwise coordinate descent on the simplex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from svmkit.solver import Certificate, Draws, SimplexQP, Solver, StepInfo


class State:
    """alpha (m,) and its gradient g = A alpha (m,)."""

    def __init__(self, problem: SimplexQP, alpha: np.ndarray, draws: Draws) -> None:
        self.problem, self.draws = problem, draws
        self.alpha, self.g = alpha, problem.gradient(alpha)


@dataclass(frozen=True)
class Coordinate(Solver):
    """Pairwise coordinate descent: weight moves within the pair of coordinates that violates optimality most.

    With i = argmin g and j = argmax of g over alpha_j > 0, f along e_i - e_j is least at the step
    (g_j - g_i) / (A_ii - 2 A_ij + A_jj), clipped to alpha_j. A sampler says among which points i is sought.
    """

    name: ClassVar[str] = "coord"
    problem: ClassVar[type[SimplexQP]] = SimplexQP
    monotone: ClassVar[bool] = True

    def init(self, problem: SimplexQP, start: np.ndarray | None, draws: Draws) -> State:
        if start is None:
            start = np.zeros(problem.m)
            for side in (problem.y > 0, problem.y < 0):
                start[draws.rng.choice(np.flatnonzero(side))] = 0.5
        return State(problem, start / start.sum(), draws)

    def step(self, state: State) -> StepInfo:
        p, alpha, g = state.problem, state.alpha, state.g
        looked = state.draws()
        i = int(looked[np.argmin(g[looked])])
        active = np.flatnonzero(alpha)
        j = int(active[np.argmax(g[active])])
        moved = g[j] > g[i]
        if moved:
            row_i, row_j = p.gram.row(i), p.gram.row(j)
            A_ij = p.y[i] * p.y[j] * (row_i[j] + p.bias)
            lam = min((g[j] - g[i]) / max(p.diag[i] - 2.0 * A_ij + p.diag[j], 1e-300), alpha[j])
            alpha[j] = 0.0 if lam == alpha[j] else alpha[j] - lam
            alpha[i] += lam
            g += lam * p.y * (p.y[i] * (row_i + p.bias) - p.y[j] * (row_j + p.bias))
            g[i] += lam * p.ridge[i]
            g[j] -= lam * p.ridge[j]
        f = float(alpha @ g)
        slack = 2.0 * (f - float(g.min()))  # of all points: the gap is exact, whatever the sampler
        return StepInfo(
            objective=f,
            n_support=int(np.count_nonzero(alpha)),
            epochs=len(looked) / p.m,
            gap=slack / f,
            gap_abs=max(slack, 0.0),
            moved=moved or not state.draws.every,  # the next sample may do better
        )

    def solution(self, state: State) -> np.ndarray:
        return state.alpha / state.alpha.sum()

    def resync(self, state: State, certificate: Certificate) -> None:
        """Go on from the exact gradient, with float64 kernel rows from now on."""
        state.alpha, state.g = self.solution(state), certificate.gradient.copy()
        state.problem.gram.promote()
