"""Feature matrices of tables: numbers stay as they are, text becomes a 0/1 feature for each category."""

from __future__ import annotations

import warnings
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from svmkit.data.csvtext import is_number
from svmkit.data.encoding import Encoding
from svmkit.data.layout import DENSE_FROM, csr
from svmkit.data.table import Table
from svmkit.errors import InputError, SvmkitWarning

# a text column with at least this share of numbers is a number column with a slip in it
_MOSTLY = 0.95

_TRUTH = {"": np.nan, "True": 1.0, "False": 0.0, "TRUE": 1.0, "FALSE": 0.0, "true": 1.0, "false": 0.0}


class Column(NamedTuple):
    """An encoded column: float64 values, or codes of `width` categories, where -1 means none of them."""

    values: np.ndarray
    width: int
    is_text: bool


def learn(
    table: Table, positions: list[int], *, holes: bool = False
) -> tuple[Any, tuple[tuple[str, ...] | None, ...], np.ndarray]:
    """Return the matrix of these columns, the sorted categories of each (None for numbers), and which are flags."""
    columns: list[Column] = []
    categories: list[tuple[str, ...] | None] = []
    for position in positions:
        found = None
        if _is_text(table, position):
            codes, texts = _factorized(table, position)
            if not _is_mistyped_number(table, position, codes, texts):
                order = sorted(range(len(texts)), key=texts.__getitem__)
                rank = np.empty(len(texts), dtype=np.int32)
                rank[order] = np.arange(len(texts), dtype=np.int32)
                found = tuple(texts[i] for i in order)
                columns.append(Column(rank[codes], len(found), True))
        if found is None:
            columns.append(Column(_numbers(table, position), 1, False))
        categories.append(found)
    if not holes:
        _require_no_holes(table, positions, columns)
    flags = np.concatenate([np.full(column.width, column.is_text or _is_flag(column.values)) for column in columns])
    return _assembled(columns, len(table.frame)), tuple(categories), flags


def apply(table: Table, positions: list[int], encoding: Encoding, *, holes: bool = False) -> Any:
    """Return the matrix of these columns in a learnt encoding. Unknown categories become zeros, with one warning."""
    columns: list[Column] = []
    unseen, first = 0, ""
    for position, known in zip(positions, encoding.categories, strict=True):
        if known is None:
            columns.append(Column(_numbers(table, position), 1, False))
            continue
        codes, texts = _factorized(table, position)
        place = {text: i for i, text in enumerate(known)}
        mapped = np.array([place.get(text, -1) for text in texts], dtype=np.int32)[codes]
        count = int(np.count_nonzero(mapped < 0))
        if count and not unseen:
            first = f"{table.column(position)}: {texts[codes[int(np.argmax(mapped < 0))]]!r}"
        unseen += count
        columns.append(Column(mapped, len(known), True))
    if unseen:
        warnings.warn(
            f"{table.path}: {unseen} cells hold categories that training never saw (first in {first}); "
            "they count as zeros",
            SvmkitWarning,
            stacklevel=4,
        )
    if not holes:
        _require_no_holes(table, positions, columns)
    return _assembled(columns, len(table.frame))


def _is_text(table: Table, position: int) -> bool:
    import pandas as pd

    dtype = table.frame[position].dtype
    if pd.api.types.is_numeric_dtype(dtype):  # booleans too
        return False
    if isinstance(dtype, pd.CategoricalDtype) or dtype.kind == "O":
        return True
    raise InputError(
        f"{table.path}: {table.column(position)} has type {dtype}: convert it to numbers or text, or drop it"
    )


def _factorized(table: Table, position: int) -> tuple[np.ndarray, list[str]]:
    """Return codes of a text column and its texts in order of appearance; a missing cell is the text ""."""
    import pandas as pd

    series = table.frame[position]
    try:
        codes, uniques = pd.factorize(series)
    except TypeError:  # lists and the like cannot be distinguished
        codes, uniques = np.zeros(len(series), dtype=np.intp), [series.iloc[0]]
    odd = next((value for value in uniques if not isinstance(value, str | Number | np.bool_)), None)
    if odd is not None:
        raise InputError(
            f"{table.path}: {table.column(position)} holds {type(odd).__name__}: "
            "convert it to numbers or text, or drop it"
        )
    texts = [str(value) for value in uniques]
    if (codes < 0).any():
        empty = texts.index("") if "" in texts else len(texts)
        codes = np.where(codes < 0, empty, codes)
        texts += [""] if empty == len(texts) else []
    return codes, texts


