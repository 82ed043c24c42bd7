"""Accuracy and the comparison of labels, the same for all measurements of predictions."""

from __future__ import annotations

import re

import numpy as np

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def comparable(labels: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and classes as comparable types: as text if either holds text, else as numbers.

    A number equals the text of the same number, however it is written: 1.0 is "1". It gets the text of the class.
    """
    if "O" in (labels.dtype.kind, classes.dtype.kind) or {labels.dtype.kind, classes.dtype.kind} & set("US"):
        return _as_named(labels, classes), classes.astype(str)
    return labels, classes


def _as_named(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return labels as text; a label gets the text of a class that is the same number, if one of both is not text."""
    if labels.dtype.kind in "US" and classes.dtype.kind in "US":
        return labels.astype(str)
    text, at = np.unique(labels.astype(str), return_inverse=True)
    names = np.unique(classes.astype(str)).tolist()
    by_number = {float(name): name for name in names if NUMBER.fullmatch(name)}
    known = set(names)
    named = [
        by_number.get(float(label), label) if label not in known and NUMBER.fullmatch(label) else label
        for label in text.tolist()
    ]
    return np.array(named, dtype=np.str_)[at]


def accuracy(predicted: np.ndarray, labels: np.ndarray) -> float:
    """Compute the fraction of predictions that equal their labels: as numbers, so that 1 equals 1.0, or as text if
    either array holds text, so that 1 and 1.0 equal "1".
    """
    labels, predicted = comparable(labels, predicted)
    return float((predicted == labels).mean())
