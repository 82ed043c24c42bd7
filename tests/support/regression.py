"""Targets for linear regression, LIBLINEAR's optimum by scikit-learn's LinearSVR, and P by its definition."""

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVR
from support.liblinear import in_regression

from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.losses.by_name import make_loss


def quantities(m: int = 150, d: int = 5, *, seed: int = 0, noise: float = 0.5):
    """X (m, d) with a row of zeros and a row that occurs twice, targets t (m,) with an offset, and costs C (m,)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    X[3], X[4] = 0.0, X[5]
    return X, X @ rng.normal(size=d) + noise * rng.normal(size=m) + 2.0, rng.uniform(0.05, 1.0, m)


def with_bias(X, bias: float):
    X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    return np.hstack([X, np.full((len(X), 1), bias)]) if bias else X


def primal(X, t, C, epsilon, w, loss: str, bias: float = 1.0, penalty: str = "l2") -> float:
    """P at w from its definition, by plain matrix products."""
    over = np.maximum(np.abs(t - with_bias(X, bias) @ w) - epsilon, 0.0)
    size = np.abs(w).sum() if penalty == "l1" else 0.5 * w @ w
    return float(size + C @ (over if loss == "hinge" else over**2))


def linear_svr(X, t, C, epsilon, loss: str, bias: float = 1.0, tol: float = 1e-10) -> np.ndarray:
    """w (d + 1,) of LIBLINEAR, the entry of the bias column last; (d,) without a bias."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearSVR(
            epsilon=epsilon, C=1.0, loss=in_regression(loss), dual=True, tol=tol, fit_intercept=bias > 0,
            intercept_scaling=bias or 1.0, max_iter=1_000_000, random_state=0,
        ).fit(X, t, sample_weight=C)  # fmt: skip
    return np.append(model.coef_, model.intercept_ / bias) if bias else model.coef_


def tube(loss: str, epsilon: float):
    """The loss outside a tube of that half width, by a name of LIBLINEAR's."""
    return make_loss(str(loss), "regress", epsilon=epsilon)


def regression(solver, X, t, C=1.0, epsilon=0.1, kernel=None):
    """The solver's problem of regression, with the linear kernel unless another one is given."""
    return solver.pose_regression(Gram((kernel or Linear()).resolve(X), X), t, C, epsilon)
