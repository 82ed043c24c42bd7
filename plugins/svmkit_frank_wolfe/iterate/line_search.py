"""What a direction is, and the exact line search along it.

Every direction is D = s alpha + c_in e_i + c_out e_j, so that one formula moves alpha and g along all of them.
"""

from __future__ import annotations

from typing import NamedTuple

from svmkit.solver.exact_search import TINY
from svmkit.solver.exact_search import line_search as line_search


class Direction(NamedTuple):
    """D = s alpha + c_in e_i + c_out e_j, from an iterate alpha with gradient g.

    Attributes
    ----------
    slope : float
        D'g.
    curvature : float
        D'A D.
    lam_max : float
        Largest step along D that is feasible.
    s, c_in, c_out : float
        Coefficients of alpha, of the toward vertex i and of j.
    j : int, default=-1
        Position of the vertex that gives weight, -1 for none.
    """

    slope: float
    curvature: float
    lam_max: float
    s: float
    c_in: float
    c_out: float
    j: int = -1

    @property
    def gain(self) -> float:
        """Decrease of f by the unclipped step, slope^2 / curvature; 0 for a direction along which f does not fall."""
        return self.slope**2 / max(self.curvature, TINY) if self.slope < 0.0 else 0.0
