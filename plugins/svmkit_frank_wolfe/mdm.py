"""The Mitchell-Dem'yanov-Malozemov algorithm."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit_frank_wolfe.iterate.state import Direction, SimplexState
from svmkit_frank_wolfe.steps.compiled_steps import Rule
from svmkit_frank_wolfe.steps.step import FrankWolfe


@dataclass(frozen=True)
class MDM(FrankWolfe):
    """MDM (Mitchell, Dem'yanov, Malozemov 1974; SWAP paper, section 5): pairwise steps from j* to i*, nothing else."""

    name = "mdm"
    rule = Rule.MDM

    def direction(self, state: SimplexState) -> Direction:
        return state.pairwise(state.j)
