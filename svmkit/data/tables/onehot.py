"""Feature matrices of tables: numbers are unchanged, text becomes a 0/1 feature for each category."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from svmkit.data.formats.layout import DENSE_FROM, csr
from svmkit.data.prepare.encoding import Encoding
from svmkit.data.tables import columns, refusals
from svmkit.data.tables.columns import Column
from svmkit.data.tables.table import Table
from svmkit.errors import InputError, SvmkitWarning

# A table of at most this many features is dense, however many of its entries are 0: a tenth of 200 columns of 0/1 takes
# 1.6 kB a row instead of 0.24 kB, dense kernel rows are computed faster at this width, and centring or imputing needs
# whole columns in any case. The limit on the bytes keeps large tables out of that (KDD Cup 99: 466 MB, 76 MB as CSR).
DENSE_COLUMNS = 200
DENSE_BYTES = 1 << 28


def apply(
    table: Table, positions: Sequence[int | None], encoding: Encoding, *, holes: bool = False, stacklevel: int = 4
) -> Any:
    """Return the matrix of these columns in a learnt encoding. Unknown categories become zeros, with one warning.
    Raises InputError: a cell of a number column is text or infinite, a date cannot be read, or there are holes.

    Parameters
    ----------
    table : Table, with its cells
    positions : sequence of int, where the columns of `encoding` stand in it, in their order; None for one that it lacks
    encoding : Encoding
    holes : bool, whether number columns may have holes, as NaN
    stacklevel : int, of the warning, as for `warnings.warn`
    """
    read = _read(table, positions, encoding, lenient=False, stacklevel=stacklevel + 1)
    remedy = f"fill them in, or train the model with {table.imputing}"
    refused = refusals.refusal(table, read, holes=holes, remedy=remedy)
    if refused is not None:
        raise refused
    return assemble(read, len(table.frame))


def apply_leniently(
    table: Table,
    positions: Sequence[int | None],
    encoding: Encoding,
    *,
    holes: bool,
    skip: bool,
    stacklevel: int = 4,
) -> tuple[Any, np.ndarray | None]:
    """Return a matrix as `apply` does, in which cells that cannot be read are holes, and None; or, to `skip`, without
    the rows of such cells, and of holes where there may be none, and which rows are in it. One warning counts them.

    Parameters
    ----------
    table, positions, encoding, holes, stacklevel : as for `apply`
    skip : bool, whether rows are left out; else the model fills holes
    """
    if not (holes or skip):
        raise InputError(
            f"{table.path}: --on-error impute is for a model that fills holes, and this one does not: give "
            "--on-error skip, or train it with --impute median"
        )
    read, rows = _read(table, positions, encoding, lenient=True, stacklevel=stacklevel + 1), len(table.frame)
    wrong = [column for column in read if column.unread.any()]
    bad = np.zeros(rows, dtype=bool)
    for column in read:
        bad |= column.unread if holes else column.holes
    if skip and bad.all():
        raise InputError(f"{table.path}: no row can be read: {_first_of(table, wrong) or 'each has a hole'}")
    if skip and bad.any():
        first = _first_of(table, wrong) or f"first a hole in {table.place(int(np.argmax(bad)))}"
        line = f"{np.count_nonzero(bad):,} of {rows:,} rows are skipped: {first}"
        warnings.warn(f"{table.path}: {line}", SvmkitWarning, stacklevel=stacklevel)
    elif wrong:
        n_cells = sum(int(np.count_nonzero(column.unread)) for column in wrong)
        line = f"{n_cells:,} cell{'s' * (n_cells > 1)} cannot be read, filled as holes are: {_first_of(table, wrong)}"
        warnings.warn(f"{table.path}: {line}", SvmkitWarning, stacklevel=stacklevel)
    X = assemble(read, rows)
    return (X[~bad], ~bad) if skip and bad.any() else (X, None)


def _first_of(table: Table, wrong: Sequence[Column]) -> str:
    """Return the first cell that could not be read, in words; "" if there is none."""
    if not wrong:
        return ""
    column = min(wrong, key=lambda column: int(np.argmax(column.unread)))
    row = int(np.argmax(column.unread))
    return f"first {table.place(row)}, {table.column(column.position)} ({table.cell(row, column.position)})"


def _read(
    table: Table, positions: Sequence[int | None], encoding: Encoding, *, lenient: bool, stacklevel: int
) -> list[Column]:
    """Return the columns of a learnt encoding, with one warning for all unknown categories."""
    read: list[Column] = []
    unseen, first, rows = 0, "", len(table.frame)
    for position, form in zip(positions, columns.Form.from_encoding(encoding), strict=True):
        if position is None:
            read.append(columns.fill_absent(rows, form))
            continue
        column, unknown = columns.apply(table, position, form, decimal=encoding.decimal, lenient=lenient)
        if unknown is not None:
            unseen += int(np.count_nonzero(column.values < 0))
            first = first or f"{table.column(position)}: {unknown!r}"
        read.append(column)
    if unseen:
        warnings.warn(
            f"{table.path}: {'1 cell holds a category' if unseen == 1 else f'{unseen:,} cells hold categories'} "
            f"that training never saw (first in {first}): counted as zeros",
            SvmkitWarning,
            stacklevel=stacklevel,
        )
    return read


def assemble(parts: Sequence[Column], rows: int) -> Any:
    """Return one matrix, with NaN as stored entries: dense if it has few columns or is at least half full, else CSR,
    without a dense intermediate.
    """
    starts = np.concatenate([[0], np.cumsum([column.width for column in parts])])
    width = int(starts[-1])
    stored = sum(int(np.count_nonzero(_present(column))) for column in parts)
    is_small = width <= DENSE_COLUMNS and 8 * rows * width <= DENSE_BYTES
    if is_small or stored >= DENSE_FROM * rows * width:
        return _dense(parts, starts, rows)
    indptr = np.zeros(rows + 1, dtype=np.int64)
    for column in parts:
        indptr[1:] += _present(column)
    np.cumsum(indptr, out=indptr)
    free = indptr[:-1].copy()  # position of each row's next entry; columns come in order, so rows stay sorted
    data, indices = np.empty(stored), np.empty(stored, dtype=np.int32 if width < 2**31 else np.int64)
    for column, start in zip(parts, starts, strict=False):
        at = np.flatnonzero(_present(column))
        place, values = free[at], column.values[at]
        indices[place] = start if column.categories is None else start + values
        data[place] = values if column.categories is None else 1.0
        free[at] += 1
    return csr(data, indices, indptr, (rows, width))


def _present(column: Column) -> np.ndarray:
    return column.values != 0.0 if column.categories is None else column.values >= 0


def _dense(parts: Sequence[Column], starts: np.ndarray, rows: int) -> np.ndarray:
    X = np.zeros((rows, int(starts[-1])))
    for column, start in zip(parts, starts, strict=False):
        if column.categories is None:
            X[:, start] = column.values
        else:
            at = np.flatnonzero(column.values >= 0)
            X[at, start + column.values[at]] = 1.0
    return X
