"""Fully corrective solves of regression with a regularised bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmkit.problems.certificate import relative_gap
from svmkit.problems.tube import BiasedTubeQP, TubeQP
from svmkit.solver.smo import box as smo_box
from svmkit_corrective.driver import Corrective
from svmkit_corrective.standard_form import StandardForm
from svmkit_corrective.state import CorrectiveState


class SpanState(CorrectiveState):
    """The iterate of a solve of `BiasedTubeQP`; the gradient of its smooth part is v less that of the origin.

    Parameters
    ----------
    problem : BiasedTubeQP
        The problem to solve.
    face, point, rng
        As for `CorrectiveState`.
    """

    def __init__(self, problem: BiasedTubeQP, form: StandardForm, point: np.ndarray, rng: np.random.Generator) -> None:
        self.biased = problem
        free = TubeQP(problem.gram, problem.t, problem.C, loss=problem.loss)
        super().__init__(free, form, point, rng)

    def gradient(self):
        return self.biased.gradient(self.box.beta)

    def v_of(self, gradient):
        return gradient + self.slope


@dataclass(frozen=True)
class Span(Corrective):
    """The rounds of `FCFW` for regression."""

    def form(self, problem):
        given = problem.signs, problem.lower, problem.upper, problem.origin
        return StandardForm(*given, None, 0.0, 1.0, problem.bias, smo_box.epsilon_of(problem))

    def origin(self, problem, rng):
        return np.zeros(problem.m)

    def init(self, problem, start, draws):
        point = self.origin(problem, draws.rng) if start is None else start.copy()
        return self.set_goal(SpanState(problem, self.form(problem), point, draws.rng), draws)

    def level(self, state):
        return state.slope

    def gap(self, state, box, level):
        points = box if box is state.box else state.among(box)
        level = state.slope if level is None else level
        return smo_box.gap(points, state.problem.is_ridged, -level, state.epsilon_of(points))

    def objective(self, state):
        return state.biased.value(state.box.beta, state.box.v - state.slope)

    def relative(self, state, gap):
        return relative_gap(gap, -state.value)
