"""The core vector machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.requirements import Requires
from svmkit.solver.sampler import Sampler, Uniform
from svmkit.solver.step_info import StepInfo
from svmkit_frank_wolfe.core_set import CoreSet, require_ball
from svmkit_frank_wolfe.steps import oracle
from svmkit_frank_wolfe.steps.oracle import Choice
from svmkit_frank_wolfe.swap2o import Swap2o

LOOKS = 3  # samples in a row without a point outside the ball that end the solve
CORRECTED = 0.1  # gap to which the core set is solved, as a part of the violation by its new point
SETTLED = 1e-4  # relative gap to which a core set that may not grow is solved


@dataclass(frozen=True)
class CVM(Swap2o):
    """Core vector machine (Badoiu, Clarkson 2008; Tsang, Kwok, Cheung 2005; FW/CVM paper, Algorithm 1).

    When A_ii is the same for all points, min alpha'A alpha is the smallest ball around their images. In each round the
    point of the sample that is farthest outside the ball joins the core set, and the quadratic program on the core set
    is solved by second-order pairwise steps from the current weights.

    Parameters
    ----------
    eps : float, default=0.0
        A positive value ends the solve once no point of three samples lies outside (1 + eps) times the radius: samples
        of 59 miss up to 5 % of the points, the sampler `full` misses none. With 0 the tolerance on the gap decides.

    Raises
    ------
    InputError
        If `eps` is not a finite number >= 0.
    """

    name = "cvm"
    requires: ClassVar[tuple[Requires, ...]] = (Requires.NORMALISED_KERNEL,)
    sampler: ClassVar[Sampler] = Uniform(59)
    tracks_all: ClassVar[bool] = False
    state_class: ClassVar[type[CoreSet]] = CoreSet

    eps: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.eps < np.inf:
            raise InputError(f"cvm: eps must be a finite number >= 0, not {self.eps}")

    def check(self, problem: SimplexQP) -> None:
        if not isinstance(problem, self.problem):
            super().check(problem)  # raises
        require_ball(problem)

    def prepare(self, state: CoreSet) -> None:
        """Do nothing: a sample is drawn with the round."""

    def choose(self, state: CoreSet) -> Choice:
        sample = state.draws()
        point, gs = oracle.among(state, sample)
        squared = state.radius() ** 2
        inside = 2.0 * (state.f - gs[0]) <= ((1.0 + self.eps) ** 2 - 1.0) * squared
        state.misses = state.misses + 1 if inside else 0
        i = int(state.tracked.position[point])
        if i < 0:
            i = int(state.g.argmin()) if inside else oracle.join(state, point, gs)
        return Choice(i, float(gs[0]), sample.size, not state.draws.every)

    def step(self, state: CoreSet) -> StepInfo:
        info = self.look(state)  # the estimates are those of the ball before the round
        done = self.eps > 0.0 and state.misses >= (1 if state.draws.every else LOOKS)
        target = max(CORRECTED * info.gap_abs, SETTLED * abs(info.objective) if info.full else 0.0)
        moved = not done and state.correct(self.direction, target)  # the point that was looked at is returned
        objective = state.objective
        return info._replace(objective=objective, n_support=state.active, moved=info.moved or moved, done=done)

    def details(self, state: CoreSet) -> dict[str, float]:
        return {"radius": state.radius(), "core_set": float(state.tracked.n)}
