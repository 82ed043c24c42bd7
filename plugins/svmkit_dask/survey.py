"""What the driver must know of a part: facts whose size does not grow with the number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b

import numpy as np

from svmkit.data.prepare.features import Features, require_finite
from svmkit.errors import InputError
from svmkit_dask.moments import Moments
from svmkit_dask.part import Part, Written

MOST_LABELS = 100_000  # different labels beyond which they are no classes


@dataclass(frozen=True, eq=False)
class Answers:
    """The labels or targets of a part in short.

    Attributes
    ----------
    is_text : bool
        Whether they are text.
    values, counts : ndarray of shape (n_values,), or None
        The different answers, sorted, and how often each occurs; None if there are more than 100,000.
    n : int
        Number of rows.
    low, high, total : float
        Least, largest and sum of numbers; NaN of text.
    """

    is_text: bool
    values: np.ndarray | None
    counts: np.ndarray | None
    n: int
    low: float = np.nan
    high: float = np.nan
    total: float = np.nan

    @classmethod
    def of(cls, answers: np.ndarray) -> Answers:
        """Return the summary of a part's answers."""
        values, counts = np.unique(answers, return_counts=True)
        n, few = len(answers), len(values) <= MOST_LABELS
        kept, often = (values, counts) if few else (None, None)
        if answers.dtype.kind in "US":
            return cls(True, kept, often, n)
        total = float(answers.sum(dtype=np.float64))
        return cls(False, kept, often, n, float(values[0]), float(values[-1]), total)


@dataclass(frozen=True, eq=False)
class Facts:
    """What the driver must know of a part.

    Attributes
    ----------
    name : str
        The part in messages.
    n_rows, n_features : int
        Number of rows and columns.
    n_stored : int
        Number of entries that are stored.
    is_sparse : bool
        Whether the rows are CSR.
    dtype : str
        "float32" or "float64".
    written : Written
        What the file leaves open until all parts are known.
    digest : str
        A BLAKE2b hash of features, answers and weights, wherever the rows are held.
    answers : Answers or None
        The labels or targets; None without rows.
    moments : Moments
        Of the columns.
    flags : ndarray of bool, shape (n_features,), or None
        The columns of a table that hold nothing but 0 and 1, dates excepted; None for other formats.
    weights : tuple of float, or None
        Sum, least and largest of the rows' weights, if they have any.
    """

    name: str
    n_rows: int
    n_features: int
    n_stored: int
    is_sparse: bool
    dtype: str
    written: Written
    digest: str
    answers: Answers | None
    moments: Moments
    flags: np.ndarray | None
    weights: tuple[float, float, float] | None


def facts_of(part: Part, name: str) -> Facts:
    """Return the facts of a part, for which its rows are read once.

    Parameters
    ----------
    part : Part
        The part as its source loads it, before `Dealt.layout` is known.
    name : str
        The part in messages.

    Raises
    ------
    InputError
        An entry, an answer or a weight is NaN or infinite; the message names the part, row and column.
    """
    _require_finite_answers(part, name)
    found, is_flag, stored = [Moments.empty(part.n_features)], np.ones(part.n_features, dtype=bool), 0
    is_table = part.written.encoding is not None
    digest = _Digest(part)
    for first, X in part.blocks():
        try:
            require_finite(X, what=name, first=first)
        except InputError as err:
            raise InputError(f"{err} (--impute is not available on a cluster)") from err
        digest.update(X)
        found.append(Moments.of(X))
        stored += X.nnz if part.is_sparse else X.size
        if is_table:
            is_flag &= ((X == 0.0) | (X == 1.0)).all(axis=0)
    if part.written.encoding is not None and part.n_rows:
        is_flag &= [order is None for order in part.written.encoding.dates]
    weights = part.weights
    return Facts(
        name=name,
        n_rows=part.n_rows,
        n_features=part.n_features,
        n_stored=stored,
        is_sparse=part.is_sparse,
        dtype=np.dtype(part.dtype).name,
        written=part.written,
        digest=digest.finished(part),
        answers=Answers.of(part.answers) if part.n_rows else None,
        moments=reduce(Moments.merged, found),
        flags=is_flag if is_table else None,
        weights=None if weights is None or not len(weights) else _extent(weights),
    )


def _extent(weights: np.ndarray) -> tuple[float, float, float]:
    return float(weights.sum()), float(weights.min()), float(weights.max())


def _require_finite_answers(part: Part, name: str) -> None:
    for what, values in (("label", part.answers), ("weight", part.weights)):
        if values is None or values.dtype.kind != "f" or np.isfinite(values).all():
            continue
        row = int(np.argmin(np.isfinite(values)))
        raise InputError(f"{name}: the {what} of row {row + 1} (counted from 1) is {values[row]}: drop that row")
    if part.weights is not None and part.n_rows and part.weights.min() < 0:
        row = int(np.argmin(part.weights))
        raise InputError(f"{name}: the weight of row {row + 1} (counted from 1) is negative: give weights >= 0")


class _Digest:
    """The hash of rows that come in blocks, wherever these are cut."""

    def __init__(self, part: Part) -> None:
        self._parts = [blake2b(digest_size=32) for _ in range(3 if part.is_sparse else 1)]

    def update(self, X: Features) -> None:
        arrays = [X] if len(self._parts) == 1 else [X.data, X.indices, np.diff(X.indptr).astype(np.int64)]
        for digest, array in zip(self._parts, arrays, strict=True):
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

    def finished(self, part: Part) -> str:
        whole = blake2b(repr((part.n_rows, part.n_features, part.is_sparse, str(part.dtype))).encode(), digest_size=32)
        for digest in self._parts:
            whole.update(digest.digest())
        if part.answers.dtype.kind in "US":
            values, codes = np.unique(part.answers, return_inverse=True)
            whole.update(repr(values.tolist()).encode() + codes.astype(np.int64).tobytes())
        else:
            whole.update(part.answers.astype(np.float64).tobytes())
        if part.weights is not None:
            whole.update(np.ascontiguousarray(part.weights, dtype=np.float64).tobytes())
        return whole.hexdigest()
