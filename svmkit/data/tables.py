"""Tables: CSV and Parquet files whose columns are numbers, dates, text, and a label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from svmkit.data import columns, label_column, onehot, refusals
from svmkit.data.cells import MISSING
from svmkit.data.columns import Column
from svmkit.data.csvtext import UTF_8, Dialect, dialect, not_decoded, require_even_lines
from svmkit.data.encoding import Encoding, label_in_words
from svmkit.data.files import opened, split_endings
from svmkit.data.reading import Reading
from svmkit.data.table import Table, listed
from svmkit.errors import InputError, one_line

# "None" and "NA" are class names as good as any; these are not
_MISSING_LABEL = ("", "NaN", "nan", "NAN")


@dataclass(frozen=True, eq=False)
class Learnt:
    """A training table: its cells, and what each column is taken for.

    Attributes
    ----------
    table : Table
        The table, with its cells.
    columns : tuple of Column
        The columns that become features, in order.
    empty : tuple of Column
        Those that are left out since no row has a value there.
    label, chosen : int or None, str or None
        The position of the label column, and how it was chosen.
    reading : Reading
        How the table was to be read.
    """

    table: Table
    columns: tuple[Column, ...]
    empty: tuple[Column, ...]
    label: int | None
    chosen: str | None
    reading: Reading

    def require_usable(self, holes: bool) -> None:
        """Raise InputError if a column cannot be features as it is."""
        refused = refusals.refusal(self.table, self.columns, holes=holes, decimal=self.reading.decimal)
        if refused is not None:
            raise refused
        if not self.columns:
            raise InputError(f"{self.table.path}: has a label column but no features: all others are empty")

    def encoding(self, is_text: bool) -> Encoding:
        """Return what later tables need to be read in the same way; `is_text` says whether the labels are text."""
        table = self.table
        positions = tuple(column.position for column in self.columns)
        is_whole = len(positions) + (self.label is not None) == len(table.names)
        return Encoding(
            columns=tuple(table.names[at] for at in positions),
            categories=tuple(column.categories for column in self.columns),
            header=table.has_header,
            label=None if self.label is None else table.names[self.label],
            label_index=self.label,
            label_text=is_text,
            dates=tuple(column.order for column in self.columns),
            decimal=self.reading.decimal,
            charset=self.reading.charset,
            positions=None if is_whole else positions,
            width=None if is_whole else len(table.names),
            label_chosen=self.chosen,
        )

    @property
    def flags(self) -> np.ndarray:
        """Which features are 0/1 indicators: bool, shape (n_features,)."""
        return np.concatenate([np.full(column.width, column.is_flag) for column in self.columns])

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of the columns."""
        names = [self.table.names[column.position] for column in self.empty]
        empty = (f"{listed(names)}: left out, since no row has a value there",) if names else ()
        return (*refusals.notes(self.table, self.columns), *empty)


def read_table(
    path: Path,
    kind: str,
    *,
    n_features: int | None,
    encoding: Encoding | None,
    reading: Reading,
    labelled: bool,
    holes: bool,
) -> tuple[Any, np.ndarray | None, Encoding, np.ndarray | None, tuple[str, ...]]:
    """Read samples, labels and encoding from a CSV file (kind "table") or a Parquet file (kind "parquet").

    Without `encoding` one is learnt: a text column becomes a 0/1 feature for each category (sorted), a column of
    numbers or booleans one feature, and so does a column of dates (days since 1970-01-01). A text column with numbers
    in at least 95 of 100 cells is refused as a number column with a typing error, and so is one with many different
    texts. With `encoding` the columns are matched by name when both tables have a header (others in the file are
    ignored), else by position; unknown categories become zeros, with one warning.

    Returns
    -------
    X : float64 ndarray or csr_array of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or None
    encoding : Encoding
        The given encoding, or the learnt one.
    flags : ndarray of bool, shape (n_features,), or None
        The features that are 0/1 indicators; None with a given encoding.
    notes : tuple of str
        What a user should know of the columns; empty with a given encoding.

    Raises
    ------
    InputError
        With file, line (Parquet: row) and column of a missing value, of text among numbers or of an uneven
        line; or naming the columns that are missing, or cannot be features as they are.
    """
    if encoding is None:
        learnt = learn(path, kind, n_features=n_features, reading=reading, labelled=labelled)
        learnt.require_usable(holes)
        at = learnt.label
        y = None if at is None else label_column.labels(learnt.table, at, None, labelled, reading.decimal)
        found = learnt.encoding(y is not None and y.dtype.kind == "U")
        X = onehot.assembled(learnt.columns, len(learnt.table.frame))
        return X, y, found, learnt.flags, learnt.notes
    table = _outline(path, kind, replace(reading, decimal=encoding.decimal, charset=encoding.charset), encoding)
    positions, at = label_column.matched(table, encoding, reading.label)
    if at is None and labelled:
        wanted = f"{encoding.label!r}" if encoding.label else "given"
        raise InputError(f"{path}: has no label column ({wanted}), only features: name it, or predict instead")
    texts = [i for i, numeric in zip(positions, encoding.numeric, strict=True) if not numeric]
    table = _filled(table, at, [*texts, at] if at is not None and encoding.label_text else texts, encoding.decimal)
    y = None if at is None else label_column.labels(table, at, encoding, labelled, encoding.decimal)
    return onehot.apply(table, positions, encoding, holes=holes, stacklevel=5), y, encoding, None, ()


