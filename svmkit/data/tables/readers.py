"""Tables: CSV and Parquet files whose columns are numbers, dates, text, and a label."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from svmkit.data.formats.cells import is_number
from svmkit.data.formats.csvtext import Dialect, dialect, records
from svmkit.data.formats.files import split_endings
from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.labels import quantity
from svmkit.data.prepare.reading import Reading
from svmkit.data.tables import alone, columns, label_column, onehot, refusals
from svmkit.data.tables.columns import Column
from svmkit.data.tables.excel import excel_table
from svmkit.data.tables.frames import csv_frames, parquet_tables
from svmkit.data.tables.table import Table, name_columns
from svmkit.errors import InputError, SvmkitWarning

_TRUTH = {"1": True, "1.0": True, "true": True, "yes": True, "0": False, "0.0": False, "false": False, "no": False}


class Relations(NamedTuple):
    """The group of each row, (n_samples,) text, and whether its value was observed, (n_samples,) bool; None without
    such a column.
    """

    groups: np.ndarray | None = None
    observed: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Learnt:
    """A training table with its cells, the columns that become features, and the columns left out as empty."""

    table: Table
    columns: tuple[Column, ...]
    empty: tuple[Column, ...]
    label: int | None  # the position of the label column, and how it was chosen
    chosen: str | None
    reading: Reading
    more: tuple[int, ...] = ()  # the positions of further label columns

    def require_usable(self, holes: bool) -> None:
        """Raise InputError if a column cannot be features as it is."""
        refused = refusals.refusal(self.table, self.columns, holes=holes, decimal=self.reading.decimal)
        if refused is not None:
            raise refused
        if not self.columns:
            raise InputError(f"{self.table.path}: has a label column but no features: all others are empty")

    def encoding(self, is_text: bool, label: str | None = None) -> Encoding:
        """Return what is needed to read later tables in the same way; `is_text` says whether the labels are text, and
        `label` names a column of labels outside the table.
        """
        table = self.table
        positions = tuple(column.position for column in self.columns)
        is_whole = len(positions) + (self.label is not None) == len(table.names)
        return Encoding(
            columns=tuple(table.names[at] for at in positions),
            categories=tuple(column.categories for column in self.columns),
            header=table.has_header,
            label=label if self.label is None else table.names[self.label],
            label_index=self.label,
            label_text=is_text,
            dates=tuple(column.order for column in self.columns),
            amounts=tuple(column.amount for column in self.columns),
            tidy=tuple(column.is_tidy for column in self.columns),
            decimal=self.reading.decimal,
            charset=self.reading.charset,
            positions=None if is_whole else positions,
            width=None if is_whole else len(table.names),
            label_chosen=self.chosen,
            more_labels=tuple(table.names[at] for at in self.more),
            na=tuple(self.reading.na),
        )

    @property
    def relations(self) -> Relations:
        """The group of each row, and whether its value was observed."""
        return _relations(self.table, self.reading)

    @property
    def flags(self) -> np.ndarray:
        """Which features are 0/1 indicators: bool, shape (n_features,)."""
        return np.concatenate([np.full(column.width, column.is_flag) for column in self.columns])

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user about the columns."""
        names = [self.table.names[column.position] for column in self.empty]
        empty = (f"{name_columns(names)}: left out, since no row has a value there",) if names else ()
        return (*refusals.notes(self.table, self.columns), *empty)


class Read(NamedTuple):
    """The result of reading a table, as in `Dataset`."""

    X: Any
    y: np.ndarray | None
    encoding: Encoding
    flags: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    relations: Relations = Relations()
    kept: np.ndarray | None = None


def read_table(
    path: Path,
    kind: str,
    *,
    n_features: int | None,
    encoding: Encoding | None,
    reading: Reading,
    labelled: bool,
    holes: bool,
) -> Read:
    """Read a CSV file (kind "table"), a Parquet file or an Excel file.

    Without `encoding` one is learnt: a text column becomes a 0/1 feature for each category (sorted), a column of
    numbers or booleans one feature, and so does a column of dates (days since 1970-01-01). A text column with numbers
    in at least 95 of 100 cells is refused as a number column with a typing error, and so is one with many distinct
    texts. With `encoding` the columns are matched by name if both tables have a header (others in the file are
    ignored), else by position; unknown categories become zeros, with one warning, and there are no flags and no notes.
    Raises InputError with file, line (Parquet: row) and column of a missing value, of text among numbers or of an
    uneven line; or naming the columns that are missing, or cannot be features.

    Parameters
    ----------
    path, kind : Path, {"table", "parquet", "excel"}
    n_features, encoding, reading, labelled, holes : as for `svmkit.load`
    """
    if encoding is None:
        learnt = learn(path, kind, n_features=n_features, reading=reading, labelled=labelled)
        learnt.require_usable(holes)
        at = learnt.label
        y = None if at is None else label_column.labels(learnt.table, at, None, labelled, reading.decimal)
        if y is not None and learnt.more:
            y = label_column.join_labels(learnt.table, y, learnt.more, None, reading.decimal)
        learnt_encoding = learnt.encoding(y is not None and y.dtype.kind == "U")
        X = onehot.assemble(learnt.columns, len(learnt.table.frame))
        notes = (*learnt.notes, *_leaks(learnt, y))
        return Read(X, y, learnt_encoding, learnt.flags, notes, learnt.relations)
    return _apply(path, kind, _join(encoding, reading), reading, labelled=labelled, holes=holes)


