"""Square norms of the rows of X."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from svmkit.runtime import mapping

CHUNK = 1 << 17  # entries of X that are moved at a time


def square_norms(X, origin: np.ndarray | None = None) -> np.ndarray:
    """Return |x|^2 of each row as float64 (n,), for dense and CSR storage of either precision; X is not copied as a
    whole. For a dense X an origin (d,) says where norms are measured from, if it is not 0.
    """
    if origin is not None and origin.size:
        norms = np.empty(X.shape[0])
        step = max(1, CHUNK // X.shape[1])
        with np.errstate(over="ignore"):
            for lo in range(0, X.shape[0], step):
                moved = X[lo : lo + step] - origin
                np.einsum("ij,ij->i", moved, moved, out=norms[lo : lo + step])
        return norms
    if not isinstance(X, np.ndarray) and sp.issparse(X):
        from svmkit.kernels.loops.tile_dots import csr_square_norms

        norms = np.empty(X.shape[0])
        for lo, hi in mapping.windows(X):
            csr_square_norms(X.data, X.indptr[lo : hi + 1], norms[lo:hi])
        return norms
    if not mapping.is_mapped(X):
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)
    if (known := mapping.take_norms(X)) is not None:
        return known
    parts = [np.einsum("ij,ij->i", X[lo:hi], X[lo:hi], dtype=np.float64) for lo, hi in mapping.windows(X)]
    return np.concatenate(parts)
