"""SWAP: Frank-Wolfe with pairwise steps, and with a second-order choice of the away vertex."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit.solver.exact_search import TINY
from svmkit_frank_wolfe.iterate import loops
from svmkit_frank_wolfe.iterate.state import Direction, SimplexState
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
        j, step = self.away_vertex(state), state.toward()
        if j < 0:
            return step
        swap = state.pairwise(j)
        return swap if swap.gain >= step.gain else step


@dataclass(frozen=True)
class Swap2o(Swap):
    """SWAP with second-order choice of the away vertex, SWAP-2o (SWAP paper, section 3.3).

    The away vertex j maximises the gain (g_j - g_i)^2 / (A_ii - 2 A_ij + A_jj) over the active points with g_j > g_i.
    The search needs the kernel row of i*, which the step needs anyway.
    """

    name = "swap2o"
    rule = Rule.SWAP2O

    def away_vertex(self, state: SimplexState) -> int:
        points, i, bias = state.tracked, state.i, state.problem.bias
        y, diag, row = points.y, points.diag, state.row_i()
        return loops.second_order_away(state.g, state.w, y, diag, row, i, y[i], bias, TINY)
