"""What parts read one by one leave open until all are known: the columns, the storage of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from svmkit.data.formats.layout import DENSE_FROM
from svmkit.data.formats.wide import sparse_rows
from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.features import Features, is_sparse
from svmkit.data.tables.table import name_columns
from svmkit.errors import InputError


@dataclass(frozen=True)
class Written:
    """What the file of a part leaves open until the other parts are read."""

    # whether a column of index 0 occurs in an svmlight file: if it does in one part, columns count from 0 in all. None
    # for a format without such indices
    from_zero: bool | None = None
    # whether density decides between dense and sparse rows, as in `svmkit.load` for svmlight
    by_density: bool = False
    encoding: Encoding | None = None  # how the columns of a table became features


@dataclass(frozen=True)
class Layout:
    """The storage of the rows of all parts, once all parts are known (`Summary.layout`)."""

    n_features: int  # number of columns
    is_sparse: bool  # whether the rows are CSR
    dtype: str  # "float32" or "float64"
    from_zero: bool = False  # whether the columns of svmlight files count from 0

    def shift(self, written: Written) -> int:
        """Return the number of columns to insert before the columns of a part."""
        return int(self.from_zero and written.from_zero is False)

    def apply(self, X: Features, written: Written) -> Features:
        """Return rows of a part in this storage; X itself if nothing changes."""
        shift = self.shift(written)
        width = X.shape[1] + shift
        if X.dtype != self.dtype:
            X = X.astype(self.dtype)
        if is_sparse(X):
            if shift or width < self.n_features:
                indices = X.indices + shift if shift else X.indices
                X = csr((X.data, indices, X.indptr), self.n_features)
            return X if self.is_sparse else X.toarray()
        if width < self.n_features:
            X = np.pad(X, ((0, 0), (shift, self.n_features - width)))
        return csr_array(X) if self.is_sparse else X


@dataclass(frozen=True, eq=False)
class About:
    """The facts about a part with rows that are needed to join it with others."""

    name: str  # the part in messages
    n_rows: int
    n_features: int
    n_stored: int  # number of stored entries
    is_sparse: bool  # whether the rows are CSR
    dtype: str  # "float32" or "float64"
    written: Written  # what the file leaves open until all parts are known
    # bool (n_features,): the columns of a table that contain only 0 and 1, except dates; None for other formats
    flags: np.ndarray | None


def csr(arrays: tuple[np.ndarray, np.ndarray, np.ndarray], n_features: int) -> Any:
    """Return a CSR array of data, indices and pointers that are known to be canonical, without checking them."""
    X = sparse_rows(*arrays, n_features)
    X.has_canonical_format = True
    return X


def rows_of(X: Features, lo: int, hi: int) -> Features:
    """Return rows lo to hi - 1 as views; for CSR only the row pointers are copied."""
    if not is_sparse(X):
        return X[lo:hi]
    begin, end = X.indptr[lo], X.indptr[hi]
    return csr((X.data[begin:end], X.indices[begin:end], X.indptr[lo : hi + 1] - begin), X.shape[1])


def require_columns(facts: Sequence[About]) -> None:
    """Refuse parts whose columns differ from the first part; sparse rows may lack the last columns."""
    fixed = [one for one in facts if not one.is_sparse]
    for one in facts if fixed else ():
        first = fixed[0]
        if one.n_features > first.n_features or (one.n_features < first.n_features and not one.is_sparse):
            raise InputError(
                f"{one.name}: has {one.n_features:,} feature columns, but {first.name} has {first.n_features:,}: "
                "give all parts the same columns"
            )
    tables = [one for one in fixed if one.written.encoding is not None]
    for one in tables[1:]:
        _require_same_table(tables[0], one)


def _require_same_table(first: About, one: About) -> None:
    """Refuse a table whose columns have other names, another order or other dates than in the first table."""
    mine, other, there, fault = one.written.encoding, first.written.encoding, first.name, ""
    assert mine is not None and other is not None
    by_name, named = mine.header and other.header, "name it with --label COL"
    if by_name and mine.columns != other.columns:
        odd = [name for name in mine.columns if name not in other.columns]
        what = f"{name_columns(odd)}, which {there} lacks" if odd else f"its columns in another order than {there}"
        fault = f"has {what}: give all parts the same columns in one order"
    elif by_name and mine.label != other.label:
        fault = f"its label is column {mine.label!r}, but {other.label!r} in {there}: {named}"
    elif not by_name and mine.label_index != other.label_index:
        columns = f"column {mine.label_index}, but column {other.label_index} in {there} (counted from 0)"
        fault = f"its label is {columns}: {named}"
    elif mine.dates != other.dates:
        at = next(i for i, (a, b) in enumerate(zip(mine.dates, other.dates, strict=True)) if a != b)
        kinds = f"{mine.dates[at] or 'numbers'}, but {other.dates[at] or 'numbers'} in {there}"
        fault = f"{name_columns([mine.columns[at]])} holds {kinds}: write dates as 2024-12-31 in all parts"
    if fault:
        raise InputError(f"{one.name}: {fault}")


def layout_of(facts: Sequence[About]) -> Layout:
    """Return the storage of all rows, as on one machine."""
    from_zero = any(one.written.from_zero for one in facts)
    width = max(one.n_features + (from_zero and one.written.from_zero is False) for one in facts)
    sparse = [one for one in facts if one.is_sparse]
    stored, cells = sum(one.n_stored for one in facts), sum(one.n_rows for one in facts) * width
    is_sparse = any(not one.written.by_density for one in sparse) or (bool(sparse) and stored < DENSE_FROM * cells)
    dtype: Any = np.result_type(*(np.dtype(one.dtype) for one in facts))
    return Layout(width, is_sparse, dtype.name, from_zero)
