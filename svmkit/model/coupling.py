"""Probabilities of classes from the chances of decisions: of two classes, of class pairs, of each class or the rest."""

from __future__ import annotations

import numpy as np

from svmkit.model.one_vs_one import pair_classes

VALUES = 1 << 22  # entries of the matrices that are solved at a time
DIGITS = 2.0**40  # of probabilities: the last digits are rounding errors of the solution


def coupled(chances: np.ndarray, n_classes: int) -> np.ndarray:
    """Return probabilities of more than two classes that agree with the chances of all class pairs as well as possible.

    Parameters
    ----------
    chances : ndarray of shape (n_samples, n_pairs), float64
        The chance of the first class of each pair against the second.
    n_classes : int
        The number of classes.

    Returns
    -------
    ndarray of shape (n_samples, n_classes), float64
        Numbers >= 0 whose rows sum to 1, up to 1e-12.

    Notes
    -----
    With r_ij the chance of class i against class j, the probabilities p minimise sum_{i<j} (r_ji p_i - r_ij p_j)^2 =
    p'Qp over sum p = 1 (Wu, Lin, Weng 2004, second method, equation 14). The optimality conditions Qp = -b e give
    (Q + ee')p = (1 - b) e, so that p is the normalised solution of one linear system. Q + ee' is positive definite,
    and well conditioned even where chances are 0 or 1, for which the paper's own system is singular.
    """
    out = np.empty((len(chances), n_classes))
    first, second = pair_classes(n_classes)
    every = np.arange(n_classes)
    step = max(1, VALUES // (n_classes * n_classes))
    for lo in range(0, len(chances), step):
        part = chances[lo : lo + step]
        r = np.zeros((len(part), n_classes, n_classes))
        r[:, first, second], r[:, second, first] = part, 1.0 - part
        Q = 1.0 - r * r.transpose(0, 2, 1)
        Q[:, every, every] = 1.0 + np.square(r).sum(axis=1)
        p = np.linalg.solve(Q, np.ones((len(part), n_classes, 1)))[:, :, 0]
        np.maximum(p, 0.0, out=p)  # a probability of 0 may round to less
        out[lo : lo + step] = p / p.sum(axis=1, keepdims=True)
    return _rounded(out)


def normalised(chances: np.ndarray) -> np.ndarray:
    """Return the chances of each class against the rest (n_samples, n_classes), divided by their sum."""
    total = chances.sum(axis=1, keepdims=True)
    alike = np.full_like(chances, 1.0 / chances.shape[1])
    return np.divide(chances, total, out=alike, where=total > 0.0)


def _rounded(p: np.ndarray) -> np.ndarray:
    """Round to 40 binary digits: rounding errors then make no difference, and whatever differs has two logarithms."""
    mantissa, exponent = np.frexp(p)
    return np.ldexp(np.rint(mantissa * DIGITS) / DIGITS, exponent)
