"""SMO on a growing working set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmkit.problems.box import BoxQP
from svmkit.problems.certificate import relative_gap
from svmkit.problems.loss import Loss, best_bias
from svmkit.solver import smo_box
from svmkit_corrective.driver import Corrective
from svmkit_corrective.state import Face, Phase


@dataclass(frozen=True)
class FCSMO(Corrective):
    """Fully corrective SMO, on a working set that grows by many points a round (Fan, Chen, Lin 2005, WSS 2).

    Parameters
    ----------
    loss : str, default="hinge"
        "hinge" or "squared_hinge".
    growth : float, default=0.3
        As for `Corrective`.
    first, inner
        As for `Corrective`.
    """

    name = "fcsmo"
    problem = BoxQP
    terms = ("loss",)
    losses = ("hinge", "squared_hinge")
    paper = "Fan, Chen, Lin 2005"

    loss: str = "hinge"
    growth: float = 0.3

    def face(self, problem: BoxQP) -> Face:
        return Face(problem.y, problem.upper, np.full(problem.m, -1.0), None, 0.0, 1.0)

    def origin(self, problem, rng):
        return np.zeros(problem.m)

    def level(self, state):
        # that of the last working set: LIBSVM's rho
        return state.middle(state.box) if state.phase is Phase.START else state.level

    def gap(self, state, box, level):
        problem = state.problem
        if level is None:
            h = box.v + box.y * (1.0 - box.ridge * box.beta)
            level = -best_bias(problem.loss, problem.y, h, problem.C)
        return smo_box.gap(box, problem.loss is Loss.SQUARED_HINGE, -level)

    def objective(self, state):
        box = state.box
        return 0.5 * float(box.beta @ (box.y * box.v - 1.0))

    def relative(self, state, gap):
        return relative_gap(gap, -state.value)
