"""A table as it was read: its columns, their names, and the place of a cell in the file for messages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svmkit.data.csvtext import Dialect, line_of
from svmkit.data.files import shown
from svmkit.errors import InputError


@dataclass(frozen=True)
class Table:
    """A table: a DataFrame with columns 0, 1, ... (None until it is read), their names, and the file."""

    path: Path
    frame: Any
    names: tuple[str, ...]
    has_header: bool
    layout: Dialect | None  # None for Parquet, which has no lines

    def column(self, position: int) -> str:
        """Return the name of a column for messages."""
        return f"column {self.names[position]!r}" if self.has_header else f"column {position + 1} (counted from 1)"

    def refusal(self, row: int, position: int, problem: str, mend: str) -> InputError:
        """Return the error for a cell, with its line in the file and its text."""
        if self.layout is None:
            value = str(self.frame[position].iloc[row])
            place = f"{self.path}: row {row + 1} (counted from 1)"
        else:
            line, fields = line_of(self.path, self.layout, row)
            value, place = fields[position], f"{self.path}:{line}"
        return InputError(f"{place}: {self.column(position)} {problem} ({shown(value)}): {mend}")

    def refusal_of_holes(self, row: int, counts: dict[int, int]) -> InputError:
        """Return the error for holes in number columns: the first row with one, and their number by position."""
        if self.layout is None:
            place = f"{self.path}: row {row + 1} (counted from 1)"
        else:
            place = f"{self.path}:{line_of(self.path, self.layout, row)[0]}"
        total, n = sum(counts.values()), len(counts)
        listed = [f"{self.names[position]} {count:,}" for position, count in list(counts.items())[:12]]
        more = f" and {n - 12} more" if n > 12 else ""
        return InputError(
            f"{place}: {'the first of ' if total > 1 else ''}{total:,} hole{'s' * (total > 1)} "
            f"in {n} column{'s' * (n > 1)}: {', '.join(listed)}{more}; --impute median fills them, "
            "--drop COL leaves a column out"
        )
