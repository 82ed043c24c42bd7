"""The task of a data set: whether its labels are classes or the targets of regression."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from svmkit.data.dataset import CLASSIFY, MULTILABEL, RANK, REGRESS, Dataset
from svmkit.data.prepare.dates import days, order_of
from svmkit.data.prepare.encoding import LAST
from svmkit.data.prepare.labels import encode_labels, is_single, quantity
from svmkit.errors import InputError

MANY_DATES = 20  # a label of dates with at most this many values is one of classes
MANY_TEXTS = 50  # a label with at most this many texts is one of classes, however few rows share one
FEW_TEXTS = 0.1  # share of the rows up to which texts among numbers are considered mistakes


def with_task(data: Dataset, task: str | None) -> Dataset:
    """Return a data set whose labels are classes, or float64 targets of regression; it has a `task`.

    "classify" makes each value of the label a class, however many there are; numbers with a fraction become text.
    "regress" treats the labels as quantities, and "rank" as values to be ordered. None treats numbers that look like a
    quantity (see `quantity`) as one, with a note, and all other labels as classes. Raises InputError: the labels are
    missing, are text where numbers are needed, are text and differ in nearly all rows, or are the same number in all
    rows of a regression.
    """
    if data.y is None:
        raise InputError(f"{data.name}: has no labels: there is nothing to learn from")
    y, notes = np.asarray(data.y), data.notes
    if y.ndim == 2:
        return _with_task_of_columns(data, y, task)
    if task == CLASSIFY:
        is_fraction = y.dtype.kind == "f" and bool((y != np.floor(y)).any())
        return replace(data, y=y.astype(np.str_) if is_fraction else y, task=CLASSIFY)
    if task is None:
        looks = quantity(y)
        if looks is None:
            _require_repeated(y, _label_of(data))
            return replace(data, task=CLASSIFY)
        taken = f"{_words_of(data)} looks like a quantity ({looks}), taken for the target of a regression; "
        other = "--label COL takes another column, " if data.encoding and data.encoding.label_chosen == LAST else ""
        notes = (*notes, f"{taken}{other}--task classify makes each value a class")
    if task == RANK:
        return replace(data, y=targets_of(data, "ranking"), task=RANK)
    targets = targets_of(data)
    if len(targets) > 1 and targets.min() == targets.max():
        raise InputError(f"{_label_of(data)} is {targets[0]:g} in all {len(targets):,} rows: there is nothing to learn")
    return replace(data, y=targets, task=REGRESS, notes=notes)


def _with_task_of_columns(data: Dataset, y: np.ndarray, task: str | None) -> Dataset:
    """Return a data set of several label columns: binary labels (0 and 1), or quantities."""
    is_binary = bool(np.isin(y, (0, 1)).all())
    if task is None:
        what = "labels that a row has or not (0 and 1)" if is_binary else "quantities"
        other = "; --task regress takes them for quantities" if is_binary else ""
        note = f"{_words_of(data)}, taken for {what}{other}"
        return _with_task_of_columns(replace(data, notes=(*data.notes, note)), y, MULTILABEL if is_binary else REGRESS)
    if task == REGRESS:
        return replace(data, y=y.astype(np.float64), task=REGRESS)
    if task != MULTILABEL:
        raise InputError(f"{_label_of(data)}: several columns are --task regress or multilabel, not {task}")
    if not is_binary:
        row, column = (int(at[0]) for at in np.nonzero(~np.isin(y, (0, 1))))
        name = data.encoding.label_names[column] if data.encoding else column
        raise InputError(
            f"{data.name}: label {name} is {y[row, column]:g} in row {row + 1:,}: each of several labels is 0 or 1"
        )
    return replace(data, y=y.astype(np.int64), task=MULTILABEL)


def with_labels_like(data: Dataset, train: Dataset) -> Dataset:
    """Return test data with labels of the kind of the training labels: classes as text, other classes, or quantities.
    Raises InputError: the training labels are quantities, and these are text.
    """
    y = data.y
    if train.has_targets:
        return data if y is None else replace(data, y=targets_of(data), task=train.task)
    if y is not None and y.dtype.kind == "f" and train.y is not None and train.y.dtype.kind == "U":
        y = y.astype(np.str_)
    return replace(data, y=y, task=train.task)


def answers(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes and the code of each row, none and 0 for quantities; one class is an InputError."""
    if data.has_targets or data.task == MULTILABEL:
        return np.empty(0), np.zeros(data.n_samples, dtype=np.int64)
    return encode_labels(data.y, n_samples=data.n_samples)


