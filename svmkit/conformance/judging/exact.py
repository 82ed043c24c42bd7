"""Kernel values from their definitions in long double: what the judge computes with instead of svmkit's arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError

Exact = np.longdouble  # 64 bits of mantissa and 15 of exponent on x86; where it is a double, the judge is less sharp
PART = 1 << 21  # differences that are held at a time


class Values:
    """The kernel values of n samples X, computed column by column when they are needed, and kept.

    Distances come from the differences of the samples, so that nothing cancels far from the origin. `X` holds the
    columns with numbers, of dense data all of them, in long double, and `columns` their places. Raises InputError if
    the definition of the kernel, which is named, is not known here.
    """

    def __init__(self, kernel: str, params: Mapping[str, Any], X: Any) -> None:
        if kernel not in ("linear", "rbf", "laplacian", "poly", "sigmoid", "precomputed"):
            raise InputError(f"the judge does not know the definition of the kernel {kernel!r}")
        self.kernel = kernel
        self.gamma, self.coef0 = Exact(params.get("gamma", 1.0)), Exact(params.get("coef0", 0.0))
        self.degree = int(params.get("degree", 3))
        if sp.issparse(X):
            X = sp.csc_array(X)
            self.columns = np.flatnonzero(np.diff(X.indptr))
            X = X[:, self.columns].toarray()
        else:
            X = np.asarray(X)
            self.columns = np.arange(X.shape[1])
        self.X = X.astype(Exact)
        self.n = len(self.X)
        self._place = np.full(self.n, -1)
        self._kept = np.empty((self.n, 0), Exact)

    def __call__(self, rows: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Return k(x_r, x_a) for each of `rows` and `at`, shape (len(rows), len(at)), long double."""
        missing = at[self._place[at] < 0]
        if missing.size:
            self._place[missing] = self._kept.shape[1] + np.arange(len(missing))
            step = max(1, PART // self.X.size)
            parts = [self._compute(missing[lo : lo + step]) for lo in range(0, len(missing), step)]
            self._kept = np.concatenate([self._kept, *parts], axis=1)
        return self._kept[np.ix_(rows, self._place[at])]

    def _compute(self, at: np.ndarray) -> np.ndarray:
        if self.kernel == "precomputed":
            return self.X[:, at]
        if self.kernel in ("rbf", "laplacian"):
            difference = self.X[:, None, :] - self.X[None, at, :]
            power = np.square(difference) if self.kernel == "rbf" else np.abs(difference)
            return np.exp(-self.gamma * power.sum(axis=2))
        product = (self.X[:, None, :] * self.X[None, at, :]).sum(axis=2)
        if self.kernel == "linear":
            return product
        inner = self.gamma * product + self.coef0
        return np.tanh(inner) if self.kernel == "sigmoid" else inner**self.degree


def is_indefinite(K: np.ndarray, centred: bool) -> bool:
    """Return whether K (m, m) has an eigenvalue below 0 by more than rounding, so that no dual value is a bound.

    `centred` says that only weights that sum to 0 count, as where the bias is free.
    """
    largest = np.abs(K).max(initial=0.0)
    if not largest:
        return False
    K = K / largest
    if centred:
        K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    spectrum = np.linalg.eigvalsh(K.astype(np.float64))
    return bool(spectrum[0] < -1e-9 * len(K))
