"""The compiled loops for kernels of x - z whose values would be lost in |x|^2 + |z|^2 - 2 x.z: true differences.

They need no norms, and all arithmetic is float64. A distance has a relative error of (d + 2) u wherever the data lie,
k(x, x) is exactly 1, and the value at a distance that overflows is 0, never NaN. Rows are dense (n, d) or the arrays
(data, indices, indptr) of a CSR matrix whose columns ascend; X and Z have one storage.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from svmkit.kernels.forms import LAPLACIAN, Argument, Scalars, UnknownForm, form_of
from svmkit.kernels.loops.arithmetic import epilogue
from svmkit.kernels.loops.tile_dots import add_product, place
from svmkit.kernels.loops.tiles import TILE, n_tiles
from svmkit.kernels.loops.vectors import widest
from svmkit.runtime.compiling import njit
from svmkit.runtime.threads import spread

NO_NORMS = np.empty(0)
DENSE, SPARSE, VALUE = 0.15, 4.0, 4.0  # nanoseconds for an entry of a pair of dense and of sparse rows, and for a value
PRODUCT = 0.05  # nanoseconds for an entry of a pair of rows that are multiplied


def block(X, sel: np.ndarray, Z, scalars: Scalars, out: np.ndarray) -> None:
    """Set out[b, a] to k(X[sel[a]], Z[b]) of a kernel of x - z; an empty `sel` means all rows.

    Parameters
    ----------
    X, sel, Z : ndarray of shapes (n, d), (m,) and (q, d); X and Z may be the arrays of two CSR matrices
    scalars : Scalars, those of the kernel
    out : ndarray of shape (q, m)
    """
    spread(_block, *_work(X, Z, out.shape[1]), X, sel, Z, _squares(scalars), scalars.gamma, out)


def product(X, sel: np.ndarray, Z, coef: np.ndarray, scalars: Scalars, out) -> None:
    """Add sum_b k(X[sel[a]], Z[b]) coef[b] to out[a].

    Parameters
    ----------
    X, sel, Z, scalars : as for `block`
    coef, out : ndarray of float64, shapes (q, p) and (m, p), the coefficients of Z, and the sums
    """
    spread(_product, *_work(X, Z, out.shape[0]), X, sel, Z, _squares(scalars), scalars.gamma, coef, out)


def mixed_product(X, sel: np.ndarray, Z, columns: np.ndarray, coef: np.ndarray, scalars: Scalars, out) -> None:
    """Add sum_b k(X[sel[a]], Z[b]) coef[b] to out[a], with differences in some columns and products in all others.

    |x - z|^2 is the sum of both; the products must not lose digits there (`svmkit.kernels.engines.products`).

    Parameters
    ----------
    X, sel, Z, coef, scalars, out : as for `product`, of a kernel of |x - z|^2; Z is dense
    columns : ndarray of int64, the columns of which differences are taken
    """
    light, heavy = np.array(Z, dtype=np.float64), np.ascontiguousarray(Z[:, columns].T, dtype=np.float64)
    light[:, columns] = 0.0
    work = TILE * len(Z) * (PRODUCT * Z.shape[1] + DENSE * len(columns) + VALUE)
    squares = np.einsum("bk,bk->b", light, light)
    rest = columns, light, heavy, squares, scalars.gamma, coef, out
    spread(_mixed_product, n_tiles(out.shape[0]), work, X, sel, *rest)


def _squares(scalars: Scalars) -> bool:
    """Return whether the kernel is a function of |x - z|^2, and not of |x - z|_1."""
    match form_of(scalars.form).argument:
        case Argument.SQUARE:
            return True
        case Argument.L1:
            return False
        case other:
            raise UnknownForm(other)


def _work(X, Z, m: int) -> tuple[int, float]:
    """Return the number of tiles of m rows and the nanoseconds of one, for `spread`."""
    if isinstance(X, tuple):
        q = Z[2].size - 1
        pair = SPARSE * (X[0].size / max(X[2].size - 1, 1) + Z[0].size / max(q, 1))
    else:
        q, pair = Z.shape[0], DENSE * X.shape[1]
    return n_tiles(m), TILE * q * (pair + VALUE)


def _distances(X, r, Z, squared, out):
    """Set out[b] to |x_r - z_b|^2, or to the l1 distance."""


@overload(_distances)
def _distances_of(X, r, Z, squared, out):
    return _dense_distances if isinstance(X, types.Array) else _sparse_distances


def _dense_distances(X, r, Z, squared, out):
    _row_distances(X[r], Z, squared, out)


@njit(fastmath={"contract", "nsz", "reassoc"}, cache=True)
def _row_distances(x, Z, squared, out):
    for b in range(out.size):
        s = 0.0
        if squared:
            for k in range(x.size):
                t = np.float64(x[k]) - np.float64(Z[b, k])
                s += t * t
        else:
            for k in range(x.size):
                s += abs(np.float64(x[k]) - np.float64(Z[b, k]))
        out[b] = s


def _sparse_distances(X, r, Z, squared, out):
    data, indices, indptr = X
    values, columns, bounds = Z
    for b in range(bounds.size - 1):
        i, stop, j, end, s = indptr[r], indptr[r + 1], bounds[b], bounds[b + 1], 0.0
        while i < stop or j < end:
            t = 0.0
            mine, other = i < stop, j < end
            if mine and other:
                mine, other = indices[i] <= columns[j], columns[j] <= indices[i]
            if mine:
                t = np.float64(data[i])
                i += 1
            if other:
                t -= np.float64(values[j])
                j += 1
            s += t * t if squared else abs(t)
        out[b] = s


@njit(cache=True)
def _tile(X, sel, lo, hi, q, Z, squared, gamma):
    """Return the kernel values of rows lo to hi of `sel` with Z, (hi - lo, q)."""
    values = np.empty((hi - lo, q))
    for a in range(hi - lo):
        _distances(X, lo + a if sel.size == 0 else sel[lo + a], Z, squared, values[a])
    epilogue(values, NO_NORMS, NO_NORMS, LAPLACIAN, gamma, 0.0, 1, values)  # exp(-gamma distance)
    return values


@njit(nogil=True, cache=True)
def _block(first, last, X, sel, Z, squared, gamma, out):
    q, m = out.shape
    for t in range(first, last):
        lo, hi = t * TILE, min(m, t * TILE + TILE)
        place(_tile(X, sel, lo, hi, q, Z, squared, gamma).T, lo, out)


@njit(nogil=True, cache=True)
def _product(first, last, X, sel, Z, squared, gamma, coef, out):
    m, q = out.shape[0], coef.shape[0]
    for t in range(first, last):
        lo, hi = t * TILE, min(m, t * TILE + TILE)
        add_product(_tile(X, sel, lo, hi, q, Z, squared, gamma), coef, lo, out)


def _fill(X, r, out):
    """Set out to the row r of X, with its zeros."""


@overload(_fill)
def _fill_of(X, r, out):
    return _fill_dense if isinstance(X, types.Array) else _fill_sparse


def _fill_dense(X, r, out):
    for k in range(out.size):
        out[k] = np.float64(X[r, k])


def _fill_sparse(X, r, out):
    data, indices, indptr = X
    out[:] = 0.0
    for i in range(indptr[r], indptr[r + 1]):
        out[indices[i]] = np.float64(data[i])


@njit(fastmath={"contract", "nsz", "reassoc"}, cache=True)
def _mix(own, heavy, squares, squares_z, dots):
    """Form distances: the squares of the rows less twice the products, plus the squares of differences."""
    widest()
    n, q = dots.shape
    for a in range(n):
        s = squares[a]
        for b in range(q):
            dots[a, b] = max(0.0, s + squares_z[b] - 2.0 * dots[a, b])
        for h in range(heavy.shape[0]):
            x = own[a, h]
            for b in range(q):
                t = x - heavy[h, b]
                dots[a, b] += t * t


@njit(nogil=True, cache=True)
def _mixed_product(first, last, X, sel, columns, light, heavy, squares_z, gamma, coef, out):
    m, d = out.shape[0], light.shape[1]
    for t in range(first, last):
        lo, hi = t * TILE, min(m, t * TILE + TILE)
        rows, own = np.empty((hi - lo, d)), np.empty((hi - lo, columns.size))
        squares = np.zeros(hi - lo)
        for a in range(hi - lo):
            _fill(X, lo + a if sel.size == 0 else sel[lo + a], rows[a])
            for h in range(columns.size):
                own[a, h] = rows[a, columns[h]]
                rows[a, columns[h]] = 0.0
            for k in range(d):
                squares[a] += rows[a, k] * rows[a, k]
        values = np.dot(rows, light.T)
        _mix(own, heavy, squares, squares_z, values)
        epilogue(values, NO_NORMS, NO_NORMS, LAPLACIAN, gamma, 0.0, 1, values)
        add_product(values, coef, lo, out)
