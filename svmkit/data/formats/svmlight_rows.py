"""The rows of an svmlight file while it is read, block by block: CSR, or dense from the first block on."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmkit.data.formats.layout import DENSE_FROM, csr
from svmkit.runtime.mapping import Stack

_STEP = 8 << 20  # bytes of dense rows that change their storage together

Block = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Rows: their values, their indices as written, and the number of entries of each."""


class NotDense(Exception):
    """Rows that were dense in the first block are sparse overall, or have more columns, or count from 0."""


class SparseRows:
    """Rows that stay sparse while they grow.

    Parameters
    ----------
    dtype : dtype
        The type of the values.
    """

    def __init__(self, dtype: Any) -> None:
        self._data, self._indices, self._counts = Stack(dtype), Stack(np.int32), Stack(np.int64)
        self._counts.add(np.zeros(1, dtype=np.int64))
        self._first, self.width = 1, 0  # the index that is column 0, and the number of columns

    def add(self, block: Block) -> None:
        """Add rows."""
        for stack, part in zip((self._data, self._indices, self._counts), block, strict=True):
            stack.add(part)
        indices = block[1]
        if len(indices):
            largest = max(self.width + self._first - 1, int(indices.max()))
            self._first = min(self._first, int(indices.min()))
            self.width = largest + 1 - self._first

    def features(self, n_columns: int) -> Any:
        """Return the features, with this number of columns: dense if at least half of the entries are stored. No rows
        can be added afterwards.
        """
        data, indices = self._data.array, self._indices.array
        if self._first:
            indices -= 1
        indptr = np.cumsum(self._counts.array, out=self._counts.array)
        shape = (len(indptr) - 1, n_columns)
        return csr(data, indices, indptr, shape) if len(data) < DENSE_FROM * shape[0] * shape[1] else self._fill(shape)

    def _fill(self, shape: tuple[int, int]) -> np.ndarray:
        """Return the dense array of all rows, which are freed on the way, from the last to the first."""
        data, indices, indptr = self._data.array, self._indices.array, self._counts.array
        dense, step = np.zeros(shape, data.dtype), max(1, _STEP // (8 * shape[1]))
        for lo in range((shape[0] - 1) // step * step, -1, -step):
            begin, pointers = indptr[lo], indptr[lo : lo + step + 1] - indptr[lo]
            rows = csr(data[begin:].copy(), indices[begin:].copy(), pointers, (len(pointers) - 1, shape[1]))
            rows.toarray(out=dense[lo : lo + step])
            for array in (data, indices):
                array.resize(begin, refcheck=False)
        return dense


class DenseRows:
    """Rows that are dense while they grow, since the rows of the first block are.

    Parameters
    ----------
    dtype : dtype
        The type of the values.
    first : int
        The index that is column 0.
    width : int
        The number of columns of the first block.
    n_columns : int
        The number of columns, which may be larger.
    """

    def __init__(self, dtype: Any, first: int, width: int, n_columns: int) -> None:
        self._values, self._n_stored = Stack(dtype), 0
        self._first, self.width, self._n_columns = first, width, n_columns

    def add(self, block: Block) -> None:
        """Add rows; raise NotDense if they do not fit."""
        data, indices, counts = block
        if len(indices) and not self._first <= indices.min() <= indices.max() < self._first + self.width:
            raise NotDense
        shape, step = (len(counts), self._n_columns), max(1, _STEP // (8 * self._n_columns))
        pointers = np.append(0, np.cumsum(counts))
        for lo in range(0, shape[0], step):
            of_rows = pointers[lo : lo + step + 1]
            here = slice(of_rows[0], of_rows[-1])
            rows = csr(data[here], indices[here] - self._first, of_rows - of_rows[0], (len(of_rows) - 1, shape[1]))
            self._values.add(rows.toarray().reshape(-1))
        self._n_stored += len(data)

    def features(self, n_columns: int) -> np.ndarray:
        """Return the features; raise NotDense if less than half of the entries are stored."""
        if self._n_stored < DENSE_FROM * self._values.array.size:
            raise NotDense
        return self._values.array.reshape(-1, n_columns)


def begin_rows(block: Block, n_features: int | None, dtype: Any) -> SparseRows | DenseRows:
    """Return the container for the rows of a file with this first block, with `n_features` columns expected."""
    data, indices, counts = block
    first = min(1, int(indices.min(initial=1)))
    width = int(indices.max(initial=first - 1)) + 1 - first
    n_columns = max(width, n_features or 0)
    if n_columns and len(data) >= DENSE_FROM * len(counts) * n_columns:
        return DenseRows(dtype, first, width, n_columns)
    return SparseRows(dtype)
