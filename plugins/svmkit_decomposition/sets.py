"""The compiled loop of working sets of more than two points: choose a set, solve for it by SMO, update v."""

from __future__ import annotations

import numpy as np

from svmkit.kernels.loops.row_loops import find, in_order
from svmkit.runtime.compiling import njit
from svmkit.solver.smo.box import BLOCK, FAST, LOW, UP, Box, extremes, slope, violation_of
from svmkit.solver.smo.steps import take_steps

INNER = 1e-3  # violation within a working set at which it counts as solved, relative to that of all points
PATIENCE = 10_000  # SMO steps in one working set


@njit(cache=True)
def steepest(v, side, i, k, half, chosen, kink=None):
    """Write the points of the steepest feasible direction to `chosen`, at most 2 `half` of them; return how many.

    The points are those of UP with the lowest v and those of LOW with the highest v, in turns, as long as the two
    violate optimality, so that no point is chosen twice.

    Joachims (1999) derives this choice.
    """
    lows, highs = np.empty(half, dtype=np.int64), np.empty(half, dtype=np.int64)
    n_low, n_high = 0, 0
    roof, floor = slope(v[k], side[k], LOW, kink), slope(v[i], side[i], UP, kink)  # v has to be within these to join
    for r in range(v.size):
        rise, fall = slope(v[r], side[r], UP, kink), slope(v[r], side[r], LOW, kink)
        if rise < roof and side[r] & UP:
            n_low = min(n_low + 1, half)
            p = n_low - 1
            while p > 0 and slope(v[lows[p - 1]], side[lows[p - 1]], UP, kink) > rise:
                lows[p] = lows[p - 1]
                p -= 1
            lows[p] = r
            roof = slope(v[lows[half - 1]], side[lows[half - 1]], UP, kink) if n_low == half else roof
        if fall > floor and side[r] & LOW:
            n_high = min(n_high + 1, half)
            p = n_high - 1
            while p > 0 and slope(v[highs[p - 1]], side[highs[p - 1]], LOW, kink) < fall:
                highs[p] = highs[p - 1]
                p -= 1
            highs[p] = r
            floor = slope(v[highs[half - 1]], side[highs[half - 1]], LOW, kink) if n_high == half else floor
    n = 0
    for p in range(min(n_low, n_high)):
        if violation_of(v, side, lows[p], highs[p], kink) > 0.0:
            chosen[n], chosen[n + 1] = lows[p], highs[p]
            n += 2
    return n


@njit(cache=True, fastmath=FAST)
def follow(v, slab, slots, moves):
    """Add sum_a moves_a slab[slots_a] to v."""
    for lo in range(0, v.size, BLOCK):
        part = v[lo : lo + BLOCK]
        for a in range(slots.size):
            if moves[a] != 0.0:
                row = slab[slots[a], lo : lo + BLOCK]
                for r in range(part.size):
                    part[r] += moves[a] * np.float64(row[r])


@njit(cache=True)
def sets(box, rows, i, k, chosen, most, target, kink=None):
    """Up to `most` working sets of the size of `chosen`, until the violation is <= target.

    Returns (sets, i, k, change of the objective, n): the rows of the first n in `chosen` have to be brought, if any.
    """
    y, beta, v, side, ridge = box.y, box.beta, box.v, box.side, box.ridge
    done, change = 0, 0.0
    slots = np.empty(chosen.size, dtype=np.int64)
    while done < most and i >= 0 and k >= 0 and violation_of(v, side, i, k, kink) > target:
        n = steepest(v, side, i, k, chosen.size // 2, chosen, kink)
        W, places, missing = chosen[:n], slots[:n], False
        for a in range(n):
            places[a] = find(rows, W[a])
            missing = missing or places[a] < 0
        if missing:
            return done, i, k, change, n
        own = Box(y[W], box.upper[W], ridge[W], box.diag[W], beta[W], v[W], side[W])
        fell = _solve(own, rows.slab, places, W, INNER * violation_of(v, side, i, k, kink), kink)
        done += 1
        change += fell
        if fell == 0.0 or fell == -np.inf:
            break
        moves = own.y * (own.beta - beta[W])
        for a in range(n):
            beta[W[a]], side[W[a]] = own.beta[a], own.side[a]
            v[W[a]] += ridge[W[a]] * moves[a]
        follow(v, rows.slab, places, moves)
        i, k = extremes(v, side, kink)
    return done, i, k, change, 0


@njit(cache=True)
def _solve(own, slab, slots, W, target, kink):
    """SMO on the points W alone, whose `own` box changes; returns the change of the objective."""
    n = W.size
    Q = np.empty((n, n), slab.dtype)
    for a in range(n):
        for b in range(n):
            Q[a, b] = slab[slots[a], W[b]]
    i, k = extremes(own.v, own.side, kink)
    return take_steps(own, in_order(Q, n, 0.0), i, k, True, PATIENCE, target, kink)[3]
