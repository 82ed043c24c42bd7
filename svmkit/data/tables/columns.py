"""The columns of a table as features: the kind of each, and its values in a learnt encoding."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import starmap
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from svmkit.data.formats.cells import amount, has_zeros, is_number_somehow, number, unit
from svmkit.data.prepare.dates import YEAR_FIRST, days, days_of, order_of
from svmkit.data.prepare.encoding import Encoding
from svmkit.data.tables.table import Table
from svmkit.errors import InputError

# a text column with at least this share of numbers (or dates) is a column of numbers (or dates) with a slip in it
_MOSTLY = 0.95
# a text column may have this many different texts in any table, and a tenth of the rows in a large one: a category of
# fewer than ten rows says little, while three or four rows of a small table may well be of one
FEW_CATEGORIES = 20
ROWS_PER_CATEGORY = 10


class Trouble(StrEnum):
    """Why a column cannot be a feature as it is; columns with the same trouble are refused together."""

    SLIP = "slip"
    MARK = "mark"
    DAY = "day"
    MANY = "many"


class Form(NamedTuple):
    """How to read a column, as in the entries of an `Encoding`."""

    categories: tuple[str, ...] | None
    order: str | None  # order of the parts of dates
    amount: str | None  # the decimal mark of numbers with a unit
    is_tidy: bool

    @classmethod
    def from_encoding(cls, encoding: Encoding) -> list[Form]:
        """Return the forms of the columns of an encoding."""
        return list(
            starmap(cls, zip(encoding.categories, encoding.dates, encoding.amounts, encoding.tidy, strict=True))
        )


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table as features. Training refuses it for its `trouble`, if it has one."""

    position: int  # in the table
    values: np.ndarray  # (n_samples,): float64, NaN for a hole, of dates in days since 1970-01-01; int32 codes of texts
    categories: tuple[str, ...] | None = None  # the texts in sorted order; the code -1 stands for none of them
    order: str | None = None  # "ymd", "dmy" or "mdy" for dates
    trouble: Trouble | None = None
    slip: InputError | None = None  # for the cell that does not fit the others
    wrong: np.ndarray | None = None  # the rows whose cell could not be read, as booleans; None if all can be read
    amount: str | None = None  # the decimal mark of numbers with a unit
    is_tidy: bool = False  # whether texts that differ only by case or blanks are one category
    is_chosen: bool = False  # whether the user declared the column as categories
    zeros: str = ""  # a number with leading zeros, perhaps a code
    rows: tuple[int, ...] = ()  # for categories, the number of rows of each
    example: str = ""  # a cell that shows the trouble; for too many texts that are mostly numbers, a text that is none

    @property
    def width(self) -> int:
        """The number of its features."""
        return 1 if self.categories is None else len(self.categories)

    @property
    def holes(self) -> np.ndarray:
        """The rows without a value, as booleans; an empty text is a category, not a hole."""
        return np.isnan(self.values) if self.categories is None else np.zeros(len(self.values), dtype=bool)

    @property
    def unread(self) -> np.ndarray:
        """The rows whose cell could not be read, as booleans."""
        return np.zeros(len(self.values), dtype=bool) if self.wrong is None else self.wrong

    @property
    def is_empty(self) -> bool:
        """Whether no row has a value."""
        return bool(np.isnan(self.values).all()) if self.categories is None else self.categories == ("",)

    @property
    def is_flag(self) -> bool:
        """Whether its features are 0/1 indicators: categories, or numbers that are all 0 or 1."""
        if self.categories is not None:
            return True
        for values in (self.values[:100], self.values):  # the first few rows decide for nearly all columns
            known = values[~np.isnan(values)]
            if not ((known == 0.0) | (known == 1.0)).all():
                return False
        return bool(len(known)) and self.order is None


