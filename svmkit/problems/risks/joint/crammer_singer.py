"""Crammer and Singer's linear machine: one problem of all classes, in which each class has a weight vector."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from svmkit.kernels.gram import Gram
from svmkit.kernels.rounding import U
from svmkit.problems.base import ClassDecisions, describe_bias
from svmkit.problems.certificate import Certificate
from svmkit.problems.risks.joint.all_classes import AllClasses
from svmkit.problems.rounding import dot_error


class CrammerSinger(AllClasses):
    """min 1/2 sum_c |w_c|^2 + sum_i C_i max(0, max_{c != y_i} 1 + w_c'x_i - w_{y_i}'x_i), by its dual.

    A point is alpha (m, k) with alpha_ic <= 0 for c != y_i, alpha_{i y_i} <= C_i and rows that sum to 0. Its weights
    are w_c = sum_i alpha_ic x_i, and D = sum_i alpha_{i y_i} - 1/2 sum_c |w_c|^2. The column of y_i is computed as
    minus the sum of the others, so that rounding cannot make the sum differ from 0.

    Parameters
    ----------
    gram : Gram
        Gram of the m samples with the linear kernel.
    y : ndarray of shape (m,)
        The classes 0, 1, ..., k - 1 of the samples, as numbers; each must occur.
    C : float or ndarray of shape (m,)
        Cost of a unit of loss, > 0. Class and sample weights are multiplied in.
    bias : float, default=1.0
        Value >= 0 of the column that is added to X for the bias, which is regularised; 0.0 for no bias.

    Attributes
    ----------
    codes : ndarray of shape (m,), int64
        The classes of the samples.
    n_classes : int
        k.
    design : Design
        X with its bias column.

    Raises
    ------
    InputError
        If the kernel is not linear, or y, C or the bias is not valid.

    References
    ----------
    Crammer, Singer: On the algorithmic implementation of multiclass kernel-based vector machines, 2001. Keerthi,
    Sundararajan, Chang, Hsieh, Lin: A sequential dual method for large scale multi-class linear SVMs, 2008, eq. (5).

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import Gram
    >>> from svmkit.kernels import Linear
    >>> from svmkit.problems import CrammerSinger
    >>> CrammerSinger(Gram(Linear(), np.eye(3)), np.array([0.0, 1.0, 2.0]), 1.0).m
    3
    """

    name: ClassVar[str] = "CrammerSinger"

    def __init__(self, gram: Gram, y: np.ndarray, C: float | np.ndarray, *, bias: float = 1.0) -> None:
        super().__init__(gram, y, C, bias)
        self.bias = float(bias)

    @classmethod
    def formulation(cls, *, bias: float = 1.0, **terms) -> str:
        return f"crammer singer, {describe_bias(bias)}"

    def slacks(self, W: np.ndarray) -> np.ndarray:
        """Return 1 + max_{c != y} h_c - h_y (m,) for the weights W (k, width)."""
        out = np.empty(self.m)
        for rows in self.parts():
            scores = self._scores(W, rows)
            at = np.arange(len(scores)), self.codes[rows]
            own = scores[at]
            scores[at] = -np.inf
            out[rows] = 1.0 + scores.max(axis=1) - own
        return out

    def value(self, totals: np.ndarray, W: np.ndarray) -> float:
        """Return the objective, -D, of dual weights `totals` (m,) with the weights W (k, width) of the columns."""
        return 0.5 * float(np.vdot(W, W)) - float(totals.sum())

    def objective(self, point: np.ndarray) -> float:
        return self.value(self.totals(point), self.weights(point))

    def certificate(self, point: np.ndarray) -> Certificate:
        totals, W = self.totals(point), self.weights(point)
        slack = self.slacks(W)
        primal = 0.5 * float(np.vdot(W, W)) + float(self.C @ np.maximum(slack, 0.0))
        errors = self._primal_error(W, slack), self._dual_error(point, totals, W)
        return Certificate.from_values(primal, -self.value(totals, W), slack, errors=errors)

    def _primal_error(self, W: np.ndarray, slack: np.ndarray) -> float:
        """Return a bound on the rounding error of P at W (k, width), whose slacks are given."""
        of_slack = self._score_error(W) + 4.0 * U * (1.0 + np.abs(slack))
        beyond = np.maximum(slack, 0.0)
        return dot_error(np.square(W).ravel()) + float(self.C @ of_slack) + dot_error(self.C * beyond)

    def _dual_error(self, alpha: np.ndarray, totals: np.ndarray, W: np.ndarray) -> float:
        """Return a bound on the rounding error of D, including sums slightly above the costs."""
        of_sums = dot_error(totals) + 2.0 * self._sum_error * float(totals.sum())
        return self._size_error(alpha, totals, W) + of_sums

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> ClassDecisions:
        W, d = self.weights(point), self.design
        intercepts = self.bias * W[:, -1] if d.width > d.d else np.zeros(self.n_classes)
        return ClassDecisions(self.totals(point), 0.0, W[:, : d.d].copy(), intercepts=intercepts)
