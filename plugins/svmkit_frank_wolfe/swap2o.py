"""SWAP with second-order choice of the away vertex."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit_frank_wolfe import loops
from svmkit_frank_wolfe.direction import TINY
from svmkit_frank_wolfe.state import SimplexState
from svmkit_frank_wolfe.swap import Swap


@dataclass(frozen=True)
class Swap2o(Swap):
    """SWAP-2o (SWAP paper, section 3.3): j maximises the gain (g_j - g_i)^2 / (A_ii - 2 A_ij + A_jj) itself.

    The maximum runs over active j with g_j > g_i and needs the row of i*, which the step needs anyway.
    """

    name = "swap2o"

    def away_vertex(self, state: SimplexState) -> int:
        return loops.second_order_away(
            state.g,
            state.w,
            state.y,
            state.diag,
            state.row_i(),
            state.i,
            state.y[state.i],
            state.problem.bias,
            TINY,
        )
