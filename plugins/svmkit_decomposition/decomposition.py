"""The base of the family: how a solve begins, steps, shrinks to some of the points and returns to all of them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from svmkit.kernels.gram.complete import CompleteGram
from svmkit.losses.base import PIECEWISE
from svmkit.problems.base import Problem
from svmkit.problems.box import BoxQP
from svmkit.problems.certificate import Certificate
from svmkit.problems.nu import NuQP
from svmkit.problems.one_class import OneClassQP
from svmkit.problems.tube import TubeQP
from svmkit.solver.base import Solver, libsvm_patience
from svmkit.solver.requirements import Reads
from svmkit.solver.sampler import Draws
from svmkit.solver.smo import steps as smo_steps
from svmkit.solver.smo.pairs import SolvesPairs
from svmkit.solver.step_info import StepInfo
from svmkit_decomposition.complete import CompleteState
from svmkit_decomposition.nu import NuState
from svmkit_decomposition.state import BoxState


@dataclass(frozen=True)
class Decomposition(Solver):
    """Base of the family: a variant says over which points it optimises at a time while the others are fixed.

    Samplers have no effect: all points are looked at.

    Attributes
    ----------
    shrinking : bool
        Whether points are left out while their weights stay at a bound.
    """

    problem: ClassVar[type[Problem]] = BoxQP
    regression: ClassVar[type[Problem] | None] = TubeQP
    further: ClassVar[tuple[type[Problem], ...]] = (OneClassQP,)
    terms = ("loss",)
    losses = ("hinge", "squared_hinge", *PIECEWISE)
    monotone: ClassVar[bool] = True
    recheck: ClassVar[int] = 100
    reads: ClassVar[Reads | None] = Reads.ROWS
    shrinking: ClassVar[bool] = False

    def patience(self, m: int) -> int:
        return libsvm_patience(m)

    def init(self, problem: BoxQP | TubeQP, start: np.ndarray | None, draws: Draws) -> BoxState:
        return BoxState(problem, problem.first_point() if start is None else start.copy())

    def step(self, state: BoxState) -> StepInfo:
        if state.fresh:  # the start, or all points again: it may be optimal already
            state.fresh = False
            return state.report(0, True)
        if self.shrinking:
            state.shrink()
        most, target, steps, fell, complete = state.budget(), state.aim(), 0, 0.0, False
        while not complete:
            done, change, complete = self.advance(state, most - steps, target)
            steps, fell = steps + done, fell + change
        state.objective += fell
        smo_steps.require_bound(state.objective, state.problem.gram.kernel.name)
        return state.report(steps, fell < 0.0)

    @abstractmethod
    def advance(self, state: BoxState, most: int, target: float) -> tuple[int, float, bool]:
        """Make up to `most` iterations, until the violation is <= target.

        Where a kernel row is missing it is fetched, and the other iterations are left for another call.

        Returns
        -------
        count : int
            Number of iterations made.
        change : float
            Change of the objective.
        complete : bool
            Whether no iteration is left for another call.
        """

    def solution(self, state: BoxState) -> np.ndarray:
        return state.beta

    def reactivate(self, state: BoxState) -> None:
        state.widen()

    def resync(self, state: BoxState, certificate: Certificate) -> None:
        state.resync(certificate)


@dataclass(frozen=True)
class Pairwise(Decomposition):
    """Base of SMO, which optimises over two points at a time.

    Attributes
    ----------
    second : bool
        Whether the second point is chosen by the second-order rule (Fan, Chen, Lin 2005, WSS 2).
    """

    second: ClassVar[bool] = True
    further: ClassVar[tuple[type[Problem], ...]] = (OneClassQP, NuQP)
    by_slices: ClassVar[bool] = True

    def for_pairs(self) -> SolvesPairs | None:
        from svmkit_decomposition.pairs import solve_pairs  # here: few solves need it

        return partial(solve_pairs, second=self.second) if getattr(self, "loss", "") == "hinge" else None

    def init(self, problem, start: np.ndarray | None, draws: Draws) -> BoxState | CompleteState | NuState:  # type: ignore[override]
        if isinstance(problem, NuQP):
            return NuState(problem, start, self.second)
        if isinstance(problem.gram, CompleteGram):
            return CompleteState(problem, start, draws.goal, self.second)
        return super().init(problem, start, draws)

    def step(self, state: BoxState | CompleteState | NuState) -> StepInfo:
        return super().step(state) if isinstance(state, BoxState) else state.step()

    def details(self, state: BoxState | CompleteState | NuState) -> dict[str, float]:
        return state.details() if isinstance(state, NuState) else {}

    def advance(self, state: BoxState, most: int, target: float) -> tuple[int, float, bool]:
        rows = state.source.row_table
        done, change, missing = smo_steps.take_steps(
            (state.box,), rows, state.pairs, self.second, most, target, state.epsilon, 0.0
        )
        if missing >= 0:
            state.source.row(missing, partial(state.likely, missing))
        return done, change, missing < 0
