"""Some columns of X as rows of their own, and the loops of coordinate descent over them, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import types
from numba.extending import overload

from svmkit.problems.risks.design import CSR, FAST, Design, row_add, row_dot
from svmkit.problems.risks.points import one_loss, side_toward, weight_beyond
from svmkit.runtime.compiling import njit

TINIEST = 1e-200  # curvature of a column along which the losses are flat
SETTLED = 0.1  # violation, as a share of the one allowed over all columns, at which passes over non-zero weights end
ROUNDS = 40  # of a line search, which needs two or three
FLAT = 0.1  # slope at which it ends, as a share of the one at its start


def take_columns(
    design: Design, chosen: np.ndarray, before: np.ndarray | None = None, A: np.ndarray | None = None
) -> Any:
    """Return the columns `chosen` (k,) of X, ascending, as rows that compiled loops read: (k, m), or CSR of that shape.

    Where the design has a column for the bias, a last row of ones is added.

    Parameters
    ----------
    design, chosen : Design, ndarray
        X, and the columns.
    before, A : ndarray or None
        For dense X, columns that have been taken before, and the result for them: chosen columns among them are copied
        from there, since the values of a column of X lie far apart.
    """
    k, m, more = chosen.size, design.m, int(design.width > design.d)
    if not isinstance(design.rows, CSR):
        out = np.empty((k + more, m), dtype=design.rows.dtype)
        place = np.full(design.d, -1)
        if before is not None and A is not None:
            place[before] = np.arange(before.size)
            for j in np.flatnonzero(place[chosen] >= 0):
                out[j] = A[place[chosen[j]]]
        new = np.flatnonzero(place[chosen] < 0)
        for lo, hi in design.windows() if new.size else ():
            out[new, lo:hi] = design.rows[lo:hi][:, chosen[new]].T
        out[k:] = 1.0
        return out
    place = np.full(design.d, -1, dtype=np.int64)
    place[chosen] = np.arange(k)
    counts = np.zeros(k + more + 1, dtype=np.int64)
    for lo, hi in design.windows():
        _count(design.part(lo, hi), place, counts)
    if more:
        counts[-1] = m
    starts = np.cumsum(counts)
    data, indices = np.empty(starts[-1], dtype=design.rows.data.dtype), np.empty(starts[-1], dtype=np.int32)
    heads = starts[:-1].copy()
    for lo, hi in design.windows():
        _scatter(design.part(lo, hi), place, lo, heads, indices, data)
    if more:
        indices[starts[k] :], data[starts[k] :] = np.arange(m), 1.0
    return CSR(data, indices, starts)


def square_sums(design: Design) -> np.ndarray:
    """Return the sums (d,) of the squares of the columns of X."""
    out = np.zeros(design.d)
    for lo, hi in design.windows():
        _add_squares(design.part(lo, hi), out)
    return out


def passes_at_once(A: Any, used: int, m: int) -> float:
    """Return about how many passes over the rows of A (k, m) take as long as solving for `used` of the weights."""
    if isinstance(A, CSR):
        share = A.data.size * used / (len(A.indptr) - 1)
        return (used**3 / 24.0 + 5.0 * share * share / m) / max(3.0 * A.data.size, 1.0)
    return (used**3 / 24.0 + m * used * used / 8.0) / A.size


def normal_matrix(A: Any, chosen: np.ndarray, weights: np.ndarray, m: int) -> np.ndarray:
    """Return A_S diag(weights) A_S' of the rows S = `chosen` of A (k, m), whose columns have weights (m,).

    Parameters
    ----------
    A, chosen, weights, m : object, ndarray, ndarray, int
        The result of `take_columns`, the indices of its rows, weights >= 0, and its number of columns.
    """
    used = np.flatnonzero(weights)
    if isinstance(A, CSR):
        rows = sp.csr_array((A.data, A.indices, A.indptr), shape=(len(A.indptr) - 1, m))[chosen].astype(np.float64)
        rows.data *= np.sqrt(weights)[rows.indices]
        return np.asarray((rows @ rows.T).toarray())
    rows = A[chosen].astype(np.float64) if used.size == m else A[np.ix_(chosen, used)].astype(np.float64)
    rows *= np.sqrt(weights[used])
    return rows @ rows.T


@njit(cache=True, nogil=True)
def _count(X, place, counts):
    for at in range(X.indptr[0], X.indptr[-1]):
        j = place[X.indices[at]]
        if j >= 0:
            counts[j + 1] += 1


@njit(cache=True, nogil=True)
def _scatter(X, place, first, heads, indices, data):
    for i in range(X.indptr.size - 1):
        for at in range(X.indptr[i], X.indptr[i + 1]):
            j = place[X.indices[at]]
            if j >= 0:
                indices[heads[j]], data[heads[j]] = first + i, X.data[at]
                heads[j] += 1


def _add_squares(X, out):
    if isinstance(X, CSR):
        _add_sparse_squares(X, out)
    else:
        out += np.einsum("ij,ij->j", X, X, dtype=np.float64)


@njit(cache=True, nogil=True)
def _add_sparse_squares(X, out):
    for at in range(X.indptr[0], X.indptr[-1]):
        out[X.indices[at]] += np.float64(X.data[at]) ** 2


def row_square(A, j, weights):
    """Return sum_i weights_i a_ji^2 in compiled code."""
    raise TypeError("row_square is for compiled code")


def row_push(A, j, a, weights, r):
    """Add a weights_i a_ji to r_i in place, in compiled code.

    Parameters
    ----------
    A, j, a, weights, r
        The result of `take_columns`, the row, its factor, and float64 numbers, one for each column.
    """
    raise TypeError("row_push is for compiled code")


@overload(row_square, jit_options={"fastmath": FAST})
def _row_square(A, j, weights):
    if isinstance(A, types.Array):

        def dense(A, j, weights):
            s = 0.0
            for i in range(A.shape[1]):
                x = np.float64(A[j, i])
                s += weights[i] * x * x
            return s

        return dense

    def sparse(A, j, weights):
        s = 0.0
        for k in range(A.indptr[j], A.indptr[j + 1]):
            x = np.float64(A.data[k])
            s += weights[A.indices[k]] * x * x
        return s

    return sparse


@overload(row_push, jit_options={"fastmath": FAST})
def _row_push(A, j, a, weights, r):
    if isinstance(A, types.Array):

        def dense(A, j, a, weights, r):
            """Do what `row_push` does for dense columns.

            Parameters
            ----------
            A, j, a, weights, r
                As for `row_push`.
            """
            for i in range(A.shape[1]):
                r[i] += a * weights[i] * A[j, i]

        return dense

    def sparse(A, j, a, weights, r):
        """Do what `row_push` does for columns in sparse storage.

        Parameters
        ----------
        A, j, a, weights, r
            As for `row_push`.
        """
        for k in range(A.indptr[j], A.indptr[j + 1]):
            i = A.indices[k]
            r[i] += a * weights[i] * A.data[k]

    return sparse


@njit(cache=True, nogil=True, error_model="numpy")
def fill_squares(A, curvature, l2, out):
    """Write the curvatures of the model along each row of A to out (k,)."""
    for j in range(out.size):
        out[j] = row_square(A, j, curvature) + l2[j]


@njit(cache=True, nogil=True, error_model="numpy")
def fill_pulls(A, beta, out):
    """Write A beta to out, a number for each row of A."""
    for j in range(out.size):
        out[j] = row_dot(A, j, beta)


@njit(cache=True, nogil=True, error_model="numpy")
def add_change(A, step, change):
    """Add A'step to change, a number for each column of A."""
    for j in range(step.size):
        if step[j] != 0.0:
            row_add(A, j, step[j], change)


