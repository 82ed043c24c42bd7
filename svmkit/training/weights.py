"""The weight of each sample: checks of C, class weights and sample weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from svmkit.errors import InputError

_ONE = np.float64(1.0).tobytes()


def sample_weights(sample_weight: Any, n_samples: int) -> np.ndarray:
    """Return the sample weights (n_samples,), read-only; a number is the weight of all samples, and None is 1.

    Raises InputError unless there is one weight for each sample, finite and >= 0.
    """
    if sample_weight is None:
        return np.ndarray((n_samples,), np.float64, _ONE, strides=(0,))  # one number in memory, created the fastest way
    try:
        given = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):  # such as text
        given = np.empty(0)
    given = np.full(n_samples, float(given)) if given.ndim == 0 else given
    if given.shape != (n_samples,) or not np.isfinite(given).all() or (given < 0).any():
        raise InputError(f"sample_weight must be {n_samples} finite numbers >= 0, one for each sample")
    return given


def training_weights(codes, classes, class_weight, sample_weight) -> np.ndarray:
    """Return the product (n_samples,) of class weight and sample weight for each sample; raise InputError if invalid.

    Parameters
    ----------
    codes, classes : ndarray of shape (n_samples,), int, ndarray of shape (n_classes,)
        The class of each sample, and the labels in ascending order.
    class_weight : {"balanced"}, dict or None
        "balanced" is inversely proportional to the summed sample weights of a class; a dict maps labels to weights,
        finite and > 0; missing labels have weight 1.
    sample_weight : array-like of shape (n_samples,), float or None
        As for `sample_weights`.
    """
    weights = sample_weights(sample_weight, len(codes))
    return (
        weights if class_weight is None else weights * weights_of_classes(codes, classes, class_weight, weights)[codes]
    )


def weights_of_classes(codes, classes, class_weight, weights) -> np.ndarray:
    """Return the weight of each class, float64 of shape (n_classes,); raise InputError for invalid class weights.

    Parameters
    ----------
    codes, classes, class_weight : ndarray, ndarray, {"balanced"} or dict
        As for `training_weights`.
    weights : ndarray of shape (n_samples,)
        The weights of the samples.
    """
    require_class_weights(class_weight)
    if isinstance(class_weight, str):
        counts = np.bincount(codes, weights, minlength=len(classes))  # so that a weight of 2 counts like a repeated row
        return np.divide(weights.sum(), len(classes) * counts, out=np.zeros(len(classes)), where=counts > 0)
    label_key = _truth_key if classes.dtype == np.bool_ else _label_key
    by_label = {label_key(label): weight for label, weight in class_weight.items()}
    known = {label_key(label) for label in classes.tolist()}
    unknown = [str(label) for label in class_weight if label_key(label) not in known]
    numbers = all(isinstance(w, int | float | np.number) and w > 0 and math.isfinite(w) for w in by_label.values())
    if unknown or not numbers:
        raise InputError(
            f"class_weight must give a finite number > 0 for labels among {', '.join(map(str, classes))}"
            + (f", not for {', '.join(sorted(unknown))}" if unknown else "")
        )
    return np.array([float(by_label.get(label_key(label), 1.0)) for label in classes.tolist()])


def require_class_weights(class_weight: Any) -> None:
    """Raise InputError unless class weights are "balanced" or weights by label."""
    if class_weight != "balanced" if isinstance(class_weight, str) else not isinstance(class_weight, Mapping):
        raise InputError(f"class_weight={class_weight!r} is not known: give balanced or a weight for each label")


def _label_key(label: Any) -> float | str:
    """Return one key for 1, 1.0 and "1": files and the command line write the same number differently."""
    try:
        return float(label)
    except (TypeError, ValueError):
        return str(label)


def _truth_key(label: Any) -> float | str:
    """Return one key for True, 1, "1", "True" and "true", for labels that are booleans."""
    return _label_key({"true": 1.0, "false": 0.0}.get(str(label).lower(), label))


def require_C(C: Any) -> None:
    """Raise InputError unless C is a finite number > 0."""
    if not (isinstance(C, int | float | np.number) and math.isfinite(C) and C > 0):
        raise InputError(f"C must be a finite number > 0, not {C!r}")
