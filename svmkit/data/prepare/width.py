"""Columns that training data do not have: in the svmlight format they are all zeros there."""

from __future__ import annotations

import warnings

import numpy as np

from svmkit.data.prepare.features import Features
from svmkit.errors import SvmkitWarning


def without_empty(X: Features, n_features: int, name: str) -> Features:
    """Return X without its columns beyond those of training if they are all zeros, else X, with a warning."""
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
