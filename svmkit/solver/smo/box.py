"""The state of SMO, compiled: which points have room, which two violate the conditions most, moves of v, and the gap.

The problem is that of `steps`, and v_r = y_r G_r with the gradient G: at the optimum no v of UP is below a v of LOW.

Where the objective has the further term sum_r epsilon_r |beta_r|, or another ridge below 0 than above, y is 1, and
`slope` stands for v: the point counts as two, one that can rise and one that can fall. Functions take `epsilon`: a
number if it is the same for all points, else an `Epsilon`, and None if there is neither. numba compiles them for each
of the three, so that classification has nothing to do with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from svmkit.runtime.compiling import njit

OPTIONS: Any = {"no_cfunc_wrapper": True}  # of overloads
FAST = {"contract", "nsz", "nnan", "reassoc", "arcp"}
BLOCK = 64
# error_model="numpy" where a loop divides: a test for 0 would keep the loop from being vectorised
MOST, LEAST = np.int64(2**63 - 1), np.int64(-(2**63))
UP, LOW = 1, 2
OVER, UNDER = 4, 8
TINIEST = 1e-300  # stands for a ridge of 0 where one divides by it


class Box(NamedTuple):
    """The state of SMO over the n points that take part, as arrays of shape (n,).

    Attributes
    ----------
    y : ndarray of float64
        Coefficients of the equality constraint, -1.0 or +1.0.
    lower, upper : ndarray of float64
        Bounds of beta; 0 and C for the hinge, 0 and inf for the squared hinge.
    ridge : ndarray of float64
        The part of Q's diagonal that does not come from the kernel, 1/(2C) for the squared hinge and 0 for the hinge.
    diag : ndarray of float64
        The diagonal of Q, ridge included.
    beta : ndarray of float64
        The iterate.
    v : ndarray of float64
        y times the gradient of the objective.
    side : ndarray of uint8
        Bits UP and LOW of each point: whether y beta has room above and below. With an epsilon also OVER and UNDER:
        whether beta is above and below 0.
    """

    y: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    ridge: np.ndarray
    diag: np.ndarray
    beta: np.ndarray
    v: np.ndarray
    side: np.ndarray


class Epsilon(NamedTuple):
    """What differs from point to point, or between weights above and below 0, as arrays of shape (n,).

    Attributes
    ----------
    width : ndarray of float64
        epsilon_r >= 0.
    ridge_down : ndarray of float64
        The ridge of a weight below 0; `Box.ridge` is that of a weight above 0.
    """

    width: np.ndarray
    ridge_down: np.ndarray

    def among(self, at: np.ndarray) -> Epsilon:
        """Return those of the points `at`."""
        return Epsilon(self.width[at], self.ridge_down[at])


def box_of(problem: Any, beta: np.ndarray, gradient: np.ndarray) -> Box:
    """Return the state of SMO over all samples of a dual problem, whose sides are not known yet.

    Parameters
    ----------
    problem : Problem
        A problem with `signs`, bounds and a ridge, such as BoxQP.
    beta : ndarray of float64, shape (m,)
        The iterate; the state takes the array over.
    gradient : ndarray of float64, shape (m,)
        The gradient of the smooth part at beta.
    """
    side = np.empty(problem.m, np.uint8)
    given = problem.signs, problem.lower, problem.upper, problem.ridge, problem.diag
    return Box(*given, beta, problem.signs * gradient, side)


def epsilon_of(problem: Any) -> float | Epsilon | None:
    """Return the epsilon of a dual problem, as in this module."""
    if problem.ridge_down is not problem.ridge or np.ndim(problem.width):
        return Epsilon(np.full(problem.m, problem.width), problem.ridge_down)
    return float(problem.width) or None


def epsilon_among(epsilon: float | Epsilon | None, at: np.ndarray) -> float | Epsilon | None:
    """Return the epsilon of the points `at`."""
    return epsilon.among(at) if isinstance(epsilon, Epsilon) else epsilon


def width_at(epsilon: Any, r: int) -> float:
    """Return epsilon of point r."""
    return epsilon.width[r] if isinstance(epsilon, Epsilon) else epsilon


@overload(width_at, jit_options=OPTIONS)
def _width_at(epsilon, r):
    if isinstance(epsilon, types.BaseNamedTuple):
        return lambda epsilon, r: epsilon.width[r]
    return lambda epsilon, r: epsilon


def ridge_at(ridge: np.ndarray, epsilon: Any, r: int, is_below: bool) -> float:
    """Return the ridge of point r for weights above or below 0."""
    return epsilon.ridge_down[r] if is_below and isinstance(epsilon, Epsilon) else ridge[r]


@overload(ridge_at, jit_options=OPTIONS)
def _ridge_at(ridge, epsilon, r, is_below):
    if isinstance(epsilon, types.BaseNamedTuple):
        return lambda ridge, epsilon, r, is_below: epsilon.ridge_down[r] if is_below else ridge[r]
    return lambda ridge, epsilon, r, is_below: ridge[r]


@njit(inline="always")
def side_of(y, beta, lower, upper, epsilon=None):
    """Return the bits of a point, as in `Box`."""
    above = UP if beta < upper else 0
    below = LOW if beta > lower else 0
    if epsilon is not None:
        return above | below | (OVER if beta > 0.0 else 0) | (UNDER if beta < 0.0 else 0)
    if y > 0.0:
        return above | below
    return (above << 1) | (below >> 1)


@njit(cache=True)
def take_sides(box, epsilon=None):
    """Set `side` of every point from its beta."""
    for r in range(box.v.size):
        box.side[r] = side_of(box.y[r], box.beta[r], box.lower[r], box.upper[r], epsilon)


@njit(inline="always")
def slope(v, side, bit, epsilon, r):
    """Return the derivative of the objective as y beta of point r rises (bit UP), or minus that as it falls (LOW)."""
    if epsilon is None:
        return v
    width = width_at(epsilon, r)
    if bit == UP:
        return v - width if side & UNDER else v + width
    return v + width if side & OVER else v - width


@njit(inline="always")
def violation_of(v, side, i, k, epsilon):
    """Return by how much the objective falls, at first, as y beta of point i rises and that of point k falls."""
    return slope(v[k], side[k], LOW, epsilon, k) - slope(v[i], side[i], UP, epsilon, i)


def slopes(box: Box, i: int, k: int, epsilon: float | Epsilon | None) -> tuple[float, float]:
    """Return the slopes of point i upwards and of point k downwards, for callers that are not compiled.

    Parameters
    ----------
    box : Box
        The state.
    i, k : int
        The points.
    epsilon : float, Epsilon or None
        As in this module.
    """
    at = getattr(slope, "py_func", slope)  # itself where nothing is compiled
    return float(at(box.v[i], box.side[i], UP, epsilon, i)), float(at(box.v[k], box.side[k], LOW, epsilon, k))


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
def _first_slope(v, side, lo, bit, key, epsilon):
    """Return the first point of the block at `lo` that has `bit` and whose slope has this key; -1 for lo = -1.

    A slope is rounded as when its key was made: v is stored, so that the compiler cannot add the epsilon before it.
    """
    if lo >= 0:
        value = np.int64(key ^ ((key >> np.int64(63)) & MOST)).view(np.float64)
        for r in range(lo, lo + BLOCK if lo + BLOCK < v.size else v.size):
            if slope(v[r], side[r], bit, epsilon, r) == value and side[r] & bit:
                return r
    return -1


@njit(cache=True, fastmath=FAST)
def extremes(v, side, epsilon=None):
    """Return (argmin of v over UP, argmax of v over LOW), the maximal violating pair; -1 for an empty set."""
    low, high, at_low, at_high = MOST, LEAST, -1, -1
    for lo in range(0, v.size, BLOCK):
        part, sides = v[lo : lo + BLOCK], side[lo : lo + BLOCK]
        bottom, top = MOST, LEAST
        for r in range(part.size):
            value = part[r]
            if epsilon is not None:  # before it is copied in, so that classification has nothing of it to compile
                value = slope(part[r], sides[r], UP, epsilon, lo + r)
            key = _key(value)
            of_up = key if sides[r] & UP else MOST
            if epsilon is not None:
                key = _key(slope(part[r], sides[r], LOW, epsilon, lo + r))
            of_low = key if sides[r] & LOW else LEAST
            bottom = of_up if of_up < bottom else bottom
            top = of_low if of_low > top else top
        if bottom < low:
            low, at_low = bottom, lo
        if top > high:
            high, at_high = top, lo
    if epsilon is not None:
        return _first_slope(v, side, at_low, UP, low, epsilon), _first_slope(v, side, at_high, LOW, high, epsilon)
    return _first(v, side, at_low, UP, low), _first(v, side, at_high, LOW, high)


@njit(cache=True, fastmath=FAST)
def move(v, side, row_i, row_k, t, epsilon=None):
    """Add t (row_i - row_k) to v in place, and return what `extremes` returns for the new v."""
    low, high, at_low, at_high = MOST, LEAST, -1, -1
    for lo in range(0, v.size, BLOCK):
        part, sides = v[lo : lo + BLOCK], side[lo : lo + BLOCK]
        plus, minus = row_i[lo : lo + BLOCK], row_k[lo : lo + BLOCK]
        bottom, top = MOST, LEAST
        for r in range(part.size):
            value = part[r] + t * (np.float64(plus[r]) - np.float64(minus[r]))
            part[r] = value
            if epsilon is not None:
                value = slope(part[r], sides[r], UP, epsilon, lo + r)
            key = _key(value)
            of_up = key if sides[r] & UP else MOST
            if epsilon is not None:
                key = _key(slope(part[r], sides[r], LOW, epsilon, lo + r))
            of_low = key if sides[r] & LOW else LEAST
            bottom = of_up if of_up < bottom else bottom
            top = of_low if of_low > top else top
        if bottom < low:
            low, at_low = bottom, lo
        if top > high:
            high, at_high = top, lo
    if epsilon is not None:
        return _first_slope(v, side, at_low, UP, low, epsilon), _first_slope(v, side, at_high, LOW, high, epsilon)
    return _first(v, side, at_low, UP, low), _first(v, side, at_high, LOW, high)


@njit(inline="always")
def _excess(residual, beta, lower, upper, width, ridge_up, ridge_down):
    """Return the part of P - D that belongs to a sample: what its loss and the conjugate exceed residual * beta by."""
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
def gap(box, is_ridged, b, epsilon=None):
    """Return P - D over the points that take part, as a sum of terms that are never negative.

    Parameters
    ----------
    box : Box
        The state.
    is_ridged : bool
        Whether a ridge is not 0.
    b : float
        The bias of the primal point.
    epsilon : float, Epsilon or None, default=None
        As in this module.

    Notes
    -----
    The residual of a sample, t - h in the direction of beta, is ridge beta - y v, where v includes the bias.
    """
    y, v, beta, lower, upper, ridge = box.y, box.v, box.beta, box.lower, box.upper, box.ridge
    total = 0.0
    if epsilon is not None:
        for r in range(v.size):
            below = ridge_at(ridge, epsilon, r, True)
            residual = (below if beta[r] < 0.0 else ridge[r]) * beta[r] - (v[r] + b)
            total += _excess(residual, beta[r], lower[r], upper[r], width_at(epsilon, r), ridge[r], below)
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
def stay(v, side, low, high, epsilon=None):
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
    epsilon : float, Epsilon or None, default=None
        As in this module; slopes stand for v.

    Returns
    -------
    ndarray of int64
    """
    kept = np.empty(v.size, dtype=np.int64)
    n = 0
    for r in range(v.size):
        rise, fall = slope(v[r], side[r], UP, epsilon, r), slope(v[r], side[r], LOW, epsilon, r)
        if (side[r] & UP and rise <= high) or (side[r] & LOW and fall >= low):
            kept[n] = r
            n += 1
    return kept[:n]
