"""A factor of the kernel matrix of some samples that also serves other sets of samples, compiled.

A set differs from that of the factor by samples A that were added and R that were removed: its equations are bordered
by K_FA and by unit vectors of R, and solved by the Schur complement of the border, whose columns W = L^-1 [1, K_FA,
e_R] and their products with each other are kept. As W_A are the rows that A would have in the factor, samples that were
added for good join it without another factorisation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit.runtime.compiling import njit
from svmkit.runtime.lapack import factorise_in_place, multiply_rows, solve_rows_in_place

BORDER = 6  # samples of a factor per column of its border when a leap begins, at least
ROOM = 4  # samples of a factor per column, and per further sample, that there is room for
SPARE = 32  # room for more of both
PANEL = 32  # unit vectors that are solved together, from the place of the first one on
MANY = 6  # number of columns from which on BLAS is faster


class Factor(NamedTuple):
    """L L' = K + jitter for f of n samples, with columns of a border, in arrays that have room for more."""

    L: np.ndarray  # (room, room), whose rows are contiguous
    ids: np.ndarray  # int64 (room,): the samples
    place: np.ndarray  # int64 (n,): where a sample is among them, or -1
    W: np.ndarray  # (columns, room): the columns of the border, by rows; the first is L^-1 1
    G: np.ndarray  # float64 (columns, columns): W W'
    owner: np.ndarray  # int64 (columns,): the sample of a row of W
    slot: np.ndarray  # int64 (n,): the row of W of a sample, or -1
    counts: np.ndarray  # int64 (2,): f, and the rows of W that are in use


def empty_factor(n: int, dtype: np.dtype) -> Factor:
    """Return a factor of no samples.

    Parameters
    ----------
    n, dtype : int, dtype
        The number of all samples, and the type of the values.
    """
    L, W, nothing = np.zeros((0, 0), dtype), np.zeros((0, 0), dtype), np.empty(0, np.int64)
    return Factor(L, nothing, np.full(n, -1), W, np.zeros((0, 0)), nothing, np.full(n, -1), np.zeros(2, np.int64))


