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

    Examples
    --------
    >>> from svmkit.problems import Loss
    >>> Loss.of("squared_hinge") is Loss.SQUARED_HINGE
    True
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
