"""Sums of losses and of their duals over all samples, from their terms, with bounds on the rounding errors."""

from __future__ import annotations

import numpy as np

from svmkit.kernels.rounding import U
from svmkit.losses.terms import Terms, dual_weights, loss_values
from svmkit.problems.rounding import dot_error


def total_loss(terms: Terms, h: np.ndarray) -> float:
    """Return the sum of the losses of decision values h (m,)."""
    return float(loss_values(terms, terms.target - h).sum())


def total_loss_error(terms: Terms, h: np.ndarray, error: np.ndarray) -> float:
    """Return a bound on the error of `total_loss` for decision values h (m,) with errors of at most `error` (m,)."""
    e, kink = terms.target - h, np.maximum(terms.kink_up, terms.kink_down)
    error = error + 2.0 * U * (np.abs(terms.target) + np.abs(h) + kink)
    steepest = np.maximum(dual_weights(terms, e + error), -dual_weights(terms, e - error))  # the losses are convex
    return float(steepest @ error) + dot_error(loss_values(terms, e), 4.0)


def reward(terms: Terms, beta: np.ndarray) -> float:
    """Return the part of D that grows along beta (m,) like a line: target'beta less what the kinks cost."""
    return float((_slopes(terms, beta) * beta).sum())


def reward_error(terms: Terms, beta: np.ndarray) -> float:
    """Return a bound on the rounding error of `reward`."""
    return dot_error(terms.target * beta) + dot_error((_slopes(terms, beta) - terms.target) * beta)


def _slopes(terms: Terms, beta: np.ndarray) -> np.ndarray:
    return terms.target - np.where(beta > 0.0, terms.kink_up, -terms.kink_down)


def ridges(terms: Terms, beta: np.ndarray) -> np.ndarray:
    """Return the ridges (m,) on the sides on which the weights beta (m,) lie."""
    return np.where(beta > 0.0, terms.ridge_up, terms.ridge_down)


def outside_bounds(terms: Terms, beta: np.ndarray) -> str | None:
    """Return why beta is not float64 of shape (m,) with lower <= beta <= upper, or None if it is."""
    if beta.shape != terms.upper.shape or beta.dtype != np.float64:
        return f"it should be float64 of shape {terms.upper.shape}, not {beta.dtype} of shape {beta.shape}"
    if not np.isfinite(beta).all():
        return "weights should be finite"
    over = np.maximum(beta - terms.upper, terms.lower - beta)
    if over.max() > 0.0:
        i = int(over.argmax())
        return f"the weight of row {i} should be between {terms.lower[i]:g} and {terms.upper[i]:g}, not {beta[i]:g}"
    return None
