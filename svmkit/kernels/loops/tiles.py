"""The compiled loops of Gram: tiles of kernel values of dense or CSR rows of X with a dense panel.

Each loop visits the rows of X in tiles that stay in the cache, multiplies a tile by the panel Z (GEMM for dense rows, a
CSR x dense product without scatters for sparse ones), and applies the kernel's scalar function in place (the epilogue).
The tile is then stored as a part of kernel rows, or multiplied by coefficients at once. Values have the precision of Z,
and so have their sums over a panel or a tile. A loop is called by `svmkit.runtime.threads.spread`.

numba caches only functions that are called by name, so loops take a kernel's `Form` instead of a function. Products
always run in one BLAS thread (`svmkit.runtime.threads`), because the tiles are spread over the cores.
"""

from __future__ import annotations

import numpy as np

from svmkit.kernels.forms import Form, form_of
from svmkit.kernels.loops.arithmetic import as_type_of, evaluate
from svmkit.kernels.loops.tile_dots import (
    add_both,
    csr_dots,
    find,
    long_dots,
    panel_of,
    place,
    rows_of,
    scatter,
    short_dots,
    turn,
)
from svmkit.kernels.loops.vectors import LANES, ROWS
from svmkit.runtime.compiling import njit

TILE = 256  # rows of X in a tile: a (256, 256) float64 tile fits in L2
STRIP = 32  # rows of a tile whose values are computed together: they fit in L1
DEEP = 96  # features from which on BLAS is faster, since the panel does not fit in L1
FEW = 8  # points from which on a panel is laid out by features
STRETCHES = 16  # number of ranges of rows of X for work that is done column by column
DENSE, SPARSE, VALUE = 0.04, 0.2, 0.5  # nanoseconds for an entry of a dense and of a sparse row, and for an epilogue


def n_tiles(m: int) -> int:
    """Return the number of tiles of m rows."""
    return (m + TILE - 1) // TILE


def tile_work(row: float, shape: tuple[int, int], form: Form) -> float:
    """Return the nanoseconds of a tile with a panel of q points and p columns of coefficients, `shape`, for `spread`.
    `row` is the time of one dot product; a single point reads X from memory. An unknown form raises here, before the
    loops, in which the mere possibility of that error would take up to a seventh of the speed.
    """
    (q, p), form = shape, form_of(form.number)
    row = row * form.entry_cost + form.value_cost
    return TILE * q * (row * (4.0 if q == 1 else 1.0) + VALUE + 0.1 * p)


