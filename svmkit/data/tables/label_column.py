"""The label column of a table: its position, and the labels in it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import numpy as np

from svmkit.data.formats.cells import is_number, number
from svmkit.data.formats.layout import integral
from svmkit.data.prepare.encoding import BY_NAME, GIVEN, LAST, Encoding
from svmkit.data.prepare.reading import Reading
from svmkit.data.tables.table import Table, name_columns
from svmkit.errors import InputError

_NAMES = ("label", "target", "class", "y")


def position_of(table: Table, column: str | int) -> int:
    """Return the position of a column given by name or position; raise InputError if there is none."""
    names = table.names
    if isinstance(column, str) and column in names:
        return names.index(column)
    try:
        position = int(column)
    except ValueError:
        close = difflib.get_close_matches(str(column), names, n=3)
        offer = f"did you mean {' or '.join(close)}?" if close else f"it has {name_columns(names)}"
        header = "" if table.has_header else " (the file has no header)"
        raise InputError(
            f"{table.path}: has no column {column!r}{header}: {offer}; or give a position from 0"
        ) from None
    if not -len(names) <= position < len(names):
        raise InputError(f"{table.path}: has no column {position}: it has {len(names)}, counted 0 to {len(names) - 1}")
    return position % len(names)


def positions_of(table: Table, columns: Sequence[str | int]) -> list[int]:
    """Return the positions of columns; a text that is not a name may contain several separated by commas."""
    positions = []
    for column in columns:
        is_name = not isinstance(column, str) or column in table.names
        parts = [column] if is_name else [part.strip() for part in str(column).split(",") if part.strip()]
        positions += [position_of(table, part) for part in parts]
    return positions


def choose(
    table: Table, reading: Reading, dropped: Sequence[int], labelled: bool, n_features: int | None
) -> tuple[int | None, str | None]:
    """Return the position of the label in a training table and how it was chosen; None if there is no label.

    Parameters
    ----------
    table, reading : Table, Reading
    dropped : sequence of int, the columns that are left out
    labelled : bool, whether the last column is the label by default
    n_features : int or None, the number of features that a model expects
    """
    if reading.label is not None:
        several = positions_of(table, [reading.label])
        for at in several:
            if at in dropped:
                raise InputError(f"{table.path}: {table.column(at)} is the label and is dropped, too: leave one out")
        return several[0], GIVEN
    left = [i for i in range(len(table.names)) if i not in dropped]
    if table.has_header:
        lower = {table.names[i].lower(): i for i in reversed(left)}
        position = next((lower[name] for name in _NAMES if name in lower), None)
        if position is not None:
            return position, BY_NAME
    if left and (labelled or n_features == len(left) - 1):
        return left[-1], LAST
    return None, None


def further_labels(table: Table, reading: Reading) -> tuple[int, ...]:
    """Return the positions of all label columns but the first; raise InputError if they have no names, or one is given
    twice.
    """
    several = [] if reading.label is None else positions_of(table, [reading.label])
    if len(several) > 1 and not table.has_header:
        raise InputError(f"{table.path}: several label columns need a header, by which they are known later")
    if len(set(several)) < len(several):
        raise InputError(f"{table.path}: --label {reading.label} names a column twice: name each once")
    return tuple(several[1:])


def join_labels(
    table: Table, first: np.ndarray, more: Sequence[int], encoding: Encoding | None, decimal: str | None
) -> np.ndarray:
    """Return the labels of several columns as numbers, (n_rows, n_labels).

    Parameters
    ----------
    table, encoding, decimal : as for `labels`
    first : ndarray of shape (n_rows,), the labels of the first column
    more : sequence of int, the positions of the others
    """
    every = [first]
    for at in more:
        column = labels(table, at, encoding, True, decimal)
        assert column is not None
        every.append(column)
    for column in every:
        if column.dtype.kind not in "biuf":
            raise InputError(
                f"{table.path}: a label column holds text ({column[0]!r}): several hold numbers, or 0 and 1"
            )
    return np.stack(every, axis=1)


def match(
    table: Table, encoding: Encoding, label: str | int | None, allow_missing: bool = False
) -> tuple[list[int | None], int | None]:
    """Return the positions of the encoding's columns and of the label in this table (None if it has no label).

    Parameters
    ----------
    table, encoding : Table, Encoding
    label : str or int or None, the label column, where it is given
    allow_missing : bool, whether columns may be missing, whose position is None, from a table with a header
    """
    if encoding.header and table.has_header:
        place = {name: i for i, name in enumerate(table.names)}
        lacking = [name for name in encoding.columns if name not in place]
        if lacking and (not allow_missing or len(lacking) == len(encoding.columns)):
            option = "" if table.is_in_memory or allow_missing else ", or take it as holes (--allow-missing)"
            raise InputError(
                f"{table.path}: lacks {name_columns(lacking)}, which the model was trained on: add what is missing"
                f"{option}"
            )
        at = position_of(table, label) if label is not None else place.get(encoding.label or "")
        if at is None and label is None and encoding.label is None:  # trained without labels, which these data may have
            free = [name for name in table.names if name.lower() in _NAMES and name not in encoding.columns]
            at = place[free[0]] if free else None
        return [place.get(name) for name in encoding.columns], at
    width, wanted = len(table.names), len(encoding.columns)
    index = encoding.label_index
    if encoding.positions is not None and encoding.width is not None and width != wanted:
        if width == encoding.width:
            return list(encoding.positions), index if label is None else position_of(table, label)
        if width == encoding.width - 1 and index is not None and label is None:
            return [at - (at > index) for at in encoding.positions], None
        raise InputError(
            f"{table.path}: has {width} columns, but the model was trained on {wanted} of {encoding.width}: "
            "give the same columns in the same order"
        )
    if width == wanted and label is None:
        return list(range(width)), None
    if width != wanted + 1:
        raise InputError(
            f"{table.path}: has {width} columns, but the model was trained on {wanted} and a label: "
            "give the same columns in the same order"
        )
    at = position_of(table, label) if label is not None else width - 1 if index is None else index
    return [i for i in range(width) if i != at], at


def labels(
    table: Table, at: int, encoding: Encoding | None, required: bool, decimal: str | None = None
) -> np.ndarray | None:
    """Return the labels in a column: int64, float64 or text. Raises InputError: a label is missing or infinite, or text
    where those of training are numbers.

    Parameters
    ----------
    table : Table, with its cells
    at : int, the position of the label
    encoding : Encoding or None, what training has learnt; its labels may be text
    required : bool, whether a missing label is an error; else the result is None
    decimal : {".", ","} or None, the mark that was given; numbers in groups of three digits are then numbers
    """
    import pandas as pd

    series = table.frame[at]
    missing = series.isna().to_numpy()
    if missing.any():
        if required:
            raise table.refusal(
                int(np.argmax(missing)), at, "has no label", "drop that row, label it, or name the label: --label COL"
            )
        return None
    if pd.api.types.is_numeric_dtype(series.dtype):  # booleans too
        values = series.to_numpy(dtype=np.float64) if series.dtype.kind == "f" else series.to_numpy()
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise table.refusal(row, at, "holds a label that is not finite", "drop that row or label it")
        y = integral(values)
        return y if encoding is None or not encoding.label_text else y.astype(np.str_)
    codes, uniques = pd.factorize(series)
    texts = [str(value) for value in uniques]
    if decimal is not None and (encoding is None or not encoding.label_text):
        numbers = [None if text.isalpha() else number(text, decimal) for text in texts]
        if None not in numbers:
            return integral(np.array(numbers, dtype=np.float64)[codes])
    if encoding is not None and encoding.label is not None and not encoding.label_text:
        if not required:  # a placeholder instead of labels
            return None
        row = int(np.argmax(np.isin(codes, [i for i, text in enumerate(texts) if not is_number(text)])))
        raise table.refusal(row, at, "holds text, but the model's labels are numbers", "give the same labels")
    return np.array(texts, dtype=np.str_)[codes]
