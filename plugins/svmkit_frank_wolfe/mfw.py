"""Frank-Wolfe with away steps."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit_frank_wolfe.iterate.directions import toward_or_away
from svmkit_frank_wolfe.iterate.line_search import Direction
from svmkit_frank_wolfe.iterate.state import SimplexState
from svmkit_frank_wolfe.steps.compiled_steps import Rule
from svmkit_frank_wolfe.steps.step import FrankWolfe


@dataclass(frozen=True)
class MFW(FrankWolfe):
    """Modified Frank-Wolfe (Wolfe 1970; SWAP paper, Algorithm 3): toward i*, or away from j*, linear convergence.

    The step goes toward i* when f - g_i >= g_j - f. The paper clips the away step at the larger of its two bounds;
    feasibility needs the smaller one, and a step to the bound drops j* exactly.
    """

    name = "mfw"
    rule = Rule.MFW

    def direction(self, state: SimplexState) -> Direction:
        return toward_or_away(state)
