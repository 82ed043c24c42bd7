"""The compiled loop of working sets of more than two points: choose a set, solve for it by SMO, update v."""

from __future__ import annotations

import numpy as np

from svmkit.kernels.loops.row_loops import find, in_order
from svmkit.runtime.compiling import njit
from svmkit.solver.smo.box import BLOCK, FAST, LOW, UP, Box, extremes, l1_among, ridge_at, slope, violation_of
from svmkit.solver.smo.steps import take_steps

INNER = 1e-3  # violation within a working set at which it counts as solved, relative to that of all points
PATIENCE = 10_000  # SMO steps in one working set


@njit(inline="always")
def _rises(v, side, r, kinks):
    return slope(v[r], side[r], UP, kinks, r)


@njit(inline="always")
def _falls(v, side, r, kinks):
    return slope(v[r], side[r], LOW, kinks, r)


@njit(cache=True)
def steepest(v, side, i, k, half, chosen, kinks=None):
    """Write the points of the steepest feasible direction to `chosen`, at most 2 `half` of them; return their number.

    The points are those of UP with the lowest v and those of LOW with the highest v, in turns, as long as the two
    violate optimality, so that no point is chosen twice.

    Joachims (1999) derives this choice.
    """
    lows, highs = np.empty(half, dtype=np.int64), np.empty(half, dtype=np.int64)
    n_low, n_high = 0, 0
    roof, floor = _falls(v, side, k, kinks), _rises(v, side, i, kinks)  # further points have to lie within these
    for r in range(v.size):
        rise, fall = _rises(v, side, r, kinks), _falls(v, side, r, kinks)
        if rise < roof and side[r] & UP:
            n_low = min(n_low + 1, half)
            p = n_low - 1
            while p > 0 and _rises(v, side, lows[p - 1], kinks) > rise:
                lows[p] = lows[p - 1]
                p -= 1
            lows[p] = r
            roof = _rises(v, side, lows[half - 1], kinks) if n_low == half else roof
        if fall > floor and side[r] & LOW:
            n_high = min(n_high + 1, half)
            p = n_high - 1
            while p > 0 and _falls(v, side, highs[p - 1], kinks) < fall:
                highs[p] = highs[p - 1]
                p -= 1
            highs[p] = r
            floor = _falls(v, side, highs[half - 1], kinks) if n_high == half else floor
    n = 0
    for p in range(min(n_low, n_high)):
        if violation_of(v, side, lows[p], highs[p], kinks) > 0.0:
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
def solve_sets(box, rows, pairs, chosen, most, target, kinks):
    """Solve for up to `most` working sets of the size of `chosen`, until the violation is <= target.

    Returns (sets, change of the objective, n): the kernel rows of the first n points in `chosen` are missing, if any.
    `pairs` is the argument of `take_steps`, and changes.
    """
    y, beta, v, side, ridge = box.y, box.beta, box.v, box.side, box.ridge
    done, change = 0, 0.0
    slots = np.empty(chosen.size, dtype=np.int64)
    while done < most:
        i, k = pairs[0, 0], pairs[0, 1]
        if i < 0 or k < 0 or not violation_of(v, side, i, k, kinks) > target:
            break
        n = steepest(v, side, i, k, chosen.size // 2, chosen, kinks)
        W, places, missing = chosen[:n], slots[:n], False
        for a in range(n):
            places[a] = find(rows, W[a])
            missing = missing or places[a] < 0
        if missing:
            return done, change, n
        own = Box(y[W], box.lower[W], box.upper[W], ridge[W], box.diag[W], beta[W], v[W], side[W])
        fell = _solve(own, rows.slab, places, W, INNER * violation_of(v, side, i, k, kinks), l1_among(kinks, W))
        done += 1
        change += fell
        if fell == 0.0 or fell == -np.inf:
            break
        moves = own.y * (own.beta - beta[W])
        for a in range(n):
            w, below = W[a], beta[W[a]] < 0.0
            now = ridge_at(ridge, kinks, w, own.beta[a] < 0.0)
            v[w] += now * moves[a] + (now - ridge_at(ridge, kinks, w, below)) * y[w] * beta[w]
            beta[w], side[w] = own.beta[a], own.side[a]
        follow(v, rows.slab, places, moves)
        pairs[0, 0], pairs[0, 1] = extremes(v, side, kinks)
    return done, change, 0


@njit(cache=True)
def _solve(own, slab, slots, W, target, kinks):
    """SMO on the points W alone, whose `own` box changes; returns the change of the objective."""
    n = W.size
    Q, pairs = np.empty((n, n), slab.dtype), np.empty((1, 2), np.int64)
    for a in range(n):
        for b in range(n):
            Q[a, b] = slab[slots[a], W[b]]
    pairs[0, 0], pairs[0, 1] = extremes(own.v, own.side, kinks)
    return take_steps((own,), in_order(Q, n, 0.0), pairs, True, PATIENCE, target, kinks, 0.0)[1]
