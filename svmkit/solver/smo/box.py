"""The state of SMO, compiled: which points have room, which two violate the conditions most, moves of v, and the gap.

The problem is that of `steps`, and v_r = y_r G_r with the gradient G: at the optimum no v of UP is below a v of LOW.

If the objective has the further term sum_r epsilon_r |beta_r|, or another ridge below 0 than above, y is 1, and `slope`
replaces v: the point counts as two, one that can rise and one that can fall. Functions take `kinks`: a number if it is
the same for all points, else an `L1Part`, and None if there is neither. numba compiles them for each of the three, so
classification is not slowed down.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from svmkit.runtime.compiling import INLINED, njit

OPTIONS: Any = {"no_cfunc_wrapper": True}  # of overloads
FAST = {"contract", "nsz", "nnan", "reassoc", "arcp"}
BLOCK = 64
# error_model="numpy" if a loop divides: a test for 0 would prevent vectorisation
MOST, LEAST = np.int64(2**63 - 1), np.int64(-(2**63))
UP, LOW = 1, 2
OVER, UNDER = 4, 8
TINIEST = 1e-300  # replaces a ridge of 0 in divisions


class Box(NamedTuple):
    """The state of SMO over the n points that take part: arrays of float64, shape (n,), `side` of uint8."""

    y: np.ndarray  # coefficients of the equality constraint, -1.0 or +1.0
    lower: np.ndarray  # bounds of beta: 0 and C for the hinge, 0 and inf for the squared hinge
    upper: np.ndarray
    ridge: np.ndarray  # the part of Q's diagonal besides the kernel: 1/(2C) for the squared hinge, 0 for the hinge
    diag: np.ndarray  # the diagonal of Q, ridge included
    beta: np.ndarray  # the iterate
    v: np.ndarray  # y times the gradient of the objective
    side: np.ndarray  # bits UP and LOW: y beta has room above, below; with kinks OVER and UNDER: beta is above, below 0


class L1Part(NamedTuple):
    """Numbers that differ from point to point, or between weights above and below 0: float64 arrays of shape (n,)."""

    width: np.ndarray  # kink_r >= 0
    ridge_down: np.ndarray  # the ridge of a weight below 0; `Box.ridge` is that of a weight above 0


def box_of(problem: Any, beta: np.ndarray, gradient: np.ndarray) -> Box:
    """Return the state of SMO over all samples of a DualQP at beta (m,), an array that it takes over, without sides."""
    given = problem.signs, problem.lower, problem.upper, problem.ridge, problem.diag
    return Box(*given, beta, problem.signs * gradient, np.empty(problem.m, np.uint8))


def nu_boxes_of(
    problem: Any, parts: tuple[np.ndarray, np.ndarray], v: np.ndarray, at: np.ndarray | slice = slice(None)
) -> tuple[Box, Box]:
    """Return the states of a and a' of a NuQP, which share v (n,).

    Parameters
    ----------
    problem, parts, v, at : object, tuple, ndarray, ndarray or slice
        The problem, `NuQP.parts` of a point, and v, both of the samples `at`; of all by default.
    """
    n, boxes = len(v), []
    for sign, upper, weights in zip((1.0, -1.0), (problem.over, problem.under), parts, strict=True):
        given = np.full(n, sign), np.zeros(n), upper[at], problem.ridge[at], problem.diag[at]
        boxes.append(Box(*given, weights, v, np.empty(n, np.uint8)))
        take_sides(boxes[-1], None)
    return boxes[0], boxes[1]


def l1_part(problem: Any) -> float | L1Part | None:
    """Return the kinks of a DualQP, as in this module."""
    if problem.ridge_down is not problem.ridge or np.ndim(problem.width):
        return L1Part(np.full(problem.m, problem.width), problem.ridge_down)
    return float(problem.width) or None


def l1_among(kinks: float | L1Part | None, at: np.ndarray) -> float | L1Part | None:
    """Return the kinks of the points `at`."""
    return L1Part(kinks.width[at], kinks.ridge_down[at]) if isinstance(kinks, L1Part) else kinks


@overload(l1_among, jit_options=OPTIONS)
def _l1_among(kinks, at):
    if isinstance(kinks, types.BaseNamedTuple):
        return lambda kinks, at: L1Part(kinks.width[at], kinks.ridge_down[at])
    return lambda kinks, at: kinks


def width_at(kinks: Any, r: int) -> float:
    """Return kink_r."""
    return kinks.width[r] if isinstance(kinks, L1Part) else kinks


@overload(width_at, jit_options=OPTIONS)
def _width_at(kinks, r):
    if isinstance(kinks, types.BaseNamedTuple):
        return lambda kinks, r: kinks.width[r]
    return lambda kinks, r: kinks


def ridge_at(ridge: np.ndarray, kinks: Any, r: int, is_below: bool) -> float:
    """Return the ridge of a point.

    Parameters
    ----------
    ridge, kinks, r, is_below : ndarray, object, int, bool
        As in `Box`, as in this module, the point, and whether its weight is below 0.
    """
    return kinks.ridge_down[r] if is_below and isinstance(kinks, L1Part) else ridge[r]


@overload(ridge_at, jit_options=OPTIONS)
def _ridge_at(ridge, kinks, r, is_below):
    if isinstance(kinks, types.BaseNamedTuple):
        return lambda ridge, kinks, r, is_below: kinks.ridge_down[r] if is_below else ridge[r]
    return lambda ridge, kinks, r, is_below: ridge[r]


@njit(**INLINED)
def side_of(y, beta, lower, upper, kinks=None):
    """Return the bits of a point, as in `Box`."""
    above = UP if beta < upper else 0
    below = LOW if beta > lower else 0
    if kinks is not None:
        return above | below | (OVER if beta > 0.0 else 0) | (UNDER if beta < 0.0 else 0)
    if y > 0.0:
        return above | below
    return (above << 1) | (below >> 1)


@njit(cache=True)
def take_sides(box, kinks=None):
    """Set `side` of every point from its beta."""
    for r in range(box.v.size):
        box.side[r] = side_of(box.y[r], box.beta[r], box.lower[r], box.upper[r], kinks)


@njit(inline="always")  # little of it is left if `bit` and `kinks` are known
def slope(v, side, bit, kinks, r):
    """Return the derivative of the objective as y beta of point r rises (bit UP), or minus that as it falls (LOW)."""
    if kinks is None:
        return v
    width = width_at(kinks, r)
    if bit == UP:
        return v - width if side & UNDER else v + width
    return v + width if side & OVER else v - width


@njit(**INLINED)
def violation_of(v, side, i, k, kinks):
    """Return how fast the objective falls, at first, as y beta of point i rises and that of point k falls."""
    return slope(v[k], side[k], LOW, kinks, k) - slope(v[i], side[i], UP, kinks, i)


def slopes(box: Box, i: int, k: int, kinks: float | L1Part | None) -> tuple[float, float]:
    """Return the slopes of point i upwards and of point k downwards, for callers that are not compiled.

    Parameters
    ----------
    box, i, k, kinks : Box, int, int, float or L1Part or None
        The state, two of its points, and the kinks as in this module.
    """
    at = getattr(slope, "py_func", slope)  # itself if nothing is compiled
    return float(at(box.v[i], box.side[i], UP, kinks, i)), float(at(box.v[k], box.side[k], LOW, kinks, k))


# A search runs in two stages, so that the long stage is a plain extremum: first the best block, then the best element
# of that block. Extrema of floats do not vectorise and extrema of integers do; `_key` keeps the order. Blocks are
# slices, since an index that might be negative does not vectorise either.
@njit(**INLINED)
def _key(x):
    """Map a float to an integer so that the order is kept."""
    bits = np.float64(x).view(np.int64)
    return bits ^ ((bits >> np.int64(63)) & MOST)


@njit(**INLINED)
def _pair(v, side, at_low, low, at_high, high, kinks):
    """Return the first point of UP whose slope has the key `low`, in the block at `at_low`, and the first of LOW for
    `high`, in the block at `at_high`; -1 for a block that begins where the points end.

    A slope is rounded as when its key was made: v is stored, so that the compiler cannot add the kink before it.
    """
    i = k = -1
    value = np.int64(low ^ ((low >> np.int64(63)) & MOST)).view(np.float64)
    for r in range(at_low, at_low + BLOCK if at_low + BLOCK < v.size else v.size):
        if slope(v[r], side[r], UP, kinks, r) == value and side[r] & UP:
            i = r
            break
    value = np.int64(high ^ ((high >> np.int64(63)) & MOST)).view(np.float64)
    for r in range(at_high, at_high + BLOCK if at_high + BLOCK < v.size else v.size):
        if slope(v[r], side[r], LOW, kinks, r) == value and side[r] & LOW:
            k = r
            break
    return i, k


@njit(cache=True, fastmath=FAST)
def extremes(v, side, kinks=None):
    """Return (argmin of v over UP, argmax of v over LOW), the maximal violating pair; -1 for an empty set."""
    low, high, at_low, at_high = MOST, LEAST, v.size, v.size  # no block
    for lo in range(0, v.size, BLOCK):
        part, sides = v[lo : lo + BLOCK], side[lo : lo + BLOCK]
        bottom, top = MOST, LEAST
        for r in range(part.size):
            value = part[r]
            if kinks is not None:  # before the copying, so that classification compiles none of it
                value = slope(part[r], sides[r], UP, kinks, lo + r)
            key = _key(value)
            of_up = key if sides[r] & UP else MOST
            if kinks is not None:
                key = _key(slope(part[r], sides[r], LOW, kinks, lo + r))
            of_low = key if sides[r] & LOW else LEAST
            bottom = of_up if of_up < bottom else bottom
            top = of_low if of_low > top else top
        if bottom < low:
            low, at_low = bottom, lo
        if top > high:
            high, at_high = top, lo
    return _pair(v, side, at_low, low, at_high, high, kinks)


@njit(cache=True, fastmath=FAST)
def move(v, side, row_i, row_k, t, kinks=None):
    """Add t (row_i - row_k) to v in place, and return the result of `extremes` for the new v."""
    low, high, at_low, at_high = MOST, LEAST, v.size, v.size  # no block
    for lo in range(0, v.size, BLOCK):
        part, sides = v[lo : lo + BLOCK], side[lo : lo + BLOCK]
        plus, minus = row_i[lo : lo + BLOCK], row_k[lo : lo + BLOCK]
        bottom, top = MOST, LEAST
        for r in range(part.size):
            value = part[r] + t * (np.float64(plus[r]) - np.float64(minus[r]))
            part[r] = value
            if kinks is not None:
                value = slope(part[r], sides[r], UP, kinks, lo + r)
            key = _key(value)
            of_up = key if sides[r] & UP else MOST
            if kinks is not None:
                key = _key(slope(part[r], sides[r], LOW, kinks, lo + r))
            of_low = key if sides[r] & LOW else LEAST
            bottom = of_up if of_up < bottom else bottom
            top = of_low if of_low > top else top
        if bottom < low:
            low, at_low = bottom, lo
        if top > high:
            high, at_high = top, lo
    return _pair(v, side, at_low, low, at_high, high, kinks)


@njit(forceinline=True, fastmath=FAST, error_model="numpy")
def _excess(residual, beta, lower, upper, width, ridge_up, ridge_down):
    """Return a sample's part of P - D: the excess of its loss and the conjugate over residual * beta."""
    own, size, limit, across = ridge_up, beta, upper, -lower
    other = ridge_down
    if beta < 0.0:
        residual, size, limit, across = -residual, -beta, -lower, upper
        own, other = ridge_down, ridge_up
    over, beyond = residual - width, -residual - width
    if over > 0.0:
        best = limit if not over < own * limit else over / own
        return (best - size) * (over - 0.5 * own * (best + size))
    total = size * (0.5 * own * size - over)
    if beyond > 0.0:
        best = across if not beyond < other * across else beyond / other
        total += best * (beyond - 0.5 * other * best)
    return total


