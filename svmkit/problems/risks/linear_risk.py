"""The linear risk in its primal and its dual form, and lower bounds on its optimum from a primal point alone.

With the hinge loss, a sample inside the margin has the dual weight C, a sample outside it has 0, and the few samples on
the margin have weights in between, which the slacks do not determine. Wrong guesses of these weights make D worthless.
So the samples nearest to the margin get weights by their place in a band around it, and some cheap passes of coordinate
descent over the band improve these weights. D is then about as close to the optimum as P is, whatever the model.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import ClassVar, NamedTuple

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.gram import Gram
from svmkit.kernels.rounding import U
from svmkit.problems.base import DecisionFunction
from svmkit.problems.certificate import Certificate
from svmkit.problems.loss import Loss
from svmkit.problems.risks.coordinate_descent import coordinate_pass
from svmkit.problems.risks.design import Design
from svmkit.problems.risks.risk import Risk, scale_within
from svmkit.problems.rounding import dot_error

PASSES = 2  # passes of coordinate descent by which a certificate improves the best known lower bound
BANDS = (5, 20, 80)  # bands of a fifth of the samples and less: the better the model, the smaller the best band
BAND_PASSES = 2  # the passes over a band may read as many rows of X as this many passes over all samples do
LEAST = 100_000  # rows of X that may be read in any case: small data sets are cheap
MOST = 400  # largest number of passes over a band
SMALL = 1000  # up to so many samples, all of them are tried as one band as well


class Bound(NamedTuple):
    """A dual value as computed, a bound on its rounding error, and the dual weights (m,) that prove it."""

    dual: float
    beta: np.ndarray
    error: float = 0.0

    @property
    def proven(self) -> float:
        """The lower bound on the optimum."""
        return self.dual - self.error


_proven = attrgetter("proven")


class LinearProblem(Risk):
    """A risk of a linear model. The parameters are those of `Risk`; the Gram has the linear kernel.

    Attributes
    ----------
    design : Design
        X with its bias column.
    """

    is_linear: ClassVar[bool] = True

    def __init__(self, gram: Gram, y: np.ndarray, C: float | np.ndarray, **terms) -> None:
        super().__init__(gram, y, C, **terms)
        self.design = Design(gram, self.bias)

    @cached_property
    def points(self) -> np.ndarray:
        """The numbers that `coordinate_pass` needs of each sample, shape (m, 4)."""
        return self.design.points(self.targets, self.upper, self.ridge)

    def margins(self, w: np.ndarray) -> np.ndarray:
        """Return the margins y h (m,) of w (width,), in regression the predictions h."""
        return self.margins_of(self.design.margins(w))

    def _guess(self, margins: np.ndarray) -> np.ndarray:
        """Return the dual weights (m,) that the margins suggest with the l2 penalty; scaled for the squared hinge."""
        if self.loss is Loss.HINGE:
            return weights_near_margin(self, margins)
        beta = self.suggested(margins)
        v, total = self.design.pull(self.coefficients(beta)), self.reward(beta)
        return beta * scale_within(total, float(v @ v) + float(beta @ (beta * self.ridge)), self.loss)

    def _primal_error(self, w: np.ndarray, margins: np.ndarray) -> float:
        """Return a bound on the rounding error of P at w (width,), whose margins are given."""
        size = dot_error(w) + dot_error(np.square(w))
        of_margins = (self.design.width + 2) * U * np.sqrt(self.design.sq) * float(np.linalg.norm(w))
        return size + self.loss.total_error(self.slack(margins), self.C, of_margins + self.slack_rounding(margins))

    def _dual_error(self, beta: np.ndarray, v: np.ndarray) -> float:
        """Return a bound on the rounding error of D at beta (m,), with v (width,) = `weights(beta)` from scratch."""
        of_v = dot_error(beta * np.sqrt(self.design.sq))  # bounds the norm of the error
        size = float(np.linalg.norm(v))
        sums = self.reward_error(beta) + dot_error(np.square(v)) + dot_error(beta * (beta * self.ridge))
        return size * of_v + of_v * of_v + sums

    def _dual(self, beta: np.ndarray, v: np.ndarray) -> float:
        return self.reward(beta) - 0.5 * (float(v @ v) + float(beta @ (beta * self.ridge)))

    def weights(self, beta: np.ndarray) -> np.ndarray:
        """Return w (width,) of the dual weights beta (m,), from scratch."""
        return self.design.pull(self.coefficients(beta))


class LinearDual(LinearProblem):
    """min 1/2 beta'Q beta - 1'beta over 0 <= beta <= upper, the dual of `LinearRisk` with the l2 penalty.

    Q_ij = y_i y_j (x_i'x_j + bias^2) + [i=j] ridge_i is never formed, since w = sum_i beta_i y_i x_i. A point is
    beta (m,). The parameters are those of `Risk`.
    """

    name: ClassVar[str] = "LinearDual"

    def value(self, beta: np.ndarray, w: np.ndarray) -> float:
        """Return the objective at beta (m,), whose w (width,) the caller has computed."""
        return -self._dual(beta, w)

    def objective(self, point: np.ndarray) -> float:
        return self.value(point, self.weights(point))

    def infeasible(self, point: np.ndarray) -> str | None:
        return self.outside_box(point)

    def certificate(self, point: np.ndarray) -> Certificate:
        w = self.weights(point)
        margins = self.margins(w)
        primal = 0.5 * float(w @ w) + self.loss.total(self.slack(margins), self.C)
        errors = self._primal_error(w, margins), self._dual_error(point, w)
        gradient = self.ridge * point - self.residual(margins)
        return Certificate.of(primal, self._dual(point, w), gradient, errors=errors)

    def bound(self, objective: float) -> Certificate:
        return Certificate(float("inf"), -objective, None)

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        w, intercept = self.design.split(self.weights(point))
        return DecisionFunction(self.coefficients(point), intercept, w)

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        return self.clipped(coef)

    def start_weights(self, w: np.ndarray, intercept: float) -> np.ndarray | None:
        return self._guess(self.margins(self.design.joined(w, intercept)))


class LinearRisk(LinearProblem):
    """min 1/2 |w|^2 + sum_i C_i loss(1 - y_i h(x_i)), or with |w|_1 instead of 1/2 |w|^2.

    A point is w (width,): the weights of the columns, followed by the weight of the bias column if there is one.

    Parameters
    ----------
    gram : Gram
        Gram of the m samples with the linear kernel.
    y : ndarray of shape (m,)
        Labels, -1.0 or +1.0; both must occur.
    C : float or ndarray of shape (m,)
        Cost of a unit of loss, > 0.
    penalty : {"l2", "l1"}, default="l2"
        The penalty on w.
    **terms
        `loss` and `bias`, as for `Risk`.

    Raises
    ------
    InputError
        If the kernel is not linear, or y, C or a term is not valid.

    Notes
    -----
    A certificate has a D although most solvers of this problem have no dual point. It is the best of the lower bound
    that was offered (`raise_bound`, `offer`) and of the dual weights that the slacks suggest (`weights_near_margin`),
    improved with the l2 penalty by two passes of coordinate descent. So D costs some passes over X, depends on the
    point and on what was offered only, and is a lower bound on the optimum whatever the solver does. The samples of
    the passes are in a random order that changes with each offer: the same order again and again makes no progress.
    """

    name: ClassVar[str] = "LinearRisk"

    def __init__(self, gram: Gram, y: np.ndarray, C: float | np.ndarray, *, penalty: str = "l2", **terms) -> None:
        super().__init__(gram, y, C, **terms)
        if penalty not in ("l1", "l2"):
            raise InputError(f"penalty={penalty!r} is not known; there are: l2, l1")
        self.penalty = penalty
        self._known = Bound(0.0, np.zeros(self.m))  # the best bound that was offered
        self._offers = 0

    @property
    def shape(self) -> tuple[int]:
        return (self.design.width,)

    def primal(self, w: np.ndarray, margins: np.ndarray) -> float:
        """Return P at w (width,), whose margins y h (m,) the caller has computed."""
        size = float(np.abs(w).sum()) if self.penalty == "l1" else 0.5 * float(w @ w)
        return size + self.loss.total(self.slack(margins), self.C)

    def objective(self, point: np.ndarray) -> float:
        return self.primal(point, self.margins(point))

    def certificate(self, point: np.ndarray) -> Certificate:
        margins = self.margins(point)
        bound = self._bound(margins)
        errors = self._primal_error(point, margins), bound.error
        return replace(Certificate.of(self.primal(point, margins), bound.dual, margins, errors=errors), beta=bound.beta)

    def raise_bound(self, certificate: Certificate) -> None:
        if certificate.dual is not None and certificate.beta is not None:
            self._keep(Bound(certificate.dual, certificate.beta))

    def offer(self, beta: np.ndarray) -> float:
        """Let later certificates start from dual weights that a solver has found.

        Parameters
        ----------
        beta : ndarray of shape (m,), float64
            Dual weights, each within its box. With the l1 penalty they are scaled until they are feasible.

        Returns
        -------
        float
            The best lower bound on the optimum that has been offered so far, this one included.
        """
        return self._keep(self._valued(beta))

    def _keep(self, bound: Bound) -> float:
        self._known, self._offers = max(self._known, bound, key=_proven), self._offers + 1
        return self._known.proven

    def _bound(self, margins: np.ndarray) -> Bound:
        """Return the best bound: the one offered or the one `margins` suggest, with l2 improved by some passes."""
        if self.penalty == "l1":
            return max(self._known, self._valued(self.suggested(margins)), key=_proven)
        known = max(self._known, self._valued(self._guess(margins)), key=_proven)
        d, beta = self.design, known.beta.copy()
        v, rng = self.weights(beta), np.random.default_rng(self._offers)  # another order after each offer
        for _ in range(PASSES):
            order = rng.permutation(self.m)
            coordinate_pass(d.rows, d.bias, self.points, order, self.m, beta, v, np.inf, -np.inf, 1.0, self.epsilon)
        return max(known, self._valued(beta), key=_proven)

    def _valued(self, beta: np.ndarray) -> Bound:
        """Return the bound that beta (m,) proves, scaled with l1, whose dual asks for |v| <= 1, v = weights(beta)."""
        v = self.weights(beta)
        if self.penalty == "l1":
            beta = beta * _best_scale_l1(self.reward(beta), beta, v, self.ridge)
            dual, of_pull = self._dual(beta, np.zeros(1)), dot_error(beta * np.sqrt(self.design.sq))
            return Bound(dual, beta, self._dual_error(beta, np.zeros(1)) + of_pull * abs(dual))  # |v| <= 1
        return Bound(self._dual(beta, v), beta, self._dual_error(beta, v))

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        margins = certificate.gradient
        coef = np.zeros(self.m) if margins is None else self.coefficients(self.suggested(margins))
        w, intercept = self.design.split(point)
        return DecisionFunction(coef, intercept, w)

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        return self.design.pull(coef)

    def start_weights(self, w: np.ndarray, intercept: float) -> np.ndarray | None:
        return self.design.joined(w, intercept)


def _best_scale_l1(total: float, beta: np.ndarray, v: np.ndarray, ridge: np.ndarray) -> float:
    """Return the factor for beta at which D of the l1 penalty is largest, where max |v| must not exceed 1."""
    if total <= 0.0:
        return 0.0
    largest, curvature = float(np.abs(v).max(initial=0.0)), float(beta @ (beta * ridge))
    fits = 1.0 / largest if largest > 0.0 else np.inf
    best = total / curvature if curvature > 0.0 else 1.0
    return min(best, fits)


def weights_near_margin(problem: LinearProblem, margins: np.ndarray) -> np.ndarray:
    """Return dual weights for the hinge with the l2 penalty from the margins of a primal point.

    Parameters
    ----------
    problem : LinearProblem
        The problem.
    margins : ndarray of float64, shape (m,)
        `LinearProblem.margins` of the point.

    Returns
    -------
    ndarray of float64, shape (m,)
        Feasible dual weights: those with the largest D among several bands around the margin.
    """
    m, distance = problem.m, np.abs(problem.slack(margins))
    least = min(2 * problem.design.width, m // BANDS[0])  # about as many samples as columns lie on the margin
    parts = BANDS if m > SMALL else (1, *BANDS)
    sizes = sorted({max(m // part, least, 1) for part in parts}, reverse=True)
    found = []
    for size in sizes:
        inside = np.argpartition(distance, size - 1)[:size]
        width = max(float(distance[inside].max()), 1e-12)
        found.append(_descended(problem, problem.blurred(margins, width), inside))
    return max(found, key=itemgetter(0))[1]


def _descended(problem: LinearProblem, beta: np.ndarray, inside: np.ndarray) -> tuple[float, np.ndarray]:
    """Return D and beta after coordinate descent with shrinking over the samples `inside`; beta changes in place."""
    d, rng = problem.design, np.random.default_rng(0)
    v = problem.weights(beta)
    left, high, low = max(BAND_PASSES * problem.m, LEAST), np.inf, -np.inf
    for _ in range(MOST):
        left -= inside.size
        if left < 0 or not inside.size:
            break
        order = rng.permutation(inside)
        given = d.rows, d.bias, problem.points, order, order.size
        seen = coordinate_pass(*given, beta, v, high, low, 1.0, problem.epsilon)
        inside = order[: seen.n]
        high, low = seen.top if seen.top > 0.0 else np.inf, seen.low if seen.low < 0.0 else -np.inf
    return problem.reward(beta) - 0.5 * float(v @ v), beta
