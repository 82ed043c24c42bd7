"""The rows of one partition where they are processed: in memory, or read from local disk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from svmkit.data.parts.layout import Layout, Written, rows_of
from svmkit.data.prepare.features import Features, as_features, is_sparse
from svmkit.kernels.engines import with_int32_indices

BLOCK = 64 << 20  # bytes of a block of rows, which is the memory that reading from local disk needs


class Part(ABC):
    """The rows of one partition. It stays in the process that made it; a `Source` makes it again elsewhere."""

    n_rows: int
    n_features: int  # a part of sparse rows may lack the last columns of the whole
    is_sparse: bool  # whether the rows are CSR
    dtype: np.dtype  # float32 or float64
    answers: np.ndarray  # shape (n_rows,): labels as given, or targets
    weights: np.ndarray | None  # float64, shape (n_rows,): None is a weight of 1 for each row
    written: Written  # the properties that all parts must agree on
    is_in_memory = False  # whether the blocks are views of arrays in memory, which stay valid

    @abstractmethod
    def blocks(self, rows: int | None = None) -> Iterator[tuple[int, Features]]:
        """Yield all rows in order, in blocks of at most 64 MiB and at most `rows` rows, each with its first row.

        A block, as in `MemoryPart.X`, is valid until the next one is requested, and must not be written to.
        """

    @abstractmethod
    def take(self, rows: np.ndarray) -> Features:
        """Return some rows, by number in any order, as a separate array; ascending ones are read fastest."""

    def _cuts(self, indptr: np.ndarray | None, rows: int | None) -> Iterator[tuple[int, int]]:
        """Yield the first row of each block and the row after its last one; row pointers are given for sparse rows."""
        most = rows or self.n_rows
        if indptr is None:
            most = min(most, max(1, BLOCK // max(1, self.dtype.itemsize * self.n_features)))
        lo = 0
        while lo < self.n_rows:
            hi = min(self.n_rows, lo + most)
            if indptr is not None:  # an index takes 4 bytes, a row pointer 8
                room = np.searchsorted(indptr, indptr[lo] + BLOCK // (self.dtype.itemsize + 4), side="right") - 1
                hi = min(hi, lo + BLOCK // 8, max(lo + 1, int(room)))
            yield lo, hi
            lo = hi

    def with_layout(self, layout: Layout) -> Part:
        """Return the part in the storage of all parts; the part itself if it already has it."""
        return self if self._fits(layout) else LaidOut(self, layout)

    def _fits(self, layout: Layout) -> bool:
        mine = (self.n_features, self.is_sparse, np.dtype(self.dtype).name)
        return mine == (layout.n_features, layout.is_sparse, layout.dtype) and not layout.shift(self.written)


class MemoryPart(Part):
    """A part in memory: X is copied only if it is not C-contiguous float32 or float64, or CSR with int32 indices."""

    is_in_memory = True

    def __init__(
        self, X: Any, answers: np.ndarray, weights: np.ndarray | None = None, written: Written = Written()
    ) -> None:
        if X.shape[0]:  # a part without rows is not a matrix to train on, but not an error
            X = as_features(X)
        self.X: Any = with_int32_indices(X) if is_sparse(X) else np.ascontiguousarray(X)
        self.answers, self.weights, self.written = answers, weights, written
        self.n_rows, self.n_features = self.X.shape
        self.is_sparse, self.dtype = is_sparse(X), self.X.dtype

    def blocks(self, rows: int | None = None) -> Iterator[tuple[int, Features]]:
        for lo, hi in self._cuts(self.X.indptr if self.is_sparse else None, rows):
            yield lo, rows_of(self.X, lo, hi)

    def take(self, rows: np.ndarray) -> Features:
        return with_int32_indices(self.X[rows])

    def with_layout(self, layout: Layout) -> Part:
        if self._fits(layout) or not self.n_rows:
            return self
        return MemoryPart(layout.apply(self.X, self.written), self.answers, self.weights, self.written)


class LaidOut(Part):
    """A part on disk whose blocks change their storage as they are read."""

    def __init__(self, part: Part, layout: Layout) -> None:
        self._part, self._layout = part, layout
        self.n_rows, self.n_features = part.n_rows, layout.n_features
        self.is_sparse, self.dtype = layout.is_sparse, np.dtype(layout.dtype)
        self.answers, self.weights, self.written = part.answers, part.weights, part.written

    def blocks(self, rows: int | None = None) -> Iterator[tuple[int, Features]]:
        if not self.is_sparse:
            rows = min(rows or self.n_rows, max(1, BLOCK // (self.dtype.itemsize * self.n_features)))
        for first, X in self._part.blocks(rows):
            yield first, self._layout.apply(X, self.written)

    def take(self, rows: np.ndarray) -> Features:
        return self._layout.apply(self._part.take(rows), self.written)


def places(classes: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Return the place of each answer in the sorted classes, -1 for unknown answers."""
    if (classes.dtype.kind in "US") != (answers.dtype.kind in "US"):
        return np.full(len(answers), -1)
    at = np.minimum(np.searchsorted(classes, answers), len(classes) - 1).astype(np.int64)
    return np.where(classes[at] == answers, at, -1)