def learn(
    table: Table, position: int, *, decimal: str | None, as_categories: bool = False, is_tidy: bool = False
) -> Column:
    """Return what training takes a column for. Raises InputError: a cell is infinite, or of a type that is no feature,
    such as a list.

    Parameters
    ----------
    table, position : Table with its cells, int
    decimal : {".", ","} or None, the decimal mark of numbers in text
    as_categories : bool, whether each value becomes a category, whatever it is
    is_tidy : bool, whether the column is one of categories, of which those that differ by case or blanks only are one
    """
    series = table.frame[position]  # once: it costs more than all that follows for a few rows
    if is_tidy:
        codes, texts = _join_alike(*_factorize(table, position, series))
        return replace(_categories(position, codes, texts), is_tidy=True, is_chosen=as_categories)
    if as_categories:
        return replace(_categories(position, *_factorize(table, position, series)), is_chosen=True)
    if _is_datetime(series):
        return Column(position, days_of(series), order=YEAR_FIRST)
    if not _is_text(table, position, series):
        zeros = dict(table.layout.zeros).get(position, "") if table.layout else ""
        return Column(position, _numbers(table, position, series, decimal), zeros=zeros)
    codes, texts = _factorize(table, position, series)
    shares = _Shares(codes, texts)
    if shares.where(lambda text: number(text, decimal) is not None) == 1.0:
        zeros = next(filter(has_zeros, texts), "")
        return Column(position, _numbers(table, position, series, decimal), zeros=zeros)
    if marks := _marks_of_amounts(texts, decimal):
        values = np.array([amount(text, marks[0]) for text in texts], dtype=np.float64)[codes]
        example = next(text for text in texts if unit(text))
        if len(marks) > 1:
            return Column(position, values, tuple(texts), trouble=Trouble.MARK, example=example)
        return Column(position, values, amount=marks[0], example=example)
    orders = order_of(texts, shares.counts.tolist())
    if orders and shares.where(lambda text: days(text, orders[0]) is not None) == 1.0:
        values = _dates(table, position, series, orders[0])
        unclear = Trouble.DAY if len(orders) > 1 else None
        return Column(position, values, None, orders[0], unclear, example=next(text for text in texts if text))
    column = _categories(position, codes, texts)
    return _with_trouble(column, table, codes, texts, shares, decimal, orders)


