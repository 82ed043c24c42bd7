"""Problems: an objective, a certificate computed from scratch, and the way from a solution to a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from svmkit.engine import ALL
from svmkit.errors import InputError, SvmkitError
from svmkit.gram import Gram


@dataclass(frozen=True)
class Certificate:
    """How far from optimal a point is, whatever the loop believed.

    primal : P, the primal value of the model; dual : D, a lower bound on the optimum, or None where the solver
    has no dual point; gap : (P - D) / max(|P|, |D|), or None. gradient : what was computed on the way, (m,), for
    solvers that want to go on from exact values.
    """

    primal: float
    dual: float | None
    gap: float | None
    gradient: np.ndarray | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, primal: float, dual: float, gradient: np.ndarray | None = None) -> Certificate:
        return cls(primal, dual, (primal - dual) / max(abs(primal), abs(dual)), gradient)


class Problem(ABC):
    """One binary training problem, made as SomeProblem(gram, y, C).

    Parameters
    ----------
    gram : Gram of the m training rows
    y : (m,) of -1.0 and +1.0, both present
    C : positive number or (m,), C times class and sample weight

    Raises InputError when y or C is none of these.
    """

    name: ClassVar[str]

    def __init__(self, gram: Gram, y: np.ndarray, C: float | np.ndarray) -> None:
        self.gram, self.m = gram, gram.m
        self.y = np.ascontiguousarray(y, dtype=np.float64)
        self.C = np.broadcast_to(np.asarray(C, dtype=np.float64), (self.m,))
        if not (np.isfinite(self.C).all() and (self.C > 0).all()):
            raise InputError(f"C must be finite and > 0 for every sample, not {self.C.min():g}")
        if self.y.shape != (self.m,) or not (np.abs(self.y) == 1.0).all():
            raise InputError(f"y must hold -1 or +1 for each of the {self.m} rows")
        if (self.y == self.y[0]).all():
            raise InputError("y holds one class only: training needs samples of two classes")

    @abstractmethod
    def objective(self, point: np.ndarray) -> float:
        """What the solver minimises, from scratch."""

    @abstractmethod
    def infeasible(self, point: np.ndarray) -> str | None:
        """Why `point` is no feasible point, or None when it is one."""

    @abstractmethod
    def certificate(self, point: np.ndarray) -> Certificate:
        """P, D and gap at `point`, from scratch, on all samples, in float64."""

    @abstractmethod
    def expansion(self, point: np.ndarray, certificate: Certificate) -> tuple[np.ndarray, float]:
        """(coef (m,), intercept): h(x) = sum_i coef_i k(x_i, x) + intercept, margins at one."""


class SimplexQP(Problem):
    """min alpha'A alpha over the unit simplex: the L2-SVM with regularised bias (math.md, problem 1).

    A_ij = y_i y_j (k_ij + bias) + [i=j] / (2 C_i). With f = alpha'A alpha, beta = alpha / f solves the dual of
    1/2 |w|^2 + 1/2 b^2 + sum_i C_i max(0, 1 - y_i h(x_i))^2, whose value is D = 1 / (2 f). The SWAP and
    FW/CVM papers write delta_ij / C for the ridge: their C is twice this one.

    bias : what is added to every kernel value; 1.0 is a regularised bias, 0.0 none
    """

    name: ClassVar[str] = "SimplexQP"

    def __init__(self, gram: Gram, y: np.ndarray, C: float | np.ndarray, *, bias: float = 1.0) -> None:
        super().__init__(gram, y, C)
        self.bias = float(bias)
        self.ridge = 1.0 / (2.0 * self.C)
        self.diag = gram.diag + self.bias + self.ridge

    def gradient(self, alpha: np.ndarray, at: np.ndarray = ALL) -> np.ndarray:
        """g = A alpha (half the gradient) from scratch in float64: (m,), or (len(at),)."""
        idx = np.flatnonzero(alpha)
        weights = alpha[idx] * self.y[idx]
        here = at if at.size else slice(None)
        product = self.gram.matvec(weights, idx, at) + self.bias * weights.sum()
        return self.y[here] * product + alpha[here] * self.ridge[here]

    def objective(self, point: np.ndarray) -> float:
        return float(point @ self.gradient(point))

    def infeasible(self, point: np.ndarray) -> str | None:
        if point.shape != (self.m,) or point.dtype != np.float64:
            return f"it should be float64 of shape ({self.m},), not {point.dtype} of shape {point.shape}"
        if not np.isfinite(point).all() or point.min() < 0.0:
            return f"weights should be finite and >= 0, not {np.nanmin(point):g}"
        if abs(point.sum() - 1.0) > 1e-9:
            return f"weights should sum to 1, not {point.sum():.12g}"
        return None

    def certificate(self, point: np.ndarray) -> Certificate:
        return self.certificate_at(point, self.gradient(point))

    def certificate_at(self, alpha: np.ndarray, g: np.ndarray) -> Certificate:
        """The certificate for a gradient g that the caller has just computed from scratch."""
        f = float(alpha @ g)
        if not f > 0.0:
            raise SvmkitError(
                f"alpha'A alpha = {f:g} is not positive: the {self.gram.kernel.name} kernel is not positive "
                "semidefinite on these data; choose another kernel or a smaller C"
            )
        loss_part = float(np.square(alpha) @ self.ridge)
        slack = np.maximum(0.0, 1.0 - (g - alpha * self.ridge) / f)
        primal = (f - loss_part) / (2.0 * f * f) + float(self.C @ np.square(slack))
        return Certificate.of(primal, 0.5 / f, g)

    def expansion(self, point: np.ndarray, certificate: Certificate) -> tuple[np.ndarray, float]:
        assert certificate.dual is not None
        coef = point * self.y * (2.0 * certificate.dual)  # 1 / f
        return coef, self.bias * float(coef.sum())
