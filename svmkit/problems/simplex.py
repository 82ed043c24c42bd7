"""SimplexQP, the quadratic program on the unit simplex, and the L2-SVM in this form."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np

from svmkit.errors import InputError, SvmkitError
from svmkit.kernels.engines import ALL
from svmkit.kernels.gram import Gram
from svmkit.kernels.gram.semidefinite import not_finite, not_semidefinite
from svmkit.kernels.rounding import U
from svmkit.problems.base import CUT_SHORT, DecisionFunction, Problem, labels_and_costs, no_weights
from svmkit.problems.certificate import Certificate
from svmkit.problems.rounding import dot_error

LEAST = 1e-9  # of the largest entry of A's diagonal: a larger ridge has a separate part in the certificate


class SimplexQP(Problem):
    """min alpha'A alpha + 2 c'alpha over the unit simplex.

    A_ij = y_i y_j (k_ij + bias) + [i=j] ridge_i has to be positive semidefinite. P is the objective. Without a ridge
    on each point the certificate is the Frank-Wolfe gap: D = P - 2 (alpha'g - min g) with g = A alpha + c, half the
    gradient. With one, as in one-class models, only A without the ridge is replaced by its tangent at alpha, and D is
    the minimum of what remains (`level_of`): near the optimum its gap is about a square of the other one. A point is
    alpha (m,).

    Parameters
    ----------
    gram : Gram
        The kernel matrix of the m points.
    y : ndarray of shape (m,), optional
        Signs, -1.0 or +1.0; all +1.0 by default.
    bias : float, default=0.0
        Number that is added to every kernel value.
    ridge : float or ndarray of shape (m,), default=0.0
        Numbers >= 0 that are added to the diagonal.
    linear_term : ndarray of shape (m,), optional
        The vector c; zero by default.

    Raises
    ------
    InputError
        If the linear term or the ridge has another shape or holds other numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import Gram, SimplexQP
    >>> from svmkit.kernels import Linear
    >>> SimplexQP(Gram(Linear(), np.eye(2))).objective(np.array([0.5, 0.5]))
    0.5
    """

    name: ClassVar[str] = "SimplexQP"

    def __init__(
        self,
        gram: Gram,
        y: np.ndarray | None = None,
        *,
        bias: float = 0.0,
        ridge: float | np.ndarray = 0.0,
        linear_term: np.ndarray | None = None,
    ) -> None:
        super().__init__(gram, np.ones(gram.m) if y is None else np.ascontiguousarray(y, dtype=np.float64))
        self.bias = float(bias)
        self.ridge = np.empty(self.m)
        self.ridge[:] = ridge
        self.linear_term = None if linear_term is None else np.ascontiguousarray(linear_term, dtype=np.float64)
        c = self.linear_term
        if c is not None and (c.shape != (self.m,) or not np.isfinite(c).all()):
            raise InputError(f"the linear term must be {self.m} finite numbers, one for each point")
        if not (np.isfinite(self.ridge).all() and (self.ridge >= 0.0).all()):
            raise InputError("the ridge must be finite and >= 0")
        self.diag = gram.diag + self.bias + self.ridge
        self.is_gap_squared = float(self.ridge.min()) > LEAST * float(np.abs(self.diag).max())

    @classmethod
    def from_loss(cls, gram, target, C, loss, **terms) -> SquaredHinge:
        """Return the L2-SVM as a problem on the simplex.

        Parameters
        ----------
        gram, target, C, loss, **terms : Gram, ndarray, float or ndarray, Loss, object
            As for `Problem.from_loss`.

        Raises
        ------
        InputError
            If the loss is not the squared hinge.
        """
        if loss.name != "squared_hinge":
            raise InputError(f"{cls.name} has no loss={loss.name}; it has squared_hinge")
        return SquaredHinge(gram, target, C, **terms)

    @classmethod
    def formulation(cls, **terms) -> str:
        return "squared hinge, regularised bias"

    def gradient(self, alpha: np.ndarray, at: np.ndarray = ALL) -> np.ndarray:
        """Return g = A alpha + c, half the gradient, from scratch in float64.

        Parameters
        ----------
        alpha : ndarray of float64, shape (m,)
            The weights.
        at : ndarray of int, optional
            The points to evaluate; all by default.

        Returns
        -------
        ndarray of float64, shape (m,) or (len(at),)
        """
        (idx,) = alpha.nonzero()
        weights = alpha[idx] * self.y[idx]
        here = at if at.size else slice(None)
        product = self.gram.matvec(weights, idx, at) + self.bias * weights.sum()
        g = self.y[here] * product + alpha[here] * self.ridge[here]
        return g if self.linear_term is None else g + self.linear_term[here]

    def image(self, weights: np.ndarray, idx: np.ndarray, dtype=np.float64) -> np.ndarray:
        """Return the change of g, shape (m,), when the points `idx` get the additional `weights`.

        Parameters
        ----------
        weights : ndarray of float64, shape (len(idx),)
            Changes of alpha.
        idx : ndarray of int
            Distinct points.
        dtype : dtype, default=float64
            Precision of the kernel values, as for `Gram.matvec`.
        """
        signed = weights * self.y[idx]
        change = self.y * (self.gram.matvec(signed, idx, dtype=dtype) + self.bias * signed.sum())
        change[idx] += self.ridge[idx] * weights
        return change

    def objective(self, point: np.ndarray) -> float:
        return self._value(point, self.gradient(point))

    def _require_number(self, value: float, alpha: np.ndarray | None = None) -> None:
        """Raise SvmkitError if a value of the objective (at `alpha`) is nan: no step would ever lower it."""
        if math.isnan(value):
            of_weights = alpha is not None and not np.isfinite(alpha).all()
            why = "the weights are not finite" if of_weights else not_finite(self.gram.kernel)
            raise SvmkitError(f"alpha'A alpha is nan: {why}")

    def _value(self, alpha: np.ndarray, g: np.ndarray) -> float:
        return float(alpha @ g) + (0.0 if self.linear_term is None else float(self.linear_term @ alpha))

    def infeasible(self, point: np.ndarray) -> str | None:
        reason = no_weights(point, self.m)
        if reason is None and abs(point.sum() - 1.0) > 1e-9:
            return f"weights should sum to 1, not {point.sum():.12g}"
        return reason

    def certificate(self, point: np.ndarray) -> Certificate:
        g = self.gradient(point)
        primal, dual = self.values(point, g)
        self._require_number(primal, point)
        return Certificate.from_values(primal, dual, g, errors=self._errors(point, g), flaw=self.gram.definiteness.flaw)

    def values(self, alpha: np.ndarray, g: np.ndarray) -> tuple[float, float]:
        """Return P and D at `alpha`, whose half gradient g the caller has computed, without their errors."""
        value = self._value(alpha, g)
        if not self.is_gap_squared:
            return value, value - 2.0 * max(0.0, float(alpha @ g - g.min()))
        h = g - self.ridge * alpha
        level = level_of(h, self.ridge)
        slack = np.maximum(level - h, 0.0)
        return value, 2.0 * level - float(slack @ (slack / self.ridge)) - float(alpha @ self._bent(h))

    def _bent(self, h: np.ndarray) -> np.ndarray:
        """Return A alpha without the ridge (m,) from h."""
        return h if self.linear_term is None else h - self.linear_term

    def _errors(self, alpha: np.ndarray, g: np.ndarray) -> tuple[float, float]:
        """Return bounds on the rounding errors of P and D, including that of the constraint sum alpha = 1."""
        product, value, of_g = float(alpha @ g), self._value(alpha, g), self._image_error(alpha, g)
        of_product = of_g + dot_error(alpha * g)
        of_value = of_product + (0.0 if self.linear_term is None else dot_error(alpha * self.linear_term))
        if not self.is_gap_squared:
            return of_value, of_value + 4.0 * of_product + 4.0 * self._excess(alpha) * (abs(product) + abs(value))
        h = g - self.ridge * alpha
        level = level_of(h, self.ridge)  # D is a bound for any level, and at any alpha
        of_h = of_g + 4.0 * U * (np.abs(g) + 2.0 * self.ridge * alpha + abs(level))
        bent = self._bent(h)
        of_bent = float(alpha @ of_h) + 2.0 * U * float(alpha @ np.abs(bent)) + dot_error(alpha * bent)
        return of_value, squared_loss_error(level - h, 1.0 / self.ridge, of_h) + of_bent + 8.0 * U * abs(level)

    def _image_error(self, alpha: np.ndarray, g: np.ndarray) -> float:
        """Return a bound on the error of each entry of g = A alpha + c."""
        parts = abs(self.bias) + float((alpha * self.ridge).max()) + float(np.abs(g).max())
        if self.linear_term is not None:
            parts += float(np.abs(self.linear_term).max())
        return self.image_error(alpha) + dot_error(alpha, abs(self.bias)) + 4.0 * U * parts

    def _excess(self, alpha: np.ndarray) -> float:
        """Return a bound on the difference between the sum of alpha and 1."""
        return abs(float(alpha.sum()) - 1.0) + dot_error(alpha)

    def bound(self, objective: float) -> Certificate:
        return Certificate(objective, None, None)

    def rough_certificate(self, point: np.ndarray, objective: float) -> Certificate:
        return replace(self.bound(objective), flaw=CUT_SHORT)

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        coef = point * self.y
        return DecisionFunction(coef, self.bias * float(coef.sum()))

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        point = np.maximum(coef * self.y, 0.0)
        total = point.sum()
        return point / total if total > 0.0 else None


class SquaredHinge(SimplexQP):
    """The L2-SVM with a regularised bias as a SimplexQP with c = 0, the ridge 1 / (2 C_i) and the bias 1.

    Parameters
    ----------
    gram : Gram
        The kernel matrix of the m samples.
    y : ndarray of shape (m,)
        Labels, -1.0 or +1.0; both must occur.
    C : float or ndarray of shape (m,)
        Cost of a unit of loss, > 0.
    bias : float, default=1.0
        1.0 for a regularised bias, 0.0 for none.

    Raises
    ------
    InputError
        If y or C is not valid.

    Notes
    -----
    With f = alpha'A alpha, beta = alpha / f solves the dual of 1/2 |w|^2 + 1/2 b^2 +
    sum_i C_i max(0, 1 - y_i h(x_i))^2, whose value is D = 1 / (2 f). The SWAP and FW/CVM papers write the ridge as
    delta_ij / C, so their C is twice this one.

    With e_i = (f - g_i) / f the certificate's P - D is sum_i C_i e_i^2, less the terms of points without a loss: near
    the optimum about the square of the gap 2 (f - min g) of the simplex.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import Gram, plugins, solve
    >>> from svmkit.kernels import Linear
    >>> from svmkit.problems import SquaredHinge
    >>> problem = SquaredHinge(Gram(Linear(), np.array([[-1.0], [1.0]])), np.array([-1.0, 1.0]), 1.0)
    >>> solve(problem, plugins.build("solver", "swap2o")).point.round(3).tolist()
    [0.5, 0.5]
    """

    def __init__(self, gram: Gram, y: np.ndarray, C: float | np.ndarray, *, bias: float = 1.0) -> None:
        y, self.C = labels_and_costs(y, C, gram.m)
        super().__init__(gram, y, bias=bias, ridge=1.0 / (2.0 * self.C))
        self.is_gap_squared = True

    def values(self, alpha: np.ndarray, g: np.ndarray) -> tuple[float, float]:
        f, shares = self._positive(float(alpha @ g), alpha), alpha * self.ridge
        loss = float(self.C @ np.square(np.maximum(1.0 - (g - shares) / f, 0.0)))
        return (f - float(alpha @ shares)) / (2.0 * f * f) + loss, 0.5 / f

    def _errors(self, alpha: np.ndarray, g: np.ndarray) -> tuple[float, float]:
        # at beta = alpha / f, where f is a number without an error
        f, shares, of_g = float(alpha @ g), alpha * self.ridge, self._image_error(alpha, g)
        h = (g - shares) / f
        of_h = (of_g + U * (np.abs(g) + 2.0 * shares)) / f
        losses = squared_loss_error(1.0 - h, self.C, of_h + 4.0 * U * (1.0 + np.abs(h)))
        norm = (of_g + dot_error(alpha * g) + dot_error(alpha * shares)) / (2.0 * f) / f
        return losses + norm + U / f, norm + (self._excess(alpha) + 4.0 * U) / f

    def bound(self, objective: float) -> Certificate:
        return Certificate(float("inf"), 0.5 / self._positive(objective), None)

    def _positive(self, f: float, alpha: np.ndarray | None = None) -> float:
        """Return f = alpha'A alpha, or raise SvmkitError if it is not positive as it must be for a kernel."""
        self._require_number(f, alpha)
        if not f > 0.0:
            raise SvmkitError(
                f"alpha'A alpha = {f:g} is not positive: {not_semidefinite(self.gram.kernel)}; choose another kernel "
                "or a smaller C"
            )
        return f

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        if certificate.gradient is not None:
            inverse = 1.0 / self._positive(float(point @ certificate.gradient), point)
        else:
            assert certificate.dual is not None  # `bound` knows f only
            inverse = 2.0 * certificate.dual
        coef = point * self.y * inverse
        return DecisionFunction(coef, self.bias * float(coef.sum()))


def level_of(h: np.ndarray, ridge: np.ndarray) -> float:
    """Return the t for which max(0, t - h_i) / ridge_i sum to 1: weights that minimise sum 2 h_i a_i + ridge_i a_i^2.

    Parameters
    ----------
    h, ridge : ndarray of float64, shape (m,)
        Numbers, and ridges > 0.
    """
    from svmkit.problems.sums import find_level  # here: it needs numba

    return find_level(h, ridge)


def squared_loss_error(slack: np.ndarray, C: np.ndarray, error: np.ndarray) -> float:
    """Return a bound on the error of sum C_i max(0, slack_i)^2 for slacks (m,) with errors of at most `error` (m,)."""
    slack, error = np.maximum(slack, 0.0), np.where(slack > -error, error, 0.0)
    return float(C @ (error * (2.0 * slack + error))) + dot_error(C * np.square(slack), 2.0)
