"""Bounds on the rounding errors of the sums in P and D, which a certificate adds to its gap."""

from __future__ import annotations

import numpy as np

from svmkit.kernels.rounding import TINY, U


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
