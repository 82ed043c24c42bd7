"""TubeQP: the dual of epsilon-SVR over one signed weight a sample, with a free or a regularised bias."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from svmkit.kernels.engines import ALL
from svmkit.kernels.gram import Gram
from svmkit.kernels.gram.semidefinite import not_semidefinite
from svmkit.kernels.rounding import U
from svmkit.problems.base import DecisionFunction, Problem, costs
from svmkit.problems.certificate import Certificate
from svmkit.problems.loss import Loss, best_tube_bias
from svmkit.problems.rounding import dot_error, exact_sum
from svmkit.problems.targets import checked_epsilon, checked_targets, infeasible_between, sides


class TubeQP(Problem):
    """The dual of support vector regression with a free bias, LIBSVM's epsilon-SVR.

    min 1/2 d'K d - t'd + epsilon |d|_1 + 1/2 sum_i ridge_i d_i^2 over |d_i| <= upper_i, sum d = 0, where d_i is the
    difference beta_i - beta*_i of the two weights of a sample, of which at most one is positive at the optimum. The
    epsilon-insensitive loss has upper_i = C_i and no ridge, the squared one no upper bound and the ridge 1 / (2 C_i).
    The primal is 1/2 |w|^2 + sum_i C_i loss(|t_i - w'phi(x_i) - b| - epsilon). A point is d (m,).

    Parameters
    ----------
    gram : Gram
        The kernel matrix of the m samples.
    t : ndarray of shape (m,)
        Targets, finite.
    C : float or ndarray of shape (m,)
        Cost of a unit of loss, > 0.
    epsilon : float
        Half the width of the tube without loss, in units of t, >= 0.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss beyond the tube: the hinge stands for the epsilon-insensitive loss, the squared hinge for its square.

    Attributes
    ----------
    t, C, upper, ridge, diag : ndarray of float64, shape (m,)
        Targets, costs, bounds of |d|, the part of the diagonal that is not the kernel's, and the diagonal with it.
    centre : float
        What is subtracted from the targets before any sum, the median; it makes up for itself in the bias. 0.0 if the
        bias is regularised.
    origin : ndarray of float64, shape (m,)
        The gradient of the smooth part of the objective at d = 0, centre - t.
    signs : ndarray of float64, shape (m,)
        Coefficients of the equality constraint, 1.0.
    width : float
        epsilon, by which the slope of the objective jumps up and down where d_i passes 0.

    Raises
    ------
    InputError
        If t, C, epsilon or the loss is not valid.

    References
    ----------
    Smola, Schoelkopf (2004), A tutorial on support vector regression, section 1.3; Chang, Lin (2011), LIBSVM: a library
    for support vector machines, section 2.4.
    """

    name: ClassVar[str] = "TubeQP"
    task: ClassVar[str] = "regress"
    bias: ClassVar[float] = 0.0  # added to each kernel value

    def __init__(
        self, gram: Gram, t: np.ndarray, C: float | np.ndarray, epsilon: float, *, loss: str = "hinge"
    ) -> None:
        self.t, self.C, self.epsilon = checked_targets(t, gram.m), costs(C, gram.m), checked_epsilon(epsilon)
        super().__init__(gram, sides(self.t))
        self.loss, self.width = Loss.of(loss), self.epsilon
        self.upper, self.ridge = self.loss.upper_bounds(self.C), self.loss.ridge(self.C)
        self.lower, self.ridge_down, self.is_ridged = -self.upper, self.ridge, self.loss is Loss.SQUARED_HINGE
        self.diag = gram.diag + self.bias + self.ridge
        self.centre = 0.0 if self.bias else float(np.median(self.t))
        self.origin, self.signs = self.centre - self.t, np.ones(self.m)

    @classmethod
    def regressor(cls, gram, t, C, epsilon, **terms) -> TubeQP:
        return cls(gram, t, C, epsilon, **terms)

    @classmethod
    def formulation(cls, *, loss: str = "hinge", **terms) -> str:
        squared = "squared " if Loss.of(loss) is Loss.SQUARED_HINGE else ""
        return f"{squared}epsilon-insensitive, {'regularised' if cls.bias else 'free'} bias"

    def decision(self, d: np.ndarray, at: np.ndarray = ALL) -> np.ndarray:
        """Return h without the bias, sum_i d_i k(x_i, x_r), from scratch in float64.

        Parameters
        ----------
        d : ndarray of float64, shape (m,)
            Dual weights.
        at : ndarray of int, optional
            The samples r to evaluate; all by default.

        Returns
        -------
        ndarray of float64, shape (m,) or (len(at),)
        """
        idx = np.flatnonzero(d)
        return self.gram.matvec(d[idx], idx, at)

    def gradient(self, d: np.ndarray, at: np.ndarray = ALL) -> np.ndarray:
        """Return the gradient of the smooth part, all but epsilon |d|_1, from scratch: of all samples or of `at`."""
        here = at if at.size else slice(None)
        return self._gradient(self.decision(d, at), d, here)

    def _gradient(self, h: np.ndarray, d: np.ndarray, here=slice(None)) -> np.ndarray:
        return h + self.bias * d.sum() + self.ridge[here] * d[here] + self.origin[here]

    def image(self, weights: np.ndarray, idx: np.ndarray, dtype=np.float64) -> np.ndarray:
        """Return the change of the gradient, shape (m,), when the samples `idx` get the additional `weights`.

        Parameters
        ----------
        weights : ndarray of float64, shape (len(idx),)
            Changes of d.
        idx : ndarray of int
            Distinct samples.
        dtype : dtype, default=float64
            Precision of the kernel values, as for `Gram.matvec`.
        """
        change = self.gram.matvec(weights, idx, dtype=dtype) + self.bias * weights.sum()
        change[idx] += self.ridge[idx] * weights
        return change

    def objective(self, point: np.ndarray) -> float:
        return self.value(point, self.gradient(point))

    def value(self, point: np.ndarray, gradient: np.ndarray) -> float:
        """Return the objective at a point (m,) from the gradient (m,) of its smooth part there."""
        return 0.5 * float(point @ (gradient + self.origin)) + self.epsilon * float(np.abs(point).sum())

    def best_bias(self, v: np.ndarray, d: np.ndarray) -> float:
        """Return the bias that minimises the primal, for targets less `centre`, given the gradient v at d (m,)."""
        return best_tube_bias(self.loss, self.ridge * d - v, self.C, self.epsilon)

    def infeasible(self, point: np.ndarray) -> str | None:
        reason = infeasible_between(point, self.upper)
        if reason is None and not self.bias and abs(point.sum()) > 1e-9 * max(1.0, float(np.abs(point).sum())):
            return f"the weights should sum to 0, not {point.sum():g}"
        return reason

    def certificate(self, point: np.ndarray) -> Certificate:
        return self.certified(point, self.decision(point))

    def certified(self, d: np.ndarray, h: np.ndarray) -> Certificate:
        """Return the certificate of a point d (m,) whose `decision` h (m,) the caller has computed from scratch."""
        total = float(d.sum())
        own = total if self.bias else best_tube_bias(self.loss, -self.origin - h, self.C, self.epsilon)
        bias, of_bias = exact_sum(np.float64(self.centre), np.float64(own))
        of_h = self.image_error(d)
        over, of_over = self._residuals(h, own)
        of_over += of_h + abs(float(of_bias))
        norm, ridged = float(d @ h), float(d @ (self.ridge * d))
        primal = 0.5 * norm + self.loss.total(over, self.C)
        of_norm = float(np.abs(d).sum()) * of_h + dot_error(d * h)
        of_primal = 0.5 * of_norm + self.loss.total_error(over, self.C, of_over)
        dual, of_dual = self._reach(d, primal)
        dual -= 0.5 * (norm + ridged)
        of_dual += 0.5 * of_norm + dot_error(d * d * self.ridge)
        if self.bias:
            square, of_total = 0.5 * total * total, dot_error(d)
            primal, dual = primal + square, dual - square
            of_primal, of_dual = of_primal + 2.0 * U * square, of_dual + of_total * (abs(total) + of_total)
        flaw = self.gram.definiteness.flaw
        if norm < -2.0 * of_primal and flaw is None:
            flaw = not_semidefinite(self.gram)
        of_dual += 4.0 * U * (abs(norm) + ridged + abs(dual))
        of_primal += 4.0 * U * primal
        return Certificate.of(primal, dual, self._gradient(h, d), float(bias), errors=(of_primal, of_dual), flaw=flaw)

    def _residuals(self, h: np.ndarray, bias: float) -> tuple[np.ndarray, np.ndarray]:
        """Return |t - centre - h - bias| - epsilon and what rounding has left out of it, exactly, both (m,)."""
        target, off = exact_sum(self.t, -self.centre)
        image, error = exact_sum(h, bias)
        off = np.abs(off) + np.abs(error)
        residual, error = exact_sum(target, -image)
        over, last = exact_sum(np.abs(residual), -self.epsilon)
        return over, (off + np.abs(error) + np.abs(last)) * (1.0 + 8.0 * U)

    def _reach(self, d: np.ndarray, primal: float) -> tuple[float, float]:
        """Return (t - centre)'d - epsilon |d|_1 and a bound on its error, that of the constraint sum d = 0 included.

        A sum other than 0 moves D by its product with the bias of the optimum less the centre. That is the distance
        from some target to its h at most, and epsilon.
        """
        size, targets = float(np.abs(d).sum()), -self.origin
        error = dot_error(targets * d) + 2.0 * U * float(np.abs(targets) @ np.abs(d)) + dot_error(d, self.epsilon)
        if not self.bias:
            widest = math.sqrt(2.0 * max(primal, 0.0) * max(float(self.gram.diag.max()), 0.0))
            largest = float(np.abs(targets).max()) + self.epsilon + widest
            error += (abs(float(d.sum())) + dot_error(d)) * largest
        return float(targets @ d) - self.epsilon * size, error

    def bound(self, objective: float) -> Certificate:
        return Certificate(math.inf, -objective, None)

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        if certificate.bias is None:  # `bound` does not know the bias
            certificate = self.certificate(point)
        assert certificate.bias is not None
        return DecisionFunction(point.copy(), certificate.bias)

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        """Clip the weights to the box and scale down those of the sign with the larger sum until they sum to 0."""
        point = np.clip(coef, -self.upper, self.upper)
        plus = point > 0.0
        sums = float(point[plus].sum()), -float(point[~plus].sum())
        if self.bias:
            return point if max(sums) > 0.0 else None
        if min(sums) <= 0.0:
            return None
        point[plus] *= min(sums) / sums[0]
        point[~plus] *= min(sums) / sums[1]
        return point


class BiasedTubeQP(TubeQP):
    """The dual of support vector regression with a regularised bias: K + 1 for K, and no equality constraint.

    The primal is 1/2 |w|^2 + 1/2 b^2 + sum_i C_i loss(|t_i - w'phi(x_i) - b| - epsilon), and b = sum d at the optimum:
    LIBLINEAR's problem for the linear kernel. Parameters and attributes are those of `TubeQP`.

    References
    ----------
    Ho, Lin (2012), Large-scale linear support vector regression, section 2.
    """

    name: ClassVar[str] = "BiasedTubeQP"
    bias: ClassVar[float] = 1.0
