"""From "scale", "auto" and "msd" to a number: what a kernel's gamma means on given data."""

from __future__ import annotations

import math

import numpy as np

from svmkit.data.prepare.moments import Moments
from svmkit.errors import InputError

SMALLEST, LARGEST = 1e-290, 1e290  # gamma |x - z|^2 keeps its digits between them


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
    return 1.0 / X.shape[1] if gamma == "auto" else gamma_of_moments(gamma, Moments.from_rows(X))


def gamma_of_moments(gamma: str, moments: Moments) -> float:
    """Return the number that `gamma` stands for on data of these moments; raise InputError as `resolve_gamma`.

    Parameters
    ----------
    gamma : {"scale", "auto", "msd"}
    moments : Moments, those of the columns
    """
    n, mean, var = moments.n, moments.mean, moments.variance
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
    if rounding and moments.is_constant(gamma == "msd"):
        return 1.0
    if not SMALLEST <= number <= LARGEST:
        raise InputError(
            f"gamma={gamma!r} would be {number:.3g} on these data: the columns are too "
            f"{'large' if number < 1.0 or math.isnan(number) else 'small'} for float64, so scale them "
            "(scale=standard, or divide X), or give gamma as a number"
        )
    return number
