"""The design matrix of linear problems: X with its bias column, one row at a time or as a whole on all cores.

A compiled loop of a linear solver reads rows of X by `row_dot` and `row_add`. Both take dense X (m, d) and `CSR` alike,
so a solver is written once. Call them from a function at module level with `@njit(cache=True)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from llvmlite import ir
from llvmlite.binding import llvm_version_info
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from svmkit.errors import InputError
from svmkit.kernels.gram import Gram
from svmkit.runtime.compiling import njit
from svmkit.runtime.mapping import NUMBERS, WINDOW, size_of, windows
from svmkit.runtime.threads import spread

FAST = {"contract", "nsz", "reassoc"}
ENTRY = 0.5  # nanoseconds to read an entry of X and use it
PARTS = 16  # number of sums of rows at most, each of one thread; it may not depend on the number of threads
ROOM, SHARE = 4 << 20, 32  # bytes that these sums may take, or that share of X or of its memory if it is more,
EACH = 32  # or so many bytes for each row
AHEAD = np.uintp(8)  # number of rows of X by which prefetching is ahead


class CSR(NamedTuple):
    """The arrays of a CSR matrix in the form that compiled loops take."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


def row_dot(X, i, w):
    """Return x_i'w over the columns of X as float64."""
    raise TypeError("row_dot is for compiled code")


def row_add(X, i, a, w):
    """Add a x_i to w in place, over the columns of X, in compiled code.

    Parameters
    ----------
    X, i, a, w
        The samples, as in this module, the sample, its factor, and float64 numbers, one a column.
    """
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
            """Add a x_i to w, for dense rows.

            Parameters
            ----------
            X, i, a, w
                As for `row_add`.
            """
            i = np.uintp(i)
            for c in range(X.shape[1]):
                w[c] += a * X[i, c]

        return dense

    def sparse(X, i, a, w):
        """Add a x_i to w, for rows in CSR storage.

        Parameters
        ----------
        X, i, a, w
            As for `row_add`.
        """
        i = np.uintp(i)
        for k in range(np.uintp(X.indptr[i]), np.uintp(X.indptr[i + np.uintp(1)])):
            w[np.uintp(X.indices[k])] += a * X.data[k]

    return sparse


@intrinsic
def _prefetch(typing, array, k):
    """Prefetch the cache line of the k-th value of a 1-d array."""

    def generate(context, builder, signature, args):
        """Emit the prefetch of a value for reading, into the second-level cache.

        Parameters
        ----------
        context, builder, signature, args
            As numba passes them to the code generator of an intrinsic.
        """
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        name = "llvm.prefetch.p0" if llvm_version_info[0] > 15 else "llvm.prefetch.p0i8"
        address = builder.bitcast(builder.gep(data, [args[1]]), byte)
        fetch = cgutils.get_or_insert_function(builder.module, kind, name)
        builder.call(fetch, [address, word(0), word(2), word(1)])  # for reading, into the second-level cache, as data
        return context.get_dummy_value()

    return types.void(array, k), generate


_fetch: Any = _prefetch  # called without `typing`, which numba adds


def fetch_row(X, i):
    """Prefetch row i of X, which will be used soon."""
    raise TypeError("fetch_row is for compiled code")


