"""Starting points from a model: its support vectors are looked up among the rows of the data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError
from svmkit.kernels.functions import Precomputed
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import pair_coefficients
from svmkit.problems.base import Problem
from svmkit.training.class_pair import ClassPair
from svmkit.training.data import TrainingData


class ModelStart:
    """The coefficients of a model on the rows of training data, for any C and kernel that it was trained with.

    Parameters
    ----------
    model : SVMModel
        The model to start from.
    data : TrainingData
        The data that are trained on.
    linear : bool, default=False
        Whether to start from the model's weights of the columns, instead of its support vectors.

    Raises
    ------
    InputError
        The classes, the columns or the kinds of kernel differ, or no support vector is a row of the data.

    Notes
    -----
    A support vector matches a row of its own class and of weight > 0 if the values of the two are equal bit for bit
    once the row is preprocessed as by the model (in the lower of the two precisions). Each row matches one vector, so
    that repeated vectors take repeated rows. Vectors without a row are dropped. With a precomputed kernel the vectors
    are row numbers already.
    """

    def __init__(self, model: SVMModel, data: TrainingData, linear: bool = False) -> None:
        given = isinstance(data.kernel, Precomputed)
        if model.multiclass != data.multiclass:
            theirs, ours = model.multiclass, data.multiclass
            raise InputError(f"cannot start from the model: it was trained with multiclass={theirs}, not {ours}")
        if model.task != data.task:
            raise InputError(f"cannot start from the model: it was trained to {model.task}, not to {data.task}")
        if not np.array_equal(model.classes, data.classes):
            ours, theirs = (", ".join(map(str, c)) for c in (data.classes, model.classes))
            raise InputError(f"cannot start from the model: its classes are {theirs}, those of the data {ours}")
        if given != isinstance(model.kernel, Precomputed):
            raise InputError("cannot start from the model: either both or none of the two have a precomputed kernel")
        if not given and model.n_features != data.raw.shape[1]:
            raise InputError(
                f"cannot start from the model: it has {model.n_features} features, the data {data.raw.shape[1]}"
            )
        self._model, self._data = model, data
        self._weights = model.weights if linear else None
        if linear:
            return
        owner = np.repeat(np.arange(len(model.n_support)), model.n_support)
        free = np.where(data.weights > 0, data.codes, -1)
        find = partial(_numbered, model.vectors) if given else self._matched
        self._rows = find(owner, free)
        if (self._rows < 0).all():
            known = int((find(np.zeros_like(owner), np.minimum(free, 0)) >= 0).sum())
            if known:
                raise InputError(
                    f"cannot start from the model: {known:,} of its {len(owner):,} support vectors are rows of these "
                    "data, each with another label there: the labels were exchanged; mend them, or start without it"
                )
            raise InputError(
                "cannot start from the model: none of its support vectors is a row of these data; start without it"
            )

    def _matched(self, owner: np.ndarray, free: np.ndarray) -> np.ndarray:
        model, vectors = self._model, self._model.vectors
        X = model.preprocessing.apply(self._data.raw)
        dtype = np.float32 if np.float32 in (X.dtype, vectors.dtype) else np.float64
        sparse = sp.issparse(X)
        if sp.issparse(vectors) != sparse:
            vectors = sp.csr_array(vectors) if sparse else vectors.toarray()
        wanted: dict[tuple[int, bytes], list[int]] = defaultdict(list)
        for v, key in enumerate(zip(owner.tolist(), _keys(vectors, dtype), strict=True)):
            wanted[key].append(v)
        found = np.full(len(owner), -1, dtype=np.int64)
        for row, key in enumerate(zip(free.tolist(), _keys(X, dtype), strict=True)):
            waiting = wanted.get(key)
            if waiting:
                found[waiting.pop(0)] = row
        return found

    def point(self, pair: ClassPair, problem: Problem) -> np.ndarray | None:
        """Return the point at which to start `problem` of `pair`; None if the model has no weight on its rows."""
        model, data = self._model, self._data
        if self._weights is not None:
            return problem.start_weights(self._weights[pair.k], float(model.intercept[pair.k]))
        owner = np.repeat(np.arange(len(model.n_support)), model.n_support)
        if model.has_class_scores:
            at, values = np.arange(len(owner)), model.coef[pair.k]
        else:
            at, values = pair_coefficients(model.coef, owner, pair.a, pair.b)
        found = self._rows[at] >= 0
        coef = np.zeros(data.X.shape[0])
        coef[self._rows[at[found]]] = values[found]
        return problem.start(coef[pair.rows])


def _numbered(vectors: np.ndarray, owner: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Return the row numbers of the vectors, -1 for a vector that the data lack or have in another class."""
    inside = vectors < len(free)
    return np.where(inside & (free[np.where(inside, vectors, 0)] == owner), vectors, -1)


def _keys(X: Any, dtype: type) -> Iterator[bytes]:
    """Yield the values of each row as bytes; rows that differ in stored zeros or signs of zero have equal bytes."""
    if not sp.issparse(X):
        for row in X:
            yield (row.astype(dtype) + dtype(0.0)).tobytes()
        return
    data = X.data.astype(dtype)
    indices = X.indices.astype(np.int64)
    kept = data != 0.0
    ends = np.concatenate([[0], np.cumsum(kept)])[X.indptr]
    data, indices = data[kept], indices[kept]
    for lo, hi in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        yield indices[lo:hi].tobytes() + data[lo:hi].tobytes()