@njit(cache=True, nogil=True, error_model="numpy")
def violation_of(slope, z, l1):
    """Return the distance of 0 from the subdifferential of slope z + l1 |z| at z, where `slope` is that of the rest."""
    if z != 0.0:
        return abs(slope + (l1 if z > 0.0 else -l1))
    return max(abs(slope) - l1, 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def violations(pulls, w, l1, l2, out):
    """Write the violation of the optimality conditions of each weight w (k,), whose column has X'beta = pulls, to out.

    Return the largest one.
    """
    most = 0.0
    for j in range(w.size):
        out[j] = violation_of(l2[j] * w[j] - pulls[j], w[j], l1[j])
        most = max(most, out[j])
    return most


@njit(cache=True, nogil=True, error_model="numpy")
def model_passes(A, curvature, squares, l1, l2, z, r, most, goal):
    """Make passes of coordinate descent on the model, over z (k,) and r (m,) in place.

    The model is sum_j l1_j |z_j| + 1/2 l2_j z_j^2 + 1/2 z'A diag(curvature) A'z + ..., with r its derivatives by the
    decision values. After a pass over all columns those of non-zero weights are visited until they are settled. Return
    the equivalent number of passes over all of A, and the largest violation of the last whole pass.
    """
    worth, worst = 0.0, np.inf
    k, limit = z.size, 1.0 * most
    while worth < limit:
        worst = 0.0
        for j in range(k):
            worst = max(worst, _improve(A, curvature, squares, l1, l2, z, r, j))
        worth += 1.0
        if worst <= goal:
            break
        n = 0
        for j in range(k):
            n += z[j] != 0.0
        part = max(n, 1) / k
        for _ in range(10):
            if worth >= limit:
                break
            inner = 0.0
            for j in range(k):
                if z[j] != 0.0:
                    inner = max(inner, _improve(A, curvature, squares, l1, l2, z, r, j))
            worth += part
            if inner <= SETTLED * worst or inner <= 0.5 * goal:
                break
    return worth, worst


@njit(cache=True, nogil=True, error_model="numpy")
def _improve(A, curvature, squares, l1, l2, z, r, j):
    """Minimise the model along column j; return its violation before."""
    slope, bend, old = row_dot(A, j, r) + l2[j] * z[j], max(squares[j], TINIEST), z[j]
    before = violation_of(slope, old, l1[j])
    if before == 0.0:
        return before
    target = bend * old - slope
    new = np.copysign(max(abs(target) - l1[j], 0.0) / bend, target)
    if new != old and np.isfinite(new):
        z[j] = new
        row_push(A, j, new - old, curvature, r)
    return before


@njit(cache=True, nogil=True, error_model="numpy")
def line_slope(rows, below, h, change, w, step, l1, l2, t):
    """Return the slope at t of penalty and losses along w + t step and h + t change, from the right at t = 0."""
    slope = 0.0
    for i in range(h.size):
        if change[i] != 0.0:
            e = rows[i, 0] - h[i] - t * change[i]
            side = side_toward(rows, below, i, e)
            slope -= side.sign * weight_beyond(side.sign * e - side.epsilon, side) * change[i]
    for j in range(w.size):
        at = w[j] + t * step[j]
        slope += l2[j] * at * step[j]
        slope += l1[j] * abs(step[j]) if at == 0.0 else np.copysign(l1[j], at) * step[j]
    return slope


@njit(cache=True, nogil=True, error_model="numpy")
def line_change(rows, below, h, change, w, step, l1, l2):
    """Return the change of penalty and losses from w and h to w + step and h + change."""
    total = 0.0
    for i in range(h.size):
        if change[i] != 0.0:
            e = rows[i, 0] - h[i]
            total += one_loss(rows, below, i, e - change[i]) - one_loss(rows, below, i, e)
    for j in range(w.size):
        at = w[j] + step[j]
        total += l1[j] * (abs(at) - abs(w[j])) + 0.5 * l2[j] * step[j] * (at + w[j])
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def line_search(rows, below, h, change, w, step, l1, l2):
    """Return a t in [0, 1] near the argmin along w + t step and h + t change; 1.0 if that decreases them enough.

    A weight that the step makes 0 is 0 after a whole step only.
    """
    first = line_slope(rows, below, h, change, w, step, l1, l2, 0.0)
    if not first < 0.0:
        return 0.0
    low, at_low, high = 0.0, first, 1.0
    at_high = line_slope(rows, below, h, change, w, step, l1, l2, 1.0)
    if at_high <= FLAT * abs(first) or line_change(rows, below, h, change, w, step, l1, l2) <= FLAT * first:
        return 1.0
    for k in range(ROUNDS):
        t = (low * at_high - high * at_low) / (at_high - at_low) if k % 3 < 2 else 0.5 * (low + high)
        if not low < t < high:
            break
        slope = line_slope(rows, below, h, change, w, step, l1, l2, t)
        if abs(slope) <= FLAT * abs(first):
            return t
        if slope < 0.0:
            low, at_low = t, slope
        else:
            high, at_high = t, slope
    return low
