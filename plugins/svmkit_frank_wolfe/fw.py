"""Frank-Wolfe, alias Gilbert's algorithm, without and with away steps."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit_frank_wolfe.iterate.state import Direction, SimplexState
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


@dataclass(frozen=True)
class MFW(FrankWolfe):
    """Modified Frank-Wolfe (Wolfe 1970; SWAP paper, Algorithm 3): toward i*, or away from j*, linear convergence.

    The step goes toward i* when f - g_i >= g_j - f. The paper clips the away step at the larger of its two bounds;
    feasibility needs the smaller one, and a step to the bound drops j* exactly.
    """

    name = "mfw"
    rule = Rule.MFW

    def direction(self, state: SimplexState) -> Direction:
        return state.toward_or_away()
