"""Sparse X by columns, in blocks of rows: a product with few weights reads only their columns, and no loop is short.

Rows of a dozen values, of varying lengths, defeat branch prediction; columns are long. The rows of a block are numbered
from its first one, so that two bytes suffice, and if all values are equal, none is stored.
"""

from __future__ import annotations

import numpy as np

from svmkit.problems.risks.design import CSR, ENTRY, FAST, Design
from svmkit.runtime.compiling import njit
from svmkit.runtime.mapping import is_mapped, size_of
from svmkit.runtime.threads import spread

BLOCK = 1 << 14  # rows of a block, the work of one thread: 1 << 16 at most
ROOM = 1 << 28  # bytes of X up to which it is copied


class ByColumns:
    """A copy of the sparse X of a design, with the products of `Design`, bias included."""

    def __init__(self, design: Design) -> None:
        X, n_blocks = design.rows, -(-design.m // BLOCK)
        self.design = design
        self.starts = np.zeros((n_blocks, design.d + 1), dtype=np.int64)  # of the columns of each block
        _count(X, self.starts)
        np.cumsum(self.starts, axis=1, out=self.starts)
        self.starts += np.append(0, np.cumsum(self.starts[:-1, -1]))[:, None]
        self.rows = np.empty(design.entries, dtype=np.uint16)
        self.data: np.ndarray | None = None  # None if all values are equal to `factor`
        self.factor = float(X.data[0])
        if not _are_same(X.data[: design.entries]):
            self.data, self.factor = np.empty(design.entries, dtype=X.data.dtype), 1.0
        _turn(X, self.starts.copy(), self.rows, self.data)

    @staticmethod
    def has_room(design: Design) -> bool:
        """Return whether X is sparse, with entries, and a copy of it may be kept in memory."""
        X = design.rows
        return isinstance(X, CSR) and 0 < size_of(X) <= ROOM and not is_mapped(X)

    def margins(self, w: np.ndarray) -> np.ndarray:
        """Return h (m,) = X w for w (width,)."""
        d = self.design
        out, used = np.full(d.m, d.bias * w[-1] if d.bias else 0.0), np.flatnonzero(w[: d.d])
        given = self.starts, self.rows, self.data, used, self.factor * w[used], out
        spread(_add_columns, len(self.starts), self._work, *given)
        return out

    def pull(self, v: np.ndarray) -> np.ndarray:
        """Return X'v (width,) for v (m,)."""
        d = self.design
        parts = np.empty((len(self.starts), d.d))
        spread(_fill_sums, len(self.starts), self._work, self.starts, self.rows, self.data, v, parts)
        out = np.empty(d.width)
        np.multiply(parts.sum(axis=0), self.factor, out=out[: d.d])
        if d.width > d.d:
            out[-1] = d.bias * v.sum()
        return out

    @property
    def _work(self) -> float:
        return ENTRY * self.design.entries / len(self.starts)


def _are_same(values: np.ndarray) -> bool:
    """Return whether all values (n,) are equal, as in binary data."""
    return all((values[lo : lo + BLOCK] == values[0]).all() for lo in range(0, len(values), BLOCK))


@njit(cache=True, nogil=True)
def _count(X, counts):
    """Add the numbers of entries of the columns of each block to counts[:, 1:]."""
    m = X.indptr.size - 1
    for block in range(counts.shape[0]):
        own = counts[block]
        for at in range(np.uintp(X.indptr[block * BLOCK]), np.uintp(X.indptr[min(m, (block + 1) * BLOCK)])):
            own[np.uintp(X.indices[at]) + np.uintp(1)] += 1


@njit(cache=True, nogil=True)
def _turn(X, heads, rows, data):
    """Write the rows of each block by columns, and their values unless `data` is None; heads move from the beginning of
    a column to its end.
    """
    for i in range(X.indptr.size - 1):
        block, row = i // BLOCK, i % BLOCK
        for at in range(np.uintp(X.indptr[i]), np.uintp(X.indptr[i + 1])):
            j = np.uintp(X.indices[at])
            to = np.uintp(heads[block, j])
            rows[to] = row
            if data is not None:
                data[to] = X.data[at]
            heads[block, j] += 1


@njit(cache=True, nogil=True)
def _add_columns(first, last, starts, rows, data, used, weights, out):
    """Add the columns `used` (n,) times their weights to out (m,), for some blocks; without data all values are 1."""
    for block in range(first, last):
        part = out[block * BLOCK :]
        for k in range(used.size):
            j, a = used[k], weights[k]
            for at in range(np.uintp(starts[block, j]), np.uintp(starts[block, j + 1])):
                part[np.uintp(rows[at])] += a if data is None else a * data[at]


@njit(cache=True, nogil=True, fastmath=FAST)
def _fill_sums(first, last, starts, rows, data, v, sums):
    """Write the sum over the rows of each column, times v (m,), to sums (n_blocks, d), for some blocks."""
    for block in range(first, last):
        part = v[block * BLOCK :]
        for j in range(sums.shape[1]):
            total = 0.0
            for at in range(np.uintp(starts[block, j]), np.uintp(starts[block, j + 1])):
                value = part[np.uintp(rows[at])]
                total += value if data is None else data[at] * value
            sums[block, j] = total
