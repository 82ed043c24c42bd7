"""How far a square matrix is from its transpose."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp


class Asymmetry(NamedTuple):
    """The largest |X[i, j] - X[j, i]| of a square matrix, and where it is."""

    size: float = 0.0
    i: int = 0
    j: int = 0


def asymmetry(X) -> Asymmetry:
    """Return how far a square X, dense or CSR, is from its transpose; a few rows at a time."""
    largest_yet = Asymmetry()
    step = max(1, (1 << 20) // max(X.shape[0], 1))
    for lo in range(0, X.shape[0], step):
        difference = np.abs(X[lo : lo + step] - X[:, lo : lo + step].T)
        difference = difference.toarray() if sp.issparse(difference) else difference
        i, j = np.unravel_index(int(difference.argmax()), difference.shape)
        if difference[i, j] > largest_yet.size:
            largest_yet = Asymmetry(float(difference[i, j]), lo + int(i), int(j))
    return largest_yet
