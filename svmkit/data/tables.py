"""Tables: CSV and Parquet files whose columns are numbers, text, and a label."""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from svmkit.data import onehot
from svmkit.data.csvtext import MISSING, Dialect, dialect, not_utf8, require_even_lines
from svmkit.data.encoding import Encoding
from svmkit.data.files import opened, split_endings
from svmkit.data.layout import integral
from svmkit.data.reading import Reading
from svmkit.data.table import Table
from svmkit.errors import InputError, one_line

_LABEL_NAMES = ("label", "target", "class", "y")
# "None" and "NA" are class names as good as any; these are not
_MISSING_LABEL = ("", "NaN", "nan", "NAN")


def read_table(
    path: Path,
    kind: str,
    *,
    n_features: int | None,
    encoding: Encoding | None,
    reading: Reading,
    labelled: bool,
    holes: bool,
) -> tuple[Any, np.ndarray | None, Encoding, np.ndarray | None]:
    """Read samples, labels and encoding from a CSV file (kind "table") or a Parquet file (kind "parquet").

    Without `encoding` one is learnt: a text column becomes a 0/1 feature for each category (sorted), a column of
    numbers or booleans one feature. A text column with numbers in at least 95 of 100 cells is refused as a number
    column with a typing error. With `encoding` the columns are matched by name when both tables have a header
    (others in the file are ignored), else by position; unknown categories become zeros, with one warning.

    Returns
    -------
    X : float64 ndarray or csr_array of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or None
    encoding : Encoding
        The given encoding, or the learnt one.
    flags : ndarray of bool or None
        The features that are 0/1 indicators; None with a given encoding.

    Raises
    ------
    InputError
        With file, line (Parquet: row) and column of a missing value, of text among numbers or of an uneven
        line; or naming the columns that are missing.
    """
    label = reading.label
    table = _read_parquet(path) if kind == "parquet" else _outline(path, encoding, label)
    if encoding is None:
        at = _label_to_learn(table, label, labelled, n_features)
        positions = [i for i in range(len(table.names)) if i != at]
    else:
        positions, at = _matched(table, encoding, label)
        if at is None and labelled:
            wanted = f"{encoding.label!r}" if encoding.label else "given"
            raise InputError(f"{path}: has no label column ({wanted}), only features: name it, or predict instead")
    if not positions:
        raise InputError(f"{path}: has a label column but no features: check the delimiter")
    if table.layout is not None:
        frame = _csv_frame(path, table.layout, at, _text_columns(positions, at, encoding))
        table = replace(table, frame=frame)
    if len(table.frame) == 0:
        raise InputError(f"{path}: has a header but no rows below it: it needs one line a sample")
    y = None if at is None else _labels(table, at, encoding, labelled)
    if encoding is not None:
        return onehot.apply(table, positions, encoding, holes=holes), y, encoding, None
    X, categories, flags = onehot.learn(table, positions, holes=holes)
    learnt = Encoding(
        columns=tuple(table.names[i] for i in positions),
        categories=categories,
        header=table.has_header,
        label=None if at is None else table.names[at],
        label_index=at,
        label_text=y is not None and y.dtype.kind == "U",
    )
    return X, y, learnt, flags


def _outline(path: Path, encoding: Encoding | None, label: str | int | None) -> Table:
    """Return names and layout of a CSV file. Cells are read later, when it is known which columns are text."""
    layout = dialect(path, split_endings(path.name)[1] == ".tsv", encoding, label)
    names = layout.header or tuple(f"column{i + 1}" for i in range(layout.width))
    return Table(path, None, names, layout.header is not None, layout)


def _csv_frame(path: Path, layout: Dialect, at: int | None, texts: list[int]) -> Any:
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
                **_exact_numbers(),
                encoding="utf-8",
            )
            problem = None
        except InputError:  # the file cannot be read; the parser may be anywhere in it
            raise
        except UnicodeDecodeError:
            raise not_utf8(path) from None
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


def _text_columns(positions: list[int], at: int | None, encoding: Encoding | None) -> list[int]:
    """Return the positions of the columns that must be read as text whatever they contain."""
    if encoding is None:
        return []
    texts = [i for i, numeric in zip(positions, encoding.numeric, strict=True) if not numeric]
    return [*texts, at] if at is not None and encoding.label_text else texts


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


def _label_to_learn(table: Table, label: str | int | None, labelled: bool, n_features: int | None) -> int | None:
    width = len(table.names)
    if label is not None:
        return _named(table, label)
    if table.has_header:
        lower = [name.lower() for name in table.names]
        found = next((lower.index(name) for name in _LABEL_NAMES if name in lower), None)
        if found is not None:
            return found
    return width - 1 if labelled or n_features == width - 1 else None


def _named(table: Table, label: str | int) -> int:
    names = table.names
    if isinstance(label, str) and table.has_header and label in names:
        return names.index(label)
    try:
        position = int(label)
    except ValueError:
        close = difflib.get_close_matches(str(label), names, n=3) if table.has_header else []
        offer = f"did you mean {' or '.join(close)}?" if close else f"it has {_listed(names)}"
        header = "" if table.has_header else " (the file has no header)"
        raise InputError(f"{table.path}: has no column {label!r}{header}: {offer}; or give a position from 0") from None
    if not -len(names) <= position < len(names):
        raise InputError(f"{table.path}: has no column {position}: it has {len(names)}, counted 0 to {len(names) - 1}")
    return position % len(names)


def _matched(table: Table, encoding: Encoding, label: str | int | None) -> tuple[list[int], int | None]:
    """Return the positions of the encoding's columns and of the label in this table (None if it has no label)."""
    if encoding.header and table.has_header:
        place = {name: i for i, name in enumerate(table.names)}
        lacking = [name for name in encoding.columns if name not in place]
        if lacking:
            raise InputError(
                f"{table.path}: lacks {_listed(tuple(lacking))}, which the model was trained on: add what is missing"
            )
        at = _named(table, label) if label is not None else place.get(encoding.label or "")
        return [place[name] for name in encoding.columns], at
    width, wanted = len(table.names), len(encoding.columns)
    if width == wanted and label is None:
        return list(range(width)), None
    if width != wanted + 1:
        raise InputError(
            f"{table.path}: has {width} columns, but the model was trained on {wanted} and a label: "
            "give the same columns in the same order"
        )
    index = encoding.label_index if encoding.label_index is not None else width - 1
    at = _named(table, label) if label is not None else index
    return [i for i in range(width) if i != at], at


def _labels(table: Table, at: int, encoding: Encoding | None, required: bool) -> np.ndarray | None:
    import pandas as pd

    series = table.frame[at]
    missing = series.isna().to_numpy()
    if missing.any():
        if required:
            raise table.refusal(int(np.argmax(missing)), at, "has no label", "drop that row or label it")
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
    if encoding is not None and encoding.label is not None and not encoding.label_text:
        if not required:  # a placeholder where labels would be
            return None
        row = int(np.argmax(np.isin(codes, [i for i, text in enumerate(texts) if not onehot.is_number(text)])))
        raise table.refusal(row, at, "holds text, but the model's labels are numbers", "give the same labels")
    return np.array(texts, dtype=np.str_)[codes]


def _listed(names: tuple[str, ...]) -> str:
    head = ", ".join(repr(name) for name in names[:8])
    return f"column{'s' if len(names) > 1 else ''} {head}" + (f" and {len(names) - 8} more" if len(names) > 8 else "")
