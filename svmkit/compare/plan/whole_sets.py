"""The sets that cells share as a whole: a file is read once for all folds, splits and problems of it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

from svmkit.data import Dataset
from svmkit.data.groups import load_grouped
from svmkit.data.places.sources import find, several
from svmkit.data.prepare.reading import Reading
from svmkit.runtime.mapping import size_of

SHARE = 2  # kept are whole sets of at most this part of the memory of a fit, which goes to its kernel rows meanwhile


class _Read(NamedTuple):
    """A set, what it was read from and how, and the warnings of its reading."""

    key: tuple[Any, ...]
    data: Dataset
    said: tuple[Warning, ...]


class WholeSets:
    """The last set that trained and the last file that tested, as they were read, for the cells that come next.

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
        """Return a set as `load_grouped` does, and warn as it did: the one that was read last if it is the same.

        Parameters
        ----------
        role : {"train", "test"}
            What it is for: one set of each is kept, and none to test with beside another training set.
        source, reading : str, Reading
            As for `load_grouped`.
        memory : int
            The bytes that a fit may use for kernel rows: a set that takes more than half of it is not kept.
        **given : object
            Further parameters of `load_grouped`.

        Raises
        ------
        InputError
            The set cannot be read.
        """
        key, kept = (_identity(source), reading, given), self._kept.get(role)
        if kept is None or kept.key != key:
            for stale in (role, "test"):  # before another one is read: two need not be in memory
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
    """Return what tells the contents of a source from others: a name, or a file with its size and time of change."""
    if several(source) is not None:
        return None
    place = find(source)
    if not isinstance(place, Path):
        return (place,)
    state = place.stat()
    return str(place.absolute()), state.st_size, state.st_mtime_ns
