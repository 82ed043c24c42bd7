"""The kernel values of all rows of a search, and the Gram of some of the rows, which accounts for rounding errors."""

from __future__ import annotations

import threading
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
from svmkit.tune.shared.small_loops import Rows

PANEL = 256  # kernel rows that are computed together
MANY = 2400  # number of rows from which on they are computed on demand
THIN = 0.2  # share of non-zero values up to which products of rows are faster in CSR
WIDE = 64  # number of columns from which on CSR can be faster


def as_thin(X: Any) -> Any:
    """Return rows (m, d) in the storage in which all their products take less time: CSR if few values are not 0."""
    if sp.issparse(X) or X.shape[1] < WIDE or np.count_nonzero(X) > THIN * X.size:
        return X
    return sp.csr_matrix(X)


class SharedMatrix:
    """The kernel values K (m, m) of all rows X (m, d), float64, and a bound on the error of each.

    In float32 they would take half the memory, but certificates for a large C would not hold: errors of h are bounded
    by the error of a value times the sum of the weights. The kernel is resolved; for a precomputed kernel, X is (m, m).
    `computed` is the number of kernel values computed, and `memory`, in bytes, bounds the examination of a kernel that
    need not be positive semidefinite. InputError is raised if a value is beyond float64. The values replace those of
    `last`, a matrix of as many rows, which cannot be used afterwards: allocating memory costs time, too.

    Values are computed when `K` is read or `prepare` is called; with `MANY` rows or more, code that takes `rows` has
    them computed as needed: support vectors are only some of the rows, and memory that is never written costs nothing.
    `K` must not be read while other threads read `rows`.
    """

    def __init__(self, kernel: Kernel, X: Any, memory: int, last: SharedMatrix | None = None) -> None:
        self.kernel, self.memory, self._X = kernel, memory, X
        self.engine = engine_for(kernel, X)
        self.m, self.diag, self.largest = self.engine.n, self.engine.diag(), self.engine.largest
        require_finite_values(kernel, self.largest)
        self.error = self.engine.error
        self.computed = 0
        self.is_used = np.zeros(self.m, np.bool_)  # whether a row was that of a support vector
        self._is_whole = False
        self._values: np.ndarray = np.empty((self.m, self.m)) if last is None else last._values
        self._slots, self._n_rows = np.full(self.m, -1), 0  # where the rows are among the values, and how many
        self._lock = threading.Lock()
        self._likely = np.flatnonzero(self.is_used if last is None else last.is_used)

    def prepare(self) -> SharedMatrix:
        """Compute all values, or, for many rows, only the rows that were used in `last`; return self."""
        if self.m < MANY:
            self._compute_all()
        else:
            self.compute(self._likely)
        return self

    @property
    def K(self) -> np.ndarray:
        """All values."""
        with self._lock:
            if not self._is_whole:
                self._compute_all()
        return self._values

    def rows(self) -> Rows:
        """Return the available kernel rows; `compute` computes rows that are marked as wanted."""
        return Rows(self._values, self._slots, np.zeros(self.m, np.bool_))

    def compute(self, rows: np.ndarray) -> None:
        """Compute the values of some missing kernel rows."""
        with self._lock:
            rows = rows[self._slots[rows] < 0]
            for lo in range(0, len(rows), PANEL):
                some = rows[lo : lo + PANEL]
                # one after the other, whatever their numbers: large pages of new memory are few then
                at = np.arange(self._n_rows, self._n_rows + len(some))
                self.engine.block(self.engine.take(some), self._values[at[0] : at[-1] + 1])
                self._values[at, some] = self.diag[some]
                self._slots[some] = at
                self._n_rows += len(some)
                self.computed += len(some) * self.m

    def take_computed(self) -> int:
        """Return how many kernel values were computed since the last call."""
        with self._lock:
            computed, self.computed = self.computed, 0
        return computed

    def _compute_all(self) -> None:
        every, K = np.arange(self.m), self._values
        for lo in range(0, self.m, PANEL):
            hi = min(self.m, lo + PANEL)
            self.engine.block(self.engine.take(every[lo:hi]), K[lo:hi, lo:], every[lo:])
            mirror(K, lo, hi)
            self.computed += (hi - lo) * (self.m - lo)
        np.fill_diagonal(K, self.diag)
        self._slots[:], self._n_rows, self._is_whole = every, self.m, True

    @cached_property
    def group(self) -> np.ndarray:
        """A number of each row, int64 (m,), that equal rows share; with a precomputed kernel each row has its own."""
        if isinstance(self.kernel, Precomputed):
            return np.arange(self.m)
        return np.unique(row_keys(self._X), return_inverse=True)[1]

    @cached_property
    def definiteness(self) -> Definiteness:
        """What is known about the positive semidefiniteness of the matrix, and so of each part of it."""
        return examine(self.engine, self.diag, self.memory)

    def gram(self, rows: np.ndarray) -> PartGram:
        """Return the Gram of some rows, with kernel values from the matrix."""
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
        """Write values of the shared matrix to `out`.

        Parameters
        ----------
        Z, out, sel, rough : ndarray or CSR, ndarray, ndarray or None, bool
            As for `Engine.block`.
        """
        out[:] = self.shared.K[np.ix_(self.rows[Z], self.rows[sel] if sel.size else self.rows)]
        return out

    def product(self, Z, coef, sel=ALL, dtype=np.float64):
        """Return K[sel, Z] @ coef from the values of the shared matrix, in float64 whatever `dtype` is.

        Parameters
        ----------
        Z, coef, sel, dtype : ndarray or CSR, ndarray, ndarray or None, dtype or None
            As for `Engine.product`.
        """
        values = self.block(Z, np.empty((len(Z), sel.size or self.n)), sel)
        return values.T @ coef


class PartGram(Gram):
    """The Gram of some rows of a `SharedMatrix`, whose problems are posed and certified like any others."""

    def __init__(self, shared: SharedMatrix, rows: np.ndarray) -> None:
        super().__init__(shared.kernel, None, memory=shared.memory, dtype=np.float64, engine=_PartEngine(shared, rows))
        self._shared = shared

    @property
    def definiteness(self) -> Definiteness:
        return self._shared.definiteness
