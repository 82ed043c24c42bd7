"""CSR matrices with more entries than int32 can count: row pointers of int64 and column indices of int32.

scipy wants one type for both, and converts column indices that come with such pointers to int64: a copy of 8 bytes for
each of more than 2^31 entries. `WideCSR` keeps the given arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

MOST = int(np.iinfo(np.int32).max)  # entries that int32 can count
_CHUNK = 1 << 20  # entries that are processed together


class WideCSR(csr_array):
    """A csr_array that shares its three arrays with the caller, whatever their integer types; made by `sparse_rows`.

    Selecting rows and converting to dense arrays copy no more column indices than necessary. Other operations of scipy
    work, too, but convert them to int64 first.
    """

    def __init__(self, arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, **options: Any) -> None:
        if not (isinstance(arg1, tuple) and len(arg1) == 3 and shape is not None):
            super().__init__(arg1, shape=shape, dtype=dtype, copy=copy, **options)
            return
        data, indices, indptr = (np.array(part, copy=True) if copy else np.asarray(part) for part in arg1)
        dtype = data.dtype if dtype is None else dtype
        super().__init__(tuple(map(int, shape)), dtype=dtype, **options)
        self.data, self.indices, self.indptr = data.astype(dtype, copy=False), indices, indptr

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            first, last, step = key.indices(self.shape[0])
            if step == 1:
                return self._between(first, max(first, last))
            return self._some(np.arange(first, last, step))
        if isinstance(key, np.ndarray) and key.ndim == 1 and key.dtype.kind in "iub":
            rows = np.flatnonzero(key) if key.dtype.kind == "b" else key.astype(np.int64)
            return self._some(np.where(rows < 0, rows + self.shape[0], rows))
        return super().__getitem__(key)

    def toarray(self, order: Any = None, out: np.ndarray | None = None) -> np.ndarray:
        """Return a dense array, as csr_array does, whose own loop accepts only one integer type."""
        dense = np.empty(self.shape, self.dtype, order or "C") if out is None else out
        for lo, hi in _row_chunks(self.indptr):
            first, last = int(self.indptr[lo]), int(self.indptr[hi])
            part = self.data[first:last], self.indices[first:last], self.indptr[lo : hi + 1] - self.indptr[lo]
            dense[lo:hi] = csr_array(part, shape=(hi - lo, self.shape[1])).toarray()
        return dense

    def tocoo(self, copy: bool = True) -> Any:
        """Return a coo_array, as csr_array does, whose own loop accepts only one integer type."""
        return csr_array((self.data, self.indices, self.indptr), shape=self.shape).tocoo(copy=copy)

    def _between(self, first: int, last: int) -> Any:
        """Return the rows from `first` to `last`, sharing the values and column indices."""
        entries = slice(int(self.indptr[first]), int(self.indptr[last]))
        pointers = self.indptr[first : last + 1] - self.indptr[first]
        return self._like(self.data[entries], self.indices[entries], pointers)

    def _some(self, rows: np.ndarray) -> Any:
        """Return copies of these rows."""
        starts, lengths = self.indptr[rows].astype(np.int64), np.diff(self.indptr)[rows]
        pointers = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        data, indices = np.empty(pointers[-1], self.data.dtype), np.empty(pointers[-1], self.indices.dtype)
        for lo, hi in _row_chunks(pointers):
            here = slice(pointers[lo], pointers[hi])
            shift = np.repeat(starts[lo:hi] - pointers[lo:hi], lengths[lo:hi])
            source = shift + np.arange(here.start, here.stop)
            data[here], indices[here] = self.data[source], self.indices[source]
        return self._like(data, indices, pointers)

    def _like(self, data: np.ndarray, indices: np.ndarray, pointers: np.ndarray) -> Any:
        part = sparse_rows(data, indices, pointers, self.shape[1])
        if "_canonical" in vars(self):
            part.has_canonical_format = self._canonical
        return part

    @property
    def has_canonical_format(self) -> bool:
        """Whether the column indices of each row ascend, as scipy defines it."""
        if "_canonical" not in vars(self):
            self.has_canonical_format = _rises(self.indices, self.indptr)
        return self._canonical

    @has_canonical_format.setter
    def has_canonical_format(self, value: bool) -> None:
        self._canonical = bool(value)
        csr_array.has_canonical_format.fset(self, value)


def sparse_rows(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, n_features: int) -> Any:
    """Return a CSR matrix that shares its values and column indices with the caller, whatever their number.

    Parameters
    ----------
    data : ndarray of shape (nnz,), float32 or float64
        The values, of one row after the other.
    indices : ndarray of shape (nnz,), int32 or int64
        Their columns, from 0, ascending within each row.
    indptr : ndarray of shape (m + 1,), int32 or int64
        Where each row begins, and finally nnz.
    n_features : int
        The number of columns.

    Returns
    -------
    scipy.sparse.csr_array of shape (m, n_features)
        With row pointers of int32 if they fit and the columns are int32. For more than 2^31 entries with column indices
        of int32, a subclass that keeps them together with pointers of int64; scipy's own class would copy them to
        int64.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.data import sparse_rows
    >>> columns = np.array([0, 2, 1], dtype=np.int32)
    >>> X = sparse_rows(np.ones(3, dtype=np.float32), columns, np.array([0, 2, 3]), n_features=3)
    >>> X.toarray().tolist(), np.shares_memory(X.indices, columns)
    ([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]], True)
    """
    shape = len(indptr) - 1, int(n_features)
    if indices.dtype == np.int32 and max(*shape, int(indptr[-1])) <= MOST:
        indptr = indptr.astype(np.int32, copy=False)
    if indices.dtype == indptr.dtype:
        return csr_array((data, indices, indptr), shape=shape, copy=False)
    return WideCSR((data, indices, indptr), shape=shape)


def _row_chunks(pointers: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows with about `_CHUNK` entries each, or one row with more."""
    lo, m = 0, len(pointers) - 1
    while lo < m:
        hi = int(np.searchsorted(pointers, pointers[lo] + _CHUNK, side="right")) - 1
        hi = min(max(hi, lo + 1), m)
        yield lo, hi
        lo = hi


def _rises(indices: np.ndarray, pointers: np.ndarray) -> bool:
    """Return whether the column indices of each row ascend."""
    for lo in range(0, len(indices) - 1, _CHUNK):
        part = indices[lo : lo + _CHUNK + 1]
        falls = np.flatnonzero(part[1:] <= part[:-1]) + lo + 1  # where only another row may begin
        if len(falls) and not (pointers[np.searchsorted(pointers, falls).clip(max=len(pointers) - 1)] == falls).all():
            return False
    return True
