"""Frank-Wolfe, alias Gilbert's algorithm."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit_frank_wolfe.directions import toward
from svmkit_frank_wolfe.line_search import Direction
from svmkit_frank_wolfe.state import SimplexState
from svmkit_frank_wolfe.step import FrankWolfe


@dataclass(frozen=True)
class FW(FrankWolfe):
    """Frank-Wolfe with exact line search: always toward the best vertex.

    Frandi, Nanculef, Suykens, "Complexity issues and randomization strategies in Frank-Wolfe algorithms" (FW/CVM paper)
    and Algorithm 1 of the PARTAN paper; on a polytope's nearest point it is Gilbert's algorithm. Gap O(1/k):
    ten times the iterations for each decade, and no vertex is ever dropped.
    """

    name = "fw"
    paper = "Frank, Wolfe 1956"

    def direction(self, state: SimplexState) -> Direction:
        return toward(state)
