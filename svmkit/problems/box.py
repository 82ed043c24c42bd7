"""BoxQP: the dual of C-SVC with a bias that is not regularised, as LIBSVM solves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from svmkit.kernels.engines import ALL, PANEL
from svmkit.kernels.gram import Gram
from svmkit.kernels.gram.semidefinite import not_semidefinite
from svmkit.kernels.rounding import U
from svmkit.problems.base import DecisionFunction, Problem, labels_and_costs, no_weights
from svmkit.problems.certificate import Certificate
from svmkit.problems.loss import Loss, best_bias

if TYPE_CHECKING:
    from svmkit.problems.box_sums import Bounds


class BoxQP(Problem):
    """min 1/2 beta'Q beta - 1'beta over 0 <= beta_i <= upper_i, y'beta = 0: the dual of C-SVC with a free bias.

    Q_ij = y_i y_j k_ij + [i=j] ridge_i. The hinge has upper_i = C_i and no ridge, the squared hinge no upper bound and
    the ridge 1 / (2 C_i). The primal is 1/2 |w|^2 + sum_i C_i loss(1 - y_i (w'phi(x_i) + b)). A point is beta (m,).

    Parameters
    ----------
    gram : Gram
        The kernel matrix of the m samples.
    y : ndarray of shape (m,)
        Labels, -1.0 or +1.0; both must occur.
    C : float or ndarray of shape (m,)
        Cost of a unit of loss, > 0.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss.

    Attributes
    ----------
    C, upper, ridge, diag : ndarray of float64, shape (m,)
        Costs, upper bounds of beta, the part of Q's diagonal that is not the kernel's, and the diagonal.
    signs, origin : ndarray of float64, shape (m,)
        Coefficients of the equality constraint, y, and the gradient at beta = 0, -1.
    width : float
        0.0: the objective has no corners, as that of `svmkit.problems.tube.TubeQP` has.

    Raises
    ------
    InputError
        If y, C or the loss is not valid.

    References
    ----------
    Chang, Lin (2011), LIBSVM: a library for support vector machines, section 2.1.
    """

    name: ClassVar[str] = "BoxQP"
    width: ClassVar[float] = 0.0

    def __init__(self, gram: Gram, y: np.ndarray, C: float | np.ndarray, *, loss: str = "hinge") -> None:
        y, self.C = labels_and_costs(y, C, gram.m)
        super().__init__(gram, y)
        self.loss = Loss.of(loss)
        self.upper, self.ridge = self.loss.upper_bounds(self.C), self.loss.ridge(self.C)
        self.lower, self.ridge_down, self.is_ridged = np.zeros(self.m), self.ridge, self.loss is Loss.SQUARED_HINGE
        self.diag = gram.diag + self.ridge
        self.signs, self.origin = self.y, np.full(self.m, -1.0)

    @classmethod
    def classifier(cls, gram, y, C, **terms) -> BoxQP:
        return cls(gram, y, C, **terms)

    @classmethod
    def formulation(cls, *, loss: str = "hinge", **terms) -> str:
        return f"{loss.replace('_', ' ')}, free bias"

    def decision(self, beta: np.ndarray, at: np.ndarray = ALL) -> np.ndarray:
        """Return h without the bias, sum_i beta_i y_i k(x_i, x_r), from scratch in float64.

        Parameters
        ----------
        beta : ndarray of float64, shape (m,)
            Dual weights.
        at : ndarray of int, optional
            The samples r to evaluate; all by default.

        Returns
        -------
        ndarray of float64, shape (m,) or (len(at),)
        """
        idx = np.flatnonzero(beta)
        return self.gram.matvec(beta[idx] * self.y[idx], idx, at)

    def gradient(self, beta: np.ndarray, at: np.ndarray = ALL) -> np.ndarray:
        """Return G = Q beta - 1 from scratch in float64, of all samples or of the samples `at`."""
        here = at if at.size else slice(None)
        return self.y[here] * self.decision(beta, at) + self.ridge[here] * beta[here] - 1.0

    def image(self, weights: np.ndarray, idx: np.ndarray, dtype=np.float64) -> np.ndarray:
        """Return the change of the gradient, shape (m,), when the samples `idx` get the additional `weights`.

        Parameters
        ----------
        weights : ndarray of float64, shape (len(idx),)
            Changes of beta.
        idx : ndarray of int
            Distinct samples.
        dtype : dtype, default=float64
            Precision of the kernel values, as for `Gram.matvec`.
        """
        change = self.y * self.gram.matvec(weights * self.y[idx], idx, dtype=dtype)
        change[idx] += self.ridge[idx] * weights
        return change

    def value(self, beta: np.ndarray, gradient: np.ndarray) -> float:
        """Return the objective at `beta`, whose gradient the caller knows."""
        return 0.5 * float(beta @ (gradient - 1.0))

    def objective(self, point: np.ndarray) -> float:
        return self.value(point, self.gradient(point))

    def best_bias(self, v: np.ndarray, beta: np.ndarray) -> float:
        """Return the bias that minimises the primal, given v = y times the gradient at `beta` (m,)."""
        return best_bias(self.loss, self.y, v + self.y * (1.0 - self.ridge * beta), self.C)

    def infeasible(self, point: np.ndarray) -> str | None:
        reason = infeasible_in_box(point, self.upper)
        if reason is None and abs(self.y @ point) > 1e-9 * max(1.0, float(point.sum())):
            return f"y'beta should be 0, not {self.y @ point:g}"
        return reason

    def certificate(self, point: np.ndarray) -> Certificate:
        return self.certified(point, self.decision(point))

    def certified(self, point: np.ndarray, h: np.ndarray) -> Certificate:
        """Return the certificate of a point (m,) whose `decision` h (m,) the caller has computed from scratch."""
        bias = best_bias(self.loss, self.y, h, self.C)
        from svmkit.problems.box_sums import Values, box_values  # here: it needs numba

        diag, squared = self.gram.diag, self.loss is Loss.SQUARED_HINGE
        found = Values(*box_values(self.y, h, point, self.C, self.ridge, diag, squared, bias, self._bounds()))
        flaw = self.gram.definiteness.flaw
        if found.norm < -2.0 * found.of_primal and flaw is None:
            flaw = not_semidefinite(self.gram)
        gradient, errors = self.y * h + self.ridge * point - 1.0, (found.of_primal, found.of_dual)
        return Certificate.of(found.primal, found.dual, gradient, bias, errors=errors, flaw=flaw)

    def _bounds(self) -> Bounds:
        """Return what the rounding errors of a certificate depend on."""
        from svmkit.problems.box_sums import Bounds  # here: it needs numba

        engine = self.gram.engine
        return Bounds(engine.error, engine.largest, max(engine.panel, PANEL), self.gram.definiteness.shift, U)

    def bound(self, objective: float) -> Certificate:
        return Certificate(float("inf"), -objective, None)

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        if certificate.bias is None:  # `bound` does not know the bias
            certificate = self.certificate(point)
        assert certificate.bias is not None
        return DecisionFunction(point * self.y, certificate.bias)

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        """Clip the weights to the box and scale down those of the class with the larger sum until y'beta = 0."""
        point = np.clip(coef * self.y, 0.0, self.upper)
        plus = self.y > 0.0
        sums = float(point[plus].sum()), float(point[~plus].sum())
        if min(sums) <= 0.0:
            return None
        point[plus] *= min(sums) / sums[0]
        point[~plus] *= min(sums) / sums[1]
        return point


def infeasible_in_box(point: np.ndarray, upper: np.ndarray) -> str | None:
    """Return why `point` is not a float64 array of `upper`'s shape with 0 <= point <= upper, or None if it is."""
    reason = no_weights(point, len(upper))
    if reason is None and (point > upper).any():
        i = int(np.argmax(point - upper))
        return f"the weight of row {i} should be at most {upper[i]:g}, not {point[i]:g}"
    return reason
