"""The base of the family, and the step that all variants share.

A step first moves along a direction to or from the vertices that are already known, and then searches the vertex of the
next step: the report of a step needs the lowest g at the new iterate, so one search serves both. `init`, `resync` and
`limit_support` therefore end with a search too (`prepare`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from svmkit.problems.certificate import Certificate
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.capabilities import LimitsSupport
from svmkit.solver.requirements import Reads
from svmkit.solver.sampler import Draws
from svmkit.solver.step_info import StepInfo
from svmkit_frank_wolfe.iterate.state import Direction, SimplexState
from svmkit_frank_wolfe.steps import oracle, slices
from svmkit_frank_wolfe.steps.compiled_steps import Rule
from svmkit_frank_wolfe.steps.oracle import Choice


@dataclass(frozen=True)
class FrankWolfe(LimitsSupport):
    """Base of the family: a variant overrides the direction, the vertices it chooses from, or what follows the step."""

    monotone: ClassVar[bool] = True
    reads: ClassVar[Reads | None] = Reads.ROWS
    keeps: ClassVar[int] = 1  # number of iterates whose alpha and g are kept
    # whether all points are tracked as soon as the gradient of all is known; otherwise only those chosen so far
    tracks_all: ClassVar[bool] = True
    state_class: ClassVar[type[SimplexState]] = SimplexState  # of the states that `init` makes
    # the compiled form of `direction`, by which a call of `step` takes many steps if it can; None for none
    rule: ClassVar[Rule | None] = None

    def init(self, problem: SimplexQP, start: np.ndarray | None, draws: Draws) -> SimplexState:
        """Return the state at `start`, scaled onto the unit simplex, or at `origin`, with the vertex of its first step.

        Parameters
        ----------
        problem, start, draws : SimplexQP, ndarray or None, Draws
            As for `Solver.init`.
        """
        point = self.origin(problem, draws.rng) if start is None else start
        # if the first draw holds all points, they are tracked at once: the gradient of the start is computed only once
        everything = self.tracks_all and draws.every
        state = self.state_class(problem, point / point.sum(), draws, self.keeps, everything)
        self.prepare(state)
        return state

    def origin(self, problem: SimplexQP, rng: np.random.Generator) -> np.ndarray:
        """Return the point (m,) at which a solve without a start begins."""
        return oracle.first(problem, rng)

    def prepare(self, state: SimplexState) -> None:
        """Find the vertex of the first step from this state."""
        self.look(state)

    def direction(self, state: SimplexState) -> Direction:
        """Return the direction of the next step, from alpha, g, f, the vertices i and j; by default toward i."""
        return state.toward()

    def choose(self, state: SimplexState) -> Choice:
        """Ask the oracle for the next vertex."""
        return oracle.best(state)

    def step(self, state: SimplexState) -> StepInfo:
        if self.rule is not None and slices.apply(state):
            return slices.take(state, self.rule)
        return self.look(state, state.advance(self.direction(state)))

    def look(self, state: SimplexState, moved: bool = True) -> StepInfo:
        """Make the oracle's choice the toward vertex of the next step, and report on the iterate."""
        return oracle.report_within(state, self.choose(state), moved)

    def limit_support(self, state: SimplexState, most: int) -> None:
        state.limit(most)
        self.prepare(state)

    def solution(self, state: SimplexState) -> np.ndarray:
        return state.point()

    def bounds(self, state: SimplexState) -> tuple[float, float] | None:
        return state.problem.values(state.alpha, state.g) if state.tracked.everything else None

    def resync(self, state: SimplexState, certificate: Certificate) -> None:
        state.resync(certificate, self.tracks_all)
        self.prepare(state)
