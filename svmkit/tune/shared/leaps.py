"""Newton's steps that let many weights reach a bound, or leave one, at a time, compiled.

Where hundreds of weights lie between their bounds, the set F of these is nearly that of the last C, and SMO would
change it by one or two a step. A leap solves the equations of F as if there were no bounds; what is beyond a bound then
ends there, what violates the conditions of the optimum at a bound leaves it, and the next step begins (the primal-dual
active set method: Hintermueller, Ito, Kunisch 2002, SIAM J. Optim. 13(3), algorithm 1). From the last solution of a
path three or four steps reach the optimum. As nothing guarantees that, the way to where they end is taken only as far
as the objective falls.

A factor of the kernel matrix of some set serves sets that differ from it by some samples, R that have left and A that
have come: their equations are bordered by K_FA and by unit vectors of R, and solved by the Schur complement of the
border, whose columns W = L^-1 [K_FA, e_R] are kept until they are too many.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit.runtime.compiling import njit
from svmkit.solver.smo.box import take_sides
from svmkit.tune.shared.loops import add_rows

FUTILE = 3  # steps after which no fewer samples change their set than before, at most
FEWEST = 2  # weights between their bounds
BORDER = 6  # samples of a factor for each column of its border, at least
TOGETHER = 8  # columns that are solved for at a time


class Factor(NamedTuple):
    """L L' = K + jitter for some of n samples, with columns of a border."""

    L: np.ndarray  # (f, f), whose rows are contiguous
    ids: np.ndarray  # int64 (f,): the samples
    place: np.ndarray  # int64 (n,): where a sample is among them, or -1
    W: np.ndarray  # (border, f): the columns of the border, by rows
    slot: np.ndarray  # int64 (n,): the row of W of a sample, or -1
    used: np.ndarray  # int64 (1,): the rows of W that are in use


def empty_factor(n: int, dtype: np.dtype) -> Factor:
    """Return a factor of no samples.

    Parameters
    ----------
    n, dtype : int, dtype
        The samples that there are, and the type of kernel values.
    """
    nothing = np.zeros((2, 2), dtype), np.empty(0, np.int64), np.full(n, -1)
    return Factor(*nothing, np.zeros((0, 2), dtype), np.full(n, -1), np.zeros(1, np.int64))


@njit(nogil=True, cache=True)
def leap(box, K, ids, far, factor, jitter, tolerance, most):
    """Move the weights of a box without ridges and kinks towards their optimum.

    Returns by how much the objective falls, and the factor for the next time. `K` (size, size) are the kernel values
    among the n samples of the box, size >= n, and `ids` (n,) the samples in terms of the factor; `far` is the matrix of
    all kernel values and the row in it of each sample. Samples leave a bound that violate the conditions of the optimum
    by more than `tolerance`. At most `most` steps are taken. The fall is 0.0, and nothing is changed, where the way
    does not lead down.
    """
    n = box.v.size
    now, low, high = box.beta * box.y, np.empty(n), np.empty(n)
    is_free, way = np.empty(n, np.bool_), np.empty(n)
    for r in range(n):
        ends = box.y[r] * box.lower[r], box.y[r] * box.upper[r]
        low[r], high[r] = min(ends), max(ends)
        is_free[r] = now[r] > low[r] and now[r] < high[r]
    new, v, off, before, futile = now.copy(), box.v.copy(), 0.0, n + 1, 0
    for _ in range(most):
        free = np.flatnonzero(is_free)
        if free.size < FEWEST:
            break
        border = _find_border(factor, ids[free])
        if border.size > factor.W.shape[0] or not _complete(factor, border, far):
            factor, border = _factorise(K, free, ids, jitter, factor), border[:0]
        moved, db = _changes_between(v, free, ids, off, factor, border, far, jitter)
        add_rows(K, free, moved, v)
        for a in range(free.size):
            new[free[a]] += moved[a]
        off += moved.sum()
        changed, left = _change_sets(new, low, high, v, db, tolerance, is_free, way)
        add_rows(K, left, way[left], v)
        off += way[left].sum()
        futile += changed >= before
        if changed == 0 or futile > FUTILE:
            break
        before = changed
    free = np.flatnonzero(is_free)
    _give_back(K, free, low, high, new, v, off)
    return _take_way(box, low, high, new, v), factor


