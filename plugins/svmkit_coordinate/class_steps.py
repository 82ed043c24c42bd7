"""The compiled loop of Crammer and Singer's problem: the minimum over the dual weights of one sample at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from svmkit.problems.risks.design import row_add, row_dot
from svmkit.runtime.compiling import njit

AT_COST = 1.0 - 1e-12  # share of its cost from which on a sample's weight counts as its largest
ZERO = 1e-200  # |x|^2 of a row of zeros
FINE = 1e-12  # violation that is ignored


class Visit(NamedTuple):
    """Sums over the samples that a call has visited."""

    kept: int  # number of samples that are not shrunk
    gain: float  # decrease of the objective
    gap: float  # the samples' terms of P - D, each at the time of the visit
    top: float  # largest violation of the optimality conditions
    looks: int  # scores that were computed, one for each class of a sample
    born: int  # change of the number of samples with weight


def _score(X, i, W, bias, classes, n, out):
    """Write w_c'x_i, bias included, to `out` for the first n of `classes`.

    Parameters
    ----------
    X, i : ndarray of shape (m, d) or CSR, int
        The samples, and the number of one.
    W : ndarray of float64, shape (k, width) for dense X, (width, k) for CSR
        The weights of the k classes: a row each, or a column each.
    bias : float
        The value of the bias column, the last one of the weights; 0 for none.
    classes, n : ndarray of int, int
        The classes whose scores are computed, and their number.
    out : ndarray of float64
        The scores.
    """
    raise TypeError("_score is for compiled code")


def _move(X, i, W, bias, classes, n, steps):
    """Add steps[r] x_i to the weights of classes[r] for r < n.

    Parameters
    ----------
    X, i, W, bias, classes, n
        As for `_score`; W is changed in place.
    steps : ndarray of float64
        The factor of each class.
    """
    raise TypeError("_move is for compiled code")


@overload(_score)
def _score_for(X, i, W, bias, classes, n, out):
    if isinstance(X, types.Array):  # W (k, width)

        def dense(X, i, W, bias, classes, n, out):
            """`_score` for dense rows.

            Parameters
            ----------
            X, i, W, bias, classes, n, out
                As for `_score`.
            """
            for r in range(n):
                w = W[classes[r]]
                out[r] = row_dot(X, i, w) + bias * w[w.size - 1] * (bias != 0.0)

        return dense

    def sparse(X, i, W, bias, classes, n, out):  # W (width, k): the classes of a column lie side by side
        """`_score` for rows in CSR storage.

        Parameters
        ----------
        X, i, W, bias, classes, n, out
            As for `_score`.
        """
        last = W.shape[0] - 1
        for r in range(n):
            out[r] = bias * W[last, classes[r]] if bias != 0.0 else 0.0
        for j in range(X.indptr[i], X.indptr[i + 1]):
            w, x = W[X.indices[j]], X.data[j]
            for r in range(n):
                out[r] += x * w[classes[r]]

    return sparse


@overload(_move)
def _move_for(X, i, W, bias, classes, n, steps):
    if isinstance(X, types.Array):

        def dense(X, i, W, bias, classes, n, steps):
            """`_move` for dense rows.

            Parameters
            ----------
            X, i, W, bias, classes, n, steps
                As for `_move`.
            """
            for r in range(n):
                if steps[r] != 0.0:
                    w = W[classes[r]]
                    row_add(X, i, steps[r], w)
                    if bias != 0.0:
                        w[w.size - 1] += steps[r] * bias

        return dense

    def sparse(X, i, W, bias, classes, n, steps):
        """`_move` for rows in CSR storage.

        Parameters
        ----------
        X, i, W, bias, classes, n, steps
            As for `_move`.
        """
        last = W.shape[0] - 1
        for r in range(n):
            if steps[r] != 0.0:
                c = classes[r]
                for j in range(X.indptr[i], X.indptr[i + 1]):
                    W[X.indices[j], c] += steps[r] * X.data[j]
                if bias != 0.0:
                    W[last, c] += steps[r] * bias

    return sparse


@njit(cache=True, error_model="numpy")
def visit(X, bias, sq, C, order, first, last, kept, alpha, W, active, sizes, shrinking, room):
    """Minimise over the dual weights of each of the samples order[first:last], one sample after the other.

    Parameters
    ----------
    X, bias : ndarray of shape (m, d) or CSR, float
        The samples, as in `Design.rows`, and the value of the bias column; 0.0 for none.
    sq, C : ndarray of float64, shape (m,)
        Squared norms of the samples, bias included, and costs.
    order : ndarray of int64
        The samples. Samples that are not shrunk come first afterwards, in the same order, from position `kept` on.
    first, last, kept : int
        The range of samples to visit, and the position of the first one that is not shrunk.
    alpha : ndarray of float64, shape (m, k)
        The dual weights, in place.
    W : ndarray of float64, shape (k, width), or (width, k) for CSR
        sum_i alpha_ic x_i of each class, in place.
    active, sizes : ndarray of int32, shape (m, k) and (m,)
        The classes of each sample: its own first, then the active ones, then those left out; and the number of active
        ones, including its own.
    shrinking : bool
        Whether classes and samples are left out if their weights are at a bound and would stay there.
    room : ndarray of float64, shape (3, k)
        Memory for scores, steps and a sub-problem.

    Notes
    -----
    Keerthi, Sundararajan, Chang, Hsieh, Lin 2008, Algorithm 1 and section 3; shrinking as in LIBLINEAR's
    Solver_MCSVM_CS (Fan et al. 2008, appendix E.4).
    """
    gain, gap, top, looks, born = 0.0, 0.0, 0.0, 0, 0
    G, D, E = room[0], room[1], room[2]
    for s in range(first, last):
        i = order[s]
        a, classes, n, cost, curvature = alpha[i], active[i], sizes[i], C[i], sq[i]
        _score(X, i, W, bias, classes, n, G)
        looks += n
        held = a[classes[0]]
        full = held >= cost * AT_COST
        high, low, pull = G[0], np.inf if full else G[0], held * G[0]
        best = 0
        for r in range(1, n):
            G[r] += 1.0
            g, weight = G[r], a[classes[r]]
            pull += weight * g
            if g > high:
                high, best = g, r
            if weight < 0.0 and g < low:
                low = g
        gap += cost * (high - G[0]) + pull
        if shrinking:
            r = 1
            while r < n:
                if a[classes[r]] == 0.0 and G[r] < low and r != best:
                    n -= 1
                    if best == n:
                        best = r
                    classes[r], classes[n] = classes[n], classes[r]
                    G[r], G[n] = G[n], G[r]
                else:
                    r += 1
            sizes[i] = n
            if n == 1 or (n == 2 and full and G[0] < low):
                continue
        order[kept] = i
        kept += 1
        if high - low <= FINE:
            continue
        top = max(top, high - low)
        if curvature <= ZERO:  # a row of zeros: all of its weight goes to another class
            if best == 0 or full:
                continue
            for r in range(1, n):
                D[r] = -cost if r == best else 0.0
            total = cost
        else:
            total = _minimum(a, classes, n, cost, curvature, G, D, E)
        D[0] = total
        for r in range(n):
            c = classes[r]
            step = D[r] - a[c]
            a[c] = D[r]
            D[r] = step
            gain -= step * (G[r] + 0.5 * curvature * step)
        born += (total > 0.0) - (held > 0.0)
        _move(X, i, W, bias, classes, n, D)
    return Visit(kept, gain, gap, top, looks, born)


@njit(cache=True, error_model="numpy")
def _minimum(a, classes, n, cost, curvature, G, D, E):
    """Write the best dual weights of a sample's other classes to D[1:n]; return the resulting weight of its own class.

    With B = G - |x|^2 alpha the minimum is alpha_c = min(upper_c, (beta - B_c) / |x|^2), where beta makes the sum 0:
    sum_c max(0, D_c - beta) = |x|^2 C for D_c = B_c + |x|^2 upper_c. As this is the projection onto a simplex, beta
    comes from dropping all D_c <= beta until none is left (Michelot 1986); no D_c <= max D - |x|^2 C can take part.
    """
    whole = curvature * cost
    D[0] = G[0] - curvature * a[classes[0]] + whole
    most = D[0]
    for r in range(1, n):
        D[r] = G[r] - curvature * a[classes[r]]
        most = max(most, D[r])
    count, total = 0, 0.0
    for r in range(n):
        if D[r] > most - whole:
            E[count] = D[r]
            count += 1
            total += D[r]
    if count == 0:  # whole is lost in rounding beside the largest D
        E[0], count, total = most, 1, most
    while True:
        beta = (total - whole) / count
        left, total = 0, 0.0
        for r in range(count):
            if E[r] > beta:
                E[left] = E[r]
                left += 1
                total += E[r]
        if left == count or left == 0:
            break
        count = left
    total = 0.0
    for r in range(1, n):
        D[r] = min((beta - D[r]) / curvature, 0.0)
        total -= D[r]
    if total > cost:  # by rounding
        scale = cost / total
        for r in range(1, n):
            D[r] *= scale
        total = cost
    return total
