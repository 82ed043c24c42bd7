"""One pass of dual coordinate descent, compiled. `LinearRisk` uses it to improve its bounds, `dcd` repeats it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from svmkit.problems.risks.design import AHEAD, fetch_row, row_add, row_dot
from svmkit.problems.risks.points import (
    OPTIONS,
    excess_of,
    find_side,
    is_logistic_kind,
    loss_beyond,
    opposite_side,
    twice_phi,
)
from svmkit.problems.sums import sigmoid, softplus
from svmkit.runtime.compiling import njit

FINE = 1e-12  # slope, relative to the target, below which a weight stays
SOLVED, ROUNDS = 1e-14, 100  # relative error of the slack after a step with a logistic loss, and most rounds to it
CLOSE = 1e-5  # move of that slack whose cube is below its error


class Pass(NamedTuple):
    """Result of a pass of coordinate descent."""

    n: int  # number of points that are not shrunk
    gain: float  # decrease of the objective
    gap: float  # the points' terms of P - D, each at the time when the point was visited
    top: float  # largest projected gradient
    low: float  # smallest projected gradient
    born: int  # change of the number of nonzero weights


@njit(cache=True, error_model="numpy")
def coordinate_pass(X, bias, points, order, n, beta, v, high, low, sigma=1.0, below=None):
    """Make one pass of dual coordinate descent over the points order[:n]; `order`, `beta` and `v` change in place.

    The pass minimises 1/2 |v|^2 - target'beta + sum phi(beta) over lower <= beta <= upper, one coordinate at a time,
    where v = sum beta x with the bias column (Hsieh, Chang, Lin, Keerthi, Sundararajan 2008, Algorithm 3; for weights
    of either sign: Ho, Lin 2012, Algorithm 4). A sample is treated from the side of its weight, or of its residual
    while the weight is 0. There it is a sample of classification, with the slack sign (target - h) - epsilon, whose
    weight may cross to the other side.

    Parameters
    ----------
    X, bias : ndarray of shape (m, d) or CSR, float
        The samples, as in `Design.rows`, and the value of the bias column; 0.0 for none.
    points, below : ndarray and tuple or None
        `Points` of the terms of the loss, made with the same sigma.
    order, n : ndarray of int64, int
        The points to visit. Afterwards the points that are not shrunk come first, in the same order.
    beta, v : ndarray of float64, shape (m,) and (width,)
        The dual weights, and the weight vector of beta.
    high, low : float
        Thresholds of shrinking. A point drops out if its weight is 0 and its gradient exceeds `high`, or if its weight
        is at its bound and its gradient is below `low`; inf and -inf keep all points.
    sigma : float, default=1.0
        Factor by which v moves further than the steps, for the local problem of one worker among several (sigma' of Ma
        et al. 2015).
    """
    return _make_pass(X, bias, points, order, n, beta, v, high, low, sigma, below)


def _piecewise_pass(X, bias, points, order, n, beta, v, high, low, sigma, below):
    kept, gain, gap, top, bottom, born = 0, 0.0, 0.0, -np.inf, np.inf, 0
    last = np.uintp(v.size - 1)
    for k in range(np.uintp(n)):
        if k + AHEAD < np.uintp(n):
            fetch_row(X, order[k + AHEAD])
            fetch_row(points, order[k + AHEAD])
        i = np.uintp(order[k])
        h = row_dot(X, i, v)
        if bias != 0.0:
            h += bias * v[last]
        e, held = points[i, 0] - h, beta[i]
        side = find_side(points, below, i, held, e)
        slack, held = side.sign * e - side.epsilon, side.sign * held
        slope = side.ridge * held - slack
        gap += excess_of(slack, held, side)
        if below is not None:
            other = opposite_side(points, below, i, side)
            gap += loss_beyond(other.sign * e - other.epsilon, other)
        if held == 0.0:
            if slope > high:
                continue
            slope = min(slope, 0.0) if side.bound > 0.0 else 0.0
        elif held == side.bound:
            if slope < low:
                continue
            slope = max(slope, 0.0)
        order[np.uintp(kept)] = np.intp(i)
        kept += 1
        top, bottom = max(top, slope), min(bottom, slope)
        if abs(slope) > FINE * (abs(points[i, 0]) + side.epsilon):
            size = min(held - slope * side.inverse, side.bound)
            if below is None:
                size = max(size, 0.0)
            elif size < 0.0:  # the minimum lies on the other side, or at 0
                tube = side.epsilon + other.epsilon
                size = max(min(size * (other.inverse / side.inverse) + tube * other.inverse, 0.0), -other.bound)
                gain += size * (tube - 0.5 * size * (other.ridge - side.ridge))
            step = size - held
            beta[i] = side.sign * size
            gain -= step * (slope + 0.5 * step / side.inverse)
            born += (size != 0.0) - (held != 0.0)
            move = sigma * side.sign * step
            row_add(X, i, move, v)
            if bias != 0.0:
                v[last] += move * bias
    return Pass(kept, gain, gap, top, bottom, born)


def _logistic_pass(X, bias, points, order, n, beta, v, high, low, sigma, below):
    """Make the pass for logistic losses, whose weights lie inside their bounds, so that no point drops out.

    A step solves its one-variable problem (Yu, Huang, Lin 2011, Algorithm 5) for its slack z after the step.
    """
    gain, gap, top, bottom, born = 0.0, 0.0, 0.0, 0.0, 0
    last = np.uintp(v.size - 1)
    for k in range(np.uintp(n)):
        if k + AHEAD < np.uintp(n):
            fetch_row(X, order[k + AHEAD])
            fetch_row(points, order[k + AHEAD])
        i = np.uintp(order[k])
        h = row_dot(X, i, v)
        if bias != 0.0:
            h += bias * v[last]
        side = find_side(points, below, i, 0.0, 0.0)
        slack, held, q = side.sign * (points[i, 0] - h), side.sign * beta[i], 1.0 / points[i, 2]
        entropy = 0.5 * twice_phi(held, side)
        z, share, before, after = _solve_logistic(slack, q, held, side.bound)
        size = side.bound * share
        gap += max(side.bound * before - held * slack + entropy, 0.0)
        top, bottom = max(top, slack - z), min(bottom, slack - z)
        step = size - held
        if step != 0.0:
            beta[i] = side.sign * size
            gain += 0.5 * q * step * step + max(side.bound * after - held * z + entropy, 0.0)
            born += (size != 0.0) - (held != 0.0)
            move = sigma * side.sign * step
            row_add(X, i, move, v)
            if bias != 0.0:
                v[last] += move * bias
    return Pass(n, gain, gap, top, bottom, born)


@njit(cache=True, error_model="numpy")
def _solve_logistic(slack, q, held, bound):
    """Return the slack z of a sample with a logistic loss after its step, its sigmoid, the weight in units of `bound`,
    and the losses at `slack` and z in the same units.

    It is the root of z + q bound sigmoid(z) = slack + q held, where q is the squared norm. The left side rises at least
    as fast as z, so that Halley's method within an interval that holds the root needs a few rounds; if its error has
    not halved within two rounds, as in a cycle, the interval is halved. Rounds and losses share exponentials, and a
    last small move is taken from a series.
    """
    right, pull, z = slack + q * held, q * bound, slack
    low, high = right - pull, right
    small = math.exp(-abs(z))
    before = loss = softplus(z, small)
    earlier = recent = np.inf
    for k in range(ROUNDS):
        if k:
            small = math.exp(-abs(z))
        share = sigmoid(z, small)
        value, curved = z + pull * share - right, share * (1.0 - share)
        rate, bend = 1.0 + pull * curved, 0.5 * curved * (1.0 - 2.0 * share)
        move = -value / rate
        move /= 1.0 - min(max(-move * pull * bend / rate, -0.5), 0.5)  # far away about as long as Newton's
        if abs(move) <= CLOSE:
            break
        if abs(value) <= SOLVED * (abs(z) + pull * share + abs(right)) or k == ROUNDS - 1:
            move = 0.0
            break
        if value > 0.0:
            high = z
        else:
            low = z
        is_slow, earlier, recent = abs(value) > 0.5 * earlier, recent, abs(value)
        z += move
        if is_slow or not low < z < high:
            z = 0.5 * (low + high)
    if k:
        loss = softplus(z, small)
    return z + move, share + move * (curved + move * bend), before, loss + move * (share + 0.5 * move * curved)


def _make_pass(X, bias, points, order, n, beta, v, high, low, sigma, below) -> Any:
    raise TypeError("_make_pass is for compiled code")


@overload(_make_pass, jit_options=OPTIONS)
def _select_pass(X, bias, points, order, n, beta, v, high, low, sigma, below):
    return _logistic_pass if is_logistic_kind(below) else _piecewise_pass
