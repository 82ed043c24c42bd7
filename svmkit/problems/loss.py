"""The two losses of the hinge family: what they cost, and their dual's box and ridge."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from svmkit.errors import InputError


class Loss(StrEnum):
    """hinge: C max(0, 1 - y h). squared_hinge: C max(0, 1 - y h)^2 (LIBLINEAR's L1 and L2 loss)."""

    HINGE = "hinge"
    SQUARED_HINGE = "squared_hinge"

    @classmethod
    def of(cls, name: str) -> Loss:
        """The loss of that name, or InputError with those that exist."""
        try:
            return cls(name)
        except ValueError:
            raise InputError(f"loss={name!r} is not known; there are: {', '.join(cls)}") from None

    def total(self, slack: np.ndarray, C: np.ndarray) -> float:
        """Sum of the losses; slack (m,) = 1 - y h, of any sign."""
        slack = np.maximum(slack, 0.0)
        return float(C @ slack if self is Loss.HINGE else C @ np.square(slack))

    def upper_bounds(self, C: np.ndarray) -> np.ndarray:
        """Upper bounds (m,) of the dual weights."""
        return np.array(C) if self is Loss.HINGE else np.full(len(C), np.inf)

    def ridge(self, C: np.ndarray) -> np.ndarray:
        """What the dual adds to the diagonal, (m,)."""
        return np.zeros(len(C)) if self is Loss.HINGE else 1.0 / (2.0 * C)

    def weights(self, slack: np.ndarray, C: np.ndarray) -> np.ndarray:
        """Dual weights (m,) that a primal point suggests: minus the derivative of the loss."""
        return C * (slack > 0.0) if self is Loss.HINGE else 2.0 * C * np.maximum(slack, 0.0)


def best_bias(loss: Loss, y: np.ndarray, h: np.ndarray, C: np.ndarray) -> float:
    """argmin over b of sum_i C_i loss(1 - y_i (h_i + b)), exactly; the middle where a whole interval is as good.

    The derivative is piecewise constant (hinge) or linear (squared hinge) and rises at c_i = y_i - h_i: a positive
    sample has a loss below its c_i, a negative one above.
    """
    order = np.argsort(y - h, kind="stable")
    c, plus = (y - h)[order], y[order] > 0.0
    costs = np.asarray(C)[order]
    if loss is Loss.HINGE:
        rise = np.cumsum(costs) - costs[plus].sum()  # derivative just above c_k
        level = 1e-12 * costs.sum()
        k = int(np.argmax(rise >= -level))
        flat = rise[k] <= level and k + 1 < len(c)
        return float(0.5 * (c[k] + c[k + 1]) if flat else c[k])
    lo, hi = c[plus].max(), c[~plus].min()
    if lo <= hi:  # no loss at all in between
        return float(0.5 * (lo + hi))
    up, down = np.where(plus, costs, 0.0), np.where(plus, 0.0, costs)
    # between c_{k-1} and c_k: positives from k on, negatives before k
    weight = (up.sum() - np.cumsum(up) + up) + (np.cumsum(down) - down)
    moment = ((up * c).sum() - np.cumsum(up * c) + up * c) + (np.cumsum(down * c) - down * c)
    ahead = c * weight - moment >= 0.0  # half the derivative at c_k
    if not ahead.any():
        return float((down * c).sum() / down.sum())
    k = int(np.argmax(ahead))
    if weight[k] <= 0.0:  # by rounding, where what is left is lost in the sums
        return float(c[k])
    return float(np.clip(moment[k] / weight[k], c[max(k - 1, 0)], c[k]))