def panel_width(q: int) -> int:
    """Return the width of a panel of q points, of which those beyond the points are 0."""
    return q if q == 1 else -(-q // LANES) * LANES


def pad_rows(x: np.ndarray, n: int) -> np.ndarray:
    """Return x with n rows, the last of which are 0."""
    return np.concatenate((x, np.zeros((n - len(x), *x.shape[1:]), x.dtype)))


def is_deep(d: int, q: int, form: Form) -> bool:
    """Whether a tile of dense rows is multiplied as a whole, by BLAS, and not in strips."""
    return d > DEEP or q < FEW or form is Form.LAPLACIAN


@njit(nogil=True, cache=True)
def dense_block(first, last, X, origin, sq, sel, Z, sq_z, form, gamma, coef0, degree, deep, out):
    """Set out[b, a] to k(X[sel[a]], Z[b]) for dense X (n, d) and Z (q, d) less the origin; no `sel` means all rows."""
    m, q = out.shape[1], Z.shape[0]
    dots = np.empty((q if deep else (q + ROWS - 1) // ROWS * ROWS, TILE), Z.dtype)
    for t in range(first, last):
        lo, hi = t * TILE, min(m, t * TILE + TILE)
        rows = rows_of(X, sel, lo, hi, origin, Z)
        sq_rows = np.zeros(TILE, Z.dtype)
        for a in range(hi - lo):
            sq_rows[a] = as_type_of(sq[lo + a if sel.size == 0 else sel[lo + a]], Z)
        if deep:
            values = dots if hi - lo == TILE else np.empty((q, hi - lo), Z.dtype)
            long_dots(Z, rows, form, values)
            evaluate(values, sq_z, sq_rows, form, gamma, coef0, degree)
            place(values, lo, out)
        else:
            panel = panel_of(rows, TILE)
            short_dots(Z, panel, dots)
            evaluate(dots[:q], sq_z, sq_rows, form, gamma, coef0, degree)
            place(dots[:q], lo, out)


@njit(nogil=True, cache=True)
def csr_block(first, last, data, indices, indptr, sq, sel, panel, sq_z, l1_z, form, gamma, coef0, degree, out):
    """Set out[b, a] to k(x_a, z_b) for rows x_a of a CSR matrix, `sel` or all, and columns z_b of the panel."""
    m, q = out.shape[1], panel.shape[1]
    step = TILE if q == 1 else STRIP
    dots, sq_rows = np.empty((step, q), panel.dtype), np.empty(step)
    for begin in range(first * TILE, min(m, last * TILE), step):
        n = min(m - begin, step)
        csr_dots(data, indices, indptr, sq, sel, begin, panel, l1_z, form, dots[:n], sq_rows)
        if q == 1:  # the long axis has to be the inner one
            line = dots[:n].reshape((1, n))
            evaluate(line, sq_z, sq_rows, form, gamma, coef0, degree)
            place(line, begin, out)
        else:
            evaluate(dots[:n], sq_rows, sq_z, form, gamma, coef0, degree)
            turn(dots, out[:, begin : begin + n])


@njit(nogil=True, cache=True)
def csc_row(first, last, step, data, indices, indptr, sq, columns, values, sq_z, form, gamma, coef0, degree, out):
    """Set out[0, r] to k(x_r, z) for X by columns and one sparse z, of which `columns` ascend. Only entries of X in the
    columns of z are read, in the order in which `csr_block` adds them, so that the values are the same.
    """
    m = out.shape[1]
    for t in range(first, last):
        lo, hi = t * step, min(m, t * step + step)
        dots = np.zeros((1, hi - lo), sq_z.dtype)
        for k in range(columns.size):
            c = columns[k]
            a = find(indices, indptr[c], indptr[c + 1], lo)
            b = find(indices, a, indptr[c + 1], hi)
            scatter(data, indices, a, b, lo, as_type_of(values[k], dots), dots[0])
        evaluate(dots, sq_z, sq[lo:hi], form, gamma, coef0, degree)
        place(dots, lo, out)


@njit(nogil=True, cache=True)
def dense_product(first, last, X, origin, sq, sel, Z, panel, sq_z, coef, form, gamma, coef0, degree, out, own, back):
    """Add sum_b k(x_a, Z[b]) coef[b] to out[a], as `dense_block`; `panel` is Z by features, or empty. Unless `back`
    (tiles, width, p) is empty, sum_a k(x_a, Z[b]) own[a] over the rows of tile t is added to back[t, b]; the width is q
    or a multiple of `LANES` above it.
    """
    m, deep = out.shape[0], panel.size == 0
    step = TILE if deep else STRIP
    dots = np.empty((step, Z.shape[0] if deep else panel.shape[1]), Z.dtype)
    for begin in range(first * TILE, min(m, last * TILE), step):
        n = min(m - begin, step)
        rows = rows_of(X, sel, begin, begin + n, origin, Z)
        sq_rows = sq[begin : begin + n] if sel.size == 0 else sq[sel[begin : begin + n]]
        values = dots[:n]
        if deep:
            long_dots(rows, Z, form, values)
        else:
            short_dots(rows, panel, dots)
        evaluate(values, sq_rows, sq_z, form, gamma, coef0, degree)
        add_both(values, coef, begin, out, own, back[begin // TILE : begin // TILE + 1])


@njit(nogil=True, cache=True)
def csr_product(
    first, last, data, indices, indptr, sq, sel, panel, sq_z, l1_z, coef, form, gamma, coef0, degree, out, own, back
):
    """Add sum_b k(x_a, z_b) coef[b] to out[a], as `csr_block`, and to `back` as `dense_product`."""
    m = out.shape[0]
    dots, sq_rows = np.empty((STRIP, panel.shape[1]), panel.dtype), np.empty(STRIP)
    for begin in range(first * TILE, min(m, last * TILE), STRIP):
        values = dots[: min(m - begin, STRIP)]
        csr_dots(data, indices, indptr, sq, sel, begin, panel, l1_z, form, values, sq_rows)
        evaluate(values, sq_rows, sq_z, form, gamma, coef0, degree)
        add_both(values, coef, begin, out, own, back[begin // TILE : begin // TILE + 1])
