"""Multinomial logistic regression: one problem of all classes, whose decisions are logarithms of probabilities."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from svmkit.kernels.gram import Gram
from svmkit.kernels.rounding import U
from svmkit.problems.base import FREE, ClassDecisions, describe_bias
from svmkit.problems.certificate import Certificate
from svmkit.problems.risks.joint.all_classes import AllClasses
from svmkit.problems.rounding import ROUNDINGS, dot_error

BALANCED = 1e-9  # sums over the samples, relative to the costs of their classes, that count as 0
EVEN = 1e-15  # the same, at which the biases are the best ones
ROUNDS = 100  # of their search, which needs about five
DEEP = 40.0  # minus the logarithm of a number that vanishes when it is added to 1


class Multinomial(AllClasses):
    """min 1/2 sum_c |w_c|^2 + sum_i C_i (log sum_c exp(h_ic) - h_{i y_i}), h_ic = w_c'x_i + b_c, by its dual.

    The conjugate of log sum exp is minus the entropy of probabilities p_i, so that with alpha_ic = C_i ([c = y_i] -
    p_ic) and w_c = sum_i alpha_ic x_i, D = -1/2 sum_c |w_c|^2 - sum_i C_i sum_c p_ic log p_ic. With free biases, the
    sums of alpha over the samples must be 0: the probability of each class equals the costs of its samples. Points are
    those of `AllClasses`.

    Parameters
    ----------
    gram, y, C : Gram, ndarray of shape (m,), float or ndarray of shape (m,)
        As for `CrammerSinger`.
    bias : float or "free", default="free"
        "free" for biases that are not regularised; else the value >= 0 of the bias column, 0.0 for none.

    Raises
    ------
    InputError
        If the kernel is not linear, or y, C or the bias is not valid.

    References
    ----------
    Boyd, Vandenberghe: Convex optimization, 2004, example 3.25 (the conjugate).

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import Gram
    >>> from svmkit.kernels import Linear
    >>> from svmkit.problems import Multinomial
    >>> Multinomial(Gram(Linear(), np.eye(3)), np.array([0.0, 1.0, 2.0]), 1.0).n_classes
    3
    """

    name: ClassVar[str] = "Multinomial"

    def __init__(self, gram: Gram, y: np.ndarray, C: float | np.ndarray, *, bias: float | str = FREE) -> None:
        self.has_free_biases = bias == FREE
        super().__init__(gram, y, C, 0.0 if self.has_free_biases else float(bias))
        self.own = np.arange(self.m), self.codes
        self.class_costs = np.bincount(self.codes, self.C)

    @classmethod
    def formulation(cls, *, bias: float | str = FREE, **terms) -> str:
        return f"multinomial logistic, {describe_bias(bias)}"

    def softmax(self, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the probabilities (m, k) and the losses (m,) of decisions H (m, k)."""
        top = H.max(axis=1)
        P = np.exp(H - top[:, None])
        total = P.sum(axis=1)
        P /= total[:, None]
        return P, np.log(total) + (top - H[self.own])

    def total_loss(self, losses: np.ndarray) -> float:
        """Return the sum of losses (m,) times their costs."""
        return float(self.C @ losses)

    def best_biases(self, H: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
        """Return the biases (k,) that minimise the loss for decisions H (m, k), with sum 0, by Newton's method.

        Parameters
        ----------
        H, start : ndarray of shape (m, k), ndarray of shape (k,)
            The decisions without biases, and the biases from which the search begins; None is 0.
        """
        b = np.zeros(self.n_classes) if start is None else start - start.mean()
        P, losses = self.softmax(H + b)
        value = self.total_loss(losses)
        for _ in range(ROUNDS):
            sums = self.C @ P
            slope = sums - self.class_costs
            if (np.abs(slope) <= EVEN * self.m * self.class_costs).all():
                break
            better = None
            for step in self._bias_steps(P, sums, slope):
                P_new, losses = self.softmax(H + (b + step))
                if (new := self.total_loss(losses)) < value:
                    better = b + step - step.mean(), P_new, new
                    break
            if better is None:
                break
            b, P, value = better
        return b

    def _bias_steps(self, P: np.ndarray, sums: np.ndarray, slope: np.ndarray) -> Iterator[np.ndarray]:
        """Yield Newton's step of the biases, and the step of iterative scaling, which lowers the loss from any
        point.
        """
        curvature = np.diag(sums) - (P * self.C[:, None]).T @ P
        size = float(np.trace(curvature)) / self.n_classes
        if 0.0 < size < np.inf:
            with contextlib.suppress(np.linalg.LinAlgError):
                yield -np.linalg.solve(curvature + size / self.n_classes, slope)
        least = np.finfo(np.float64).tiny
        yield np.log(self.class_costs) - np.log(np.maximum(sums, least))

    def balance(self, P: np.ndarray) -> np.ndarray:
        """Return probabilities (m, k) near P whose sums C'P are the costs of the classes.

        Classes with too much probability lose the same share of it in each sample, which the others receive.
        """
        sums = self.C @ P
        lack = self.class_costs - sums
        if not lack.any():
            return P
        kept = np.where(lack < 0.0, 1.0 + lack / np.maximum(sums, np.finfo(np.float64).tiny), 1.0)
        given = P @ (1.0 - kept)
        more = np.maximum(lack, 0.0)
        return P * kept + np.outer(given, more / max(float(more.sum()), np.finfo(np.float64).tiny))

    def point(self, P: np.ndarray) -> np.ndarray:
        """Return the point (m, k) of probabilities P (m, k)."""
        alpha = P * -self.C[:, None]
        alpha[self.own] = 0.0
        alpha[self.own] = -alpha.sum(axis=1)
        return alpha

    def entropies(self, alpha: np.ndarray) -> np.ndarray:
        """Return -p log p (m, k) of the probabilities of a point alpha (m, k)."""
        P = np.maximum(alpha / -self.C[:, None], 0.0)
        P[self.own] = 0.0
        out = P * np.log(P, where=P > 0.0, out=np.zeros_like(P))
        np.negative(out, out=out)
        rest = np.minimum(self.totals(alpha) / self.C, 1.0)
        out[self.own] = -(1.0 - rest) * np.log1p(-rest, where=rest < 1.0, out=np.zeros_like(rest))
        return out

    def value(self, alpha: np.ndarray, W: np.ndarray) -> float:
        """Return the objective, -D, of a point alpha (m, k) with the weights W (k, width) of the columns."""
        return 0.5 * float(np.vdot(W, W)) - float(self.C @ self.entropies(alpha).sum(axis=1))

    def objective(self, point: np.ndarray) -> float:
        return self.value(point, self.weights(point))

    def infeasible(self, point: np.ndarray) -> str | None:
        reason = super().infeasible(point)
        if reason is None and self.has_free_biases:
            sums = np.abs(self._class_sums(point))
            if (sums > BALANCED * self.class_costs).any():
                return f"the weights of a class sum to {float(sums.max()):g}, not to 0"
        return reason

    def _class_sums(self, alpha: np.ndarray) -> np.ndarray:
        """Return the sums (k,) of alpha (m, k), with `totals` for the column of each sample's class."""
        sums = alpha.sum(axis=0) - np.bincount(self.codes, alpha[self.own], minlength=self.n_classes)
        return sums + np.bincount(self.codes, self.totals(alpha), minlength=self.n_classes)

    def certificate(self, point: np.ndarray) -> Certificate:
        W = self.weights(point)
        H = self.scores(W)
        b = self.best_biases(H) if self.has_free_biases else np.zeros(self.n_classes)
        return self._certify(W, H + b, b, point, W)

    def certify_weights(self, W: np.ndarray, b: np.ndarray) -> Certificate:
        """Return the certificate of weights and biases, with D of their probabilities.

        Parameters
        ----------
        W, b : ndarray of shape (k, width), ndarray of shape (k,)
            The weights, including those of a bias column, and free biases.
        """
        H = self.scores(W) + b
        best = H + self.best_biases(H) if self.has_free_biases else H
        P = self.softmax(best)[0]
        alpha = self.point(self.balance(P) if self.has_free_biases else P)
        return self._certify(W, H, b, alpha, self.weights(alpha))

    def _certify(self, W: np.ndarray, H: np.ndarray, b: np.ndarray, alpha: np.ndarray, V: np.ndarray) -> Certificate:
        """Return the certificate of weights W with decisions H, biases b included, and a point alpha with weights V."""
        losses = self.softmax(H)[1]
        primal = 0.5 * float(np.vdot(W, W)) + self.total_loss(losses)
        errors = self._primal_error(W, H, b, losses), self._dual_error(alpha, V)
        return Certificate.from_values(primal, -self.value(alpha, V), losses, errors=errors)

    def _primal_error(self, W: np.ndarray, H: np.ndarray, b: np.ndarray, losses: np.ndarray) -> float:
        """Return a bound on the rounding error of P at W, whose decisions and losses are given."""
        of_scores = self._score_error(W) + 4.0 * U * (np.abs(H).max(axis=1) + float(np.abs(b).max()))
        of_loss = of_scores + (ROUNDINGS + self.n_classes) * U * (1.0 + losses)
        return dot_error(np.square(W).ravel()) + float(self.C @ of_loss) + dot_error(self.C * losses)

    def _dual_error(self, alpha: np.ndarray, W: np.ndarray) -> float:
        """Return a bound on the rounding error of D, including sums that are only nearly feasible.

        With free biases, the weights of each class must sum to 0. A point that satisfies this moves some probability
        `moved` from class to class: scaling lowers the entropy of a class by at most its share, and additions by no
        more than themselves.
        """
        totals, terms = self.totals(alpha), self.C[:, None] * self.entropies(alpha)
        entropy, costs = float(terms.sum()), float(self.C.sum())
        rest = np.minimum(totals / self.C, 1.0)
        depth = np.minimum(-np.log1p(-rest, where=rest < 1.0, out=np.full_like(rest, -DEEP)), DEEP)
        error = 2.0 * self._size_error(alpha, totals, W) + dot_error(terms.ravel()) + ROUNDINGS * U * entropy
        error += float(self.C @ ((self.n_classes + 4) * U * rest * (1.0 + depth)))
        error += 2.0 * self._sum_error * (entropy + float(totals.sum()))
        if not self.has_free_biases:
            return error
        sizes = np.abs(alpha).sum(axis=0) + np.bincount(self.codes, totals, minlength=self.n_classes)
        off = np.abs(self._class_sums(alpha)) + 4.0 * (self.m + self.n_classes) * U * sizes
        moved, reach = float(off.sum()), float(np.sqrt(2.0 * self.design.sq.max()))
        change = moved * reach
        error += float((off / self.class_costs).max()) * (entropy + costs) + moved
        return error + change * float(np.linalg.norm(W)) + 0.5 * change * change

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> ClassDecisions:
        W, d = self.weights(point), self.design
        if self.has_free_biases:
            intercepts = self.best_biases(self.scores(W))
        else:
            intercepts = d.bias * W[:, -1] if d.width > d.d else np.zeros(self.n_classes)
        return ClassDecisions(self.totals(point), 0.0, W[:, : d.d].copy(), intercepts=intercepts)
