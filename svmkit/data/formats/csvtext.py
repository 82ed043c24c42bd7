"""CSV files as text: their delimiter, their header, and the line of an error."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from svmkit.data.formats.cells import MISSING, has_zeros, is_number_somehow
from svmkit.data.formats.files import open_data
from svmkit.data.prepare.dates import is_date
from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.reading import Reading
from svmkit.errors import InputError, one_line

UTF_8 = "utf-8-sig"  # a byte order mark is not part of the first name

_SAMPLE = 200  # records that decide delimiter and header
_DEFAULT_NAMES = 5  # "0,1,2,3,4" or longer is read as pandas' default header; shorter runs are plausible data


@dataclass(frozen=True)
class Dialect:
    """The layout of a CSV file: delimiter, number of columns, names if there is a header, character encoding, and
    whether there are rows below the header.
    """

    delimiter: str
    width: int
    header: tuple[str, ...] | None
    charset: str
    has_rows: bool = True
    zeros: tuple[tuple[int, str], ...] = ()  # columns with a number such as 01067 in the first records, and this number


def _records(path: Path, delimiter: str, charset: str, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line and the fields of each record. Blank lines are skipped; quoted fields may span lines."""
    with open_data(path) as stream:
        text = io.TextIOWrapper(stream, encoding=charset, newline="")
        reader = csv.reader(text, delimiter=delimiter, skipinitialspace=True, strict=strict)
        line = 1
        try:
            for record in reader:
                if len(record) > 1 or (record and record[0].strip()):
                    yield line, record
                line = reader.line_num + 1
        except UnicodeError as err:
            raise not_decoded(path, charset) from err
        except csv.Error as err:
            raise InputError(f"{path}:{line}: not CSV ({one_line(err)}): correct the quotes there") from err


def not_decoded(path: Path, charset: str) -> InputError:
    """Return the error for a file that is not in this character encoding, naming its first undecodable line."""
    name, remedy = charset, "give --encoding the one that it was written in"
    if charset == UTF_8:
        name, remedy = "UTF-8", "--encoding latin-1 (or the one that it was written in) reads it, or save it as UTF-8"
    with open_data(path) as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode(charset)
            except UnicodeDecodeError as err:
                return InputError(f"{path}:{number}: not {name} text (byte {line[err.start]:#04x}): {remedy}")
            except UnicodeError:
                break
    return InputError(f"{path}: not {name} text: {remedy}")


def dialect(path: Path, tabs: bool, encoding: Encoding | None, reading: Reading) -> Dialect:
    """Return the delimiter and the header of a CSV file, inferred from its first 200 records.

    The delimiter is the tab for .tsv; otherwise it is the one of comma, tab and semicolon that gives every record the
    same number of fields, more than one. If several do, it is the one that yields the most numbers and dates, decimal
    commas allowed; then the first. A first row is a header if

    - it holds most of the names of `encoding`, or the name `label`;
    - or none of its fields is a number, or a date over dates, and some column below it is numbers or dates throughout;
    - or all is text, its fields are not empty, all differ, and none occurs below in its own column;
    - or its numbers are only the column positions that pandas writes for unnamed columns.

    Raises InputError if there are no records, or records of different lengths; the message names the line.

    Parameters
    ----------
    path : Path
    tabs : bool, whether the delimiter is known to be the tab
    encoding : Encoding or None, what training has learnt
    reading : Reading, with the label column, the character encoding and the decimal mark that were given
    """
    with open_data(path) as stream:  # UTF-8 if it begins with its byte order mark, else the given encoding
        is_utf_8 = reading.charset in (None, "utf-8") or stream.read(3) == codecs.BOM_UTF8
    charset = UTF_8 if is_utf_8 else str(reading.charset)
    if tabs:
        delimiter, rows = "\t", _sample(path, "\t", charset)
    else:
        delimiter, rows = _choose_delimiter(path, charset, reading.decimal)
    if not rows:
        raise InputError(f"{path}: has no rows: it needs one line a sample")
    width = len(rows[0][1])
    _require_even(path, rows, width)
    fields = [[field.strip() for field in record] for _, record in rows]
    header = tuple(fields[0]) if _is_header(fields[0], fields[1:], encoding, reading) else None
    if header is not None:
        header = tuple(name or f"column{i + 1}" for i, name in enumerate(header))
        require_different(header, f"{path}:{rows[0][0]}")
    below = fields[header is not None :]
    firsts = ((i, next((row[i] for row in below if has_zeros(row[i])), "")) for i in range(width))
    zeros = tuple((i, text) for i, text in firsts if text)
    return Dialect(delimiter, width, header, charset, len(rows) > (header is not None), zeros)


