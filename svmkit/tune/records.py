"""Finished folds as files of a scratch folder, through which processes report progress and learn of Ctrl-C."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any


class Records:
    """A folder of JSON files, one for each path and fold, that several processes of one machine share.

    scikit-learn's searches return their results at the end, and as numbers only. If the folder does not exist (for a
    worker on another machine), nothing is written; only the progress and the reasons of failures are lost then.

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
        """Write one record atomically."""
        with suppress(OSError):
            handle, part = tempfile.mkstemp(dir=self.folder, suffix=".part")
            with os.fdopen(handle, "w") as out:
                json.dump(record, out)
            os.replace(part, Path(part).with_suffix(".json"))

    def all(self) -> list[dict[str, Any]]:
        """Return all records so far, in no particular order."""
        for file in Path(self.folder).glob("*.json"):
            if file.name not in self._read:
                self._read[file.name] = json.loads(file.read_text())
        return list(self._read.values())

    def stop(self) -> None:
        """Tell all processes of this search to end."""
        with suppress(OSError):
            (Path(self.folder) / "stop").touch()

    @property
    def stopped(self) -> bool:
        """Return whether the search has ended; its folder may have been removed by then."""
        return self._here and (os.path.exists(os.path.join(self.folder, "stop")) or not os.path.isdir(self.folder))
