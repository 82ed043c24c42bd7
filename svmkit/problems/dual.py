"""DualQP: the dual of training with any loss, the base of BoxQP, TubeQP and OneClassQP."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from svmkit.kernels.engines.contract import ALL, PANEL
from svmkit.kernels.gram import Gram
from svmkit.kernels.gram.semidefinite import not_semidefinite
from svmkit.kernels.rounding import U
from svmkit.losses.base import Loss
from svmkit.losses.by_name import make_loss
from svmkit.losses.terms import LogisticTerms, Terms, entropies
from svmkit.problems.base import CUT_SHORT, DecisionFunction, Problem, no_weights
from svmkit.problems.certificate import Certificate
from svmkit.problems.rounding import exact_sum
from svmkit.problems.weights import outside_bounds

ROUGH = 4096  # samples whose best bias is taken when no certificate is needed
BALANCED = 1e-9  # relative error of the equality constraint up to which a point is feasible


class DualQP(Problem):
    """min 1/2 beta'K beta - target'beta + sum_i phi_i(beta_i) over lower <= beta <= upper, where sum beta = total.

    phi_i, the bounds and the target are `svmkit.losses.Terms` of a loss, of which phi_i is the conjugate. The primal is
    1/2 |w|^2 + sum_i L_i(target_i - w'phi(x_i) - b) + total b. With a regularised bias there is no equality, K + 1
    stands for K, and b^2 / 2 joins the primal. A point (m,) holds signs times beta: the weights of a loss of the margin
    are >= 0, as C-SVC has them. The arguments are `y` as for `Problem`, the costs C (m,) of a unit of loss, the `terms`
    of the losses, and the attribute `centre`, for which None takes the median.

    Attributes
    ----------
    total : float
        The sum of beta if the bias is free.
    record : Record
        The losses, for weights that are turned by the signs.
    signs, lower, upper : ndarray of float64, shape (m,)
        Coefficients of the equality constraint, and bounds of a point.
    ridge, ridge_down, is_ridged : ndarray of float64, shape (m,); bool
        The ridges that weights above and below 0 add to the diagonal; the same array if they agree. Whether any is not
        0.
    diag, origin : ndarray of float64, shape (m,)
        The diagonal, with the ridge; the gradient of the smooth part of the objective, all but width |beta|, at 0.
    width : float or ndarray of shape (m,)
        Factor of |beta| in the objective; the difference of the two kinks of a sample is part of the origin.
    is_logistic : bool
        Whether the losses are logistic: the ridges are nan then, and the gradient leaves out the entropies, as width.
    centre : float
        The number subtracted from the targets of regression before any sum, the median; the bias compensates for it.
        0.0 if the bias is regularised.
    """

    bias: ClassVar[float] = 0.0  # added to each kernel value

    def __init__(
        self,
        gram: Gram,
        y: np.ndarray,
        C: np.ndarray,
        terms: Terms,
        *,
        total: float = 0.0,
        centre: float | None = None,
    ) -> None:
        from svmkit.problems.sums import Record  # here: it needs numba

        super().__init__(gram, y)
        self.C, self.total = C, total
        self.record: Any = Record.from_terms(terms)
        self.is_logistic, record = isinstance(terms, LogisticTerms), self.record
        self.signs, self.lower, self.upper, self.ridge = record.signs, record.lower, record.upper, record.ridge_up
        either = self.lower < 0.0
        symmetric, has_either = record.ridge_up is record.ridge_down, bool(np.count_nonzero(either))
        if has_either:
            either &= self.upper > 0.0
            has_either = bool(either.any())
        if not symmetric:
            symmetric = not ((record.ridge_up != record.ridge_down) & either).any()
            if symmetric and (self.upper <= 0.0).any():  # where a bound is 0 the ridge of that side is none
                self.ridge = np.where(self.upper > 0.0, record.ridge_up, record.ridge_down)
        self.ridge_down = self.ridge if symmetric else record.ridge_down
        self.is_ridged = bool(np.count_nonzero(self.ridge) or (not symmetric and self.ridge_down.any()))
        self.diag = gram.diag + self.bias + self.ridge if self.bias else gram.diag + self.ridge
        if centre is None:
            centre = float(np.median(terms.target)) if has_either and not self.bias else 0.0
        self.centre = centre
        self.width, shift = _widths(record, either)
        self.origin = self.signs * (self.centre - terms.target)
        if shift is not None:
            self.origin = self.origin + shift

    @classmethod
    def from_loss(cls, gram: Gram, target: np.ndarray, C: float | np.ndarray, loss: Loss, **terms: Any) -> DualQP:
        """Return the dual of training with a loss.

        Parameters
        ----------
        gram, target, C, loss, **terms : Gram, ndarray, float or ndarray, Loss, object
            As for `Problem.from_loss`.
        """
        return cls(gram, target, C, loss=loss, **terms)  # type: ignore[call-arg, arg-type]

    @classmethod
    def formulation(cls, *, loss: str | Loss = "hinge", **terms) -> str:
        return f"{make_loss(loss, cls.task).words}, {'regularised' if cls.bias else 'free'} bias"

    def decision(self, point: np.ndarray, at: np.ndarray = ALL) -> np.ndarray:
        """Return h without the bias from scratch in float64, of all samples (m,) or of the samples `at`."""
        idx = np.flatnonzero(point)
        return self.gram.matvec(point[idx] * self.signs[idx], idx, at)

    def gradient(self, point: np.ndarray, at: np.ndarray = ALL) -> np.ndarray:
        """Return the gradient of the smooth part from scratch in float64, of all samples or of the samples `at`."""
        return self.gradient_from(self.decision(point, at), point, at if at.size else slice(None))

    def gradient_from(self, h: np.ndarray, point: np.ndarray, here: Any = slice(None)) -> np.ndarray:
        """Return the gradient of the smooth part from known decision values.

        Parameters
        ----------
        h, point, here : ndarray, ndarray, object
            The result of `decision` for the point, the point, and the samples of both.
        """
        h = h + self.bias * point.sum() if self.bias else h
        return self.signs[here] * h + self.ridge_terms(point[here], here) + self.origin[here]

    def ridge_terms(self, weights: np.ndarray, here: Any = slice(None)) -> np.ndarray:
        """Return the ridges on the sides of the weights, times the weights, for all samples or some."""
        if self.ridge_down is self.ridge:
            return self.ridge[here] * weights
        return np.where(weights < 0.0, self.ridge_down[here], self.ridge[here]) * weights

    def image(self, weights: np.ndarray, idx: np.ndarray, dtype=np.float64) -> np.ndarray:
        """Return the change of the gradient (m,) when the samples `idx` get `weights` in addition to 0.

        Parameters
        ----------
        weights, idx, dtype : ndarray, ndarray, dtype or None
            Changes of the point, the distinct samples that they belong to, and the type as for `Gram.matvec`.
        """
        signed = weights * self.signs[idx]
        change = self.gram.matvec(signed, idx, dtype=dtype)
        change = self.signs * (change + self.bias * signed.sum() if self.bias else change)
        change[idx] += self.ridge_terms(weights, idx)
        return change

    def value(self, point: np.ndarray, gradient: np.ndarray) -> float:
        """Return the objective at a point (m,) from the gradient (m,) of its smooth part there."""
        smooth = 0.5 * float(point @ (gradient + self.origin))
        if self.is_logistic:
            return smooth + float(entropies(self.record.terms, self.signs * point).sum())
        if np.ndim(self.width):
            return smooth + float(np.asarray(self.width) @ np.abs(point))
        return smooth + float(self.width) * float(np.abs(point).sum()) if self.width else smooth

    def objective(self, point: np.ndarray) -> float:
        return self.value(point, self.gradient(point))

    def best_bias(self, v: np.ndarray, point: np.ndarray) -> float:
        """Return the bias that minimises the primal, for targets less `centre`, given v = signs times the gradient."""
        # the origin of v may hold a part of the kinks
        return self._best_bias(self.signs * (self.ridge_terms(point) + self.origin) - v)

    def _best_bias(self, minus_h: np.ndarray) -> float:
        from svmkit.problems.bias import best_bias  # here: it needs numba

        return best_bias(self.record, (self.record.target - self.centre) + minus_h, self.total)

    def infeasible(self, point: np.ndarray) -> str | None:
        reason = (
            outside_bounds(self.record, point) if (self.lower < 0.0).any() else infeasible_in_box(point, self.upper)
        )
        if reason is not None or self.bias:
            return reason
        balance = float(self.signs @ point)
        if abs(balance - self.total) > BALANCED * (self.total or max(1.0, float(np.abs(point).sum()))):
            what = "y'beta should be" if (self.signs < 0.0).any() else "the weights should sum to"
            return f"{what} {self.total:.12g}, not {balance:.12g}" if self.total else f"{what} 0, not {balance:g}"
        return None

    @property
    def ceiling(self) -> float:
        return math.inf if self.total else self.certify(np.zeros(self.m), np.zeros(self.m)).primal

    def certificate(self, point: np.ndarray) -> Certificate:
        return self.certify(point, self.decision(point))

    def certify(self, point: np.ndarray, h: np.ndarray) -> Certificate:
        """Return the certificate of a point (m,) whose `decision` h (m,) the caller has computed from scratch."""
        own = float(point.sum()) if self.bias else self._best_bias(-h)
        bias, of_bias = exact_sum(self.centre, own)
        values = self._values(h, point, own, abs(of_bias))
        flaw = self.gram.definiteness.flaw
        if values.norm < -2.0 * values.of_primal and flaw is None:
            flaw = not_semidefinite(self.gram.kernel)
        gradient, errors = self.gradient_from(h, point), (values.of_primal, values.of_dual)
        return Certificate.from_values(values.primal, values.dual, gradient, bias, errors=errors, flaw=flaw)

    def _values(self, h: np.ndarray, point: np.ndarray, bias: float, of_bias: float) -> Any:
        from svmkit.problems.sums import Values, logistic_values, values_at  # here: it needs numba

        if self.is_logistic:
            given = h, point, self.gram.diag, bias, of_bias, not self.bias, self._bounds()
            return logistic_values(self.record, *given)
        around = self.centre, bias, of_bias, self.total, not self.bias, self._bounds()
        return Values(*values_at(self.record, h, point, self.gram.diag, *around))

    def _bounds(self) -> Any:
        from svmkit.problems.sums import Bounds  # here: it needs numba

        engine = self.gram.engine
        return Bounds(engine.error, engine.largest, max(engine.panel, PANEL), self.gram.definiteness.shift, U)

    def bound(self, objective: float) -> Certificate:
        return Certificate(math.inf, -objective, None)

    def rough_certificate(self, point: np.ndarray, objective: float) -> Certificate:
        own = float(point.sum()) if self.bias else self._rough_bias(point)
        return replace(self.bound(objective), bias=self.centre + own, flaw=CUT_SHORT)

    def _rough_bias(self, point: np.ndarray) -> float:
        """Return the best bias of at most `ROUGH` samples, evenly spaced."""
        from svmkit.problems.bias import best_bias  # here: it needs numba

        at = np.linspace(0, self.m - 1, min(self.m, ROUGH)).astype(np.intp)
        record = type(self.record)(*(values[at] for values in self.record))
        residual = record.target - self.centre - self.decision(point, at)
        return best_bias(record, residual, self.total * len(at) / self.m)

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        if certificate.bias is None:  # `bound` does not know the bias
            certificate = self.certificate(point)
        assert certificate.bias is not None
        return DecisionFunction(point * self.signs, certificate.bias)

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        """Clip the weights to their bounds and scale down the sign with the larger sum until all sum to 0."""
        point = np.clip(coef * self.signs, self.lower, self.upper)
        plus = point * self.signs > 0.0
        sums = float(np.abs(point[plus]).sum()), float(np.abs(point[~plus]).sum())
        if self.bias:
            return point if max(sums) > 0.0 else None
        if min(sums) <= 0.0:
            return None
        point[plus] *= min(sums) / sums[0]
        point[~plus] *= min(sums) / sums[1]
        return point


def _widths(record: Any, either: np.ndarray) -> tuple[float | np.ndarray, np.ndarray | None]:
    """Return half the sum of the two kinks of each sample that may have either sign, and the part that joins the
    origin.
    """
    up, down = record.kink_up, record.kink_down
    if not (np.count_nonzero(up) or (down is not up and down.any())):
        return 0.0, None
    shift = np.where(either, 0.5 * (up - down), np.where(record.upper > 0.0, up, -down))
    width = np.where(either, 0.5 * (up + down), 0.0)
    uniform = bool((width == width[0]).all())
    return float(width[0]) if uniform else width, shift if shift.any() else None


def infeasible_in_box(point: np.ndarray, upper: np.ndarray) -> str | None:
    """Return why `point` is not a float64 array of `upper`'s shape with 0 <= point <= upper, or None if it is."""
    reason = no_weights(point, len(upper))
    if reason is None and (point > upper).any():
        i = int(np.argmax(point - upper))
        return f"the weight of row {i} should be at most {upper[i]:g}, not {point[i]:g}"
    return reason
