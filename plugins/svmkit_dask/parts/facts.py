"""What the driver must know of a part: facts whose size does not grow with the number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b

import numpy as np

from svmkit.data.prepare import scaling
from svmkit.data.prepare.features import Features, is_sparse, require_finite
from svmkit.errors import InputError
from svmkit.kernels.gamma import column_moments
from svmkit_dask.parts.part import Part, Written


@dataclass(frozen=True, eq=False)
class Moments:
    """What gamma and scaling ask of each column, as arrays (d,); zeros that sparse rows do not store count."""

    n: int  # number of rows
    mean: np.ndarray
    squares: np.ndarray  # the sum of the squared distances from the mean
    low: np.ndarray  # the least and the largest value
    high: np.ndarray

    @classmethod
    def from_rows(cls, X: Features) -> Moments:
        """Return the moments of some rows, at least one."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean, variance = column_moments(X)
            low, high = X.min(axis=0), X.max(axis=0)
            if is_sparse(X):
                low, high = low.toarray().ravel(), high.toarray().ravel()
            return cls(X.shape[0], mean, variance * X.shape[0], low.astype(np.float64), high.astype(np.float64))

    @classmethod
    def empty(cls, d: int) -> Moments:
        """Return the moments of no rows."""
        return cls(0, np.zeros(d), np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf))

    def merge(self, other: Moments) -> Moments:
        """Return the moments of these rows and others with as many columns."""
        n = self.n + other.n
        if not n:
            return self
        with np.errstate(over="ignore", invalid="ignore"):
            difference = other.mean - self.mean
            mean = self.mean + difference * (other.n / n)
            squares = self.squares + other.squares + np.square(difference) * (self.n * (other.n / n))
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Moments(n, mean, squares, low, high)

    def widen(self, d: int, shift: int = 0) -> Moments:
        """Return the moments with columns of zeros: `shift` in front, and behind up to a width of d."""
        behind = d - shift - len(self.mean)
        if not (shift or behind):
            return self
        wide = (np.pad(array, (shift, behind)) for array in (self.mean, self.squares, self.low, self.high))
        return Moments(self.n, *wide)

    def scale(self, by: scaling.Scaling | None) -> Moments:
        """Return the moments of the same rows after scaling."""
        if by is None:
            return self
        low, high = (self.low - by.center) / by.scale, (self.high - by.center) / by.scale
        # a constant column has no rounding in its mean, as little as in the scaled data
        mean = np.where(low == high, low, (self.mean - by.center) / by.scale)
        return Moments(self.n, mean, self.squares / np.square(by.scale), low, high)

    @property
    def variance(self) -> np.ndarray:
        """The population variance of each column."""
        return self.squares / self.n

    def is_constant(self, columns: bool) -> bool:
        """Return whether all entries are equal or, with `columns`, those of each column."""
        return bool((self.low == self.high).all() if columns else self.low.min() == self.high.max())


MOST_LABELS = 100_000  # different labels beyond which they are no classes


@dataclass(frozen=True, eq=False)
class Answers:
    """The labels or targets of a part in short."""

    is_text: bool
    # the different answers, sorted, and how often each occurs, as arrays (n_values,); None beyond `MOST_LABELS`
    values: np.ndarray | None
    counts: np.ndarray | None
    low: float  # least, largest and sum of numbers; NaN of text
    high: float
    total: float

    @classmethod
    def from_values(cls, answers: np.ndarray) -> Answers:
        """Return the summary of a part's answers."""
        values, counts = np.unique(answers, return_counts=True)
        is_text = answers.dtype.kind in "US"
        low, high, total = [np.nan] * 3 if is_text else [values[0], values[-1], answers.sum(dtype=np.float64)]
        kept = (values, counts) if len(values) <= MOST_LABELS else (None, None)
        return cls(is_text, *kept, float(low), float(high), float(total))


@dataclass(frozen=True, eq=False)
class Facts:
    """What the driver must know of a part."""

    name: str  # the part in messages
    n_rows: int
    n_features: int
    n_stored: int  # number of entries that are stored
    is_sparse: bool  # whether the rows are CSR
    dtype: str  # "float32" or "float64"
    written: Written  # what the file leaves open until all parts are known
    digest: str  # a BLAKE2b hash of features, answers and weights, wherever the rows are held
    answers: Answers | None  # the labels or targets; None without rows
    moments: Moments
    # bool (n_features,): the columns of a table that hold nothing but 0 and 1, dates excepted; None for other formats
    flags: np.ndarray | None


def facts_of(part: Part, name: str) -> Facts:
    """Return the facts of a part as its source loads it, before `Summary.layout` is known; its rows are read once.

    An entry, an answer or a weight that is not finite raises InputError, which names the part, row and column.
    """
    for what, values in (("label", part.answers), ("weight", part.weights)):
        if values is not None and values.dtype.kind == "f" and not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise InputError(f"{name}: the {what} of row {row + 1} (counted from 1) is {values[row]}: drop that row")
    if part.weights is not None and part.n_rows and part.weights.min() < 0:
        row = int(np.argmin(part.weights))
        raise InputError(f"{name}: the weight of row {row + 1} (counted from 1) is negative: give weights >= 0")
    pieces, is_flag, stored = [Moments.empty(part.n_features)], np.ones(part.n_features, dtype=bool), 0
    is_table = part.written.encoding is not None
    digest = _Digest(part)
    for first, X in part.blocks():
        try:
            require_finite(X, what=name, first=first)
        except InputError as err:
            raise InputError(f"{err} (--impute is not available on a cluster)") from err
        digest.update(X)
        pieces.append(Moments.from_rows(X))
        stored += X.nnz if part.is_sparse else X.size
        if is_table:
            is_flag &= ((X == 0.0) | (X == 1.0)).all(axis=0)
    if part.written.encoding is not None and part.n_rows:
        is_flag &= [order is None for order in part.written.encoding.dates]
    return Facts(
        name=name,
        n_rows=part.n_rows,
        n_features=part.n_features,
        n_stored=stored,
        is_sparse=part.is_sparse,
        dtype=np.dtype(part.dtype).name,
        written=part.written,
        digest=digest.whole(),
        answers=Answers.from_values(part.answers) if part.n_rows else None,
        moments=reduce(Moments.merge, pieces),
        flags=is_flag if is_table else None,
    )


class _Digest:
    """The hash of rows that come in blocks, wherever these are cut."""

    def __init__(self, part: Part) -> None:
        self._part, self._digests = part, [blake2b(digest_size=32) for _ in range(3 if part.is_sparse else 1)]

    def update(self, X: Features) -> None:
        arrays = [X.data, X.indices, np.diff(X.indptr).astype(np.int64)] if self._part.is_sparse else [X]
        for digest, array in zip(self._digests, arrays, strict=True):
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

    def whole(self) -> str:
        part = self._part
        whole = blake2b(repr((part.n_rows, part.n_features, part.is_sparse, str(part.dtype))).encode(), digest_size=32)
        for digest in self._digests:
            whole.update(digest.digest())
        if part.answers.dtype.kind in "US":
            values, codes = np.unique(part.answers, return_inverse=True)
            whole.update(repr(values.tolist()).encode() + codes.astype(np.int64).tobytes())
        else:
            whole.update(part.answers.astype(np.float64).tobytes())
        if part.weights is not None:
            whole.update(np.ascontiguousarray(part.weights, dtype=np.float64).tobytes())
        return whole.hexdigest()
