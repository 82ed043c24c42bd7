"""Kernel values in long double, from differences: what the engines' values and bounds are judged by."""

import numpy as np
import scipy.sparse as sp

LONG = np.longdouble


def long_rows(X) -> np.ndarray:
    """X as a dense long double array, with the values that X holds in its own precision."""
    return (X.toarray() if sp.issparse(X) else np.asarray(X)).astype(LONG)


def exact_values(kernel, X, Z) -> np.ndarray:
    """k(x, z) for all rows of X and Z in long double, of a built-in kernel; precomputed: X itself, for all columns."""
    X, Z = long_rows(X), long_rows(Z)
    if kernel.name == "precomputed":
        return X
    _, gamma, coef0, degree = kernel.scalars
    gamma, coef0 = LONG(gamma), LONG(coef0)
    values = np.empty((len(X), len(Z)), LONG)
    for row, x in zip(values, X, strict=True):
        if kernel.name == "rbf":
            row[:] = np.exp(-gamma * np.square(x - Z).sum(axis=1))
        elif kernel.name == "laplacian":
            row[:] = np.exp(-gamma * np.abs(x - Z).sum(axis=1))
        else:
            dots = (x * Z).sum(axis=1)
            base = gamma * dots + coef0
            row[:] = {"linear": dots, "poly": base**degree, "sigmoid": np.tanh(base)}[kernel.name]
    return values
