"""Stochastic Frank-Wolfe with away steps."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit.errors import InputError
from svmkit_frank_wolfe.iterate.directions import toward, toward_or_away
from svmkit_frank_wolfe.iterate.line_search import Direction
from svmkit_frank_wolfe.sfw import SFW
from svmkit_frank_wolfe.steps.arrivals import ArrivalState


@dataclass(frozen=True)
class MSFW(SFW):
    """Modified SFW (Ouyang, Gray 2010, Algorithms 1, 3 and 4): toward or away steps inside the working set.

    An away step to the bound drops a point from the support; the point stays in the working set, where it can return.

    Parameters
    ----------
    away : str, default="set"
        Where the away vertex is sought. "set" is the whole working set, as Algorithm 4 prints it: if the vertex has no
        weight, a toward step is taken; this gives the published numbers of support vectors. "support" is the points
        with weight, as in MFW: more points are dropped, and the solve converges faster in the end.

    Raises
    ------
    InputError
        If `away` is neither.
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
