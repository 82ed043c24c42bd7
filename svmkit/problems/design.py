"""Linear problems: X with its bias column, row by row in compiled code and as a whole on all cores.

`row_dot` and `row_add` are what a compiled loop of a linear solver needs of a row; they take dense X (m, d) and `CSR`
alike, so that a solver is written once. Call them from a module-level `@njit(cache=True)` function.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from llvmlite import ir
from llvmlite.binding import llvm_version_info
from numba import get_num_threads, njit, prange, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from svmkit.errors import InputError
from svmkit.kernels.gram import Gram

FAST = {"contract", "nsz", "reassoc"}
TINY = 1e-200  # curvature of a row of zeros
AHEAD = np.uintp(8)  # how many rows earlier than it is used a row is asked for


class CSR(NamedTuple):
    """The arrays of a CSR matrix, as compiled loops take them."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


def row_dot(X, i, w):
    """x_i'w over the columns of X, float64."""
    raise TypeError("row_dot is for compiled code")


def row_add(X, i, a, w):
    """w += a x_i over the columns of X."""
    raise TypeError("row_add is for compiled code")


@overload(row_dot, jit_options={"fastmath": FAST})
def _row_dot(X, i, w):
    if isinstance(X, types.Array):

        def dense(X, i, w):
            i, s = np.uintp(i), 0.0
            for c in range(X.shape[1]):
                s += X[i, c] * w[c]
            return s

        return dense

    def sparse(X, i, w):
        i, s = np.uintp(i), 0.0
        for k in range(np.uintp(X.indptr[i]), np.uintp(X.indptr[i + np.uintp(1)])):
            s += X.data[k] * w[np.uintp(X.indices[k])]
        return s

    return sparse


@overload(row_add, jit_options={"fastmath": FAST})
def _row_add(X, i, a, w):
    if isinstance(X, types.Array):

        def dense(X, i, a, w):
            i = np.uintp(i)
            for c in range(X.shape[1]):
                w[c] += a * X[i, c]

        return dense

    def sparse(X, i, a, w):
        i = np.uintp(i)
        for k in range(np.uintp(X.indptr[i]), np.uintp(X.indptr[i + np.uintp(1)])):
            w[np.uintp(X.indices[k])] += a * X.data[k]

    return sparse


@intrinsic
def _prefetch(typing, array, k):
    """Ask for the cache line of a 1-d array's k-th value without waiting for it."""

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        name = "llvm.prefetch.p0" if llvm_version_info[0] > 15 else "llvm.prefetch.p0i8"
        address = builder.bitcast(builder.gep(data, [args[1]]), byte)
        fetch = cgutils.get_or_insert_function(builder.module, kind, name)
        builder.call(fetch, [address, word(0), word(2), word(1)])  # for reading, into the second cache, of data
        return context.get_dummy_value()

    return types.void(array, k), generate


_fetch: Any = _prefetch  # called without `typing`, which numba adds


def fetch_row(X, i):
    """Start reading row i, which is wanted soon."""
    raise TypeError("fetch_row is for compiled code")


@overload(fetch_row)
def _fetch_row(X, i):
    if isinstance(X, types.Array):

        def dense(X, i):
            row = X[np.uintp(i)]
            for c in range(0, row.size, 8):
                _fetch(row, c)

        return dense

    def sparse(X, i):
        i = np.uintp(i)
        lo, hi = X.indptr[i], X.indptr[i + np.uintp(1)]
        _fetch(X.data, lo)
        _fetch(X.indices, lo)
        # what most rows of sparse data need, without a look at hi that nobody can predict
        _fetch(X.data, lo + 8)
        _fetch(X.data, lo + 16)
        _fetch(X.indices, lo + 16)
        if hi - lo > 40:
            for k in range(lo + 24, hi, 8):
                _fetch(X.data, k)
            for k in range(lo + 32, hi, 16):
                _fetch(X.indices, k)

    return sparse


class Design:
    """X (m, d) of a Gram with the linear kernel, and a column of `bias` behind it unless that is 0.

    rows : X as compiled loops take it; width : d, or d + 1 with a bias column; sq (m,) : squared norms, bias included

    Raises InputError for another kernel.
    """

    def __init__(self, gram: Gram, bias: float) -> None:
        if gram.kernel.name != "linear":
            raise InputError(f"a linear problem needs the linear kernel, not {gram.kernel.name}")
        X = gram.engine.X  # type: ignore[attr-defined]
        self.rows = CSR(X.data, X.indices, X.indptr) if sp.issparse(X) else X
        self.m, self.d = X.shape
        self.bias = float(bias)
        self.width = self.d + (self.bias != 0.0)
        self.sq = gram.diag + self.bias**2

    def points(self, y: np.ndarray, upper: np.ndarray, ridge: np.ndarray, sigma: float = 1.0) -> np.ndarray:
        """What `coordinate_pass` needs of each point with this sigma, side by side in memory: (m, 4)."""
        return np.column_stack([y, upper, ridge, 1.0 / np.maximum(sigma * self.sq + ridge, TINY)])

    def margins(self, w: np.ndarray) -> np.ndarray:
        """h (m,) = X w, for w (width,)."""
        out = np.full(self.m, self.bias * w[-1])
        _add_margins(self.rows, w, out)
        return out

    def pull(self, v: np.ndarray) -> np.ndarray:
        """X'v (width,), for v (m,)."""
        parts = np.zeros((get_num_threads(), self.width))
        _add_pulls(self.rows, v, parts)
        out = parts.sum(axis=0)
        if self.width > self.d:
            out[-1] = self.bias * v.sum()
        return out

    def joined(self, w: np.ndarray, intercept: float) -> np.ndarray:
        """The inverse of `split`; without a bias column the intercept is lost."""
        return np.append(w, intercept / self.bias) if self.width > self.d else np.array(w, dtype=np.float64)

    def split(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """(weights of the columns (d,), intercept) of w (width,)."""
        return w[: self.d].copy(), self.bias * float(w[-1]) if self.width > self.d else 0.0


@njit(parallel=True, cache=True)
def _add_margins(X, w, out):
    for i in prange(out.size):
        out[i] += row_dot(X, i, w)


@njit(parallel=True, cache=True)
def _add_pulls(X, v, parts):
    """Each part takes a stretch of the rows."""
    n = parts.shape[0]
    step = (v.size + n - 1) // n
    for p in prange(n):
        for i in range(p * step, min(v.size, p * step + step)):
            if v[i] != 0.0:
                row_add(X, i, v[i], parts[p])
