"""What scaling and checks ask of the columns, in one pass over features that are mapped to a file."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from svmkit.runtime import mapping

_CHUNK = 1 << 16  # entries that are converted to float64 together, while they are in the cache of the processor


class Moments(NamedTuple):
    """What scaling asks of the columns: number of samples, least and largest value, mean, population variance."""

    n: int
    low: np.ndarray
    high: np.ndarray
    mean: np.ndarray
    variance: np.ndarray

    @property
    def is_finite(self) -> bool:
        """Whether all entries are finite, and no sum of them overflows."""
        return bool(np.isfinite(self.mean).all() and np.isfinite(self.low).all() and np.isfinite(self.high).all())


# by the map of the values: where they lie, and their moments
_measured: WeakKeyDictionary[Any, tuple[tuple[Any, ...], Moments]] = WeakKeyDictionary()


def mapped_moments(X: Any) -> Moments:
    """Return the moments of features that are mapped to a file, which are computed once if they are read-only."""
    sparse = hasattr(X, "indptr")
    values = X.data if sparse else X
    key, place = mapping.map_of(values), (values.ctypes.data, values.strides, X.shape)
    known = _measured.get(key)
    if known is not None and known[0] == place and not values.flags.writeable:
        return known[1]
    with np.errstate(all="ignore"):
        moments = _sparse_moments(X) if sparse else _dense_moments(X)
    _measured[key] = place, moments
    return moments


def _dense_moments(X: np.ndarray) -> Moments:
    n, d = X.shape
    low, high, mean, squares, done = np.full(d, np.inf), np.full(d, -np.inf), np.zeros(d), np.zeros(d), 0
    step = max(1, _CHUNK // d)
    for first, last in mapping.windows(X):
        for lo in range(first, last, step):
            rows = X[lo : min(last, lo + step)]
            low, high = np.minimum(low, rows.min(axis=0)), np.maximum(high, rows.max(axis=0))
            away = rows.astype(np.float64)
            own = away.mean(axis=0)
            away -= own
            # the sums of two sets of rows (Chan, Golub, LeVeque 1983)
            change, part = own - mean, len(rows) / (done + len(rows))
            squares += np.einsum("ij,ij->j", away, away) + np.square(change) * (done * part)
            mean, done = mean + change * part, done + len(rows)
    return Moments(n, low.astype(np.float64), high.astype(np.float64), mean, squares / n)


def _sparse_moments(X: Any) -> Moments:
    n, d = X.shape
    low, high, total, stored = np.full(d, np.inf), np.full(d, -np.inf), np.zeros(d), np.zeros(d, dtype=np.int64)
    for first, last in mapping.windows(X):
        at = slice(int(X.indptr[first]), int(X.indptr[last]))
        columns, values = X.indices[at], X.data[at].astype(np.float64)
        stored += np.bincount(columns, minlength=d)
        total += np.bincount(columns, values, minlength=d)
        np.minimum.at(low, columns, values)
        np.maximum.at(high, columns, values)
    has_zeros = stored < n
    low, high = np.where(has_zeros, np.minimum(low, 0.0), low), np.where(has_zeros, np.maximum(high, 0.0), high)
    mean, squares = total / n, np.zeros(d)
    for first, last in mapping.windows(X):
        at = slice(int(X.indptr[first]), int(X.indptr[last]))
        columns = X.indices[at]
        squares += np.bincount(columns, np.square(X.data[at] - mean[columns]), minlength=d)
    return Moments(n, low, high, mean, (squares + (n - stored) * np.square(mean)) / n)
