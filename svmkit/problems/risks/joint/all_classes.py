"""Common parts of linear problems of all classes: classes, costs, and the weights of each class from dual weights."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.gram import Gram
from svmkit.kernels.rounding import TINY, U
from svmkit.problems.base import Problem, costs
from svmkit.problems.certificate import Certificate
from svmkit.problems.risks.design import Design
from svmkit.problems.rounding import dot_error

PART = 1 << 22  # scores, or values of X in float64, that are held at a time


class AllClasses(Problem):
    """A linear risk of all classes: min 1/2 sum_c |w_c|^2 + sum_i C_i loss(w_1'x_i, ..., w_k'x_i; y_i), by its dual.

    A point is alpha (m, k) with alpha_ic <= 0 for c != y_i, alpha_{i y_i} <= C_i and rows that sum to 0. Its weights
    are w_c = sum_i alpha_ic x_i. The column of y_i is computed as minus the sum of the others, so that rounding cannot
    make the sum differ from 0.

    Parameters
    ----------
    gram : Gram
        Gram of the m samples with the linear kernel.
    y : ndarray of shape (m,)
        The classes 0, 1, ..., k - 1 of the samples, as numbers; each must occur.
    C : float or ndarray of shape (m,)
        Cost of a unit of loss, > 0. Class and sample weights are multiplied in.
    column : float
        Value >= 0 of the column that is added to X for a regularised bias; 0.0 for none.

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
    """

    is_linear: ClassVar[bool] = True

    def __init__(self, gram: Gram, y: np.ndarray, C: float | np.ndarray, column: float) -> None:
        super().__init__(gram, np.asarray(y, dtype=np.float64))
        self.C = costs(C, gram.m)
        self.codes = self.y.astype(np.int64)
        counts = np.bincount(self.codes) if self.codes.min(initial=0) >= 0 else np.zeros(1)
        if self.y.shape != (self.m,) or len(counts) < 2 or not counts.all() or (self.codes != self.y).any():
            raise InputError(
                f"y must hold the classes 0, 1, ... of the {self.m} rows, two classes or more, each of them"
            )
        if not 0.0 <= column < np.inf:
            raise InputError(f"bias must be a finite number >= 0 (0: none), not {column}")
        self.n_classes, self.design = len(counts), Design(gram, column)
        self._X = gram.engine.X

    @classmethod
    def from_loss(cls, gram, target, C, loss, **terms) -> AllClasses:
        """Return the problem of all classes, whose loss is its own.

        Parameters
        ----------
        gram, target, C, loss, **terms : Gram, ndarray, float or ndarray, Loss, object
            As for `Problem.from_loss`.
        """
        return cls(gram, target, C, **terms)

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
        totals = self.totals(alpha)
        W = np.zeros((self.n_classes, self.design.width))
        for rows in self.parts():
            part = alpha[rows].copy()
            part[np.arange(len(part)), self.codes[rows]] = totals[rows]
            self._add_image(W, rows, part)
        return W

    def image(self, weights: np.ndarray) -> np.ndarray:
        """Return sum_i weights_ic x_i (k, width) for weights (m, k), without `totals`."""
        W = np.zeros((self.n_classes, self.design.width))
        for rows in self.parts():
            self._add_image(W, rows, weights[rows])
        return W

    def scores(self, W: np.ndarray) -> np.ndarray:
        """Return the decisions (m, k) of the weights W (k, width)."""
        out = np.empty(self.shape)
        for rows in self.parts():
            out[rows] = self._scores(W, rows)
        return out

    def _add_image(self, W: np.ndarray, rows: slice, part: np.ndarray) -> None:
        d = self.design
        W[:, : d.d] += (self.values(rows).T @ part).T
        if d.width > d.d:
            W[:, -1] += d.bias * part.sum(axis=0)

    def _scores(self, W: np.ndarray, rows: slice) -> np.ndarray:
        d = self.design
        scores = self.values(rows) @ W[:, : d.d].T
        if d.width > d.d:
            scores += d.bias * W[:, -1]
        return scores

    def values(self, rows: slice) -> Any:
        """Return rows of X in float64, without a copy if they already are."""
        X = self._X if rows == slice(0, self.m) else self._X[rows]
        return X.astype(np.float64, copy=False)

    def parts(self) -> list[slice]:
        """Return the ranges of rows whose scores and values are held at a time."""
        step = max(PART // max(self.n_classes, self.design.entries // self.m), 1)
        return [slice(lo, min(lo + step, self.m)) for lo in range(0, self.m, step)]

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

    def _score_error(self, W: np.ndarray) -> np.ndarray:
        """Return a bound (m,) on the rounding error of the differences of two scores, for the weights W (k, width)."""
        longest = float(np.sqrt(np.square(W).sum(axis=1).max()))
        return 2.0 * (self.design.width + 4) * U * np.sqrt(self.design.sq) * longest

    def _size_error(self, alpha: np.ndarray, totals: np.ndarray, W: np.ndarray) -> float:
        """Return a bound on the rounding error of 1/2 sum_c |w_c|^2 for the weights W (k, width) of alpha (m, k)."""
        norms = np.sqrt(self.design.sq)
        sizes = np.zeros(self.n_classes)  # bounds of sum_i |alpha_ic| |x_i|
        for rows in self.parts():
            sizes += norms[rows] @ np.abs(alpha[rows])
        sizes += np.bincount(self.codes, norms * totals, minlength=self.n_classes)
        of_w = (self.m + self.n_classes + 4) * (U * sizes + TINY)
        return float(np.sqrt(np.square(W).sum(axis=1)) @ of_w + of_w @ of_w) + dot_error(np.square(W).ravel())

    def bound(self, objective: float) -> Certificate:
        return Certificate(float("inf"), -objective, None)
