"""Stochastic Frank-Wolfe with away steps."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit.errors import InputError
from svmkit_frank_wolfe.arrivals import ArrivalState
from svmkit_frank_wolfe.directions import toward, toward_or_away
from svmkit_frank_wolfe.line_search import Direction
from svmkit_frank_wolfe.sfw import SFW


@dataclass(frozen=True)
class MSFW(SFW):
    """Modified SFW (Ouyang, Gray 2010, Algorithms 1, 3 and 4): toward or away steps inside the working set.

    A step away to the bound drops a point from the support; it stays in the working set, where it can come back.

    away : where the away vertex is sought. "set" (default), the whole working set, as Algorithm 4 prints it: a point
        without weight leaves no step away, a toward step is taken then (the published numbers of support vectors come
        out so). "support": points with weight only, as in MFW; more drops, a faster end.
    """

    name = "msfw"

    away: str = "set"

    def __post_init__(self) -> None:
        if self.away not in ("set", "support"):
            raise InputError(f"msfw: away must be set or support, not {self.away!r}")

    def direction(self, state: ArrivalState) -> Direction:
        if self.away == "set" and state.w[state.g.argmax()] == 0.0:
            return toward(state)
        return toward_or_away(state)
