"""Full conformal prediction: sets with coverage for a few rows, by training for each new row with each label."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from svmkit.data.prepare.features import as_features, is_sparse, pad_or_refuse_columns, require_finite
from svmkit.errors import InputError
from svmkit.estimators.base import column_or_1d, frame_of, has_columns
from svmkit.estimators.classifier import SVMClassifier
from svmkit.kernels.functions import Precomputed
from svmkit.training.data import TrainingData
from svmkit.training.settings import Method, resolve
from svmkit.tune.shared.sharing import shares_values
from svmkit.tune.space import Path


def full_conformal(estimator: SVMClassifier, X: Any, y: Any, X_new: Any, *, by_class: bool = False) -> np.ndarray:
    """Compute the p-value of each class for new samples: each sample with each label is added to the training samples.

    The p-value is the share of the n + 1 samples, including the new one, that fit no better than the new one does, each
    by the machine of all n + 1. The classes whose p-value is above alpha are a set that contains the label of a new
    sample with a probability of at least 1 - alpha (Vovk, Gammerman, Shafer: Algorithmic Learning in a Random World,
    2005, proposition 2.3), without holding out any sample.

    Parameters
    ----------
    estimator : SVMClassifier
        Its parameters; it need not be fitted and is not changed. Only its optimum matters: tol, limits and calibration
        have no effect.
    X : array-like, sparse matrix or table of shape (n_samples, n_features), float32 or float64
        The training samples, numbers only.
    y : array-like of shape (n_samples,)
        Their labels.
    X_new : array-like, sparse matrix or table of shape (n_new, n_features)
        The new samples, each of which is tested separately.
    by_class : bool, default=False
        Whether a sample is compared only with those of the same label, so that the guarantee holds for each class.

    Returns
    -------
    ndarray of shape (n_new, n_classes), float64
        The p-values, a column for each of `np.unique(y)`. They are at least those of the exact optima: samples whose
        nonconformity scores the remaining gap cannot distinguish count as equal.

    Raises
    ------
    InputError
        The data are invalid, or the estimator is not for classes with a kernel, a free bias and class pairs.

    Examples
    --------
    >>> from svmkit import SVMClassifier, full_conformal
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 0, 0, 1, 1, 1]
    >>> (full_conformal(SVMClassifier("smo", gamma=1.0), X, y, [[0.5], [4.5]]) > 0.2).tolist()
    [[True, False], [False, True]]
    """
    method = _method_of(estimator)
    y = column_or_1d(y)
    if has_columns(y):
        raise InputError("full_conformal takes one label for each sample, and y has several columns")
    frames = [frame_of(given) for given in (X, X_new)]
    known, new = (given if frame is None else frame for given, frame in zip((X, X_new), frames, strict=True))
    data = TrainingData.prepare(known, y, method)
    new = as_features(new)
    require_finite(new, holes=bool(method.settings.impute))
    if new.shape[1] != data.n_features:
        new = pad_or_refuse_columns(new, data.n_features, name="full_conformal")
    if is_sparse(new) and not is_sparse(data.raw):
        new = new.toarray()
    from svmkit.tune.shared.addition import Additions

    added = Additions(data, method, by_class=by_class)
    found = [added.p_values(new[i : i + 1]) for i in range(new.shape[0])]
    return np.array(found).reshape(new.shape[0], len(data.classes))


def _method_of(estimator: Any) -> Method:
    """Return the method of an estimator; raise InputError unless its refits can be compared within bounds."""
    if not isinstance(estimator, SVMClassifier):
        raise InputError(
            f"full_conformal is for SVMClassifier, not {type(estimator).__name__}: a quantity would take a training "
            "for each value that it may have; conformal_folds=10 makes sets of all estimators but rankings"
        )
    if estimator._names_to_choose():
        raise InputError('full_conformal takes numbers where the estimator has "cv": fit it, and give best_params_')
    settings = replace(estimator._settings(), conformal=None, conformal_folds=None, conformal_by=None, stop=None)
    method = resolve(replace(settings, calibration=None, thresholds=False), estimator.task)
    path = Path(0, method.solver, method.kernel, (method.settings.C,))
    if isinstance(method.kernel, Precomputed) or method.kernel.semidefinite is not True:
        raise InputError(
            f"full_conformal needs a kernel of rows that is positive semidefinite, not {method.kernel.name}: take rbf, "
            "laplacian, linear or poly"
        )
    if not shares_values(path, method.settings, method.task, False):
        raise InputError(
            "full_conformal needs a piecewise loss such as the hinge, a free bias and class pairs: SVMClassifier('smo')"
            " with C, multiclass='ovo' and no nu, sampler, penalty or relevance"
        )
    return method
