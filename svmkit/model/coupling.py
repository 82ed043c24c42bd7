"""Probabilities of classes from those of their decisions: of class pairs, or of each class against the rest."""

from __future__ import annotations

import numpy as np

from svmkit.model.one_vs_one import pair_classes

VALUES = 1 << 22  # entries of the matrices that are solved at a time
DIGITS = 2.0**40  # of probabilities: the last digits are rounding errors of the solution


def couple(pairwise: np.ndarray, n_classes: int) -> np.ndarray:
    """Return probabilities of more than two classes that agree with those of all class pairs as well as possible.

    Parameters
    ----------
    pairwise : ndarray of shape (n_samples, n_pairs), float64
        The probability of the first class of each pair against the second.
    n_classes : int
        The number of classes.

    Returns
    -------
    ndarray of shape (n_samples, n_classes), float64
        Numbers >= 0 whose rows sum to 1, up to 1e-12.

    Notes
    -----
    With r_ij that of class i against class j, the probabilities p minimise sum_{i<j} (r_ji p_i - r_ij p_j)^2 =
    p'Qp over sum p = 1 (Wu, Lin, Weng 2004, second method, equation 14). The optimality conditions Qp = -b e give
    (Q + ee')p = (1 - b) e, so that p is the normalised solution of one linear system. Q + ee' is positive definite,
    and well conditioned even where r_ij is 0 or 1, for which the paper's own system is singular.
    """
    out = np.empty((len(pairwise), n_classes))
    first, second = pair_classes(n_classes)
    every = np.arange(n_classes)
    step = max(1, VALUES // (n_classes * n_classes))
    for lo in range(0, len(pairwise), step):
        part = pairwise[lo : lo + step]
        r = np.zeros((len(part), n_classes, n_classes))
        r[:, first, second], r[:, second, first] = part, 1.0 - part
        Q = 1.0 - r * r.transpose(0, 2, 1)
        Q[:, every, every] = 1.0 + np.square(r).sum(axis=1)
        p = np.linalg.solve(Q, np.ones((len(part), n_classes, 1)))[:, :, 0]
        np.maximum(p, 0.0, out=p)  # a probability of 0 may round to less
        out[lo : lo + step] = p / p.sum(axis=1, keepdims=True)
    return _round(out)


def normalise(one_sided: np.ndarray) -> np.ndarray:
    """Return the probabilities of each class against the rest (n_samples, n_classes), divided by their sum."""
    total = one_sided.sum(axis=1, keepdims=True)
    alike = np.full_like(one_sided, 1.0 / one_sided.shape[1])
    return np.divide(one_sided, total, out=alike, where=total > 0.0)


def _round(p: np.ndarray) -> np.ndarray:
    """Round to 40 binary digits: rounding errors then make no difference, and whatever differs has two logarithms."""
    mantissa, exponent = np.frexp(p)
    return np.ldexp(np.rint(mantissa * DIGITS) / DIGITS, exponent)