def require_different(names: Sequence[str], where: str) -> None:
    """Refuse a table with duplicate column names; `where` is its file and the line of the names."""
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise InputError(f"{where}: two columns are called {twice!r}: rename one of them")


def require_even_lines(path: Path, layout: Dialect, strict: bool = False) -> None:
    """Refuse the first record with too few or too many fields or, if strict, wrong quotes, and name its line."""
    _require_even(path, _records(path, layout.delimiter, layout.charset, strict), layout.width)


def records(path: Path, layout: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the fields of each record of a file, the header included."""
    yield from _records(path, layout.delimiter, layout.charset)


def line_of(path: Path, layout: Dialect, row: int) -> tuple[int, list[str]]:
    """Read the file again for an error message: return line number and fields of a data row, counted from 0."""
    skip = row + (layout.header is not None)
    return next(islice(_records(path, layout.delimiter, layout.charset), skip, None))


def _sample(path: Path, delimiter: str, charset: str) -> list[tuple[int, list[str]]]:
    return list(islice(_records(path, delimiter, charset), _SAMPLE))


def _choose_delimiter(path: Path, charset: str, decimal: str | None) -> tuple[str, list[tuple[int, list[str]]]]:
    """Return the delimiter of a CSV file and its first records."""
    tried: dict[str, list[tuple[int, list[str]]]] = {}
    even: dict[str, float] = {}  # the share of numbers and dates that a delimiter yields
    for mark in (";", "\t", ",") if decimal == "," else (",", "\t", ";"):
        try:
            rows = tried[mark] = _sample(path, mark, charset)
        except InputError:  # without its own delimiter a wide line is one field, perhaps too long
            if even:
                continue
            raise
        fields = [field.strip() for _, record in rows for field in record]
        if len({len(record) for _, record in rows}) == 1 and len(rows[0][1]) > 1:
            even[mark] = sum(_kind(field) is not None for field in fields) / len(fields)
            if not any(other in field for field in fields for other in ",;\t"):
                break
    if even:
        chosen = max(even, key=even.__getitem__)
        return chosen, tried[chosen]
    # no delimiter fits all lines: use one that occurs, so that the error names the deviating line
    mark = next((mark for mark, rows in tried.items() if any(len(record) > 1 for _, record in rows)), ",")
    return mark, tried[mark]


def _require_even(path: Path, rows: Iterator[tuple[int, list[str]]] | list[tuple[int, list[str]]], width: int) -> None:
    for line, record in rows:
        if len(record) != width:
            raise InputError(
                f"{path}:{line}: has {len(record)} fields, but the first line has {width}: correct the line "
                "(a field with a comma in it needs quotes)"
            )


def _is_header(first: list[str], below: list[list[str]], encoding: Encoding | None, reading: Reading) -> bool:
    label, missing = reading.label, {*MISSING, *reading.na}
    if encoding is not None and encoding.header:
        known = len(set(first) & set(encoding.columns))
        if 2 * known > len(encoding.columns):
            return True
    if isinstance(label, str) and label in first and not is_number_somehow(label):
        return True
    if not below:  # with the encoding of a model, a single row is a sample
        return encoding is None and not any(map(is_number_somehow, first))
    columns = [[row[i] for row in below if row[i] not in missing] for i in range(len(first))]
    again = [[row[i] for row in below if row != first and row[i] not in missing] for i in range(len(first))]
    of_each = [{_kind(field) for field in column} for column in again]  # the header may be repeated further down
    kinds = [kinds.pop() if len(kinds) == 1 else None for kinds in of_each]
    if any(is_number_somehow(field) for field in first):
        return _is_default_header(first, [kind == "number" for kind in kinds])
    if any(kind == "date" == _kind(field) for field, kind in zip(first, kinds, strict=True)):
        return False
    if any(kinds):
        return True
    return (
        all(first)
        and len(set(first)) == len(first)
        and not any(name in column for name, column in zip(first, columns, strict=True))
    )


def _kind(field: str) -> str | None:
    """Return "number", with either decimal mark, or "date"; None for any other text."""
    return "number" if is_number_somehow(field) else "date" if is_date(field) else None


def _is_default_header(first: list[str], numeric: list[bool]) -> bool:
    if any(is_number_somehow(field) and field not in (str(i), str(i + 1)) for i, field in enumerate(first)):
        return False
    named = [i for i, field in enumerate(first) if not is_number_somehow(field)]
    return any(numeric[i] for i in named) if named else len(first) >= _DEFAULT_NAMES and first[0] == "0"
