"""SWAP: Frank-Wolfe with pairwise steps."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit_frank_wolfe.iterate.directions import pairwise, toward
from svmkit_frank_wolfe.iterate.line_search import Direction
from svmkit_frank_wolfe.iterate.state import SimplexState
from svmkit_frank_wolfe.steps.compiled_steps import Rule
from svmkit_frank_wolfe.steps.step import FrankWolfe


@dataclass(frozen=True)
class Swap(FrankWolfe):
    """SWAP, Frank-Wolfe with pairwise steps (Nanculef, Frandi, Sartori, Allende 2014, Algorithm 4).

    Weight moves from j* = argmax of g over the active points to i* = argmin g when the unclipped gain
    (g_j - g_i)^2 / (A_ii - 2 A_ij + A_jj) of that step is at least the gain (f - g_i)^2 / (A_ii - 2 g_i + f) of the
    toward step; otherwise the toward step is taken.
    """

    name = "swap"
    rule = Rule.SWAP

    def away_vertex(self, state: SimplexState) -> int:
        """Return j, the active vertex that gives weight away; -1 for none."""
        return state.j

    def direction(self, state: SimplexState) -> Direction:
        j, step = self.away_vertex(state), toward(state)
        if j < 0:
            return step
        swap = pairwise(state, j)
        return swap if swap.gain >= step.gain else step
