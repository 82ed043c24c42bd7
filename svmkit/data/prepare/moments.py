"""Statistics of columns for scaling, gamma and checks: extremes, mean and variance, in memory, mapped or by parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from svmkit.runtime import mapping
from svmkit.runtime.threads import spread

_CHUNK = 1 << 16  # entries that are converted to float64 together, while they are in the processor's cache
ENTRY, COMPILED = 2.0, 0.4  # nanoseconds per entry of X for numpy's loops, and for compiled ones
_MANY = 1 << 24  # entries of X for which loading compiled loops pays: numpy's take 35 ms for these
_FEWEST = 16  # rows processed together, at least, so that sums over wide rows add little cost


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of the columns of some rows, including zeros that sparse rows do not store.

    Attributes
    ----------
    n : int
        The number of rows.
    mean : float64 ndarray of shape (n_features,)
        The means.
    squares : float64 ndarray of shape (n_features,)
        The sums of the squared distances from the mean.
    low, high : float64 ndarray of shape (n_features,)
        The least and the largest values.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.data.prepare.moments import Moments
    >>> both = Moments.from_rows(np.array([[1.0]])).merge(Moments.from_rows(np.array([[3.0]])))
    >>> both.mean.tolist(), both.variance.tolist(), both.high.tolist()
    ([2.0], [1.0], [3.0])
    """

    n: int
    mean: np.ndarray
    squares: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def from_rows(cls, X: Any) -> Moments:
        """Return the moments of features X (n, d), dense or CSR; a read-only map is measured once.

        Parameters
        ----------
        X : ndarray or CSR of shape (n_samples, n_features)
            Sums that overflow, and entries that are not finite, yield moments that are not finite.
        """
        if not mapping.is_mapped(X):
            return _measure(X)
        values = X.data if hasattr(X, "indptr") else X
        key, place = mapping.map_of(values), (values.ctypes.data, values.strides, X.shape)
        known = _measured.get(key)
        if known is not None and known[0] == place and not values.flags.writeable:
            return known[1]
        moments = _measure(X)
        _measured[key] = place, moments
        return moments

    @classmethod
    def empty(cls, d: int) -> Moments:
        """Return the moments of no rows with d columns, the start of merging."""
        return cls(0, np.zeros(d), np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf))

    def merge(self, other: Moments) -> Moments:
        """Return the moments of the union of these rows and others with as many columns (Chan, Golub, LeVeque 1983)."""
        n = self.n + other.n
        if not (self.n and other.n):
            return other if other.n else self
        with np.errstate(over="ignore", invalid="ignore"):
            change, part = other.mean - self.mean, other.n / n
            squares = self.squares + other.squares + np.square(change) * (self.n * part)
            low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
            return Moments(n, self.mean + change * part, squares, low, high)

    def widen(self, d: int, shift: int = 0) -> Moments:
        """Return the moments with columns of zeros.

        Parameters
        ----------
        d : int
            The number of columns afterwards; missing ones are appended.
        shift : int, default=0
            The number of columns to prepend.
        """
        behind = d - shift - len(self.mean)
        if not (shift or behind):
            return self
        wide = (np.pad(array, (shift, behind)) for array in (self.mean, self.squares, self.low, self.high))
        return Moments(self.n, *wide)

    @property
    def variance(self) -> np.ndarray:
        """The population variance of each column."""
        return self.squares / self.n

    @property
    def is_finite(self) -> bool:
        """Whether all entries are finite, and no sum of them overflows."""
        return all(bool(np.isfinite(array).all()) for array in (self.mean, self.low, self.high))

    def is_constant(self, columns: bool) -> bool:
        """Return whether all entries are equal or, with `columns`, all entries of each column."""
        return bool((self.low == self.high).all() if columns else self.low.min() == self.high.max())


# by the map of the values: their location, and their moments
_measured: WeakKeyDictionary[Any, tuple[tuple[Any, ...], Moments]] = WeakKeyDictionary()


def _measure(X: Any) -> Moments:
    with np.errstate(all="ignore"):
        return _measure_sparse(X) if hasattr(X, "indptr") else _measure_dense(X)


