"""Support vectors of a model among the rows of data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp


def match_rows(vectors: Any, owner: np.ndarray, X: Any, codes: np.ndarray) -> np.ndarray:
    """Return the row of data that each support vector equals, int64 (n_sv,); -1 for a vector that equals no row. A
    vector matches a row of its own class if the values of the two are equal bit for bit, in the lower of the two
    precisions. Each row matches one vector, so repeated vectors match repeated rows.

    Parameters
    ----------
    vectors : ndarray or CSR of shape (n_sv, width), or row numbers (n_sv,) for a precomputed kernel
    owner : ndarray of shape (n_sv,), int, the class of each vector
    X : ndarray or CSR of shape (n_samples, width), the rows, preprocessed as by the model
    codes : ndarray of shape (n_samples,), int, the class of each row; -1 for a row that matches nothing
    """
    if vectors.ndim == 1:
        inside = vectors < len(codes)
        return np.where(inside & (codes[np.where(inside, vectors, 0)] == owner), vectors, -1)
    dtype = np.float32 if np.float32 in (X.dtype, vectors.dtype) else np.float64
    if sp.issparse(vectors) != sp.issparse(X):
        vectors = sp.csr_array(vectors) if sp.issparse(X) else vectors.toarray()
    wanted: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    for v, key in enumerate(zip(owner.tolist(), _row_bytes(vectors, dtype), strict=True)):
        wanted[key].append(v)
    rows = np.full(len(owner), -1, dtype=np.int64)
    for row, key in enumerate(zip(codes.tolist(), _row_bytes(X, dtype), strict=True)):
        waiting = wanted.get(key)
        if waiting:
            rows[waiting.pop(0)] = row
    return rows


def _row_bytes(X: Any, dtype: type) -> Iterator[bytes]:
    """Yield the values of each row as bytes; rows that differ in stored zeros or signs of zero have equal bytes."""
    if not sp.issparse(X):
        for row in X:
            yield (row.astype(dtype) + dtype(0.0)).tobytes()
        return
    data = X.data.astype(dtype)
    indices = X.indices.astype(np.int64)
    kept = data != 0.0
    ends = np.concatenate([[0], np.cumsum(kept)])[X.indptr]
    data, indices = data[kept], indices[kept]
    for lo, hi in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        yield indices[lo:hi].tobytes() + data[lo:hi].tobytes()
