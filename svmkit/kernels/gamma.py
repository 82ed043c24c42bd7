"""From "scale", "auto" and "msd" to a number: what a kernel's gamma means on given data."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from svmkit.data.prepare.features import stored_entries
from svmkit.errors import InputError

SMALLEST, LARGEST = 1e-290, 1e290  # gamma |x - z|^2 keeps its digits between them


def column_moments(X) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the variance of each column as float64, without a dense copy of X."""
    n, d = X.shape
    var = np.zeros(d)
    if sp.issparse(X):
        parts = [slice(lo, lo + (1 << 20)) for lo in range(0, X.nnz, 1 << 20)]  # bincount takes a float64 copy
        total, stored = np.zeros(d), stored_entries(X)
        for part in parts:
            total += np.bincount(X.indices[part], X.data[part].astype(np.float64), minlength=d)
        mean = total / n
        for part in parts:
            columns = X.indices[part]
            var += np.bincount(columns, np.square(X.data[part] - mean[columns]), minlength=d)
        return mean, (var + (n - stored) * np.square(mean)) / n
    mean = X.sum(axis=0, dtype=np.float64) / n
    step = max(1, (1 << 15) // d)
    for lo in range(0, n, step):  # numpy's var would take a float64 copy of all of X
        difference = X[lo : lo + step] - mean
        var += np.einsum("ij,ij->j", difference, difference)
    return mean, var / n


def _constant(X, *, columns: bool) -> bool:
    """Return whether all entries of X are equal, or the entries of each of its columns."""
    axis = 0 if columns else None
    lowest, highest = X.min(axis=axis), X.max(axis=axis)
    if sp.issparse(lowest):
        lowest, highest = lowest.toarray(), highest.toarray()
    return bool(np.all(lowest == highest))


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
        If `gamma` is another text, or if the number is beyond float64: the columns are far too large or too small.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import resolve_gamma
    >>> resolve_gamma("auto", np.zeros((10, 4))), resolve_gamma(0.5, np.zeros((10, 4)))
    (0.25, 0.5)
    """
    if not isinstance(gamma, str):
        return float(gamma)
    n, d = X.shape
    if gamma == "auto":
        return 1.0 / d
    with np.errstate(over="ignore", invalid="ignore"):
        mean, var = column_moments(X)
    return gamma_of_moments(gamma, n, mean, var, lambda columns: _constant(X, columns=columns))


def gamma_of_moments(
    gamma: str, n: int, mean: np.ndarray, var: np.ndarray, is_constant: Callable[[bool], bool]
) -> float:
    """Return the number that `gamma` stands for on data of these moments; raise InputError as `resolve_gamma`.

    Parameters
    ----------
    gamma : {"scale", "auto", "msd"}
    n : int, the number of samples
    mean, var : ndarray of float64, shape (n_features,), the mean and the variance of each column
    is_constant : callable, whether all entries of the data are equal or, given True, those of each column
    """
    d = len(mean)
    if gamma == "auto":
        return 1.0 / d
    if gamma not in ("scale", "msd"):
        raise InputError(f"gamma={gamma!r} is not known: give scale, auto, msd or a number > 0")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if gamma == "scale":
            spread = float(var.sum() + np.square(mean - mean.sum() / d).sum())
        else:
            spread = 4.0 * float(var.sum()) * n / max(n - 1, 1)
        number = float(1.0 / np.float64(spread))
        rounding = spread <= 1e-24 * d * float(np.square(mean).max())
    if rounding and is_constant(gamma == "msd"):
        return 1.0
    if not SMALLEST <= number <= LARGEST:
        raise InputError(
            f"gamma={gamma!r} would be {number:.3g} on these data: the columns are too "
            f"{'large' if number < 1.0 or math.isnan(number) else 'small'} for float64, so scale them "
            "(--scale standard, or divide X), or give gamma as a number"
        )
    return number
