"""Guesses of the kernel rows needed next: rows of the points that would be chosen instead of the missing one."""

from __future__ import annotations

import numpy as np

from svmkit.runtime.compiling import njit
from svmkit.solver.smo.box import LOW, UP, slope, violation_of
from svmkit.solver.smo.steps import TAU


@njit(cache=True, error_model="numpy")
def gains(box, slot_of, row, i, scores, kinks=None):
    """Set `scores` to the gain of a step from each point of LOW to i, as in `second_order`; 0 for cached rows."""
    v, side, diag = box.v, box.side, box.diag
    for r in range(v.size):
        violation = violation_of(v, side, i, r, kinks)
        scores[r] = 0.0
        if violation > 0.0 and side[r] & LOW and slot_of[r] < 0:
            scores[r] = violation * violation / max(diag[i] + diag[r] - 2.0 * row[r], TAU)


@njit(cache=True)
def depths(box, slot_of, high, scores, kinks=None):
    """Set `scores` to high - v for each point of UP that is below `high`; 0 for other points and cached rows."""
    for r in range(box.v.size):
        below = high - slope(box.v[r], box.side[r], UP, kinks, r)
        scores[r] = max(below, 0.0) if box.side[r] & UP and slot_of[r] < 0 else 0.0


@njit(cache=True)
def largest(scores, n):
    """Return the positions of the up to n largest scores > 0, largest first."""
    best = np.empty(n, dtype=np.int64)
    count, floor = 0, 0.0  # a score has to exceed it
    for r in range(scores.size):
        score = scores[r]
        if score > floor:
            count = min(count + 1, n)
            p = count - 1
            while p > 0 and scores[best[p - 1]] < score:
                best[p] = best[p - 1]
                p -= 1
            best[p] = r
            floor = scores[best[n - 1]] if count == n else 0.0
    return best[:count]
