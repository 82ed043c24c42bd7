"""SMO on a growing working set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmkit import pairwise
from svmkit.box import BoxQP
from svmkit.loss import Loss, best_bias
from svmkit_corrective.driver import Corrective
from svmkit_corrective.state import Face


@dataclass(frozen=True)
class FCSMO(Corrective):
    """Fully corrective SMO: second-order SMO (Fan, Chen, Lin 2005, WSS 2) on a set that grows by many points a round.

    loss : "hinge" or "squared_hinge"
    """

    name = "fcsmo"
    problem = BoxQP
    terms = ("loss",)
    losses = ("hinge", "squared_hinge")
    paper = "Fan, Chen, Lin 2005"

    loss: str = "hinge"

    def face(self, problem: BoxQP) -> Face:
        return Face(problem.y, problem.upper, np.full(problem.m, -1.0), None, 0.0, 1.0)

    def origin(self, problem, rng):
        return np.zeros(problem.m)

    def level(self, state):
        problem, box = state.problem, state.box
        h = box.v + box.y * (1.0 - box.ridge * box.beta)
        return -best_bias(problem.loss, problem.y, h, problem.C)

    def gap(self, state, box, level):
        return pairwise.gap(box, state.problem.loss is Loss.SQUARED_HINGE, -level)

    def objective(self, state):
        box = state.box
        return 0.5 * float(box.beta @ (box.y * box.v - 1.0))

    def relative(self, objective, gap):
        size = max(abs(objective), abs(gap - objective), 1e-300)
        return gap / size
