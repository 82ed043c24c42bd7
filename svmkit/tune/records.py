"""Finished folds as files of a scratch folder, for progress, reasons and Ctrl-C, whichever process does the work."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any


class Records:
    """A folder of JSON files, one for each path and fold, that several processes of one machine share.

    scikit-learn's searches hand their results over when all is done, and as numbers only. Where the folder does not
    exist (a worker on another machine), nothing is written, and only progress and reasons are lost.

    Parameters
    ----------
    folder : str
        The scratch folder.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._here = os.path.isdir(folder)
        self._read: dict[str, dict[str, Any]] = {}

    def add(self, record: dict[str, Any]) -> None:
        """Write one record, whole or not at all."""
        with suppress(OSError):
            handle, part = tempfile.mkstemp(dir=self.folder, suffix=".part")
            with os.fdopen(handle, "w") as out:
                json.dump(record, out)
            os.replace(part, Path(part).with_suffix(".json"))

    def all(self) -> list[dict[str, Any]]:
        """All records so far, the oldest first."""
        for file in sorted(Path(self.folder).glob("*.json"), key=lambda file: file.stat().st_mtime_ns):
            if file.name not in self._read:
                self._read[file.name] = json.loads(file.read_text())
        return list(self._read.values())

    def stop(self) -> None:
        """Tell all processes that work for this search to leave it."""
        with suppress(OSError):
            (Path(self.folder) / "stop").touch()

    @property
    def stopped(self) -> bool:
        """Whether the search has been left; its folder may be gone by then."""
        return self._here and (os.path.exists(os.path.join(self.folder, "stop")) or not os.path.isdir(self.folder))
