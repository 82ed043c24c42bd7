"""The cells of CSV and Parquet files as pandas reads them, whole or in pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from svmkit.data.formats.cells import MISSING
from svmkit.data.formats.csvtext import UTF_8, Dialect, not_decoded, require_different, require_even_lines
from svmkit.data.formats.files import open_data
from svmkit.data.tables.table import Table
from svmkit.errors import InputError, one_line
from svmkit.runtime.packages import require_installed

# "None" and "NA" are plausible class names; these are not
_MISSING_LABEL = ("", "NaN", "nan", "NAN")


def csv_frames(
    path: Path,
    layout: Dialect,
    at: int | None,
    texts: Sequence[int],
    decimal: str | None,
    rows: int | None,
    na: Sequence[str] = (),
) -> Iterator[Any]:
    """Yield the cells of a CSV file in DataFrames with columns 0, 1, ...

    Parameters
    ----------
    path, layout : Path, Dialect
    at : int or None, the label column, in which "NA" is no hole
    texts : sequence of int, columns that stay text whatever they contain
    decimal : {".", ","} or None
    rows : int or None, the most rows of a DataFrame; None is one of all
    na : sequence of str, further texts of cells without a value, but for the label
    """
    frames = partial(_frames, path, layout, texts=texts, decimal=decimal, rows=rows)
    labels: Iterator[Any] | None = None
    uneven = False
    for done, frame in enumerate(frames(None, missing=(*MISSING, *na))):
        # pandas takes longer to prepare a list of holes for each column than to read some rows: the label is read again
        # if the common list has removed one
        if at is not None and (labels is not None or frame[at].isna().any()):
            labels = labels or islice(frames(at, missing=_MISSING_LABEL), done, None)
            frame[at] = next(labels)[at]
        if frame[layout.width - 1].isna().any() and not uneven:  # a truncated line looks like missing values
            require_even_lines(path, layout)
            uneven = True
        yield frame


def _frames(
    path: Path,
    layout: Dialect,
    at: int | None,
    *,
    texts: Sequence[int],
    decimal: str | None,
    rows: int | None,
    missing: Sequence[str],
) -> Iterator[Any]:
    """Yield the cells as `csv_frames` does, for all columns or only for the label at position `at`."""
    import pandas as pd

    is_old = tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1)
    exactly: dict[str, Any] = {"float_precision": "round_trip"} if is_old else {}  # later versions need no option
    with open_data(path) as stream:
        try:
            frames = pd.read_csv(
                stream,
                sep=layout.delimiter,
                header=None if layout.header is None else 0,
                names=list(range(layout.width)),
                usecols=None if at is None else [at],
                index_col=False,
                dtype={position: "str" for position in texts if at in (None, position)},
                keep_default_na=False,
                na_values=list(missing),
                skipinitialspace=True,
                low_memory=False,  # one type for each column, not for each chunk
                decimal=decimal or ".",
                **exactly,
                encoding="utf-8" if layout.charset == UTF_8 else layout.charset,
                chunksize=rows,
            )
            for frame in (frames,) if rows is None else frames:
                yield frame.reset_index(drop=True)
            return
        except InputError:  # the file cannot be read; the parser may be anywhere in it
            raise
        except UnicodeError:
            raise not_decoded(path, layout.charset) from None
        except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError, OverflowError) as err:
            problem = one_line(err)
    require_even_lines(path, layout, strict=True)
    raise InputError(f"{path}: not a table ({problem}): check its quotes and delimiters")


def parquet_tables(path: Path, cells: int | None) -> Iterator[Table]:
    """Yield a Parquet file in tables of at most `cells` cells; a whole one is yielded even without rows."""
    require_installed("Parquet files", "pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    with open_data(path) as stream:
        try:
            # pandas' own index, if stored, is read as an index and so is not a feature
            # one thread, no read-ahead: others would go on reading a damaged file after the stream is closed
            source = pa.PythonFile(stream, mode="r")
            file = pq.ParquetFile(source, pre_buffer=False)
            require_different(file.schema_arrow.names, str(path))
            if cells is None:
                yield _as_table(path, file.read(use_threads=False).to_pandas())
                return
            rows = max(1, cells // max(1, len(file.schema_arrow)))
            for batch in file.iter_batches(rows, use_threads=False):
                yield _as_table(path, pa.Table.from_batches([batch]).to_pandas())
        except InputError:
            raise
        except (pa.ArrowException, ValueError, LookupError, TypeError, AttributeError) as err:
            # the last three are raised by pyarrow for damaged pandas metadata
            raise InputError(f"{path}: is no Parquet file ({one_line(err)}): write it again") from err


def _as_table(path: Path, frame: Any) -> Table:
    names = tuple(str(name) for name in frame.columns)
    require_different(names, str(path))
    if not names:
        raise InputError(f"{path}: has no columns: it needs a label and features")
    frame.columns = range(len(names))
    return Table(path, frame.reset_index(drop=True), names, True, None)
