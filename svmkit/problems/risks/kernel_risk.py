"""The regularised risk in the feature space of a kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from svmkit.kernels.rounding import U
from svmkit.problems.base import CUT_SHORT, DecisionFunction
from svmkit.problems.certificate import Certificate
from svmkit.problems.risks.points import dual_sums
from svmkit.problems.risks.risk import Risk
from svmkit.problems.rounding import dot_error, phi_error
from svmkit.problems.weights import reward_error


class KernelRisk(Risk):
    """The risk in the feature space of a kernel, where h(x) = sum_i c_i (k(x_i, x) + bias^2).

    A point is c (m,), of any sign. D is the dual value of c, clipped to the bounds of dual weights and multiplied by
    the best factor. The parameters are those of `Risk`.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import Gram
    >>> from svmkit.kernels import RBF
    >>> from svmkit.problems import KernelRisk
    >>> KernelRisk(Gram(RBF(1.0), np.array([[-1.0], [1.0]])), np.array([-1.0, 1.0]), 1.0).objective(np.zeros(2))
    2.0
    """

    name: ClassVar[str] = "KernelRisk"

    def decision(self, coef: np.ndarray) -> np.ndarray:
        """Return h (m,) of the samples with the bias, from scratch in float64."""
        idx = np.flatnonzero(coef)
        return self.gram.matvec(coef[idx], idx) + self.bias**2 * float(coef.sum())

    def certificate(self, point: np.ndarray) -> Certificate:
        h = self.decision(point)
        norm = float(point @ h)
        of_h, of_norm = self._errors(point, h)
        primal = 0.5 * norm + self.total_loss(h)
        of_primal = 0.5 * of_norm + self.total_loss_error(h, of_h)
        beta = self.clip(point)
        if not np.array_equal(beta, point):
            h = self.decision(beta)
            norm, of_norm = float(beta @ h), self._errors(beta, h)[1]
        scale = self.best_factor(beta, norm)
        linear, ridged = dual_sums(*self.points, scale * beta)
        dual = linear - 0.5 * (scale**2 * norm + ridged)
        of_dual = reward_error(self.terms, scale * beta) + scale**2 * of_norm + phi_error(self.terms, scale * beta)
        return Certificate.from_values(primal, dual, errors=(of_primal, of_dual), flaw=self.gram.definiteness.flaw)

    def _errors(self, coef: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, float]:
        """Return bounds on the errors of each entry of h = `decision(coef)` and of coef'h."""
        of_h = self.image_error(coef) + dot_error(coef, self.bias**2) + U * float(np.abs(h).max())
        return np.full(self.m, of_h), float(np.abs(coef).sum()) * of_h + dot_error(coef * h)

    def rough_certificate(self, point: np.ndarray, objective: float) -> Certificate:
        return replace(self.bound(objective), flaw=CUT_SHORT)

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        return DecisionFunction(point.copy(), self.bias**2 * float(point.sum()))

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        return coef.copy()


class KernelTubeRisk(KernelRisk):
    """The same for regression.

    Examples
    --------
    >>> from svmkit.problems import KernelRisk, KernelTubeRisk
    >>> issubclass(KernelTubeRisk, KernelRisk)
    True
    """

    name: ClassVar[str] = "KernelTubeRisk"
    task: ClassVar[str] = "regress"
