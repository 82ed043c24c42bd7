"""How much of a data set may be in memory, and the progress of reading it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svmkit.data.formats.files import split_endings

GROWTH = 1.5  # ratio of the size of features to the size of a text, at most, if all entries are short
PACKED = 6.0  # ratio to the size of a compressed file
DOUBLED = 2.0  # ratio to the size of an array that may be float32

Report = Callable[["Gathered"], Any]


@dataclass(frozen=True)
class Gathered:
    """The progress of `gather`.

    Attributes
    ----------
    part : int
        The number of the part being read, from 1.
    of : int or None
        The number of parts, None if unknown.
    rows : int
        The rows of all parts so far.
    nbytes : int
        Their bytes.

    Examples
    --------
    >>> from svmkit.data import Storage, gather_blocks
    >>> seen = []
    >>> data = gather_blocks([([[0.5, 1.0]], [1]), ([[2.0, 3.0]], [0])], storage=Storage(report=seen.append))
    >>> seen[-1]
    Gathered(part=2, of=None, rows=2, nbytes=32)
    """

    part: int
    of: int | None
    rows: int
    nbytes: int


@dataclass(frozen=True)
class Storage:
    """How much of a data set may be in memory, where the rest is stored, and a function that receives the progress.

    Attributes
    ----------
    most : int, default=None
        The largest number of bytes of features in memory; None sets no limit.
    folder : str, default=None
        The folder for features that exceed it; None is the folder of temporary files.
    report : callable, default=None
        Called with the current `Gathered`, several times per part.
    dtype : {"float32", "float64"}, default=None
        The type of features, of which float32 takes half of the memory; None is the type of the file, and float64 for
        text.
    unexamined : bool, default=False
        Whether NaN and infinity in an array file may be left to the first pass over all rows.

    Examples
    --------
    >>> from svmkit.data import Storage, load
    >>> load("iris", storage=Storage(most=1 << 30)).X.shape
    (150, 4)
    """

    most: int | None = None
    folder: str | None = None
    report: Report | None = None
    dtype: str | None = None
    unexamined: bool = False

    def is_exceeded_by(self, path: Path) -> bool:
        """Return whether the features in a file may exceed the limit, judging by the size of the file."""
        if self.most is None:
            return False
        try:
            growth = (
                DOUBLED
                if path.suffix == ".npy"
                else GROWTH * (PACKED if split_endings(path.name)[2] or path.suffix in (".parquet", ".npz") else 1)
            )
            return path.stat().st_size * growth > self.most
        except OSError:
            return False
