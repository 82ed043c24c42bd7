"""The columns and labels that parts must have in common, and the storage that all of them get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from svmkit.data.formats.layout import DENSE_FROM
from svmkit.data.tables.table import listed
from svmkit.errors import InputError
from svmkit_dask.part import Layout
from svmkit_dask.survey import Answers, Facts


def answers_of(one: Facts) -> Answers:
    """Return the summary of the answers of a part that has rows."""
    assert one.answers is not None
    return one.answers


def example_of(one: Facts) -> str:
    """Return an answer of a part, for messages."""
    answers = answers_of(one)
    return f"{answers.low:g}" if answers.values is None else repr(answers.values[0].item())


def require_one_kind(facts: Sequence[Facts]) -> None:
    """Refuse labels that are text in some parts and numbers in others."""
    first = facts[0]
    other = next((one for one in facts if answers_of(one).is_text != answers_of(first).is_text), None)
    if other is None:
        return
    text, number = (first, other) if answers_of(first).is_text else (other, first)
    raise InputError(
        f"{text.name}: its labels are text ({example_of(text)}), but numbers in {number.name} ({example_of(number)}): "
        "give all parts labels of one kind"
    )


def require_columns(facts: Sequence[Facts]) -> None:
    """Refuse parts whose columns are not those of the first part; sparse rows may lack the last columns."""
    fixed = [one for one in facts if not one.is_sparse]
    if not fixed:
        return
    first = fixed[0]
    for one in facts:
        wrong = one.n_features > first.n_features if one.is_sparse else one.n_features != first.n_features
        if wrong:
            raise InputError(
                f"{one.name}: has {one.n_features:,} feature columns, but {first.name} has {first.n_features:,}: "
                "give all parts the same columns"
            )
    tables = [one for one in fixed if one.written.encoding is not None]
    for one in tables[1:]:
        _require_same_table(tables[0], one)


def _require_same_table(first: Facts, one: Facts) -> None:
    """Refuse a table whose columns have other names, another order or other dates than those of the first table."""
    mine, other = one.written.encoding, first.written.encoding
    assert mine is not None and other is not None
    mend = "give all parts the same columns in one order"
    if mine.header and other.header:
        if mine.columns != other.columns:
            odd = [name for name in mine.columns if name not in other.columns]
            what = (
                f"{listed(odd)}, which {first.name} lacks" if odd else f"its columns in another order than {first.name}"
            )
            raise InputError(f"{one.name}: has {what}: {mend}")
        if mine.label != other.label:
            raise InputError(
                f"{one.name}: its label is column {mine.label!r}, but {other.label!r} in {first.name}: name it with "
                "--label COL"
            )
    elif mine.label_index != other.label_index:
        raise InputError(
            f"{one.name}: its label is column {mine.label_index}, but column {other.label_index} in {first.name} "
            "(counted from 0): name it with --label COL"
        )
    if mine.dates != other.dates:
        at = next(i for i, (a, b) in enumerate(zip(mine.dates, other.dates, strict=True)) if a != b)
        raise InputError(
            f"{one.name}: {listed([mine.columns[at]])} holds {mine.dates[at] or 'numbers'}, but "
            f"{other.dates[at] or 'numbers'} in {first.name}: write dates as 2024-12-31 in all parts"
        )


def shift(one: Facts, layout: Layout) -> int:
    """Return the number of columns that the layout puts in front of those of a part."""
    return int(layout.from_zero and one.written.from_zero is False)


def layout_of(facts: Sequence[Facts]) -> Layout:
    """Return the storage that one machine would give to all rows."""
    from_zero = any(one.written.from_zero for one in facts)
    width = max(one.n_features + (from_zero and one.written.from_zero is False) for one in facts)
    sparse = [one for one in facts if one.is_sparse]
    stored = sum(one.n_stored for one in facts)
    cells = sum(one.n_rows for one in facts) * width
    is_sparse = any(not one.written.by_density for one in sparse) or (bool(sparse) and stored < DENSE_FROM * cells)
    dtype: Any = np.result_type(*(np.dtype(one.dtype) for one in facts))
    return Layout(width, is_sparse, dtype.name, from_zero)
