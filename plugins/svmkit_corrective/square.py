"""The kernel matrix of a working set: a square that grows and is packed in memory laid out once."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from svmkit.gram import Gram
from svmkit.rowcache import Rows

BATCH = 256  # points whose values are computed together
TILE = 256
STRETCH = 2048  # values of a row that are moved together: fewer, and pages of memory cost more than they
LINE = 16  # values in a line of the processor's cache, nearly


class Square:
    """Q without its ridge among the points of a working set: y_i y_j (k_ij + bias), or k_ij where `signs` is None.

    gram : Gram whose budget and dtype hold; signs : y (m,)
    most : points it has room for; idx (n,) : which ones, by slot
    """

    def __init__(self, gram: Gram, signs: np.ndarray | None = None, bias: float = 0.0) -> None:
        self.gram, self.bias = gram, bias
        self.signs = np.ones(gram.m) if signs is None else signs
        self.most = min(gram.m, math.isqrt(gram.budget // gram.dtype.itemsize))
        # rows that lie a power of two apart would all fall into the same lines of the processor's cache
        width = 16 * (self.most // 16 | 1) if self.most >= 16 else self.most
        self._slab = np.empty((self.most, max(width, self.most)), gram.dtype)  # takes memory where it is written to
        self.idx = np.empty(0, dtype=np.int64)

    @property
    def rows(self) -> Rows:
        """The matrix as `pairwise` takes it: row i is in slot i."""
        n = len(self.idx)
        return Rows(
            slab=self._slab,
            slot_of=np.arange(n),
            used=np.zeros(n, dtype=np.int64),
            guessed=np.zeros(n, dtype=np.bool_),
            clock=np.zeros(1, dtype=np.int64),
            uses=np.zeros(1),
        )

    def append(self, points: np.ndarray) -> None:
        """Take these points in, none of which is there, in the next slots."""
        n = len(self.idx)
        self.idx = idx = np.append(self.idx, points)
        signs, last = self.signs[idx], len(idx)
        landing = np.empty(min(BATCH, len(points)) * last, self.gram.dtype)
        for lo in range(n, last, BATCH):
            hi = min(last, lo + BATCH)  # later batches bring their values with these points
            values = self.gram.block(idx[lo:hi], idx[:hi], landing[: (hi - lo) * hi].reshape(hi - lo, hi))
            _place(self._slab, values, lo, signs, self.bias)

    def keep(self, slots: np.ndarray) -> None:
        """Only the points in these slots, ascending, from now on in the first ones."""
        _gather(self._slab, slots)
        self.idx = self.idx[slots]


@njit(cache=True)
def _signed(row, signs, own, bias):
    """row = own signs (row + bias)."""
    for a in range(row.size):
        row[a] = own * signs[a] * (row[a] + bias)


@njit(cache=True)
def _copy(row, out):
    for a in range(row.size):
        out[a] = row[a]


@njit(cache=True)
def _turn(row, columns, b):
    for a in range(row.size):
        columns[a, b] = row[a]


@njit(parallel=True, cache=True)
def _place(slab, values, first, signs, bias):
    """Rows and columns from `first` on of the matrix, from the values (q, first + q) of these rows."""
    q, n = values.shape
    for t in prange((n + TILE - 1) // TILE):
        columns = np.empty((LINE, q), slab.dtype)
        for lo in range(t * TILE, min(n, t * TILE + TILE), LINE):
            hi = min(n, lo + LINE)
            for b in range(q):
                row = values[b, lo:hi]
                _signed(row, signs[lo:hi], signs[first + b], bias)
                _copy(row, slab[first + b, lo:hi])
                _turn(row, columns, b)
            for a in range(lo, min(hi, first)):  # beyond are the rows themselves
                _copy(columns[a - lo], slab[a, first:n])


@njit(parallel=True, cache=True)
def _gather(slab, slots):
    """Rows and columns `slots`, ascending, to the front."""
    for t in prange(slots.size):  # within rows first: only these then move
        row = slab[slots[t]]
        for b in range(slots.size):
            row[b] = row[slots[b]]
    for t in prange((slots.size + STRETCH - 1) // STRETCH):
        lo, hi = t * STRETCH, min(slots.size, t * STRETCH + STRETCH)
        for a in range(slots.size):
            if slots[a] != a:
                _copy(slab[slots[a], lo:hi], slab[a, lo:hi])
