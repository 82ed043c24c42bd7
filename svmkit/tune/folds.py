"""The folds of a calibration, or of the costs of thresholds, as a caller specifies them."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from svmkit.data.prepare.features import as_features
from svmkit.errors import InputError
from svmkit.model.calibration import FOLDS
from svmkit.training.calibration.folds import warn_of_repeated
from svmkit.training.settings import Method
from svmkit.training.splits import make_splits
from svmkit.training.weights import sample_weights

NO_FOLDS = "groups are for a calibration, thresholds, relevance or parameters that are 'cv': nothing else has folds"
"""The note on groups that nothing uses."""


def draw_folds(
    cv: Any, y: Any, method: Method, *, groups: Any = None, sample_weight: Any = None, X: Any = None
) -> np.ndarray | None:
    """Return the fold in which each row is held out, int (n,); -1 for rows in none.

    Parameters
    ----------
    cv : int, splitter of scikit-learn, or sequence of (train, test)
        The folds, as for `svmkit.fit`. None is returned for the number of folds that a calibration draws itself.
    y : array-like of shape (n,)
        The labels.
    method : Method
        The task, and the settings, whose seed shuffles the folds if `cv` is a number.
    groups : array-like of shape (n,), default=None
        Rows of the same group are in the same fold.
    sample_weight : array-like of shape (n,), default=None
        The weights of the samples; only samples of positive weight take part. None: all take part.
    X : array-like or CSR of shape (n, d), default=None
        The rows, for a warning if many of them have an equal row in another fold and no groups are given.

    Raises
    ------
    InputError
        The rows cannot be divided in this way, or some would be held out more than once.

    Examples
    --------
    >>> from svmkit.tune.folds import draw_folds
    >>> from svmkit.training.settings import Settings, resolve
    >>> draw_folds(3, ["a", "b"] * 3, resolve(Settings()), groups=[0, 0, 1, 1, 2, 2]).tolist()
    [2, 2, 1, 1, 0, 0]
    """
    if isinstance(cv, Integral) and cv == FOLDS:
        return None
    n = len(y) if hasattr(y, "__len__") else len(np.asarray(y))
    used, truth = sample_weights(sample_weight, n) > 0.0, method.task.encode_truth(y, n)
    fold = make_splits(cv, truth, method.task, method.settings.seed, groups=groups, used=used).numbers(n)
    if fold is None:
        raise InputError("a calibration takes each row out of one fold, and cv holds some rows out more than once")
    if X is not None and groups is None:
        warn_of_repeated(as_features(X), fold)
    return fold
