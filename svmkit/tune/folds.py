"""The folds of a calibration, or of what thresholds cost, that do not follow from a seed alone: given, or of groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmkit.data.prepare.features import as_features
from svmkit.errors import InputError
from svmkit.tasks import Answers
from svmkit.training.calibration.folds import warn_of_repeated
from svmkit.training.settings import Method
from svmkit.training.weights import sample_weights
from svmkit.tune.splits import make_splits


def calibration_folds(
    cv: Any, truth: Answers, method: Method, *, groups: Any = None, used: np.ndarray | None = None, X: Any = None
) -> np.ndarray:
    """Return the fold in which each row is decided on by a model of the others, int (n,); -1 for rows in none.

    Parameters
    ----------
    cv : int, splitter of scikit-learn, or sequence of (train, test)
        The folds, as for `svmkit.fit`.
    truth, method : Answers, Method
        The classes, and the method, whose seed shuffles a number of folds.
    groups : array-like of shape (n,), default=None
        Rows of the same group are in the same fold.
    used : boolean ndarray of shape (n,), default=None
        The rows that take part; None are all.
    X : array-like or CSR of shape (n, d), default=None
        The rows, for a warning if many are equal to one in another fold.

    Raises
    ------
    InputError
        The rows cannot be divided so, or some would be held out more than once.

    Examples
    --------
    >>> from svmkit.tune.folds import calibration_folds
    >>> from svmkit.training.settings import Settings, resolve
    >>> method = resolve(Settings())
    >>> truth = method.task.encode_truth(["a", "b"] * 3, 6)
    >>> calibration_folds(3, truth, method, groups=[0, 0, 1, 1, 2, 2]).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    splits = make_splits(cv, truth, method.task, method.settings.seed, groups=groups, used=used)
    fold = splits.numbers(len(truth.codes))
    if fold is None:
        raise InputError("a calibration takes each row out of one fold, and cv holds some rows out more than once")
    if X is not None:
        warn_of_repeated(as_features(X), fold)
    return fold


def draw_folds(
    cv: Any, y: Any, method: Method, *, groups: Any = None, sample_weight: Any = None, X: Any = None
) -> np.ndarray:
    """Return what `calibration_folds` does for labels and sample weights as they are given.

    Parameters
    ----------
    cv, method, groups, X : object
        As for `calibration_folds`.
    y, sample_weight : array-like of shape (n,)
        The labels, and the weights of the samples, of which those above 0 take part; None are all.

    Examples
    --------
    >>> from svmkit.tune.folds import draw_folds
    >>> from svmkit.training.settings import Settings, resolve
    >>> draw_folds(3, ["a", "b"] * 3, resolve(Settings()), groups=[0, 0, 1, 1, 2, 2]).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    n = len(y) if hasattr(y, "__len__") else len(np.asarray(y))
    used, truth = sample_weights(sample_weight, n) > 0.0, method.task.encode_truth(y, n)
    return calibration_folds(cv, truth, method, groups=groups, used=used, X=X)
