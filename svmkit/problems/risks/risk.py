"""The base of regularised risks, P = 1/2 |w|^2 + sum_i C_i loss(target_i, h(x_i)), where a bias is part of w.

Papers on stochastic methods write lambda/2 |w|^2 + mean loss instead: lambda = 1 / sum C_i, and P times lambda.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.gram import Gram
from svmkit.kernels.rounding import U
from svmkit.losses.base import Loss
from svmkit.losses.by_name import make_loss
from svmkit.losses.terms import Terms
from svmkit.problems.base import Problem, describe_bias
from svmkit.problems.certificate import Certificate
from svmkit.problems.risks.penalty import L1_RATIO, make_penalty
from svmkit.problems.risks.points import (
    LOGISTIC,
    Points,
    dual_growth,
    dual_sums,
    fill_derivatives,
    make_points,
    total_loss,
    total_loss_error,
)
from svmkit.problems.targets import read_samples

POWERS = 60  # of 1/2 that `Risk.best_factor` tries
KEPT = 1 << 16  # samples up to which the terms of the losses are kept: for more, they take much memory and little time
BLOCK = 1 << 14  # of more samples, the number whose terms are computed together


class Risk(Problem):
    """Base of the regularised risks: targets, costs, the loss and a bias that is regularised.

    Parameters
    ----------
    gram : Gram
        The kernel matrix of the m samples.
    target : ndarray of shape (m,)
        Labels -1.0 or +1.0, both present; in regression the targets, finite.
    C : float or ndarray of shape (m,)
        Cost of a unit of loss, > 0.
    loss : str or Loss, default="hinge"
        The loss.
    bias : float, default=1.0
        Value >= 0 of the column that is added to X for the bias (LIBLINEAR's -B, scikit-learn's intercept_scaling);
        0.0 for no bias.

    Attributes
    ----------
    terms : Terms
        The dual of the losses, from which everything is computed; for many samples recomputed each time. Dual weights
        beta (m,) have signs, and h = sum_i beta_i (k(x_i, x) + bias^2).

    Raises
    ------
    InputError
        If a target, C, the loss or the bias is not valid.

    Examples
    --------
    >>> from svmkit.problems import KernelRisk, LinearRisk, Risk
    >>> issubclass(LinearRisk, Risk) and issubclass(KernelRisk, Risk)
    True
    """

    name: ClassVar[str] = "Risk"

    def __init__(
        self, gram: Gram, target: np.ndarray, C: float | np.ndarray, loss: str | Loss = "hinge", *, bias: float = 1.0
    ) -> None:
        if isinstance(bias, str):
            raise InputError(f"bias={bias} goes with the linear kernel; here it is a number >= 0 (0: none)")
        self.loss, self.bias = make_loss(loss, self.task), float(bias)
        y, self._target, self.C = read_samples(self, target, C, gram.m, self.loss)
        if gram.m > KEPT and (self.C[0] == self.C).all():
            self.C = np.broadcast_to(self.C[0], (gram.m,))  # one number in memory
        super().__init__(gram, y.astype(np.int8) if gram.m > KEPT and y is not self._target else y)
        if not 0.0 <= self.bias < np.inf:
            raise InputError(f"bias must be a finite number >= 0 (0: none), not {bias}")
        self._terms: Terms | None = None

    @classmethod
    def from_loss(cls, gram: Gram, target: np.ndarray, C: float | np.ndarray, loss: Loss, **terms) -> Self:
        """Return the risk of training with a loss.

        Parameters
        ----------
        gram, target, C, loss, **terms : Gram, ndarray, float or ndarray, Loss, object
            As for `Problem.from_loss`.
        """
        return cls(gram, target, C, loss, **terms)

    @classmethod
    def formulation(cls, *, loss: str | Loss = "hinge", bias: float | str = 1.0, **terms) -> str:
        """Return the objective in words, as `Problem.formulation`.

        Parameters
        ----------
        loss : str or Loss, default="hinge"
            The loss.
        bias : float or "free", default=1.0
            The value of the bias column.
        **terms : object
            `penalty`, `l1_ratio` and `groups`, as for `make_penalty`.
        """
        penalty = make_penalty(terms.get("penalty", "l2"), terms.get("l1_ratio", L1_RATIO), terms.get("groups")).words
        return ", ".join(filter(None, [make_loss(loss, cls.task).words, describe_bias(bias), penalty]))

    @property
    def terms(self) -> Terms:
        if self._terms is not None:
            return self._terms
        terms = self._make_terms(slice(None))
        if self.m <= KEPT:
            self._terms = terms
        return terms

    @terms.setter
    def terms(self, terms: Terms | None) -> None:
        self._terms = terms

    def take_terms(self, rows: Any) -> Terms:
        """Return the terms of some samples, a slice or int (n,)."""
        if self._terms is None:
            return self._make_terms(rows)
        return type(self._terms)(*(values[rows] for values in self._terms))

    def _make_terms(self, rows: Any) -> Terms:
        """Return the terms of some samples from their targets and costs."""
        return self.loss.terms(self._target[rows], np.ascontiguousarray(self.C[rows]))

    @property
    def is_logistic(self) -> bool:
        """Whether the losses are logistic, whose weights lie inside their bounds."""
        return self.points.below is LOGISTIC

    @cached_property
    def points(self) -> Points:
        """The terms in the form that compiled loops read."""
        return self.make_points(1.0)

    def make_points(self, sigma: float) -> Points:
        """Return the terms in the form that compiled loops read, for squared norms times `sigma`."""
        if self.m <= KEPT:
            return make_points(self.terms, self.gram.diag + self.bias**2, sigma)
        rows, below = np.empty((0, 0)), None
        for lo in range(0, self.m, BLOCK):  # so that they need no more memory than the result
            here = slice(lo, lo + BLOCK)
            part = make_points(self.take_terms(here), self.gram.diag[here] + self.bias**2, sigma)
            rows, below = (rows, below) if lo else (np.empty((self.m, part.rows.shape[1])), part.below)
            if part.below != below:
                return make_points(self.terms, self.gram.diag + self.bias**2, sigma)
            rows[here] = part.rows
        return Points(rows, below)

    @property
    def lam(self) -> float:
        """lambda = 1 / sum C_i, which is 1 / (m C) without sample weights."""
        return 1.0 / float(self.C.sum())

    @property
    def unit(self) -> float:
        """The mean loss of the empty model, 1.0 if that is 0."""
        return self.total_loss(np.zeros(self.m)) * self.lam or 1.0

    def bound(self, objective: float) -> Certificate:
        return Certificate(objective, None, None)

    def objective(self, point: np.ndarray) -> float:
        return self.certificate(point).primal

    def infeasible(self, point: np.ndarray) -> str | None:
        if point.shape != self.shape or point.dtype != np.float64 or not np.isfinite(point).all():
            return f"it should be finite float64 of shape {self.shape}, not {point.dtype} of shape {point.shape}"
        return None

    @property
    def shape(self) -> tuple[int]:
        """Shape of a point."""
        return (self.m,)

    def suggest(self, h: np.ndarray) -> np.ndarray:
        """Return the dual weights (m,) that the decision values h (m,) of a primal point suggest."""
        out = np.empty(self.m)
        fill_derivatives(*self.points, h, out)
        return out

    def total_loss(self, h: np.ndarray) -> float:
        """Return the sum of the losses of decision values h (m,)."""
        return total_loss(*self.points, h)

    def total_loss_error(self, h: np.ndarray, error: np.ndarray) -> float:
        """Return a bound on the error of `total_loss` for values h (m,) with errors of at most `error` (m,)."""
        return total_loss_error(*self.points, h, error, U)

    def clip(self, beta: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return dual weights (m,), clipped to their bounds, in `out` if it is given, which may be beta."""
        out = np.empty_like(beta) if out is None else out
        for lo in range(0, len(beta), BLOCK):
            here = slice(lo, lo + BLOCK)
            np.clip(beta[here], *self.points.bounds(here), out=out[here])
        return out

    def best_scale(self, total: float, curvature: float) -> float:
        """Return the argmax of s total - s^2 curvature / 2 over s >= 0; with bounds also s <= 1, to stay in them."""
        if curvature <= 0.0:
            return 1.0
        return min(max(total / curvature, 0.0), self.most_scale)

    def best_factor(self, beta: np.ndarray, norm: float) -> float:
        """Return the factor >= 0 of beta (m,) at which D is largest and beta feasible, where |w|^2 = norm at beta; for
        logistic losses the best power of 1/2.
        """
        linear, ridged = dual_sums(*self.points, beta)
        if not self.is_logistic:
            return self.best_scale(linear, norm + ridged)
        return self.best_power(beta, lambda scale: (scale * scale * norm, scale * scale * norm))[0]

    def best_power(
        self, beta: np.ndarray, lose: Callable[[float], tuple[float, float]], most: float = 1.0
    ) -> tuple[float, float]:
        """Return the product of `most` and a power of 1/2 at which D of that multiple of beta is largest, or 0.0, and
        this D.

        Parameters
        ----------
        beta, lose, most : ndarray of shape (m,), callable, float
            The dual weights; twice what D loses to the penalty at a multiple s of them, and s times half the
            derivative of that; the largest multiple.
        """
        best, largest, scale = 0.0, 0.0, most
        for _ in range(POWERS):
            linear, ridged, growth = dual_growth(*self.points, scale * beta)
            square, pull = lose(scale)
            value = linear - 0.5 * (square + ridged)
            if value > largest:
                best, largest = scale, value
            elif largest > 0.0:
                break
            if growth >= pull:  # D is concave: it is less at all smaller multiples
                break
            scale *= 0.5
        return best, largest

    @cached_property
    def most_scale(self) -> float:
        """The largest factor by which all dual weights within bounds can be multiplied: 1.0, or inf without bounds."""
        bounds = np.abs([self.terms.upper, self.terms.lower])
        return 1.0 if ((bounds > 0.0) & (bounds < np.inf)).any() else np.inf
