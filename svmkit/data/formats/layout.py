"""The storage of a matrix after reading: dense or CSR, and the width of its indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmkit.errors import InputError

# a dense array that is at least half full is both smaller (8 bytes an entry against 12) and faster
DENSE_FROM = 0.5


def csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> Any:
    """Return a scipy csr_array of float64, or of float32 if given: column indices are int32 if the columns
    fit, row pointers if the entries fit.

    Parameters
    ----------
    data, indices, indptr : ndarray, shared if their types fit
    shape : tuple of int
    """
    from svmkit.data.formats.wide import MOST, sparse_rows  # here: scipy.sparse costs import time

    narrow = np.int32 if max(shape) <= MOST else np.int64
    columns = indices.astype(narrow, copy=False)
    values = data.astype(np.float64 if data.dtype != np.float32 else np.float32, copy=False)
    return sparse_rows(values, columns, indptr.astype(np.int64, copy=False), shape[1])


def cast_values(values: np.ndarray, dtype: str | None) -> np.ndarray:
    """Return values cast to a type, or unchanged without one; raise InputError if a value is beyond its range.

    Parameters
    ----------
    values : ndarray of floats
        NaN and infinity are unchanged.
    dtype : {"float32", "float64"}, optional
        The type.
    """
    if dtype is None or values.dtype == dtype:
        return values
    with np.errstate(over="ignore"):
        cast = values.astype(dtype)
    beyond = np.isinf(cast) & np.isfinite(values)
    if beyond.any():
        raise InputError(f"the value {values[beyond][0]:g} is beyond the range of {dtype}: keep float64")
    return cast


def cast_features(X: Any, dtype: str | None) -> Any:
    """Return X (n, d), dense or CSR, with its values cast by `cast_values`."""
    if dtype is None or X.dtype == dtype:
        return X
    if isinstance(X, np.ndarray):
        return cast_values(X, dtype)
    return csr(cast_values(X.data, dtype), X.indices, X.indptr, X.shape)


def require_sound(X: Any) -> None:
    """Raise ValueError unless the indices of a CSR, CSC or BSR array are in bounds, which compiled loops do not check.
    scipy's `check_format` is not enough for an untrusted file: it skips arrays whose last pointer is 0, and differences
    of pointers may overflow.
    """
    X.check_format(full_check=True)
    pointers = X.indptr
    minor = X.shape[0] if X.format == "csc" else X.shape[1] // getattr(X, "blocksize", (1, 1))[1]
    sound = pointers[0] == 0 and (pointers[1:] >= pointers[:-1]).all()
    sound = sound and pointers[-1] <= min(len(X.indices), len(X.data))
    if not sound or (len(X.indices) and not 0 <= X.indices.min() <= X.indices.max() < minor):
        raise ValueError("the indices of the sparse array lead outside of it")


def densify(X: Any) -> Any:
    """Return X as a dense array if at least half of its entries are stored, else unchanged."""
    rows, columns = X.shape
    return X.toarray() if X.nnz >= DENSE_FROM * rows * columns else X


def integral(values: np.ndarray) -> np.ndarray:
    """Return labels as int64 if all are whole numbers in its range, else as float64, or unchanged if they are uint64.

    Booleans are unchanged, so that a model predicts booleans.
    """
    values = np.asarray(values)
    if values.dtype.kind == "b":
        return values
    if values.dtype.kind == "i" or (values.dtype.kind == "u" and values.max(initial=0) < 2**63):
        return values.astype(np.int64)
    if values.dtype.kind == "u":
        return values
    values = values.astype(np.float64)
    whole = np.isfinite(values).all() and (values == np.floor(values)).all() and (np.abs(values) < 2.0**53).all()
    return values.astype(np.int64) if whole else values
