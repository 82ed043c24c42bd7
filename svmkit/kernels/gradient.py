"""Gradients of decision functions by their point x, of any kernel that has a `Form`, a block of rows at a time."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from svmkit.kernels.forms import Argument, Form, UnknownForm
from svmkit.kernels.functions import Kernel
from svmkit.kernels.loops.norms import square_norms

VALUES = 1 << 22  # kernel values, or entries of gradients, that are held at a time

SIGNS = 64.0  # multiplications in a matrix product for which a sign of a difference can be summed


def square_gradients(kernel: Kernel, X, vectors, coef: np.ndarray) -> np.ndarray:
    """Return the mean over rows x of (dh/dx_j)^2, summed over decision functions h(x) = sum_i coef_i k(x_i, x) + b.

    It is the diagonal of the average gradient outer product. The gradient of a Laplacian kernel is one-sided, on the
    side of x, and 0 in a column where x and a vector have the same value.

    Parameters
    ----------
    kernel : Kernel
        A resolved kernel with a `Form`; UnknownForm is raised for others.
    X, vectors : ndarray or CSR of shape (n, d) and (n_sv, d)
        The points, and the vectors x_i.
    coef : ndarray of shape (n_sv, n_decisions), float64
        The coefficients of each decision function.

    Returns
    -------
    ndarray of shape (d,), float64

    Notes
    -----
    With f the function of a form and t its argument, a gradient is sum_i coef_i f'(t_i) dt_i/dx, and so one product of
    (n, n_sv) and (n_sv, d) matrices for x.z and |x - z|^2: no array has n, n_sv and d.

    References
    ----------
    Radhakrishnan, Beaglehole, Pandit, Belkin: Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models. Science 383, 2024, equation (3): the AGOP.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import Linear
    >>> from svmkit.kernels.gradient import square_gradients
    >>> square_gradients(Linear(), np.eye(2), np.array([[1.0, 2.0]]), np.array([[3.0]])).tolist()
    [9.0, 36.0]
    """
    form, (n_sv, d) = kernel.form, vectors.shape
    if form is None:
        raise UnknownForm(kernel)
    if form is Form.LINEAR:
        X = X[:1]  # the gradient is the same everywhere
    n, total = X.shape[0], np.zeros(d)
    step = max(1, VALUES // max(n_sv, d, 1))
    for lo in range(0, n, step):
        x = X[lo : lo + step]
        slopes = form.slope(_arguments(form.argument, x, vectors), kernel.scalars)
        for k in range(coef.shape[1]):
            at = np.flatnonzero(coef[:, k])
            gradient = _gradients(form.argument, slopes[:, at] * coef[at, k], x, vectors[at])
            total += np.einsum("ij,ij->j", gradient, gradient)
    return total / max(n, 1)


def gradients(kernel: Kernel, X, vectors, coef: np.ndarray) -> np.ndarray:
    """Return the gradient of a decision function h(x) = sum_i coef_i k(x_i, x) + b at each row of X, float64 (n, d).

    Parameters
    ----------
    kernel, X, vectors : as for `square_gradients`
    coef : ndarray of shape (n_sv,), float64
    """
    form = kernel.form
    if form is None:
        raise UnknownForm(kernel)
    slopes = form.slope(_arguments(form.argument, X, vectors), kernel.scalars)
    return np.broadcast_to(_gradients(form.argument, slopes * coef, X, vectors), X.shape)


def point_cost(kernel: Kernel, vectors, coef: np.ndarray) -> float:
    """Return about how many multiplications of a matrix product `square_gradients` costs for each row of X."""
    assert kernel.form is not None
    each = SIGNS if kernel.form.argument is Argument.L1 else 1.0
    return each * np.count_nonzero(coef) * vectors.shape[1]


def _arguments(argument: Argument, x, vectors) -> np.ndarray:
    """Return the arguments of the function of a form for all rows of x and all vectors: float64 (n, n_sv)."""
    match argument:
        case Argument.DOT:
            return _dense(x @ vectors.T)
        case Argument.SQUARE:
            if not sp.issparse(x) and len(vectors):  # digits are lost far from the origin
                origin = vectors.mean(axis=0, dtype=np.float64)
                x, vectors = x - origin, vectors - origin
            squares = square_norms(x)[:, None] + square_norms(vectors)
            return np.maximum(squares - 2.0 * _dense(x @ vectors.T), 0.0)
        case Argument.L1:
            from scipy.spatial.distance import cdist

            return cdist(_dense(x), _dense(vectors), "cityblock")
    raise UnknownForm(argument)


def _gradients(argument: Argument, factors: np.ndarray, x, vectors) -> np.ndarray:
    """Return sum_i factors_ri dt_i/dx at each row r of x, float64 (n, d)."""
    match argument:
        case Argument.DOT:
            return factors @ vectors
        case Argument.SQUARE:
            return 2.0 * (factors.sum(axis=1)[:, None] * _dense(x) - factors @ vectors)
        case Argument.L1:
            x, vectors = _dense(x), _dense(vectors)
            columns = (np.sign(x[:, j, None] - vectors[:, j]) for j in range(x.shape[1]))
            return np.stack([np.einsum("rs,rs->r", factors, signs) for signs in columns], axis=1)
    raise UnknownForm(argument)


def _dense(X) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