def _leaks(learnt: Learnt, y: np.ndarray | None) -> list[str]:
    """Return a note on columns that each decide the classes alone, if there are any besides other columns."""
    if y is None or y.ndim > 1 or len(y) < alone.FEWEST or not 2 <= len(learnt.columns) <= alone.MOST_COLUMNS:
        return []
    if quantity(y) is not None:
        return []
    areas = {learnt.table.names[c.position]: alone.area(c, y) or 0.0 for c in learnt.columns}
    names = [name for name, area in areas.items() if area >= alone.DECIDES]
    if not names:
        return []
    verb = "decides" if len(names) == 1 else "each decide"
    return [
        f"{name_columns(names)} alone {verb} the label (ROC AUC {areas[names[0]]:.4f}): known only afterwards? "
        f"{learnt.table.drop(names)}"
    ]


def _join(encoding: Encoding, reading: Reading) -> Encoding:
    """Return an encoding for a file with another notation than that of training."""
    decimal, charset = reading.decimal or encoding.decimal, reading.charset or encoding.charset
    return replace(encoding, decimal=decimal, charset=charset, na=(*encoding.na, *reading.na))


def _apply(path: Path, kind: str, encoding: Encoding, reading: Reading, *, labelled: bool, holes: bool) -> Read:
    """Read a table in a learnt encoding."""
    how = replace(reading, decimal=encoding.decimal, charset=encoding.charset, na=encoding.na)
    table = _outline(path, kind, how, encoding)
    positions, at = label_column.match(table, encoding, reading.label, reading.allow_missing)
    if at is None and labelled:
        wanted = f"{encoding.label!r}" if encoding.label else "given"
        raise InputError(f"{path}: has no label column ({wanted}), only features: name it, or predict instead")
    lacking = [name for name, position in zip(encoding.columns, positions, strict=True) if position is None]
    if lacking:
        what = f"{name_columns(lacking)} {'are' if len(lacking) > 1 else 'is'} missing, taken as holes in all rows"
        warnings.warn(f"{path}: {what}", SvmkitWarning, stacklevel=6)
    kinds = zip(positions, encoding.numeric, encoding.amounts, strict=True)
    texts = [i for i, numeric, mark in kinds if i is not None and (mark or not numeric)]
    texts += _relation_positions(table, reading)
    table = _fill(table, at, [*texts, at] if at is not None and encoding.label_text else texts, how)
    if table.repeated:
        warnings.warn(f"{path}: {refusals.note_repeated(table)}", SvmkitWarning, stacklevel=6)
    y = None if at is None else label_column.labels(table, at, encoding, labelled, encoding.decimal)
    if y is not None and encoding.more_labels:
        unnamed = [name for name in encoding.more_labels if name not in table.names]
        if unnamed and labelled:
            raise InputError(f"{path}: has no label {name_columns(unnamed)}: add what is missing, or predict instead")
        more = [] if unnamed else [table.names.index(name) for name in encoding.more_labels]
        y = None if unnamed else label_column.join_labels(table, y, more, encoding, encoding.decimal)
    relations = _relations(table, reading)
    if reading.on_error in (None, "stop"):
        X = onehot.apply(table, positions, encoding, holes=holes, stacklevel=6)
        return Read(X, y, encoding, relations=relations)
    skip = reading.on_error == "skip"
    X, kept = onehot.apply_leniently(table, positions, encoding, holes=holes, skip=skip, stacklevel=6)
    if kept is None:
        return Read(X, y, encoding, relations=relations)
    relations = Relations(*(None if each is None else each[kept] for each in relations))
    return Read(X, y if y is None else y[kept], encoding, relations=relations, kept=kept)


