"""A table as read: its columns, their names, and the place of a cell in the file for messages."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from svmkit.data.formats.csvtext import Dialect, line_of
from svmkit.data.formats.files import cite
from svmkit.errors import InputError


@dataclass(frozen=True)
class Table:
    """A table: a DataFrame with columns 0, 1, ... (None until it is read), their names, and the file."""

    path: Path
    frame: Any
    names: tuple[str, ...]
    has_header: bool
    layout: Dialect | None  # None for Parquet, which has no lines
    repeated: tuple[int, ...] = ()  # rows of the file, from 0, that repeat the header: not in `frame`
    first: int = 0  # the row of the file at which the frame begins, if it is a piece of a larger table
    is_in_memory: bool = False  # a DataFrame, whose path is its name

    def with_frame(self, frame: Any, first: int = 0) -> Table:
        """Return the table with other cells, which begin at this row of the file."""
        return replace(self, frame=frame, first=first)

    def column(self, position: int) -> str:
        """Return the name of a column for messages."""
        return f"column {self.names[position]!r}" if self.has_header else f"column {position + 1} (counted from 1)"

    def drop(self, names: Sequence[str]) -> str:
        """Return how to leave columns out: an option of the command line, or a step in Python."""
        return f"{self.path}.drop(columns={list(names)})" if self.is_in_memory else f"--drop {as_option(names)}"

    def categorical(self, names: Sequence[str]) -> str:
        """Return how to make each value of columns a category."""
        if self.is_in_memory:
            return f"{self.path}.astype({dict.fromkeys(names, 'category')})"
        return f"--categorical {as_option(names)}"

    def tidy(self, names: Sequence[str]) -> str:
        """Return how to join texts of columns that differ only by case or blanks."""
        if self.is_in_memory:
            return f"{self.path}[{names[0]!r}].str.strip().str.lower()"
        return f"--tidy {as_option(names)}"

    @property
    def imputing(self) -> str:
        """How to fill holes: an option of the command line, or a parameter in Python."""
        return "impute='median'" if self.is_in_memory else "--impute median"

    def place(self, row: int) -> str:
        """Return the place of a row in the file, for messages."""
        if self.layout is None:
            return f"{self.path}: row {self.first + row + 1} (counted from 1)"
        return self.place_of_record(self._record(row))

    def place_of_record(self, record: int) -> str:
        """Return the place of a record in the file, including repeated headers."""
        assert self.layout is not None
        return f"{self.path}:{line_of(self.path, self.layout, record)[0]}"

    def _record(self, row: int) -> int:
        """Return the record of the file for a row of the frame."""
        row += self.first
        for at in self.repeated:
            row += at <= row
        return row

    def refusal(self, row: int, position: int, problem: str, remedy: str) -> InputError:
        """Return the error for a cell, with its line in the file and its text.

        Parameters
        ----------
        row, position : int, the place of the cell in the frame
        problem, remedy : str
        """
        place = self.place(row)
        return InputError(f"{place}: {self.column(position)} {problem} ({self.cell(row, position)}): {remedy}")

    def cell(self, row: int, position: int) -> str:
        """Return the text of a cell for messages."""
        if self.layout is None:
            return cite(str(self.frame[position].iloc[row]))
        return cite(line_of(self.path, self.layout, self._record(row))[1][position])


def as_option(names: Sequence[str]) -> str:
    """Return columns as the value of an option, quoted if a shell requires it."""
    return shlex.quote(",".join(names))


def name_columns(names: Sequence[str]) -> str:
    """Return "column 'a'" or "columns 'a', 'b'", at most eight by name."""
    head = ", ".join(repr(name) for name in names[:8])
    return f"column{'s' if len(names) > 1 else ''} {head}" + (f" and {len(names) - 8} more" if len(names) > 8 else "")
