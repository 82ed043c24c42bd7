"""The kernel matrix of a working set: a square that grows, and is packed, in memory that is laid out once."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numba import types
from numba.extending import overload

from svmkit.kernels.gram import Gram
from svmkit.kernels.loops.arithmetic import as_type_of
from svmkit.kernels.loops.row_loops import in_order
from svmkit.kernels.loops.row_table import RowTable
from svmkit.kernels.loops.vectors import widest
from svmkit.runtime.compiling import njit
from svmkit.runtime.threads import spread

BATCH = 256  # points whose values are computed together
TILE = 256
ROOM = 0.9  # share of the budget: the rest is for values that are being computed and for the facts of each point
FEWEST = 64  # room for points with any budget
WHOLE = 32767  # the largest 16-bit number
STRETCH = 2048  # values of a row that are moved together: with fewer of them the pages of memory dominate
LINE = 32  # values in a line of the processor's cache, nearly
PLACED, MOVED = 1.0, 0.3  # nanoseconds to place a value in its row and its column, and to move one within its row


class Square:
    """Q without its ridge among the points of a working set: y_i y_j (k_ij + bias), or k_ij without `signs`, y (m,).

    Values are kept in 16 bits if `coarse` allows it, the kernel is normalised and the Gram's values are float32, which
    halves the memory and the time that a step waits for it. A set is then solved approximately; `make_finer` gives the
    Gram's precision. The Gram's budget applies to the matrix. With `origin`, a further row and column of zeros for the
    origin of the feature space follow those of the points.
    """

    full = lossy = False

    def __init__(
        self,
        gram: Gram,
        signs: np.ndarray | None = None,
        bias: float = 0.0,
        coarse: bool = True,
        origin: bool = False,
    ) -> None:
        self.gram, self.bias, self.origin = gram, bias, origin
        self.signs = np.broadcast_to(1.0, gram.m) if signs is None else signs
        self.coarse = coarse and gram.kernel.normalised and gram.dtype == np.float32
        self.quantum = float(np.abs(gram.diag).max() + abs(bias)) / WHOLE if self.coarse else 0.0
        self.dtype = dtype = np.dtype(np.int16) if self.coarse else gram.dtype
        # points that there is room for, and points that may join in a round
        self.most = self.at_once = min(gram.m, max(FEWEST, math.isqrt(int(ROOM * gram.budget) // dtype.itemsize)))
        self._slab = np.empty((0, 0), dtype)
        self.idx = np.empty(0, dtype=np.int64)  # its points (n,), by slot

    @cached_property
    def _memory(self) -> np.ndarray:
        """Memory for the matrix, which is allocated as it is written; a set that stays empty has none."""
        return np.empty(math.prod(self._shape(self.most)), self.dtype)

    @property
    def rows(self) -> RowTable:
        """The matrix in the form that `take_steps` takes."""
        n = len(self.idx)
        if self.origin:
            self._slab[n, : n + 1] = self._slab[:n, n] = 0
        return in_order(self._slab, n + self.origin, self.quantum)

    def _shape(self, n: int) -> tuple[int, int]:
        """Return the shape of an array with room for n points."""
        rows = n + self.origin
        # with a power of two between them, all rows would fall into the same lines of the processor's cache
        return rows, max(32 * (rows // 32 | 1), rows) if rows >= 32 else rows

    def _widen(self, n: int) -> None:
        """Make room for n points and some more. Rows lie close together, since it takes long to touch fresh memory."""
        rows, width = self._shape(min(self.most, n + n // 2))
        slab, last = self._memory[: rows * width].reshape(rows, width), len(self.idx)
        for r in range(last - 1, 0, -1):  # the first row stays; the others move up, the last one first
            slab[r, :last] = self._slab[r, :last]
        self._slab = slab

    def make_finer(self) -> Square | None:
        """Return an empty square of higher precision, None if there is none."""
        if self.coarse or self.gram.promote():
            return Square(self.gram, self.signs, self.bias, False, self.origin)
        return None

    def limits(self, drift: float) -> bool:
        """Return whether the precision of the matrix limits a solve whose gradient was off by `drift`."""
        return True

    def product(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
        """Return K[:, points] @ weights from stored values; None, as there are none for points outside the set."""
        return None

    def append(self, points: np.ndarray) -> None:
        """Add these points, which must be new, in the next slots."""
        n = len(self.idx)
        if n + len(points) + self.origin > len(self._slab):
            self._widen(n + len(points))
        self.idx = idx = np.append(self.idx, points)
        signs, last = self.signs[idx].astype(self.gram.dtype), len(idx)
        landing = np.empty(min(BATCH, len(points)) * last, self.gram.dtype)
        for lo in range(n, last, BATCH):
            hi = min(last, lo + BATCH)  # later batches bring their values with these points
            values = landing[: (hi - lo) * hi].reshape(hi - lo, hi)
            self.gram.block(idx[lo:hi], idx[:hi], values, rough=self.coarse)
            tiles, work = (hi + TILE - 1) // TILE, PLACED * TILE * (hi - lo)
            spread(_place, tiles, work, self._slab, values, lo, signs, self.bias, self.quantum)

    def keep(self, slots: np.ndarray) -> None:
        """Keep only the points in these slots, ascending, and move them to the first slots."""
        n = slots.size  # first within the rows that stay, then these rows move
        spread(_gather, n, MOVED * n, self._slab, slots)
        spread(_lift, (n + STRETCH - 1) // STRETCH, MOVED * STRETCH * n, self._slab, slots)
        self.idx = self.idx[slots]


def _as_entry(x, like):
    """Return x as an entry of the array, rounded for an array of integers."""
    return like.dtype.type(np.rint(x)) if like.dtype.kind == "i" else like.dtype.type(x)


@overload(_as_entry, inline="always")
def _as_entry_compiled(x, like):
    scalar = like.dtype
    if isinstance(scalar, types.Integer):
        return lambda x, like: scalar(np.rint(x))
    return lambda x, like: scalar(x)


@njit(cache=True)
def _copy(row, out):
    for a in range(row.size):
        out[a] = row[a]


@njit(cache=True)
def _write(values, signs, factors, bias, most, lo, hi, first, slab):
    """Set slab[first + b, lo:hi] to the entries of values[b, lo:hi], clipped to -most and most.

    Short rows would not fill the vectors of the compiled loop: a whole tile is written before its columns are.
    """
    widest()
    own_signs = signs[lo:hi]
    for b in range(values.shape[0]):
        factor, row, out = factors[b], values[b, lo:hi], slab[first + b, lo:hi]
        for a in range(row.size):
            out[a] = _as_entry(min(max(factor * own_signs[a] * (row[a] + bias), -most), most), slab)


@njit(cache=True)
def _turn(slab, first, lo, hi, columns):
    """Set columns[a, b] to slab[first + b, lo + a], four rows at a time; the last of them may be the same row."""
    last = columns.shape[1] - 1
    for b in range(0, last + 1, 4):
        b1, b2, b3 = min(b + 1, last), min(b + 2, last), min(b + 3, last)
        row, row1 = slab[first + b, lo:hi], slab[first + b1, lo:hi]
        row2, row3 = slab[first + b2, lo:hi], slab[first + b3, lo:hi]
        for a in range(hi - lo):
            column = columns[a]
            column[b], column[b1], column[b2], column[b3] = row[a], row1[a], row2[a], row3[a]


@njit(nogil=True, cache=True)
def _place(begin, end, slab, values, first, signs, bias, quantum):
    """Write rows and columns from `first` on of the matrix, from the values (q, first + q) of these rows."""
    q, n = values.shape
    scale, most = (1.0 / quantum, float(WHOLE)) if quantum > 0.0 else (1.0, np.inf)
    columns, factors = np.empty((LINE, q), slab.dtype), np.empty(q, values.dtype)
    for b in range(q):
        factors[b] = as_type_of(scale * signs[first + b], values)
    bias, most = as_type_of(bias, values), as_type_of(most, values)
    for t in range(begin, end):
        _write(values, signs, factors, bias, most, t * TILE, min(n, t * TILE + TILE), first, slab)
        for lo in range(t * TILE, min(first, t * TILE + TILE), LINE):  # columns from `first` on are among the rows
            hi = min(first, lo + LINE)
            _turn(slab, first, lo, hi, columns)
            for a in range(lo, hi):
                _copy(columns[a - lo], slab[a, first:n])


@njit(nogil=True, cache=True)
def _gather(first, last, slab, slots):
    """Move the values of columns `slots`, ascending, to the front of each of these rows."""
    for t in range(first, last):
        row = slab[slots[t]]
        for b in range(slots.size):
            row[b] = row[slots[b]]


@njit(nogil=True, cache=True)
def _lift(first, last, slab, slots):
    """Move rows `slots`, ascending, to the front, in stretches of their values."""
    for t in range(first, last):
        lo, hi = t * STRETCH, min(slots.size, t * STRETCH + STRETCH)
        for a in range(slots.size):
            if slots[a] != a:
                _copy(slab[slots[a], lo:hi], slab[a, lo:hi])
