"""Checks of labels, their encoding as classes and codes, and of targets. Errors say in one line how to correct them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from svmkit.data.prepare.features import dense_array, is_sparse
from svmkit.errors import InputError, one_line

EXACT, MOST_COUNTED = 2**52, 1 << 16  # the bound of exact whole numbers, and the widest range in which they are counted
_QUANTITY = 50  # distinct whole numbers that any table may have as classes; in a large table a tenth of the rows


def encode_labels(y: Any, *, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Encode class labels as sorted classes and integer codes.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, 1)
        Numbers (integral), booleans or text; an object array may hold either, not both.
    n_samples : int
        The number of rows of X, which y has to match.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        Sorted as by `numpy.unique`, of the dtype of y; text in an object array, or in a pandas column, stays Python
        strings.
    codes : int64 ndarray of shape (n_samples,)
        ``classes[codes]`` are the labels.

    Raises
    ------
    InputError
        y is missing, is not 1-D, has another length, NaN or infinite labels, continuous values or a single class.

    Examples
    --------
    >>> from svmkit.data import encode_labels
    >>> classes, codes = encode_labels(["b", "a", "b"], n_samples=3)
    >>> classes.tolist(), codes.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    labels = as_labels(y, n_samples=n_samples)
    classes, codes = _classes_and_codes(labels)
    classes = as_strings_like(y, classes)
    if len(classes) < 2:
        raise InputError(
            f"y has only one class ({str(classes[0])!r} in all {n_samples} samples), need at least two: "
            "a classifier learns to tell classes apart"
        )
    return classes, codes.reshape(-1).astype(np.int64, copy=False)


def _classes_and_codes(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the result of `numpy.unique` for labels, with inverse; without sorting if they are close integers."""
    if labels.dtype.kind in "iuf" and abs(low := int(labels.min())) < EXACT:
        span = int(labels.max()) - low
        if span < min(len(labels), MOST_COUNTED):
            codes, found = labels.astype(np.int64) - low, np.arange(span + 1)
            counts = np.bincount(codes, minlength=span + 1)
            if not counts.all():
                (found,) = counts.nonzero()
                codes = np.cumsum(counts > 0)[codes] - 1
            return (found + low).astype(labels.dtype), codes
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes


def as_strings_like(y: Any, classes: np.ndarray) -> np.ndarray:
    """Return the classes of y; as an object array if y has Python strings, whose predictions may have any length."""
    is_object = classes.dtype.kind == "U" and dense_array(y, "y").dtype.kind in "OT"
    return classes.astype(object) if is_object else classes


def as_labels(y: Any, *, n_samples: int) -> np.ndarray:
    """Return class labels as a 1-D array of numbers or text. As `encode_labels`, but a single class is accepted."""
    if y is None:
        raise InputError("a classifier requires y to be passed, but the target y is None: pass one label a sample")
    if is_sparse(y):
        raise InputError("y is sparse: y should be a 1d array, e.g. y.toarray().ravel()")
    labels = label_array(y)
    if len(labels) != n_samples:
        raise InputError(f"y has {len(labels)} labels, but X has {n_samples} samples: they must be equally many")
    _require_discrete(labels)
    return labels


def label_array(y: Any) -> np.ndarray:
    """Return labels as a 1-D array of numbers or text, whether or not they are classes."""
    labels = _column(y, "pass one label a sample")
    if len(labels) == 0:
        raise InputError("y is empty (0 labels): pass one label a sample")
    if labels.dtype.kind in "OT":  # T is numpy's variable-width text
        labels = _object_labels(labels.astype(object))
    if labels.dtype.kind == "O" and all(isinstance(label, int) for label in labels):
        raise InputError(
            "Unknown label type: y holds whole numbers beyond 64 bits; pass them as text: [str(label) for label in y]"
        )
    if labels.dtype.kind not in "biufSU":
        raise InputError(f"Unknown label type: y has dtype {labels.dtype}; use whole numbers or text")
    return labels


