"""The moments of many rows in compiled loops, which take a sixth of the time of numpy's."""

from __future__ import annotations

import numpy as np

from svmkit.runtime.compiling import njit


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz", "reassoc"})
def measure_chunks(first, last, X, step, mean, squares, low, high, norms):
    """Write the moments of chunks `first` to `last` - 1 of `step` rows of X (n, d) each.

    Parameters
    ----------
    first, last, X, step
        The chunks, the rows, and the number of rows in a chunk.
    mean, squares : ndarray of float64, shape (n_chunks, d)
        Receive the means of the columns and the sums of the squared distances from them.
    low, high : ndarray of the type of X, shape (n_chunks, d)
        Receive the extremes, which ignore NaN: it shows in the mean.
    norms : ndarray of float64, shape (n,)
        Receives the square norms of the rows.
    """
    d = np.uintp(X.shape[1])
    for k in range(first, last):
        begin, end = k * step, min(X.shape[0], k * step + step)
        total, away, least, most = mean[k], squares[k], low[k], high[k]
        for c in range(d):
            total[c] = away[c] = 0.0
            least[c] = most[c] = X[begin, c]
        for i in range(begin, end):
            row, norm = X[i], 0.0
            for c in range(d):
                value = row[c]
                wide = np.float64(value)
                norm += wide * wide
                total[c] += wide
                least[c] = value if value < least[c] else least[c]
                most[c] = value if value > most[c] else most[c]
            norms[i] = norm
        for c in range(d):
            total[c] /= end - begin
        for i in range(begin, end):
            row = X[i]
            for c in range(d):
                off = row[c] - total[c]
                away[c] += off * off


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz", "reassoc"})
def fill_norms(first, last, X, norms):
    """Write the square norms of rows `first` to `last` - 1 of X (n, d) to `norms`, float64 (n,)."""
    for i in range(first, last):
        row, norm = X[i], 0.0
        for c in range(np.uintp(X.shape[1])):
            wide = np.float64(row[c])
            norm += wide * wide
        norms[i] = norm
