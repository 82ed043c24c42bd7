"""The kernel matrix of a working set: a square whose slots are taken again, in memory that is laid out once."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from svmkit.gram import Gram
from svmkit.rowcache import Rows

BATCH = 128  # points whose values are computed together
TILE = 256


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

    def put(self, points: np.ndarray, slots: np.ndarray) -> None:
        """These points, none of which is there, into these slots: ones that are taken, or the next ones."""
        idx = np.append(self.idx, np.empty(max(slots.max() + 1 - len(self.idx), 0), dtype=np.int64))
        idx[slots] = points
        self.idx = idx
        landing = np.empty((min(BATCH, len(points)), len(idx)), self.gram.dtype)
        for lo in range(0, len(points), BATCH):
            at = slots[lo : lo + BATCH]
            values = self.gram.block(idx[at], idx, landing[: len(at)])
            _place(self._slab, values, at, np.isin(np.arange(len(idx)), at), self.signs[idx], self.bias)


@njit(parallel=True, cache=True)
def _place(slab, values, slots, new, signs, bias):
    """Rows and columns `slots` of the matrix from the values (len(slots), n) of these rows; new (n,) marks them."""
    n = values.shape[1]
    for t in prange((n + TILE - 1) // TILE):
        lo, hi = t * TILE, min(n, t * TILE + TILE)
        for b in range(slots.size):
            own = signs[slots[b]]
            for a in range(lo, hi):
                values[b, a] = own * signs[a] * (values[b, a] + bias)
            slab[slots[b], lo:hi] = values[b, lo:hi]
        for a in range(lo, hi):
            if not new[a]:  # else another tile writes there: which one came last would be chance
                for b in range(slots.size):
                    slab[a, slots[b]] = values[b, a]
