"""Stochastic Frank-Wolfe with away steps."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit_frank_wolfe.arrivals import ArrivalState
from svmkit_frank_wolfe.direction import Direction
from svmkit_frank_wolfe.sfw import SFW
from svmkit_frank_wolfe.step import toward_or_away


@dataclass(frozen=True)
class MSFW(SFW):
    """Modified SFW (Ouyang, Gray 2010, Algorithms 1, 3 and 4): toward or away steps inside the working set.

    A step away to the bound drops a point from the support; it stays in the working set, where it can come back.
    """

    name = "msfw"

    def direction(self, state: ArrivalState) -> Direction:
        return toward_or_away(state)
