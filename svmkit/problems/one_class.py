"""OneClassQP: the dual of the one-class SVM with hinge slacks, as LIBSVM solves it."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.gram import Gram
from svmkit.losses.terms import Terms
from svmkit.problems.base import RESOLUTION
from svmkit.problems.certificate import Certificate
from svmkit.problems.dual import DualQP

SAMPLE = 200  # at most so many points whose kernel values with all points order them for the start
FEWEST, SHARE = 50, 10  # at least so many of them, and a tenth of all


class OneClassQP(DualQP):
    """min 1/2 alpha'K alpha over 0 <= alpha_i <= w_i, sum alpha = nu sum w: the dual of the one-class SVM.

    The primal is 1/2 |w|^2 - nu sum(w) rho + sum_i w_i max(0, rho - w'phi(x_i)): the objective of Schoelkopf et al.
    times nu sum(w), the scale of LIBSVM and scikit-learn, where the weights w_i are 1. The weighted fraction of the
    samples with w'phi(x_i) < rho is at most nu, that of the support vectors at least nu. A point is alpha (m,).

    Parameters
    ----------
    gram : Gram
        The kernel matrix of the m samples.
    nu : float
        The bound of both fractions, 0 < nu <= 1.
    weights : ndarray of shape (m,), optional
        Sample weights w_i > 0, the upper bounds of alpha; 1 by default.

    Attributes
    ----------
    total : float
        nu sum w, the sum of alpha; the other attributes are those of `svmkit.problems.dual.DualQP`.

    Raises
    ------
    InputError
        If nu is out of its range, or a weight is not finite and > 0.

    References
    ----------
    Schoelkopf, Platt, Shawe-Taylor, Smola, Williamson: Estimating the support of a high-dimensional distribution.
    Neural Computation 13, 2001. Chang, Lin (2011), LIBSVM: a library for support vector machines, section 2.3.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import Gram
    >>> from svmkit.kernels import RBF
    >>> from svmkit.problems import OneClassQP
    >>> OneClassQP(Gram(RBF(1.0), np.array([[0.0], [0.4], [1.0]])), nu=0.5).nu
    0.5
    """

    name: ClassVar[str] = "OneClassQP"
    task: ClassVar[str] = "outliers"

    def __init__(self, gram: Gram, nu: float, weights: np.ndarray | None = None) -> None:
        if not 0.0 < nu <= 1.0:
            raise InputError(f"nu={nu:g} is infeasible: the one-class SVM needs 0 < nu <= 1")
        upper = np.ones(gram.m) if weights is None else np.array(weights, dtype=np.float64)
        if upper.shape != (gram.m,) or not (upper.min() > 0.0 and upper.max() < np.inf):
            raise InputError(f"the weights must be {gram.m} finite numbers > 0")
        self.nu = float(nu)
        terms = Terms.fill(np.zeros(gram.m), lower=0.0, upper=upper)
        super().__init__(gram, np.ones(gram.m), upper, terms, total=self.nu * float(upper.sum()))
        self.resolution = RESOLUTION * self.total**2 * float(np.abs(self.diag).max())

    @classmethod
    def formulation(cls, **terms) -> str:
        return "one class, hinge"

    def certify(self, point: np.ndarray, h: np.ndarray) -> Certificate:
        found, f = super().certify(point, h), 0.5 * float(point @ h)
        if found.dual is None or found.gap is None or found.primal < 0.0 or found.dual > -2.0 * max(f, 0.0):
            return found
        # the constant 0 has P = 0, and D is lower by rounding alone: no other weights prove more
        return replace(found, rounding=found.gap)

    def first_point(self) -> np.ndarray:
        """Put the samples with the lowest sums of kernel values with some of all samples at their bound.

        They lie in sparse regions. LIBSVM takes the first samples instead.
        """
        some = pick_evenly(self.m, min(max(FEWEST, self.m // SHARE), SAMPLE))
        return self.fill(np.argsort(self.gram.matvec(self.upper[some], some), kind="stable"))

    def fill(self, order: np.ndarray) -> np.ndarray:
        """Return the feasible point whose first samples in this order (m,) are at their upper bound, the last at 0."""
        return fill(order, self.upper, self.total)

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        return spread(np.maximum(coef, 0.0), self.upper, self.total)


def pick_evenly(m: int, most: int) -> np.ndarray:
    """Return up to `most` of the numbers 0, ..., m - 1, evenly spread."""
    if m <= most:
        return np.arange(m)
    return np.arange(most) * (m - 1) // max(most - 1, 1)


def fill(order: np.ndarray, upper: np.ndarray, total: float) -> np.ndarray:
    """Return weights (m,) of this sum: the first ones in this order (m,) at their bounds, the last ones 0."""
    room = upper[order]
    point = np.empty(len(order))
    point[order] = np.clip(total - (np.cumsum(room) - room), 0.0, room)
    return point


def spread(weights: np.ndarray, upper: np.ndarray, total: float) -> np.ndarray | None:
    """Return min(s weights, upper) (m,) for the s with which they sum to `total`; None if no s reaches that."""
    point, support = np.zeros(len(weights)), np.flatnonzero((weights > 0.0) & (upper > 0.0))
    bounds, parts = upper[support], weights[support]
    if float(bounds.sum()) < total or not len(support):
        return None
    order = np.argsort(bounds / parts, kind="stable")  # the first ones reach their bounds first
    bounds, parts = bounds[order], parts[order]
    factors = (total - (np.cumsum(bounds) - bounds)) / np.cumsum(parts[::-1])[::-1]
    k = int(np.argmax(factors * parts <= bounds))
    point[support[order]] = np.concatenate([bounds[:k], np.minimum(factors[k] * parts[k:], bounds[k:])])
    return point
