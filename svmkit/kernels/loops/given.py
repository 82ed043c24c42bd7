"""The compiled pass over a kernel matrix that is given: how symmetric it is, its largest value, its 2 x 2 minors."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from svmkit.runtime.compiling import njit
from svmkit.runtime.threads import spread

TILE = 64  # rows and columns that are compared at a time with those across the diagonal, in the cache
READ = 0.5  # nanoseconds of a value and the one across the diagonal


class Survey(NamedTuple):
    """What one pass over a square matrix K has found.

    Attributes
    ----------
    asymmetry : float
        The largest |K_ij - K_ji|.
    i, j : int
        Where it is.
    largest : float
        The largest |K_ij|; nan if a value is nan.
    excess : float
        The largest |K_ij| - sqrt(K_ii K_jj), with 0 for a diagonal value below 0: above 0 by more than errors only if K
        is not positive semidefinite.

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
    parts, places = np.zeros((-(-n // TILE), 3)), np.zeros(-(-n // TILE), dtype=np.int64)
    root = np.sqrt(np.maximum(np.diagonal(K).astype(np.float64), 0.0))
    spread(_survey_bands, len(parts), READ * TILE * n, K, root, parts, places)
    worst = int(parts[:, 0].argmax())
    top, left = worst * TILE, int(places[worst])
    apart = np.abs(K[top : top + TILE, left : left + TILE] - K[left : left + TILE, top : top + TILE].T)
    i, j = np.unravel_index(int(apart.argmax()), apart.shape)
    return Survey(
        float(parts[worst, 0]), top + int(i), left + int(j), float(parts[:, 1].max()), float(parts[:, 2].max())
    )


@njit(nogil=True, cache=True)
def _survey_bands(first, last, K, root, parts, places):
    """Compare bands of rows, from the diagonal on, with the columns across it; places has the most asymmetric tile.

    Maxima are kept for each column of a tile, so that the loop over columns runs in vector registers.
    """
    n = K.shape[0]
    across = np.zeros((TILE, TILE))
    maxima = np.empty((4, TILE))
    for band in range(first, last):
        top = band * TILE
        bottom, apart = min(n, top + TILE), 0.0
        maxima[:2], maxima[2], maxima[3] = 0.0, -math.inf, 0.0
        for left in range(top, n, TILE):
            right = min(n, left + TILE)
            for j in range(left, right):
                for i in range(top, bottom):
                    across[i - top, j - left] = K[j, i]
            for i in range(top, bottom):
                for j in range(right - left):
                    value, other = float(K[i, left + j]), across[i - top, j]
                    difference, size = abs(value - other), max(abs(value), abs(other))
                    over = size - root[i] * root[left + j]
                    maxima[0, j] = difference if difference > maxima[0, j] else maxima[0, j]
                    maxima[1, j] = size if size > maxima[1, j] else maxima[1, j]
                    maxima[2, j] = over if over > maxima[2, j] else maxima[2, j]
                    maxima[3, j] += 0.0 * (value + other)  # nan, if one of them is not finite
            here = maxima[0].max()
            if here > apart:
                apart, places[band] = here, left
        parts[band, 0], parts[band, 1], parts[band, 2] = apart, maxima[1].max(), maxima[2].max()
        if math.isnan(maxima[3].sum()) and parts[band, 1] < math.inf:
            parts[band, 1] = math.nan
