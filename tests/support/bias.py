"""The best bias of a loss that is given by its name, from labels or residuals."""

from __future__ import annotations

import numpy as np

from svmkit.losses.by_name import make_loss
from svmkit.problems.bias import best_bias
from svmkit.problems.sums import Record


def record_of(loss: str, y: np.ndarray, C: np.ndarray) -> Record:
    """The record of a loss of classes."""
    return Record.from_terms(make_loss(str(loss), "classify").terms(y, C))


def best_margin_bias(loss: str, y: np.ndarray, h: np.ndarray, C: np.ndarray) -> float:
    """The argmin over b of the losses of decision values h + b."""
    return best_bias(record_of(loss, y, C), y - h)


def best_tube_bias(loss: str, residual: np.ndarray, C: np.ndarray, epsilon: float) -> float:
    """The argmin over b of the losses of residuals less b."""
    terms = make_loss(str(loss), "regress", epsilon=epsilon).terms(residual, C)
    return best_bias(Record.from_terms(terms), residual)
