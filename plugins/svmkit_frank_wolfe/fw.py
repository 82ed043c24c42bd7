"""Frank-Wolfe, alias Gilbert's algorithm."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit_frank_wolfe.iterate.directions import toward
from svmkit_frank_wolfe.iterate.line_search import Direction
from svmkit_frank_wolfe.iterate.state import SimplexState
from svmkit_frank_wolfe.steps.compiled_steps import Rule
from svmkit_frank_wolfe.steps.step import FrankWolfe


@dataclass(frozen=True)
class FW(FrankWolfe):
    """Frank-Wolfe with exact line search: always toward the best vertex.

    The gap falls like O(1/k), so that a tenth of the gap takes ten times the iterations, and no vertex is ever dropped.
    For the nearest point of a polytope it is Gilbert's algorithm.

    References
    ----------
    Frandi, Nanculef, Suykens, "Complexity issues and randomization strategies in Frank-Wolfe algorithms" (the FW/CVM
    paper); Algorithm 1 of the PARTAN paper.
    """

    name = "fw"
    rule = Rule.FW
    paper = "Frank, Wolfe 1956"

    def direction(self, state: SimplexState) -> Direction:
        return toward(state)
