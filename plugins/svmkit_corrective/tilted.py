"""Fully corrective solves of regression with a regularised bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmkit.problems.certificate import relative_gap
from svmkit.problems.loss import Loss
from svmkit.problems.tube import BiasedTubeQP, TubeQP
from svmkit.solver.smo import box as smo_box
from svmkit_corrective.driver import Corrective
from svmkit_corrective.face import Face
from svmkit_corrective.state import CorrectiveState


class TiltedState(CorrectiveState):
    """The iterate of a solve of `BiasedTubeQP`; the gradient of its smooth part is v less that of the origin.

    Parameters
    ----------
    problem : BiasedTubeQP
        The problem to solve.
    face, point, rng
        As for `CorrectiveState`.
    """

    def __init__(self, problem: BiasedTubeQP, face: Face, point: np.ndarray, rng: np.random.Generator) -> None:
        self.biased = problem
        free = TubeQP(problem.gram, problem.t, problem.C, problem.epsilon, loss=problem.loss)
        super().__init__(free, face, point, rng)

    def gradient(self):
        return self.biased.gradient(self.box.beta)

    def v_of(self, gradient):
        return gradient + self.slope


@dataclass(frozen=True)
class Tilted(Corrective):
    """The rounds of `FCFW` for regression."""

    def face(self, problem):
        return Face(problem.signs, problem.upper, problem.origin, None, 0.0, 1.0, problem.bias, problem.kink)

    def origin(self, problem, rng):
        return np.zeros(problem.m)

    def init(self, problem, start, draws):
        point = self.origin(problem, draws.rng) if start is None else start.copy()
        return self.begun(TiltedState(problem, self.face(problem), point, draws.rng), draws)

    def level(self, state):
        return state.slope

    def gap(self, state, box, level):
        points = box if box is state.box else state.among(box)
        level = state.slope if level is None else level
        return smo_box.gap(points, state.problem.loss is Loss.SQUARED_HINGE, -level, state.face.kink)

    def objective(self, state):
        return state.biased.value(state.box.beta, state.box.v - state.slope)

    def relative(self, state, gap):
        return relative_gap(gap, -state.value)
