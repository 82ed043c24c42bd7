"""The groups of samples, and which times were observed: `qid:` of svmlight files, and columns of tables."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from svmkit.data.dataset import Dataset
from svmkit.data.formats.kinds import kind_of
from svmkit.data.places.sources import find, several
from svmkit.data.prepare.reading import Reading
from svmkit.errors import InputError

_TRUTH = {"1": True, "1.0": True, "true": True, "yes": True, "0": False, "0.0": False, "false": False, "no": False}


def add_groups(
    data: Dataset,
    source: str | os.PathLike[str],
    groups: str | None = None,
    event: str | None = None,
    reading: Reading | None = None,
) -> Dataset:
    """Return a data set with the groups of its samples, and which values were observed.

    Parameters
    ----------
    data, source : Dataset, str or path-like
        The data set, and what it was loaded from.
    groups, event : str, default=None
        The columns of a table that name groups, and that hold 1 where an event was observed and 0 for a censored time.
        An svmlight file says its groups by `qid:`.
    reading : Reading, default=None
        How the table was read.

    Raises
    ------
    InputError
        The file has no such column, a hole in it, or another flag than 0 and 1.
    """
    kind, place = require_columns(source, groups, event, reading), find(source)
    if kind in ("table", "parquet"):
        assert isinstance(place, Path)
        from svmkit.data.tables.readers import read_column

        reading = reading or Reading()
        of_rows = None if groups is None else read_column(place, kind, groups, reading)
        flags = None if event is None else _flags(place, event, read_column(place, kind, event, reading))
        return replace(data, groups=of_rows, observed=flags)
    if kind != "svmlight":
        return data
    assert isinstance(place, Path)
    from svmkit.data.formats.svmlight import read_groups

    return replace(data, groups=read_groups(place))


def require_columns(
    source: str | os.PathLike[str], groups: str | None, event: str | None, reading: Reading | None = None
) -> str:
    """Return the kind of a file; raise InputError if it is several, or no table although columns are named.

    Parameters
    ----------
    source, groups, event, reading
        As for `add_groups`.
    """
    if several(source) is not None:
        raise InputError(f"{source}: groups are read from one file: join the parts")
    place = find(source)
    kind = "named" if isinstance(place, str) else kind_of(place, reading.charset if reading else None)
    if kind in ("table", "parquet"):
        return kind
    for option, column in (("groups", groups), ("event", event)):
        if column is not None:
            own = "an svmlight file says its groups by qid:, " if kind == "svmlight" and option == "groups" else ""
            raise InputError(f"{source}: --{option} is the column of a table (CSV, TSV, Parquet); {own}leave it out")
    return kind


def drop_columns(reading: Reading, groups: str | None, event: str | None) -> Reading:
    """Return how a table is read, of which columns of groups and events are no features.

    Parameters
    ----------
    reading, groups, event
        As for `add_groups`.
    """
    taken = [column for column in (groups, event) if column is not None]
    return replace(reading, drop=(*reading.drop, *taken)) if taken and not reading.only else reading


def fold_groups(data: Dataset, number: int, n_folds: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows for training and for the test, in order, of one of several folds of whole groups.

    Parameters
    ----------
    data : Dataset
        The data set; without groups each row is one.
    number, n_folds, seed : int
        The number of the fold, from 0, that of all folds, and the seed that they share.
    """
    codes = _codes(data)
    n_groups = int(codes.max()) + 1
    if n_groups < n_folds:
        raise InputError(f"{data.name} has {n_groups} groups, too few for {n_folds} folds: give fewer folds")
    of_group = np.random.default_rng(seed).permutation(n_groups) % n_folds
    held = of_group[codes] == number
    return np.flatnonzero(~held), np.flatnonzero(held)


def split_groups(data: Dataset, fraction: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows for training and for the test, in order, such that each group is in one of the two.

    Parameters
    ----------
    data : Dataset
        The data set; without groups each row is one.
    fraction, seed : float, int
        The share of the groups to hold out, at least one and not all, and the seed of the choice.
    """
    codes = _codes(data)
    n_groups = int(codes.max()) + 1
    if n_groups < 2:
        raise InputError(f"{data.name} has one group, which cannot be divided: give --test FILE")
    order = np.random.default_rng(seed).permutation(n_groups)
    held = np.isin(codes, order[: min(max(round(fraction * n_groups), 1), n_groups - 1)])
    return np.flatnonzero(~held), np.flatnonzero(held)


def _codes(data: Dataset) -> np.ndarray:
    """Return the group of each row as a number from 0."""
    return np.arange(data.n_samples) if data.groups is None else np.unique(data.groups, return_inverse=True)[1]


def _flags(path: Path, column: str, values: np.ndarray) -> np.ndarray:
    """Return the flags of a column as truth values."""
    found, code = np.unique(values, return_inverse=True)
    known = [_TRUTH.get(str(value).strip().lower()) for value in found.tolist()]
    if None in known:
        wrong = found[known.index(None)]
        raise InputError(
            f"{path}: column {column!r} holds {str(wrong)!r}, no flag: give 1 where the event was observed, else 0"
        )
    return np.array(known, dtype=bool)[code]
