"""Newton's method on the primal of multinomial logistic regression."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from svmkit.problems.base import FREE, NUMBER_OR_FREE, Problem
from svmkit.problems.certificate import Certificate, relative_gap
from svmkit.problems.risks.joint.multinomial import Multinomial
from svmkit.solver.base import Solver
from svmkit.solver.requirements import Requires
from svmkit.solver.sampler import Draws
from svmkit.solver.step_info import StepInfo

NEAR = 1e-3  # gap below which the weights of the dual point are examined where none is asked for
WIDE = 128  # columns up to which the preconditioner has a factor for each class
LOOSE, TIGHT = 0.1, 1e-8  # relative residuals at which conjugate gradients end: at most, and at least
MOST = 500  # steps of conjugate gradients
RIDGE = 1e-14  # of the largest entry of the diagonal, in these factors
FLAT = 0.1  # part of its first slope that ends a line search
ROUNDS = 30  # of a line search, which needs one or two


class MultinomialState:
    """State of a solve: the primal iterate, and the dual point that is the answer.

    W (k, width + 1) are the weights of the classes, the last column free biases, which count from the mean of the rows.
    They have the decisions H (m, k), whose probabilities are P, the objective `primal` and the gradient G. The dual
    point alpha (m, k) has the weights V (k, width) and the objective `dual`; `gap` is its relative gap once that of W
    and alpha is small enough, before that the latter.
    """

    def __init__(self, problem: Multinomial, start: np.ndarray | None, goal: float) -> None:
        self.problem, self.goal = problem, goal
        k, width = problem.n_classes, problem.design.width
        self.penalty, self.centre = np.append(np.ones(width), 0.0), np.zeros(width)
        self.W = np.zeros((k, width + 1))
        if problem.has_free_biases:
            self.centre[:] = np.asarray(problem.gram.engine.X.mean(axis=0), dtype=np.float64)
            self.W[:, -1] = np.log(problem.class_costs) - np.log(problem.class_costs).mean()
        self.alpha, self.V, self.dual, self.gap = np.zeros(problem.shape), np.zeros((k, width)), -np.inf, np.inf
        if start is not None:
            self.alpha, self.V = start.copy(), problem.weights(start)
            self.dual = -problem.value(start, self.V)
            self.W[:, :width] = self.V
        self.anew()

    def anew(self) -> None:
        """Compute everything at W from scratch."""
        self.H = self.decide(self.W)
        if self.problem.has_free_biases:
            shift = self.problem.best_biases(self.H)
            self.H += shift
            self.W[:, -1] += shift
        self.examine()

    def decide(self, W: np.ndarray) -> np.ndarray:
        """Return the decisions (m, k) of weights W (k, width + 1)."""
        H = self.problem.scores(W[:, :-1])
        H += W[:, -1] - W[:, :-1] @ self.centre
        return H

    def pull(self, R: np.ndarray) -> np.ndarray:
        """Return the transpose of `decide` times R (m, k)."""
        total = R.sum(axis=0)
        image = self.problem.image(R) - np.outer(total, self.centre)
        return np.column_stack([image, total if self.problem.has_free_biases else np.zeros_like(total)])

    def examine(self) -> None:
        """Set the probabilities, P and its gradient at W, and raise D by them."""
        p = self.problem
        self.P, losses = p.softmax(self.H)
        size = self.penalty * self.W
        self.primal = 0.5 * float(np.vdot(size, size)) + p.total_loss(losses)
        R = self.P * p.C[:, None]
        R[p.own] -= p.C
        self.G = self.pull(R) + size
        alpha = p.point(p.balance(self.P) if p.has_free_biases else self.P)
        V = p.weights(alpha)
        dual = -p.value(alpha, V)
        if dual > self.dual:
            self.alpha, self.V, self.dual = alpha, V, dual
        self.support = int(np.count_nonzero(p.totals(self.alpha)))
        self.gap = self._gap()

    def _gap(self) -> float:
        """Return the gap of W and alpha; once that is small enough, the gap of alpha alone, which is the answer."""
        gap, p = relative_gap(self.primal - self.dual, self.dual), self.problem
        if gap > self.goal:
            return gap
        H = p.scores(self.V)
        H += p.best_biases(H, self.W[:, -1] - self.W[:, :-1] @ self.centre) if p.has_free_biases else 0.0
        primal = 0.5 * float(np.vdot(self.V, self.V)) + p.total_loss(p.softmax(H)[1])
        return max(relative_gap(primal - self.dual, self.dual), 0.0)

    def curve(self, S: np.ndarray, weighted: np.ndarray) -> np.ndarray:
        """Return the Hessian times S (k, width + 1), for the probabilities times costs (m, k)."""
        Z = self.decide(S)
        Z -= np.einsum("ic,ic->i", self.P, Z)[:, None]
        Z *= weighted
        return self.pull(Z) + self.penalty * S

    def direction(self) -> tuple[np.ndarray, float]:
        """Return about Newton's direction (k, width + 1), by conjugate gradients, and the passes over X."""
        weighted = self.P * self.problem.C[:, None]
        divide = self._preconditioner(weighted * (1.0 - self.P))
        S, r, passes = np.zeros_like(self.W), -self.G, 0.0
        gap = relative_gap(self.primal - self.dual, self.dual)
        most = max(min(LOOSE, gap), TIGHT) * float(np.linalg.norm(r))
        z = divide(r)
        p, rz = z, float(np.vdot(r, z))
        while np.linalg.norm(r) > most and passes < 2.0 * MOST:
            curved = self.curve(p, weighted)
            bend = float(np.vdot(p, curved))
            passes += 2.0
            if not bend > 0.0:
                break
            S, r = S + (rz / bend) * p, r - (rz / bend) * curved
            z = divide(r)
            rz, last = float(np.vdot(r, z)), rz
            p = z + (rz / last) * p
        return (S if passes > 2.0 or S.any() else z), passes

    def _preconditioner(self, curvature: np.ndarray):
        """Return what divides (k, width + 1) by the Hessian without what couples the classes, or by its diagonal."""
        problem, (k, n) = self.problem, self.W.shape
        used = slice(0, n if problem.has_free_biases else n - 1)
        if n > WIDE:
            diagonal = np.maximum(self._diagonal(curvature), np.finfo(np.float64).tiny)
            return lambda r: r / diagonal
        factors = []
        for c in range(k):
            factors.append(_factorise(self._block(curvature[:, c])[used, used], self.penalty[used]))

        def divide(r: np.ndarray) -> np.ndarray:
            out = np.zeros_like(r)
            for c, factor in enumerate(factors):
                out[c, used] = scipy.linalg.cho_solve(factor, r[c, used], check_finite=False)
            return out

        return divide

    def _block(self, curvature: np.ndarray) -> np.ndarray:
        """Return the part (width + 1, width + 1) of the Hessian of a class, of second derivatives (m,)."""
        p, d, column = self.problem, self.problem.design.d, self.problem.design.bias or 1.0
        whole, sums = np.zeros((self.W.shape[1], self.W.shape[1])), np.zeros(d)
        for rows in p.parts():
            X = p.values(rows)
            by = curvature[rows, None]
            weighted = X.multiply(by).tocsr() if sp.issparse(X) else X * by
            product = X.T @ weighted
            whole[:d, :d] += product.toarray() if sp.issparse(product) else product
            sums += np.asarray(weighted.sum(axis=0)).ravel()
        total, centre = float(curvature.sum()), self.centre[:d]
        inner = sums - total * centre
        whole[:d, :d] -= np.outer(sums, centre) + np.outer(centre, inner)
        whole[d, :d] = whole[:d, d] = column * inner
        whole[d, d] = column**2 * total
        return whole

    def _diagonal(self, curvature: np.ndarray) -> np.ndarray:
        """Return the diagonal (k, width + 1) of the Hessian, of second derivatives (m, k)."""
        p, d, column = self.problem, self.problem.design.d, self.problem.design.bias or 1.0
        squares, sums, total = np.zeros((len(self.W), d)), p.image(curvature)[:, :d], curvature.sum(axis=0)
        for rows in p.parts():
            X = p.values(rows)
            squares += ((X.multiply(X) if sp.issparse(X) else X * X).T @ curvature[rows]).T
        centre, out = self.centre[:d], np.zeros_like(self.W)
        out[:, :d] = np.maximum(squares + np.outer(total, centre**2) - 2.0 * sums * centre, 0.0)
        out[:, d] = column**2 * total
        return out + self.penalty

    def move(self) -> float:
        """Make a step; return the passes over X."""
        S, passes = self.direction()
        Z, size = self.decide(S), self.penalty * S
        t = self._search(Z, float(np.vdot(self.W, size)), float(np.vdot(S, size)))
        self.W += t * S
        self.H += t * Z
        self.examine()
        return passes + 4.0

    def _search(self, Z: np.ndarray, along: float, square: float) -> float:
        """Return about the best length of a step along which decisions change by Z, and the penalty by two numbers."""
        p, low, high, t = self.problem, 0.0, np.inf, 1.0
        own = Z[p.own]
        first = abs(along + float(p.C @ (np.einsum("ic,ic->i", self.P, Z) - own)))
        for _ in range(ROUNDS):
            P = p.softmax(self.H + t * Z)[0]
            mean = np.einsum("ic,ic->i", P, Z)
            slope = along + square * t + float(p.C @ (mean - own))
            rate = square + float(p.C @ (np.einsum("ic,ic,ic->i", P, Z, Z) - mean * mean))
            if abs(slope) <= FLAT * first:
                break
            low, high = (t, high) if slope < 0.0 else (low, t)
            t = t - slope / rate if rate > 0.0 else np.inf
            if not low < t < high:
                t = 0.5 * (low + high) if high < np.inf else 2.0 * low + 1.0
        return t


