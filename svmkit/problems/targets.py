"""The input of problems: labels or targets t, costs, the half width epsilon of the tube around h, signed weights."""

from __future__ import annotations

import math

import numpy as np

from svmkit.errors import InputError
from svmkit.losses.base import Loss
from svmkit.problems.base import Problem, costs, labels_and_costs

SAFE = 1e100  # targets up to here have squares that float64 holds, with all costs that make sense


def checked_targets(t: np.ndarray, m: int) -> np.ndarray:
    """Return t as a float64 array of shape (m,), or raise InputError unless there is a finite number for each row."""
    t = np.ascontiguousarray(t, dtype=np.float64)
    if t.shape != (m,) or not np.isfinite(t).all():
        raise InputError(f"the targets must be a finite number for each of the {m} rows")
    return t


def require_finite_losses(t: np.ndarray, C: np.ndarray, loss: Loss) -> None:
    """Raise InputError if float64 cannot hold P of the median of the targets t (m,), whose costs are C (m,)."""
    largest = float(np.abs(t).max())
    if largest < SAFE:
        return
    with np.errstate(over="ignore"):
        total = float(C @ loss.value(t, np.full(len(t), np.median(t))))
    if not math.isfinite(total):
        raise InputError(
            f"float64 cannot hold the losses ({loss.words}) of targets of up to {largest:.3g}: divide the targets, or "
            "take a loss that grows like a line"
        )


def checked_epsilon(epsilon: float) -> float:
    """Return epsilon as a float, or raise InputError unless it is finite and >= 0."""
    epsilon = float(epsilon)
    if not 0.0 <= epsilon < math.inf:  # NaN is not
        raise InputError(f"epsilon must be a finite number >= 0, in units of the targets, not {epsilon:g}")
    return epsilon


def read_samples(
    problem: Problem, target: np.ndarray, C: float | np.ndarray, m: int, loss: Loss
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what samplers take as labels, the targets and the costs, all float64 of shape (m,), once they are checked.

    Parameters
    ----------
    problem, target, C, m, loss : Problem, ndarray, float or ndarray, int, Loss
        The problem, its labels or targets (m,), its costs, the number of samples, and the loss.
    """
    if problem.has_targets():
        t, C = checked_targets(target, m), costs(C, m)
        require_finite_losses(t, C, loss)
        return sides(t), t, C
    y, C = labels_and_costs(target, C, m)
    return y, y, C


def sides(t: np.ndarray) -> np.ndarray:
    """Return +1.0 for targets above the median and -1.0 for the others, shape (m,), as samplers take labels."""
    return np.where(t > np.median(t), 1.0, -1.0)
