"""Fully corrective solves of the L2-SVM over the cone that the simplex spans."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmkit.problems.box import BoxQP
from svmkit.problems.certificate import relative_gap
from svmkit.problems.simplex import SquaredHinge
from svmkit.solver.smo import box as smo_box
from svmkit_corrective.driver import Corrective
from svmkit_corrective.standard_form import StandardForm
from svmkit_corrective.state import CorrectiveState


class ConeState(CorrectiveState):
    """The iterate of a solve of min 1/2 beta'A beta - 1'beta over beta >= 0, the dual of the L2-SVM.

    A = Q + bias yy', so this is BoxQP's problem without its constraint and with a regularised bias. The point of the
    simplex is alpha = beta / sum(beta), and the best multiple of it is beta = alpha / f.

    Parameters
    ----------
    problem : SquaredHinge
        The problem on the simplex.
    form : StandardForm
        The problem on the cone.
    alpha : ndarray of shape (m,)
        A point of the simplex to start from; the state owns the array and changes it.
    rng : numpy.random.Generator
        As for `CorrectiveState`.
    """

    def __init__(self, problem: SquaredHinge, form: StandardForm, alpha: np.ndarray, rng: np.random.Generator) -> None:
        self.simplex = problem
        super().__init__(BoxQP(problem.gram, problem.y, problem.C, loss="squared_hinge"), form, alpha, rng)

    def image(self) -> np.ndarray:
        """Return A beta (m,), from v."""
        return self.form.sign * (self.box.v - self.slope) + 1.0

    def total(self) -> float:
        """Return the sum of beta."""
        total = float(self.box.beta.sum())
        if self.inner is not None:
            total += float(self.among(self.inner).beta.sum() - self.box.beta[self.working.idx].sum())
        return total

    def stretch(self, curvature: float) -> float:
        """Multiply beta by the factor that lowers the objective most, where `curvature` is beta'A beta; return f.

        The objective is the lowest one for this alpha afterwards, so that f falls whenever the objective falls.
        """
        total = self.total()
        if curvature > 0.0:
            factor = total / curvature
            for box in [self.box] if self.inner is None else [self.box, self.among(self.inner)]:
                box.v[:] = factor * (box.v + box.y) - box.y
                box.beta[:] *= factor
            if self.inner is not None:
                self.inner.v[-1] *= factor
            self.value = -0.5 * factor * total
        return curvature / total / total

    def gradient(self):
        return self.simplex.gradient(self.box.beta / self.box.beta.sum())

    def v_of(self, gradient):
        return self.form.sign * (self.box.beta.sum() * gradient - 1.0) + self.slope

    def on_simplex(self) -> tuple[np.ndarray, np.ndarray]:
        """Return alpha (m,) and g = A alpha (m,) of all points."""
        total = self.box.beta.sum()
        return self.box.beta / total, self.image() / total


@dataclass(frozen=True)
class Cone(Corrective):
    """The rounds of `FCFW` for the L2-SVM; it reports on the point of the simplex."""

    def form(self, problem):
        m, y = problem.m, problem.y
        return StandardForm(y, np.zeros(m), np.full(m, np.inf), np.full(m, -1.0), None, 0.0, 1.0, problem.bias)

    def origin(self, problem, rng):
        some = [rng.choice(np.flatnonzero(problem.y == sign)) for sign in (-1.0, 1.0)]
        point = np.zeros(problem.m)
        point[some] = 1.0 / len(some)
        return point

    def init(self, problem, start, draws):
        alpha = self.origin(problem, draws.rng) if start is None else start.copy()
        return self.set_goal(ConeState(problem, self.form(problem), alpha, draws.rng), draws)

    def level(self, state):
        return state.slope

    def survey(self, state):
        f = state.stretch(float(state.box.beta @ state.image()))
        least = float(state.on_simplex()[1].min())
        return super().survey(state)._replace(objective=f, gap_abs=2.0 * max(f - least, 0.0))

    def gap(self, state, box, level):
        if level is None:
            primal, dual = state.simplex.values(*state.on_simplex())
            return primal - dual
        return smo_box.gap(state.among(box), True, -level, None)

    def objective(self, state):
        """Return that of the cone at the best multiple of alpha, which is -D."""
        return -0.5 * state.total()

    def relative(self, state, gap):
        return relative_gap(gap, -state.value)

    def meanwhile(self, state, steps, fell):
        info = super().meanwhile(state, steps, fell)
        return info._replace(objective=state.stretch(2.0 * (state.value + state.total())))

    def solution(self, state):
        return state.point / state.point.sum()
