"""How to read a table: the options of `load` for CSV, TSV and Parquet files."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from svmkit.errors import InputError

ON_ERROR = ("stop", "skip", "impute")  # for a cell that a model cannot read
_SPELT = {"charset": "encoding"}  # the options of the command line with another name here


@dataclass(frozen=True)
class Reading:
    r"""Options for reading a table. A column is given by its name or by its position (0 is the first, -1 the last).

    Parameters
    ----------
    label : str or int, default=None
        The label column. Default: the one named label, target, class or y in any case, else the last.
    decimal : {".", ","}, default=None
        The decimal mark of the numbers; the other mark may then separate groups of three digits. Default: a point, and
        a column of numbers with commas is refused, since these could be either.
    charset : str, default=None
        The character encoding of a text file by its name in Python, such as latin-1; default UTF-8.
    drop, only : sequence of str or int, default=()
        Columns to leave out, or the only columns to use as features. A text may contain several separated by commas.
    categorical : sequence of str or int, default=()
        Columns in which each value becomes a category: numbers, dates, and texts with any number of distinct values.
    groups : str or int, default=None
        A column whose rows of the same value belong together (`Dataset.groups`); it is not a feature.
    event : str or int, default=None
        A column with 1 if the label is the time of an event, and 0 if it is censored (`Dataset.observed`); it is not a
        feature.
    tidy : sequence of str or int, default=()
        Columns of texts, in which texts that differ only by case or blanks are one category.
    na : sequence of str, default=()
        Texts of cells without a value, besides the default ones (an empty cell, NA, null, ?, ...); a text may contain
        several separated by commas. The label is not affected.
    on_error : {"stop", "skip", "impute"}, default=None
        For a table that a model reads: how to treat a cell that it cannot read, such as text among numbers. None is
        "stop", an error; "skip" leaves the row out; "impute" treats the cell as a hole, for a model that fills it.
    allow_missing : bool, default=False
        For a table that a model reads: whether columns of training may be missing; they are then holes in all rows.

    Raises
    ------
    InputError
        The decimal mark, the character encoding or `on_error` is unknown, or both `drop` and `only` are given.

    Examples
    --------
    >>> from pathlib import Path
    >>> from svmkit.data import Reading, load
    >>> _ = Path("prices.csv").write_text("size;price;sold\n1,5;2,25;yes\n2,5;3,75;no\n")
    >>> load("prices.csv", reading=Reading(label="sold", decimal=",")).X.tolist()
    [[1.5, 2.25], [2.5, 3.75]]
    """

    label: str | int | None = None
    decimal: str | None = None
    charset: str | None = None
    drop: Sequence[str | int] = ()
    only: Sequence[str | int] = ()
    categorical: Sequence[str | int] = ()
    groups: str | int | None = None
    event: str | int | None = None
    tidy: Sequence[str | int] = ()
    na: Sequence[str] = ()
    on_error: str | None = None
    allow_missing: bool = False

    def __post_init__(self) -> None:
        for name in ("drop", "only", "categorical", "tidy"):
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str | int) else tuple(value or ()))
        texts = (self.na,) if isinstance(self.na, str) else tuple(self.na or ())
        object.__setattr__(self, "na", tuple(part.strip() for text in texts for part in text.split(",")))
        if self.on_error not in (None, *ON_ERROR):
            raise InputError(f"--on-error {self.on_error!r} is not known; there are: {', '.join(ON_ERROR)}")
        if self.decimal not in (None, ".", ","):
            raise InputError(f"--decimal {self.decimal!r}: the decimal mark is . or , (a point or a comma)")
        if self.drop and self.only:
            raise InputError("give --drop or --only, not both: the columns that --only does not name are left out")
        if self.charset is not None:
            try:
                "".encode(self.charset)  # refuses codecs of bytes, such as hex
            except (LookupError, ValueError):
                raise InputError(
                    f"--encoding {self.charset!r} is no character encoding: give one such as utf-8, latin-1 or cp1252"
                ) from None
            object.__setattr__(self, "charset", codecs.lookup(self.charset).name)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Reading:
        """Return the reading for options: label, decimal, encoding, drop, only, categorical, groups, event."""
        names = {_SPELT.get(name, name): name for name in cls.__dataclass_fields__}
        return cls(**{names[key]: value for key, value in options.items() if key in names})

    @property
    def given(self) -> list[str]:
        """The given options, as written on the command line."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        given = [name for name, value in values.items() if value not in (None, ()) and value is not False]
        return [f"--{_SPELT.get(name, name).replace('_', '-')}" for name in given]