def _require_repeated(y: np.ndarray, what: str) -> None:
    """Refuse texts that differ in nearly all rows: names and keys are no classes."""
    values, counts = np.unique(y, return_counts=True)
    if y.dtype.kind == "U" and len(values) > MANY_DATES and order_of(values.tolist(), counts.tolist()):
        raise InputError(
            f"{what} holds dates ({len(values):,} in {len(y):,} rows), which are no classes: choose a label with "
            "--label COL, give --task regress for days since 1970-01-01 as the target, or --task classify if each date "
            "is a class"
        )
    if is_single(counts) or (y.dtype.kind in "US" and len(values) > max(MANY_TEXTS, len(y) // 3)):
        single = int((counts == 1).sum())
        texts = [row for row, value in enumerate(y.tolist()) if not _is_number(value)]
        if 0 < len(texts) <= FEW_TEXTS * len(y):
            raise InputError(
                f"{what} holds numbers, but text in {len(texts):,} of {len(y):,} rows, first "
                f"{str(y[texts[0]])!r} in row {texts[0] + 1:,}: correct them, choose a label with --label COL, or "
                "give --task classify"
            )
        raise InputError(
            f"{what} has {len(values):,} values in {len(y):,} rows, and {single:,} of them in one row only, too many "
            "for classes: choose a label with --label COL, or give --task classify if each value is a class"
        )


def _days_of(y: np.ndarray, what: str) -> np.ndarray | None:
    """Return labels that are dates in days since 1970-01-01; None for other labels."""
    values, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    orders = order_of(values.tolist(), counts.tolist())
    if not orders:
        return None
    found = [[days(text, order) for text in values.tolist()] for order in orders]
    if any(day is None for day in found[0]):
        return None
    if any(other != found[0] for other in found[1:]):
        raise InputError(
            f"{what} holds dates such as {str(values[0])!r}, of which the day may be either number: write them as "
            "2024-12-31"
        )
    return np.array(found[0], dtype=np.float64)[codes]


def targets_of(data: Dataset, noun: str = "regression") -> np.ndarray:
    """Return the labels as float64, (n_samples,), for a `noun`; raise InputError if they are missing, text, NaN or
    infinite.
    """
    if data.y is None:
        raise InputError(f"{data.name} has no labels to compare predictions with: svmkit predict needs none")
    y = data.y
    if y.dtype.kind == "U" and (dates := _days_of(y, _label_of(data))) is not None:
        return dates
    if y.dtype.kind not in "biuf":
        texts = [row for row, value in enumerate(y.tolist()) if not _is_number(value)]
        few = 0 < len(texts) <= FEW_TEXTS * len(y)
        where = f" in row {texts[0] + 1:,}, as {len(texts):,} of {len(y):,} rows do" if few else ""
        remedy = "correct them, or " if few else ""
        raise InputError(
            f"{_label_of(data)} holds text ({str(y[texts[0] if texts else 0])!r}{where}), and {noun} needs "
            f"numbers: {remedy}choose another label with --label COL"
        )
    targets = y.astype(np.float64)
    if not np.isfinite(targets).all():
        row = int(np.argmin(np.isfinite(targets)))
        raise InputError(f"{_label_of(data)} is {targets[row]} in row {row + 1:,}: drop that row or give it a number")
    return targets


def _is_number(value: Any) -> bool:
    """Return whether a value spells a finite number."""
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def _words_of(data: Dataset) -> str:
    return (data.encoding and data.encoding.label_in_words) or "the label"


def _label_of(data: Dataset) -> str:
    return f"{data.name}: {_words_of(data)}"
