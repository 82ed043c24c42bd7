"""The encoding of a table's columns as features, so that later tables are read in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any

from svmkit.data.prepare.dates import ORDERS
from svmkit.data.prepare.reading import Reading
from svmkit.errors import InputError

GIVEN, BY_NAME, LAST = "given", "by its name", "last column"  # how a label column was chosen


def label_in_words(name: str | None, position: int, chosen: str | None) -> str:
    """Return a label column in words: its name, or its place if it has none, and how it was chosen."""
    shown = f"{position + 1}, counted from 1" if name is None else repr(name)
    return f"label column {shown}" + (f" ({chosen})" if chosen else "")


@dataclass(frozen=True)
class Encoding:
    r"""The encoding of columns, learnt from a training table.

    Attributes
    ----------
    columns : tuple of str
        Feature columns in order, without the label; ``column1``, ``column2``, ... when there was no header.
    categories : tuple of (tuple of str or None)
        For each column its categories in sorted order, each of which is one 0/1 feature; None for numbers.
        An empty cell of a text column is the category "".
    header : bool
        Whether the names come from a header; columns are then matched by name, else by position.
    label : str or None
        The label column's name; None when the training table had no labels.
    label_index : int or None
        Its position in the training table, from 0.
    label_text : bool
        Whether the labels are text (so that labels that look like numbers stay text).
    dates : tuple of ({"ymd", "dmy", "mdy"} or None), default=all None
        For each date column the order of its parts; the feature is the days since 1970-01-01.
    decimal : {".", ","} or None, default=None
        The decimal mark; the other mark may then stand between groups of three digits. None is a point and no groups.
    charset : str or None, default=None
        The character encoding of text files; None is UTF-8.
    positions : tuple of int or None, default=None
        The positions of `columns` in the training table, from 0; None if it had no others but the label.
    width : int or None, default=None
        The number of all columns of the training table; None if it had no others but the label.
    label_chosen : str or None, default=None
        How the label was chosen, in words: "given", "by its name", "last column".
    more_labels : tuple of str, default=()
        The names of further label columns, of several targets or labels.
    na : tuple of str, default=()
        Texts of cells without a value, besides the default ones.
    amounts : tuple of ({".", ","} or None), default=all None
        For each column of numbers with a unit, such as "25%" or "$1,650.88", their decimal mark.
    tidy : tuple of bool, default=all False
        For each column of categories, whether texts that differ only by case or blanks are one category.

    Examples
    --------
    >>> from pathlib import Path
    >>> from svmkit import load
    >>> _ = Path("cars.csv").write_text("weight,colour,label\n1.2,red,0\n0.9,blue,1\n")
    >>> load("cars.csv").encoding.feature_names
    ['weight', 'colour=blue', 'colour=red']
    """

    columns: tuple[str, ...]
    categories: tuple[tuple[str, ...] | None, ...]
    header: bool
    label: str | None
    label_index: int | None
    label_text: bool
    dates: tuple[str | None, ...] = ()
    decimal: str | None = None
    charset: str | None = None
    positions: tuple[int, ...] | None = None
    width: int | None = None
    label_chosen: str | None = None
    more_labels: tuple[str, ...] = ()
    na: tuple[str, ...] = ()
    amounts: tuple[str | None, ...] = ()
    tidy: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        if not self.dates:
            object.__setattr__(self, "dates", (None,) * len(self.columns))
        if not self.amounts:
            object.__setattr__(self, "amounts", (None,) * len(self.columns))
        if not self.tidy:
            object.__setattr__(self, "tidy", (False,) * len(self.columns))

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Whether each column contains numbers, rather than text or dates."""
        return tuple(kind == "number" for kind in self.kinds)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kind of each column: "number", "categories" or "date"."""
        pairs = zip(self.categories, self.dates, strict=True)
        return tuple("categories" if known is not None else "date" if date else "number" for known, date in pairs)

    @property
    def label_in_words(self) -> str | None:
        """The label column and how it was chosen, in words; None if the training table had no labels."""
        if self.label_index is None:
            return None
        if self.more_labels:
            return f"label columns {', '.join(map(repr, self.label_names))} ({self.label_chosen})"
        return label_in_words(self.label if self.header else None, self.label_index, self.label_chosen)

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of several label columns; empty for one or none."""
        return (str(self.label), *self.more_labels) if self.more_labels else ()

    @property
    def n_features(self) -> int:
        """Number of features after encoding."""
        return sum(1 if known is None else len(known) for known in self.categories)

    @property
    def group_sizes(self) -> tuple[int, ...]:
        """The number of features of each column, which are adjacent."""
        return tuple(1 if known is None else len(known) for known in self.categories if known is None or len(known))

    @property
    def feature_names(self) -> list[str]:
        """The name of each feature: the name of its column, or ``column=category``."""
        names: list[str] = []
        for column, known in zip(self.columns, self.categories, strict=True):
            names += [column] if known is None else [f"{column}={category}" for category in known]
        return names

    @property
    def label_facts(self) -> dict[str, Any] | None:
        """The label column for JSON: its name, its position from 0, and how it was chosen; None without labels."""
        if self.label_index is None:
            return None
        name = self.label if self.header else None
        more = {"more": list(self.more_labels)} if self.more_labels else {}
        return {"column": name, "position": self.label_index, "chosen": self.label_chosen} | more

    def to_json(self) -> dict[str, Any]:
        """Return the encoding in JSON types, for the header of a model file."""
        stored = asdict(self)
        return (
            stored
            | {name: list(value) for name, value in stored.items() if isinstance(value, tuple)}
            | {"categories": [None if known is None else list(known) for known in self.categories]}
        )

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Encoding:
        """Return the Encoding that `to_json` has converted, after checks; older files lack the entries with defaults.

        Raises
        ------
        InputError
            If an entry is missing or has the wrong type.
        """
        try:
            values = {f.name: stored[f.name] for f in fields(cls) if f.name in stored or f.default is MISSING}
            for name in ("columns", "dates", "positions"):
                values[name] = tuple(values[name]) if values.get(name) is not None else None
            for name in ("more_labels", "na", "amounts", "tidy"):
                values[name] = tuple(values.get(name) or ())
            values["categories"] = tuple(None if known is None else tuple(known) for known in values["categories"])
            columns, dates, positions = values["columns"], values["dates"] or (), values["positions"]
            texts = [
                *columns,
                *values["more_labels"],
                *values["na"],
                *(text for known in values["categories"] for text in known or ()),
            ]
        except (KeyError, TypeError, AttributeError) as err:
            raise InputError(f"the stored column encoding is incomplete ({err!r}): the model file is damaged") from err
        width, optional = values.get("width"), ("label", "charset", "label_chosen")
        sound = (
            len(columns) == len(values["categories"]) == len(dates or columns)
            and all(isinstance(text, str) for text in texts)
            and all(isinstance(values[name], bool) for name in ("header", "label_text"))
            and all(isinstance(values.get(name), str | None) for name in optional)
            and all(isinstance(number, int | None) for number in (values["label_index"], width))
            and all(order in (None, *ORDERS) for order in dates)
            and values.get("decimal") in (None, ".", ",")
            and len(values["amounts"]) in (0, len(columns))
            and len(values["tidy"]) in (0, len(columns))
            and all(mark in (None, ".", ",") for mark in values["amounts"])
            and all(isinstance(is_tidy, bool) for is_tidy in values["tidy"])
        )
        if positions is not None:
            sound = sound and len(positions) == len(columns) and isinstance(width, int)
            sound = sound and all(isinstance(at, int) and 0 <= at < (width or 0) for at in positions)
        if not sound:
            raise InputError(
                "the stored column encoding does not fit together: the model file is damaged; save it again"
            )
        charset = Reading(charset=values.get("charset")).charset  # refuses what is not a character encoding
        return cls(**values | {"dates": dates, "charset": charset})