def learn(path: Path, kind: str, *, n_features: int | None = None, reading: Reading, labelled: bool = True) -> Learnt:
    """Read a training table and determine the kind of each column, without refusing what training would refuse. Raises
    InputError: the file is not a table, has no rows, no features or no such columns, or a cell is invalid in any
    column.

    Parameters
    ----------
    path, kind, reading, labelled : as for `read_table`
    n_features : int or None, the number of features that a model expects, which identifies an unlabelled table
    """
    table = _outline(path, kind, reading, None)
    choice = _choice(table, reading, labelled, n_features)
    texts = [*choice.as_categories, *choice.tidy, *_relation_positions(table, reading)]
    return _learn(_fill(table, choice.label, texts, reading), choice, reading)


def learn_pieces(path: Path, kind: str, *, reading: Reading, cells: int, text_labels: bool = False) -> Iterator[Learnt]:
    """Read a training table piece by piece, each learnt separately; yields nothing for a table without rows.

    Parameters
    ----------
    path, kind, reading : as for `learn`
    cells : int, the largest number of cells of a piece, which has at least one row
    text_labels : bool, whether the labels of a CSV file are text: a piece cannot decide that alone
    """
    if kind == "parquet":
        tables = parquet_tables(path, cells)
        table = next(tables, None)
        if table is None:
            return
        choice = _choice(table, reading, True, None)
        tables = chain((table,), tables)
    else:
        outline = _outline(path, kind, reading, None)
        choice = _choice(outline, reading, True, None)
        texts = [*choice.as_categories, *([choice.label] if text_labels and choice.label is not None else [])]
        layout, rows = cast(Dialect, outline.layout), max(1, cells // len(outline.names))
        frames = csv_frames(path, layout, choice.label, texts, reading.decimal, rows, reading.na)
        tables = (outline.with_frame(frame) for frame in frames)
    if choice.more:
        raise InputError(f"{path}: several label columns are read from a table that is in memory as a whole")
    first = 0
    for piece in tables:
        if len(piece.frame):
            yield _learn(piece.with_frame(piece.frame, first), choice, reading)
        first += len(piece.frame)


def _relation_positions(table: Table, reading: Reading) -> list[int]:
    """Return the positions of the columns of groups and of events, if there are any."""
    named = (column for column in (reading.groups, reading.event) if column is not None)
    return [label_column.position_of(table, column) for column in named]


def _relations(table: Table, reading: Reading) -> Relations:
    """Return the groups of rows, and observed flags, from a table with its cells."""
    groups = None
    if reading.groups is not None:
        of_group = "has no group", "give that row a group, or drop it"
        groups = _texts(table, label_column.position_of(table, reading.groups), *of_group)
    if reading.event is None:
        return Relations(groups)
    of_event = "has no value", "fill it in, or drop that row"
    texts = _texts(table, label_column.position_of(table, reading.event), *of_event)
    found, code = np.unique(texts, return_inverse=True)
    known = [_TRUTH.get(str(value).strip().lower()) for value in found.tolist()]
    if None in known:
        wrong = str(found[known.index(None)])
        raise InputError(
            f"{table.path}: column {reading.event!r} holds {wrong!r}, no flag: give 1 where the event was observed, "
            "else 0"
        )
    return Relations(groups, np.array(known, dtype=bool)[code])


def _texts(table: Table, at: int, lacking: str, remedy: str) -> np.ndarray:
    """Return a column as text, (n_samples,); raise InputError, with these words, for a cell without a value."""
    assert table.frame is not None
    cells = table.frame.iloc[:, at]
    missing = cells.isna().to_numpy() | (cells.astype(str).str.strip() == "").to_numpy()
    if missing.any():
        raise table.refusal(int(np.argmax(missing)), at, lacking, remedy)
    return cells.astype(str).to_numpy(dtype=str)


def read_cells(
    path: Path, kind: str, wanted: Sequence[str | int] | None, reading: Reading, encoding: Encoding | None
) -> dict[str, list[Any]]:
    """Return columns of a table by name unchanged, as text for a CSV file; raise InputError if one is missing.

    Parameters
    ----------
    path, kind, reading : as for `read_table`
    wanted : sequence of str or int, names or positions; None are all
    encoding : Encoding or None, the learnt encoding, which identifies a header
    """
    if encoding is not None:
        encoding = _join(encoding, reading)
        reading = replace(reading, decimal=encoding.decimal, charset=encoding.charset)
    table = _outline(path, kind, reading, encoding)
    positions = range(len(table.names)) if wanted is None else label_column.positions_of(table, wanted)
    names = [table.names[at] for at in positions]
    if table.layout is None:
        return {name: table.frame[at].tolist() for name, at in zip(names, positions, strict=True)}
    header = list(table.names) if table.has_header else None  # which may be repeated further down
    cells = [[fields[at] for at in positions] for _, fields in records(path, table.layout) if fields != header]
    return {name: [row[k] for row in cells] for k, name in enumerate(names)}


class _Choice(NamedTuple):
    """The columns of a training table that are features, the columns that become categories, and the label."""

    positions: list[int]
    as_categories: list[int]
    label: int | None
    chosen: str | None
    more: tuple[int, ...] = ()  # further label columns
    tidy: tuple[int, ...] = ()  # columns of texts in which texts that differ only by case or blanks are one category


def _choice(table: Table, reading: Reading, labelled: bool, n_features: int | None) -> _Choice:
    dropped = label_column.positions_of(table, reading.drop) + _relation_positions(table, reading)
    at, chosen = label_column.choose(table, reading, dropped, labelled, n_features)
    taken = set(label_column.positions_of(table, reading.only) if reading.only else range(len(table.names)))
    more = label_column.further_labels(table, reading)
    positions = [i for i in range(len(table.names)) if i in taken and i not in (*dropped, at, *more)]
    if not positions:
        dropping = "all others are left out" if dropped or reading.only else "check the delimiter"
        raise InputError(f"{table.path}: has a label column but no features: {dropping}")
    tidy = tuple(label_column.positions_of(table, reading.tidy))
    return _Choice(positions, label_column.positions_of(table, reading.categorical), at, chosen, more, tidy)


def _learn(table: Table, choice: _Choice, reading: Reading) -> Learnt:
    """Learn the kinds of the columns of a table with its cells."""
    every = [
        columns.learn(
            table, i, decimal=reading.decimal, as_categories=i in choice.as_categories, is_tidy=i in choice.tidy
        )
        for i in choice.positions
    ]
    full = tuple(column for column in every if not column.is_empty)
    empty = tuple(column for column in every if column.is_empty)
    return Learnt(table, full, empty, choice.label, choice.chosen, reading, choice.more)


def _outline(path: Path, kind: str, reading: Reading, encoding: Encoding | None) -> Table:
    """Return a table; for a CSV file only names and layout, since reading cells needs the text columns."""
    if kind == "parquet":
        return next(parquet_tables(path, None))
    if kind == "excel":
        return excel_table(path)
    tabs = split_endings(path.name)[1] == ".tsv"
    layout = dialect(path, tabs, encoding, reading)
    names = layout.header or tuple(f"column{i + 1}" for i in range(layout.width))
    return Table(path, None, names, layout.header is not None, layout)


def _fill(table: Table, at: int | None, texts: Sequence[int], reading: Reading) -> Table:
    """Return a table with its cells; the columns `texts` stay text in any case, and `at` is the label."""
    if table.layout is not None and table.layout.has_rows:
        frames = csv_frames(table.path, table.layout, at, texts, reading.decimal, None, reading.na)
        table = _drop_headers(table.with_frame(next(frames)), at)
    elif table.frame is not None and reading.na:
        table = table.with_frame(_blank(table.frame, at, reading.na))
    if table.frame is None or len(table.frame) == 0:
        raise InputError(f"{table.path}: has a header but no rows below it: it needs one line a sample")
    return table


def _drop_headers(table: Table, at: int | None) -> Table:
    """Return a table without the rows that repeat its header, as in concatenated files."""
    frame, names = table.frame, table.names
    if not table.has_header or frame[0].dtype.kind in "biufM" or not (is_header := frame[0] == names[0]).any():
        return table
    for position, name in enumerate(names[1:], start=1):
        is_header &= frame[position] == name
    repeated = np.flatnonzero(is_header.to_numpy(dtype=bool, na_value=False))
    if not len(repeated):
        return table
    left = frame[~is_header.to_numpy(dtype=bool, na_value=False)].reset_index(drop=True)
    if at is not None and all(is_number(str(text)) for text in left[at].dropna().unique()):
        left[at] = left[at].astype(float)  # the header has turned it into text
    return replace(table.with_frame(left), repeated=tuple(repeated.tolist()))


def _blank(frame: Any, at: int | None, na: Sequence[str]) -> Any:
    """Return the cells of a Parquet file without texts that mean a missing value; `at` is the label."""
    wanted = [*na, *(float(text) for text in na if is_number(text))]
    is_na = frame.isin(wanted)
    if at is not None:
        is_na[at] = False
    return frame.mask(is_na)
