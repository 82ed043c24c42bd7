"""The exact line search on the true risk, which sorts the points at which the slope of a loss changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from svmkit.problems.risks.points import Points, find_side, opposite_side
from svmkit.runtime.compiling import njit

DOUBLINGS, HALVINGS, NARROW = 2, 4, 0.3  # of an interval by slopes, and its final length: more did not pay off
NEAR = (0.125, 1.0)  # the minimum is mostly before one of these: later turns need not be sorted


class Ramps(NamedTuple):
    """Slopes of losses along a line as n ramps: jump + stiffness s while s = slack - t fall is positive, else 0."""

    slack: np.ndarray  # slacks at t = 0
    fall: np.ndarray  # their decrease per unit of t
    jump: np.ndarray  # the slope in the slack at which it begins
    stiffness: np.ndarray  # its growth; a negative one cancels that of another ramp


def make_ramps(points: Points, h: np.ndarray, change: np.ndarray) -> Ramps:
    """Return the slopes of the losses of `points` at decision values h + t change, both (m,): one ramp on each side of
    a loss, and a second one where it stops growing; sides without weights are left out.
    """
    out = np.empty((4, (2 if points.below is None else 4) * h.size))
    n = _fill_ramps(*points, h, change, out)
    return Ramps(*out[:, :n])


@njit(cache=True, error_model="numpy")
def _fill_ramps(rows, below, h, change, out):
    n = 0
    for i in range(h.size):
        e, side = rows[i, 0] - h[i], find_side(rows, below, i, 0.0, 1.0)
        n = _add_ramps(side, e, change[i], out, n)
        if below is not None:
            n = _add_ramps(opposite_side(rows, below, i, side), e, change[i], out, n)
    return n


@njit(cache=True, error_model="numpy")
def _add_ramps(side, e, change, out, n):
    if side.bound == 0.0:
        return n
    out[0, n], out[1, n] = side.sign * e - side.epsilon, side.sign * change
    out[2, n], out[3, n] = (side.bound, 0.0) if side.ridge == 0.0 else (0.0, 1.0 / side.ridge)
    n += 1
    if side.ridge > 0.0 and side.bound < np.inf:
        out[0, n], out[1, n] = out[0, n - 1] - side.ridge * side.bound, out[1, n - 1]
        out[2, n], out[3, n] = 0.0, -out[3, n - 1]
        n += 1
    return n


def search_by_slopes(slope: Callable[[float], float]) -> float:
    """Return approximately the t >= 0 at which a growing slope turns positive, if the sum itself cannot be sorted."""
    low, high = 0.0, 1.0
    below, above = slope(low), slope(high)
    for _ in range(DOUBLINGS):
        if above >= 0.0:
            break
        low, high, below = high, 2.0 * high, above
        above = slope(high)
    for _ in range(HALVINGS):
        if high - low <= NARROW * high or above == 0.0:
            break
        share = np.clip(-below / (above - below), 0.1, 0.9) if above > below else 0.5  # a secant, never near an end
        middle = low + share * (high - low)
        value = slope(middle)
        if value < 0.0:
            low, below = middle, value
        else:
            high, above = middle, value
    return low if low > 0.0 else high


def line_search(ramps: Ramps, along: float, square: float) -> float:
    """Return the exact argmin over t >= 0 of along t + 1/2 square t^2 + the losses, of slopes `ramps`; square > 0.

    The slope of a ramp by t is const_i + rate_i t while its slack is positive, otherwise 0. The search takes O(n log n)
    operations (Franc, Sonnenburg 2008, for the hinge).
    """
    slack, fall, jump, stiffness = ramps
    straight = not stiffness.any()
    if straight:
        const, rate = -fall * jump, np.zeros(1)
    else:
        const, rate = -fall * (jump + stiffness * slack), stiffness * np.square(fall)

    def slope(t: float) -> float:
        return along + square * t + float(np.where(slack > t * fall, const + rate * t, 0.0).sum())

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        turn = slack / fall  # where the slack is 0
    far = next((t for t in NEAR if slope(t) >= 0.0), np.finfo(np.float64).max)
    ahead = np.flatnonzero((turn > 0.0) & (turn <= far))
    ahead = ahead[np.argsort(turn[ahead])]
    turn = turn[ahead]
    active = (slack > 0.0) | ((slack == 0.0) & (fall < 0.0))
    sign = np.where(fall[ahead] > 0.0, -1.0, 1.0)  # a ramp ends where the slack falls, begins where it rises

    def sums(first: float, terms: np.ndarray) -> np.ndarray:
        """Sum over the ramps with a positive slack, up to the first turn and from each turn on."""
        return np.cumsum(np.concatenate([[first + np.where(active, terms, 0.0).sum()], sign * terms[ahead]]))

    consts = sums(along, const)
    rates = np.full(turn.size + 1, square) if straight else sums(square, rate)
    k = int(np.searchsorted(consts[1:] + rates[1:] * turn, 0.0))  # turns after which the objective still falls
    begin, end = np.append(0.0, turn)[k], np.append(turn, np.inf)[k]
    return float(np.clip(-consts[k] / max(rates[k], square), begin, end))
