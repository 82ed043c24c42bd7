"""The core set of a smallest enclosing ball: its condition, its radius, and how it is solved."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from svmkit.errors import InputError
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.requirements import Requires
from svmkit_frank_wolfe.iterate import loops
from svmkit_frank_wolfe.iterate.line_search import Direction
from svmkit_frank_wolfe.iterate.state import SimplexState
from svmkit_frank_wolfe.steps.step import advance

INNER = 300  # steps of one round at most, so that the loop stays in charge


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
            if not advance(self, direction(self)):
                break
            moved = True
            full = self.active >= self.budget
            i = loops.active_vertex(self.g, self.w) if full else int(self.g.argmin())
            self.aim(i)
            if 2.0 * (self.f - self.g[i]) <= target:
                break
        return moved