def _is_mistyped_number(table: Table, position: int, codes: np.ndarray, texts: list[str]) -> bool:
    """Return whether a text column holds only numbers, truth values and empty cells."""
    empty = np.array([text == "" for text in texts])
    likely = ~empty & np.array([_number(text) is not None for text in texts])
    counts = np.bincount(codes, minlength=len(texts))
    filled = counts[~empty].sum()
    share = counts[likely].sum() / filled if filled else 0.0
    if share == 1.0:
        return True
    if share >= _MOSTLY:
        row = int(np.argmax(~(likely | empty)[codes]))
        raise table.refusal(row, position, "is numbers but for text", "mend that cell, or drop the row")
    return False


def _number(text: str) -> float | None:
    """Return the number in a cell: 0 or 1 for a truth value, NaN for an empty cell, None for any other text."""
    if text in _TRUTH:
        return _TRUTH[text]
    return float(text) if is_number(text) else None


def _numbers(table: Table, position: int) -> np.ndarray:
    """Return a number column as float64, NaN for a hole, or refuse a cell that is infinite or text."""
    if _is_text(table, position):
        codes, texts = _factorized(table, position)
        slipped = np.array([_number(text) is None for text in texts])[codes]
        if slipped.any():
            row, problem = int(np.argmax(slipped)), "holds text, but must hold numbers"
            raise table.refusal(row, position, problem, "mend that cell, or drop the row")
        values = np.array([_number(text) for text in texts])[codes]
    else:
        values = table.frame[position].to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise table.refusal(row, position, "holds an infinite value", "fill it in, or drop the row")
    return values


def _is_flag(values: np.ndarray) -> bool:
    """Return whether all numbers of a column are 0 or 1, some of them holes perhaps."""
    known = values[~np.isnan(values)]
    return bool(len(known)) and bool(((known == 0.0) | (known == 1.0)).all())


def _require_no_holes(table: Table, positions: list[int], columns: list[Column]) -> None:
    """Refuse holes in number columns, with the line of the first and the number of each column."""
    counts, first = {}, len(table.frame)
    for position, column in zip(positions, columns, strict=True):
        empty = np.isnan(column.values) if not column.is_text else np.zeros(0, dtype=bool)
        if empty.any():
            counts[position], first = int(empty.sum()), min(first, int(np.argmax(empty)))
    if counts:
        raise table.refusal_of_holes(first, counts)


def _assembled(columns: list[Column], rows: int) -> Any:
    """Return one matrix: dense if at least half full, else CSR without a dense intermediate."""
    starts = np.concatenate([[0], np.cumsum([column.width for column in columns])])
    width = int(starts[-1])
    stored = sum(int(np.count_nonzero(_present(column))) for column in columns)
    if stored >= DENSE_FROM * rows * width:
        return _dense(columns, starts, rows)
    indptr = np.zeros(rows + 1, dtype=np.int64)
    for column in columns:
        indptr[1:] += _present(column)
    np.cumsum(indptr, out=indptr)
    free = indptr[:-1].copy()  # where each row's next entry goes; columns come in order, so rows stay sorted
    data, indices = np.empty(stored), np.empty(stored, dtype=np.int32 if width < 2**31 else np.int64)
    for column, start in zip(columns, starts, strict=False):
        at = np.flatnonzero(_present(column))
        place, values = free[at], column.values[at]
        indices[place] = start + values if column.is_text else start
        data[place] = 1.0 if column.is_text else values
        free[at] += 1
    return csr(data, indices, indptr, (rows, width))


def _present(column: Column) -> np.ndarray:
    return column.values >= 0 if column.is_text else column.values != 0.0


def _dense(columns: list[Column], starts: np.ndarray, rows: int) -> np.ndarray:
    X = np.zeros((rows, int(starts[-1])))
    for column, start in zip(columns, starts, strict=False):
        if column.is_text:
            at = np.flatnonzero(column.values >= 0)
            X[at, start + column.values[at]] = 1.0
        else:
            X[:, start] = column.values
    return X