@njit(nogil=True, cache=True)
def _factorise(K, free, ids, jitter, factor):
    """Return the factor of the `free` samples of a box."""
    n = free.size
    H = np.empty((n, n), K.dtype)
    for a in range(n):
        row, line = K[free[a]], H[a]
        for c in range(n):
            line[c] = row[free[c]]
        line[a] += jitter
    place, slot = np.full(factor.place.size, -1), np.full(factor.place.size, -1)
    own = ids[free]
    place[own] = np.arange(n)
    border = np.empty((n // BORDER, n), K.dtype)
    return Factor(np.linalg.cholesky(H), own, place, border, slot, np.zeros(1, np.int64))


@njit(nogil=True, cache=True)
def _find_border(factor, wanted):
    """Return the samples by which a set differs from that of a factor: those that come first, those that leave last."""
    has = np.zeros(factor.place.size, np.bool_)
    has[wanted] = True
    return np.concatenate((wanted[factor.place[wanted] < 0], factor.ids[~has[factor.ids]]))


@njit(nogil=True, cache=True)
def _complete(factor, border, far):
    """Compute the columns of a border that are not there; return whether there is room."""
    new, used, W = border[factor.slot[border] < 0], factor.used[0], factor.W
    if used + new.size > W.shape[0]:
        return False
    K, rows = far
    own = rows[factor.ids]
    for a in range(new.size):
        line, at = W[used + a], factor.place[new[a]]
        if at >= 0:
            line[:] = 0.0
            line[at] = 1.0
        else:
            values = K[rows[new[a]]]
            for c in range(own.size):
                line[c] = values[own[c]]
        factor.slot[new[a]] = used + a
    for lo in range(used, used + new.size, TOGETHER):
        _solve_forward(factor.L, W[lo : min(lo + TOGETHER, used + new.size)])
    factor.used[0] += new.size
    return True


@njit(nogil=True, cache=True, fastmath={"contract", "nsz", "reassoc"}, error_model="numpy")
def _solve_forward(L, X):
    """Replace each row x of X by the solution of L x, where the rows of L are contiguous."""
    zero = L[0, 0] * 0
    for k in range(L.shape[0]):
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


@njit(nogil=True, cache=True, fastmath={"contract", "nsz"}, error_model="numpy")
def _solve_backward(L, X):
    """Replace each row x of X by the solution of L' x."""
    for k in range(L.shape[0] - 1, -1, -1):
        row = L[k, :k]
        for a in range(X.shape[0]):
            X[a, k] /= L[k, k]
            part, value = X[a, :k], X[a, k]
            for j in range(part.size):
                part[j] -= value * row[j]


@njit(nogil=True, cache=True)
def _changes_between(v, free, ids, off, factor, border, far, jitter):
    """Return the changes of the weights of `free` samples (f,) after which their v are equal, and -v.

    The changes make up for a sum `off`. The `border` is complete.
    """
    K, rows = far
    q, kind = border.size, factor.L.dtype
    come = 0
    while come < q and factor.place[border[come]] < 0:
        come += 1
    value = np.zeros((2, factor.place.size))
    for r in free:
        value[0, ids[r]], value[1, ids[r]] = -v[r], 1.0
    x = np.empty((2, factor.ids.size), kind)
    for a in range(factor.ids.size):
        x[0, a], x[1, a] = value[0, factor.ids[a]], value[1, factor.ids[a]]
    _solve_forward(factor.L, x)
    if q:
        W = factor.W[factor.slot[border]]
        S = (-np.dot(W, W.T)).astype(np.float64)
        right = (-np.dot(W, x.T)).astype(np.float64)
        for a in range(come):
            for c in range(come):
                S[a, c] += K[rows[border[a]], rows[border[c]]]
            S[a, a] += jitter
            right[a] += value[:, border[a]]
        sums = np.linalg.solve(S, right)
        x -= np.dot(np.ascontiguousarray(sums.T).astype(kind), W)
        for a in range(come):
            value[:, border[a]] = sums[a]
    _solve_backward(factor.L, x)
    for a in range(factor.ids.size):
        value[:, factor.ids[a]] = x[:, a]
    w, u = np.empty(free.size), np.empty(free.size)
    for a in range(free.size):
        w[a], u[a] = value[0, ids[free[a]]], value[1, ids[free[a]]]
    db = (w.sum() + off) / u.sum()
    return w - db * u, db


@njit(nogil=True, cache=True)
def _change_sets(new, low, high, v, db, tolerance, is_free, way):
    """Let weights that are beyond a bound end there, and those that violate the conditions leave theirs.

    Returns how many did, and the samples that ended at a bound, whose `way` there is set.
    """
    changed, at_bound = 0, np.zeros(new.size, np.bool_)
    for r in range(new.size):
        if is_free[r]:
            if new[r] >= high[r] or new[r] <= low[r]:
                bound = high[r] if new[r] >= high[r] else low[r]
                way[r] = bound - new[r]
                new[r], is_free[r], at_bound[r] = bound, False, True
                changed += 1
        elif high[r] > low[r]:
            slope = v[r] + db
            if (new[r] == low[r] and slope < -tolerance) or (new[r] == high[r] and slope > tolerance):
                is_free[r] = True
                changed += 1
    return changed, np.flatnonzero(at_bound)


@njit(nogil=True, cache=True)
def _give_back(K, free, low, high, new, v, off):
    """Take `off` from weights between their bounds, each by its share of the room."""
    room, total, moved = np.empty(free.size), 0.0, np.empty(free.size)
    for a in range(free.size):
        r = free[a]
        room[a] = max(0.0, min(new[r] - low[r], high[r] - new[r]))
        total += room[a]
    if abs(off) < total:
        for a in range(free.size):
            moved[a] = -off * room[a] / total
            new[free[a]] += moved[a]
        add_rows(K, free, moved, v)


@njit(nogil=True, cache=True)
def _take_way(box, low, high, new, v):
    """Move a box towards new weights with their v, as far as the objective falls; return by how much."""
    way, falls, bends, off, size = new - box.beta * box.y, 0.0, 0.0, 0.0, 0.0
    for r in range(way.size):
        falls += way[r] * box.v[r]
        bends += way[r] * (v[r] - box.v[r])
        off += way[r]
        size += abs(way[r])
    if not falls < 0.0 or abs(off) > 1e-9 * size:
        return 0.0
    length = min(1.0, -falls / bends) if bends > 0.0 else 1.0
    for r in range(way.size):
        end = new[r] if length == 1.0 else box.beta[r] * box.y[r] + length * way[r]
        box.beta[r] = box.y[r] * (low[r] if end < low[r] else high[r] if end > high[r] else end)
        box.v[r] += length * (v[r] - box.v[r])
    take_sides(box, None)
    return -(length * falls + 0.5 * length * length * bends)