def _measure_dense(X: np.ndarray) -> Moments:
    step = max(_FEWEST, _CHUNK // X.shape[1])
    if len(X) <= step and not mapping.is_mapped(X):
        return _measure_chunk(X)
    moments, norms = Moments.empty(X.shape[1]), np.empty(len(X))
    is_plain = X.dtype in (np.float32, np.float64) and X.flags.c_contiguous
    measure = _measure_compiled if is_plain and X.size >= _MANY else _measure_by_numpy
    for first, last in mapping.windows(X):
        for part in measure(X[first:last], step, norms[first:last]):
            moments = moments.merge(part)
    mapping.offer_norms(X, norms)
    return moments


def _measure_compiled(X: np.ndarray, step: int, norms: np.ndarray) -> list[Moments]:
    """Return the moments of all rows, from chunks of `step` rows, and write their square norms to `norms` (n,)."""
    from svmkit.data.prepare.moment_loops import measure_chunks  # here: small data do not need numba

    (n, d), count = X.shape, -(-len(X) // step)
    (means, squares), (low, high) = np.empty((2, count, d)), np.empty((2, count, d), X.dtype)
    spread(measure_chunks, count, COMPILED * step * d, X, step, means, squares, low, high, norms)
    sizes = np.minimum(step, n - step * np.arange(count))[:, None]
    mean = (sizes * means).sum(axis=0) / n
    squares += sizes * np.square(means - mean)
    extremes = low.min(axis=0).astype(np.float64), high.max(axis=0).astype(np.float64)
    return [Moments(n, mean, squares.sum(axis=0), *extremes)]


def _measure_by_numpy(X: np.ndarray, step: int, norms: np.ndarray) -> list[Moments]:
    parts: list[Any] = [None] * -(-len(X) // step)
    spread(_measure_chunks, len(parts), ENTRY * step * X.shape[1], X, step, parts, norms)
    return parts


def _measure_chunks(first: int, last: int, X: np.ndarray, step: int, parts: list[Any], norms: np.ndarray) -> None:
    """Write the moments of chunks of `step` rows to `parts`, and the square norms of the rows to `norms` (n,)."""
    with np.errstate(all="ignore"):
        for k in range(first, last):
            here = slice(k * step, k * step + step)
            parts[k] = _measure_chunk(X[here], norms[here])


def _measure_chunk(rows: np.ndarray, norms: np.ndarray | None = None) -> Moments:
    """Return the moments of a few rows, and write their square norms to `norms` (n,)."""
    away = rows.astype(np.float64)
    low, high = away.min(axis=0), away.max(axis=0)
    if norms is not None:
        np.einsum("ij,ij->i", away, away, out=norms)
    mean = away.sum(axis=0) / len(rows)
    away -= mean
    return Moments(len(rows), mean, np.einsum("ij,ij->j", away, away), low, high)


def _measure_sparse(X: Any) -> Moments:
    n, d = X.shape
    low, high, total, stored = np.full(d, np.inf), np.full(d, -np.inf), np.zeros(d), np.zeros(d, dtype=np.int64)
    for at in _entries(X):
        columns, values = X.indices[at], X.data[at].astype(np.float64)
        stored += np.bincount(columns, minlength=d)
        total += np.bincount(columns, values, minlength=d)
        np.minimum.at(low, columns, values)
        np.maximum.at(high, columns, values)
    has_zeros = stored < n
    low, high = np.where(has_zeros, np.minimum(low, 0.0), low), np.where(has_zeros, np.maximum(high, 0.0), high)
    mean, squares = total / n, np.zeros(d)
    for at in _entries(X):
        columns = X.indices[at]
        squares += np.bincount(columns, np.square(X.data[at] - mean[columns]), minlength=d)
    return Moments(n, mean, squares + (n - stored) * np.square(mean), low, high)


def _entries(X: Any) -> Iterator[slice]:
    """Yield ranges of the entries of a CSR: several per column, so that sums over columns add little cost."""
    step = max(_FEWEST * _CHUNK, X.shape[1])
    for first, last in mapping.windows(X):
        end = int(X.indptr[last])
        for lo in range(int(X.indptr[first]), end, step):
            yield slice(lo, min(lo + step, end))
