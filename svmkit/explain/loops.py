"""The compiled loops of exact Shapley values: leave-one-out products of the factors of a kernel, integrated over t.

A kernel of x - z is a product of factors, one for each player. Support vectors lie in blocks of `width` lanes, and each
loop runs over the lanes of a block, so that the compiler vectorises it.
"""

from __future__ import annotations

import math

import numpy as np

from svmkit.runtime.compiling import njit


@njit(nogil=True, cache=True, fastmath={"contract"})
def fill_factors(first, last, X, vectors, starts, gamma, squares, out):
    """Set out[b, r, p, i] to the factor of player p of row r and vector i of block b.

    Parameters
    ----------
    first, last : int, the range of items: item b * n + r is row r and block b
    X : ndarray of shape (n, d), the rows, their columns sorted by player
    vectors : ndarray of shape (blocks, d, width)
    starts : ndarray of shape (n_players + 1,), int, where the columns of each player begin
    gamma, squares : float, bool, the factor is exp(-gamma |x - s|^2) over the columns of a player, or of |x - s|_1
    out : ndarray of shape (blocks, n, n_players, width)
    """
    n, width = X.shape[0], vectors.shape[2]
    for item in range(first, last):
        b, r = item // n, item % n
        for p in range(len(starts) - 1):
            for i in range(width):
                out[b, r, p, i] = 0.0
            for j in range(starts[p], starts[p + 1]):
                x = X[r, j]
                for i in range(width):
                    gap = x - vectors[b, j, i]
                    out[b, r, p, i] += gap * gap if squares else abs(gap)
            for i in range(width):
                out[b, r, p, i] = math.exp(-gamma * out[b, r, p, i])


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc"})
def add_values(first, last, differs, A, B, ends, nodes, weights, coef, out):
    """Add to out[item, p, k] the sum over backgrounds z and vectors i of a block of coef_ik times the Shapley value of
    player p in the product of factors: the integral over t of (a_p - b_p) prod_{l != p} (t a_l + (1 - t) b_l).

    Parameters
    ----------
    first, last : int, the range of items: item b * n + r is row r and block b
    differs : ndarray of shape (n, n_backgrounds, n_players), bool, whether row and background differ for a player
    A, B : ndarray of shapes (blocks, n, n_players, width) and (blocks, n_backgrounds, n_players, width), the factors
    ends : ndarray of shape (n_players + 1,), int: the rule for m differing players lies between ends[m - 1] and ends[m]
    nodes, weights : ndarray, the rules of quadrature on [0, 1], one after the other
    coef : ndarray of shape (blocks, n_decisions, width)
    out : ndarray of shape (blocks * n, n_players, n_decisions)
    """
    n, n_backgrounds, n_players = differs.shape
    width = A.shape[3]
    active = np.empty(n_players, dtype=np.int64)
    total = np.empty((n_players, width))
    value = np.empty((n_players, width))
    factor = np.empty((n_players, width))
    before = np.empty((n_players, width))
    base, run = np.empty(width), np.empty(width)
    for item in range(first, last):
        block, r = item // n, item % n
        a = A[block, r]
        total[:] = 0.0
        for z in range(n_backgrounds):
            b = B[block, z]
            m = 0
            for i in range(width):
                base[i] = 1.0
            for p in range(n_players):
                if differs[r, z, p]:
                    active[m] = p
                    m += 1
                else:
                    for i in range(width):
                        base[i] *= a[p, i]
            if not m:
                continue
            value[:m] = 0.0
            for q in range(ends[m - 1], ends[m]):
                t, u, weight = nodes[q], 1.0 - nodes[q], weights[q]
                for i in range(width):
                    run[i] = weight * base[i]
                for l in range(m):
                    p = active[l]
                    for i in range(width):
                        f = t * a[p, i] + u * b[p, i]
                        factor[l, i] = f
                        before[l, i] = run[i]
                        run[i] *= f
                for i in range(width):
                    run[i] = 1.0
                for l in range(m - 1, -1, -1):
                    for i in range(width):
                        value[l, i] += before[l, i] * run[i]
                        run[i] *= factor[l, i]
            for l in range(m):
                p = active[l]
                for i in range(width):
                    total[p, i] += (a[p, i] - b[p, i]) * value[l, i]
        for p in range(n_players):
            for k in range(coef.shape[1]):
                s = 0.0
                for i in range(width):
                    s += coef[block, k, i] * total[p, i]
                out[item, p, k] += s


