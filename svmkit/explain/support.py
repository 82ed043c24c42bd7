"""The decisive support vectors: those with the largest terms of a decision."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from svmkit.errors import InputError
from svmkit.explain.players import Players
from svmkit.explain.subject import Subject, has_vectors, store_alike
from svmkit.kernels.engines import engine_for

SHORTEST = {4: 6, 8: 12}  # digits of a value that was scaled and unscaled, by the bytes of a float


class Vector(NamedTuple):
    """A support vector, and its term of the decision at a row.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import fit
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> vector = fit(X, ["a", "a", "b", "b"]).model.explain(X[:1]).vectors(most=1)[0]
    >>> vector.label, vector.cells
    ('a', (0.0,))
    """

    place: int  # index among the vectors of the model
    label: str | None  # the class of the training row, if the task has classes
    cells: tuple[Any, ...]  # the columns as in a table, as by `Players.cells`
    similarity: float  # k(s, x)
    weight: float  # its coefficient in the decision
    term: float  # weight times similarity; the terms of all vectors and the intercept sum to the decision


def find_vectors(model: Subject, players: Players, x: Any, function: int, most: int) -> list[Vector]:
    """Return the support vectors with the largest terms of a decision, in descending order of magnitude.

    Parameters
    ----------
    model : SVMModel
        With support vectors; a linear model may have weights instead.
    players : Players
        Its columns.
    x : ndarray or CSR of shape (1, n_features)
        The row, not preprocessed.
    function : int
        The index of the decision.
    most : int
        The number of vectors, at most.

    Raises
    ------
    InputError
        The model has weights of the columns instead of support vectors.
    """
    if not has_vectors(model):
        raise InputError(
            "a linear model keeps weights of the columns and no support vectors: its contributions say all there is"
        )
    coef = model.machine.class_coefficients[:, function]
    row, vectors = store_alike(model.preprocessing.apply(x), model.vectors)
    values = engine_for(model.kernel, row).block(vectors, np.empty((len(coef), 1)))[:, 0]
    terms = coef * values
    largest = np.argsort(-np.abs(terms), kind="stable")[:most]
    largest = largest[terms[largest] != 0.0]
    cells = players.cells(restore_vectors(model, largest))
    owner = np.repeat(np.arange(len(model.n_support)), model.n_support)
    named = len(model.classes) == len(model.n_support) and not model.finds_outliers
    labels = [str(model.classes[owner[i]]) if named else None for i in largest.tolist()]
    return [
        Vector(i, label, tuple(row), float(values[i]), float(coef[i]), float(terms[i]))
        for i, label, row in zip(largest.tolist(), labels, cells, strict=True)
    ]


def restore_vectors(model: Subject, which: np.ndarray) -> np.ndarray:
    """Return support vectors as features before preprocessing, float64 (n, n_features), without the last digits, which
    are rounding errors of scaling and unscaling.
    """
    vectors, scaling = model.vectors[which], model.preprocessing.scaling
    back = model.preprocessing.undo(vectors)
    values = np.asarray(back.toarray() if hasattr(back, "toarray") else back, dtype=np.float64)
    digits = SHORTEST[vectors.dtype.itemsize]
    if scaling is None:
        return round_digits(values, digits)
    d = values.shape[1]
    sizes = np.fmax(np.fmax(np.abs(values), np.abs(scaling.center[:d])), np.fmin(scaling.scale[:d], 1e6))
    with np.errstate(over="ignore"):
        step = 10.0 ** (np.floor(np.log10(sizes)) - digits + 1)
    return round_digits(np.round(values / step) * step, digits)


def round_digits(values: np.ndarray, digits: int) -> np.ndarray:
    """Return numbers rounded to this many significant digits; NaN stays."""
    return np.array([float(f"{value:.{digits}g}") for value in values.ravel()]).reshape(values.shape) + 0.0
