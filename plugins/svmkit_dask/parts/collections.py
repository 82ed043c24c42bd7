"""Dask collections: their chunks as parts, and predictions for them as lazy arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from svmkit.data.tables.table import name_columns
from svmkit.errors import InputError, meant
from svmkit_dask.parts.sources import ChunkPart


def from_collections(X: Any, y: Any, sample_weight: Any = None) -> list[Any]:
    """Return the parts of Dask collections, each a delayed `ChunkPart`; the collections should be persisted.

    X is a dask array or dataframe; y and the weights are collections, array-likes or names of columns. Chunks that
    differ from those of X are rechunked; if their lengths are not known and their numbers differ, they are computed.
    """
    import dask

    if not (_is_frame(X) or _is_array(X)):
        raise InputError(f"X is {type(X).__name__}: pass a dask array or dataframe (dask.array.from_array(X, chunks))")
    given = {"y": y, "sample_weight": sample_weight}
    names = {what: name for what, name in given.items() if isinstance(name, str)}
    for what, name in names.items():
        if not _is_frame(X):
            raise InputError(f"{what}={name!r}: only a dask dataframe has columns with names: pass a dask array")
        if name not in X.columns:
            raise InputError(f"{what}={name!r}: X has no such column{meant(name, X.columns)}")
        given[what] = X[name]
    X = X.drop(columns=list(names.values())) if names else X
    if _is_frame(X):
        from pandas.api.types import is_numeric_dtype

        texts = [str(name) for name, dtype in X.dtypes.items() if not is_numeric_dtype(dtype)]
        if texts:  # known from the types, without a look at the rows
            raise InputError(
                f"X: {name_columns(texts)} {'hold' if len(texts) > 1 else 'holds'} no numbers: encode such columns "
                "first (X.categorize() and dask.dataframe.get_dummies), or drop them"
            )
    else:
        X = as_rows(X)
    collections = _align({"X": X} | {name: one for name, one in given.items() if one is not None})
    chunks = {}
    for name, collection in collections.items():
        delayed = collection.to_delayed()
        chunks[name] = delayed if isinstance(delayed, list) else np.asarray(delayed).ravel().tolist()
    n, part = len(chunks["X"]), dask.delayed(ChunkPart, pure=True)
    zipped = zip(chunks["X"], chunks["y"], chunks.get("sample_weight", [None] * n), strict=True)
    return [part(f"part {i} of {n}", *three) for i, three in enumerate(zipped, start=1)]


def values_like(X: Any, y: Any) -> np.ndarray:
    """Return an empty array of the type of the labels in memory: y, its collection, or a column of X."""
    labels = X[y] if isinstance(y, str) and _is_frame(X) else y
    return np.asarray(getattr(labels, "_meta", labels))[:0]


def _is_frame(collection: Any) -> bool:
    return hasattr(collection, "npartitions") and hasattr(collection, "divisions")


def _is_array(collection: Any) -> bool:
    return hasattr(collection, "dask") and hasattr(collection, "chunks")


def _align(collections: dict[str, Any]) -> dict[str, Any]:
    """Return the collections with the same number of chunks each, equally long if the lengths are known."""
    import dask.array as da

    numbers, measured = set(), {}
    for name, one in collections.items():
        if _is_frame(one):
            numbers.add(one.npartitions)
            measured[name] = partial(one.to_dask_array, lengths=True)
        elif _is_array(one):
            numbers.add(len(one.chunks[0]))
            if np.isnan(one.chunks[0]).any():
                measured[name] = one.copy().compute_chunk_sizes
        else:
            numbers.add(-1)  # it is in memory
    if measured and len(numbers) == 1:
        return collections  # a chunk that differs is detected when it is loaded
    known = collections | {name: measure() for name, measure in measured.items()}
    rows, aligned = known["X"].chunks[0], {}
    n = sum(rows)
    for name, one in known.items():
        m = one.shape[0] if _is_array(one) else len(one)
        if m != n:
            raise InputError(f"X has {n:,} rows, but {name} has {m:,}: they must be equally many")
        aligned[name] = one.rechunk({0: rows}) if _is_array(one) else da.from_array(np.asarray(one), chunks=(rows,))
    return aligned


def is_collection(X: Any) -> bool:
    """Return whether X is a Dask collection."""
    return hasattr(X, "__dask_graph__")


def as_array(X: Any) -> Any:
    """Return a dask array or dataframe as an array; the lengths of a dataframe's partitions stay unknown."""
    return X if hasattr(X, "chunks") else X.to_dask_array()


def as_rows(X: Any) -> Any:
    """Return a dask array whose chunks hold whole rows; raise InputError unless it has rows and columns."""
    if X.ndim != 2:
        raise InputError(f"X has {X.ndim} dimensions: it needs rows and columns")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def apply_chunk(rows: Any, function: Callable[[Any, Any], np.ndarray], model: Any) -> np.ndarray:
    """Return function(model, rows) for a chunk, which may be empty."""
    if not rows.shape[0]:
        return function(model, np.zeros((1, rows.shape[1])))[:0]
    return function(model, rows)
