"""Refusals of a table for training, one line for all columns of a kind, and notes for the user."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from svmkit.data.formats.cells import number
from svmkit.data.formats.files import cite
from svmkit.data.tables.columns import FEW_CATEGORIES, Column, Trouble, tidy_text
from svmkit.data.tables.table import Table, name_columns
from svmkit.errors import InputError

MANY = 50  # number of categories in one column above which a note reports them
_COMPARED, _WORD = 200, 4  # the largest number of texts, and their least length, for comparing them with each other
_RARE, _OFTEN = 0.02, 20  # rows of a misspelt text, as a share of those of the right one, which has at least so many
_ID_ROWS = 50  # in a smaller table a quantity may well differ in all rows
_ID_NAME = re.compile(
    r"(?:^|[^a-z])(?:id|uuid|guid|key|index|idx|nr|no|number|nummer)$|(?<=[a-z])(?-i:Id|ID|Nr|No|Key|Index)$", re.I
)


def refusal(
    table: Table, columns: Sequence[Column], *, holes: bool, decimal: str | None = None, remedy: str | None = None
) -> InputError | None:
    """Return the error for the columns that cannot be used as features, or None.

    Parameters
    ----------
    table, columns : Table, sequence of Column
    holes : bool, whether number columns may have holes
    decimal : {".", ","} or None, the decimal mark that was given
    remedy : str, the remedy for holes, if it is not an option of training
    """
    of = {trouble: [column for column in columns if column.trouble == trouble] for trouble in Trouble}
    if of[Trouble.SLIP]:
        return of[Trouble.SLIP][0].slip
    if of[Trouble.MARK]:
        return InputError(f"{table.path}: {_describe_marks(table, of[Trouble.MARK], decimal)}")
    if of[Trouble.DAY]:
        days = of[Trouble.DAY]
        return InputError(
            f"{table.path}: {_names(table, days)} {_verb(days, 'holds', 'hold')} dates, but no cell shows whether the "
            f"day or the month comes first ({cite(days[0].example)}): write them as 2024-12-31, or leave them out "
            f"({table.drop(_list_names(table, days))})"
        )
    if of[Trouble.MANY]:
        return InputError(f"{table.path}: {_describe_texts(table, of[Trouble.MANY])}")
    return None if holes else _hole_error(table, columns, remedy)


def notes(table: Table, columns: Sequence[Column]) -> tuple[str, ...]:
    """Return notes for the user on the columns that training accepts: their treatment, and how to change it."""
    lines = []
    dates = [column for column in columns if column.order is not None]
    if dates and not table.is_in_memory:  # a note is a warning there, and a caller expects this
        lines.append(f"{_names(table, dates)} taken for dates: days since 1970-01-01")
    ids = [column for column in columns if looks_like_id(table.names[column.position], column)]
    if ids:
        looks = _verb(ids, "looks like an ID", "look like IDs")
        lines.append(f"{_names(table, ids)} {looks}: {table.drop(_list_names(table, ids))}")
    if table.repeated:
        lines.append(note_repeated(table))
    amounts = [column for column in columns if column.amount is not None]
    if amounts:
        percent = ", 25% as 0.25" if any("%" in column.example for column in amounts) else ""
        lines.append(
            f"{_names(table, amounts)} {_verb(amounts, 'holds', 'hold')} numbers with a unit "
            f"({cite(amounts[0].example)}), read without it{percent}: {table.categorical(_list_names(table, amounts))} "
            "makes a category of each text"
        )
    codes = [column for column in columns if column.zeros]
    if codes:
        lines.append(
            f"{_names(table, codes)} {_verb(codes, 'holds', 'hold')} numbers with leading zeros "
            f"({cite(codes[0].zeros)}), codes perhaps, taken for numbers: "
            f"{table.categorical(_list_names(table, codes))} makes a category of each"
        )
    return (*lines, *_notes_of_texts(table, columns))


def note_repeated(table: Table) -> str:
    """Return where the header of a table is repeated."""
    line = table.place_of_record(table.repeated[0]).rpartition(":")[2]
    more = f" and {len(table.repeated) - 1:,} more" if len(table.repeated) > 1 else ""
    return f"the header stands again in line {line}{more}: left out"


def _notes_of_texts(table: Table, columns: Sequence[Column]) -> list[str]:
    """Return notes for the user on columns of categories: if there are many, or if some may be the same."""
    lines = []
    texts = [column for column in columns if column.categories is not None and column.trouble is None]
    many = [column for column in texts if column.width > MANY and not column.is_chosen]
    if many:
        counts = ", ".join(f"{table.names[column.position]!r} for {column.width:,}" for column in many[:8])
        lines.append(
            f"taken for categories, with a 0/1 feature for each text: {counts}; {table.drop(_list_names(table, many))} "
            f"leaves {_verb(many, 'it', 'them')} out"
        )
    for column in texts:
        name = table.names[column.position]
        if alike := cite_alike(column):
            lines.append(
                f"column {name!r} has texts that differ by case or blanks only ({alike}), each a category of its own: "
                f"{table.tidy([name])} joins them"
            )
        if slips := cite_slip(column):
            lines.append(f"column {name!r} has rare texts that may be misspelt ({slips}), categories of their own")
    return lines


def cite_alike(column: Column) -> str:
    """Return the first texts of a column that differ only by case or blanks, with their rows; "" if there are none."""
    groups: dict[str, list[int]] = {}
    for k, text in enumerate(column.categories or ()):
        groups.setdefault(tidy_text(text), []).append(k)
    several = next((group for group in groups.values() if len(group) > 1), None)
    return "" if several is None else ", ".join(_count(column, k) for k in several[:3])


def cite_slip(column: Column) -> str:
    """Return the first text of a column in few rows that differs by one letter from one in many rows, or ""."""
    texts = column.categories or ()
    if len(texts) > _COMPARED or not column.rows:
        return ""
    words = [k for k, text in enumerate(texts) if len(text) >= _WORD and text.replace(" ", "").isalpha()]
    for rare in words:
        for often in words:
            is_rare = column.rows[rare] <= max(_RARE * column.rows[often], 1.0) and column.rows[often] >= _OFTEN
            if is_rare and _is_slip(texts[rare], texts[often]):
                return f"{_count(column, rare)}, beside {_count(column, often)}"
    return ""


def _is_slip(text: str, right: str) -> bool:
    """Return whether two texts differ by one substituted, missing, additional or transposed letter."""
    if abs(len(text) - len(right)) > 1 or tidy_text(text) == tidy_text(right):
        return False
    at = next((k for k, (a, b) in enumerate(zip(text, right, strict=False)) if a != b), min(len(text), len(right)))
    rest, other = text[at:], right[at:]
    swapped = len(rest) > 1 and rest[:2] == other[1::-1] and rest[2:] == other[2:]
    return rest[1:] == other[1:] or rest[1:] == other or rest == other[1:] or swapped


def _count(column: Column, k: int) -> str:
    """Return a category and the number of its rows."""
    return f"{cite((column.categories or ())[k])} {column.rows[k]:,}"


def looks_like_id(name: str, column: Column) -> bool:
    """Return whether a column of whole numbers, all different, is named or numbered like an ID."""
    values = column.values
    if column.categories is not None or column.order is not None or len(values) < _ID_ROWS:
        return False
    for part in (values[:_ID_ROWS], values):  # the first few rows decide for nearly all columns
        if not (np.isfinite(part).all() and (part == np.floor(part)).all() and len(np.unique(part)) == len(part)):
            return False
    steps = np.diff(values)
    in_order = bool((steps > 0).all() or (steps < 0).all())
    return in_order or values.max() - values.min() + 1 == len(values) or _ID_NAME.search(name) is not None


def _names(table: Table, columns: Sequence[Column]) -> str:
    return name_columns(_list_names(table, columns))


def _list_names(table: Table, columns: Sequence[Column]) -> list[str]:
    return [table.names[column.position] for column in columns]


def _describe_marks(table: Table, columns: Sequence[Column], decimal: str | None) -> str:
    """Return the refusal of numbers that are written with another decimal mark, or with marks between thousands."""
    texts = [text for column in columns for text in column.categories or ()]
    commas, points = (sum(number(text, mark) is not None for text in texts) for mark in (",", "."))
    what, how = "commas", "--decimal , if 1,234 means 1.234, --decimal . if it means 1234"
    if commas > points:
        what, how = "a decimal comma", "--decimal , reads them"
    elif points > commas:
        what, how = "a decimal point, or commas between the thousands", "--decimal . reads them"
    verb = _verb(columns, "holds", "hold")
    if table.is_in_memory:
        how = "convert them to numbers"
    if decimal is not None:
        out = f"{table.drop(_list_names(table, columns))} leaves {_verb(columns, 'it', 'them')} out"
        how = f"but --decimal {decimal} was given: write all columns with one mark, or {out}"
    return f"{_names(table, columns)} {verb} numbers with {what} ({cite(columns[0].example)}): {how}"


def _describe_texts(table: Table, columns: Sequence[Column]) -> str:
    rows, names = len(columns[0].values), _list_names(table, columns)
    counts = ", ".join(
        f"{table.names[c.position]!r} {len(c.categories or ()):,}"
        + (f": mostly numbers, but {cite(c.example)} (write a hole as an empty cell)" if c.example else "")
        for c in columns[:12]
    )
    more = f" and {len(columns) - 12} more" if len(columns) > 12 else ""
    return (
        f"too many different texts in {rows:,} rows: {counts}{more} (at most {FEW_CATEGORIES}, or one for "
        f"ten rows); {table.drop(names)} leaves {_verb(columns, 'the column', 'the columns')} out, "
        f"{table.categorical(names)} makes a feature of each text"
    )


def _hole_error(table: Table, columns: Sequence[Column], remedy: str | None) -> InputError | None:
    """Return the error for holes in number columns, with the line of the first and the number of each column."""
    counts: dict[int, int] = {}
    first = 0
    for column in columns:
        empty = column.holes
        if empty.any():
            row = int(np.argmax(empty))
            first = min(first, row) if counts else row
            counts[column.position] = int(empty.sum())
    if not counts:
        return None
    total, n = sum(counts.values()), len(counts)
    of_each = ", ".join(f"{table.names[position]} {count:,}" for position, count in list(counts.items())[:12])
    return InputError(
        f"{table.place(first)}: {'the first of ' if total > 1 else ''}{total:,} hole{'s' * (total > 1)} in {n} "
        f"column{'s' * (n > 1)}: {of_each}{f' and {n - 12} more' if n > 12 else ''}; "
        + (remedy or f"{table.imputing} fills them, {table.drop(['COL'])} leaves a column out")
    )


def _verb(columns: Sequence[Column], one: str, many: str) -> str:
    return one if len(columns) == 1 else many
