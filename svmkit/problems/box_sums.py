"""P, D and their rounding errors for BoxQP's certificate, and the best bias of the hinge, in compiled passes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from svmkit.kernels.rounding import TINY, product_error
from svmkit.runtime.compiling import njit


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
        `svmkit.kernels.gram.semidefinite.Definiteness.shift`.
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


_product_error = njit(inline="always")(product_error)


@njit(inline="always")
def _sum_error(m, size, unit):
    """Return `svmkit.problems.rounding.dot_error` of m products whose absolute values have the sum `size`."""
    return (m + 1) * (unit * size + TINY) if size != 0.0 else 0.0


class Totals(NamedTuple):
    """Facts about a point that bound the error of each decision value; those of parts of the samples can be joined.

    Attributes
    ----------
    m, support : int
        The numbers of samples and of weights that are not 0.
    total, most : float
        The sum and the largest of the weights.
    widest : float
        The largest k(x, x).
    """

    m: int
    support: int
    total: float
    most: float
    widest: float


class Terms(NamedTuple):
    """Sums over samples from which P, D and their errors follow; those of parts of the samples can be added.

    Attributes
    ----------
    norm, size : float
        sum beta_i y_i h_i, and the sum of the absolute values of its terms.
    ridged : float
        sum ridge_i beta_i^2.
    balance : float
        y'beta.
    loss, off : float
        The summed losses, and a bound on their errors that come from those of the decision values.
    """

    norm: float
    size: float
    ridged: float
    balance: float
    loss: float
    off: float


@njit(inline="always")
def _totals(beta, diag):
    m, support, total, most, widest = beta.size, 0, 0.0, 0.0, 0.0
    for i in range(m):
        weight = beta[i]
        total += weight
        most = weight if weight > most else most
        support += weight != 0.0
        widest = diag[i] if diag[i] > widest else widest
    return m, support, total, most, widest


@njit(inline="always")
def _error_of_h(support, total, most, bounds):
    # for the nearest kernel matrix that is positive semidefinite
    return _product_error(bounds.value, bounds.largest, bounds.panel, support, total) + bounds.shift * most


@njit(inline="always")
def _terms(y, h, beta, C, ridge, squared, bias, of_h, unit):
    norm = ridged = balance = loss = size = off = 0.0
    for i in range(y.size):
        label, image, weight, cost = y[i], h[i], beta[i], C[i]
        slack = 1.0 - label * (image + bias)
        error = of_h + 4.0 * unit * (1.0 + abs(image) + abs(bias))
        above = 0.0 if slack < 0.0 else slack  # a slack that is not a number remains
        moved = error if not slack <= -error else 0.0
        loss += cost * (above * above if squared else above)
        off += cost * (moved * (2.0 * above + moved) if squared else moved)
        if weight != 0.0:
            norm += weight * label * image
            size += abs(weight * image)
            ridged += weight * (weight * ridge[i])
            balance += label * weight
    return norm, size, ridged, balance, loss, off


@njit(inline="always")
def _values(m, total, widest, norm, size, ridged, balance, loss, off, of_h, squared, unit):
    primal = 0.5 * norm + loss
    of_norm = total * of_h + _sum_error(m, size, unit)
    of_sum = _sum_error(m, total, unit)
    # a y'beta other than 0 moves D by its product with the bias of the optimum, which is at most 1 + |w| max |phi|
    largest = 1.0 + math.sqrt(2.0 * (primal if primal > 0.0 else 0.0) * widest)
    balanced = (abs(balance) + of_sum) * largest
    of_primal = 0.5 * of_norm + off + _sum_error(m, loss, 2.0 * unit if squared else unit)
    of_dual = 0.5 * of_norm + of_sum + _sum_error(m, ridged, unit) + balanced
    return primal, total - 0.5 * (norm + ridged), of_primal, of_dual, norm


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
    unit = bounds.unit
    m, support, total, most, widest = _totals(beta, diag)
    of_h = _error_of_h(support, total, most, bounds)
    norm, size, ridged, balance, loss, off = _terms(y, h, beta, C, ridge, squared, bias, of_h, unit)
    return _values(m, total, widest, norm, size, ridged, balance, loss, off, of_h, squared, unit)


@njit(nogil=True, cache=True)
def totals_of(beta, diag):
    """Return the fields of `Totals` for samples with these weights and this diagonal of K, shape (n,) each."""
    return _totals(beta, diag)


@njit(nogil=True, cache=True)
def error_of_h(totals, bounds):
    """Return a bound on the error of each decision value, from the `Totals` of all samples and the `Bounds`."""
    return _error_of_h(totals.support, totals.total, totals.most, bounds)


@njit(nogil=True, cache=True)
def terms_of(y, h, beta, C, ridge, squared, bias, of_h, unit):
    """Return the fields of `Terms` for samples, arrays as for `box_values`, whose h have errors of at most `of_h`."""
    return _terms(y, h, beta, C, ridge, squared, bias, of_h, unit)


def values_of(totals: Totals, terms: Terms, of_h: float, squared: bool, unit: float) -> Values:
    """Return the `Values` of a point from the totals and the summed terms of all samples.

    Parameters
    ----------
    totals : Totals
        Those of all samples.
    terms : Terms
        Those of all samples, added up in any order.
    of_h : float
        As `error_of_h` returns it.
    squared : bool
        The loss is the squared hinge; else the hinge.
    unit : float
        The unit roundoff.
    """
    values = getattr(_values, "py_func", _values)  # itself where nothing is compiled
    return Values(*values(totals.m, totals.total, totals.widest, *terms, of_h, squared, unit))


@njit(nogil=True, cache=True)
def hinge_bias(y, c, cost):
    """Return the exact argmin over b of sum_i C_i max(0, 1 - y_i (h_i + b)), as `svmkit.problems.loss.best_bias`.

    The arrays c = y - h and cost = C, which are not compiled as sums and copies of arrays would be, are reordered.
    The derivative rises by C_i at c_i = y_i - h_i, from minus the costs of the positive samples. The c at which it
    reaches 0 is selected as in quickselect, with a pivot that splits the costs.
    """
    n = y.size
    left, level = 0.0, 0.0  # the costs that the c up to the minimum have, and what rounding leaves of them
    for i in range(n):
        level += 1e-12 * cost[i]
        if y[i] > 0.0:
            left += cost[i]
    lo, hi, beyond = 0, n, np.inf
    while True:
        pivot, a, b = c[(lo + hi) // 2], c[lo], c[hi - 1]
        a, b = (a, b) if a < b else (b, a)
        pivot = a if pivot < a else b if pivot > b else pivot
        below, at, r, of_below, of_same = lo, hi, lo, 0.0, 0.0
        while r < at:  # below the pivot | the pivot | above it
            value, weight, other = c[r], cost[r], r
            if value < pivot:
                of_below += weight
                other = below
                below += 1
            elif value > pivot:
                at -= 1
                other = at
            else:
                of_same += weight
            c[r], cost[r] = c[other], cost[other]
            c[other], cost[other] = value, weight
            r += not value > pivot
        if of_below >= left - level and below > lo:
            beyond, hi = pivot, below
            continue
        rise = of_below + of_same - left
        if rise >= -level or at == hi:
            if rise > level:
                return pivot
            for r in range(at, hi):
                beyond = c[r] if c[r] < beyond else beyond
            return 0.5 * (pivot + beyond) if beyond < np.inf else pivot
        left, lo = -rise, at


@njit(nogil=True, cache=True)
def losses_at(y, h, C, biases, squared):
    """Return sum_i C_i loss(1 - y_i (h_i + b)) for each b of `biases` (k,), as an array (k,); the others as above."""
    out = np.zeros(biases.size)
    for k in range(biases.size):
        total, b = 0.0, biases[k]
        for i in range(y.size):
            slack = 1.0 - y[i] * (h[i] + b)
            above = slack if slack > 0.0 else 0.0
            total += C[i] * (above * above if squared else above)
        out[k] = total
    return out
