"""Bounds on the rounding errors of the sums in P and D, which a certificate adds to its gap."""

from __future__ import annotations

import numpy as np

from svmkit.kernels.rounding import TINY, U
from svmkit.losses.terms import LogisticTerms, Terms, entropies

ROUNDINGS = 8.0  # roundings of an entropy from its weight, or of a logistic loss from its residual, at most


def dot_error(terms: np.ndarray, factor: float = 1.0) -> float:
    """Return a bound on the error of a sum in any order of products `terms` (n,), which share a factor >= 0.

    It is (n + 1) (u sum |terms| factor + what underflow can cost), inf if that overflows (Higham: Accuracy and
    stability of numerical algorithms, 2002, section 3.1).
    """
    size = float(np.abs(terms).sum()) * factor
    return (len(terms) + 1) * (U * size + TINY) if size else 0.0


def exact_sum(a, b):
    """Return fl(a + b) and the rounding error a + b - fl(a + b), which is exact unless the sum overflows.

    Knuth: The Art of Computer Programming, volume 2, section 4.2.2, theorem B.
    """
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def phi_error(terms: Terms, beta: np.ndarray) -> float:
    """Return a bound on the rounding error of twice the sum of phi without the kinks."""
    if not isinstance(terms, LogisticTerms):
        return dot_error(beta * (beta * np.where(beta > 0.0, terms.ridge_up, terms.ridge_down)))
    return entropy_error(entropies(terms, beta))


def entropy_error(phi: np.ndarray) -> float:
    """Return the same as `phi_error`, for the entropies phi (m,) of logistic losses."""
    return 2.0 * (dot_error(phi) + ROUNDINGS * U * float(np.abs(phi).sum()))


def bias_reach(terms: Terms, away: np.ndarray | float) -> float:
    """Return a bound on the best free bias of decisions that are 0, for targets that are `away` (m,) from its origin.

    Some residual is within the kinks from above and one from below. Logistic losses have the bias at which the weights
    of both signs have the same sum, the logarithm of the ratio of their bounds.
    """
    farthest = float(np.max(away + np.maximum(terms.kink_up, terms.kink_down)))
    if isinstance(terms, LogisticTerms):
        farthest += bias_of_bounds(float(terms.upper.sum()), -float(terms.lower.sum()))
    return farthest


def bias_of_bounds(up: float, down: float) -> float:
    """Return the size of the best bias of logistic losses without features, for the summed bounds of both signs."""
    return abs(float(np.log(up) - np.log(down)))
