"""The compiled loops of exact Shapley values: leave-one-out products of the factors of a kernel, integrated over t.

A kernel of x - z is a product of factors, one for each player. Support vectors lie in blocks of `width` lanes, and each
loop runs over the lanes of a block, so that the compiler makes vector instructions of it.
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
