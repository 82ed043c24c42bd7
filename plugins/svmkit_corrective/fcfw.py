"""Fully corrective Frank-Wolfe with many vertices a round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmkit.problems.certificate import relative_gap
from svmkit.problems.simplex import SimplexQP, SquaredHinge
from svmkit.problems.tube import BiasedTubeQP
from svmkit_corrective.cone import Cone
from svmkit_corrective.driver import Corrective
from svmkit_corrective.span import Span
from svmkit_corrective.standard_form import StandardForm


@dataclass(frozen=True)
class FCFW(Corrective):
    """Fully corrective Frank-Wolfe with many vertices a round (Lacoste-Julien, Jaggi 2015, algorithm 4).

    A round solves over the face of the simplex that the working set spans. For the L2-SVM it solves over the cone of
    that face, where the minimum is the same but for a factor: fewer steps are needed if weights need not sum to 1.
    Regression with the squared loss is solved over the span of the working set likewise.

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
    paper = "Lacoste-Julien, Jaggi 2015"

    growth: float = 0.3
    inner: float = 0.2

    def formulation(self, kernel, task="classify"):
        regresses = task == "regress"
        return BiasedTubeQP.formulation(loss="squared_hinge") if regresses else super().formulation(kernel, task)

    def rounds_for(self, problem: SimplexQP | BiasedTubeQP) -> Corrective:
        """Return what makes the rounds: for the L2-SVM over the cone."""
        kind = Cone if isinstance(problem, SquaredHinge) else Span if isinstance(problem, BiasedTubeQP) else None
        return self if kind is None else kind(self.first, self.growth, self.inner)

    def init(self, problem, start, draws):
        rounds = self.rounds_for(problem)
        state = super().init(problem, start, draws) if rounds is self else rounds.init(problem, start, draws)
        state.rounds = rounds
        return state

    def step(self, state):
        return super().step(state) if state.rounds is self else state.rounds.step(state)

    def solution(self, state):
        return super().solution(state) if state.rounds is self else state.rounds.solution(state)

    def form(self, problem: SimplexQP) -> StandardForm:
        m = problem.m
        origin = np.zeros(m) if problem.linear_term is None else problem.linear_term
        return StandardForm(np.ones(m), np.zeros(m), np.full(m, np.inf), origin, problem.y, problem.bias, 2.0)

    def origin(self, problem, rng):
        some = [rng.choice(np.flatnonzero(problem.y == sign)) for sign in np.unique(problem.y)]
        point = np.zeros(problem.m)
        point[some] = 1.0 / len(some)
        return point

    def level(self, state):
        return float(state.box.beta @ state.box.v)

    def gap(self, state, box, level):
        return 2.0 * max(float(box.beta @ box.v) - float(box.beta.sum()) * float(box.v.min()), 0.0)

    def objective(self, state):
        return float(state.box.beta @ (state.box.v + state.form.origin))

    def relative(self, state, gap):
        """Return the gap of a certificate: for the squared hinge P - D, which is much below 2 (f - min g)."""
        primal, dual = state.problem.values(state.box.beta, state.box.v)
        return relative_gap(primal - dual, dual)
