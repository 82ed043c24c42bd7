"""What a direction is, and the one line search.

Every direction is D = s alpha + c_in e_i + c_out e_j, so one formula moves alpha and g for all of them.
"""

from __future__ import annotations

from typing import NamedTuple

TINY = 1e-300  # floor of a curvature: a zero one means a step to the bound


class Direction(NamedTuple):
    """D = s alpha + c_in e_i + c_out e_j with D'g, D'A D and the largest feasible step."""

    slope: float
    curvature: float
    lam_max: float
    s: float
    c_in: float
    c_out: float
    j: int = -1

    @property
    def gain(self) -> float:
        """Decrease of f by the unclipped step, slope^2 / curvature; 0 for a direction that does not descend."""
        return self.slope**2 / max(self.curvature, TINY) if self.slope < 0.0 else 0.0


def line_search(slope: float, curvature: float, lam_max: float) -> float:
    """Exact minimiser of f along a direction, clipped to [0, lam_max]."""
    if not slope < 0.0:
        return 0.0
    return min(-slope / max(curvature, TINY), lam_max)
