"""The loops over samples of Newton's method, compiled: first and second derivatives of losses, and the line search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit.problems.risks.points import Points, loss_beyond, side_toward
from svmkit.runtime.compiling import njit
from svmkit.runtime.threads import spread

TILE = 4096  # samples of a sum, which depends on nothing else
SAMPLE = 6.0  # nanoseconds of a sample in these loops
ROUNDS = 60  # of the line search, which needs some five
EVEN = 1e-13  # slope, as a part of the sum of its sizes, that counts as 0


class Sums(NamedTuple):
    """Sums over samples at decision values h, and the number of dual weights beta that are not 0."""

    loss: float
    linear: float  # target'beta less the kinks
    ridged: float  # sum of ridge beta^2
    support: int


def fill_derivatives(points: Points, h: np.ndarray, beta: np.ndarray, curvature: np.ndarray) -> Sums:
    """Write the first and second derivatives of the losses by their residuals at h (m,) to beta (m,) and curvature (m,).

    The first ones are the dual weights that h suggests.
    """
    tiles = -(-h.size // TILE)
    sums = np.zeros((tiles, 4))
    spread(_fill, tiles, SAMPLE * TILE, *points, h, beta, curvature, sums)
    loss, linear, ridged, support = sums.sum(axis=0).tolist()
    return Sums(loss, linear, ridged, int(support))


def line_search(points: Points, h: np.ndarray, change: np.ndarray, along: float, square: float, begin: float) -> float:
    """Return the argmin over t of along t + 1/2 square t^2 + the losses at h + t change, both (m,).

    The slope is piecewise linear and never falls, so that Newton's method from `begin`, within the interval that holds
    the minimum, ends at it after a few rounds. A round is one evaluation in O(m).
    """
    tiles = -(-h.size // TILE)
    sums = np.empty((tiles, 3))
    low, high, t, stride = -np.inf, np.inf, begin, 1.0
    for _ in range(ROUNDS):
        spread(_slope, tiles, SAMPLE * TILE, *points, h, change, t, sums)
        slope, rate, size = sums.sum(axis=0).tolist()
        slope, rate, size = slope + along + square * t, rate + square, size + abs(along) + square * abs(t)
        if abs(slope) <= EVEN * size:
            break
        low, high = (t, high) if slope < 0.0 else (low, t)
        target = t - slope / rate if rate > 0.0 else (t + stride if slope < 0.0 else t - stride)
        if not low < target < high:
            if high - low == np.inf:
                target = t + stride if slope < 0.0 else t - stride
            else:
                target = 0.5 * (low + high)
        stride *= 2.0
        if target == t:
            break
        t = target
    return t


@njit(cache=True, nogil=True, error_model="numpy")
def _fill(first, last, rows, below, h, beta, curvature, sums):
    for tile in range(first, last):
        loss, linear, ridged, support = 0.0, 0.0, 0.0, 0
        for i in range(tile * TILE, min(h.size, tile * TILE + TILE)):
            e = rows[i, 0] - h[i]
            side = side_toward(rows, below, i, e)
            beyond = side.sign * e - side.epsilon
            size = min(max(beyond, 0.0) / side.ridge, side.bound)
            loss += loss_beyond(beyond, side)
            linear += (rows[i, 0] - side.sign * side.epsilon) * side.sign * size
            ridged += side.ridge * size * size
            support += size > 0.0
            beta[i] = side.sign * size
            curvature[i] = 1.0 / side.ridge if 0.0 < size < side.bound else 0.0
        sums[tile, 0], sums[tile, 1], sums[tile, 2], sums[tile, 3] = loss, linear, ridged, support


@njit(cache=True, nogil=True, error_model="numpy")
def _slope(first, last, rows, below, h, change, t, sums):
    for tile in range(first, last):
        slope, rate, sizes = 0.0, 0.0, 0.0
        for i in range(tile * TILE, min(h.size, tile * TILE + TILE)):
            e = rows[i, 0] - h[i] - t * change[i]
            side = side_toward(rows, below, i, e)
            size = min(max(side.sign * e - side.epsilon, 0.0) / side.ridge, side.bound)
            slope -= side.sign * size * change[i]
            sizes += size * abs(change[i])
            if 0.0 < size < side.bound:
                rate += change[i] * change[i] / side.ridge
        sums[tile, 0], sums[tile, 1], sums[tile, 2] = slope, rate, sizes
