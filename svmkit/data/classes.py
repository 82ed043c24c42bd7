"""Labels as classes: which numbers are a quantity, and what each value being a class makes of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmkit.data.dataset import Dataset
from svmkit.errors import InputError

TASKS = ("classify",)

_QUANTITY = 50  # so many values may whole numbers take in any table, and a tenth of the rows in a large one, as classes


def with_classes(data: Dataset, task: str | None) -> Dataset:
    """Return a data set whose labels are classes.

    Parameters
    ----------
    data : Dataset
        Data with labels.
    task : {"classify"} or None
        Whether each value of the label is a class, however many there are, so that numbers with a fraction become text;
        by default what looks like a quantity, or differs in nearly all rows, is refused.

    Raises
    ------
    InputError
        The labels are missing, or are no classes.
    """
    if data.y is None:
        raise InputError(f"{data.name}: has no labels: a classifier learns from them")
    if task is None:
        require_classes(data.y, f"{data.name}: {(data.encoding and data.encoding.label_in_words) or 'the label'}")
        return data
    y = data.y
    return _as_text(data) if y.dtype.kind == "f" and (y != np.floor(y)).any() else data


def with_labels_like(data: Dataset, train: Dataset) -> Dataset:
    """Return test data whose labels are text if those of training are, where numbers with a fraction are classes."""
    is_text = train.y is not None and train.y.dtype.kind == "U"
    return _as_text(data) if is_text and data.y is not None and data.y.dtype.kind == "f" else data


def _as_text(data: Dataset) -> Dataset:
    return replace(data, y=np.asarray(data.y).astype(np.str_))


def require_classes(y: np.ndarray, what: str) -> None:
    """Refuse labels that are a quantity rather than classes, or that differ in nearly all rows.

    Numbers are a quantity if some have a fraction, or if they take more than 50 values and fewer than ten rows share a
    value on average: the 26 of letter, the 20 of news20 and the 105 of sector are classes, a price is none.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels as `load` returns them.
    what : str
        The labels in messages, such as "churn: label column 'price' (last column)".

    Raises
    ------
    InputError
        The labels are no classes; the message says how to choose others, and how to insist.
    """
    values, counts = np.unique(y, return_counts=True)
    rows = len(y)
    mend = "choose a label with --label COL, or give --task classify if each value is a class"
    if y.dtype.kind == "f" and (y != np.floor(y)).any():
        example = values[values != np.floor(values)][0]
        raise InputError(f"{what} looks like a quantity ({len(values):,} values such as {example}): {mend}")
    if y.dtype.kind in "iuf" and len(values) > max(_QUANTITY, rows // 10):
        raise InputError(f"{what} looks like a quantity ({len(values):,} values in {rows:,} rows): {mend}")
    single = int((counts == 1).sum())
    if len(values) > 10 and single >= 0.9 * len(values):
        raise InputError(
            f"{what} has {len(values):,} values in {rows:,} rows, and {single:,} of them in one row only: {mend}"
        )