@njit(cache=True, fastmath=FAST, error_model="numpy")
def gap(box, is_ridged, b, kinks=None):
    """Return P - D over the points that take part at a bias b, as a sum of terms that are never negative.

    The residual of a sample, t - h in the direction of beta, is ridge beta - y v, where v includes the bias.
    """
    y, v, beta, lower, upper, ridge = box.y, box.v, box.beta, box.lower, box.upper, box.ridge
    total = 0.0
    if kinks is not None:
        for r in range(v.size):
            below = ridge_at(ridge, kinks, r, True)
            residual = (below if beta[r] < 0.0 else ridge[r]) * beta[r] - (v[r] + b)
            total += _excess(residual, beta[r], lower[r], upper[r], width_at(kinks, r), ridge[r], below)
    elif is_ridged:
        for r in range(v.size):
            residual = ridge[r] * beta[r] - y[r] * (v[r] + b)
            best = residual / (ridge[r] if ridge[r] > TINIEST else TINIEST)
            best = lower[r] if best < lower[r] else upper[r] if best > upper[r] else best
            total += (best - beta[r]) * (residual - 0.5 * ridge[r] * (best + beta[r]))
    else:
        for r in range(v.size):
            residual = -y[r] * (v[r] + b)
            total += ((upper[r] if residual > 0.0 else lower[r]) - beta[r]) * residual
    return total


@njit(cache=True)
def stay(v, side, low, high, kinks=None):
    """Return the positions of the points that may still take part in a step, for shrinking.

    `low` and `high` are v at the maximal violating pair (i, k). A point of UP stays if its v is at most `high`, a point
    of LOW if its v is at least `low`.
    """
    kept = np.empty(v.size, dtype=np.int64)
    n = 0
    for r in range(v.size):
        rise, fall = slope(v[r], side[r], UP, kinks, r), slope(v[r], side[r], LOW, kinks, r)
        if (side[r] & UP and rise <= high) or (side[r] & LOW and fall >= low):
            kept[n] = r
            n += 1
    return kept[:n]
