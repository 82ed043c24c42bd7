"""Keys of rows: which rows of a file a model was trained on, and which rows of a set are equal across folds."""

from __future__ import annotations

import base64
from typing import Any, NamedTuple

import numpy as np

from svmkit.data.prepare.features import is_sparse

KEPT = 512  # keys in a sketch
MANY = 0.02  # share of rows that are also in another fold from which a note reports them
_CHUNK = 1 << 16  # rows of CSR, or entries of dense rows, whose keys are computed together
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # of splitmix64's finaliser


class Overlap(NamedTuple):
    """The share of rows that were in the training data, and the number of rows compared."""

    share: float
    n_rows: int


def sketch_rows(X: Any) -> str:
    """Return the least `KEPT` keys of rows as text: all of few rows, a random sample of many.

    Keys are hashes, so that the least ones are a sample of the distinct rows that depends on nothing else (a bottom-k
    sketch: Cohen, Kaplan, Summarizing data using bottom-k sketches, PODC 2007). Labels are ignored.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features), before imputing and scaling
    """
    keys = np.unique(row_keys(X))[:KEPT]
    return base64.b64encode(keys.astype("<u8").tobytes()).decode()


def measure_overlap(X: Any, sketch: str) -> Overlap | None:
    """Return the share of the rows of X that are rows of a sketch; None if the sketch covers no row.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
    sketch : str, the result of `sketch_rows`
    """
    known, keys = np.frombuffer(base64.b64decode(sketch), dtype="<u8"), row_keys(X)
    if len(known) == KEPT:  # greater keys were not kept
        keys = keys[keys <= known[-1]]
    return Overlap(float(np.isin(keys, known).mean()), len(keys)) if len(keys) else None


def repeated_line(X: Any, rows: np.ndarray, fold: np.ndarray, harm: str) -> str | None:
    """Return a note if many rows are equal to one in another fold, else None.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
    rows, fold : ndarray of shape (m,), int
        The indices of the held-out rows, and the fold of each.
    harm : str
        The consequence, such as "scores may be too high".
    """
    repeated, n = count_repeated(X, rows, fold), len(np.unique(rows))
    if repeated < max(MANY * n, 1):
        return None
    return (
        f"{repeated:,} of {n:,} rows are equal to one in another fold, so that {harm}: groups keep such rows together "
        "(groups= in Python, --groups COL)"
    )


def count_repeated(X: Any, rows: np.ndarray, fold: np.ndarray) -> int:
    """Return the number of rows that are equal to one of another fold; the parameters are those of `repeated_line`."""
    if not len(rows):
        return 0
    _, at = np.unique(row_keys(X)[rows], return_inverse=True)
    first = np.full(at.max() + 1, -1)
    first[at] = fold
    several = np.zeros(len(first), dtype=bool)
    several[at[first[at] != fold]] = True
    return int(several[at].sum())


def row_keys(X: Any) -> np.ndarray:
    """Return a hash of each row, uint64; zeros are ignored, so that sparse and dense rows have equal hashes."""
    step = _CHUNK if is_sparse(X) else max(1, _CHUNK // max(X.shape[1], 1))
    parts = [_keys_of(X[at : at + step]) for at in range(0, X.shape[0], step)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint64)


def _keys_of(X: Any) -> np.ndarray:
    columns = _mix(np.arange(1, X.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    if not is_sparse(X):
        return _mix(_mix(_bits(X)) @ columns + _FIRST)
    terms = _mix(_bits(X.data)) * columns[X.indices]
    ends = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
    return _mix(ends[X.indptr[1:]] - ends[X.indptr[:-1]] + _FIRST)


def _bits(values: np.ndarray) -> np.ndarray:
    """Return float64 numbers as integers: 0 for both zeros, one number for all NaN."""
    plain = np.ascontiguousarray(values, dtype=np.float64) + 0.0
    return np.where(np.isnan(plain), np.nan, plain).view(np.uint64)


def _mix(numbers: np.ndarray) -> np.ndarray:
    """Return the numbers with their bits mixed (splitmix64's finaliser); 0 stays 0."""
    mixed = (numbers ^ (numbers >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    return mixed ^ (mixed >> np.uint64(31))
