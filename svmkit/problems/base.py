"""Problems: an objective, a certificate computed from scratch, and the way from a solution to a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.gram import Gram


@dataclass(frozen=True)
class Certificate:
    """How far from optimal a point is, whatever the loop believed.

    primal : P, the primal value of the model; dual : D, a lower bound on the optimum, or None where the solver
    has no dual point; gap : (P - D) / max(|P|, |D|), or None. gradient : what was computed on the way, (m,), for
    solvers that want to go on from exact values. bias : the best one, where the problem leaves it free.
    """

    primal: float
    dual: float | None
    gap: float | None
    gradient: np.ndarray | None = field(default=None, repr=False, compare=False)
    bias: float | None = None
    beta: np.ndarray | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(
        cls, primal: float, dual: float, gradient: np.ndarray | None = None, bias: float | None = None
    ) -> Certificate:
        size = max(abs(primal), abs(dual))
        return cls(primal, dual, (primal - dual) / size if size else 0.0, gradient, bias)


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
    """What a solver minimises over the rows of a Gram.

    `y` (m,) are signs that samplers may look at; `classifier` makes the problem of one binary training set. is_linear :
    its models are weights of the columns.
    """

    name: ClassVar[str]
    is_linear: ClassVar[bool] = False

    def __init__(self, gram: Gram, y: np.ndarray) -> None:
        self.gram, self.m, self.y = gram, gram.m, y

    @classmethod
    @abstractmethod
    def classifier(cls, gram: Gram, y: np.ndarray, C: float | np.ndarray, **terms) -> Problem:
        """The problem of training on y (m,) of -1.0 and +1.0, both present, with C > 0, a number or (m,).

        C is C times class and sample weight; terms : what else shapes the problem, such as its loss. Raises InputError
        when y, C or a term is none of these.
        """

    @classmethod
    def formulation(cls, **terms) -> str:
        """What is minimised, in words: results of two solvers can be compared where these are equal."""
        return ", ".join([cls.name, *(f"{name}={value}" for name, value in sorted(terms.items()))])

    @abstractmethod
    def objective(self, point: np.ndarray) -> float:
        """What the solver minimises, from scratch."""

    @abstractmethod
    def infeasible(self, point: np.ndarray) -> str | None:
        """Why `point` is no feasible point, or None when it is one."""

    @abstractmethod
    def certificate(self, point: np.ndarray) -> Certificate:
        """P, D and gap at `point`, from scratch, on all samples, in float64."""

    def raise_bound(self, certificate: Certificate) -> None:  # noqa: B027  optional
        """Let later certificates of this problem start from the lower bound that `certificate`, one of its own, proves.

        Asking for a certificate changes nothing; this does. Problems whose solvers have a dual point keep nothing.
        """

    @abstractmethod
    def bound(self, objective: float) -> Certificate:
        """What is known of a point from its objective alone, without a pass over the samples."""

    @abstractmethod
    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        """Return the decision function of `point`, given what `certificate` or `bound` told of this point."""

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        """A feasible point whose `decision_function` has nearly these weights (m,); None where there is no such point.

        Raises InputError where a problem has no way back from a model.
        """
        raise InputError(f"{self.name} cannot start from a model")

    def start_weights(self, w: np.ndarray, intercept: float) -> np.ndarray | None:
        """The same for a linear model's w (d,): a point whose decision function is nearly w'x + intercept.

        Raises InputError where a problem has no way back from weights.
        """
        raise InputError(f"{self.name} cannot start from the weights of a linear model, only from support vectors")


def no_weights(point: np.ndarray, m: int) -> str | None:
    """Why `point` is no float64 (m,) of finite numbers >= 0, or None when it is."""
    if point.shape != (m,) or point.dtype != np.float64:
        return f"it should be float64 of shape ({m},), not {point.dtype} of shape {point.shape}"
    if not np.isfinite(point).all() or point.min() < 0.0:
        return f"weights should be finite and >= 0, not {point.min():g}"
    return None


def labels_and_costs(y: np.ndarray, C: float | np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """y (m,) as float64 and C as (m,), or InputError: what every problem of a binary training set asks for."""
    y = np.ascontiguousarray(y, dtype=np.float64)
    C = np.broadcast_to(np.asarray(C, dtype=np.float64), (m,))
    if not (np.isfinite(C).all() and (C > 0).all()):
        raise InputError(f"C must be finite and > 0 for every sample, not {C.min():g}")
    if y.shape != (m,) or not (np.abs(y) == 1.0).all():
        raise InputError(f"y must hold -1 or +1 for each of the {m} rows")
    if (y == y[0]).all():
        raise InputError("y holds one class only: training needs samples of two classes")
    return y, C
