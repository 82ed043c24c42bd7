"""The compiled loops of Gram: tiles of kernel values of dense or CSR rows of X with a dense panel.

Each loop visits the rows of X in tiles that stay in the cache, multiplies a tile by the panel Z (GEMM for dense rows, a
CSR x dense product without scatters for sparse ones), and applies the kernel's scalar function in place (the epilogue).
The tile is then stored as a part of kernel rows, or multiplied by coefficients at once.

numba caches only functions that are called by name, so loops take a kernel's `Form` instead of a function. Products
always run in one BLAS thread (`svmkit.runtime.threads`), because the tiles are spread over the cores.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from svmkit.kernels.arithmetic import as_type_of, epilogue, of_type
from svmkit.kernels.form import Form
from svmkit.runtime.threads import spread

TILE = 256  # rows of X in a tile: a (256, 256) float64 tile fits in L2
PAD = 8  # extra columns: with a power of two as row length, every read of a column would be a cache miss
STRETCHES = 16  # number of ranges of rows of X for work that is done column by column
DENSE, SPARSE, VALUE = 0.04, 0.2, 0.5  # nanoseconds for an entry of a dense and of a sparse row, and for an epilogue
SLOW = 10.0  # nanoseconds more for a tanh, about


def n_tiles(m: int) -> int:
    """Return the number of tiles of m rows."""
    return (m + TILE - 1) // TILE


def _tile_work(row: float, q: int, form: int, p: int = 1) -> float:
    """Return the nanoseconds of a tile with a panel of q points and p columns of coefficients, for `spread`.

    `row` is the time of one dot product; a single point reads X from memory.
    """
    if form == Form.LAPLACIAN:
        row *= 4.0
    elif form == Form.SIGMOID:
        row += SLOW
    return TILE * q * (row * (4.0 if q == 1 else 1.0) + VALUE + 0.1 * p)


@njit(cache=True)
def _rows(X, sel, lo, hi, origin, like):
    """Return rows lo to hi of `sel` less the origin, in the dtype of `like`; without a copy if nothing changes."""
    if origin.size == 0:
        return of_type(X[lo:hi], like) if sel.size == 0 else of_type(X[sel[lo:hi]], like)
    rows = np.empty((hi - lo, X.shape[1]), like.dtype)
    for a in range(hi - lo):
        r = lo + a if sel.size == 0 else sel[lo + a]
        for k in range(X.shape[1]):
            rows[a, k] = as_type_of(np.float64(X[r, k]) - origin[k], like)
    return rows


@njit(fastmath={"contract", "nsz", "reassoc"}, cache=True)
def _dense_dots(tile, panel, form, dots):
    """Set dots[a, b] to tile[a] . panel[b], or to the l1 distance of the two."""
    if form == 4:
        for a in range(tile.shape[0]):
            for b in range(panel.shape[0]):
                s = 0.0
                for k in range(tile.shape[1]):
                    s += abs(tile[a, k] - panel[b, k])
                dots[a, b] = s
    else:
        np.dot(tile, panel.T, dots)


@njit(fastmath={"contract", "nsz"}, cache=True)
def _add_rows(data, indices, start, stop, panel, out):
    """Set out to the product of a CSR row and the panel. As a separate function with signed indices it vectorises."""
    q = panel.shape[1]
    k = start
    out[:] = 0.0
    while k + 4 <= stop:
        u, v = as_type_of(data[k], panel), as_type_of(data[k + 1], panel)
        w, x = as_type_of(data[k + 2], panel), as_type_of(data[k + 3], panel)
        c, d, e, f = indices[k], indices[k + 1], indices[k + 2], indices[k + 3]
        for b in range(q):
            out[b] = out[b] + u * panel[c, b] + v * panel[d, b] + w * panel[e, b] + x * panel[f, b]
        k += 4
    while k < stop:
        v, c = as_type_of(data[k], panel), indices[k]
        for b in range(q):
            out[b] += v * panel[c, b]
        k += 1


@njit(fastmath={"contract", "nsz"}, cache=True)
def _csr_dots(data, indices, indptr, sq, sel, lo, panel, l1_z, form, dots, sq_rows):
    """Set dots[a, b] to row lo + a of sel . panel[:, b], or to their l1 distance, and sq_rows[a] to |row|^2.

    Sums run over the stored entries in order for any width of the panel, so that the values of a kernel row do not
    depend on the rows it was computed with. A single column reads indices as unsigned, which saves a test of the sign.
    """
    q = panel.shape[1]
    for a in range(dots.shape[0]):
        r = lo + a if sel.size == 0 else sel[lo + a]
        sq_rows[a] = sq[r]
        if form == 4:
            for b in range(q):
                dots[a, b] = l1_z[b]
            for k in range(indptr[r], indptr[r + 1]):
                c = np.uintp(indices[k])
                for b in range(q):
                    dots[a, b] += abs(data[k] - panel[c, b]) - abs(panel[c, b])
        elif q == 1:
            s = as_type_of(0.0, panel)
            for k in range(indptr[r], indptr[r + 1]):
                s += as_type_of(data[k], panel) * panel[np.uintp(indices[k]), 0]
            dots[a, 0] = s
        else:
            _add_rows(data, indices, indptr[r], indptr[r + 1], panel, dots[a])


@njit(cache=True)
def place(values, lo, out):
    """Copy values to out[:, lo:] row by row, since rows are contiguous."""
    for b in range(values.shape[0]):
        row, part = out[b, lo : lo + values.shape[1]], values[b]
        for a in range(part.size):
            row[a] = part[a]


@njit(cache=True)
def _turn(values, out):
    """Set out to the transpose of values."""
    for b in range(out.shape[0]):
        row = out[b]
        for a in range(row.size):
            row[a] = values[a, b]


@njit(cache=True)
def add_product(values, coef, lo, out):
    """Add values @ coef to out[lo:]. A loop, since numba takes seconds to compile `+=` of arrays."""
    sums = np.dot(values, coef)
    for a in range(sums.shape[0]):
        for c in range(sums.shape[1]):
            out[lo + a, c] += sums[a, c]


@njit(cache=True)
def _add_both(values, coef, t, out, own, back):
    """Add values @ coef of tile t to its rows of `out` and, unless `back` is empty, values' @ own to back[t]."""
    lo = t * TILE
    add_product(values, coef, lo, out)
    if back.size > 0:
        add_product(values.T, own[lo : lo + values.shape[0]], 0, back[t])


