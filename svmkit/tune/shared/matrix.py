"""The kernel values of all rows of a search, and the Gram of some of the rows, which knows what rounding has done."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.data.overlap import row_keys
from svmkit.kernels.engines import engine_for
from svmkit.kernels.engines.contract import ALL, Engine
from svmkit.kernels.extent import require_finite_values
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.kernels.gram import Gram
from svmkit.kernels.gram.semidefinite import Definiteness, examine
from svmkit.kernels.loops.complete_rows import mirror

PANEL = 256  # kernel rows that are computed together
THIN = 0.2  # part of the values of rows that are not 0, up to which their products are faster in CSR
WIDE = 64  # columns from which on that can be


def as_thin(X: Any) -> Any:
    """Return rows (m, d) in the storage in which products of all of them take less time: CSR for few values not 0."""
    if sp.issparse(X) or X.shape[1] < WIDE or np.count_nonzero(X) > THIN * X.size:
        return X
    return sp.csr_matrix(X)


class SharedMatrix:
    """The kernel values K (m, m) of all rows X (m, d), float64, and a bound on the error of each.

    Rounded to float32 they would take half the memory, but certificates of a large C would not hold: errors of h are
    bounded by that of a value times the sum of the weights. The kernel is resolved; of a precomputed one X is (m, m).
    `computed` is the number of kernel values that this took, and `memory`, in bytes, bounds the examination of a kernel
    that need not be positive semidefinite. InputError is raised if a value is beyond float64. The values take the place
    of those of `last`, a matrix of as many rows, which is of no use from then on: new memory costs time, too.
    """

    def __init__(self, kernel: Kernel, X: Any, memory: int, last: SharedMatrix | None = None) -> None:
        self.kernel, self.memory, self._X = kernel, memory, X
        self.engine = engine_for(kernel, X)
        self.m, self.diag, self.largest = self.engine.n, self.engine.diag(), self.engine.largest
        require_finite_values(kernel, self.largest)
        self.error = self.engine.error
        self.computed = 0
        self.K: np.ndarray = self._compute(np.empty((self.m, self.m)) if last is None else last.K)

    def _compute(self, K: np.ndarray) -> np.ndarray:
        every = np.arange(self.m)
        for lo in range(0, self.m, PANEL):
            hi = min(self.m, lo + PANEL)
            self.engine.block(self.engine.take(every[lo:hi]), K[lo:hi, lo:], every[lo:])
            mirror(K, lo, hi)
            self.computed += (hi - lo) * (self.m - lo)
        np.fill_diagonal(K, self.diag)
        return K

    @cached_property
    def group(self) -> np.ndarray:
        """A number of each row, int64 (m,), which equal rows have in common; those of given values have their own."""
        if isinstance(self.kernel, Precomputed):
            return np.arange(self.m)
        return np.unique(row_keys(self._X), return_inverse=True)[1]

    @cached_property
    def definiteness(self) -> Definiteness:
        """What is known about the positive semidefiniteness of the matrix, and so of each part of it."""
        return examine(self.engine, self.diag, self.memory)

    def gram(self, rows: np.ndarray) -> PartGram:
        """Return the Gram of some rows, whose kernel values are those of the matrix."""
        return PartGram(self, rows)


class _PartEngine(Engine):
    """The engine of some rows of a `SharedMatrix`, for which `Z` holds positions among them."""

    def __init__(self, shared: SharedMatrix, rows: np.ndarray) -> None:
        self.kernel, self.shared, self.rows = shared.kernel, shared, rows
        self.n = len(rows)
        self.panel = max(shared.m, 1)  # sums over rows are one sum each

    @property
    def error(self) -> float:
        return self.shared.error

    @property
    def largest(self) -> float:
        return self.shared.largest

    def take(self, idx: np.ndarray) -> np.ndarray:
        return np.asarray(idx)

    def diag(self) -> np.ndarray:
        return self.shared.diag[self.rows]

    def block(self, Z, out, sel=ALL, rough=False):
        out[:] = self.shared.K[np.ix_(self.rows[Z], self.rows[sel] if sel.size else self.rows)]
        return out

    def product(self, Z, coef, sel=ALL, dtype=np.float64):
        values = self.block(Z, np.empty((len(Z), sel.size or self.n)), sel)
        return values.T @ coef


class PartGram(Gram):
    """The Gram of some rows of a `SharedMatrix`, whose problems are posed and certified as any other ones."""

    def __init__(self, shared: SharedMatrix, rows: np.ndarray) -> None:
        super().__init__(shared.kernel, None, memory=shared.memory, dtype=np.float64, engine=_PartEngine(shared, rows))
        self._shared = shared

    @property
    def definiteness(self) -> Definiteness:
        return self._shared.definiteness
