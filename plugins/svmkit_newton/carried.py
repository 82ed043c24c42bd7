"""What a solve leaves for another one that continues it, beside the dual weights: a checkpoint may hold it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

MOST = 1_000_000  # numbers that a checkpoint holds beside the dual weights, as text


class Carried(NamedTuple):
    """The weights w (width,), which the image of dual weights far from the optimum is further from it than; and for
    losses with kinks the centre (m,) around which they are bent, by which width, and the least one.
    """

    w: np.ndarray
    centre: np.ndarray
    width: float
    least: float

    def to_plain(self) -> dict[str, Any] | None:
        """Return the same in JSON types; None where that is much text."""
        if len(self.w) + len(self.centre) > MOST:
            return None
        kinked = {"centre": self.centre.tolist(), "width": float(self.width), "least": float(self.least)}
        return {"w": self.w.tolist()} | (kinked if len(self.centre) else {})


def read_carried(given: Mapping[str, Any] | None, width: int, shares: np.ndarray) -> Carried | None:
    """Return what an earlier solve has left, of a file perhaps; None if that is not all that is needed.

    Parameters
    ----------
    given : mapping or None
        What `Carried.to_plain` returned.
    width : int
        The number of weights.
    shares : ndarray of float64, shape (m,) or (0,)
        Those of `svmkit_newton.proximal`, empty where no loss has a kink.
    """
    given = given if isinstance(given, Mapping) else {}
    if not shares.size:
        given = {"w": given.get("w"), "centre": [], "width": 0.0, "least": 0.0}
    try:
        w, centre = (np.array(given[name], dtype=np.float64) for name in ("w", "centre"))
        bend, least = float(given["width"]), float(given["least"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    fits = w.shape == (width,) and centre.shape == shares.shape and (bend >= least > 0.0 or not shares.size)
    is_finite = np.isfinite(w).all() and np.isfinite(centre).all() and bend < np.inf
    return Carried(w, centre, bend, least) if fits and is_finite else None
