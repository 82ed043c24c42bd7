"""Problems: an objective, a certificate computed from scratch, and the way from a solution to a model."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.gram import Gram
from svmkit.losses.base import Loss, write_number
from svmkit.problems.certificate import Certificate

FREE = "free"
NUMBER_OR_FREE = {"type": float, "words": (FREE,)}  # metadata of the option `bias` of a solver of linear problems
CUT_SHORT = "a second signal has cut the certificate short"
RESOLUTION = 2.0**-24  # of the largest terms of an objective: the precision that float32 kernel rows allow


def describe_bias(bias: float | str) -> str:
    """Return the bias of an objective in words, such as "free bias": equal words mean an equal bias.

    Parameters
    ----------
    bias : float or "free"
        The value of the column of the bias, 0.0 for no bias.
    """
    if bias == FREE:
        return "free bias"
    known = {0.0: "no bias", 1.0: "regularised bias"}
    return known.get(float(bias), f"regularised bias of {write_number(float(bias))}")


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
    settled : dict of str to float, or None
        The values that nu determines, by name: rho of nu-SVC, whose costs are divided by it, or epsilon of nu-SVR.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.problems import DecisionFunction
    >>> DecisionFunction(np.array([1.0, -1.0]), 0.5).intercept
    0.5
    """

    coef: np.ndarray
    intercept: float
    w: np.ndarray | None = None
    rows: np.ndarray | None = None
    settled: dict[str, float] | None = field(default=None, kw_only=True)

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
        (support,) = self.coef.nonzero()
        return DecisionFunction(self.coef[support], self.intercept, self.w, rows[support], settled=self.settled)


@dataclass(frozen=True, eq=False)
class ClassDecisions(DecisionFunction):
    """The decision functions of k classes, h_c(x) = w[c]'x + intercepts[c]; the largest one names the class.

    Attributes
    ----------
    coef : ndarray of shape (n,), float64
        The summed dual weight of each sample, which only says which samples contribute to w.
    w : ndarray of shape (k, d), float64
        The weights of the columns for each class.
    intercepts : ndarray of shape (k,), float64
        The constant terms; `intercept` is 0.

    Examples
    --------
    >>> from svmkit.problems import ClassDecisions, DecisionFunction
    >>> issubclass(ClassDecisions, DecisionFunction)
    True
    """

    intercepts: np.ndarray = field(default_factory=lambda: np.empty(0))

    def restrict(self, rows: np.ndarray) -> ClassDecisions:
        support = np.flatnonzero(self.coef)
        return replace(self, coef=self.coef[support], rows=rows[support])


