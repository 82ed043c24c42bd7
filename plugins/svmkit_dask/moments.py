"""Moments of columns that are computed part by part and merged without cancellation (Chan, Golub, LeVeque 1983)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmkit.data.prepare import scaling
from svmkit.data.prepare.features import Features, is_sparse
from svmkit.kernels.gamma import column_moments


@dataclass(frozen=True, eq=False)
class Moments:
    """What gamma and scaling ask of each column.

    Attributes
    ----------
    n : int
        Number of rows.
    mean, squares : float64 ndarray of shape (d,)
        The mean, and the sum of the squared distances from it.
    low, high : float64 ndarray of shape (d,)
        The least and the largest value; zeros that sparse rows do not store count.
    """

    n: int
    mean: np.ndarray
    squares: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, X: Features) -> Moments:
        """Return the moments of some rows, at least one."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean, variance = column_moments(X)
            low, high = _sparse_range(X) if is_sparse(X) else (X.min(axis=0), X.max(axis=0))
            return cls(X.shape[0], mean, variance * X.shape[0], low.astype(np.float64), high.astype(np.float64))

    @classmethod
    def empty(cls, d: int) -> Moments:
        """Return the moments of no rows."""
        return cls(0, np.zeros(d), np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf))

    def merged(self, other: Moments) -> Moments:
        """Return the moments of these rows and others with as many columns."""
        n = self.n + other.n
        if not n:
            return self
        with np.errstate(over="ignore", invalid="ignore"):
            difference = other.mean - self.mean
            mean = self.mean + difference * (other.n / n)
            squares = self.squares + other.squares + np.square(difference) * (self.n * (other.n / n))
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Moments(n, mean, squares, low, high)

    def widened(self, d: int, shift: int = 0) -> Moments:
        """Return the moments with columns of zeros: `shift` in front, and behind up to a width of d."""
        behind = d - shift - len(self.mean)
        if not (shift or behind):
            return self
        wide = (np.pad(array, (shift, behind)) for array in (self.mean, self.squares, self.low, self.high))
        return Moments(self.n, *wide)

    def scaled(self, by: scaling.Scaling | None) -> Moments:
        """Return the moments of the same rows after scaling."""
        if by is None:
            return self
        low, high = (self.low - by.center) / by.scale, (self.high - by.center) / by.scale
        # a constant column has no rounding in its mean, as little as in the scaled data
        mean = np.where(low == high, low, (self.mean - by.center) / by.scale)
        return Moments(self.n, mean, self.squares / np.square(by.scale), low, high)

    @property
    def variance(self) -> np.ndarray:
        """The population variance of each column."""
        return self.squares / self.n

    def for_scaling(self) -> scaling.Moments:
        """Return the moments as scaling takes them."""
        return scaling.Moments(self.n, self.low, self.high, self.mean, self.variance)

    def is_constant(self, columns: bool) -> bool:
        """Return whether all entries are equal or, with `columns`, those of each column."""
        if columns:
            return bool((self.low == self.high).all())
        return bool(self.low.min() == self.high.max())


def _sparse_range(X: Features) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest value of each column of CSR, which scipy finds by a copy in columns."""
    low, high = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    for at in range(0, X.nnz, 1 << 20):  # ufunc.at takes copies
        indices, data = X.indices[at : at + (1 << 20)], X.data[at : at + (1 << 20)].astype(np.float64)
        np.minimum.at(low, indices, data)
        np.maximum.at(high, indices, data)
    has_zeros = np.bincount(X.indices, minlength=X.shape[1]) < X.shape[0]
    return np.where(has_zeros, np.minimum(low, 0.0), low), np.where(has_zeros, np.maximum(high, 0.0), high)
