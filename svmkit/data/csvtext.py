"""CSV files as text: their delimiter, their header, and the line that an error concerns."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from svmkit.data.encoding import Encoding
from svmkit.data.files import opened
from svmkit.errors import InputError, one_line

# an empty cell and what spreadsheets, R, pandas and the UCI archive write for one
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "null", "NULL", "None", "?")

_SAMPLE = 200  # records that decide delimiter and header
_DEFAULT_NAMES = 5  # "0,1,2,3,4" on is taken for pandas' default header; shorter runs are plausible data


@dataclass(frozen=True)
class Dialect:
    """The layout of a CSV file: its delimiter, its number of columns and, if it has a header, the names."""

    delimiter: str
    width: int
    header: tuple[str, ...] | None


def records(path: Path, delimiter: str, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line and the fields of each record. Blank lines are skipped; quoted fields may span lines."""
    with opened(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        reader = csv.reader(text, delimiter=delimiter, skipinitialspace=True, strict=strict)
        line = 1
        try:
            for record in reader:
                if len(record) > 1 or (record and record[0].strip()):
                    yield line, record
                line = reader.line_num + 1
        except UnicodeDecodeError as err:
            raise not_utf8(path) from err
        except csv.Error as err:
            raise InputError(f"{path}:{line}: not CSV ({one_line(err)}): mend the quotes there") from err


def not_utf8(path: Path) -> InputError:
    """Return the error for a file that is not UTF-8, which names the first line that is not."""
    with opened(path) as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as err:
                return InputError(
                    f"{path}:{number}: not UTF-8 text (byte {line[err.start]:#04x}): save the file as UTF-8"
                )
    return InputError(f"{path}: not UTF-8 text: save the file as UTF-8")


def dialect(path: Path, tabs: bool, encoding: Encoding | None, label: str | int | None) -> Dialect:
    """Return the delimiter and the header of a CSV file, found from its first 200 records.

    The delimiter is the tab for .tsv, else the first of comma, tab and semicolon that gives every record
    the same number of fields, more than one. A first row is a header when

    - it holds most of the names of `encoding`, or the name `label`;
    - or none of its fields is a number, and some column below it is numbers throughout;
    - or all is text, its fields are not empty, all differ, and none occurs below in its own column;
    - or its numbers are only the column positions that pandas writes for unnamed columns.

    Raises
    ------
    InputError
        If there are no records, or records of different lengths; the message names the line.
    """
    delimiter, rows = ("\t", _sample(path, "\t")) if tabs else _delimited(path)
    if not rows:
        raise InputError(f"{path}: has no rows: it needs one line a sample")
    width = len(rows[0][1])
    _require_even(path, rows, width)
    fields = [[field.strip() for field in record] for _, record in rows]
    header = tuple(fields[0]) if _is_header(fields[0], fields[1:], encoding, label) else None
    if header is not None:
        header = tuple(name or f"column{i + 1}" for i, name in enumerate(header))
        twice = next((name for name, count in Counter(header).items() if count > 1), None)
        if twice is not None:
            raise InputError(f"{path}:{rows[0][0]}: two columns are called {twice!r}: rename one of them")
    return Dialect(delimiter, width, header)


def require_even_lines(path: Path, layout: Dialect, strict: bool = False) -> None:
    """Refuse the first record with too few or too many fields or, if strict, wrong quotes, and name its line."""
    _require_even(path, records(path, layout.delimiter, strict), layout.width)


def line_of(path: Path, layout: Dialect, row: int) -> tuple[int, list[str]]:
    """Read the file again for an error message: return line number and fields of a data row, counted from 0."""
    skip = row + (layout.header is not None)
    return next(islice(records(path, layout.delimiter), skip, None))


def is_number(text: str) -> bool:
    """Return whether a cell is a number. Python's digits with underscores are not."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _sample(path: Path, delimiter: str) -> list[tuple[int, list[str]]]:
    return list(islice(records(path, delimiter), _SAMPLE))


def _delimited(path: Path) -> tuple[str, list[tuple[int, list[str]]]]:
    tried: dict[str, list[tuple[int, list[str]]]] = {}
    for mark in (",", "\t", ";"):  # in turn: without this delimiter a wide line is one field, perhaps too long
        rows = tried[mark] = _sample(path, mark)
        if len({len(record) for _, record in rows}) == 1 and len(rows[0][1]) > 1:
            return mark, rows
    # no delimiter fits all lines: take one that occurs, so that the error names the line that differs
    mark = next((mark for mark, rows in tried.items() if any(len(record) > 1 for _, record in rows)), ",")
    return mark, tried[mark]


def _require_even(path: Path, rows: Iterator[tuple[int, list[str]]] | list[tuple[int, list[str]]], width: int) -> None:
    for line, record in rows:
        if len(record) != width:
            raise InputError(
                f"{path}:{line}: has {len(record)} fields, but the first line has {width}: mend the line "
                "(a field with a comma in it needs quotes)"
            )


def _is_header(first: list[str], below: list[list[str]], encoding: Encoding | None, label: str | int | None) -> bool:
    if encoding is not None and encoding.header:
        known = len(set(first) & set(encoding.columns))
        if 2 * known > len(encoding.columns):
            return True
    if isinstance(label, str) and label in first and not is_number(label):
        return True
    if not below:  # with the encoding of a model, a single row is a sample
        return encoding is None and not any(is_number(field) for field in first)
    columns = [[row[i] for row in below if row[i] not in MISSING] for i in range(len(first))]
    numeric = [bool(column) and all(is_number(field) for field in column) for column in columns]
    if any(is_number(field) for field in first):
        return _is_default_header(first, numeric)
    if any(numeric):
        return True
    return (
        all(first)
        and len(set(first)) == len(first)
        and not any(name in column for name, column in zip(first, columns, strict=True))
    )


def _is_default_header(first: list[str], numeric: list[bool]) -> bool:
    if any(is_number(field) and field not in (str(i), str(i + 1)) for i, field in enumerate(first)):
        return False
    named = [i for i, field in enumerate(first) if not is_number(field)]
    return any(numeric[i] for i in named) if named else len(first) >= _DEFAULT_NAMES and first[0] == "0"
