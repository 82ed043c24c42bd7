"""Crammer and Singer's linear machine: one problem of all classes, in which each class has a weight vector."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.gram import Gram
from svmkit.kernels.rounding import TINY, U
from svmkit.problems.base import ClassDecisions, Problem, costs
from svmkit.problems.certificate import Certificate
from svmkit.problems.risks.design import Design
from svmkit.problems.rounding import dot_error

PART = 1 << 22  # scores, or values of X in float64, that are held at a time


class CrammerSinger(Problem):
    """min 1/2 sum_c |w_c|^2 + sum_i C_i max(0, max_{c != y_i} 1 + w_c'x_i - w_{y_i}'x_i), by its dual.

    A point is alpha (m, k) with alpha_ic <= 0 for c != y_i, alpha_{i y_i} <= C_i and rows that sum to 0. Its weights
    are w_c = sum_i alpha_ic x_i, and D = sum_i alpha_{i y_i} - 1/2 sum_c |w_c|^2. The column of y_i is taken as minus
    the sum of the others, so that rounding cannot make the sum differ from 0.

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
    is_linear: ClassVar[bool] = True

    def __init__(self, gram: Gram, y: np.ndarray, C: float | np.ndarray, *, bias: float = 1.0) -> None:
        super().__init__(gram, np.asarray(y, dtype=np.float64))
        self.C, self.bias = costs(C, gram.m), float(bias)
        self.codes = self.y.astype(np.int64)
        counts = np.bincount(self.codes) if self.codes.min(initial=0) >= 0 else np.zeros(1)
        if self.y.shape != (self.m,) or len(counts) < 2 or not counts.all() or (self.codes != self.y).any():
            raise InputError(
                f"y must hold the classes 0, 1, ... of the {self.m} rows, two classes or more, each of them"
            )
        if not 0.0 <= self.bias < np.inf:
            raise InputError(f"bias must be a finite number >= 0 (0: none), not {bias}")
        self.n_classes, self.design = len(counts), Design(gram, self.bias)
        self._X = gram.engine.X

    @classmethod
    def from_loss(cls, gram, target, C, loss, **terms) -> CrammerSinger:
        return cls(gram, target, C, **terms)

    @classmethod
    def formulation(cls, *, bias: float = 1.0, **terms) -> str:
        word = {0.0: "no bias", 1.0: "regularised bias"}.get(float(bias), f"regularised bias of {bias:g}")
        return f"crammer singer, {word}"

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a point."""
        return self.m, self.n_classes

    def totals(self, alpha: np.ndarray) -> np.ndarray:
        """Return the dual weights (m,) of the samples: minus the sum over the other classes of alpha (m, k)."""
        every = np.arange(self.m)
        return -(alpha.sum(axis=1) - alpha[every, self.codes])

    def weights(self, alpha: np.ndarray) -> np.ndarray:
        """Return w (k, width) of alpha (m, k), from scratch, with `totals` for the column of each sample's class."""
        d, totals = self.design, self.totals(alpha)
        W = np.zeros((self.n_classes, d.width))
        for rows in self._parts():
            part = alpha[rows].copy()
            part[np.arange(len(part)), self.codes[rows]] = totals[rows]
            W[:, : d.d] += (self._X[rows].T.astype(np.float64) @ part).T
            if d.width > d.d:
                W[:, -1] += self.bias * part.sum(axis=0)
        return W

    def _parts(self) -> list[slice]:
        step = max(PART // max(self.n_classes, self.design.entries // self.m), 1)
        return [slice(lo, min(lo + step, self.m)) for lo in range(0, self.m, step)]

    def slacks(self, W: np.ndarray) -> np.ndarray:
        """Return 1 + max_{c != y} h_c - h_y (m,) for the weights W (k, width)."""
        d, out = self.design, np.empty(self.m)
        for rows in self._parts():
            scores = self._X[rows].astype(np.float64) @ W[:, : d.d].T
            if d.width > d.d:
                scores += self.bias * W[:, -1]
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

    def infeasible(self, point: np.ndarray) -> str | None:
        if point.shape != self.shape or point.dtype != np.float64 or not np.isfinite(point).all():
            return f"it should be finite float64 of shape {self.shape}, not {point.dtype} of shape {point.shape}"
        every, rounding = np.arange(self.m), self._sum_error
        totals = self.totals(point)
        if (point > 0.0).sum() > (point[every, self.codes] > 0.0).sum():
            return "a weight of another class than the sample's own is above 0"
        if (totals > self.C * (1.0 + rounding)).any():
            return f"a sample has more weight than its cost: {float((totals / self.C).max()):g} times"
        if (np.abs(point[every, self.codes] - totals) > 1e-9 * self.C).any():
            return "the weights of a sample do not sum to 0"
        return None

    @property
    def _sum_error(self) -> float:
        """A bound on the relative error of a sum over the classes."""
        return 2.0 * (self.n_classes + 1) * U

    def certificate(self, point: np.ndarray) -> Certificate:
        totals, W = self.totals(point), self.weights(point)
        slack = self.slacks(W)
        primal = 0.5 * float(np.vdot(W, W)) + float(self.C @ np.maximum(slack, 0.0))
        errors = self._primal_error(W, slack), self._dual_error(point, totals, W)
        return Certificate.from_values(primal, -self.value(totals, W), slack, errors=errors)

    def _primal_error(self, W: np.ndarray, slack: np.ndarray) -> float:
        """Return a bound on the rounding error of P at W (k, width), whose slacks are given."""
        longest = float(np.sqrt(np.square(W).sum(axis=1).max()))
        of_product = 2.0 * (self.design.width + 4) * U * np.sqrt(self.design.sq) * longest
        of_slack = of_product + 4.0 * U * (1.0 + np.abs(slack))
        beyond = np.maximum(slack, 0.0)
        return dot_error(np.square(W).ravel()) + float(self.C @ of_slack) + dot_error(self.C * beyond)

    def _dual_error(self, alpha: np.ndarray, totals: np.ndarray, W: np.ndarray) -> float:
        """Return a bound on the rounding error of D, that of sums a little above the costs included."""
        norms = np.sqrt(self.design.sq)
        sizes = np.zeros(self.n_classes)  # bounds of sum_i |alpha_ic| |x_i|
        for rows in self._parts():
            sizes += norms[rows] @ np.abs(alpha[rows])
        sizes += np.bincount(self.codes, norms * totals, minlength=self.n_classes)
        of_w = (self.m + self.n_classes + 4) * (U * sizes + TINY)
        of_size = float(np.sqrt(np.square(W).sum(axis=1)) @ of_w + of_w @ of_w)
        of_sums = of_size + dot_error(totals) + 2.0 * self._sum_error * float(totals.sum())
        return of_sums + dot_error(np.square(W).ravel())

    def bound(self, objective: float) -> Certificate:
        return Certificate(float("inf"), -objective, None)

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> ClassDecisions:
        W, d = self.weights(point), self.design
        intercepts = self.bias * W[:, -1] if d.width > d.d else np.zeros(self.n_classes)
        return ClassDecisions(self.totals(point), 0.0, W[:, : d.d].copy(), intercepts=intercepts)
