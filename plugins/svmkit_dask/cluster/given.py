"""What `fit` of an estimator is given, as parts: Dask collections, lists of delayed arrays, or files."""

from __future__ import annotations

import os
from typing import Any

from svmkit.errors import InputError
from svmkit_dask.parts.collections import from_collections, is_collection
from svmkit_dask.parts.sources import ChunkPart, Source, from_paths


def sources(client: Any, X: Any, y: Any, sample_weight: Any) -> list[Source]:
    """Return the parts of what `fit` was given."""
    from svmkit_dask.cluster.ground import held

    if _are_paths(X):
        if y is not None or sample_weight is not None:
            raise InputError("y and sample_weight go with collections: files hold their labels themselves")
        return list(from_paths(X))
    if y is None:
        raise InputError("y is missing: give the labels beside a collection, as a dask array or a column's name")
    if isinstance(X, list | tuple):
        return list(held(client, _of_delayed(X, y, sample_weight)))
    if not is_collection(X):
        raise InputError(
            f"X is {type(X).__name__}, which is in the memory of this process: train it with SVMClassifier, or pass a "
            "dask array (dask.array.from_array(X, chunks))"
        )
    persisted = [client.persist(one) if is_collection(one) else one for one in (X, y, sample_weight)]
    return list(held(client, from_collections(*persisted)))


def _are_paths(X: Any) -> bool:
    first = X[0] if isinstance(X, list | tuple) and len(X) else X
    return isinstance(first, str | os.PathLike)


def _of_delayed(X: Any, y: Any, sample_weight: Any) -> list[Any]:
    """Return the parts of lists of delayed arrays (or futures), one part for each of them."""
    import dask

    lists = [X, y] if sample_weight is None else [X, y, sample_weight]
    if any(not isinstance(one, list | tuple) or len(one) != len(X) for one in lists) or not len(X):
        raise InputError("X is a list: y and sample_weight must be lists with as many delayed arrays")
    part = dask.delayed(ChunkPart, pure=False)
    return [part(f"part {p} of {len(X)}", *arrays) for p, arrays in enumerate(zip(*lists, strict=True), start=1)]
