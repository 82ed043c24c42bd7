"""The engines for kernels without a `Form`: third-party and precomputed ones."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from svmkit.kernels.engines.contract import ALL, PANEL, PANEL_BYTES, Engine
from svmkit.kernels.functions import Kernel, Precomputed, asymmetry
from svmkit.kernels.rounding import U

if TYPE_CHECKING:
    from svmkit.kernels.loops.given import Survey

TURNED = 16  # rows that are transposed together, so that lines of the cache are written once


class BlockEngine(Engine):
    """The engine for a kernel that only has `block(X, Z)`.

    It evaluates a tile at a time, X and Z in one storage. What a kernel computes inside is unknown. `error` assumes
    that a value is off by no more than a sum of d products of the size of k(x, x) would be, and `largest` that the
    kernel is positive semidefinite.
    """

    name = "blocks"

    @classmethod
    def takes_kernel(cls, kernel: Kernel) -> bool:
        return kernel.form is None and not isinstance(kernel, Precomputed)

    def diag(self) -> np.ndarray:
        return self._diag

    @cached_property
    def _diag(self) -> np.ndarray:
        return self.kernel.diag(self.X)

    @property
    def error(self) -> float:
        return (self.X.shape[1] + 4) * U * self.largest

    @cached_property
    def largest(self) -> float:
        return float(np.abs(self.diag()).max(initial=0.0)) * (1.0 + (self.X.shape[1] + 4) * U)

    def block(self, Z, out, sel=ALL, rough=False):
        """Write the values of `kernel.block` to `out`, a tile at a time.

        Parameters
        ----------
        Z, out, sel, rough : ndarray or CSR, ndarray, ndarray or None, bool
            As for `Engine.block`.
        """
        if sp.issparse(Z) != sp.issparse(self.X):
            Z = Z.toarray() if sp.issparse(Z) else sp.csr_array(Z)
        step = max(1, PANEL_BYTES // (8 * max(Z.shape[0], 1)))
        for lo in range(0, self._count(sel), step):
            rows = self.X[sel[lo : lo + step]] if sel.size else self.X[lo : lo + step]
            _transpose(self.kernel.block(rows, Z), out[:, lo : lo + step])
        return out

    def product(self, Z, coef, sel=ALL, dtype=np.float64):
        """Return K(X[sel], Z) @ coef, from the kernel values of `PANEL` rows of Z at a time.

        Parameters
        ----------
        Z, coef, sel, dtype : ndarray or CSR, ndarray, ndarray or None, dtype or None
            As for `Engine.product`.
        """
        rows = self._count(sel)
        out = np.zeros((rows, coef.shape[1]))
        for lo in range(0, Z.shape[0], PANEL):
            part = Z[lo : lo + PANEL]
            out += self.block(part, np.empty((part.shape[0], rows), dtype), sel).T @ coef[lo : lo + PANEL]
        return out


class PrecomputedEngine(Engine):
    """The engine for a precomputed kernel: X (n, n_train) holds the values, Z holds indices of training samples."""

    name = "matrix"

    @classmethod
    def takes_kernel(cls, kernel: Kernel) -> bool:
        return isinstance(kernel, Precomputed)

    @property
    def unit(self) -> float:
        return float(np.finfo(self.X.dtype).eps)

    @cached_property
    def survey(self) -> Survey | None:
        """What one pass over the matrix has found; None of one that is sparse or not square."""
        from svmkit.kernels.loops.given import survey  # here: it needs numba

        if not self._is_square or sp.issparse(self.X):
            return None
        assert isinstance(self.kernel, Precomputed)
        return self.kernel.reading.find(self.X) or survey(self.X)

    @property
    def _is_square(self) -> bool:
        return self.X.shape[0] == self.X.shape[1]

    @cached_property
    def error(self) -> float:
        # the given values are exact; only the symmetric part of the matrix counts in beta'K beta
        if self.survey is not None:
            return 0.5 * self.survey.asymmetry
        return 0.5 * asymmetry(self.X).size if self._is_square else 0.0

    @cached_property
    def largest(self) -> float:
        if self.survey is not None:
            return self.survey.largest
        X = self.X.data if sp.issparse(self.X) else self.X
        return float(max(X.max(initial=0.0), -X.min(initial=0.0)))

    @property
    def excess(self) -> float:
        return math.inf if self.survey is None else self.survey.excess

    def take(self, idx):
        return np.asarray(idx)

    def _values(self, Z, sel):
        values = self.X[:, Z] if sel.size == 0 else self.X[np.ix_(sel, Z)]
        return values.toarray() if sp.issparse(values) else np.asarray(values)

    def block(self, Z, out, sel=ALL, rough=False):
        """Write the values X[sel, Z], unchanged, to `out`, transposed.

        Parameters
        ----------
        Z, out, sel, rough : ndarray or CSR, ndarray, ndarray or None, bool
            As for `Engine.block`.
        """
        return _transpose(self._values(Z, sel), out)

    def square(self, at, out):
        if sp.issparse(self.X):
            return super().square(at, out)
        from svmkit.kernels.loops.given import gather  # here: it needs numba

        return gather(self.X, at, at, out)

    def product(self, Z, coef, sel=ALL, dtype=np.float64):
        """Return X[sel, Z] @ coef, in float64 whatever `dtype` is, `PANEL` columns at a time.

        Parameters
        ----------
        Z, coef, sel, dtype : ndarray or CSR, ndarray, ndarray or None, dtype or None
            As for `Engine.product`.
        """
        out = np.zeros((self._count(sel), coef.shape[1]))
        for lo in range(0, Z.shape[0], PANEL):
            out += self._values(Z[lo : lo + PANEL], sel).astype(np.float64) @ coef[lo : lo + PANEL]
        return out


def _transpose(values: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Write the transpose of values (n, q) to out (q, n), some rows at a time, and return `out`."""
    for lo in range(0, len(values), TURNED):
        out[:, lo : lo + TURNED] = values[lo : lo + TURNED].T
    return out
