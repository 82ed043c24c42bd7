"""The sets that cells share as a whole: a file is read once for all its folds, splits and problems."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

from svmkit.data import Dataset
from svmkit.data.groups import load_grouped
from svmkit.data.places.sources import find, several
from svmkit.data.prepare.reading import Reading
from svmkit.runtime.mapping import size_of

SHARE = 2  # whole sets are kept up to this fraction of a fit's memory, which its kernel rows fill meanwhile


class _Read(NamedTuple):
    """A set, its source and reading options, and the warnings from reading it."""

    key: tuple[Any, ...]
    data: Dataset
    said: tuple[Warning, ...]


class WholeSets:
    """The last training set and the last test file, as read, for the following cells.

    Examples
    --------
    >>> from svmkit.compare.plan.whole_sets import WholeSets
    >>> from svmkit.data.prepare.reading import Reading
    >>> whole = WholeSets()
    >>> first, again = (whole.load("train", "iris", Reading(), memory=1 << 30, ranked=False) for _ in range(2))
    >>> first is again
    True
    """

    def __init__(self) -> None:
        self._kept: dict[str, _Read] = {}

    def load(self, role: str, source: str, reading: Reading, *, memory: int, **given: Any) -> Dataset:
        """Return a set as `load_grouped` does, with the same warnings: the last one read if it is the same.

        Parameters
        ----------
        role : {"train", "test"}
            The role of the set: one set of each is kept, and no test set together with another training set.
        source, reading : str, Reading
            As for `load_grouped`.
        memory : int
            The bytes that a fit may use for kernel rows: a set that takes more than half of them is not kept.
        **given : object
            Further parameters of `load_grouped`.

        Raises
        ------
        InputError
            The set cannot be read.
        """
        key, kept = (_identity(source), reading, given), self._kept.get(role)
        if kept is None or kept.key != key:
            for stale in (role, "test"):  # before another one is read: both need not be in memory
                self._kept.pop(stale, None)
            del kept
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                data = load_grouped(source, reading, **given)
            kept = _Read(key, data, tuple(w.message for w in caught if isinstance(w.message, Warning)))
            if size_of(data.X) <= memory // SHARE and key[0] is not None:
                self._kept[role] = kept
        for warning in kept.said:
            warnings.warn(warning, stacklevel=2)
        return kept.data


def _identity(source: str) -> tuple[Any, ...] | None:
    """Return what identifies the contents of a source: a name, or a file with its size and modification time."""
    if several(source) is not None:
        return None
    place = find(source)
    if not isinstance(place, Path):
        return (place,)
    state = place.stat()
    return str(place.absolute()), state.st_size, state.st_mtime_ns
