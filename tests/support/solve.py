"""What the tests of the outer loop share: a small problem and a toy solver."""

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from support.problems import blobs, problem_of

from svmkit.solver.base import Solver
from svmkit.solver.step_info import StepInfo


def problem(m=80, C=1.0, seed=0, **kwargs):
    return problem_of(*blobs(m, 3, seed=seed), C, **kwargs)


@dataclass(frozen=True)
class Replay(Solver):
    """Plays back points that it was given; what it claims about them is given too."""

    points: tuple = ()
    gap: float = float("inf")
    gap_abs: float = float("inf")
    sampled: bool = False
    moved: bool = True
    delay: float = 0.0
    looked: float = 0.25

    name: ClassVar[str] = "replay"

    def init(self, problem, start, draws):
        values = [problem.objective(point) for point in self.points]
        return {"k": -1, "values": values}

    def step(self, state):
        if self.delay:
            time.sleep(self.delay)
        state["k"] += 1
        return StepInfo(
            state["values"][min(state["k"], len(self.points) - 1)],
            np.count_nonzero(self.solution(state)),
            self.looked,
            self.gap,
            self.gap_abs,
            self.sampled,
            self.moved,
        )

    def solution(self, state):
        return self.points[min(max(state["k"], 0), len(self.points) - 1)].copy()