class Problem(ABC):
    """The problem that a solver minimises over the samples of a Gram; `from_loss` poses it for a training set.

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
    task : str, default="classify"
        What is learnt: "classify", "regress" or "outliers".
    is_linear : bool
        Whether a model of the problem is a weight vector over the columns of X.
    is_free : bool
        Whether the bias of a linear problem is not regularised, so that its solvers work around a centre that moves.
    is_gap_squared : bool, default=False
        Whether the certificate is that of another objective than the minimised one, so that its relative gap is about
        the square of the relative gap of the latter.
    resolution : float, default=0.0
        Gap in units of the objective below which the certificate is checked for a gap of rounding errors only, for
        problems whose optimum may be 0, where no relative gap is ever small.

    Examples
    --------
    >>> from svmkit import plugins
    >>> from svmkit.kernels import RBF, Linear
    >>> pegasos = plugins.load("solver", "pegasos")
    >>> pegasos.problem_for(Linear()).name, pegasos.problem_for(RBF(1.0)).name
    ('LinearRisk', 'KernelRisk')
    """

    name: ClassVar[str]
    task: ClassVar[str] = "classify"
    is_linear: ClassVar[bool] = False
    is_free: bool = False
    is_gap_squared: bool = False
    resolution: float = 0.0

    def __init__(self, gram: Gram, y: np.ndarray) -> None:
        self.gram, self.m, self.y = gram, gram.m, y

    @property
    def n_columns(self) -> int:
        """The number of columns of the samples."""
        return int(self.gram.engine.X.shape[1])

    @classmethod
    def has_targets(cls) -> bool:
        """Return whether the problem is one of regression, whose samples have targets instead of labels."""
        return cls.task == "regress"

    @classmethod
    def from_loss(cls, gram: Gram, target: np.ndarray, C: float | np.ndarray, loss: Loss, **terms: Any) -> Problem:
        """Return the problem of training with a loss.

        Parameters
        ----------
        gram : Gram
            The kernel matrix of the m samples.
        target : ndarray of shape (m,)
            Labels -1.0 or +1.0, both present; or the targets of regression, finite.
        C : float or ndarray of shape (m,)
            Cost of a unit of loss, > 0. Class and sample weights are multiplied in.
        loss : Loss
            The loss; its task says what is learnt.
        **terms : object
            Further terms of the problem, such as `bias`.

        Returns
        -------
        Problem

        Raises
        ------
        InputError
            If a value is not valid, or the problem is not posed for this loss.
        """
        raise InputError(f"{cls.name} has no loss={loss.name}")

    @classmethod
    def formulation(cls, **terms) -> str:
        """Return the objective in words. The results of two solvers can be compared if their objectives are equal."""
        return ", ".join([cls.name, *(f"{name}={value}" for name, value in sorted(terms.items()))])

    def first_point(self) -> np.ndarray:
        """Return the feasible point (m,) from which a dual method begins without a given start; by default 0."""
        return np.zeros(self.m)

    @abstractmethod
    def objective(self, point: np.ndarray) -> float:
        """Return the value that the solver minimises at `point`, computed from scratch."""

    @property
    def ceiling(self) -> float:
        """P of a constant decision, which the optimum does not exceed; inf if it is not known."""
        return math.inf

    @abstractmethod
    def infeasible(self, point: np.ndarray) -> str | None:
        """Return why `point` is infeasible, or None if it is feasible."""

    def restore(self, point: np.ndarray) -> np.ndarray:
        """Return the point that a checkpoint holds, which an earlier version may have written in another form."""
        return point

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
        """Return a bound on the error of each entry of K weights (m,) as computed by the Gram.

        A kernel matrix that is positive semidefinite up to rounding only is replaced by the nearest one that is.
        """
        (idx,) = weights.nonzero()
        shift = self.gram.definiteness.shift
        return self.gram.product_error(weights[idx]) + shift * float(np.abs(weights[idx]).max(initial=0.0))

    @abstractmethod
    def bound(self, objective: float) -> Certificate:
        """Return the bounds that follow from the objective of a point alone, without a pass over the samples."""

    def rough_certificate(self, point: np.ndarray, objective: float) -> Certificate:
        """Return the input of `decision_function` for a caller that does not wait for a certificate.

        By default it is the certificate. Problems whose certificates take long return one whose flaw says that nothing
        is proven.

        Parameters
        ----------
        point : ndarray
            A feasible point.
        objective : float
            Its objective, as a solver knows it.
        """
        return self.certificate(point)

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
    y, C = np.ascontiguousarray(y, dtype=np.float64), costs(C, m)
    plus, minus = np.count_nonzero(y == 1.0), np.count_nonzero(y == -1.0)
    if y.shape != (m,) or plus + minus != m:
        raise InputError(f"y must hold -1 or +1 for each of the {m} rows")
    if not (plus and minus):
        raise InputError("y holds one class only: training needs samples of two classes")
    return y, C


def costs(C: float | np.ndarray, m: int) -> np.ndarray:
    """Return C as a float64 array of shape (m,), or raise InputError unless every cost is finite and > 0."""
    C = np.asarray(C, dtype=np.float64)
    if not (C.min() > 0.0 and C.max() < math.inf):  # NaN is neither
        raise InputError(f"C must be finite and > 0 for every sample, not {C.min():g}")
    return C if C.shape == (m,) else np.full(m, C)
