"""Which rows may be asked for soon: those of the points that would be chosen in place of the one that is missing."""

from __future__ import annotations

import numpy as np
from numba import njit

from svmkit.solver.smo_steps import LOW, TAU, UP


@njit(cache=True, error_model="numpy")
def gains(box, slot_of, row, i, scores):
    """scores : what a step from each point of LOW to i gains, as in `second_order`; 0 for rows that are cached."""
    v, diag = box.v, box.diag
    for r in range(v.size):
        apart = v[r] - v[i]
        scores[r] = 0.0
        if apart > 0.0 and box.side[r] & LOW and slot_of[r] < 0:
            scores[r] = apart * apart / max(diag[i] + diag[r] - 2.0 * row[r], TAU)


@njit(cache=True)
def depths(box, slot_of, high, scores):
    """scores : how far v of each point of UP is below `high`, 0 for the others and for rows that are cached."""
    for r in range(box.v.size):
        scores[r] = max(high - box.v[r], 0.0) if box.side[r] & UP and slot_of[r] < 0 else 0.0


@njit(cache=True)
def largest(scores, n):
    """Positions of the up to n largest scores > 0, largest first."""
    found = np.empty(n, dtype=np.int64)
    count, floor = 0, 0.0  # what it takes to be among them
    for r in range(scores.size):
        score = scores[r]
        if score > floor:
            count = min(count + 1, n)
            p = count - 1
            while p > 0 and scores[found[p - 1]] < score:
                found[p] = found[p - 1]
                p -= 1
            found[p] = r
            floor = scores[found[n - 1]] if count == n else 0.0
    return found[:count]
