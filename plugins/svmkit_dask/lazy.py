"""Predictions of a model as lazy Dask arrays, chunk by chunk as the input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from svmkit.errors import InputError


def is_collection(X: Any) -> bool:
    """Return whether X is a Dask collection."""
    return hasattr(X, "__dask_graph__")


def as_array(X: Any) -> Any:
    """Return a dask array or dataframe as an array; the lengths of a dataframe's partitions stay unknown."""
    return X if hasattr(X, "chunks") else X.to_dask_array()


def mapped(function: Callable[[Any, Any], np.ndarray], model: Any, X: Any, width: int | None, dtype: Any) -> Any:
    """Return function(model, rows) of the rows of a Dask collection, as a dask array with the chunks of its rows.

    Parameters
    ----------
    function : callable
        Takes a model and an array of rows; returns one value, or `width` of them, for each row.
    model : object
        The model. It is one node of the graph, and so it travels to each worker once.
    X : dask array of shape (n_samples, n_features), or dask dataframe
        The rows.
    width : int or None
        The number of columns of the result; None for an array (n_samples,).
    dtype : dtype
        The type of the result.

    Raises
    ------
    InputError
        X is no table of rows and columns.
    """
    import dask

    X = as_array(X)
    if X.ndim != 2:
        raise InputError(f"X has {X.ndim} dimensions: it needs rows and columns")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    node = dask.delayed(model, pure=True, traverse=False)
    shape: dict[str, Any] = {"drop_axis": 1} if width is None else {"chunks": (X.chunks[0], (width,))}
    meta = np.empty((0,) if width is None else (0, 0), dtype=dtype)
    return X.map_blocks(_applied, function, node, dtype=dtype, meta=meta, **shape)


def _applied(rows: Any, function: Callable[[Any, Any], np.ndarray], model: Any) -> np.ndarray:
    if not rows.shape[0]:  # a chunk without rows
        like = function(model, np.zeros((1, rows.shape[1])))
        return like[:0]
    return function(model, rows)
