"""Problems: an objective, a certificate computed from scratch, and the way from a solution to a model."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.gram import Gram


@dataclass(frozen=True)
class Certificate:
    """Bounds on the distance of a point from the optimum, computed from scratch.

    Attributes
    ----------
    primal : float
        P, the primal value of the model.
    dual : float or None
        D, a lower bound on the optimum; None if no dual point is known.
    gap : float or None
        The relative duality gap (P - D) / max(|P|, |D|); None if there is no D. It is never smaller than what the
        rounding errors of P and D allow.
    gradient : ndarray of float64, shape (m,), or None
        The gradient, or for a linear risk the margins, from which a solver can continue with exact values.
    bias : float or None
        The best bias at the point, for problems that leave the bias free.
    beta : ndarray of float64, shape (m,), or None
        The dual weights that prove D, for problems whose solvers have no dual point (`Problem.raise_bound`).
    rounding : float
        The part of the gap that bounds the rounding errors of P and D.
    flaw : str or None
        Why no D can be proven although the problem has a dual, such as a kernel that is not positive semidefinite.
    """

    primal: float
    dual: float | None
    gap: float | None
    gradient: np.ndarray | None = field(default=None, repr=False, compare=False)
    bias: float | None = None
    beta: np.ndarray | None = field(default=None, repr=False, compare=False)
    rounding: float = 0.0
    flaw: str | None = None

    @classmethod
    def of(
        cls,
        primal: float,
        dual: float,
        gradient: np.ndarray | None = None,
        bias: float | None = None,
        *,
        errors: tuple[float, float] = (0.0, 0.0),
        flaw: str | None = None,
    ) -> Certificate:
        """Return the certificate of P and D as they were computed.

        Parameters
        ----------
        primal, dual : float
            P and D.
        gradient : ndarray of float64, shape (m,), default=None
            The gradient or the margins.
        bias : float, default=None
            The best bias.
        errors : tuple of two floats, default=(0.0, 0.0)
            Bounds on the rounding errors of P, which the gap includes, and of D, which is lowered by it.
        flaw : str, default=None
            Why D is no lower bound.

        Returns
        -------
        Certificate
            Without D and gap if there is a flaw, if a number is not finite, or if P lies below D by more than the
            errors. The gap is the largest one that P and D can have within the errors, 0.0 where both are 0.
        """
        of_primal, of_dual = errors
        least = max(abs(primal) - of_primal, abs(dual) - of_dual)  # of max(|P|, |D|)
        dual -= of_dual
        if flaw is None:
            flaw = _flaw(primal, dual, of_primal)
        if flaw is not None:
            return cls(primal, None, None, gradient, bias, flaw=flaw)
        difference = primal + of_primal - dual
        if difference <= 0.0:
            return cls(primal, dual, 0.0, gradient, bias)
        most = 1.0 if dual >= 0.0 else 2.0  # of (P - D) / max(|P|, |D|)
        gap = min(most, difference / least) if least > 0.0 else most
        rounding = (of_primal + of_dual) / max(abs(primal), abs(dual))
        return cls(primal, dual, gap, gradient, bias, rounding=min(gap, rounding))

    @property
    def is_exhausted(self) -> bool:
        """Whether rounding errors make up most of the gap, so that no further step can lower it much."""
        return self.gap is not None and is_rounding(self.gap, self.rounding)


def is_rounding(gap: float, rounding: float) -> bool:
    """Return whether at least half of a gap > 0 bounds rounding errors."""
    return 0.0 < gap <= 2.0 * rounding


def _flaw(primal: float, dual: float, of_primal: float) -> str | None:
    """Return why these values prove nothing, or None if they do."""
    if not math.isfinite(primal):
        return "the objective overflows; scale the features or choose a smaller C"
    if not math.isfinite(dual) or not math.isfinite(of_primal):
        return "rounding errors exceed all bounds; scale the features or choose a smaller C"
    if dual > primal + of_primal:
        return "the objective lies below its lower bound, so the kernel is not positive semidefinite on these data"
    return None


def relative_gap(gap: float, dual: float) -> float:
    """Return the relative duality gap (P - D) / max(|P|, |D|) of an estimate.

    Parameters
    ----------
    gap : float
        The absolute gap P - D; inf for an unknown gap.
    dual : float
        D.

    Returns
    -------
    float
        The relative gap; inf for an unknown gap.
    """
    return gap / max(abs(dual), abs(gap + dual), 1e-300) if gap < math.inf else math.inf


@dataclass(frozen=True, eq=False)
class DecisionFunction:
    """The decision function of one binary problem, h(x) = sum_i coef_i k(x_i, x) + intercept.

    It is scaled such that the margins lie at -1 and +1.

    Attributes
    ----------
    coef : ndarray of shape (n,), float64
        The coefficient of each sample x_i.
    intercept : float
        The constant term.
    w : ndarray of shape (d,), float64, or None
        The weights of the columns, of linear problems: h(x) = w'x + intercept, and `coef` only says which samples
        contribute to w.
    rows : ndarray of shape (n,), int, or None
        The row number of each sample x_i. None means that `coef` covers all m samples of the problem in their order.
    """

    coef: np.ndarray
    intercept: float
    w: np.ndarray | None = None
    rows: np.ndarray | None = None

    def restrict(self, rows: np.ndarray) -> DecisionFunction:
        """Return the same function over its support vectors only.

        Parameters
        ----------
        rows : ndarray of shape (n,), int
            The row number to record for each sample of `coef`.

        Returns
        -------
        DecisionFunction
            The function without the samples of coefficient zero, and with the row numbers of the others.
        """
        support = np.flatnonzero(self.coef)
        return replace(self, coef=self.coef[support], rows=rows[support])


class Problem(ABC):
    """The problem that a solver minimises over the samples of a Gram; `classifier` poses it for a binary training set.

    Parameters
    ----------
    gram : Gram
        The kernel matrix of the m samples.
    y : ndarray of float64, shape (m,)
        Labels, -1.0 or +1.0, which samplers may use.

    Attributes
    ----------
    name : str
        Name of the problem, in messages and tables.
    is_linear : bool
        Whether a model of the problem is a weight vector over the columns of X.
    """

    name: ClassVar[str]
    is_linear: ClassVar[bool] = False

    def __init__(self, gram: Gram, y: np.ndarray) -> None:
        self.gram, self.m, self.y = gram, gram.m, y

    @classmethod
    @abstractmethod
    def classifier(cls, gram: Gram, y: np.ndarray, C: float | np.ndarray, **terms) -> Problem:
        """Return the problem of training a binary classifier.

        Parameters
        ----------
        gram : Gram
            The kernel matrix of the m samples.
        y : ndarray of shape (m,)
            Labels, -1.0 or +1.0; both must occur.
        C : float or ndarray of shape (m,)
            Cost of a unit of loss, > 0. Class and sample weights are multiplied in.
        **terms
            Further terms of the problem, such as `loss`.

        Returns
        -------
        Problem

        Raises
        ------
        InputError
            If y, C or a term is not valid.
        """

    @classmethod
    def formulation(cls, **terms) -> str:
        """Return the objective in words. The results of two solvers can be compared if their objectives are equal."""
        return ", ".join([cls.name, *(f"{name}={value}" for name, value in sorted(terms.items()))])

    @abstractmethod
    def objective(self, point: np.ndarray) -> float:
        """Return the value that the solver minimises at `point`, computed from scratch."""

    @abstractmethod
    def infeasible(self, point: np.ndarray) -> str | None:
        """Return why `point` is infeasible, or None if it is feasible."""

    @abstractmethod
    def certificate(self, point: np.ndarray) -> Certificate:
        """Return P, D and their gap at `point`, computed from scratch on all samples in float64."""

    def raise_bound(self, certificate: Certificate) -> None:  # noqa: B027  optional
        """Let later certificates start from the lower bound that this one proves.

        Asking for a certificate does not change the problem; this method does. By default nothing is kept, since most
        solvers have a dual point of their own.

        Parameters
        ----------
        certificate : Certificate
            A certificate of this very problem.
        """

    def image_error(self, weights: np.ndarray) -> float:
        """Return a bound on the error of each entry of K weights (m,) as the Gram computes it.

        A kernel matrix that is positive semidefinite up to rounding only counts as the nearest one that is.
        """
        idx = np.flatnonzero(weights)
        shift = self.gram.definiteness.shift
        return self.gram.product_error(weights[idx]) + shift * float(np.abs(weights[idx]).max(initial=0.0))

    @abstractmethod
    def bound(self, objective: float) -> Certificate:
        """Return the bounds that follow from the objective of a point alone, without a pass over the samples."""

    @abstractmethod
    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        """Return the decision function of `point`, given the result of `certificate` or `bound` at this point."""

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        """Return a feasible point whose `decision_function` has nearly the coefficients `coef`.

        Parameters
        ----------
        coef : ndarray of float64, shape (m,)
            Coefficients of the samples in a decision function.

        Returns
        -------
        ndarray or None
            None if no weight is left to start from.

        Raises
        ------
        InputError
            If the problem cannot start from a model.
        """
        raise InputError(f"{self.name} cannot start from a model")

    def start_weights(self, w: np.ndarray, intercept: float) -> np.ndarray | None:
        """Return a point whose decision function is nearly w'x + intercept.

        Parameters
        ----------
        w : ndarray of float64, shape (d,)
            Weights of the columns of X.
        intercept : float
            The intercept.

        Returns
        -------
        ndarray or None
            None if no weight is left to start from.

        Raises
        ------
        InputError
            If the problem cannot start from the weights of a linear model.
        """
        raise InputError(f"{self.name} cannot start from the weights of a linear model, only from support vectors")


def no_weights(point: np.ndarray, m: int) -> str | None:
    """Return why `point` is not a float64 array of shape (m,) of finite numbers >= 0, or None if it is."""
    if point.shape != (m,) or point.dtype != np.float64:
        return f"it should be float64 of shape ({m},), not {point.dtype} of shape {point.shape}"
    if not np.isfinite(point).all() or point.min() < 0.0:
        return f"weights should be finite and >= 0, not {point.min():g}"
    return None


def labels_and_costs(y: np.ndarray, C: float | np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return y and C as float64 arrays of shape (m,), or raise InputError: every binary problem needs both."""
    y = np.ascontiguousarray(y, dtype=np.float64)
    C = np.broadcast_to(np.asarray(C, dtype=np.float64), (m,))
    if not (np.isfinite(C).all() and (C > 0).all()):
        raise InputError(f"C must be finite and > 0 for every sample, not {C.min():g}")
    if y.shape != (m,) or not (np.abs(y) == 1.0).all():
        raise InputError(f"y must hold -1 or +1 for each of the {m} rows")
    if (y == y[0]).all():
        raise InputError("y holds one class only: training needs samples of two classes")
    return y, C
