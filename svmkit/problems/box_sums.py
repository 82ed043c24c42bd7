"""P, D and their rounding errors for BoxQP's certificate, and the best bias of the hinge, in compiled passes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from svmkit.kernels.rounding import TINY, product_error


class Bounds(NamedTuple):
    """The facts about a Gram and float64 on which the rounding errors of a certificate depend.

    Attributes
    ----------
    value : float
        A bound on the error of a kernel value.
    largest : float
        A bound on the absolute value of a kernel value.
    panel : int
        The number of products that are summed together, as for `svmkit.kernels.rounding.product_error`.
    shift : float
        `svmkit.kernels.semidefinite.Definiteness.shift`.
    unit : float
        The unit roundoff.
    """

    value: float
    largest: float
    panel: int
    shift: float
    unit: float


class Values(NamedTuple):
    """What a certificate says, before it is known whether the kernel is positive semidefinite.

    Attributes
    ----------
    primal, dual : float
        P and D as computed.
    of_primal, of_dual : float
        Bounds on their rounding errors, that of the constraint y'beta = 0 included.
    norm : float
        sum beta_i y_i h_i, which is |w|^2.
    """

    primal: float
    dual: float
    of_primal: float
    of_dual: float
    norm: float


_product_error = njit(cache=True)(product_error)


@njit(cache=True)
def _sum_error(m, size, unit):
    """Return `svmkit.problems.rounding.dot_error` of m products whose absolute values have the sum `size`."""
    return (m + 1) * (unit * size + TINY) if size != 0.0 else 0.0


@njit(nogil=True, cache=True)
def box_values(y, h, beta, C, ridge, diag, squared, bias, bounds):
    """Return the `Values` of a point of a BoxQP.

    Parameters
    ----------
    y, h, beta, C, ridge, diag : ndarray of float64, shape (m,)
        Labels, decision values without the bias, dual weights, costs, the ridge of Q, and the diagonal of K.
    squared : bool
        The loss is the squared hinge; else the hinge.
    bias : float
        The bias.
    bounds : Bounds
        What the rounding errors depend on.

    Returns
    -------
    tuple of float
        The fields of `Values`.
    """
    m, unit, total, most, support, widest = y.size, bounds.unit, 0.0, 0.0, 0, 0.0
    for i in range(m):
        total += beta[i]
        most = max(most, beta[i])
        support += beta[i] != 0.0
        widest = max(widest, diag[i])
    # the error of each h, for the nearest kernel matrix that is positive semidefinite
    of_h = _product_error(bounds.value, bounds.largest, bounds.panel, support, total) + bounds.shift * most
    norm = ridged = balance = loss = size = off = 0.0
    for i in range(m):
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
            balance += y[i] * beta[i]
    primal = 0.5 * norm + loss
    of_norm = total * of_h + _sum_error(m, size, unit)
    of_sum = _sum_error(m, total, unit)
    # a y'beta other than 0 moves D by its product with the bias of the optimum, which is at most 1 + |w| max |phi|
    largest = 1.0 + math.sqrt(2.0 * max(primal, 0.0) * widest)
    balanced = (abs(balance) + of_sum) * largest
    of_primal = 0.5 * of_norm + off + _sum_error(m, loss, 2.0 * unit if squared else unit)
    of_dual = 0.5 * of_norm + of_sum + _sum_error(m, ridged, unit) + balanced
    return primal, total - 0.5 * (norm + ridged), of_primal, of_dual, norm


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
