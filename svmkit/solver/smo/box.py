"""The state of SMO, compiled: which points have room, which two violate the conditions most, moves of v, and the gap.

The problem is that of `steps`, and v_r = y_r G_r with the gradient G: at the optimum no v of UP is below a v of
LOW.

In regression (`svmkit.problems.tube.TubeQP`) y is 1, -upper <= beta <= upper, and the objective has the further term
`kink` |beta_r|_1, which has kinks at beta_r = 0. There `slope` stands for v: the point counts as two, one that can rise
and one that can fall. Functions take `kink`, which is None in classification; numba compiles them for each of the two,
so that classification has nothing to do with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit.runtime.compiling import njit

FAST = {"contract", "nsz", "nnan", "reassoc", "arcp"}
BLOCK = 64
# error_model="numpy" where a loop divides: a test for 0 would keep the loop from being vectorised
MOST, LEAST = np.int64(2**63 - 1), np.int64(-(2**63))
UP, LOW = 1, 2
OVER, UNDER = 4, 8


class Box(NamedTuple):
    """The state of SMO over the n points that take part, as arrays of shape (n,).

    Attributes
    ----------
    y : ndarray of float64
        Labels, -1.0 or +1.0.
    upper : ndarray of float64
        Upper bounds of beta; inf for the squared hinge.
    ridge : ndarray of float64
        The part of Q's diagonal that does not come from the kernel, 1/(2C) for the squared hinge and 0 for the hinge.
    diag : ndarray of float64
        The diagonal of Q, ridge included.
    beta : ndarray of float64
        The iterate.
    v : ndarray of float64
        y times the gradient of the objective.
    side : ndarray of uint8
        Bits UP and LOW of each point: whether y beta has room above and below. In regression also OVER and UNDER:
        whether beta is above and below 0.
    """

    y: np.ndarray
    upper: np.ndarray
    ridge: np.ndarray
    diag: np.ndarray
    beta: np.ndarray
    v: np.ndarray
    side: np.ndarray


@njit(inline="always")
def side_of(y, beta, upper, kink=None):
    """Return the bits of a point, as in `Box`."""
    if kink is None:
        above = UP if beta < upper else 0
        below = LOW if beta > 0.0 else 0
        if y > 0.0:
            return above | below
        return (above << 1) | (below >> 1)
    room = (UP if beta < upper else 0) | (LOW if beta > -upper else 0)
    return room | (OVER if beta > 0.0 else 0) | (UNDER if beta < 0.0 else 0)


@njit(cache=True)
def take_sides(box, kink=None):
    """Set `side` of every point from its beta."""
    for r in range(box.v.size):
        box.side[r] = side_of(box.y[r], box.beta[r], box.upper[r], kink)


@njit(inline="always")
def slope(v, side, bit, kink):
    """Return the derivative of the objective as y beta of a point rises (bit UP), or minus that as it falls (LOW)."""
    if kink is None:
        return v
    if bit == UP:
        return v - kink if side & UNDER else v + kink
    return v + kink if side & OVER else v - kink


@njit(inline="always")
def violation_of(v, side, i, k, kink):
    """Return by how much the objective falls, at first, as y beta of point i rises and that of point k falls."""
    return slope(v[k], side[k], LOW, kink) - slope(v[i], side[i], UP, kink)


def slopes(box: Box, i: int, k: int, kink: float | None) -> tuple[float, float]:
    """Return the slopes of point i upwards and of point k downwards, for callers that are not compiled."""
    at = getattr(slope, "py_func", slope)  # itself where nothing is compiled
    return float(at(box.v[i], box.side[i], UP, kink)), float(at(box.v[k], box.side[k], LOW, kink))


# A search runs in two stages, so that the long stage is a plain extremum: first the best block, then the best element
# of that block. Extrema of floats do not vectorise and extrema of integers do; `_key` keeps the order. Blocks are
# slices, since an index that might be negative does not vectorise either.
@njit(cache=True, inline="always")
def _key(x):
    """Map a float to an integer so that the order is kept."""
    bits = np.float64(x).view(np.int64)
    return bits ^ ((bits >> np.int64(63)) & MOST)


@njit(inline="always")
def _first(v, side, lo, bit, key):
    """Return the first point of the block at `lo` that has `bit` and whose v has this key; -1 for lo = -1."""
    if lo >= 0:
        value = np.int64(key ^ ((key >> np.int64(63)) & MOST)).view(np.float64)
        for r in range(lo, lo + BLOCK if lo + BLOCK < v.size else v.size):
            if v[r] == value and side[r] & bit:
                return r
    return -1


@njit(inline="always")
def _first_slope(v, side, lo, bit, key, kink):
    """Return the first point of the block at `lo` that has `bit` and whose slope has this key; -1 for lo = -1.

    A slope is rounded as when its key was made: v is stored, so that the compiler cannot add the kink before it.
    """
    if lo >= 0:
        value = np.int64(key ^ ((key >> np.int64(63)) & MOST)).view(np.float64)
        for r in range(lo, lo + BLOCK if lo + BLOCK < v.size else v.size):
            if slope(v[r], side[r], bit, kink) == value and side[r] & bit:
                return r
    return -1


@njit(cache=True, fastmath=FAST)
def extremes(v, side, kink=None):
    """Return (argmin of v over UP, argmax of v over LOW), the maximal violating pair; -1 for an empty set."""
    low, high, at_low, at_high = MOST, LEAST, -1, -1
    for lo in range(0, v.size, BLOCK):
        part, sides = v[lo : lo + BLOCK], side[lo : lo + BLOCK]
        bottom, top = MOST, LEAST
        for r in range(part.size):
            value = part[r]
            if kink is not None:  # before it is copied in, so that classification has nothing of it to compile
                value = slope(part[r], sides[r], UP, kink)
            key = _key(value)
            of_up = key if sides[r] & UP else MOST
            if kink is not None:
                key = _key(slope(part[r], sides[r], LOW, kink))
            of_low = key if sides[r] & LOW else LEAST
            bottom = of_up if of_up < bottom else bottom
            top = of_low if of_low > top else top
        if bottom < low:
            low, at_low = bottom, lo
        if top > high:
            high, at_high = top, lo
    if kink is not None:
        return _first_slope(v, side, at_low, UP, low, kink), _first_slope(v, side, at_high, LOW, high, kink)
    return _first(v, side, at_low, UP, low), _first(v, side, at_high, LOW, high)


@njit(cache=True, fastmath=FAST)
def move(v, side, row_i, row_k, t, kink=None):
    """Add t (row_i - row_k) to v in place, and return what `extremes` returns for the new v."""
    low, high, at_low, at_high = MOST, LEAST, -1, -1
    for lo in range(0, v.size, BLOCK):
        part, sides = v[lo : lo + BLOCK], side[lo : lo + BLOCK]
        plus, minus = row_i[lo : lo + BLOCK], row_k[lo : lo + BLOCK]
        bottom, top = MOST, LEAST
        for r in range(part.size):
            value = part[r] + t * (np.float64(plus[r]) - np.float64(minus[r]))
            part[r] = value
            if kink is not None:
                value = slope(part[r], sides[r], UP, kink)
            key = _key(value)
            of_up = key if sides[r] & UP else MOST
            if kink is not None:
                key = _key(slope(part[r], sides[r], LOW, kink))
            of_low = key if sides[r] & LOW else LEAST
            bottom = of_up if of_up < bottom else bottom
            top = of_low if of_low > top else top
        if bottom < low:
            low, at_low = bottom, lo
        if top > high:
            high, at_high = top, lo
    if kink is not None:
        return _first_slope(v, side, at_low, UP, low, kink), _first_slope(v, side, at_high, LOW, high, kink)
    return _first(v, side, at_low, UP, low), _first(v, side, at_high, LOW, high)


@njit(inline="always")
def tube_gap(v, d, upper, ridge, epsilon, squared):
    """Return the part of P - D that belongs to a sample of a regression, a number >= 0.

    Its residual t - h is ridge d - v, where v includes the bias. The loss beyond epsilon and its conjugate at d are at
    least the residual's product with d, and the part is what they exceed it by.
    """
    residual, size = ridge * d - v, abs(d)
    over = abs(residual) - epsilon
    beyond = over if over > 0.0 else 0.0
    # (|residual| - epsilon) |d| less residual d - epsilon |d|: not 0 only where d has the wrong sign
    wrong = 2.0 * abs(residual) * size if residual * d < 0.0 else 0.0
    if squared:
        off = beyond - ridge * size
        return off * off / (2.0 * ridge) + (beyond - over) * size + wrong
    return (upper - size) * beyond + (beyond - over) * size + wrong


@njit(cache=True, fastmath=FAST, error_model="numpy")
def gap(box, squared, b, kink=None):
    """Return P - D over the points that take part, as a sum of terms that are never negative.

    Parameters
    ----------
    box : Box
        The state.
    squared : bool
        The loss is the squared hinge; else the hinge.
    b : float
        The bias of the primal point.
    kink : float or None, default=None
        epsilon of a regression.
    """
    y, v, beta, upper, ridge = box.y, box.v, box.beta, box.upper, box.ridge
    total = 0.0
    if kink is not None:
        for r in range(v.size):
            total += tube_gap(v[r] + b, beta[r], upper[r], ridge[r], kink, squared)
    elif squared:
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
def stay(v, side, low, high, kink=None):
    """Return the positions of the points that may still take part in a step, for shrinking.

    Parameters
    ----------
    v : ndarray of float64, shape (n,)
        As in `Box`.
    side : ndarray of uint8, shape (n,)
        As in `Box`.
    low, high : float
        v at the maximal violating pair (i, k). A point of UP stays if its v is at most `high`, a point of LOW if its v
        is at least `low`.
    kink : float or None, default=None
        epsilon of a regression, where slopes stand for v.

    Returns
    -------
    ndarray of int64
    """
    kept = np.empty(v.size, dtype=np.int64)
    n = 0
    for r in range(v.size):
        rise, fall = slope(v[r], side[r], UP, kink), slope(v[r], side[r], LOW, kink)
        if (side[r] & UP and rise <= high) or (side[r] & LOW and fall >= low):
            kept[n] = r
            n += 1
    return kept[:n]
