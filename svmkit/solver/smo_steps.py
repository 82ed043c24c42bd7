"""The compiled loops: which pair violates most, the step along it, and what it does to all v, a pass over memory each.

In LIBSVM's terms v_r = y_r G_r. A pair moves t > 0 from k to i: y_i beta_i grows by t, y_k beta_k falls by it, so that
v changes by t (k_i - k_k), with the ridge. i may be any point whose y beta has room above (UP), k any with room below
(LOW); at the optimum no v of UP is below one of LOW.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from svmkit.errors import SvmkitError
from svmkit.kernels.row_cache import find

FAST = {"contract", "nsz", "nnan", "reassoc", "arcp"}
BLOCK = 256
HUGE = 1e300
# error_model="numpy" where there is a division: a test for 0 would keep a loop from being vectorised
MOST, LEAST = np.int64(2**63 - 1), np.int64(-(2**63))
TAU = 1e-12  # floor of a curvature: kernels that are not positive semidefinite give negative ones (LIBSVM's)
ROUNDING = 1e-5  # of float32 rows, relative: a curvature that is lower is negative
UP, LOW = 1, 2


class Box(NamedTuple):
    """The points that take part: (n,) each, diag with its ridge, v = y G, side = UP and LOW bits (uint8)."""

    y: np.ndarray
    upper: np.ndarray
    ridge: np.ndarray
    diag: np.ndarray
    beta: np.ndarray
    v: np.ndarray
    side: np.ndarray


def require_bound(objective: float, kernel: str) -> None:
    """SvmkitError for an objective of -inf, which `pairs` finds where a kernel is not positive semidefinite."""
    if not math.isfinite(objective):
        raise SvmkitError(
            f"the dual has no bound: the {kernel} kernel is not positive semidefinite on these data; choose another "
            "kernel, the hinge loss or a smaller C"
        )


@njit(cache=True)
def side_of(y, beta, upper):
    """Whether y beta has room above and below."""
    above = UP if beta < upper else 0
    below = LOW if beta > 0.0 else 0
    if y > 0.0:
        return above | below
    return (above << 1) | (below >> 1)


@njit(cache=True)
def take_sides(box):
    """Set the side of every point."""
    for r in range(box.v.size):
        box.side[r] = side_of(box.y[r], box.beta[r], box.upper[r])


# Searches run in two stages, so that the long one is a plain extremum: the best block first, then the best element in
# it. Extrema of floats do not vectorise, those of integers do: `_key` keeps the order. Blocks are slices, since an
# index that might be negative does not vectorise either.


@njit(cache=True, inline="always")
def _key(x):
    """An integer that is smaller where x is."""
    bits = np.float64(x).view(np.int64)
    return bits ^ ((bits >> np.int64(63)) & MOST)


@njit(cache=True)
def _lowest(v, side, lo):
    """argmin over UP of the block at lo, which has one; -1 for lo = -1."""
    at, best = -1, HUGE
    if lo >= 0:
        for r in range(lo, min(lo + BLOCK, v.size)):
            if side[r] & UP and v[r] < best:
                at, best = r, v[r]
    return at


@njit(cache=True)
def _highest(v, side, lo):
    """argmax over LOW of the block at lo, which has one; -1 for lo = -1."""
    at, best = -1, -HUGE
    if lo >= 0:
        for r in range(lo, min(lo + BLOCK, v.size)):
            if side[r] & LOW and v[r] > best:
                at, best = r, v[r]
    return at


@njit(cache=True, fastmath=FAST)
def extremes(v, side):
    """(argmin of v over UP, argmax over LOW): the maximal violating pair; -1 where there is none."""
    low, high, at_low, at_high = MOST, LEAST, -1, -1
    for lo in range(0, v.size, BLOCK):
        part, sides = v[lo : lo + BLOCK], side[lo : lo + BLOCK]
        bottom, top = MOST, LEAST
        for r in range(part.size):
            key = _key(part[r])
            bottom = min(bottom, key if sides[r] & UP else MOST)
            top = max(top, key if sides[r] & LOW else LEAST)
        if bottom < low:
            low, at_low = bottom, lo
        if top > high:
            high, at_high = top, lo
    return _lowest(v, side, at_low), _highest(v, side, at_high)


@njit(cache=True, fastmath=FAST)
def move(v, side, row_i, row_k, t):
    """v += t (row_i - row_k); then as `extremes`."""
    low, high, at_low, at_high = MOST, LEAST, -1, -1
    for lo in range(0, v.size, BLOCK):
        part, sides = v[lo : lo + BLOCK], side[lo : lo + BLOCK]
        plus, minus = row_i[lo : lo + BLOCK], row_k[lo : lo + BLOCK]
        bottom, top = MOST, LEAST
        for r in range(part.size):
            value = part[r] + t * (np.float64(plus[r]) - np.float64(minus[r]))
            part[r] = value
            key = _key(value)
            bottom = min(bottom, key if sides[r] & UP else MOST)
            top = max(top, key if sides[r] & LOW else LEAST)
        if bottom < low:
            low, at_low = bottom, lo
        if top > high:
            high, at_high = top, lo
    return _lowest(v, side, at_low), _highest(v, side, at_high)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def second_order(v, side, diag, row, i, unit=1.0, floor=TAU):
    """argmax over LOW with v_r > v_i of (v_r - v_i)^2 / (K_ii - 2 K_ir + K_rr), WSS 2 of Fan, Chen, Lin 2005; or -1.

    unit : what the row is in units of; floor : of the curvatures
    """
    best: Any = 0
    at = -1
    base, own, twice = v[i], diag[i], 2.0 * unit
    for lo in range(0, v.size, BLOCK):
        part, sides = v[lo : lo + BLOCK], side[lo : lo + BLOCK]
        diags, values = diag[lo : lo + BLOCK], row[lo : lo + BLOCK]
        top: Any = 0
        for r in range(part.size):
            apart = part[r] - base
            curvature = own + diags[r] - twice * values[r]
            gain = apart * apart / (curvature if curvature > floor else floor)
            gain = gain if sides[r] & LOW and apart > 0.0 else 0.0
            top = max(top, np.float64(gain).view(np.int64))
        if top > best:
            best, at = top, lo
    k, most = -1, 0.0
    if at >= 0:
        for r in range(at, min(at + BLOCK, v.size)):
            apart = v[r] - base
            if side[r] & LOW and apart > 0.0:
                gain = apart * apart / max(own + diag[r] - twice * row[r], floor)
                if gain > most:
                    k, most = r, gain
    return k


@njit(cache=True)
def step(box, i, k, k_ik, floor=TAU):
    """Move along the pair as far as is best and the box allows; beta and sides of the two. Returns (t, change of D).

    k_ik : kernel value of the two; floor : of the curvature. t = 0 where rounding leaves both as they are; t = inf,
    and nothing is changed, where the objective falls for ever, which takes a kernel that is not positive semidefinite
    and no upper bounds.
    """
    y, upper, beta, ridge = box.y, box.upper, box.beta, box.ridge[i] + box.ridge[k]
    apart = box.v[k] - box.v[i]
    size = box.diag[i] + box.diag[k]
    curvature = size - 2.0 * k_ik
    room_i = upper[i] - beta[i] if y[i] > 0.0 else beta[i]
    room_k = beta[k] if y[k] > 0.0 else upper[k] - beta[k]
    if curvature < -ROUNDING * abs(size) and min(room_i, room_k) == np.inf:
        return np.inf, -np.inf
    t = min(apart / max(curvature, ridge, floor), room_i, room_k)
    before_i, before_k = beta[i], beta[k]
    beta[i] = _shifted(beta[i], t if y[i] > 0.0 else -t, upper[i], t == room_i)
    beta[k] = _shifted(beta[k], -t if y[k] > 0.0 else t, upper[k], t == room_k)
    if beta[i] == before_i and beta[k] == before_k:
        return 0.0, 0.0
    box.side[i] = side_of(y[i], beta[i], upper[i])
    box.side[k] = side_of(y[k], beta[k], upper[k])
    return t, t * (0.5 * t * curvature - apart)


@njit(cache=True)
def _shifted(beta, t, upper, to_bound):
    """beta + t, exactly the bound where it gets there."""
    if to_bound:
        return upper if t > 0.0 else 0.0
    return min(max(beta + t, 0.0), upper)


@njit(cache=True)
def pairs(box, rows, i, k, second, most, target):
    """SMO: up to `most` steps along pairs, from the maximal violating one (i, k) on, until the violation is <= target.

    second : k by the second order rule, else by the first
    Returns (steps, i, k, change of the objective, row that is missing or -1). The last step is one that led nowhere, or
    without end: the change is then -inf.
    """
    v, side, diag, ridge = box.v, box.side, box.diag, box.ridge
    unit = rows.grain if rows.grain > 0.0 else 1.0
    floor = max(2.0 * rows.grain, TAU)  # what whole numbers leave open of a curvature
    steps, change = 0, 0.0
    while steps < most and i >= 0 and k >= 0 and v[k] - v[i] > target:
        a = find(rows, i)
        if a < 0:
            return steps, i, k, change, i
        row_i = rows.slab[a]
        partner = second_order(v, side, diag, row_i, i, unit, floor) if second else k
        partner = partner if partner >= 0 else k
        b = find(rows, partner)
        if b < 0:
            return steps, i, k, change, partner
        row_k = rows.slab[b]
        t, fell = step(box, i, partner, unit * row_i[partner], floor)
        steps += 1
        change += fell
        if t == 0.0 or t == np.inf:
            break
        v[i] += t * ridge[i]
        v[partner] -= t * ridge[partner]
        i, k = move(v, side, row_i, row_k, t * unit)
    return steps, i, k, change, -1


@njit(cache=True, fastmath=FAST, error_model="numpy")
def gap(box, squared, b):
    """P - D of the points that take part, at bias b: a sum of parts that are never negative."""
    y, v, beta, upper, ridge = box.y, box.v, box.beta, box.upper, box.ridge
    total = 0.0
    if squared:
        for r in range(v.size):
            slack = ridge[r] * beta[r] - y[r] * (v[r] + b)
            off = slack - ridge[r] * beta[r]
            total += off * off / (2.0 * ridge[r]) if slack > 0.0 else beta[r] * (0.5 * ridge[r] * beta[r] - slack)
    else:
        for r in range(v.size):
            slack = -y[r] * (v[r] + b)
            total += (upper[r] - beta[r]) * slack if slack > 0.0 else -beta[r] * slack
    return total


@njit(cache=True)
def stay(v, side, low, high):
    """Positions of the points that some point may still form a violating pair with: v > low of LOW, v < high of UP."""
    kept = np.empty(v.size, dtype=np.int64)
    n = 0
    for r in range(v.size):
        if (side[r] & UP and v[r] <= high) or (side[r] & LOW and v[r] >= low):
            kept[n] = r
            n += 1
    return kept[:n]
