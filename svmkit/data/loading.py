"""`load` reads a data set of any supported format by its name or path."""

from __future__ import annotations

import os
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from svmkit.data.dataset import Dataset
from svmkit.data.formats.files import read_start, refuse_binary, split_endings
from svmkit.data.places.builtin import load_builtin
from svmkit.data.places.sources import find
from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.features import pad_or_refuse_columns, require_finite
from svmkit.data.prepare.reading import Reading
from svmkit.errors import InputError, SvmkitWarning

_SVMLIGHT_LINE = re.compile(rb"\s*\S+(\s+(qid|[-+]?\d+):\S*)+\s*")
_BY_ENDING = {".csv": "table", ".tsv": "table", ".parquet": "parquet", ".npz": "npz"}
_BY_MAGIC = {b"PAR1": "parquet", b"PK\x03\x04": "npz"}


def load(
    source: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    wider: bool = False,
    encoding: Encoding | None = None,
    label: str | int | None = None,
    labelled: bool = True,
    reading: Reading | None = None,
    holes: bool = False,
) -> Dataset:
    """Read a data set.

    Parameters
    ----------
    source : str or path-like
        A path, or a bare name: a file of the working directory, a built-in set (breast_cancer, diabetes, digits,
        iris, wine), a file of $SVMKIT_DATA, a file of the download cache ($SVMKIT_CACHE or
        ~/.cache/svmkit/datasets). By ending, after .gz, .bz2 or .xz: .csv and .tsv are tables, .parquet
        and .npz themselves; for any other the first lines decide between svmlight and a table. svmlight
        indices count from 1 unless an index 0 occurs in the file.
    n_features : int, default=None
        Number of columns that a model expects. The last columns of a sparse file may be missing.
    wider : bool, default=False
        Whether an svmlight file may have columns beyond `n_features`, which X has too then (`SVMModel.widened`).
    encoding : Encoding, default=None
        Encoding of the model's training table, which is applied to a table instead of learning a new one.
    label : str or int, default=None
        The label column of a table: a name, or a position from 0 (negative: from the end). Default: the one
        called label, target, class or y in any case, else the last. The same as `reading.label`.
    labelled : bool, default=True
        Whether labels are required. Without them, as for prediction, y is None if the file has none.
    reading : Reading, default=None
        How a table is to be read: its label, decimal mark and character encoding, the columns to drop, the columns of
        categories. Together with `encoding`, which knows all else, only its label counts.
    holes : bool, default=False
        Whether NaN may stand in X, for the cells of a table's number columns that hold no value, and as the files of
        other formats have it. Infinity is always refused.

    Returns
    -------
    Dataset
        X float64, dense when at least half full, else CSR; finite but for `holes`.

    Raises
    ------
    InputError
        If the data set is not found, unreadable or broken (the message begins with ``FILE:LINE:`` if it concerns a
        line), holds infinity or holes that were not asked for, has no rows, or has columns that do not fit
        `n_features` or `encoding`.

    Warns
    -----
    SvmkitWarning
        Once, if a table holds categories that `encoding` does not know; these count as zeros. Or if an svmlight file
        has values in columns beyond `n_features`, with their number.

    Examples
    --------
    >>> from svmkit import load
    >>> iris = load("iris")
    >>> iris.X.shape, iris.y[0].item()
    ((150, 4), 'setosa')
    """
    reading = reading or Reading()
    if label is not None:
        reading = replace(reading, label=label)
    place = find(source)
    if isinstance(place, str):
        _refuse_reading(place, reading)
        X, y = load_builtin(place)
        return Dataset(_fit_columns(X, n_features, place), y, place)
    kind = kind_of(place, encoding.charset if encoding is not None else reading.charset)
    learnt: Encoding | None = None
    flags: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    y_or_none: Any = None
    if kind == "table" or kind == "parquet":
        if kind == "parquet" and reading.charset is not None:
            raise InputError(f"{place}: --encoding is for CSV and TSV: Parquet says itself how its texts are encoded")
        from svmkit.data.tables.readers import read_table

        X, y_or_none, learnt, flags, notes = read_table(
            place, kind, n_features=n_features, encoding=encoding, reading=reading, labelled=labelled, holes=holes
        )
    elif kind == "npz":
        from svmkit.data.formats.npz import read_npz

        _refuse_reading(place, reading)
        X, y_or_none = read_npz(place, labelled)
    else:
        from svmkit.data.formats.svmlight import read_svmlight

        _refuse_reading(place, reading)
        X, y_or_none = read_svmlight(place, n_features, wider=wider)
    try:
        require_finite(X, holes=holes)
    except InputError as err:
        raise InputError(f"{place}: {err}") from err
    if kind == "svmlight" and wider and n_features is not None:
        X = _without_empty(X, n_features, str(place))
    elif encoding is None or learnt is None:
        X = _fit_columns(X, n_features, place)
    return Dataset(X, y_or_none, split_endings(place.name)[0], learnt, flags, notes)


def _fit_columns(X: Any, n_features: int | None, source: str | Path) -> Any:
    return X if n_features is None else pad_or_refuse_columns(X, n_features, what=str(source), name="the model")


def _without_empty(X: Any, n_features: int, name: str) -> Any:
    """Return X without its columns beyond those of training if they are all zeros, else X, with a warning. In the
    svmlight format, columns that training data do not have are all zeros there.
    """
    if X.shape[1] == n_features:
        return X
    rows, columns = X[:, n_features:].nonzero()
    if not len(rows):
        return X[:, :n_features]
    features, entries = _count(len(np.unique(columns)), "feature", "features"), _count(len(rows), "entry", "entries")
    warnings.warn(
        f"{name}: {features} beyond the {n_features:,} of training in {entries} of "
        f"{_count(len(np.unique(rows)), 'row', 'rows')}: they count as zeros in training; --strict refuses",
        SvmkitWarning,
        stacklevel=3,
    )
    return X


def _count(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"


def _refuse_reading(source: str | Path, reading: Reading) -> None:
    if reading.label is not None:
        label = f"a label column ({reading.label!r})"
        raise InputError(f"{source}: {label} can be named for CSV and Parquet only: leave it out")
    if reading.given:
        raise InputError(f"{source}: {', '.join(reading.given)}: for CSV, TSV and Parquet only: leave it out")


def kind_of(path: Path, charset: str | None = None) -> str:
    """Return the format of a file, by its ending or its first bytes: "table", "parquet", "npz" or "svmlight"."""
    start = read_start(path)
    ending = split_endings(path.name)[1]
    by_magic = next((kind for magic, kind in _BY_MAGIC.items() if start.startswith(magic)), None)
    kind = _BY_ENDING.get(ending) or by_magic
    if kind in ("parquet", "npz"):
        return kind
    if charset is not None:  # UTF-16 has NUL bytes, too
        start = start.decode(charset, "ignore").encode(errors="ignore")
    refuse_binary(path, start)
    return kind or _sniff(start)


def _sniff(start: bytes) -> str:
    """Return "table" if more of the first lines have a delimiter and no index:value than have such a pair."""
    svmlight = table = 0
    lines = (line.partition(b"#")[0] for line in start.splitlines())
    for line in [line for line in lines if line.strip()][:20]:
        if _SVMLIGHT_LINE.fullmatch(line):
            svmlight += 1
        elif any(mark in line for mark in (b",", b"\t", b";")) and not re.search(rb"\s[-+]?\d+:\S", line):
            table += 1
    return "table" if table > svmlight else "svmlight"
