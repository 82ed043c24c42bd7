"""The groups of samples: `qid:` of svmlight files, named groups of other files, folds and tests of whole groups."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from svmkit.data.dataset import Dataset
from svmkit.data.formats.kinds import TABLES, kind_of
from svmkit.data.loading import load
from svmkit.data.places.sources import find, several
from svmkit.data.prepare.reading import Reading
from svmkit.errors import InputError

QID = "qid"
"""The name of the groups of an svmlight file."""


def load_grouped(source: str | os.PathLike[str], reading: Reading, *, ranked: bool, **given: Any) -> Dataset:
    """Read a data set with its groups: a column of a table, `qid:` of an svmlight file, or an array of an NPZ file.

    Parameters
    ----------
    source, reading : str or path-like, Reading
        As for `load`; `reading.groups` names the groups: a column, "qid", or the array.
    ranked : bool
        Whether rows are ranked within groups: the groups of an svmlight file are then read by default.
    **given : object
        Further parameters of `load`.

    Raises
    ------
    InputError
        The data set cannot be read, or has no such groups.
    """
    if ranked and reading.groups != QID:
        require_columns(source, reading)
    if reading.groups is None or several(source) is not None:
        data = load(source, reading=reading, **given)
        if reading.groups is not None and data.groups is None:
            raise InputError(f"--groups {reading.groups}: for one CSV, TSV or Parquet file only: leave it out")
        return add_groups(data, source) if ranked else data
    place = find(source)
    kind = "named" if isinstance(place, str) else kind_of(place, reading.charset)
    if kind not in ("svmlight", "npz"):
        return load(source, reading=reading, **given)
    data = load(source, reading=replace(reading, groups=None), **given)
    return replace(data, groups=_read_groups(Path(place), kind, reading.groups, data.n_samples))


def _read_groups(place: Path, kind: str, name: str | int, n_samples: int) -> np.ndarray:
    """Return the groups of a file that is not a table (n_samples,); raise InputError if it lacks them."""
    if kind == "npz":
        from svmkit.data.formats.npz import read_groups as read_array

        return read_array(place, str(name), n_samples)
    from svmkit.data.formats.svmlight import read_groups

    groups = read_groups(place) if name == QID else None
    if groups is None:
        said = "no line of it has qid:" if name == QID else f"its groups are qid:, so write --groups {QID}"
        raise InputError(f"{place}: has no groups {name!r}: {said}")
    return groups


def add_groups(data: Dataset, source: str | os.PathLike[str]) -> Dataset:
    """Return a data set with the groups of `qid:` in an svmlight file; groups of a table are read with it.

    Parameters
    ----------
    data, source : Dataset, str or path-like
        The data set, and what it was loaded from.

    Raises
    ------
    InputError
        Some lines of the file have no group, or one that is not a whole number.
    """
    place = find(source)
    if isinstance(place, str) or kind_of(place) != "svmlight":
        return data
    from svmkit.data.formats.svmlight import read_groups

    return replace(data, groups=read_groups(place))


def require_columns(source: str | os.PathLike[str], reading: Reading) -> None:
    """Raise InputError if rows of several files are ranked, or columns are named although the file is not a table.

    Parameters
    ----------
    source, reading : str or path-like, Reading
        As for `load`.
    """
    if several(source) is not None:
        raise InputError(f"{source}: groups are read from one file: join the parts")
    place = find(source)
    kind = "named" if isinstance(place, str) else kind_of(place, reading.charset)
    if kind in TABLES:
        return
    for option, column in (("groups", reading.groups), ("event", reading.event)):
        if column is not None:
            own = "an svmlight file says its groups by qid:, " if kind == "svmlight" and option == "groups" else ""
            raise InputError(f"{source}: --{option} is the column of a table (CSV, TSV, Parquet); {own}leave it out")


def fold_groups(data: Dataset, number: int, n_folds: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows for training and for testing, in order, for one of several folds of whole groups.

    Parameters
    ----------
    data : Dataset
        The data set; without groups each row is a group.
    number, n_folds, seed : int
        The number of the fold, from 0, the number of folds, and their common seed.
    """
    codes = _codes(data)
    n_groups = int(codes.max()) + 1
    if n_groups < n_folds:
        raise InputError(f"{data.name} has {n_groups} groups, too few for {n_folds} folds: give fewer folds")
    of_group = np.random.default_rng(seed).permutation(n_groups) % n_folds
    held = of_group[codes] == number
    return np.flatnonzero(~held), np.flatnonzero(held)


def split_groups(data: Dataset, fraction: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows for training and for testing, in order, with each group on one side.

    Parameters
    ----------
    data : Dataset
        The data set; without groups each row is a group.
    fraction, seed : float, int
        The share of the groups to hold out, at least one and not all, and the random seed.
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
