"""The optimised cutting plane algorithm for SVMs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from svmkit.errors import InputError
from svmkit.losses.base import PIECEWISE, Family
from svmkit.problems.risks.rank_risk import RankRisk
from svmkit_cutting_plane.cutting_plane import CuttingPlane, Point, State
from svmkit_cutting_plane.search import line_search, make_ramps, search_by_slopes


@dataclass(frozen=True)
class OCAS(CuttingPlane):
    """Optimised cutting plane algorithm, OCAS (Franc, Sonnenburg 2008).

    The best point w_b moves to the minimum of P itself on the line through the model's minimum w_t, and the next cut is
    made at (1 - mu) w_b + mu w_t, close to the best point. The other parameters are those of `CuttingPlane`.

    Parameters
    ----------
    mu : float, default=0.1
        Share of w_t in the point of the next cut, in (0, 1].

    Raises
    ------
    InputError
        If `mu` is outside (0, 1].
    """

    name = "ocas"
    losses: ClassVar[tuple[str | Family, ...]] = ("hinge", "squared_hinge", *PIECEWISE)  # whose slopes are ramps
    paper = "Franc, Sonnenburg 2008"

    mu: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.mu <= 1.0:
            raise InputError(f"mu must be > 0 and at most 1, not {self.mu}: 0.1 is the paper's")

    def follow(self, state: State, reached: Point) -> None:
        p, best = state.problem, state.best
        d, change = reached.w - best.w, reached.h - best.h
        if d.any():
            along, square = float(best.w @ d), float(d @ d)
            if isinstance(p, RankRisk):
                t = search_by_slopes(lambda t: p.slope(best.h + t * change, change) + along + t * square)
            else:
                t = line_search(make_ramps(p.points, best.h, change), along, square)
            w, h = best.w + t * d, best.h + t * change
            # far beyond w_t the rounding of `change` would matter; such a point is rare and gets a separate pass
            state.keep(Point(w, h, p.primal(w, h)) if t <= 1.0 else state.look(w))
        state.query = (1.0 - self.mu) * state.best.h + self.mu * reached.h
