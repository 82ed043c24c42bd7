"""Checks of the targets of regression. Each error says in one line how to correct them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from svmkit.data.prepare.features import dense_array, is_sparse
from svmkit.errors import InputError


def as_targets(y: Any, *, n_samples: int, varied: bool = True) -> np.ndarray:
    """Return the targets of regression as float64, one for each of `n_samples`.

    Raises InputError: y is missing, no list of numbers, of another length, not finite, or (`varied`) the same number
    everywhere.
    """
    if y is None:
        raise InputError("regression requires y to be passed, but the target y is None: pass one number a sample")
    if is_sparse(y):
        raise InputError("y is sparse: y should be a 1d array, e.g. y.toarray().ravel()")
    given = dense_array(y, "y")
    if given.ndim == 2 and given.shape[1] == 1:
        given = given.ravel()
    if given.ndim != 1:
        raise InputError(
            f"y should be a 1d array, got an array of shape {given.shape} instead: pass one number a sample "
            "(MultiOutputRegressor trains a model for each of several targets)"
        )
    if len(given) != n_samples:
        raise InputError(f"y has {len(given)} targets, but X has {n_samples} samples: they must be equally many")
    targets = _numbers(given)
    sound = np.isfinite(targets)
    if not sound.all():
        i = int(np.argmin(sound))
        kind = "NaN (a missing target)" if np.isnan(targets[i]) else "infinity (inf)"
        raise InputError(f"y contains {kind} at row {i + 1} (counted from 1): drop that row or give it a number")
    if varied and n_samples > 1 and targets.min() == targets.max():
        raise InputError(f"y is {targets[0]:g} in all {n_samples} samples: there is nothing to learn from it")
    return targets


def _numbers(given: np.ndarray) -> np.ndarray:
    """Return the array as float64, or raise InputError."""
    if given.dtype.kind in "biuf":
        return given.astype(np.float64)
    if given.dtype.kind == "c":
        raise InputError("Complex data not supported: y should hold real numbers")
    if given.dtype.kind == "O" and not any(isinstance(value, str) for value in given):
        try:
            return given.astype(np.float64)  # None becomes NaN
        except (TypeError, ValueError):
            pass
    example = next((value for value in given if isinstance(value, str)), given[0] if len(given) else "")
    raise InputError(f"regression needs numbers as targets, y holds {str(example)!r}: for classes use task classify")


def require_epsilon(epsilon: Any) -> None:
    """Raise InputError unless epsilon is a finite number >= 0."""
    if not (isinstance(epsilon, int | float | np.number) and math.isfinite(epsilon) and epsilon >= 0):
        raise InputError(f"epsilon must be a finite number >= 0, not {epsilon!r}")
