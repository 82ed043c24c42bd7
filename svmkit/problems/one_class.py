"""OneClassQP: the dual of the one-class SVM with hinge slacks, as LIBSVM solves it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.engines import ALL
from svmkit.kernels.gram import Gram
from svmkit.kernels.rounding import U
from svmkit.problems.base import GRAIN, DecisionFunction, Problem
from svmkit.problems.box import infeasible_in_box
from svmkit.problems.certificate import Certificate
from svmkit.problems.loss import Loss
from svmkit.problems.rounding import dot_error

SAMPLE = 200  # points whose kernel values with all points order them for the start


class OneClassQP(Problem):
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
        nu sum w, the sum of alpha.
    upper, ridge, diag, signs, origin, width
        As for `svmkit.problems.BoxQP`.

    Raises
    ------
    InputError
        If nu is out of its range, or a weight is not finite and > 0.

    References
    ----------
    Schoelkopf, Platt, Shawe-Taylor, Smola, Williamson: Estimating the support of a high-dimensional distribution.
    Neural Computation 13, 2001. Chang, Lin (2011), LIBSVM: a library for support vector machines, section 2.3.
    """

    name: ClassVar[str] = "OneClassQP"
    task: ClassVar[str] = "outliers"
    loss: ClassVar[Loss] = Loss.HINGE
    width: ClassVar[float] = 0.0
    is_ridged: ClassVar[bool] = False

    def __init__(self, gram: Gram, nu: float, weights: np.ndarray | None = None) -> None:
        super().__init__(gram, np.ones(gram.m))
        if not 0.0 < nu <= 1.0:
            raise InputError(f"nu={nu:g} is infeasible: the one-class SVM needs 0 < nu <= 1")
        self.nu = float(nu)
        self.upper = np.ones(self.m) if weights is None else np.array(weights, dtype=np.float64)
        if self.upper.shape != (self.m,) or not (self.upper.min() > 0.0 and self.upper.max() < np.inf):
            raise InputError(f"the weights must be {self.m} finite numbers > 0")
        self.C, self.ridge, self.diag = self.upper, np.zeros(self.m), gram.diag
        self.signs, self.origin = self.y, np.zeros(self.m)
        self.lower, self.ridge_down = np.zeros(self.m), self.ridge
        self.total = self.nu * float(self.upper.sum())
        self.grain = GRAIN * self.total**2 * float(np.abs(self.diag).max())

    @classmethod
    def formulation(cls, **terms) -> str:
        return "one class, hinge"

    def gradient(self, alpha: np.ndarray, at: np.ndarray = ALL) -> np.ndarray:
        """Return K alpha from scratch in float64, of all samples or of the samples `at`."""
        idx = np.flatnonzero(alpha)
        return self.gram.matvec(alpha[idx], idx, at)

    def image(self, weights: np.ndarray, idx: np.ndarray, dtype=np.float64) -> np.ndarray:
        """Return the change of the gradient, as `BoxQP.image` does."""
        return self.gram.matvec(weights, idx, dtype=dtype)

    def value(self, alpha: np.ndarray, gradient: np.ndarray) -> float:
        """Return the objective at `alpha`, whose gradient the caller knows."""
        return 0.5 * float(alpha @ gradient)

    def objective(self, point: np.ndarray) -> float:
        return self.value(point, self.gradient(point))

    def infeasible(self, point: np.ndarray) -> str | None:
        reason = infeasible_in_box(point, self.upper)
        if reason is None and abs(point.sum() - self.total) > 1e-9 * self.total:
            return f"weights should sum to {self.total:.12g}, not {point.sum():.12g}"
        return reason

    def best_bias(self, v: np.ndarray, alpha: np.ndarray) -> float:
        """Return -rho for the rho that minimises the primal, given v = K alpha (m,).

        Below the best rho lie samples whose weights sum to nu sum(w) at most: the derivative of the primal by rho is
        the sum of their weights less nu sum(w). Of an interval it is the middle, or its lower end if it has no other.
        """
        return -weighted_quantile(v, self.upper, self.total)

    def certificate(self, point: np.ndarray) -> Certificate:
        h = self.gradient(point)
        bias = self.best_bias(h, point)
        slack = np.maximum(-bias - h, 0.0)
        norm = float(point @ h)
        primal = 0.5 * norm + bias * self.total + float(self.upper @ slack)
        of_h = self.image_error(point)
        of_norm = float(point.sum()) * of_h + dot_error(point * h)
        off = of_h + 4.0 * U * (np.abs(h) + abs(bias))
        of_slack = float(self.upper @ np.where(-bias - h > -off, off, 0.0)) + dot_error(self.upper * slack)
        of_primal = 0.5 * of_norm + of_slack + 4.0 * U * abs(bias) * self.total
        # a sum of alpha other than nu sum(w) moves D by its product with the rho of the optimum, which is the score of
        # a sample, so at most max |phi| |w*|; |w*| <= |w| but for that sum
        excess = abs(float(point.sum()) - self.total) + dot_error(point) + 4.0 * U * self.total
        largest = np.sqrt(max(norm, 0.0) * float(self.diag.max()))
        of_dual = 0.5 * of_norm + 2.0 * excess * float(largest)
        flaw = self.gram.definiteness.flaw
        return Certificate.of(primal, -0.5 * norm, h, bias, errors=(of_primal, of_dual), flaw=flaw)

    def bound(self, objective: float) -> Certificate:
        return Certificate(float("inf"), -objective, None)

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        if certificate.bias is None:  # `bound` does not know the bias
            certificate = self.certificate(point)
        assert certificate.bias is not None
        return DecisionFunction(point.copy(), certificate.bias)

    def first_point(self) -> np.ndarray:
        """Put the samples at their bound that have the lowest sums of kernel values with some of all samples.

        They lie where few others are. LIBSVM takes the first samples instead.
        """
        some = sampled(self.m, SAMPLE)
        return self.filled(np.argsort(self.gram.matvec(self.upper[some], some), kind="stable"))

    def filled(self, order: np.ndarray) -> np.ndarray:
        """Return the feasible point whose first samples in this order (m,) are at their upper bound, the last at 0."""
        return filled(order, self.upper, self.total)

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        return spread(np.maximum(coef, 0.0), self.upper, self.total)


def sampled(m: int, most: int) -> np.ndarray:
    """Return up to `most` of the numbers 0, ..., m - 1, evenly spread."""
    return np.unique(np.linspace(0, m - 1, min(most, m)).astype(np.int64))


def weighted_quantile(values: np.ndarray, weights: np.ndarray, total: float) -> float:
    """Return the x that minimises sum_i weights_i max(0, x - values_i) - total x.

    Parameters
    ----------
    values, weights : ndarray of float64, shape (m,)
        Numbers and their weights >= 0.
    total : float
        Between 0 and the sum of the weights.

    Returns
    -------
    float
        Values that weigh `total` at most lie below it. Of an interval it is the middle, or the lower end of one without
        an upper end.
    """
    order = np.argsort(values, kind="stable")
    order = order[weights[order] > 0.0]
    below = np.cumsum(weights[order])
    rounding = 1e-12 * float(below[-1])
    k = min(int(np.searchsorted(below, total - rounding)), len(order) - 1)
    x = float(values[order[k]])
    if below[k] <= total + rounding and k + 1 < len(order):
        x = 0.5 * (x + float(values[order[k + 1]]))
    return x


def filled(order: np.ndarray, upper: np.ndarray, total: float) -> np.ndarray:
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
