"""LIBLINEAR's optimum of the linear problems, by scikit-learn's LinearSVC."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from svmkit.losses.by_name import canonical_name

LOSSES = ["hinge", "squared_hinge"]
every_loss = pytest.mark.parametrize("loss", LOSSES)


def total(loss: str, slack: np.ndarray, C: np.ndarray) -> float:
    """The sum of C_i loss for slacks (m,) of any sign."""
    return float(C @ np.maximum(slack, 0.0) ** (1 if loss == "hinge" else 2))


def in_regression(loss: str) -> str:
    """The name of the loss in regression."""
    return canonical_name(loss, "regress")


def liblinear(X, y, C, loss="hinge", bias=1.0, penalty="l2", tol=1e-9, dual=None) -> np.ndarray:
    """w (d,), with the weight of the bias column behind it where bias > 0. C is one cost, or one for each sample."""
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no answer that has not converged
        model = LinearSVC(
            C=1.0,
            loss=loss,
            penalty=penalty,
            dual=penalty == "l2" if dual is None else dual,
            tol=tol,
            max_iter=3_000_000,
            fit_intercept=bias > 0.0,
            intercept_scaling=bias or 1.0,
            random_state=0,
        ).fit(X, y, sample_weight=np.broadcast_to(np.asarray(C, dtype=np.float64), len(y)))
    w = model.coef_[0]
    return np.append(w, model.intercept_[0] / bias) if bias else w


def primal(X, y, C, w, loss="hinge", bias=1.0, penalty="l2") -> float:
    """P of w by its definition."""
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    h = X @ w[: X.shape[1]] + (bias * w[-1] if bias else 0.0)
    size = np.abs(w).sum() if penalty == "l1" else 0.5 * float(w @ w)
    each = np.broadcast_to(np.asarray(C, dtype=np.float64), len(y))
    return float(size + total(loss, 1.0 - y * h, each))
