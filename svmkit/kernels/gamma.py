"""From "scale", "auto" and "msd" to a number: what a kernel's gamma means on given data."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError


def _column_moments(X) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the variance of each column as float64, without a dense copy of X."""
    if sp.issparse(X):
        n, d = X.shape
        total, square = np.zeros(d), np.zeros(d)
        for lo in range(0, X.nnz, 1 << 20):  # bincount takes its weights as a float64 copy
            columns, values = X.indices[lo : lo + (1 << 20)], X.data[lo : lo + (1 << 20)].astype(np.float64)
            total += np.bincount(columns, values, minlength=d)
            square += np.bincount(columns, values**2, minlength=d)
        return total / n, np.maximum(square / n - (total / n) ** 2, 0.0)
    mean = X.mean(axis=0, dtype=np.float64)
    var = np.zeros(X.shape[1])
    step = max(1, (1 << 20) // X.shape[1])
    for lo in range(0, X.shape[0], step):  # numpy's var would take a float64 copy of all of X
        var += np.square(X[lo : lo + step] - mean).sum(axis=0)
    return mean, var / X.shape[0]


def resolve_gamma(gamma: str | float, X) -> float:
    """Return the number that `gamma` stands for on the training data X.

    Parameters
    ----------
    gamma : {"scale", "auto", "msd"} or float
        "scale" is 1 / (n_features * X.var()), scikit-learn's default. "auto" is 1 / n_features. "msd" is
        1 / (2 sigma^2), where sigma^2 is the mean squared distance between training points, the default of CVM
        (FW/CVM paper, section 5); it has a closed form, so that all points are used. A number is returned unchanged.
    X : ndarray or CSR, shape (n_samples, n_features)
        The training data.

    Returns
    -------
    float
        The number; 1.0 for constant data.

    Raises
    ------
    InputError
        If `gamma` is another text.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    n, d = X.shape
    if gamma == "auto":
        return 1.0 / d
    mean, var = _column_moments(X)
    if gamma == "scale":
        spread = d * float(var.mean() + np.square(mean - mean.mean()).mean())
    elif gamma == "msd":
        spread = 4.0 * float(var.sum()) * n / max(n - 1, 1)
    else:
        raise InputError(f"gamma={gamma!r} is not known: give scale, auto, msd or a number > 0")
    return 1.0 / spread if spread > 0.0 and math.isfinite(1.0 / spread) else 1.0
