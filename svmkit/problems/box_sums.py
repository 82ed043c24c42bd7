"""The sums of BoxQP's certificate and the best bias of the hinge, in compiled passes over the samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit


class Sums(NamedTuple):
    """The sums over all m samples of which P, D and the bounds on their rounding errors consist.

    Attributes
    ----------
    norm : float
        sum beta_i y_i h_i, which is |w|^2.
    ridge : float
        sum ridge_i beta_i^2.
    beta : float
        sum beta_i.
    balance : float
        sum y_i beta_i.
    loss : float
        sum C_i loss(1 - y_i (h_i + bias)).
    size : float
        sum |beta_i h_i|.
    off : float
        By how much the sum of the losses changes at most if each slack is wrong by its error.
    """

    norm: float
    ridge: float
    beta: float
    balance: float
    loss: float
    size: float
    off: float


@njit(nogil=True, cache=True)
def box_sums(y, h, beta, C, ridge, squared, bias, of_h, unit):
    """Return the `Sums` of a point.

    Parameters
    ----------
    y, h, beta, C, ridge : ndarray of float64, shape (m,)
        Labels, decision values without the bias, dual weights, costs, and the ridge of Q.
    squared : bool
        The loss is the squared hinge; else the hinge.
    bias : float
        The bias.
    of_h : float
        A bound on the error of each h.
    unit : float
        The unit roundoff.

    Returns
    -------
    tuple of float
        The fields of `Sums`.
    """
    norm = ridged = total = balance = loss = size = off = 0.0
    for i in range(y.size):
        slack = 1.0 - y[i] * (h[i] + bias)
        error = of_h + 4.0 * unit * (1.0 + abs(h[i]) + abs(bias))
        above = max(slack, 0.0)
        if slack != slack:
            above = slack
        moved = error if not slack <= -error else 0.0
        loss += C[i] * (above * above if squared else above)
        off += C[i] * (moved * (2.0 * above + moved) if squared else moved)
        if beta[i] != 0.0:
            norm += beta[i] * y[i] * h[i]
            size += abs(beta[i] * h[i])
            ridged += beta[i] * (beta[i] * ridge[i])
            total += beta[i]
            balance += y[i] * beta[i]
    return norm, ridged, total, balance, loss, size, off


@njit(nogil=True, cache=True)
def hinge_bias(y, h, C):
    """Return the exact argmin over b of sum_i C_i max(0, 1 - y_i (h_i + b)), as `svmkit.problems.loss.best_bias`.

    The derivative rises by C_i at c_i = y_i - h_i, from minus the costs of the positive samples. The c at which it
    reaches 0 is selected as in quickselect, with a pivot that splits the costs.
    """
    n = y.size
    c, cost = y - h, C.copy()
    left, level = 0.0, 0.0  # the costs that the c up to the minimum have, and what rounding leaves of them
    for i in range(n):
        level += 1e-12 * cost[i]
        if y[i] > 0.0:
            left += cost[i]
    lo, hi, beyond = 0, n, np.inf
    while True:
        a, b, pivot = c[lo], c[hi - 1], c[(lo + hi) // 2]
        pivot = max(min(a, b), min(max(a, b), pivot))
        below, at, r, of_below, of_same = lo, hi, lo, 0.0, 0.0
        while r < at:  # below the pivot | the pivot | above it
            if c[r] < pivot:
                of_below += cost[r]
                c[r], c[below], cost[r], cost[below] = c[below], c[r], cost[below], cost[r]
                below += 1
                r += 1
            elif c[r] > pivot:
                at -= 1
                c[r], c[at], cost[r], cost[at] = c[at], c[r], cost[at], cost[r]
            else:
                of_same += cost[r]
                r += 1
        if of_below >= left - level and below > lo:
            beyond, hi = pivot, below
            continue
        rise = of_below + of_same - left
        if rise >= -level or at == hi:
            if rise > level:
                return pivot
            for r in range(at, hi):
                beyond = min(beyond, c[r])
            return 0.5 * (pivot + beyond) if beyond < np.inf else pivot
        left, lo = -rise, at