def _column(y: Any, remedy: str) -> np.ndarray:
    """Return y as a 1-D array, also from an array of one column."""
    column = dense_array(y, "y")
    if column.ndim == 2 and column.shape[1] == 1:
        column = column.ravel()
    if column.ndim != 1:
        raise InputError(f"y should be a 1d array, got an array of shape {column.shape} instead: {remedy}")
    return column


def _object_labels(labels: np.ndarray) -> np.ndarray:
    if all(isinstance(v, str) for v in labels):
        return labels.astype(np.str_)
    for i, v in enumerate(labels):
        is_nan = isinstance(v, float | np.floating) and v != v
        if v is None or is_nan or type(v).__name__ in ("NAType", "NaTType"):  # the two of pandas, without importing it
            raise InputError(
                f"y contains NaN (a missing label) at row {i + 1} (counted from 1): drop that row or label it"
            )
    if any(isinstance(v, str) for v in labels):
        raise InputError("Unknown label type: y mixes text and numbers; use one of the two")
    if any(isinstance(v, complex | np.complexfloating) for v in labels):
        raise InputError("Unknown label type: complex. Complex data not supported; use whole numbers or text")
    try:
        return np.array(labels.tolist()) if len({type(v) for v in labels}) == 1 else labels.astype(np.float64)
    except (TypeError, ValueError) as err:
        raise InputError(f"Unknown label type: y holds {one_line(err)}; use whole numbers or text") from err


def _require_discrete(labels: np.ndarray) -> None:
    if labels.dtype.kind != "f":
        return
    bad = ~np.isfinite(labels)
    if bad.any():
        i = int(np.argmax(bad))
        kind = "NaN" if np.isnan(labels[i]) else "infinity (inf)"
        raise InputError(f"y contains {kind} at row {i + 1} (counted from 1): drop that row or label it")
    bad = labels != np.floor(labels)
    if bad.any():
        i = int(np.argmax(bad))
        raise InputError(
            f"Unknown label type: continuous. y is {labels[i]} at row {i + 1} (counted from 1), "
            "no class label: use whole numbers or text"
        )


def as_targets(y: Any, *, n_samples: int, varied: bool = True, several: bool = False) -> np.ndarray:
    """Return the targets of regression as float64, one for each of `n_samples`, or with `several` columns (n, k).
    Raises InputError: y is missing, not numeric, of another length, not finite, or (`varied`) constant.

    Parameters
    ----------
    y : array-like of shape (n_samples,), (n_samples, 1) or, with `several`, (n_samples, k)
    n_samples : int
    varied, several : bool
    """
    if y is None:
        raise InputError("regression requires y to be passed, but the target y is None: pass one number a sample")
    if is_sparse(y):
        raise InputError("y is sparse: y should be a 1d array, e.g. y.toarray().ravel()")
    given = dense_array(y, "y")
    if not (several and given.ndim == 2 and given.shape[1] > 1):
        words = "(MultiOutputRegressor trains a model for each of several targets)"
        given = _column(y, f"pass one number a sample {words}")
    if len(given) != n_samples:
        raise InputError(f"y has {len(given)} targets, but X has {n_samples} samples: they must be equally many")
    targets = _as_numbers(given)
    names = names_of_columns(y, given.shape[1]) if given.ndim == 2 else ("y",)
    for name, column in zip(names, targets.reshape(n_samples, -1).T, strict=True):
        what = "y" if given.ndim == 1 else f"target {name} of y"
        lowest, highest = (column.min(), column.max()) if n_samples else (0.0, 0.0)
        if not (math.isfinite(lowest) and math.isfinite(highest)):  # NaN is both the minimum and the maximum
            i = int(np.argmin(np.isfinite(column)))
            kind = "NaN (a missing target)" if np.isnan(column[i]) else "infinity (inf)"
            raise InputError(
                f"{what} contains {kind} at row {i + 1} (counted from 1): drop that row or give it a number"
            )
        if varied and n_samples > 1 and lowest == highest:
            raise InputError(f"{what} is {column[0]:g} in all {n_samples} samples: there is nothing to learn from it")
    return targets


