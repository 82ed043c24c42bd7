"""Products of a tile of rows with a panel, and the work of loops over tiles before and after the kernel function."""

from __future__ import annotations

import numpy as np

from svmkit.kernels.forms import LAPLACIAN
from svmkit.kernels.loops.arithmetic import as_type_of, cast_like
from svmkit.kernels.loops.vectors import ROWS, dense_dots, sparse_dots, widest
from svmkit.runtime.compiling import njit


@njit(cache=True)
def rows_of(X, sel, lo, hi, origin, like):
    """Return rows lo to hi of `sel` less the origin, in the dtype of `like`; without a copy if nothing changes."""
    if origin.size == 0:
        return cast_like(X[lo:hi], like) if sel.size == 0 else cast_like(X[sel[lo:hi]], like)
    rows = np.empty((hi - lo, X.shape[1]), like.dtype)
    for a in range(hi - lo):
        r = lo + a if sel.size == 0 else sel[lo + a]
        for k in range(X.shape[1]):
            rows[a, k] = as_type_of(np.float64(X[r, k]) - origin[k], like)
    return rows


@njit(fastmath={"contract", "nsz", "reassoc"}, cache=True)
def long_dots(tile, panel, form, dots):
    """Set dots[a, b] to tile[a] . panel[b] by BLAS, or to the l1 distance of the two."""
    if form == LAPLACIAN:
        for a in range(tile.shape[0]):
            for b in range(panel.shape[0]):
                s = 0.0
                for k in range(tile.shape[1]):
                    s += abs(tile[a, k] - panel[b, k])
                dots[a, b] = s
    else:
        np.dot(tile, panel.T, dots)


@njit(cache=True)
def short_dots(rows, panel, dots):
    """Set dots[a] (n, width) to rows[a] . panel, row by row; `dots` may have a few rows more than `rows`."""
    for a in range(0, rows.shape[0], ROWS):
        dense_dots(rows, a, panel, dots)


@njit(cache=True)
def panel_of(rows, width):
    """Return the panel (d, width) of these rows; its last columns are 0."""
    n, d = rows.shape
    panel = np.zeros((d, width), rows.dtype)
    for a in range(n):
        for k in range(d):
            panel[k, a] = rows[a, k]
    return panel


@njit(fastmath={"contract", "nsz"}, cache=True)
def csr_dots(data, indices, indptr, sq, sel, lo, panel, l1_z, form, dots, sq_rows):
    """Set dots[a, b] to row lo + a of sel . panel[:, b], or to their l1 distance, and sq_rows[a] to |row|^2. Sums run
    over the stored entries in order for any width of the panel, so that the values of a kernel row do not depend on the
    rows it was computed with. A single column reads indices as unsigned, which saves a test of the sign.
    """
    q = panel.shape[1]
    for a in range(dots.shape[0]):
        r = lo + a if sel.size == 0 else sel[lo + a]
        sq_rows[a] = sq[r]
        if form == LAPLACIAN:
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
            sparse_dots(data, indices, indptr[r], indptr[r + 1], panel, dots, a)


@njit(fastmath={"contract", "nsz"}, cache=True)
def find(indices, lo, hi, row):
    """Return the first position in lo..hi, where indices ascend, whose index is at least `row`."""
    while lo < hi:
        middle = (lo + hi) // 2
        if indices[middle] < row:
            lo = middle + 1
        else:
            hi = middle
    return lo


@njit(fastmath={"contract", "nsz"}, cache=True)
def scatter(data, indices, lo, hi, first, z, dots):
    for k in range(lo, hi):
        dots[np.uintp(indices[k] - first)] += z * as_type_of(data[k], dots)


@njit(cache=True)
def place(values, lo, out):
    """Copy values to out[:, lo:] as far as they fit, row by row, since rows are contiguous."""
    for b in range(values.shape[0]):
        row, part = out[b, lo : lo + values.shape[1]], values[b]
        for a in range(row.size):
            row[a] = part[a]


@njit(cache=True)
def turn(values, out):
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


@njit(fastmath={"contract", "nsz", "reassoc"}, cache=True)
def _add_sums(values, weights, lo, out):
    """Add the sums over rows of values (n, width), each times its weight, to out[lo:, 0]."""
    widest()
    for a in range(values.shape[0]):
        s = as_type_of(0.0, values)
        for b in range(weights.size):
            s += values[a, b] * weights[b]
        out[lo + a, 0] += s


@njit(fastmath={"contract", "nsz"}, cache=True)
def _add_rows(values, own, lo, sums):
    """Add each row of values (n, width), times its number in own[lo:, 0], to sums (width,)."""
    widest()
    for a in range(values.shape[0]):
        t = own[lo + a, 0]
        for b in range(sums.size):
            sums[b] += t * values[a, b]


@njit(cache=True)
def add_both(values, coef, lo, out, own, back):
    """Add values @ coef to out[lo:] and, unless `back` (1, width, p) is empty, values' @ own[lo:] to back[0]."""
    n, p = values.shape[0], coef.shape[1]
    if p > 1:
        add_product(values, coef, lo, out)
        if back.size > 0:
            add_product(values.T, own[lo : lo + n], 0, back[0])
        return
    _add_sums(values, coef.reshape(-1), lo, out)
    if back.size > 0:
        sums = np.zeros(values.shape[1], values.dtype)
        _add_rows(values, own, lo, sums)
        for b in range(sums.size):
            back[0, b, 0] += sums[b]


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
