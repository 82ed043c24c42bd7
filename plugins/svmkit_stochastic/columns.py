"""The values of one row of X, dense or CSR (`problems.design`), for compiled loops that treat each column separately.

lo, hi = span(X, i)
for k in range(lo, hi):
    ... column(X, k), value(X, i, k)
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from svmkit.runtime.compiling import njit


def span(X, i):
    """Return (lo, hi), the places of row i."""
    raise TypeError("span is for compiled code")


def column(X, k):
    """Return the column of place k."""
    raise TypeError("column is for compiled code")


def value(X, i, k):
    """Return the value of row i at place k."""
    raise TypeError("value is for compiled code")


@overload(span, inline="always")
def _span(X, i):
    if isinstance(X, types.Array):
        return lambda X, i: (0, X.shape[1])
    return lambda X, i: (X.indptr[i], X.indptr[i + 1])


@overload(column, inline="always")
def _column(X, k):
    if isinstance(X, types.Array):
        return lambda X, k: np.uintp(k)
    return lambda X, k: np.uintp(X.indices[k])


@overload(value, inline="always")
def _value(X, i, k):
    if isinstance(X, types.Array):
        return lambda X, i, k: X[i, k]
    return lambda X, i, k: X.data[k]


@njit(cache=True)
def soften(v, done, j, total):
    """Move v_j towards 0 by the growth of `total`, the sum of all thresholds so far, since done[j]."""
    left = abs(v[j]) - (total - done[j])
    v[j] = 0.0 if left <= 0.0 else (left if v[j] > 0.0 else -left)
    done[j] = total
