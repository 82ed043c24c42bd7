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


def exact_bounds(fit, X, y, C, *, loss="hinge", regularised=False) -> tuple[float, float]:
    """P and D of a binary fit in long double, from its coefficients and X alone.

    `regularised` is the problem whose bias is a part of w, as the Frank-Wolfe solvers pose it.
    """
    sign = np.where(np.asarray(y) == fit.model.classes[1], 1.0, -1.0).astype(LONG)
    coef, beta = fit.model.coef[0].astype(LONG), fit.model.coef[0].astype(LONG) * sign[fit.support]
    bias, shift = LONG(fit.model.intercept[0]), LONG(1.0 if regularised else 0.0)
    h = exact_values(fit.model.kernel, X, X[fit.support]) @ coef
    norm = coef @ h[fit.support] + shift * coef.sum() ** 2
    loss_of = np.maximum(0, 1 - sign * (h + bias))
    squared = loss == "squared_hinge"
    primal = (coef @ h[fit.support] + shift * bias**2) / 2 + C * (loss_of**2 if squared else loss_of).sum()
    dual = beta.sum() - norm / 2 - ((beta**2).sum() / (4 * LONG(C)) if squared else 0)
    return float(primal), float(dual)
