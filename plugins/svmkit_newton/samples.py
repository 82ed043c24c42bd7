"""The loops over samples of Newton's method, compiled: first and second derivatives of losses, and the line search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit.problems.risks.points import (
    Points,
    curvature_of,
    least_rate,
    side_toward,
    sum_derivatives,
    weight_beyond,
)
from svmkit.runtime.compiling import njit
from svmkit.runtime.threads import spread

TILE = 4096  # samples of a sum, which depends on nothing else
SAMPLE = 6.0  # nanoseconds of a sample in these loops
ROUNDS = 60  # of the line search, which needs some five
ROUNDING = 1e-13  # change of D, as a part of P, that rounding may make
FAST = {"contract", "nsz", "reassoc"}  # sums in any order, several samples at a time
EVEN = 1e-13  # slope, as a part of the sum of its sizes, that counts as 0


class Sums(NamedTuple):
    """Sums over samples at decision values h, and the number of dual weights beta that are not 0."""

    loss: float
    linear: float  # target'beta less the kinks
    ridged: float  # sum of ridge beta^2, or twice the entropies
    support: float


def fill_derivatives(points: Points, h: np.ndarray, beta: np.ndarray, curvature: np.ndarray) -> Sums:
    """Write the first and second derivatives of the losses by their residuals at h to beta and curvature, all (m,).

    The first ones are the dual weights that h suggests.

    Parameters
    ----------
    points, h, beta, curvature : Points, ndarray, ndarray, ndarray
        The terms of m samples, their decision values, and the arrays of float64 to write to.
    """
    sums = np.empty((-(-h.size // TILE), 4))
    spread(_fill, len(sums), SAMPLE * TILE, *points, h, beta, curvature, sums)
    return Sums(*sums.sum(axis=0).tolist())


def line_search(points: Points, h: np.ndarray, change: np.ndarray, along: float, square: float, begin: float) -> float:
    """Return the argmin over t of along t + 1/2 square t^2 + the losses at h + t change, both (m,).

    The slope is piecewise linear and never falls, so that Newton's method from `begin`, within the interval that holds
    the minimum, ends at it after a few rounds. A round is one evaluation in O(m).

    Parameters
    ----------
    points, h, change, along, square, begin : Points, ndarray, ndarray, float, float, float
        The terms of m samples, their decision values and the direction of these, and the numbers above.
    """
    if h.size <= 2 * TILE:
        return search(*points, h, change, along, square, begin)
    sums = np.empty((-(-h.size // TILE), 3))
    low, high, t, stride = -np.inf, np.inf, begin, 1.0
    for _ in range(ROUNDS):
        spread(_slope, len(sums), SAMPLE * TILE, *points, h, change, t, sums)
        slope, rate, size = sums.sum(axis=0).tolist()
        before, rate = t, steady_rate(points.below, low, high, stride, rate, size)
        low, high, t, stride = narrow_down(low, high, t, stride, slope, rate, size, along, square)
        if t == before:
            break
    return t


@njit(cache=True, nogil=True, error_model="numpy")
def search(rows, below, h, change, along, square, begin):
    """Return what `line_search` does, in compiled code on one thread."""
    low, high, t, stride = -np.inf, np.inf, begin, 1.0
    for _ in range(ROUNDS):
        slope, rate, size = sum_slopes(rows, below, h, change, t, 0, h.size)
        before, rate = t, steady_rate(below, low, high, stride, rate, size)
        low, high, t, stride = narrow_down(low, high, t, stride, slope, rate, size, along, square)
        if t == before:
            break
    return t


@njit(cache=True, nogil=True, error_model="numpy")
def steady_rate(below, low, high, stride, rate, size):
    """Return the rate that `narrow_down` takes; the arguments are those of the search and of `least_rate`."""
    return max(rate, least_rate(below, size, stride)) if high - low == np.inf else rate


@njit(cache=True, nogil=True, error_model="numpy")
def narrow_down(low, high, t, stride, slope, rate, size, along, square):
    """Return the interval (low, high) that holds the minimum, the next t in it, and the next stride, after a look at t.

    Parameters
    ----------
    low, high, t, stride : float
        The interval so far, the place of the look, and how far to go where the slope does not say it.
    slope, rate, size : float
        Sums over the samples at t: of the slopes, of their derivatives and of the sizes of the slopes.
    along, square : float
        As for `line_search`.
    """
    slope, rate, size = slope + along + square * t, rate + square, size + abs(along) + square * abs(t)
    if abs(slope) <= EVEN * size:
        return low, high, t, stride
    if slope < 0.0:
        low, far = t, t + stride
    else:
        high, far = t, t - stride
    target = t - slope / rate if rate > 0.0 else far
    if not low < target < high:
        target = 0.5 * (low + high) if high - low < np.inf else far
    return low, high, target, 2.0 * stride


@njit(cache=True, nogil=True, error_model="numpy")
def part_toward(dual, other, square, primal):
    """Return the part t in [0, 1] of the way between two dual points at which a bound on D is largest.

    D, which is `dual` at the one and `other` at the other point, is concave along the way and at least as curved as
    |X'beta|^2 / 2, whose images differ by sqrt(square): D(t) >= (1 - t) dual + t other + t (1 - t) square / 2.
    """
    if square <= ROUNDING * abs(primal):
        return 1.0
    return min(max(0.5 + (other - dual) / square, 0.0), 1.0)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def sum_slopes(rows, below, h, change, t, first, last):
    """Return the sums that `narrow_down` takes, over the samples first to last - 1."""
    slope, rate, sizes = 0.0, 0.0, 0.0
    for i in range(first, last):
        e = rows[i, 0] - h[i] - t * change[i]
        side = side_toward(rows, below, i, e)
        size = weight_beyond(side.sign * e - side.epsilon, side)
        slope -= side.sign * size * change[i]
        sizes += size * abs(change[i])
        rate += change[i] * change[i] * curvature_of(size, side)
    return slope, rate, sizes


@njit(cache=True, nogil=True, error_model="numpy")
def _fill(first, last, rows, below, h, beta, curvature, sums):
    for tile in range(first, last):
        lo, hi = tile * TILE, min(h.size, tile * TILE + TILE)
        loss, linear, ridged, support = sum_derivatives(rows, below, h, None, beta, curvature, lo, hi)
        sums[tile, 0], sums[tile, 1], sums[tile, 2], sums[tile, 3] = loss, linear, ridged, support


@njit(cache=True, nogil=True, error_model="numpy")
def _slope(first, last, rows, below, h, change, t, sums):
    for tile in range(first, last):
        lo, hi = tile * TILE, min(h.size, tile * TILE + TILE)
        sums[tile, 0], sums[tile, 1], sums[tile, 2] = sum_slopes(rows, below, h, change, t, lo, hi)
