"""Dual weights and the terms of their losses: bounds, and the rounding error of what D rewards."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmkit.losses.terms import Terms
from svmkit.problems.rounding import dot_error


def reward_error(terms: Terms, beta: np.ndarray) -> float:
    """Return a bound on the rounding error of target'beta less what the kinks cost."""
    return dot_error(terms.target * beta) + dot_error(np.where(beta > 0.0, terms.kink_up, terms.kink_down) * beta)


def outside_bounds(terms: Any, beta: np.ndarray, first: int = 0) -> str | None:
    """Return why beta is not float64 of shape (m,) with lower <= beta <= upper, or None if it is.

    The weights belong to the rows from `first` on.
    """
    if beta.shape != terms.upper.shape or beta.dtype != np.float64:
        return f"it should be float64 of shape {terms.upper.shape}, not {beta.dtype} of shape {beta.shape}"
    if not np.isfinite(beta).all():
        return "weights should be finite"
    over = np.maximum(beta - terms.upper, terms.lower - beta)
    if over.max() > 0.0:
        i = int(over.argmax())
        low, high = terms.lower[i], terms.upper[i]
        return f"the weight of row {first + i} should be between {low:g} and {high:g}, not {beta[i]:g}"
    return None
