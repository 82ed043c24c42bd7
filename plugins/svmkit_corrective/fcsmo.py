"""SMO on a growing working set."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit.losses.base import PIECEWISE, Loss
from svmkit.problems.box import BoxQP
from svmkit.problems.certificate import relative_gap
from svmkit.problems.nu import NuQP
from svmkit.problems.one_class import OneClassQP
from svmkit.problems.tube import TubeQP
from svmkit.solver.smo import box as smo_box
from svmkit_corrective.driver import Corrective
from svmkit_corrective.nu import NuState
from svmkit_corrective.standard_form import Phase, StandardForm


@dataclass(frozen=True)
class FCSMO(Corrective):
    """Fully corrective SMO, on a working set that grows by many points a round (Fan, Chen, Lin 2005, WSS 2).

    Parameters
    ----------
    loss : str or Loss, default="hinge"
        Any piecewise linear-quadratic loss.
    growth : float, default=0.3
        As for `Corrective`.
    first, inner : optional
        As for `Corrective`.
    """

    name = "fcsmo"
    problem = BoxQP
    further = (OneClassQP, NuQP)
    regression = TubeQP
    terms = ("loss",)
    losses = ("hinge", "squared_hinge", *PIECEWISE)
    paper = "Fan, Chen, Lin 2005"

    loss: str | Loss = "hinge"
    growth: float = 0.3

    def init(self, problem, start, draws):
        if isinstance(problem, NuQP):
            return NuState(problem, start, self.first, self.growth, self.inner)
        return super().init(problem, start, draws)

    def step(self, state):
        return state.step() if isinstance(state, NuState) else super().step(state)

    def solution(self, state):
        return state.point if isinstance(state, NuState) else super().solution(state)

    def resync(self, state, certificate):
        state.resync(certificate) if isinstance(state, NuState) else super().resync(state, certificate)

    def details(self, state):
        return state.details() if isinstance(state, NuState) else {}

    def form(self, problem: BoxQP | TubeQP) -> StandardForm:
        given = problem.signs, problem.lower, problem.upper, problem.origin
        return StandardForm(*given, None, 0.0, 1.0, epsilon=smo_box.epsilon_of(problem))

    def origin(self, problem, rng):
        return problem.first_point()

    def level(self, state):
        # that of the last working set: LIBSVM's rho
        return state.middle(state.box) if state.phase is Phase.START else state.level

    def gap(self, state, box, level):
        problem = state.problem
        bias = problem.best_bias(box.v, box.beta) if level is None else -level
        return smo_box.gap(box, problem.is_ridged, bias, state.epsilon_of(box))

    def objective(self, state):
        box = state.box
        return state.problem.value(box.beta, box.y * box.v)

    def relative(self, state, gap):
        return relative_gap(gap, -state.value)