def learn(path: Path, kind: str, *, n_features: int | None = None, reading: Reading, labelled: bool = True) -> Learnt:
    """Read a training table and find out what each column is; nothing is refused yet that training would refuse.

    Parameters
    ----------
    path : Path
        The file.
    kind : {"table", "parquet"}
        CSV, or Parquet.
    n_features : int, default=None
        The number of features that a model expects; by it an unlabelled table is known.
    reading : Reading
        How the table is to be read.
    labelled : bool, default=True
        Whether the last column is the label if no other is.

    Raises
    ------
    InputError
        The file is no table, has no rows, no features or no such columns, or a cell that no column can have.
    """
    table = _outline(path, kind, reading, None)
    dropped = label_column.positions_of(table, reading.drop)
    at, chosen = label_column.choose(table, reading, dropped, labelled, n_features)
    taken = set(label_column.positions_of(table, reading.only) if reading.only else range(len(table.names)))
    positions = [i for i in range(len(table.names)) if i in taken and i not in dropped and i != at]
    if not positions:
        dropping = "all others are left out" if dropped or reading.only else "check the delimiter"
        raise InputError(f"{path}: has a label column but no features: {dropping}")
    as_categories = label_column.positions_of(table, reading.categorical)
    table = _filled(table, at, as_categories, reading.decimal)
    found = [columns.learn(table, i, decimal=reading.decimal, as_categories=i in as_categories) for i in positions]
    full = tuple(column for column in found if not column.is_empty)
    return Learnt(table, full, tuple(column for column in found if column.is_empty), at, chosen, reading)


def label_of(path: Path, kind: str, reading: Reading) -> str | None:
    """Return the label column of a training table in words, without its cells if the file is CSV."""
    table = _outline(path, kind, reading, None)
    at, chosen = label_column.choose(table, reading, label_column.positions_of(table, reading.drop), True, None)
    return None if at is None else label_in_words(table.names[at] if table.has_header else None, at, chosen)


def _outline(path: Path, kind: str, reading: Reading, encoding: Encoding | None) -> Table:
    """Return a table; of a CSV file only names and layout, since its cells are read when the text columns are known."""
    if kind == "parquet":
        return _read_parquet(path)
    tabs = split_endings(path.name)[1] == ".tsv"
    layout = dialect(path, tabs, encoding, reading.label, charset=reading.charset, decimal=reading.decimal)
    names = layout.header or tuple(f"column{i + 1}" for i in range(layout.width))
    return Table(path, None, names, layout.header is not None, layout)


def _filled(table: Table, at: int | None, texts: Sequence[int], decimal: str | None) -> Table:
    """Return a table with its cells; the columns `texts` stay text whatever they contain, and `at` is the label."""
    if table.layout is not None:
        table = table.with_frame(_csv_frame(table.path, table.layout, at, texts, decimal))
    if len(table.frame) == 0:
        raise InputError(f"{table.path}: has a header but no rows below it: it needs one line a sample")
    return table


def _csv_frame(path: Path, layout: Dialect, at: int | None, texts: Sequence[int], decimal: str | None) -> Any:
    """Return the cells of a CSV file in a DataFrame with columns 0, 1, ..."""
    import pandas as pd

    with opened(path) as stream:
        try:
            frame = pd.read_csv(
                stream,
                sep=layout.delimiter,
                header=None if layout.header is None else 0,
                names=list(range(layout.width)),
                index_col=False,
                dtype={position: "str" for position in texts},
                keep_default_na=False,
                na_values={i: list(_MISSING_LABEL if i == at else MISSING) for i in range(layout.width)},
                skipinitialspace=True,
                low_memory=False,  # one type for each column, not for each chunk
                decimal=decimal or ".",
                **_exact_numbers(),
                encoding="utf-8" if layout.charset == UTF_8 else layout.charset,
            )
            problem = None
        except InputError:  # the file cannot be read; the parser may be anywhere in it
            raise
        except UnicodeError:
            raise not_decoded(path, layout.charset) from None
        except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError, OverflowError) as err:
            problem = one_line(err)
    if problem is not None:
        require_even_lines(path, layout, strict=True)
        raise InputError(f"{path}: not a table ({problem}): check its quotes and delimiters")
    if frame[layout.width - 1].isna().any():  # a truncated line looks like missing values
        require_even_lines(path, layout)
    return frame


def _exact_numbers() -> dict[str, Any]:
    """Return the option by which numbers are read exactly; pandas 3.1 and later need none."""
    import pandas as pd

    exact = tuple(int(part) for part in pd.__version__.split(".")[:2]) >= (3, 1)
    return {} if exact else {"float_precision": "round_trip"}


def _read_parquet(path: Path) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with opened(path) as stream:
        try:
            # pandas' own index, if it stored one, comes back as an index and so is no feature
            # one thread, nothing ahead: others would go on reading a damaged file once the stream is gone
            found = pq.read_table(pa.PythonFile(stream, mode="r"), use_threads=False, pre_buffer=False)
            frame = found.to_pandas()
        except (pa.ArrowException, ValueError, LookupError, TypeError, AttributeError) as err:
            # the last three are what pyarrow's reading of damaged pandas metadata ends in
            raise InputError(f"{path}: is no Parquet file ({one_line(err)}): write it again") from err
    names = tuple(str(name) for name in frame.columns)
    if len(set(names)) < len(names) or not names:
        raise InputError(f"{path}: two columns share a name, or there are none: rename them")
    frame.columns = range(len(names))
    return Table(path, frame.reset_index(drop=True), names, True, None)