@overload(fetch_row)
def _fetch_row(X, i):
    if isinstance(X, types.Array):
        line = 512 // X.dtype.bitwidth  # values of a cache line

        def dense(X, i):
            row = X[np.uintp(i)]
            for c in range(0, row.size, line):
                _fetch(row, c)

        return dense

    def sparse(X, i):
        i = np.uintp(i)
        lo, hi = X.indptr[i], X.indptr[i + np.uintp(1)]
        _fetch(X.data, lo)
        _fetch(X.indices, lo)
        # enough for most sparse rows, without a branch on `hi`, which cannot be predicted
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
    """X (m, d) of a Gram with the linear kernel, followed by a column of `bias` unless that is 0.

    `rows` is X in the form that compiled loops take, `width` is d or d + 1, `entries` is the number of stored values of
    X, and `budget` the bytes for rows that are read from disk. Raises InputError for another kernel.
    """

    def __init__(self, gram: Gram, bias: float) -> None:
        if gram.kernel.name != "linear":
            raise InputError(f"a linear problem needs the linear kernel, not {gram.kernel.name}")
        X = gram.engine.X
        self.rows = CSR(X.data, X.indices, X.indptr) if sp.issparse(X) else X
        self.m, self.d = X.shape
        self.bias = float(bias)
        self.width = self.d + (self.bias != 0.0)
        self.entries = X.nnz if sp.issparse(X) else X.size
        self._squares = gram.diag
        left = max(gram.budget - NUMBERS * 8 * self.m, 0)  # for rows on disk
        self.budget = max(left, gram.budget // 8)
        self._window = min(WINDOW, self.budget // 4)
        self._room = max(ROOM, min(size_of(self.rows), gram.budget) // SHARE, EACH * self.m)

    @property
    def sq(self) -> np.ndarray:
        """The squared norms of the rows (m,), bias included, which are not kept."""
        return self._squares + self.bias**2

    def margins(self, w: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return h (m,) = X w for w (width,), bias included, in `out` if it is given."""
        out = np.empty(self.m) if out is None else out
        out[:] = self.bias * w[-1]
        for lo, hi in self.windows():
            self.add_margins(lo, hi, w, out)
        return out

    def add_margins(self, lo: int, hi: int, w: np.ndarray, out: np.ndarray) -> None:
        """Add X w over the columns, without the bias column, to out (m,) at the rows lo to hi - 1.

        Parameters
        ----------
        lo, hi, w, out : int, int, ndarray, ndarray
            The ends of the rows, weights (width,), and the array.
        """
        spread(_add_margins, hi - lo, ENTRY * self.entries / self.m, self.part(lo, hi), w, out[lo:hi])

    def no_pulls(self, *shape: int) -> np.ndarray:
        """Return zeros (*shape, n, width) to which `add_pulls` adds."""
        return np.zeros((*shape, self.n_parts(self.entries // (2 * self.width), 8 * self.width), self.width))

    def add_pulls(self, lo: int, hi: int, v: np.ndarray, parts: np.ndarray) -> None:
        """Add X'v over the columns, without the bias column, for the rows lo to hi - 1 to parts (n, width).

        Parameters
        ----------
        lo, hi, v, parts : int, int, ndarray, ndarray
            The ends of the rows, their weights (hi - lo,), and the sums over parts of them.
        """
        work = ENTRY * self.entries * (hi - lo) / self.m / len(parts)
        spread(_add_pulls, len(parts), work, self.part(lo, hi), v, parts)

    def pull(self, v: np.ndarray, along: Callable[[int, int], None] | None = None) -> np.ndarray:
        """Return X'v (width,) for v (m,), bias included. The order of the sum depends only on the shape of X.

        Parameters
        ----------
        v : ndarray of shape (m,)
            The weights of the samples.
        along : callable, default=None
            Called with the ends of each range of rows before its weights are used, so that rows on disk are read once.
        """
        parts = self.no_pulls()
        for lo, hi in self.windows():
            if along is not None:
                along(lo, hi)
            self.add_pulls(lo, hi, v[lo:hi], parts)
        out = parts.sum(axis=0)
        if self.width > self.d:
            out[-1] = self.bias * v.sum()
        return out

    def pull_and_margins(self, v: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return X'v (width,) and X w (m,), as `pull` and `margins` do, in one pass over X."""
        h = np.full(self.m, self.bias * w[-1])
        return self.pull(v, lambda lo, hi: self.add_margins(lo, hi, w, h)), h

    def add_pairs(self, lo: int, hi: int, w: np.ndarray, v: np.ndarray, h: np.ndarray, parts: np.ndarray) -> None:
        """Add the results of `add_margins` and `add_pulls`, the latter separately for v above 0 and below, row by row.

        Parameters
        ----------
        lo, hi, w, v, h, parts : int, int, ndarray, ndarray, ndarray, ndarray
            The ends of the rows, weights (width,), weights of all rows and the array for X w, both (m,), and the sums
            (2, n, width).
        """
        n, here = parts.shape[1], slice(lo, hi)
        work = 2.0 * ENTRY * self.entries * (hi - lo) / self.m / n
        spread(_add_pairs, n, work, self.part(lo, hi), w, v[here], h[here], parts)

    def n_parts(self, most: int, size: int, room: int = 0) -> int:
        """Return the number of sums over parts of the rows, a power of 2 if there is no room for `most`.

        Parameters
        ----------
        most, size, room : int
            The largest number that pays, the bytes of one, and bytes that are available in any case.
        """
        most, held = min(max(most, 1), PARTS), max(room, self._room) // size
        return most if most <= held else 1 << max(held.bit_length() - 1, 0)

    def windows(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges of rows in which passes over X read it, as `svmkit.runtime.mapping.windows`."""
        return windows(self.rows, self._window)

    def part(self, lo: int, hi: int) -> Any:
        """Return rows lo to hi - 1 in the form of `rows`; of sparse rows only the pointers differ."""
        if (lo, hi) == (0, self.m):
            return self.rows
        rows = self.rows
        return rows._replace(indptr=rows.indptr[lo : hi + 1]) if isinstance(rows, CSR) else rows[lo:hi]

    def join(self, w: np.ndarray, intercept: float) -> np.ndarray:
        """Return w (width,) of weights (d,) and an intercept, which is lost without a bias column."""
        return np.append(w, intercept / self.bias) if self.width > self.d else np.array(w, dtype=np.float64)

    def split(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the weights of the columns (d,) and the intercept of w (width,)."""
        return w[: self.d].copy(), self.bias * float(w[-1]) if self.width > self.d else 0.0


@njit(nogil=True, cache=True)
def _add_margins(first, last, X, w, out):
    for i in range(first, last):
        out[i] += row_dot(X, i, w)


@njit(nogil=True, cache=True)
def _add_pairs(first, last, X, w, v, h, parts):
    """Add X w to h (m,), and X'v in parts (2, n, width) of which each takes a contiguous range of rows of X."""
    n = parts.shape[1]
    step = (v.size + n - 1) // n
    for p in range(first, last):
        for i in range(p * step, min(v.size, p * step + step)):
            h[i] += row_dot(X, i, w)
            if v[i] > 0.0:
                row_add(X, i, v[i], parts[0, p])
            elif v[i] != 0.0:
                row_add(X, i, v[i], parts[1, p])


@njit(nogil=True, cache=True)
def _add_pulls(first, last, X, v, parts):
    """Add X'v in parts: each takes a contiguous range of rows of X."""
    n = parts.shape[0]
    step = (v.size + n - 1) // n
    for p in range(first, last):
        for i in range(p * step, min(v.size, p * step + step)):
            if v[i] != 0.0:
                row_add(X, i, v[i], parts[p])
