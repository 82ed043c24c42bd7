"""`load` reads a data set of any supported format by its name or path."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from svmkit.data.dataset import Dataset
from svmkit.data.formats.files import split_endings
from svmkit.data.formats.kinds import TABLES, kind_of
from svmkit.data.formats.layout import cast_features
from svmkit.data.formats.npy import STORED, map_npy
from svmkit.data.parts.storage import Storage
from svmkit.data.places.builtin import load_builtin
from svmkit.data.places.sources import find, several
from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.features import (
    as_features,
    pad_or_refuse_columns,
    require_finite,
    require_finite_when_read,
)
from svmkit.data.prepare.reading import Reading
from svmkit.errors import InputError, SvmkitWarning


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
    storage: Storage | None = None,
) -> Dataset:
    """Read a data set.

    Parameters
    ----------
    source : str or path-like
        A path; a folder, or a pattern such as ``parts/*.svm``, whose files are the parts of one set; or a bare name: a
        file of the working directory, a built-in set (breast_cancer, diabetes, digits, iris, wine), a file of
        $SVMKIT_DATA, a file of the download cache ($SVMKIT_CACHE or ~/.cache/svmkit/datasets). The ending, apart from
        .gz, .bz2 or .xz, gives the format: .csv and .tsv are tables, .parquet and .npz themselves, and X*.npy has its
        labels in y*.npy in the same folder; for any other ending the first lines decide between svmlight and a table.
        svmlight indices count from 1 unless an index 0 occurs in the file.
    n_features : int, default=None
        The number of columns that a model expects. The last columns of a sparse file may be missing.
    wider : bool, default=False
        Whether an svmlight file may have columns beyond `n_features`, which are then in X, too (`SVMModel.widened`).
    encoding : Encoding, default=None
        The encoding of the model's training table, which is applied to a table instead of learning a new one.
    label : str or int, default=None
        The label column of a table: a name, or a position from 0 (negative: from the end). Default: the one
        called label, target, class or y in any case, else the last. The same as `reading.label`.
    labelled : bool, default=True
        Whether labels are required. Without them, as for prediction, y is None if the file has none.
    reading : Reading, default=None
        How to read a table: its label, decimal mark and character encoding, the columns to drop, the columns of
        categories. With `encoding`, which defines the columns, only its label, groups, event, decimal mark, character
        encoding, `na`, `on_error` and `allow_missing` are used.
    holes : bool, default=False
        Whether X may contain NaN, for empty cells of a table's number columns, and for NaN in files of other formats.
        Infinity is always refused.
    storage : Storage, default=None
        The type of the features, and the largest number of bytes of features in memory. Larger sets are mapped to a
        file: a .npy file itself, otherwise an unnamed file in the folder of temporary files. None: X is in memory.

    Returns
    -------
    Dataset
        X float64, or of the type of `storage`, dense if at least half full, else CSR; finite except for `holes`. A
        mapped X of .npy files may be float32.

    Raises
    ------
    InputError
        The data set is not found, unreadable or damaged (the message begins with ``FILE:LINE:`` if it concerns a line),
        contains infinity or holes that are not allowed, has no rows, or has columns that do not fit `n_features` or
        `encoding`.

    Warns
    -----
    SvmkitWarning
        Once, if a table has categories that `encoding` does not have; these count as zeros. Or if an svmlight file has
        values in columns beyond `n_features`, with the number of these columns.

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
    given: dict[str, Any] = {
        "n_features": n_features,
        "wider": wider,
        "encoding": encoding,
        "labelled": labelled,
        "holes": holes,
    }
    parts, storage = several(source), storage or Storage()
    if parts is not None:
        return _load_parts(parts, reading, storage, given)
    place = find(source)
    if isinstance(place, str):
        _refuse_reading(place, reading)
        X, y = load_builtin(place)
        return Dataset(cast_features(_fit_columns(X, n_features, place), storage.dtype), y, place)
    if encoding is None and labelled and not holes and storage.is_exceeded_by(place):
        from svmkit.data.parts.decoders import NotByPieces
        from svmkit.data.parts.gather import gather

        try:
            if kind_of(place, reading.charset) == "npy":
                _refuse_reading(place, reading)
                return _map(place, n_features, storage)
            data = gather([place], reading=reading, storage=storage)
            return replace(data, X=_fit_columns(data.X, n_features, place))
        except NotByPieces:
            pass  # the table is learnt as a whole
    return _load_whole(place, reading, dtype=storage.dtype, **given)


def _map(place: Path, n_features: int | None, storage: Storage) -> Dataset:
    """Return the set of an array in a file: the file itself is X if its rows can be used as stored."""
    X, y = map_npy(place, True)
    from svmkit.data.parts.gather import gather

    if X.dtype not in STORED or not X.flags.c_contiguous or X.dtype != (storage.dtype or X.dtype):
        return gather([place], storage=storage)
    (require_finite_when_read if storage.unexamined else require_finite)(X, what=str(place))
    return Dataset(_fit_columns(X, n_features, place), y, split_endings(place.name)[0])


def _load_parts(parts: list[Path], reading: Reading, storage: Storage, given: dict[str, Any]) -> Dataset:
    """Return the set of several files: with the columns of the first one, or the columns that a model expects."""
    from svmkit.data.parts.gather import gather, gather_blocks

    if given["encoding"] is None and given["n_features"] is None and given["labelled"] and not given["holes"]:
        return gather(parts, reading=reading, storage=storage)
    sets, labelled, holes = _load_each(parts, reading, storage, given), given["labelled"], given["holes"]
    blocks = ((one.X, one.y if labelled else np.zeros(one.n_samples)) for one in sets)
    data = gather_blocks(blocks, name=f"{len(parts)} files", storage=None if holes else storage, holes=holes)
    return data if labelled else replace(data, y=None)


def _load_each(parts: list[Path], reading: Reading, storage: Storage, given: dict[str, Any]) -> Iterator[Dataset]:
    """Yield the set of each file; InputError if its columns are encoded differently from the first."""
    first: Dataset | None = None
    for part in parts:
        one = load(part, reading=reading, storage=Storage(dtype=storage.dtype), **given)
        first = first or one
        if given["encoding"] is None and one.encoding != first.encoding:
            raise InputError(
                f"{part}: its columns, or the categories in them, are not those of {parts[0]}: encode them as numbers "
                "first"
            )
        yield one


def _load_whole(
    place: Path,
    reading: Reading,
    n_features: int | None,
    wider: bool,
    encoding: Encoding | None,
    labelled: bool,
    holes: bool,
    dtype: str | None,
) -> Dataset:
    """Read a file at once."""
    kind = kind_of(place, reading.charset or (encoding.charset if encoding is not None else None))
    learnt: Encoding | None = None
    flags: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    y: Any = None
    groups: np.ndarray | None = None
    observed: np.ndarray | None = None
    kept: np.ndarray | None = None
    if kind in TABLES:
        if kind != "table" and reading.charset is not None:
            raise InputError(f"{place}: --encoding is for CSV and TSV: other tables say how their texts are encoded")
        from svmkit.data.tables.readers import read_table

        X, y, learnt, flags, notes, (groups, observed), kept = read_table(
            place, kind, n_features=n_features, encoding=encoding, reading=reading, labelled=labelled, holes=holes
        )
    else:
        _refuse_reading(place, reading)
        if kind == "npz":
            from svmkit.data.formats.npz import read_npz

            X, y = read_npz(place, labelled)
        elif kind == "npy":
            X, y = map_npy(place, labelled)
            X = as_features(np.array(X, dtype=np.float64), what=str(place))
        else:
            from svmkit.data.formats.svmlight import read_svmlight

            X, y = read_svmlight(place, n_features, wider=wider, dtype=dtype)
    try:
        X = cast_features(X, dtype)
        require_finite(X, holes=holes)
    except InputError as err:
        raise InputError(f"{place}: {err}") from err
    if kind == "svmlight" and wider and n_features is not None:
        X = _without_empty(X, n_features, str(place))
    elif encoding is None or learnt is None:
        X = _fit_columns(X, n_features, place)
    name = split_endings(place.name)[0]
    return Dataset(X, y, name, learnt, flags, notes, groups=groups, observed=observed, kept=kept)


def _fit_columns(X: Any, n_features: int | None, source: str | Path) -> Any:
    return X if n_features is None else pad_or_refuse_columns(X, n_features, what=str(source), name="the model")


def _without_empty(X: Any, n_features: int, name: str) -> Any:
    """Return X without extra columns if these are all zeros, else X, with a warning. In the
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
