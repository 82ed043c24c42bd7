"""A problem as posed by other software, its decision function, and our solver's improvement of it."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel, Linear, Precomputed
from svmkit.kernels.gram import Gram
from svmkit.losses.by_name import LIBLINEAR_NAMES
from svmkit.losses.residual import EpsilonInsensitive
from svmkit.model import certify
from svmkit.model.machines import ClassFunctions, Machine, OneFunction
from svmkit.model.matching import match_rows
from svmkit.model.model import SVMModel
from svmkit.model.objective import Objective
from svmkit.model.one_vs_one import class_pairs, signs
from svmkit.problems.base import FREE, ClassDecisions, DecisionFunction, Problem
from svmkit.problems.certificate import Certificate
from svmkit.problems.one_class import OneClassQP
from svmkit.referee.foreign import Foreign
from svmkit.solver.base import Solver
from svmkit.solver.loop.solve import solve
from svmkit.solver.selection import defaults
from svmkit.solver.selection.with_penalty import with_penalty
from svmkit.solver.solution import Solution, Status
from svmkit.solver.stopping import Gap, Seconds

DIGITS = 8  # digits that LIBSVM writes for the features of its vectors


class Improved(NamedTuple):
    """Our solver's result for a problem.

    Attributes
    ----------
    certificate : Certificate
        The certificate of our solution.
    decision : DecisionFunction
        Our decision function, over the rows of the data.
    status : Status
        How the solve ended.
    seconds : float
        The seconds, including those for posing the problem.
    """

    certificate: Certificate
    decision: DecisionFunction
    status: Status
    seconds: float


@dataclass(frozen=True, eq=False)
class Posed(ABC):
    """A problem over some rows of data, and the decision function of other software.

    Attributes
    ----------
    name : str
        The name of the decision, such as "a vs b".
    kernel : Kernel
        The kernel.
    X : ndarray or CSR of shape (m, d)
        The rows that take part; for a precomputed kernel all kernel values between them, (m, m).
    rows : ndarray of shape (m,), int
        Their indices in the data.
    vectors, coef, intercept : ndarray or CSR of shape (n_sv, d), ndarray of shape (n_sv,), float
        The decision function.
    at : ndarray of shape (n_sv,), int
        The row of X equal to each vector, -1 if there is none.
    """

    name: str
    kernel: Kernel
    X: Any
    rows: np.ndarray
    vectors: Any
    coef: np.ndarray
    intercept: float
    at: np.ndarray

    @abstractmethod
    def certificate(self) -> Certificate:
        """Return P of the decision function, and D if dual weights are known."""

    @abstractmethod
    def pose(self, memory: str | int) -> tuple[Problem, Solver] | None:
        """Return the problem, with this memory for kernel rows, and a solver of ours; None if we have none."""

    @property
    def decision(self) -> DecisionFunction | None:
        """The decision function over the rows of the data; None if vectors are not among them."""
        if isinstance(self.kernel, Linear):
            return DecisionFunction(np.empty(0), self.intercept, self._weights, np.empty(0, dtype=np.int64))
        if (self.at < 0).any():
            return None
        return DecisionFunction(self.coef, self.intercept, None, self.rows[self.at])

    def improve(self, tol: float, seconds: float, memory: str | int) -> Improved | None:
        """Return our solver's result, starting from the decision function; None if there is no such solver.

        Parameters
        ----------
        tol, seconds, memory : float, float, str or int
            The gap to reach, the limit in seconds, and the memory for kernel rows.
        """
        began = time.perf_counter()
        posed = self.pose(memory)
        if posed is None:
            return None
        problem, solver = posed
        stop = Gap(tol) | Seconds(seconds) if seconds < math.inf else Gap(tol)
        solution = self._solve(problem, solver, stop)
        decision = problem.decision_function(solution.point, solution.certificate).restrict(self.rows)
        return Improved(solution.certificate, decision, solution.status, time.perf_counter() - began)

    def _solve(self, problem: Problem, solver: Solver, stop: Any) -> Solution:
        return solve(problem, solver, stop=stop, start=self._start(problem))

    def _start(self, problem: Problem) -> np.ndarray | None:
        """Return the point of the decision function; None if it has no weight on the rows."""
        if problem.is_linear:
            return problem.start_weights(self._weights, self.intercept)
        known = self.at >= 0
        coef = np.zeros(self.X.shape[0])
        coef[self.at[known]] = self.coef[known]
        return problem.start(coef)

    @property
    def _weights(self) -> np.ndarray:
        """The weights of the columns (d,), for the linear kernel."""
        return np.asarray(self.coef @ self.vectors, dtype=np.float64).ravel()

    @property
    def _has_weights_alone(self) -> bool:
        return isinstance(self.kernel, Linear) and bool((self.at < 0).any())


@dataclass(frozen=True, eq=False)
class PosedDecision(Posed):
    """A problem of two classes, or of regression.

    Attributes
    ----------
    target, C, objective : ndarray of shape (m,), ndarray of shape (m,), Objective
        Labels -1.0 and 1.0 or targets, the cost of a unit of loss of each row, and the objective.
    """

    target: np.ndarray
    C: np.ndarray
    objective: Objective

    def certificate(self) -> Certificate:
        given = self.target, self.C, self.objective
        if self._has_weights_alone:
            return certify.certify_weights(self.X, self._weights, self.intercept, *given)
        return certify.certify_expansion(self.expansion, *given)

    @cached_property
    def expansion(self) -> certify.Expansion:
        """The decision function over the rows, or over its vectors and the rows."""
        return certify.expand(self.kernel, self.vectors, self.coef, self.intercept, self.at, self.X)

    def pose(self, memory: str | int) -> tuple[Problem, Solver] | None:
        loss, bias, penalty = self.objective
        named = LIBLINEAR_NAMES.get(loss.name, loss.name)  # the solvers' names for the two losses of all
        option = named if named in ("hinge", "squared_hinge") else loss
        if self.kernel.name == "linear":
            column = FREE if bias is None else bias
            solver = plugins.build("solver", defaults.CHOOSER, {"loss": option, "bias": column})
            if penalty.l1:
                try:
                    solver = with_penalty(solver, penalty)
                except InputError:  # a loss with a kink
                    return None
        elif bias is None:
            solver = plugins.build("solver", defaults.CHOOSER, {"loss": option})
        elif bias == 1.0 and loss.name == "squared_hinge":
            solver = plugins.build("solver", defaults.SIMPLEX)
        else:
            return None
        return solver.pose(Gram(self.kernel, self.X, memory=memory), self.target, self.C, loss), solver

    def settle(self, is_regression: bool) -> PosedDecision:
        """Return the problem of C-SVC or epsilon-SVR that corresponds to a solution of nu-SVC or nu-SVR."""
        if is_regression:
            epsilon = certify.settle_epsilon(self.expansion, self.target, self.C)
            return replace(self, objective=self.objective._replace(loss=EpsilonInsensitive(epsilon)))
        if not self.expansion.is_dual:  # then only the bound for weight 1 is known
            return replace(self, C=self.C * float(np.abs(self.coef).max(initial=0.0)))
        return replace(self, C=certify.settle_costs(self.expansion, self.C))


@dataclass(frozen=True, eq=False)
class PosedOneClass(Posed):
    """A one-class problem with nu, sample weights (m,), and slacks "hinge" or "squared_hinge"."""

    nu: float
    weights: np.ndarray
    slacks: str

    def certificate(self) -> Certificate:
        n_support = np.array([0, len(self.coef)])
        machine = OneFunction(self.vectors, n_support, self.coef[None, :], np.array([self.intercept]))
        samples = certify.Samples(self.X, np.ones(len(self.rows), dtype=np.int64), np.empty(0), self.weights)
        best = certify.certify_one_class(self.kernel, machine, samples, self.nu, self.slacks)
        return best if best.bias is None else self._with_own_rho(best)

    def _with_own_rho(self, best: Certificate) -> Certificate:
        """Return the certificate with the rho of the model in place of the best one for its scores."""
        expansion = certify.expand(self.kernel, self.vectors, self.coef, self.intercept, self.at, self.X)
        used = np.flatnonzero(expansion.coef)
        h = expansion.gram.matvec(expansion.coef[used], used)[expansion.at]
        total = self.nu * float(self.weights.sum())

        def loss(rho: float) -> float:
            return float(self.weights @ np.maximum(rho - h, 0.0)) - total * rho

        assert best.bias is not None
        primal = best.primal + max(loss(-self.intercept) - loss(-best.bias), 0.0)
        if best.dual is None:
            return replace(best, primal=primal)
        errors = best.rounding * abs(primal), 0.0
        return Certificate.from_values(primal, best.dual, bias=-self.intercept, errors=errors)

    def pose(self, memory: str | int) -> tuple[Problem, Solver] | None:
        if self.slacks != "hinge":
            return None
        problem = OneClassQP(Gram(self.kernel, self.X, memory=memory), self.nu, self.weights)
        return problem, plugins.build("solver", defaults.CHOOSER)


@dataclass(frozen=True, eq=False)
class PosedAllClasses(Posed):
    """A problem of all classes, Crammer and Singer's or the multinomial one, with the machine that should solve it.

    Attributes
    ----------
    machine, codes, C, bias : Machine, ndarray of shape (m,), ndarray of shape (m,), float or None
        The machine, the classes of the rows, their costs, and the value of the bias column, None for free biases.
    scheme : str
        The problem, as a value of the option `multiclass`.
    """

    machine: Machine
    codes: np.ndarray
    C: np.ndarray
    bias: float | None
    scheme: str

    @property
    def decision(self) -> ClassDecisions:
        w, b, nothing = self.machine.weights, self.machine.intercept, np.empty(0, dtype=np.int64)
        if isinstance(self.machine, OneFunction):  # the shortest two with this difference
            w, b = np.concatenate([-0.5 * w, 0.5 * w]), np.concatenate([-0.5 * b, 0.5 * b])
        return ClassDecisions(np.empty(0), 0.0, w, nothing, intercepts=b)

    def certificate(self) -> Certificate:
        samples = certify.Samples(self.X, self.codes, np.empty(0), self.C)
        return certify.JOINT[self.scheme](self.machine, samples, self.bias)

    def pose(self, memory: str | int) -> tuple[Problem, Solver]:
        options = {"bias": FREE if self.bias is None else self.bias}
        solver = plugins.build("solver", defaults.CHOOSER, options).joint_solver(self.scheme)
        assert solver is not None
        return solver.pose(Gram(self.kernel, self.X, memory=memory), self.codes.astype(np.float64), self.C), solver

    def _start(self, problem: Problem) -> None:
        return None  # its solver starts at 0


def pose_all(foreign: Foreign, X: Any, codes: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> list[Posed]:
    """Return the problems of a model, in the order of its decisions.

    Parameters
    ----------
    foreign : Foreign
        The model, with its objective.
    X : ndarray or CSR of shape (n, width)
        The rows, in the form of the model's input.
    codes, targets : ndarray of shape (n,)
        The classes of the rows; the targets of regression, else empty.
    weights : ndarray of shape (n,)
        Sample weights; rows of weight 0 take no part.
    """
    return list(_pose_each(foreign, X, codes, targets, weights))


def _pose_each(foreign, X, codes, targets, weights) -> Iterator[Posed]:
    model, machine = foreign.model, foreign.model.machine
    used, kernel = np.flatnonzero(weights), model.kernel
    place = _match(model, X, np.where(weights > 0.0, codes, -1))

    def function(k: int, rows: np.ndarray) -> dict[str, Any]:
        coef = machine.coefficients[:, k]
        some = np.flatnonzero(coef)
        local = np.full(X.shape[0], -1)
        local[rows] = np.arange(len(rows))
        at = np.where(place[some] >= 0, local[place[some]], -1)
        own = X[np.ix_(rows, rows)] if isinstance(kernel, Precomputed) else X[rows]
        parts = {"vectors": model.vectors[some], "coef": coef[some], "intercept": float(machine.intercept[k])}
        return {"kernel": kernel, "X": own, "rows": rows, "at": at, **parts}

    if model.finds_outliers:
        assert foreign.nu is not None
        of_problem = {"nu": foreign.nu, "weights": weights[used], "slacks": foreign.slacks}
        yield PosedOneClass("outliers", **function(0, used), **of_problem)
        return
    C, objective = foreign.C, foreign.objective
    assert C is not None and objective is not None
    if model.is_joint:
        costs = C * weights[used] * _class_weights(foreign, codes[used])
        all_classes = {"machine": machine, "codes": codes[used], "C": costs, "bias": objective.bias}
        all_classes["scheme"] = model.multiclass
        yield PosedAllClasses("all classes", **function(0, used), **all_classes)
        return
    for k, name, rows, target in _divide(model, codes, targets, used):
        costs = C * weights[rows] * _class_weights(foreign, codes[rows], target)
        posed = PosedDecision(name, **function(k, rows), target=target, C=costs, objective=objective)
        yield posed if foreign.nu is None else posed.settle(model.regresses)


def _match(model: SVMModel, X: Any, codes: np.ndarray) -> np.ndarray:
    """Return the row of each vector, -1 for a vector that is not among the rows: of its own class, or else of another
    one, since the sign of a small coefficient may be wrong; vectors from LIBSVM's text are compared with their digits.
    """
    owner = np.repeat(np.arange(len(model.n_support)), model.n_support)
    place = match_rows(model.vectors, owner, X, codes)

    def match_lost(rows: Any, own_class: bool) -> None:
        lost, free = np.flatnonzero(place < 0), codes.copy()
        if not lost.size:
            return
        free[place[place >= 0]] = -1
        of = owner[lost] if own_class else np.zeros(lost.size, dtype=np.int64)
        place[lost] = match_rows(model.vectors[lost], of, rows, free if own_class else np.where(free >= 0, 0, -1))

    if model.about.get("imported_from") == "LIBSVM" and not isinstance(model.kernel, Precomputed):
        if (place < 0).any():
            match_lost(_as_printed(X), True)
    else:
        match_lost(X, False)
    return place


def _as_printed(X: Any) -> Any:
    """Return rows rounded to the digits that LIBSVM writes for its vectors."""
    if sp.issparse(X):
        return sp.csr_array((_as_printed(X.data), X.indices, X.indptr), shape=X.shape)
    values, back = np.unique(X, return_inverse=True)
    return np.array([float(f"{value:.{DIGITS}g}") for value in values.tolist()])[back].reshape(X.shape)


def _divide(
    model: SVMModel, codes: np.ndarray, targets: np.ndarray, used: np.ndarray
) -> Iterator[tuple[int, str, np.ndarray, np.ndarray]]:
    """Yield index, name, rows and targets of each decision."""
    names = [str(label) for label in model.classes.tolist()]
    if model.regresses:
        yield 0, "regression", used, targets[used]
    elif isinstance(model.machine, ClassFunctions):
        for c, name in enumerate(names):
            yield c, f"{name} vs rest", used, np.where(codes[used] == c, 1.0, -1.0)
    else:
        for k, (a, b) in enumerate(class_pairs(len(names))):
            rows = used[(codes[used] == a) | (codes[used] == b)]
            yield k, f"{names[a]} vs {names[b]}", rows, signs(codes[rows], a, b, len(names))


def _class_weights(foreign: Foreign, codes: np.ndarray, target: np.ndarray | None = None) -> np.ndarray | float:
    """Return the factor of C for rows of these classes."""
    if foreign.class_weight is None:
        return 1.0
    if target is not None and foreign.of_positives and len(foreign.model.classes) > 2:
        return np.where(target > 0.0, foreign.class_weight[codes], 1.0)
    return foreign.class_weight[codes]
