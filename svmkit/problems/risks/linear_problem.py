"""Common parts of the primal and the dual of a linear risk: X with its bias column, decisions, D and rounding errors.

With a free bias the column is there as well, but its weight is not penalised, and the dual weights sum to 0. Solvers
minimise a nearby problem instead (`LinearProblem.around`), whose bias is pulled towards a centre.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from svmkit.kernels.gram import Gram
from svmkit.kernels.loops.norms import square_norms
from svmkit.kernels.rounding import U
from svmkit.losses.base import Loss
from svmkit.losses.terms import Terms
from svmkit.problems.base import FREE
from svmkit.problems.dual import BALANCED
from svmkit.problems.risks.certify import add_exactly, balance, dual_error, primal_error, smooth_bias
from svmkit.problems.risks.coordinate_descent import Pass, coordinate_pass
from svmkit.problems.risks.design import Design
from svmkit.problems.risks.penalty import Penalty, make_penalty
from svmkit.problems.risks.points import dual_sums
from svmkit.problems.risks.risk import KEPT, Risk
from svmkit.problems.rounding import dot_error, exact_sum
from svmkit.problems.weights import outside_bounds
from svmkit.runtime.mapping import copy_rows, examination_of, examine, sample_rows

MANY = 1 << 16  # number of samples from which on threads search the best bias
BLOCK = 1 << 16  # samples whose rounding errors are computed together, which saves memory
COLUMN = 0.5  # value of the column of a free bias in root mean square norms of the samples


def centre_targets(terms: Terms, rows: np.ndarray | slice = slice(None)) -> tuple[Terms, float, np.ndarray]:
    """Return terms whose targets count from the median of the targets of `rows`, that median, and bounds on the
    rounding errors of the targets (m,).
    """
    origin = median(terms.target[rows])
    centred, of_centred = exact_sum(terms.target, -origin)
    return terms._replace(target=centred), origin, np.abs(of_centred)


def median(values: np.ndarray) -> float:
    """Return the median of numbers (n,): `np.median` takes as long as all checks of a small fit."""
    half = len(values) // 2
    low, high = np.partition(values, (half - 1, half))[[half - 1, half]]
    return float(high if len(values) % 2 else 0.5 * (low + high))


def _mean_square(gram: Gram) -> float:
    """Return the mean square norm of the rows; of a sample of rows all over X if they have not been read yet."""
    X = gram.engine.X
    if examination_of(X) is None:
        return float(gram.diag.mean())
    return float(square_norms(sample_rows(X)).mean())


class LinearProblem(Risk):
    """A risk of a linear model. The parameters are those of `Risk`; the Gram has the linear kernel.

    `bias` may also be "free": not regularised, as in LIBSVM's problems. Then `is_free` is True, `bias` is the value of
    the column in which solvers keep it, and targets of regression count from their median, `origin`.
    """

    is_linear: ClassVar[bool] = True
    penalty: Penalty = make_penalty()

    def __init__(
        self,
        gram: Gram,
        target: np.ndarray,
        C: float | np.ndarray,
        loss: str | Loss = "hinge",
        *,
        bias: float | str = 1.0,
    ) -> None:
        self.is_free, self.origin, self._centre = bias == FREE, 0.0, 0.0
        column = COLUMN * float(np.sqrt(_mean_square(gram))) or 1.0 if self.is_free else bias
        super().__init__(gram, target, C, loss, bias=column)  # type: ignore[arg-type]  # which refuses other words
        self._uncentred = self._target
        if self.is_free and self.has_targets():
            terms = super()._make_terms(slice(None))
            self._uncentred, self.origin = terms.target, median(terms.target)
            self.terms = self._centre_targets(terms) if self.m <= KEPT else None
        self.design = Design(gram, self.bias)

    @property
    def record(self) -> Any:
        """The terms as a `Record`, for the best bias; for many samples it is not kept either."""
        from svmkit.problems.sums import Record  # here: it needs numba

        known = self.__dict__.get("_record")
        if known is None:
            known = Record.from_terms(self.terms)
            if self.m <= KEPT:
                self._record = known
        return known

    def around(self, centre: float) -> Self:
        """Return the problem whose bias is regularised as its distance from `centre`, in units of the bias column.

        Its bias counts from there. With the best bias as the centre it has the optimum of the problem of a free bias.
        """
        other = copy.copy(self)
        for known in ("points", "_record", "ceiling", "_certified", "_paired"):
            other.__dict__.pop(known, None)
        other.is_free, other._centre, terms = False, centre, self._terms
        other.terms = None if terms is None else terms._replace(target=terms.target - centre)
        return other

    def drop_points(self) -> None:
        """Release `points` if there are many samples; they are recomputed on demand."""
        if self.m > KEPT:
            self.__dict__.pop("points", None)

    def examine(self) -> None:
        """Read rows on disk that have not been examined yet."""
        if examination_of(self.gram.engine.X) is not None:
            examine(self.gram.engine.X)
            self.forget_points()

    def forget_points(self) -> None:
        """Have `points` recomputed, since norms of rows have become known."""
        self.__dict__.pop("points", None)

    def _make_terms(self, rows: Any) -> Terms:
        terms = self._centre_targets(super()._make_terms(rows))
        return terms._replace(target=terms.target - self._centre) if self._centre else terms

    def _centre_targets(self, terms: Terms) -> Terms:
        """Return terms whose targets count from the origin."""
        return terms._replace(target=exact_sum(terms.target, -self.origin)[0]) if self.origin else terms

    def sample(self, rows: np.ndarray) -> Self:
        """Return the problem of some rows (n,), with losses scaled by m / n: its optimum is near that of all rows."""
        other, t, factor = copy.copy(self), self.take_terms(rows), self.m / len(rows)
        for known in ("points", "_record", "ceiling", "_certified", "_paired", "most_scale"):
            other.__dict__.pop(known, None)
        shares = {"lower": factor * t.lower, "upper": factor * t.upper}
        shares |= {"ridge_up": t.ridge_up / factor, "ridge_down": t.ridge_down / factor}
        other.terms = t._replace(**shares)
        other.gram = Gram(self.gram.kernel, copy_rows(self.gram.engine.X, rows), memory=self.gram.budget)
        other.m, other.y, other.C = len(rows), self.y[rows], factor * self.C[rows]
        other._uncentred = self._uncentred[rows]
        other.design = Design(other.gram, self.bias)
        return other

    def best_bias(self, h: np.ndarray) -> float:
        """Return the best bias for decision values h (m,) without one, where targets count from `origin`."""
        from svmkit.problems.bias import best_bias  # here: it needs numba

        if self.m >= MANY:
            bias = smooth_bias(self.points, h)
            if bias == bias:  # NaN says that some slopes jump, or that no bias was found
                return bias
        return best_bias(self.record, self.terms.target - h)

    def bias_of(self, point: np.ndarray) -> float:
        """Return the bias of a point of a problem `around` a centre, as its distance from there."""
        raise NotImplementedError

    def move(self, point: np.ndarray, by: float) -> np.ndarray:
        """Return the point of the same model if the bias counts from a centre that is `by` larger."""
        return point

    def free(self, point: np.ndarray, centre: float) -> np.ndarray:
        """Return the feasible point of this problem for a point of the problem `around` a centre."""
        raise NotImplementedError

    def take_over(self, other: LinearProblem) -> None:
        """Let later certificates start from bounds offered to a problem `around` a centre."""

    def balanced(self, beta: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return beta (m,); with a free bias, the weights of the sign with the larger sum shrink until all sum to 0, in
        `out` if that is given, which may be beta.
        """
        return balance(beta, np.empty_like(beta) if out is None else out) if self.is_free else beta

    def with_best_bias(
        self, w: np.ndarray, given: float | None = None, h: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, float | None, np.ndarray]:
        """Return w (width,), its decision values (m,), the bias if it is free, and bounds on the rounding errors that
        it brings to the residuals, (m,), or (0,) if it is not free.

        The entry of a free bias in w becomes 0 in favour of the best bias, or of the given one, which is for the
        original targets.

        Parameters
        ----------
        w, given, h : ndarray of shape (width,), float, ndarray of shape (m,)
            The weights, a bias, and the decision values without a bias, if they are known; they are changed in place.
        """
        if not self.is_free:
            return w, self.decision(w) if h is None else h, None, np.empty(0)
        w = np.append(w[:-1], 0.0)
        h = self.decision(w) if h is None else h
        own = self.best_bias(h) if given is None else given - self.origin
        bias, of_bias = exact_sum(self.origin, own)
        errors = np.full(self.m, abs(of_bias))
        if self.origin:  # and the rounding errors of the targets once the origin is subtracted
            for lo in range(0, self.m, BLOCK):
                here = slice(lo, lo + BLOCK)
                errors[here] += np.abs(exact_sum(self._uncentred[here], -self.origin)[1])
        add_exactly(h, own, errors)
        return w, h, bias, errors

    def split(self, w: np.ndarray, bias: float | None) -> tuple[float, np.ndarray]:
        """Return the intercept and the weights (d,) of w (width,), given the bias of a certificate."""
        columns, intercept = self.design.split(w)
        if self.is_free:
            known = self.with_best_bias(w)[2] if bias is None else bias
            assert known is not None
            intercept = known
        return intercept, columns

    def outside(self, beta: np.ndarray) -> str | None:
        """Return why dual weights (m,) are infeasible, or None if they are feasible."""
        if beta.shape != (self.m,):
            return outside_bounds(self.terms, beta)
        size = 0.0
        for first in range(0, self.m, BLOCK):
            part = beta[first : first + BLOCK]
            if reason := outside_bounds(self.take_terms(slice(first, first + BLOCK)), part, first):
                return reason
            size += float(np.abs(part).sum())
        if self.is_free and abs(beta.sum()) > BALANCED * max(1.0, size):
            return f"the weights should sum to 0, not {beta.sum():g}"
        return None

    def descend(self, order: np.ndarray, beta: np.ndarray, v: np.ndarray, high: float, low: float) -> Pass:
        """Make a `coordinate_pass` over the samples `order` (n,), all arrays in place.

        Parameters
        ----------
        order, beta, v, high, low : ndarray, ndarray, ndarray, float, float
            As for `coordinate_pass`.
        """
        d, points = self.design, self.points
        given = d.rows, d.bias, points.rows, order, order.size, beta, v
        return coordinate_pass(*given, high, low, 1.0, points.below)

    def decision(self, w: np.ndarray) -> np.ndarray:
        """Return the decision values h (m,) of w (width,)."""
        return self.design.margins(w)

    def _primal_error(self, w: np.ndarray, h: np.ndarray, of_bias: np.ndarray) -> float:
        """Return a bound on the rounding error of P at w (width,), given the results of `with_best_bias` for it."""
        error = primal_error(*self.points, self.design.sq, w, h, of_bias, float(self.penalty.l2))
        if self.penalty.has_groups:
            return error + (w.size + 8.0) * U * self.penalty.value(w)
        return error + (dot_error(w) if self.penalty.l1 else 0.0)

    @cached_property
    def ceiling(self) -> float:
        """P of the best constant, of 0 if the bias is regularised: the optimum does not exceed it."""
        zeros = np.zeros(self.m)
        return self.total_loss(zeros + self.best_bias(zeros) if self.is_free else zeros)

    def _dual_error(self, beta: np.ndarray, v: np.ndarray) -> float:
        """Return a bound on the rounding error of D at beta (m,), with v = `penalty.image(weights(beta))`."""
        farthest = self.penalty.farthest(max(self.ceiling, 0.0)) if self.is_free else np.nan
        root = float(np.sqrt(self.penalty.l2))
        return dual_error(*self.points, self.design.sq, beta, v, 1.0 / root if root else 0.0, farthest)

    def _pull_error(self, beta: np.ndarray) -> float:
        """Return a bound on the norm of the rounding error of `weights(beta)`."""
        return dot_error(beta * np.sqrt(self.design.sq))

    def dual(self, beta: np.ndarray, w: np.ndarray) -> float:
        """Return D at beta (m,), whose w = `penalty.image(weights(beta))` the caller has computed."""
        linear, ridged = dual_sums(*self.points, beta)
        return linear - 0.5 * (float(w @ w) + ridged)

    def weights(self, beta: np.ndarray, along: Callable[[int, int], None] | None = None) -> np.ndarray:
        """Return w (width,) of the dual weights beta (m,), from scratch, without an entry of a free bias.

        Parameters
        ----------
        beta, along : ndarray of shape (m,), callable
            The dual weights, and as for `Design.pull`.
        """
        w = self.design.pull(beta, along)
        if self.is_free:
            w[-1] = 0.0
        return w