def dense_block(X, origin, sq, sel, Z, sq_z, form, gamma, coef0, degree, out):
    """Set out[b, a] to k(X[sel[a]], Z[b]) for dense X (m, d) and Z (q, d), in Z's precision; empty sel means all.

    The origin (d,) is subtracted from the rows of X; Z has been moved already. An empty one is 0.
    """
    work = _tile_work(X.shape[1] * DENSE, Z.shape[0], form)
    spread(_dense_block, n_tiles(out.shape[1]), work, X, origin, sq, sel, Z, sq_z, form, gamma, coef0, degree, out)


@njit(nogil=True, cache=True)
def _dense_block(first, last, X, origin, sq, sel, Z, sq_z, form, gamma, coef0, degree, out):
    m, q = out.shape[1], Z.shape[0]
    for t in range(first, last):
        lo, hi = t * TILE, min(m, t * TILE + TILE)
        rows = _rows(X, sel, lo, hi, origin, Z)
        sq_rows = sq[lo:hi] if sel.size == 0 else sq[sel[lo:hi]]
        dots = np.empty((q, hi - lo), Z.dtype)
        _dense_dots(Z, rows, form, dots)
        epilogue(dots, sq_z, sq_rows, form, gamma, coef0, degree, dots)  # in place: a slice of out does not vectorise
        place(dots, lo, out)


def csr_block(data, indices, indptr, sq, sel, panel, sq_z, l1_z, form, gamma, coef0, degree, out):
    """Set out[b, a] to k(row sel[a], panel[:, b]) for CSR rows and a dense panel (d, q); empty sel means all."""
    given = data, indices, indptr, sq, sel, panel, sq_z, l1_z, form, gamma, coef0, degree, out
    work = _tile_work(data.size / sq.size * SPARSE, panel.shape[1], form)
    spread(_csr_block, n_tiles(out.shape[1]), work, *given)


@njit(nogil=True, cache=True)
def _csr_block(first, last, data, indices, indptr, sq, sel, panel, sq_z, l1_z, form, gamma, coef0, degree, out):
    m, q = out.shape[1], panel.shape[1]
    for t in range(first, last):
        lo, hi = t * TILE, min(m, t * TILE + TILE)
        dots = np.empty((hi - lo, q), panel.dtype)
        sq_rows = np.empty(hi - lo)
        _csr_dots(data, indices, indptr, sq, sel, lo, panel, l1_z, form, dots, sq_rows)
        if q == 1:  # the long axis has to be the inner one
            line = dots.reshape((1, hi - lo))
            epilogue(line, sq_z, sq_rows, form, gamma, coef0, degree, line)
            place(line, lo, out)
        else:
            values = np.empty((hi - lo, q + PAD), out.dtype)
            epilogue(dots, sq_rows, sq_z, form, gamma, coef0, degree, values)
            _turn(values, out[:, lo:hi])


@njit(fastmath={"contract", "nsz"}, cache=True)
def _find(indices, lo, hi, row):
    """Return the first position in lo..hi, where indices ascend, whose index is at least `row`."""
    while lo < hi:
        middle = (lo + hi) // 2
        if indices[middle] < row:
            lo = middle + 1
        else:
            hi = middle
    return lo


@njit(fastmath={"contract", "nsz"}, cache=True)
def _scatter(data, indices, lo, hi, first, z, dots):
    for k in range(lo, hi):
        dots[np.uintp(indices[k] - first)] += z * as_type_of(data[k], dots)