def _factorise(block: np.ndarray, penalty: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return a Cholesky factor of a matrix (n, n) plus the penalty (n,), and more where rounding asks for it."""
    at, ridge = np.diag_indices_from(block), RIDGE
    size = float(np.abs(block[at]).max())
    while True:
        whole = block.copy()
        whole[at] += penalty + ridge * size
        try:
            return scipy.linalg.cho_factor(whole, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            if not ridge < 1e3:  # not a number, or too large for one
                return np.eye(len(block)), True
            ridge *= 1e3


@dataclass(frozen=True)
class MultinomialNewton(Solver):
    """Newton's method on the primal of `Multinomial`, with conjugate gradients; `newton` makes it.

    The probabilities at an iterate are a dual point, for free biases once they are shifted such that each class has as
    much as there are costs of its samples. The preconditioner has a factor for each class where X has few columns.

    Parameters
    ----------
    bias : float or "free", default="free"
        "free" for biases that are not regularised; else the value of the column added for those that are, 0 for none.
    """

    name = "newton"
    problem: ClassVar[type[Problem]] = Multinomial
    joint = ("multinomial",)
    terms = ("bias",)
    losses = ("logistic",)
    requires = (Requires.LINEAR_KERNEL,)
    monotone: ClassVar[bool] = True
    recheck: ClassVar[int] = 1
    paper = "Lin, Weng, Keerthi 2008"

    bias: float | str = field(default=FREE, metadata=NUMBER_OR_FREE)

    def joint_solver(self, scheme: str) -> Solver | None:
        return self if scheme in self.joint else None

    def patience(self, m: int) -> int:
        return 1000

    def init(self, problem: Multinomial, start: np.ndarray | None, draws: Draws) -> MultinomialState:
        """Return the state at `start`, or at weights of 0, with the relative gap that the solve aims at.

        Parameters
        ----------
        problem, start, draws : Multinomial, ndarray or None, Draws
            As for `Solver.init`.
        """
        return MultinomialState(problem, start, (draws.goal.gap if draws.goal else 0.0) or NEAR)

    def step(self, state: MultinomialState) -> StepInfo:
        before = state.primal, state.dual
        passes = state.move()
        return StepInfo(
            -state.dual,
            state.support,
            passes,
            gap=state.gap,
            gap_abs=state.gap * max(abs(state.primal), abs(state.dual)),
            moved=state.primal < before[0] or state.dual > before[1],
            violation=float(np.abs(state.G).max()),
        )

    def solution(self, state: MultinomialState) -> np.ndarray:
        return state.alpha.copy()

    def resync(self, state: MultinomialState, certificate: Certificate) -> None:
        state.anew()