@njit(nogil=True, cache=True, fastmath={"contract"})
def fill_products(first, last, X, vectors, starts, gamma, out):
    """Set out[b, r, p, i] to gamma x.s over the columns of player p, for row r and vector i of block b.

    Parameters
    ----------
    first, last, X, vectors, starts, out : as for `fill_factors`
    gamma : float
    """
    n, width = X.shape[0], vectors.shape[2]
    for item in range(first, last):
        b, r = item // n, item % n
        for p in range(len(starts) - 1):
            for i in range(width):
                out[b, r, p, i] = 0.0
            for j in range(starts[p], starts[p + 1]):
                x = gamma * X[r, j]
                for i in range(width):
                    out[b, r, p, i] += x * vectors[b, j, i]


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc"})
def add_power_values(first, last, differs, A, B, ends, nodes, weights, coef, offset, degree, out):
    """Add to out[item, p, k] the sum over backgrounds z and vectors i of a block of coef_ik times the Shapley value of
    player p in (offset_i + sum_l a_l)^degree.

    If each player is a_l with probability t and b_l otherwise, the mean of the power is degree! times the coefficient
    of y^degree in exp(y offset) prod_l (t exp(y a_l) + (1 - t) exp(y b_l)). A player's value is the integral over t of
    that coefficient with exp(y a_p) - exp(y b_p) in place of the player's own factor.

    Parameters
    ----------
    first, last, differs, ends, nodes, weights, coef, out : as for `add_values`
    A, B : as for `add_values`, with terms of a sum in place of factors
    offset : ndarray of shape (blocks, width)
    degree : int
    """
    n, n_backgrounds, n_players = differs.shape
    width = A.shape[3]
    factorial = 1.0
    for k in range(1, degree + 1):
        factorial *= k
    active = np.empty(n_players, dtype=np.int64)
    total = np.empty((n_players, width))
    factor = np.empty((n_players, degree, width))
    before = np.empty((n_players, degree, width))
    run = np.empty((degree, width))
    base, high, low, part = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
    for item in range(first, last):
        block, r = item // n, item % n
        a = A[block, r]
        total[:] = 0.0
        for z in range(n_backgrounds):
            b = B[block, z]
            m = 0
            for i in range(width):
                base[i] = offset[block, i]
            for p in range(n_players):
                if differs[r, z, p]:
                    active[m] = p
                    m += 1
                else:
                    for i in range(width):
                        base[i] += a[p, i]
            if not m:
                continue
            for q in range(ends[m - 1], ends[m]):
                t, u = nodes[q], 1.0 - nodes[q]
                for i in range(width):
                    run[0, i] = weights[q] * factorial
                for k in range(1, degree):
                    share = 1.0 / k
                    for i in range(width):
                        run[k, i] = run[k - 1, i] * base[i] * share
                for l in range(m):
                    p = active[l]
                    for i in range(width):
                        high[i], low[i] = 1.0, 1.0
                    for k in range(degree):
                        share = 1.0 / (k + 1)
                        for i in range(width):
                            factor[l, k, i] = t * high[i] + u * low[i]
                            before[l, k, i] = run[k, i]
                            high[i] *= a[p, i] * share
                            low[i] *= b[p, i] * share
                    multiply_series(run, factor[l])
                run[:] = 0.0
                run[0] = 1.0
                for l in range(m - 1, -1, -1):
                    p = active[l]
                    for i in range(width):
                        high[i], low[i] = 1.0, 1.0
                    for k in range(1, degree + 1):  # the coefficient of degree - k of the product without this player
                        share = 1.0 / k
                        for i in range(width):
                            high[i] *= a[p, i] * share
                            low[i] *= b[p, i] * share
                            part[i] = 0.0
                        for j in range(degree - k + 1):
                            for i in range(width):
                                part[i] += before[l, j, i] * run[degree - k - j, i]
                        for i in range(width):
                            total[p, i] += (high[i] - low[i]) * part[i]
                    multiply_series(run, factor[l])
        for p in range(n_players):
            for k in range(coef.shape[1]):
                s = 0.0
                for i in range(width):
                    s += coef[block, k, i] * total[p, i]
                out[item, p, k] += s


@njit(nogil=True, cache=True, fastmath={"contract"})
def multiply_series(run, factor):
    """Multiply polynomials (n_coefficients, width) by others whose first coefficient is 1, in place, truncated."""
    for k in range(len(run) - 1, 0, -1):
        for j in range(1, k + 1):
            for i in range(run.shape[1]):
                run[k, i] += run[k - j, i] * factor[j, i]
