"""Checks of the features that a caller passes. Each error says in one line how to correct the input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from svmkit.data.prepare.device_arrays import to_host
from svmkit.data.prepare.moments import Moments
from svmkit.errors import InputError, one_line
from svmkit.runtime.mapping import examine, examine_when_read, is_examined, is_mapped
from svmkit.runtime.threads import spread

# scipy ships no types; a dense ndarray or any scipy sparse container
Features: TypeAlias = Any

_SPARSE: set[type] = set()  # the types of scipy's containers that were seen
_ENTRY = 0.2  # nanoseconds to square and add an entry of X
_WIDEST = np.iinfo(np.int32).max  # columns of a sparse matrix, limited by the indices in files
_CHUNK = 1 << 20  # entries processed together, so that a check never copies the data


class InputTypeError(InputError, TypeError):
    """An entry of X is not a number (scikit-learn's conventions require a TypeError here)."""


def as_features(X: Any, *, what: str = "X") -> Features:
    """Return X as a 2-D float matrix that the solvers can read, copied only if necessary.

    Parameters
    ----------
    X : array-like, DataFrame, array on a device or scipy sparse container of shape (n_samples, n_features)
        float32 and float64 are used unchanged: dense ones if C- or F-contiguous, sparse ones if CSR (int32 or int64
        indices, explicit zeros allowed; for more than 2^31 entries see `svmkit.data.sparse_rows`). Integers, booleans
        and other floats become float64, other sparse formats CSR. Read-only arrays are accepted; the caller's arrays
        are never written to.
    what : str, default="X"
        The name of X in messages.

    Returns
    -------
    ndarray or scipy CSR of shape (n_samples, n_features)
        float32 or float64; CSR with sorted, unique indices. NaN and infinity pass: see `require_finite`.

    Raises
    ------
    InputError
        X is not 2-D, has no rows or no columns, contains complex numbers, text or dates, or is a CSR matrix whose index
        arrays are out of bounds.

    Examples
    --------
    >>> from svmkit.data import as_features
    >>> as_features([[1, 2], [3, 4]]).dtype.name
    'float64'
    """
    if is_sparse(X):
        return _sparse_features(X, what)
    A = dense_array(X, what)
    _require_matrix(A.ndim, A.shape, what)
    if A.dtype not in (np.float32, np.float64):
        A = _to_float64(A, what)
    if not (A.flags.c_contiguous or A.flags.f_contiguous) or not A.flags.aligned:
        A = np.array(A, order="C")
    return A


def is_sparse(X: Any) -> bool:
    """Return whether X is a scipy sparse container."""
    kind = type(X)
    if kind in _SPARSE or isinstance(X, np.ndarray):
        return kind in _SPARSE
    # scipy.sparse costs import time: X cannot be sparse unless the module is loaded
    if not kind.__module__.startswith("scipy.sparse") and not hasattr(X, "tocsr"):
        return False
    from scipy import sparse

    if sparse.issparse(X):
        _SPARSE.add(kind)
    return kind in _SPARSE


def dense_array(X: Any, what: str) -> np.ndarray:
    """Return X as an ndarray, or raise InputError if it has masked entries or rows of different lengths."""
    if type(X) is np.ndarray:  # the checks below are slow relative to a small fit
        return X
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise InputError(f"{what} is a masked array with masked entries: fill them first, e.g. {what}.filled(0)")
    X = to_host(X, what)
    try:
        return np.asarray(X)
    except (ValueError, TypeError) as err:
        raise InputError(
            f"{what} is no rectangular table of numbers ({one_line(err)}): give every row the same length"
        ) from err


def _require_matrix(ndim: int, shape: tuple[int, ...], what: str) -> None:
    if ndim < 2:
        got = "scalar array" if ndim == 0 else "1D array"
        raise InputError(
            f"Expected 2D array, got {got} instead. Reshape your data: {what}.reshape(-1, 1) if it has "
            f"a single feature, {what}.reshape(1, -1) if it is a single sample."
        )
    if ndim > 2:
        raise InputError(
            f"Found array with dim {ndim}, while dim <= 2 is required: {what} needs rows and columns only."
        )
    if shape[0] == 0:
        raise InputError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required ({what}).")
    if shape[1] == 0:
        raise InputError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required ({what}).")


def _to_float64(A: np.ndarray, what: str) -> np.ndarray:
    kind = A.dtype.kind
    if kind == "c":
        raise InputError(f"Complex data not supported: {what} has dtype {A.dtype}; pass real numbers")
    if kind in "mMVSUT":
        raise InputError(
            f"{what} has dtype {A.dtype}, not numbers: convert it first (text columns: one-hot encode them)"
        )
    if kind != "O":
        return A.astype(np.float64)
    if any(isinstance(v, complex | np.complexfloating) for v in A.flat):
        raise InputError(f"Complex data not supported: {what} holds complex numbers; pass real numbers")
    try:
        return A.astype(np.float64)
    except (TypeError, ValueError) as err:
        error = InputTypeError if isinstance(err, TypeError) else InputError
        raise error(f"{what} holds something that is no number ({one_line(err)}): convert it first") from err


def _sparse_features(X: Any, what: str) -> Features:
    _require_matrix(X.ndim, X.shape, what)
    if X.dtype.kind == "c":
        raise InputError(f"Complex data not supported: {what} has dtype {X.dtype}; pass real numbers")
    if X.dtype.kind == "O":
        raise InputError(f"{what} is sparse with dtype object: convert it to float64 first")
    if X.shape[1] > _WIDEST:
        raise InputError(
            f"{what} has {X.shape[1]:,} columns, and each takes memory: there may be {_WIDEST:,}; "
            "number those that have entries anew, by numpy.unique(X.indices, return_inverse=True)"
        )
    csr = X if X.format == "csr" else X.tocsr()
    if csr.dtype not in (np.float32, np.float64):
        csr = csr.astype(np.float64)
    # compiled loops do not check the index arrays, so invalid ones are refused here
    indptr, indices, nnz = csr.indptr, csr.indices, int(csr.indptr[-1])
    sound = len(indptr) == csr.shape[0] + 1 and indptr[0] == 0 and bool((indptr[1:] >= indptr[:-1]).all())
    sound = sound and nnz <= min(len(indices), len(csr.data))
    if sound and nnz:
        sound = indices[:nnz].min() >= 0 and indices[:nnz].max() < csr.shape[1]
    if not sound:
        raise InputError(f"{what} is a broken CSR matrix: its indices or indptr leave shape {csr.shape}; build it anew")
    if len(csr.data) > nnz or len(csr.indices) > nnz:  # spare capacity beyond the last entry: take a view without it
        csr = type(csr)((csr.data[:nnz], csr.indices[:nnz], csr.indptr), shape=csr.shape)
    if not csr.has_canonical_format:
        from scipy.sparse import csr_array

        arrays = csr.data.copy(), csr.indices, csr.indptr  # scipy's loops require equal integer types
        csr = csr.copy() if csr.indices.dtype == csr.indptr.dtype else csr_array(arrays, shape=csr.shape)
        csr.sum_duplicates()  # sorts too
    return csr


def stored_entries(X: Any) -> np.ndarray:
    """Return the number of stored entries of each column of a CSR matrix: int64, shape (n_features,)."""
    counts, step = np.zeros(X.shape[1], dtype=np.int64), max(_CHUNK, X.shape[1])
    for start in range(0, len(X.indices), step):  # numpy copies the array that it counts
        counts += np.bincount(X.indices[start : start + step], minlength=len(counts))
    return counts


def require_finite(X: Features, *, what: str = "X", holes: bool = False, first: int = 0) -> None:
    """Refuse NaN and infinity with a message that names the first such entry.

    Parameters
    ----------
    X : ndarray or scipy CSR of shape (n_samples, n_features)
        Read in row chunks of about a million entries; never copied.
    what : str, default="X"
        The name of X in the message.
    holes : bool, default=False
        Whether NaN is allowed; infinity is refused in any case.
    first : int, default=0
        The number of rows before X, if X is a piece of the data.

    Raises
    ------
    InputError
        Names the row and column of the first NaN or infinite entry, both counted from 1.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.data import require_finite
    >>> require_finite(np.array([[1.0, 2.0], [3.0, np.nan]]), holes=True)
    >>> require_finite(np.array([[1.0, 2.0], [3.0, np.inf]]))
    Traceback (most recent call last):
    ...
    svmkit.errors.InputError: X contains infinity (inf) at row 2, column 2 ...
    """
    values = X.data if is_sparse(X) else X
    if values.dtype.kind not in "fc" or values.size == 0:
        return
    if is_mapped(X):
        examine(X)
        if is_examined(X) or Moments.from_rows(X).is_finite:
            return
    with np.errstate(all="ignore"):
        # NaN and infinity survive summation; finite values whose sum overflows only cause the closer check
        if np.isfinite(values.sum()):
            return
    _refuse_bad(X, what, holes, first)


def _refuse_bad(X: Features, what: str, holes: bool, first: int) -> None:
    """Raise the InputError of `require_finite` for an invalid entry."""
    place = _first_bad(X, (lambda part: ~np.isinf(part)) if holes else np.isfinite)
    if place is None:
        return
    row, column, value = place
    kind = "NaN" if np.isnan(value) else "infinity (inf)"
    raise InputError(
        f"{what} contains {kind} at row {first + row + 1}, column {column + 1} (both counted from 1): "
        "drop that row or fill in a finite number"
    )


def require_finite_when_read(X: np.ndarray, *, what: str = "X") -> None:
    """Refuse NaN and infinity as `require_finite` does, but for a float32 map in the first pass over all rows.

    Other arrays are checked at once: the square of a float64 entry may be infinite although the entry is finite.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features that are mapped to a file.
    what : str, default="X"
        The name of X in the message.
    """
    if X.dtype == np.float32 and X.flags.c_contiguous and not X.flags.writeable and is_mapped(X):
        examine_when_read(X, _Examination(len(X), what))
    else:
        require_finite(X, what=what)


class _Examination:
    """The check for NaN and infinity in rows of float32, by their square norms.

    Parameters
    ----------
    n, what : int, str
        The number of rows, and their name in messages.
    """

    def __init__(self, n: int, what: str) -> None:
        self.what, self.norms = what, np.full(n, np.nan)

    def look(self, rows: np.ndarray, first: int) -> None:
        from svmkit.data.prepare.moment_loops import fill_norms  # here: small data do not need numba

        norms = self.norms[first : first + len(rows)]
        spread(fill_norms, len(rows), _ENTRY * rows.shape[1], rows, norms)
        if not np.isfinite(norms).all():
            _refuse_bad(rows, self.what, False, first)


def _first_bad(X: Features, is_good: Callable[[Any], np.ndarray]) -> tuple[int, int, float] | None:
    """Return the row, the column and the value of the first invalid entry."""
    parts, step = (X.data, _CHUNK) if is_sparse(X) else (X, max(1, _CHUNK // max(1, X.shape[1])))
    for start in range(0, len(parts), step):
        good = is_good(parts[start : start + step])
        if good.all():
            continue
        if is_sparse(X):
            at = start + int(np.argmin(good))
            row = int(np.searchsorted(X.indptr, at, side="right")) - 1
            return row, int(X.indices[at]), float(X.data[at])
        row, column = (int(i) for i in np.unravel_index(int(np.argmin(good)), good.shape))
        return start + row, column, float(X[start + row, column])
    return None


def pad_or_refuse_columns(
    X: Features, n_features: int, *, what: str = "X", name: str = "SVMModel", pad: bool = False
) -> Features:
    """Return X with exactly `n_features` columns. A sparse X may lack the last ones; other widths are refused.

    Parameters
    ----------
    X : ndarray or scipy CSR of shape (n_samples, d)
    n_features : int
    what, name : str, names of X and the model in the message
    pad : bool, whether a dense X is padded as well (a copy); a CSR always is, without copying its data
    """
    rows, d = X.shape
    if d == n_features:
        return X
    if d < n_features and is_sparse(X):
        padded = type(X)((X.data, X.indices, X.indptr), shape=(rows, n_features), copy=False)
        padded.has_canonical_format = X.has_canonical_format  # saves a second check of the same index arrays
        return padded
    if d < n_features and pad:
        return np.pad(X, ((0, 0), (0, n_features - d)))
    raise InputError(
        f"{what} has {d} features, but {name} is expecting {n_features} features as input: "
        "pass the columns that it was trained on"
    )