@njit(nogil=True, cache=True)
def factorise(far, free, jitter, factor):
    """Return the factor of the samples `free` (f,), given the matrix of all values and each sample's row in it.

    Samples that are likely to leave come last, since their columns of the border are 0 up to their place.
    """
    K, rows = far
    n, own = free.size, rows[free]
    room, kind, L, W = n + n // ROOM + SPARE, factor.L.dtype, factor.L, factor.W
    if room <= L.shape[0]:
        room = L.shape[0]
    else:
        L, W = np.empty((room, room), kind), np.empty((n // ROOM + SPARE, room), kind)
    order = np.argsort(own)  # in which the values of a row lie one after the other
    columns = own[order]
    for a in range(n):
        _spread(K[own[a]], columns, order, L[a])
        L[a, a] += jitter
    if not factorise_in_place(L[:n, :n]):
        raise np.linalg.LinAlgError("Matrix is not positive definite.")
    ids, place = np.empty(room, np.int64), np.full(rows.size, -1)
    ids[:n] = free
    place[free] = np.arange(n)
    G, counts = np.zeros((len(W), len(W))), np.array([n, 1])
    W[0, :n] = 1.0
    solve_forward(L, W[:1, :n])
    G[0, 0] = _dot(W[0, :n], W[0, :n])
    return Factor(L, ids, place, W, G, np.full(len(W), -1), np.full(rows.size, -1), counts)


@njit(nogil=True, cache=True)
def _spread(row, columns, order, out):
    """Set the entries `order` of `out` to the values of a kernel row at some columns, which ascend."""
    for c in range(columns.size):
        out[order[c]] = row[columns[c]]


@njit(nogil=True, cache=True)
def border_of(factor, is_free, moved):
    """Return the samples of the border of a set: samples outside the factor that are free or `moved`, then samples of
    the factor that are not free.
    """
    come, left = 0, 0
    out = np.empty(is_free.size, np.int64)
    for r in range(is_free.size):
        if factor.place[r] < 0 and (is_free[r] or moved[r] != 0.0):
            out[come] = r
            come += 1
    for a in range(factor.counts[0]):
        if not is_free[factor.ids[a]]:
            out[come + left] = factor.ids[a]
            left += 1
    return out[: come + left]


@njit(nogil=True, cache=True)
def complete(factor, border, far):
    """Compute the missing columns of a border; return whether there is room for them."""
    new, f, used, W = border[factor.slot[border] < 0], factor.counts[0], factor.counts[1], factor.W
    if new.size == 0:
        return True
    if used + new.size > W.shape[0]:
        return False
    K, rows = far
    own = rows[factor.ids[:f]]
    order = np.argsort(own)
    columns = own[order]
    for a in range(new.size):
        line, at = W[used + a, :f], factor.place[new[a]]
        if at >= 0:
            line[:] = 0.0
            line[at] = 1.0
        else:
            _spread(K[rows[new[a]]], columns, order, line)
        factor.slot[new[a]], factor.owner[used + a] = used + a, new[a]
    end = used + new.size
    _solve_columns(factor, used, end)
    factor.counts[1] = end
    return True


@njit(nogil=True, cache=True)
def _solve_columns(factor, lo, hi):
    """Replace the rows lo to hi of W by the solutions of L x, and set their products.

    Unit vectors come last, ascending, and the solution for one of them is 0 up to its place.
    """
    L, W, G, f = factor.L, factor.W, factor.G, factor.counts[0]
    while lo < hi:
        end, at = lo, factor.place[factor.owner[lo]]
        while end < hi and (factor.place[factor.owner[end]] < 0 if at < 0 else end < lo + PANEL):
            end += 1
        at = max(at, 0)
        if end - lo < MANY:
            solve_forward(L[at:, at:], W[lo:end, at:f])
        else:
            solve_rows_in_place(L[at:f, at:f], W[lo:end, at:f])
        products = multiply_rows(W[lo:end, at:f], W[:end, at:f])
        for a in range(lo, end):
            for c in range(end):
                G[a, c] = G[c, a] = products[a - lo, c]
        lo = end


@njit(nogil=True, cache=True, fastmath={"contract", "nsz", "reassoc"}, error_model="numpy")
def solve_forward(L, X):
    """Replace each row x (f,) of X by the solution of L x, where the rows of L are contiguous."""
    zero = L[0, 0] * 0
    for k in range(X.shape[1]):
        row, a = L[k, :k], 0
        while a + 4 <= X.shape[0]:
            x0, x1, x2, x3 = X[a, :k], X[a + 1, :k], X[a + 2, :k], X[a + 3, :k]
            s0, s1, s2, s3 = zero, zero, zero, zero
            for j in range(row.size):
                s0 += x0[j] * row[j]
                s1 += x1[j] * row[j]
                s2 += x2[j] * row[j]
                s3 += x3[j] * row[j]
            X[a, k] = (X[a, k] - s0) / L[k, k]
            X[a + 1, k] = (X[a + 1, k] - s1) / L[k, k]
            X[a + 2, k] = (X[a + 2, k] - s2) / L[k, k]
            X[a + 3, k] = (X[a + 3, k] - s3) / L[k, k]
            a += 4
        while a < X.shape[0]:
            x0, s0 = X[a, :k], zero
            for j in range(row.size):
                s0 += x0[j] * row[j]
            X[a, k] = (X[a, k] - s0) / L[k, k]
            a += 1


@njit(nogil=True, cache=True, fastmath={"contract", "nsz", "reassoc"}, error_model="numpy")
def _solve_backward(L, x):
    """Replace x (f,) by the solution of L' x."""
    for k in range(x.size - 1, -1, -1):
        x[k] /= L[k, k]
        part, row, value = x[:k], L[k, :k], x[k]
        for j in range(k):
            part[j] -= value * row[j]


@njit(nogil=True, cache=True, fastmath={"contract", "nsz", "reassoc"})
def _dot(x, y):
    total = x[0] * 0
    for j in range(x.size):
        total += x[j] * y[j]
    return total


@njit(nogil=True, cache=True, fastmath={"contract", "nsz"})
def _subtract(x, factor, y):
    for j in range(x.size):
        x[j] -= factor * y[j]


@njit(nogil=True, cache=True)
def _split(factor, border, is_free):
    """Return the samples of a border whose weights are unknown or have left the factor, and the others."""
    own, fixed, q, p = np.empty(border.size, np.int64), np.empty(border.size, np.int64), 0, 0
    for r in border:
        if factor.place[r] >= 0 or is_free[r]:
            own[q] = r
            q += 1
        else:
            fixed[p] = r
            p += 1
    return own[:q], fixed[:p]


@njit(nogil=True, cache=True)
def solve_between(factor, border, far, z, v, is_free, moved, jitter):
    """Set `moved` (n,) of the free samples such that v + K moved is the same for all of them; return minus that value.

    The sum of `moved` is 0, and its entries for samples that are not free are given.
    solution of L z = -v for the samples of the factor.
    """
    f, kind = factor.counts[0], factor.L.dtype
    own, fixed = _split(factor, border, is_free)
    z, few = z.copy(), moved[fixed].astype(kind)
    for a in range(fixed.size):
        _subtract(z, few[a], factor.W[factor.slot[fixed[a]], :f])
    S, right = _equations(factor, (own, fixed), far, z, v, moved, jitter)
    sums = np.linalg.solve(S, right)
    few = sums.astype(kind)
    for a in range(own.size):
        _subtract(z, few[a], factor.W[factor.slot[own[a]], :f])
    _subtract(z, few[own.size], factor.W[0, :f])
    _solve_backward(factor.L, z)
    for a in range(f):
        if is_free[factor.ids[a]]:
            moved[factor.ids[a]] = z[a]
    for a in range(own.size):
        if factor.place[own[a]] < 0:
            moved[own[a]] = sums[a]
    return sums[own.size]


@njit(nogil=True, cache=True)
def _equations(factor, border, far, z, v, moved, jitter):
    """Return the matrix and the right-hand side of the Schur complement of a border, whose last unknown is the bias."""
    (K, rows), (own, fixed), G, f = far, border, factor.G, factor.counts[0]
    q = own.size
    S, right = np.empty((q + 1, q + 1)), np.empty(q + 1)
    for a in range(q):
        r, at = own[a], factor.slot[own[a]]
        for c in range(q):
            S[a, c] = -G[at, factor.slot[own[c]]]
        right[a], one = -_dot(factor.W[at, :f], z), 0.0
        if factor.place[r] < 0:
            row, one = K[rows[r]], 1.0
            right[a] -= v[r]
            for c in range(q):
                if factor.place[own[c]] < 0:
                    S[a, c] += row[rows[own[c]]]
            for o in fixed:
                right[a] -= row[rows[o]] * moved[o]
            S[a, a] += jitter
        else:
            right[a] += moved[r]
        S[a, q] = S[q, a] = one - G[at, 0]
    S[q, q], right[q] = -G[0, 0], -moved[fixed].sum() - _dot(factor.W[0, :f], z)
    return S, right


@njit(nogil=True, cache=True)
def absorb(factor, far, is_free, jitter):
    """Add the free samples of a border to the factor if there is room, and drop the columns of samples that left."""
    (K, rows), L, W, G, slot, counts = far, factor.L, factor.W, factor.G, factor.slot, factor.counts
    f, used = counts[0], counts[1]
    come, stay, a, c = np.empty(used, np.int64), np.empty(used, np.int64), 0, 1
    stay[0] = 0
    for k in range(1, used):
        r = factor.owner[k]
        if is_free[r] and factor.place[r] < 0:
            come[a] = k
            a += 1
        elif factor.place[r] >= 0 and not is_free[r]:
            stay[c] = k
            c += 1
        else:
            slot[r] = -1
    come, stay = come[:a], stay[:c]
    if a and f + a <= L.shape[0]:
        new = factor.owner[come]
        S = np.empty((a, a))
        for i in range(a):
            row = K[rows[new[i]]]
            for j in range(a):
                S[i, j] = row[rows[new[j]]] - G[come[i], come[j]]
            S[i, i] += jitter
        low, further = np.linalg.cholesky(S), np.empty((c, a))
        for j in range(c):
            for i in range(a):
                further[j, i] = (1.0 if j == 0 else 0.0) - G[stay[j], come[i]]
        solve_forward(low, further)
        for i in range(a):
            L[f + i, :f] = W[come[i], :f]
            L[f + i, f : f + i + 1] = low[i, : i + 1]
            factor.ids[f + i], factor.place[new[i]], slot[new[i]] = new[i], f + i, -1
        counts[0] = f + a
        _keep_columns(factor, stay, further)
    else:
        for i in range(a):
            slot[factor.owner[come[i]]] = -1
        _keep_columns(factor, stay, np.zeros((c, 0)))


@njit(nogil=True, cache=True)
def _keep_columns(factor, stay, further):
    """Keep some rows of W, ascending, and append further entries to them."""
    W, G, f = factor.W, factor.G, factor.counts[0]
    first = f - further.shape[1]
    for j in range(stay.size):
        W[j, :first] = W[stay[j], :first]
        W[j, first:f] = further[j]
        factor.owner[j] = factor.owner[stay[j]]
        if j:
            factor.slot[factor.owner[j]] = j
        for i in range(j + 1):
            G[j, i] = G[stay[j], stay[i]] + _dot(further[j], further[i])
    for j in range(stay.size):
        for i in range(j):
            G[i, j] = G[j, i]
    factor.counts[1] = stay.size
