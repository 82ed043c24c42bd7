"""Accuracy and the comparison of labels, the same for all measurements of predictions."""

from __future__ import annotations

import numpy as np


def comparable(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays of labels as types that compare: as text where either holds text, else as numbers."""
    if "O" in (first.dtype.kind, second.dtype.kind) or {first.dtype.kind, second.dtype.kind} & set("US"):
        return first.astype(str), second.astype(str)
    return first, second


def accuracy(predicted: np.ndarray, labels: np.ndarray) -> float:
    """Compute the fraction of predictions that equal their labels, as numbers, so that 1 equals 1.0, and as text where
    either array holds text, so that 1 equals "1".
    """
    predicted, labels = comparable(predicted, labels)
    return float((predicted == labels).mean())
