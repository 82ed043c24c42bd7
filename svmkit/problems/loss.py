"""The two losses of the hinge family: their values, and the box and ridge of their duals."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from svmkit.errors import InputError
from svmkit.problems.rounding import dot_error


class Loss(StrEnum):
    """The hinge C max(0, s) and the squared hinge C max(0, s)^2 of a slack s, LIBLINEAR's L1 and L2 losses.

    In classification s = 1 - y h. In regression s = |t - h| - epsilon, and the losses are known as the
    epsilon-insensitive loss and its square; `of` takes these names as well.
    """

    HINGE = "hinge"
    SQUARED_HINGE = "squared_hinge"

    @classmethod
    def of(cls, name: str) -> Loss:
        """Return the loss of that name, or raise InputError that lists the names."""
        try:
            return cls(ALIASES.get(name, name))
        except ValueError:
            raise InputError(f"loss={name!r} is not known; there are: {', '.join(cls)}") from None

    @property
    def in_regression(self) -> str:
        """The name of the loss in regression."""
        return next(name for name, loss in ALIASES.items() if loss == self)

    def total(self, slack: np.ndarray, C: np.ndarray) -> float:
        """Return the sum of the losses for the slacks, shape (m,), of any sign."""
        slack = np.maximum(slack, 0.0)
        return float(C @ slack if self is Loss.HINGE else C @ np.square(slack))

    def total_error(self, slack: np.ndarray, C: np.ndarray, error: np.ndarray) -> float:
        """Return a bound on the error of `total` for slacks (m,) that have errors of at most `error` (m,)."""
        slack, error = np.maximum(slack, 0.0), np.where(slack > -error, error, 0.0)
        if self is Loss.HINGE:
            return float(C @ error) + dot_error(C * slack)
        return float(C @ (error * (2.0 * slack + error))) + dot_error(C * np.square(slack), 2.0)

    def upper_bounds(self, C: np.ndarray) -> np.ndarray:
        """Return the upper bounds of the dual weights, shape (m,)."""
        return np.array(C) if self is Loss.HINGE else np.full(len(C), np.inf)

    def ridge(self, C: np.ndarray) -> np.ndarray:
        """Return the numbers that the dual adds to the diagonal, shape (m,)."""
        return np.zeros(len(C)) if self is Loss.HINGE else 1.0 / (2.0 * C)

    def weights(self, slack: np.ndarray, C: np.ndarray) -> np.ndarray:
        """Return the dual weights (m,) that the slacks of a primal point suggest: minus the derivative of the loss."""
        return self.signed_weights(np.maximum(slack, 0.0), C)

    def signed_weights(self, excess: np.ndarray, C: np.ndarray) -> np.ndarray:
        """Return the same (m,) for the positive parts of the slacks, with the signs that they have."""
        return C * np.sign(excess) if self is Loss.HINGE else 2.0 * C * excess


ALIASES = {"epsilon_insensitive": "hinge", "squared_epsilon_insensitive": "squared_hinge"}  # the losses of regression


def best_bias(loss: Loss, y: np.ndarray, h: np.ndarray, C: np.ndarray) -> float:
    """Return the exact argmin over b of sum_i C_i loss(1 - y_i (h_i + b)).

    Parameters
    ----------
    loss : Loss
        The loss.
    y, h, C : ndarray of float64, shape (m,)
        Labels, decision values without the bias, and costs.

    Returns
    -------
    float
        The best bias; the middle of the interval where all values of an interval are best.

    Notes
    -----
    The derivative is piecewise constant (hinge) or linear (squared hinge) and rises at c_i = y_i - h_i: a positive
    sample has a loss for b below its c_i, a negative sample for b above.
    """
    return _best_bias(loss, y, y - h, np.array(C))


def best_tube_bias(loss: Loss, residual: np.ndarray, C: np.ndarray, epsilon: float) -> float:
    """Return the exact argmin over b of sum_i C_i loss(|residual_i - b| - epsilon).

    Parameters
    ----------
    loss : Loss
        The loss beyond the tube.
    residual, C : ndarray of float64, shape (m,)
        Targets less decision values without the bias, and costs.
    epsilon : float
        Half the width of the tube, >= 0.

    Returns
    -------
    float
        The best bias; the middle of the interval where all values of an interval are best.
    """
    # each residual is a positive sample, which has a loss for b below residual - epsilon, and a negative one
    sides = np.repeat([1.0, -1.0], len(residual))
    return _best_bias(loss, sides, np.concatenate([residual - epsilon, residual + epsilon]), np.concatenate([C, C]))


def _best_bias(loss: Loss, y: np.ndarray, c: np.ndarray, C: np.ndarray) -> float:
    """Return the argmin of a sum of losses of which those of positive samples begin below c, the others above it.

    The arrays (m,) of the breakpoints c and of the costs C may be reordered.
    """
    if loss is Loss.HINGE:
        from svmkit.problems.box_sums import hinge_bias  # here: it needs numba

        return float(hinge_bias(y, c, C))
    order = np.argsort(c, kind="stable")
    c, plus = c[order], y[order] > 0.0
    costs = C[order]
    lo, hi = c[plus].max(), c[~plus].min()
    if lo <= hi:  # no sample has a loss in between
        return float(0.5 * (lo + hi))
    up, down = np.where(plus, costs, 0.0), np.where(plus, 0.0, costs)
    # between c_{k-1} and c_k: positives from k on, negatives before k
    weight = (up.sum() - np.cumsum(up) + up) + (np.cumsum(down) - down)
    moment = ((up * c).sum() - np.cumsum(up * c) + up * c) + (np.cumsum(down * c) - down * c)
    ahead = c * weight - moment >= 0.0  # half the derivative at c_k
    if not ahead.any():
        return float((down * c).sum() / down.sum())
    k = int(np.argmax(ahead))
    if weight[k] <= 0.0:  # rounding: what remains is lost in the sums
        return float(c[k])
    return float(np.clip(moment[k] / weight[k], c[max(k - 1, 0)], c[k]))
