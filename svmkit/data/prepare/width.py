"""Columns that training data do not have: in the svmlight format they are all zeros there."""

from __future__ import annotations

import warnings

import numpy as np

from svmkit.data.prepare.features import Features
from svmkit.errors import SvmkitWarning


def without_empty(X: Features, n_features: int, name: str) -> Features:
    """Return X with its columns beyond those of training, or without them if they are all zeros.

    Parameters
    ----------
    X : ndarray or scipy CSR of shape (n_samples, d), d >= n_features
        The samples.
    n_features : int
        The number of columns of the training data.
    name : str
        The file, for the warning.

    Returns
    -------
    ndarray or scipy CSR of shape (n_samples, d) or (n_samples, n_features)

    Warns
    -----
    SvmkitWarning
        Some of these columns have values; they are counted.
    """
    d = X.shape[1]
    if d == n_features:
        return X
    beyond = X[:, n_features:]
    rows, columns = beyond.nonzero()
    if not len(rows):
        return X[:, :n_features]
    warnings.warn(
        f"{name}: {_count(len(np.unique(columns)), 'feature')} beyond the {n_features:,} of training in "
        f"{_count(len(rows), 'entry', 'entries')} of {_count(len(np.unique(rows)), 'row')}: they count as zeros in "
        "training; --strict refuses",
        SvmkitWarning,
        stacklevel=3,
    )
    return X


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"
