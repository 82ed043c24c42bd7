"""The exact line search on the true risk, which sorts the points at which the loss of a sample begins or ends."""

from __future__ import annotations

import numpy as np

from svmkit.problems.loss import Loss

NEAR = (0.125, 1.0)  # the minimum is mostly before one of these: later turns need not be sorted


def line_search(loss: Loss, slack: np.ndarray, fall: np.ndarray, C: np.ndarray, along: float, square: float) -> float:
    """Return the exact argmin over t >= 0 of along t + 1/2 square t^2 + sum_i C_i loss(slack_i - t fall_i).

    The derivative of a sample's loss is const_i + rate_i t while its slack is positive, otherwise 0. The search takes
    O(m log m) operations (Franc, Sonnenburg 2008, for the hinge).

    Parameters
    ----------
    loss : Loss
        The loss of each sample.
    slack, fall, C : ndarray of shape (m,)
        Slacks at t = 0, their decrease per unit of t, and the costs C_i.
    along, square : float
        Coefficients of the quadratic; `square` is positive.

    Returns
    -------
    float
        The step t.
    """
    if loss is Loss.HINGE:
        const, rate = -C * fall, np.zeros(1)
    else:
        const, rate = -2.0 * C * fall * slack, 2.0 * C * np.square(fall)

    def slope(t: float) -> float:
        return along + square * t + float(np.where(slack > t * fall, const + rate * t, 0.0).sum())

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        turn = slack / fall  # where the slack is 0
    far = next((t for t in NEAR if slope(t) >= 0.0), np.finfo(np.float64).max)
    ahead = np.flatnonzero((turn > 0.0) & (turn <= far))
    ahead = ahead[np.argsort(turn[ahead])]
    turn = turn[ahead]
    active = (slack > 0.0) | ((slack == 0.0) & (fall < 0.0))
    sign = np.where(fall[ahead] > 0.0, -1.0, 1.0)  # a loss ends where the slack falls, begins where it rises

    def sums(first: float, terms: np.ndarray) -> np.ndarray:
        """Sum over the samples with a loss, up to the first turn and from each turn on."""
        return np.cumsum(np.concatenate([[first + np.where(active, terms, 0.0).sum()], sign * terms[ahead]]))

    consts = sums(along, const)
    rates = np.full(turn.size + 1, square) if loss is Loss.HINGE else sums(square, rate)
    k = int(np.searchsorted(consts[1:] + rates[1:] * turn, 0.0))  # turns after which it still goes down
    begin, end = np.append(0.0, turn)[k], np.append(turn, np.inf)[k]
    return float(np.clip(-consts[k] / max(rates[k], square), begin, end))
