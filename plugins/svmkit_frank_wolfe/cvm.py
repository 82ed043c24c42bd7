"""The core vector machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.requirements import Requires
from svmkit.solver.sampler import Sampler, Uniform
from svmkit.solver.step_info import StepInfo
from svmkit_frank_wolfe.iterate import loops
from svmkit_frank_wolfe.iterate.state import Direction, SimplexState
from svmkit_frank_wolfe.steps import oracle
from svmkit_frank_wolfe.steps.oracle import Choice
from svmkit_frank_wolfe.swap import Swap2o

LOOKS = 3  # samples in a row without a point outside the ball that end the solve
CORRECTED = 0.1  # gap to which the core set is solved, relative to the violation of its new point
SETTLED = 1e-4  # relative gap to which a core set that may not grow is solved

INNER = 300  # steps of one round at most, so that the loop stays in control


def require_ball(problem: SimplexQP) -> None:
    """Raise InputError unless A_ii + 2 c_i is the same for all i, so that the problem is a smallest enclosing ball."""
    linear = np.zeros(1) if problem.linear_term is None else 2.0 * problem.linear_term
    if np.ptp(problem.diag + linear) <= 1e-9 * (np.abs(problem.diag).max() + np.abs(linear).max()):
        return
    if problem.linear_term is None and np.ptp(problem.gram.diag) <= 1e-9 * np.abs(problem.gram.diag).max():
        raise InputError("solver cvm needs one C for all samples: leave class and sample weights out")
    if problem.linear_term is None:
        need, kernel = Requires.NORMALISED_KERNEL.value, problem.gram.kernel.name
        raise InputError(f"solver cvm needs {need}, not {kernel}")
    raise InputError("solver cvm needs A_ii + 2 c_i to be the same for all i: take another solver")


class CoreSet(SimplexState):
    """State of a core vector machine; `misses` counts samples in a row that lay inside the ball."""

    misses = 0

    def radius(self) -> float:
        """Return the radius of the smallest ball around the core set in the space of A, exact once it is solved."""
        diag, linear = self.tracked.diag, self.tracked.linear
        squared = diag[0] + 2.0 * (linear[0] if linear.size else 0.0) - self.f - self.c_alpha
        return float(np.sqrt(max(squared, 0.0)))

    def correct(self, direction: Callable[[CoreSet], Direction], target: float) -> bool:
        """Make steps until 2 (f - min g) over the core set is at most `target`; return whether any had a length > 0."""
        moved = False
        for _ in range(INNER):
            if not self.advance(direction(self)):
                break
            moved = True
            full = self.active >= self.budget
            i = loops.active_vertex(self.g, self.w) if full else int(self.g.argmin())
            self.aim(i)
            if 2.0 * (self.f - self.g[i]) <= target:
                break
        return moved


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
        info = self.look(state)  # the estimates are for the ball before the round
        done = self.eps > 0.0 and state.misses >= (1 if state.draws.every else LOOKS)
        target = max(CORRECTED * info.gap_abs, SETTLED * abs(info.objective) if info.full else 0.0)
        moved = not done and state.correct(self.direction, target)  # the evaluated point is returned
        objective = state.objective
        return info._replace(objective=objective, n_support=state.active, moved=info.moved or moved, done=done)

    def details(self, state: CoreSet) -> dict[str, float]:
        return {"radius": state.radius(), "core_set": float(state.tracked.n)}
