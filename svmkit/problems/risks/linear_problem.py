"""What the primal and the dual of a linear risk share: X with its bias column, decisions, D and rounding errors."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from svmkit.kernels.gram import Gram
from svmkit.kernels.rounding import U
from svmkit.losses.base import Loss
from svmkit.problems.risks.coordinate_descent import Pass, coordinate_pass
from svmkit.problems.risks.design import Design
from svmkit.problems.risks.points import dual_sums
from svmkit.problems.risks.risk import Risk
from svmkit.problems.rounding import dot_error
from svmkit.problems.weights import reward_error, ridges


class LinearProblem(Risk):
    """A risk of a linear model. The parameters are those of `Risk`; the Gram has the linear kernel."""

    is_linear: ClassVar[bool] = True

    def __init__(
        self, gram: Gram, target: np.ndarray, C: float | np.ndarray, loss: str | Loss = "hinge", **terms
    ) -> None:
        super().__init__(gram, target, C, loss, **terms)
        self.design = Design(gram, self.bias)

    def descend(self, order: np.ndarray, beta: np.ndarray, v: np.ndarray, high: float, low: float) -> Pass:
        """Make a `coordinate_pass` over the samples `order` (n,), all arrays in place.

        Parameters
        ----------
        order, beta, v, high, low
            As for `coordinate_pass`.
        """
        d, points = self.design, self.points
        given = d.rows, d.bias, points.rows, order, order.size, beta, v
        return coordinate_pass(*given, high, low, 1.0, points.below)

    def decision(self, w: np.ndarray) -> np.ndarray:
        """Return the decision values h (m,) of w (width,)."""
        return self.design.margins(w)

    def _primal_error(self, w: np.ndarray, h: np.ndarray) -> float:
        """Return a bound on the rounding error of P at w (width,), whose decision values are given."""
        of_h = (self.design.width + 2) * U * np.sqrt(self.design.sq) * float(np.linalg.norm(w))
        return dot_error(w) + dot_error(np.square(w)) + self.total_loss_error(h, of_h)

    def _dual_error(self, beta: np.ndarray, v: np.ndarray) -> float:
        """Return a bound on the rounding error of D at beta (m,), with v (width,) = `weights(beta)` from scratch."""
        of_v = dot_error(beta * np.sqrt(self.design.sq))  # bounds the norm of the error
        sums = reward_error(self.terms, beta) + dot_error(np.square(v))
        sums += dot_error(beta * (beta * ridges(self.terms, beta)))
        return float(np.linalg.norm(v)) * of_v + of_v * of_v + sums

    def dual(self, beta: np.ndarray, w: np.ndarray) -> float:
        """Return D with the l2 penalty at beta (m,), whose w (width,) the caller has computed."""
        linear, ridged = dual_sums(*self.points, beta)
        return linear - 0.5 * (float(w @ w) + ridged)

    def weights(self, beta: np.ndarray) -> np.ndarray:
        """Return w (width,) of the dual weights beta (m,), from scratch."""
        return self.design.pull(beta)