def as_label_matrix(y: Any, *, n_samples: int) -> np.ndarray:
    """Return binary labels of rows as int64 0 and 1, (n_samples, n_labels). Raises InputError: y is not a matrix of 0
    and 1, has another length, or all its labels are constant.

    Parameters
    ----------
    y : array-like or sparse matrix of shape (n_samples, n_labels), of 0 and 1
    n_samples : int
    """
    given = y.toarray() if is_sparse(y) else dense_array(y, "y")
    if given.ndim != 2 or given.shape[1] < 2:
        raise InputError(f"labels of several columns should be a 0/1 matrix (n_samples, n_labels), not {given.shape}")
    if len(given) != n_samples:
        raise InputError(f"y has {len(given)} rows of labels, but X has {n_samples} samples: they must be equally many")
    numbers = given.astype(np.float64) if given.dtype.kind in "biuf" else np.full((1, 1), np.nan)
    wrong = ~np.isin(numbers, (0.0, 1.0))
    if wrong.any():
        row, column = (int(at[0]) for at in np.nonzero(wrong))
        name, value = names_of_columns(y, given.shape[1])[column], given[row, column]
        value = "NaN (a missing label)" if value != value else repr(value.item() if hasattr(value, "item") else value)
        raise InputError(
            f"label {name} of y is {value} at row {row + 1} (counted from 1): each of several labels is 0 or 1"
        )
    labels = numbers.astype(np.int64)
    if n_samples and (labels.min(axis=0) == labels.max(axis=0)).all():
        raise InputError(f"each label of y is the same in all {n_samples} samples: there is nothing to learn from them")
    return labels


def names_of_columns(y: Any, n: int) -> tuple[str, ...]:
    """Return the names of the n columns of y: those of a table, else their numbers from 0."""
    return tuple(str(name) for name in getattr(y, "columns", range(n)))


def _as_numbers(given: np.ndarray) -> np.ndarray:
    """Return the array as float64, or raise InputError."""
    if given.dtype.kind in "biuf":
        return given.astype(np.float64)
    if given.dtype.kind == "c":
        raise InputError("Complex data not supported: y should hold real numbers")
    if given.dtype.kind == "O" and not any(isinstance(value, str) for value in given.ravel()):
        try:
            return given.astype(np.float64)  # None becomes NaN
        except (TypeError, ValueError):
            pass
    every = given.ravel()
    example = next((value for value in every if isinstance(value, str)), every[0] if len(every) else "")
    raise InputError(f"regression needs numbers as targets, y holds {str(example)!r}: for classes use task classify")


def quantity(y: np.ndarray) -> str | None:
    """Return in a few words why labels look like a quantity rather than classes; None if they do not.

    Numbers are a quantity if some have a fraction, if they take more than 50 values and fewer than ten rows share a
    value on average, or if they differ in nearly all rows: the 26 of letter, the 20 of news20 and the 105 of sector are
    classes, a price is not.
    """
    if y.dtype.kind not in "iuf":
        return None
    return quantity_of_counts(*np.unique(y, return_counts=True))


def quantity_of_counts(values: np.ndarray, counts: np.ndarray) -> str | None:
    """Return the answer of `quantity` for numbers, from the distinct values and their counts."""
    n = int(counts.sum())
    if values.dtype.kind == "f" and (values != np.floor(values)).any():
        return f"{len(values):,} values such as {values[values != np.floor(values)][0]}"
    if len(values) > max(_QUANTITY, n // 10) or is_single(counts):
        return f"{len(values):,} values in {n:,} rows"
    return None


def is_single(counts: np.ndarray) -> bool:
    """Return whether nearly all of more than ten distinct values occur once, from their counts."""
    return len(counts) > 10 and int((counts == 1).sum()) >= 0.9 * len(counts)