def _with_trouble(
    column: Column,
    table: Table,
    codes: np.ndarray,
    texts: list[str],
    shares: _Shares,
    decimal: str | None,
    orders: tuple[str, ...],
) -> Column:
    """Return a column of texts with the reason why it is probably not a column of categories, if there is one."""
    position, values, categories = column.position, column.values, column.categories
    known = [number(text, decimal) is not None for text in texts]
    if shares.where(is_number_somehow) >= _MOSTLY and not shares.share(known) >= _MOSTLY:
        example = next(text for text, right in zip(texts, known, strict=True) if not right and is_number_somehow(text))
        return Column(position, values, categories, trouble=Trouble.MARK, example=example)
    for kind, right in (
        ("numbers", known),
        ("dates", [days(text, orders[0]) is not None for text in texts] if orders else []),
    ):
        if right and shares.share(right) >= _MOSTLY:
            wrong = np.array([not good and text != "" for good, text in zip(right, texts, strict=True)])
            row, name = int(np.argmax(wrong[codes])), table.names[position]
            remedy = f"correct that cell, or drop the row ({table.drop([name])} leaves the column out)"
            slip = table.refusal(row, position, f"is {kind} but for text", remedy)
            return Column(position, values, categories, trouble=Trouble.SLIP, slip=slip)
    if len(texts) > max(FEW_CATEGORIES, len(codes) // ROWS_PER_CATEGORY):
        is_half = shares.share(known) >= 0.5  # numbers, possibly with a special mark for holes
        wrong_text = next(text for text, right in zip(texts, known, strict=True) if not right) if is_half else ""
        return Column(position, values, categories, trouble=Trouble.MANY, example=wrong_text)
    return column


def _marks_of_amounts(texts: list[str], decimal: str | None) -> tuple[str, ...]:
    """Return the decimal marks with which all texts are numbers with one unit, such as % or $: none, one, or two with
    different results. For a currency some may lack the unit.
    """
    filled = [text for text in texts if text]
    units = {unit(text) for text in filled} - {None}
    if len(units) != 1 or ("%" in units and not all(unit(text) or text == "0" for text in filled)):
        return ()
    read = {mark: [amount(text, mark) for text in filled] for mark in ((decimal,) if decimal else (".", ","))}
    fits = tuple(mark for mark, values in read.items() if None not in values)
    return fits[:1] if len(fits) == 2 and read["."] == read[","] else fits


def tidy_text(text: str) -> str:
    """Return a text without differences of case and blanks."""
    return " ".join(text.split()).casefold()


def _join_alike(codes: np.ndarray, texts: list[str]) -> tuple[np.ndarray, list[str]]:
    """Return the codes and texts of a column in which texts that differ only by case or blanks are replaced by the most
    frequent one.
    """
    counts, names = np.bincount(codes, minlength=len(texts)), dict[str, str]()
    for at in np.argsort(-counts, kind="stable"):
        names.setdefault(tidy_text(texts[at]), texts[at].strip())
    place = {key: k for k, key in enumerate(names)}
    return np.array([place[tidy_text(text)] for text in texts], dtype=np.intp)[codes], list(names.values())


class _Shares:
    """The share of the filled cells of a text column whose text has a property."""

    def __init__(self, codes: np.ndarray, texts: list[str]) -> None:
        self.texts, self.filled = texts, np.array([text != "" for text in texts])
        self.counts = np.bincount(codes, minlength=len(texts))

    def where(self, holds: Any) -> float:
        """Return the share of the cells whose text satisfies `holds`."""
        return self.share([holds(text) for text in self.texts])

    def share(self, holds: list[bool]) -> float:
        """Return the share of the cells whose text has True in `holds`."""
        filled = self.counts[self.filled].sum()
        return float(self.counts[self.filled & np.array(holds)].sum() / filled) if filled else 0.0


def apply(
    table: Table, position: int, form: Form, *, decimal: str | None, lenient: bool = False
) -> tuple[Column, str | None]:
    """Return a column as training has learnt to read it, and the first text that is none of its categories. Raises
    InputError: a cell of a number column is infinite or text, or a cell of a date column is no date, unless `lenient`,
    which makes holes of them.

    Parameters
    ----------
    table, position : Table with its cells, int
    form : Form, what training has learnt of the column
    decimal : {".", ","} or None, the decimal mark of numbers in text
    lenient : bool, whether what cannot be read is a hole
    """
    series, order = table.frame[position], form.order
    if form.categories is not None:
        codes, texts = _factorize(table, position, series)
        key: Any = tidy_text if form.is_tidy else str
        place = {key(text): i for i, text in enumerate(form.categories)}
        mapped = np.array([place.get(key(text), -1) for text in texts], dtype=np.int32)[codes]
        unknown = texts[codes[int(np.argmax(mapped < 0))]] if (mapped < 0).any() else None
        return Column(position, mapped, form.categories), unknown
    if order is not None and _is_datetime(series):
        return Column(position, days_of(series), order=order), None
    read: Any = partial(number, decimal=decimal) if order is None else partial(_day, order=order)
    if form.amount is not None:
        read = partial(amount, mark=form.amount)
    if lenient:
        values, wrong = _read_leniently(table, position, series, read)
        return Column(position, values, order=order, wrong=wrong), None
    if order is not None:
        return Column(position, _dates(table, position, series, order), order=order), None
    if form.amount is not None and _is_text(table, position, series):
        return Column(position, _convert(table, position, series, read, "numbers")), None
    return Column(position, _numbers(table, position, series, decimal)), None


def fill_absent(n_rows: int, form: Form) -> Column:
    """Return a column for one that a table lacks: holes, or for categories the empty text if it is one of them.

    Parameters
    ----------
    n_rows, form : int, Form
    """
    if form.categories is None:
        return Column(0, np.full(n_rows, np.nan), order=form.order)
    code = form.categories.index("") if "" in form.categories else -1
    return Column(0, np.full(n_rows, code, dtype=np.int32), form.categories)


def _read_leniently(table: Table, position: int, series: Any, read: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return a column as float64, NaN for a hole, and which cells are holes because they could not be read."""
    if _is_text(table, position, series):
        codes, texts = _factorize(table, position, series)
        known = [read(text) for text in texts]
        wrong = np.array([value is None for value in known])[codes]
        values = np.array([np.nan if value is None else value for value in known])[codes]
    else:
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        wrong = np.zeros(len(values), dtype=bool)
    wrong |= np.isinf(values)
    return np.where(wrong, np.nan, values), wrong


def _categories(position: int, codes: np.ndarray, texts: list[str]) -> Column:
    """Return a column of categories in sorted order."""
    order = sorted(range(len(texts)), key=texts.__getitem__)
    rank = np.empty(len(texts), dtype=np.int32)
    rank[order] = np.arange(len(texts), dtype=np.int32)
    counts = np.bincount(codes, minlength=len(texts))[order]
    return Column(position, rank[codes], tuple(texts[i] for i in order), rows=tuple(counts.tolist()))


def _is_datetime(series: Any) -> bool:
    return bool(series.dtype.kind == "M")


def _is_text(table: Table, position: int, series: Any) -> bool:
    import pandas as pd

    dtype = series.dtype
    if dtype.kind in "biuf" or pd.api.types.is_numeric_dtype(dtype):
        return False
    if isinstance(dtype, pd.CategoricalDtype) or dtype.kind == "O":
        return True
    raise InputError(
        f"{table.path}: {table.column(position)} has type {dtype}: convert it to numbers or text, or drop it "
        f"({table.drop([table.names[position]])})"
    )


def _factorize(table: Table, position: int, series: Any) -> tuple[np.ndarray, list[str]]:
    """Return codes of a column and its texts in order of appearance; a missing cell is the text ""."""
    import pandas as pd

    try:
        codes, uniques = pd.factorize(series)
    except TypeError:  # lists and the like cannot be distinguished
        codes, uniques = np.zeros(len(series), dtype=np.intp), [series.iloc[0]]
    odd = next((value for value in uniques if not isinstance(value, str | Number | np.bool_ | datetime.date)), None)
    if odd is not None and not _is_datetime(series):
        raise InputError(
            f"{table.path}: {table.column(position)} holds {type(odd).__name__}: convert it to numbers or text, "
            f"or drop it ({table.drop([table.names[position]])})"
        )
    whole = series.dtype.kind == "f" and all(float(value).is_integer() for value in uniques)
    texts = [str(int(value)) if whole else str(value) for value in uniques]  # 1.0 is 1 if holes made floats of integers
    if (codes < 0).any():
        empty = texts.index("") if "" in texts else len(texts)
        codes = np.where(codes < 0, empty, codes)
        texts += [""] if empty == len(texts) else []
    return codes, texts


def _numbers(table: Table, position: int, series: Any, decimal: str | None) -> np.ndarray:
    """Return a number column as float64, NaN for a hole, or refuse a cell that is infinite or text."""
    if _is_text(table, position, series):
        values = _convert(table, position, series, lambda text: number(text, decimal), "numbers")
    else:
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise table.refusal(row, position, "holds an infinite value", "fill it in, or drop the row")
    return values


def _dates(table: Table, position: int, series: Any, order: str) -> np.ndarray:
    """Return a column of dates in text as days, NaN for a hole, or refuse any other cell."""
    return _convert(table, position, series, partial(_day, order=order), f"dates ({order})")


def _day(text: str, order: str) -> float | None:
    """Return a date in days, NaN for an empty cell, None for any other text. One that begins with the year is read in
    any order.
    """
    if text == "":
        return np.nan
    value = days(text, order)
    return days(text, YEAR_FIRST) if value is None else value


def _convert(table: Table, position: int, series: Any, convert: Any, what: str) -> np.ndarray:
    codes, texts = _factorize(table, position, series)
    values = [convert(text) for text in texts]
    wrong = np.array([value is None for value in values])[codes]
    if wrong.any():
        problem = f"holds text, but must hold {what}"
        remedy = "correct that cell, or drop the row"
        remedy += "" if table.is_in_memory else " (where a model is used: --on-error skip)"
        raise table.refusal(int(np.argmax(wrong)), position, problem, remedy)
    return np.array(values, dtype=np.float64)[codes]
