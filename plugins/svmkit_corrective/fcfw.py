"""Fully corrective Frank-Wolfe with many vertices a round: over a face of the simplex, its cone, or a span."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from svmkit.problems.box import BoxQP
from svmkit.problems.simplex import SimplexQP, SquaredHinge
from svmkit.problems.tube import BiasedTubeQP, TubeQP
from svmkit.solver.sampler import Draws
from svmkit.solver.smo import box as smo_box
from svmkit_corrective.corrective_state import CorrectiveState, StandardForm
from svmkit_corrective.driver import Corrective
from svmkit_corrective.faces import FaceState, SpreadState, spread_start
from svmkit_corrective.rounds import Rounds


@dataclass(frozen=True)
class FCFW(Corrective):
    """Fully corrective Frank-Wolfe with many vertices a round (Lacoste-Julien, Jaggi 2015, algorithm 4).

    A round solves over the face of the simplex that the working set spans. For the L2-SVM it solves over the cone of
    that face, where the minimum is the same up to a factor: fewer steps are needed if weights need not sum to 1.
    Regression with the squared loss is likewise solved over the span of the working set. If each point has a ridge, as
    in one-class models, the first rounds move the weights of all points (`faces`).

    Parameters
    ----------
    growth : float, default=0.3
        As for `Corrective`.
    inner : float, default=0.2
        As for `Corrective`.
    first : optional
        As for `Corrective`.
    """

    name = "fcfw"
    problem = SimplexQP
    regression = BiasedTubeQP
    runs_on_device = True
    paper = "Lacoste-Julien, Jaggi 2015"

    growth: float = 0.3
    inner: float = 0.2

    def formulation(self, kernel, task="classify"):
        return self.problem_of(kernel, task).formulation(loss=self.losses[0])

    def begin(self, problem: SimplexQP | BiasedTubeQP, start, draws) -> Rounds:
        """Return the state over a span for regression, over a cone for the L2-SVM, else over a face of the simplex.

        Without a start, a random point of each class has weight, or all points have (`spread_start`).

        Parameters
        ----------
        problem, start, draws : SimplexQP or BiasedTubeQP, ndarray or None, Draws
            As for `Solver.init`.
        """
        if isinstance(problem, BiasedTubeQP):
            return SpanState(problem, np.zeros(problem.m) if start is None else start.copy(), draws)
        kind = ConeState if isinstance(problem, SquaredHinge) else FaceState
        goal = draws.goal.gap if draws.goal else 0.0
        spread = spread_start(problem, goal) if start is None and kind is FaceState else None
        if spread is not None:
            return SpreadState(problem, spread, draws)
        if start is None:
            start = np.zeros(problem.m)
            some = [draws.rng.choice(np.flatnonzero(problem.y == sign)) for sign in np.unique(problem.y)]
            start[some] = 1.0 / len(some)
        return kind(problem, start.copy(), draws)


class BiasedState(CorrectiveState):
    """An iterate of a problem with a regularised bias, whose v at the origin of the feature space is the level."""

    def find_level(self):
        return self.slope

    def inner_gap(self):
        kinks = smo_box.l1_among(self.form.kinks, self.working.idx)
        return smo_box.gap(self.among(self.inner), self.problem.is_ridged, -self.middle(self.inner), kinks)


class ConeState(BiasedState):
    """The iterate of a solve of min 1/2 beta'A beta - 1'beta over beta >= 0, the dual of the L2-SVM.

    A = Q + bias yy', so this is BoxQP's problem without its constraint and with a regularised bias. The point of the
    simplex is alpha = beta / sum(beta), and the best multiple of it is beta = alpha / f. Reports are on alpha.
    """

    def __init__(self, problem: SquaredHinge, alpha: np.ndarray, draws: Draws) -> None:
        self.simplex, self.f, m = problem, math.inf, problem.m
        given = problem.y, np.zeros(m), np.full(m, np.inf), np.full(m, -1.0), None, 0.0, 1.0, problem.bias
        posed = BoxQP(problem.gram, problem.y, problem.C, loss="squared_hinge")
        super().__init__(posed, StandardForm(*given), alpha, draws)

    @property
    def point(self):
        beta = super().point
        return beta / beta.sum()

    def image(self) -> np.ndarray:
        """Return A beta (m,), from v."""
        return self.form.sign * (self.box.v - self.slope) + 1.0

    def total(self) -> float:
        """Return the sum of beta."""
        total = float(self.box.beta.sum())
        if self.inner is not None:
            total += float(self.among(self.inner).beta.sum() - self.box.beta[self.working.idx].sum())
        return total

    def rescale(self):
        """Multiply beta by the factor that lowers the objective most, and update f.

        The objective is then the lowest one for this alpha, so that f falls whenever the objective falls.
        """
        known, total = self.inner is None and not self.behind, self.total()
        curvature = float(self.box.beta @ self.image()) if known else 2.0 * (self.value + total)  # beta'A beta
        if curvature > 0.0:
            factor = total / curvature
            for box in [self.box] if self.inner is None else [self.box, self.among(self.inner)]:
                box.v[:] = factor * (box.v + box.y) - box.y
                box.beta[:] *= factor
            if self.inner is not None:
                self.inner.v[-1] *= factor
            self.value = -0.5 * factor * total
        self.f = curvature / total / total

    def report(self, info):
        if info.gap_abs < math.inf:
            info = info._replace(gap_abs=2.0 * max(self.f - float(self.on_simplex()[1].min()), 0.0))
        return info._replace(objective=self.f)

    def gradient(self):
        return self.simplex.gradient(self.box.beta / self.box.beta.sum())

    def v_of(self, gradient):
        return self.form.sign * (self.box.beta.sum() * gradient - 1.0) + self.slope

    def on_simplex(self) -> tuple[np.ndarray, np.ndarray]:
        """Return alpha (m,) and g = A alpha (m,) of all points."""
        total = self.box.beta.sum()
        return self.box.beta / total, self.image() / total

    def total_gap(self):
        primal, dual = self.simplex.values(*self.on_simplex())
        return primal - dual

    def objective(self):
        """Return the objective of the cone at the best multiple of alpha, which is -D."""
        return -0.5 * self.total()


class SpanState(BiasedState):
    """The iterate of a solve of `BiasedTubeQP`; the gradient of its smooth part is v less v of the origin."""

    def __init__(self, problem: BiasedTubeQP, point: np.ndarray, draws: Draws) -> None:
        self.biased = problem
        given = problem.signs, problem.lower, problem.upper, problem.origin, None, 0.0, 1.0, problem.bias
        free = TubeQP(problem.gram, problem.t, problem.C, loss=problem.loss)
        super().__init__(free, StandardForm(*given, smo_box.l1_part(problem)), point, draws)

    def gradient(self):
        return self.biased.gradient(self.box.beta)

    def v_of(self, gradient):
        return gradient + self.slope

    def total_gap(self):
        return smo_box.gap(self.box, self.problem.is_ridged, -self.slope, self.form.kinks)

    def objective(self):
        return self.biased.value(self.box.beta, self.box.v - self.slope)
