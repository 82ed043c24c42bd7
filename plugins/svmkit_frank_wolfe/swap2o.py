"""SWAP with second-order choice of the away vertex."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit_frank_wolfe.iterate import loops
from svmkit_frank_wolfe.iterate.line_search import TINY
from svmkit_frank_wolfe.iterate.state import SimplexState
from svmkit_frank_wolfe.steps.compiled_steps import Rule
from svmkit_frank_wolfe.swap import Swap


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
