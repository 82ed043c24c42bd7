"""Compiled loops over a given kernel matrix: values of some rows and columns, and one pass over all of it.

The pass tells how symmetric the matrix is, its largest value, and its 2 x 2 minors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit.runtime.compiling import njit
from svmkit.runtime.threads import spread

TILE = 128  # rows and columns that are compared at a time, in the cache, with those across the diagonal
READ = 0.7  # nanoseconds of a value, half of which are compared with the other half
GATHERED = 0.5  # nanoseconds of a value that is gathered


class Survey(NamedTuple):
    """The results of one pass over a square matrix K.

    Attributes
    ----------
    asymmetry : float
        The largest |K_ij - K_ji|; nan or inf if a value is not finite.
    i, j : int
        Its place.
    largest : float
        The largest |K_ij|; nan if a value is nan.
    excess : float
        The largest |K_ij| - sqrt(K_ii K_jj), with 0 for a diagonal value below 0, at least 0: above 0 by more than
        errors only if K is not positive semidefinite.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels.loops.given import survey
    >>> survey(np.array([[1.0, 3.0], [2.5, 4.0]])).asymmetry
    0.5
    """

    asymmetry: float
    i: int
    j: int
    largest: float
    excess: float


def survey(K: np.ndarray) -> Survey:
    """Read a dense square matrix (n, n), float32 or float64, once.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The matrix.

    Returns
    -------
    Survey

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels.loops.given import survey
    >>> survey(np.eye(3)).excess
    0.0
    """
    n = K.shape[0]
    if not n:
        return Survey(0.0, 0, 0, 0.0, 0.0)
    K = K if K.flags.c_contiguous else K.T  # the results are the same, and contiguous rows are read faster
    parts, places = np.zeros((-(-n // TILE), 3)), np.zeros(-(-n // TILE), dtype=np.int64)
    root = np.sqrt(np.maximum(np.diagonal(K).astype(np.float64), 0.0))
    spread(_survey_bands, len(parts), READ * TILE * n, K, root, parts, places)
    worst = int(parts[:, 0].argmax())
    top, left = worst * TILE, int(places[worst])
    with np.errstate(invalid="ignore"):
        apart = np.abs(K[top : top + TILE, left : left + TILE] - K[left : left + TILE, top : top + TILE].T)
    i, j = np.unravel_index(int(apart.argmax()), apart.shape)
    return Survey(
        float(parts[worst, 0]), top + int(i), left + int(j), float(parts[:, 1].max()), float(parts[:, 2].max())
    )


def gather(K: np.ndarray, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Write the values K[rows[a], columns[b]] to out[a, b], faster than indexing does, and return `out`.

    Parameters
    ----------
    K : ndarray of shape (n, m)
        A matrix of kernel values, float32 or float64.
    rows, columns : ndarray of shape (n_rows,) and (n_columns,), int
        The rows and columns.
    out : ndarray of shape (n_rows, n_columns)
        Array for the values.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels.loops.given import gather
    >>> gather(np.arange(9.0).reshape(3, 3), np.array([2, 0]), np.array([1]), np.empty((2, 1))).tolist()
    [[7.0], [1.0]]
    """
    spread(_gather_rows, len(rows), GATHERED * len(columns), K, rows, columns, out)
    return out


@njit(nogil=True, cache=True)
def _gather_rows(first, last, K, rows, columns, out):
    """Gather the values of some rows."""
    for a in range(first, last):
        row, to = K[rows[a]], out[a]
        for b in range(columns.size):
            to[b] = row[columns[b]]


@njit(nogil=True, cache=True)
def _survey_bands(first, last, K, root, parts, places):
    """Compare bands of rows, from the diagonal on, with the columns across it; places has the most asymmetric tile.

    Maxima are those of the bits of numbers >= 0, which have the same order, with nan beyond inf: extrema of floats do
    not vectorise.
    """
    n, across = K.shape[0], np.empty((TILE, TILE))
    for band in range(first, last):
        top = band * TILE
        bottom = min(n, top + TILE)
        apart = largest = excess = np.int64(0)
        for left in range(top, n, TILE):
            right, here = min(n, left + TILE), np.int64(0)
            _turn_tile(K[left:right, top:bottom], across)
            roots = root[left:right]
            for i in range(top, bottom):
                row, others, own = K[i, left:right], across[i - top, : right - left], root[i]
                for j in range(row.size):
                    value, other = np.float64(row[j]), others[j]
                    difference = np.float64(abs(value - other)).view(np.int64)
                    key, across_key = np.float64(abs(value)).view(np.int64), np.float64(abs(other)).view(np.int64)
                    key = key if key > across_key else across_key
                    over = np.int64(key).view(np.float64) - own * roots[j]
                    over_key = np.float64(over if over > 0.0 else 0.0).view(np.int64)
                    here = difference if difference > here else here
                    largest = key if key > largest else largest
                    excess = over_key if over_key > excess else excess
            if here > apart:
                apart, places[band] = here, left
        parts[band, 0], parts[band, 1] = np.int64(apart).view(np.float64), np.int64(largest).view(np.float64)
        parts[band, 2] = np.int64(excess).view(np.float64)


@njit(cache=True)
def _turn_tile(tile, across):
    """Write the transpose of a tile to `across`, eight rows at a time: each line of the cache is written once."""
    for j in range(0, tile.shape[0] - 7, 8):
        r0, r1, r2, r3 = tile[j], tile[j + 1], tile[j + 2], tile[j + 3]
        r4, r5, r6, r7 = tile[j + 4], tile[j + 5], tile[j + 6], tile[j + 7]
        for i in range(r0.size):
            to = across[i, j : j + 8]
            to[0], to[1], to[2], to[3] = r0[i], r1[i], r2[i], r3[i]
            to[4], to[5], to[6], to[7] = r4[i], r5[i], r6[i], r7[i]
    for j in range(tile.shape[0] // 8 * 8, tile.shape[0]):
        for i in range(tile.shape[1]):
            across[i, j] = tile[j, i]