def csc_row(data, indices, indptr, sq, columns, values, sq_z, form, gamma, coef0, degree, out):
    """Set out[0, r] to k(x_r, z) for X by columns (CSC) and one sparse z, whose entries are ordered by column.

    Only entries of X in the columns of z are read, in the order in which `csr_block` adds them, so that the values are
    the same.
    """
    m = out.shape[1]
    step = max(TILE, (m + STRETCHES - 1) // STRETCHES)
    work = _tile_work(data.size / m * SPARSE, 1, form) * step / TILE
    given = data, indices, indptr, sq, columns, values, sq_z, form, gamma, coef0, degree, out
    spread(_csc_row, (m + step - 1) // step, work, step, *given)


@njit(nogil=True, cache=True)
def _csc_row(first, last, step, data, indices, indptr, sq, columns, values, sq_z, form, gamma, coef0, degree, out):
    m = out.shape[1]
    for t in range(first, last):
        lo, hi = t * step, min(m, t * step + step)
        dots = np.zeros((1, hi - lo), sq_z.dtype)
        for k in range(columns.size):
            c = columns[k]
            a = _find(indices, indptr[c], indptr[c + 1], lo)
            b = _find(indices, a, indptr[c + 1], hi)
            _scatter(data, indices, a, b, lo, as_type_of(values[k], dots), dots[0])
        epilogue(dots, sq_z, sq[lo:hi], form, gamma, coef0, degree, dots)
        place(dots, lo, out)


def dense_product(X, origin, sq, sel, Z, sq_z, coef, form, gamma, coef0, degree, out, own, back):
    """Add sum_b k(X[sel[a]], Z[b]) coef[b] to out[a]; X (m, d), Z (q, d), coef (q, p) of Z's dtype, out (m, p) float64.

    Unless `back` is empty, sum_a k(X[sel[a]], Z[b]) own[a] over the rows of tile t is added to back[t, b]; own (m, p)
    has Z's dtype, back (tiles, q, p) is float64. Kernel values and their sums over a panel or a tile have the precision
    of Z. The origin is that of `dense_block`.
    """
    work = _tile_work(X.shape[1] * DENSE, Z.shape[0], form, coef.shape[1])
    given = X, origin, sq, sel, Z, sq_z, coef, form, gamma, coef0, degree, out, own, back
    spread(_dense_product, n_tiles(out.shape[0]), work, *given)


@njit(nogil=True, cache=True)
def _dense_product(first, last, X, origin, sq, sel, Z, sq_z, coef, form, gamma, coef0, degree, out, own, back):
    m, q = out.shape[0], Z.shape[0]
    for t in range(first, last):
        lo, hi = t * TILE, min(m, t * TILE + TILE)
        rows = _rows(X, sel, lo, hi, origin, Z)
        sq_rows = sq[lo:hi] if sel.size == 0 else sq[sel[lo:hi]]
        dots = np.empty((hi - lo, q), Z.dtype)
        _dense_dots(rows, Z, form, dots)
        epilogue(dots, sq_rows, sq_z, form, gamma, coef0, degree, dots)
        _add_both(dots, coef, t, out, own, back)


def csr_product(data, indices, indptr, sq, sel, panel, sq_z, l1_z, coef, form, gamma, coef0, degree, out, own, back):
    """Add sum_b k(row sel[a], panel[:, b]) coef[b] to out[a]; panel (d, q), coef (q, p) of one dtype, out (m, p).

    Kernel values and their sums over a panel or a tile have the panel's precision; own and back as for `dense_product`.
    """
    given = data, indices, indptr, sq, sel, panel, sq_z, l1_z, coef, form, gamma, coef0, degree, out, own, back
    work = _tile_work(data.size / sq.size * SPARSE, panel.shape[1], form, coef.shape[1])
    spread(_csr_product, n_tiles(out.shape[0]), work, *given)


@njit(nogil=True, cache=True)
def _csr_product(
    first, last, data, indices, indptr, sq, sel, panel, sq_z, l1_z, coef, form, gamma, coef0, degree, out, own, back
):
    m, q = out.shape[0], panel.shape[1]
    for t in range(first, last):
        lo, hi = t * TILE, min(m, t * TILE + TILE)
        dots = np.empty((hi - lo, q), panel.dtype)
        sq_rows = np.empty(hi - lo)
        _csr_dots(data, indices, indptr, sq, sel, lo, panel, l1_z, form, dots, sq_rows)
        values = np.empty((hi - lo, q), panel.dtype)
        epilogue(dots, sq_rows, sq_z, form, gamma, coef0, degree, values)
        _add_both(values, coef, t, out, own, back)


@njit(cache=True)
def csr_to_panel(data, indices, indptr, rows, panel):
    """Set panel[:, b] to the CSR row rows[b]; panel (d, q) has to be zero before."""
    for b in range(rows.size):
        for k in range(indptr[rows[b]], indptr[rows[b] + 1]):
            panel[indices[k], b] += data[k]


@njit(cache=True)
def csr_square_norms(data, indptr, out):
    """Set out[r] to |row r|^2 in float64."""
    for r in range(out.size):
        s = 0.0
        for k in range(indptr[r], indptr[r + 1]):
            s += np.float64(data[k]) * np.float64(data[k])
        out[r] = s
