"""Records of finished cells in a JSON-lines file, so that no cell is run twice."""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from svmkit.compare.plan.spec import Cell
from svmkit.errors import InputError, SvmkitWarning
from svmkit.runtime import files
from svmkit.solver.solution import Status

FAILED, TIMEOUT = "failed", "timeout"
"""How a cell ends without a model: by an error, or by its time limit. Others end as a `Status`."""


def ran_out(record: dict[str, Any]) -> bool:
    """Return whether the cell of a record reached its time limit, with a model or without."""
    return record["status"] in (Status.TIME_LIMIT, TIMEOUT)


class Store:
    """Records by key; the last record of a key counts, and a line truncated by a kill is dropped.

    Parameters
    ----------
    path : str, Path or None
        The file, created with the first record; None stores nothing on disk.

    Attributes
    ----------
    records : dict of str to dict
        The records by the keys of their cells.
    failure : str or None
        Why the last records are not in the file; None if they are.

    Raises
    ------
    InputError
        The file is of another kind.

    Examples
    --------
    >>> from svmkit.compare import Store
    >>> from svmkit.compare.plan.spec import read
    >>> cell = read({"data": ["iris"], "solvers": ["smo"]}).cells()[0]
    >>> Store(None).has(cell, limit=60.0)
    False
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self.records: dict[str, dict[str, Any]] = {}
        self._waiting: list[dict[str, Any]] = []  # records that could not be written yet
        self._warned = False
        self.failure: str | None = None
        if self.path is None or not self.path.exists():
            return
        text = _text(self.path)
        self.records = _records(self.path, text)
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            files.write(self.path, whole.encode())

    def require_writable(self) -> None:
        """Raise InputError if records cannot be added to the file: it is read-only, or for a new file its folder."""
        if self.path is None:
            return
        place = self.path if self.path.exists() else _nearest_folder(self.path)
        if not os.access(place, os.W_OK):
            raise InputError(f"cannot write {self.path}: give --results FILE in a folder that can be written to")

    def add(self, record: dict[str, Any]) -> None:
        """Store a record, on disk at once.

        If the file cannot be written, one SvmkitWarning is issued; the records are kept in memory, and are written with
        the next one if possible.
        """
        self.records[record["key"]] = record
        if self.path is None:
            return
        self._waiting.append(record)
        try:
            self._append("".join(json.dumps(r, allow_nan=False) + "\n" for r in self._waiting))
            self._waiting, self.failure = [], None
        except OSError as error:
            if not self._warned:
                self._warned = True
                message = f"cannot write {self.path}: {error.strerror}; what is in it is kept, and the cells go on"
                warnings.warn(message, SvmkitWarning, stacklevel=2)
            lost = f"the results of {len(self._waiting)} cells are not in it"
            self.failure = f"cannot write {self.path}: {error.strerror}; {lost}"

    def _append(self, text: str) -> None:
        """Append lines to the file, or leave it unchanged."""
        assert self.path is not None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        before = self.path.stat().st_size if self.path.is_file() else 0
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError:
            with suppress(OSError):  # a truncated line would spoil the lines after it
                if self.path.is_file():
                    os.truncate(self.path, before)
            raise

    def has(self, cell: Cell, limit: float) -> bool:
        """Return whether the cell is finished: it neither failed nor ended at a time limit below `limit` seconds, and
        the predictions of its model for the test rows are known.
        """
        record = self.records.get(cell.key)
        if record is None or record["status"] == FAILED:
            return False
        if record.get("n_test") and record.get("predict_s") is None:  # such a cell was once stored, with a note
            return False
        return not (ran_out(record) and record["time_limit"] < limit)

    def changed_plugins(self, cells: Iterable[Cell]) -> dict[str, int]:
        """Return the plugins whose file differed when cells were run, and the numbers of these cells."""
        cells = [cell for cell in cells if "plugins" in cell.settings]
        settings = [record.get("settings", {}) for record in self.records.values()] if cells else []
        before = {_without_plugins(its): its.get("plugins", {}) for its in settings}
        changed = Counter[str]()
        for cell in cells:
            then = before.get(_without_plugins(cell.settings), {})
            changed.update(name for name, its in cell.settings["plugins"].items() if then.get(name, its) != its)
        return dict(changed)

    def records_of(self, cells: Iterable[Cell]) -> list[dict[str, Any]]:
        """Return the records of the finished cells among the given ones, in order and with the cells' present names."""
        return [self.records[cell.key] | names(cell) for cell in cells if cell.key in self.records]


def _nearest_folder(path: Path) -> Path:
    """Return the closest existing folder above a file: folders below it are made with the first record."""
    return next(folder for folder in path.absolute().parents if folder.exists())


def _without_plugins(settings: dict[str, Any]) -> str:
    return json.dumps({key: value for key, value in settings.items() if key != "plugins"}, sort_keys=True)


def read_records(path: str | Path) -> list[dict[str, Any]]:
    """Return the records in a file, which is not changed: a comparison may be writing to it.

    Raises InputError: the file does not exist, or is of another kind.
    """
    return list(_records(Path(path), _text(Path(path))).values())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text ({error}): give another --results FILE") from None


def _records(path: Path, text: str) -> dict[str, dict[str, Any]]:
    """Return the records by key; the last one of a key counts, and an incomplete last line is left out."""
    records = {}
    for number, line in enumerate(text[: text.rfind("\n") + 1].splitlines(), 1):
        try:
            record = json.loads(line)
            records[str(record["key"])] = record
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"{path}:{number}: not a record of a comparison: delete the line, or give another --results FILE"
            ) from None
    return records


def names(cell: Cell) -> dict[str, Any]:
    """Return the keys by which a record identifies its cell."""
    place = {"key": cell.key, "set": cell.data, "label": cell.solver, "stop": cell.stop}
    return place | {"split": cell.split, "seed": cell.seed}
