"""Guesses of the kernel rows that are needed next: rows of the points that would be chosen instead of a missing one."""

from __future__ import annotations

import numpy as np

from svmkit.runtime.compiling import njit
from svmkit_frank_wolfe.iterate.line_search import TINY


@njit(cache=True)
def toward(g, slot_of, n):
    """Return up to n points of lowest g whose rows are not cached (slot_of < 0), lowest first."""
    found, scores, count = np.empty(n, dtype=np.int64), np.empty(n), 0
    for r in range(g.size):
        if slot_of[r] < 0 and (count < n or -g[r] > scores[count - 1]):
            count = _insert(found, scores, count, r, -g[r])
    return found[:count]


@njit(cache=True, error_model="numpy")
def away(p, slot_of, row, i, bias, n):
    """Return up to n active points whose swap with i gains most and whose rows are not cached, best first; row = k_i.

    An empty row stands for swaps that all have the same curvature.
    """
    g, found, scores, count = p.g, np.empty(n, dtype=np.int64), np.empty(n), 0
    for r in range(g.size):
        slope = g[r] - g[i]
        if p.w[r] > 0.0 and slope > 0.0 and slot_of[r] < 0:
            score = slope * slope
            if row.size:
                curvature = p.diag[i] + p.diag[r] - 2.0 * p.y[i] * p.y[r] * (row[r] + bias)
                score /= curvature if curvature > TINY else TINY
            if count < n or score > scores[count - 1]:
                count = _insert(found, scores, count, r, score)
    return found[:count]


@njit(cache=True)
def _insert(found, scores, count, r, score):
    """Insert point r by its score, largest first, where the last of a full list drops out; return the new length."""
    count = count + 1 if count < found.size else count
    p = count - 1
    while p > 0 and scores[p - 1] < score:
        found[p], scores[p] = found[p - 1], scores[p - 1]
        p -= 1
    found[p], scores[p] = r, score
    return count
