"""The base of the family, and of its methods that optimise over two points at a time."""

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
from svmkit.problems.nu_dual import NuQP
from svmkit.problems.one_class import OneClassQP
from svmkit.problems.tube import TubeQP
from svmkit.solver.base import Solver, libsvm_patience
from svmkit.solver.requirements import Reads
from svmkit.solver.sampler import Draws
from svmkit.solver.smo.pairs import SolvesPairs
from svmkit.solver.smo.steps import take_steps
from svmkit.solver.step_info import StepInfo
from svmkit_decomposition.complete import CompleteState
from svmkit_decomposition.decomposition_state import BoxState, NuState, SolveState


@dataclass(frozen=True)
class Decomposition(Solver):
    """Base of the family: a variant chooses the points that it optimises over while the others are fixed.

    Samplers have no effect: all points are considered. `shrinking` says whether points are left out while their weights
    stay at a bound.
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

    def init(self, problem, start: np.ndarray | None, draws: Draws) -> SolveState:
        """Return the state at `start`, or at the first feasible point of the problem.

        Parameters
        ----------
        problem, start, draws : Problem, ndarray or None, Draws
            As for `Solver.init`.
        """
        return BoxState(problem, problem.first_point() if start is None else start.copy())

    def step(self, state: SolveState) -> StepInfo:
        return state.step(self)

    @abstractmethod
    def advance(self, state: BoxState, most: int, target: float) -> tuple[int, float, bool]:
        """Make up to `most` iterations, until the violation is <= target.

        Return the iterations made, the change of the objective, and whether no iteration is left for another call: a
        missing kernel row is fetched, and the remaining iterations are left.

        Parameters
        ----------
        state : BoxState
            The state, changed in place.
        most : int
            The largest number of iterations.
        target : float
            The violation of the optimality conditions at which to end, in units of the margin.
        """

    def solution(self, state: SolveState) -> np.ndarray:
        return state.point

    def reactivate(self, state: SolveState) -> None:
        state.widen()

    def resync(self, state: SolveState, certificate: Certificate) -> None:
        state.resync(certificate)

    def details(self, state: SolveState) -> dict[str, float]:
        return state.details()


@dataclass(frozen=True)
class Pairwise(Decomposition):
    """Base of SMO, which optimises over two points at a time.

    `second` says whether the second point is chosen by the second-order rule (Fan, Chen, Lin 2005, WSS 2).
    """

    second: ClassVar[bool] = True
    further: ClassVar[tuple[type[Problem], ...]] = (OneClassQP, NuQP)
    by_slices: ClassVar[bool] = True

    def for_pairs(self) -> SolvesPairs | None:
        from svmkit_decomposition.pairs import solve_pairs  # few solves need it

        return partial(solve_pairs, second=self.second) if getattr(self, "loss", "") == "hinge" else None

    def init(self, problem, start: np.ndarray | None, draws: Draws) -> SolveState:
        """Return the state at `start`, or at the first feasible point; nu and a `CompleteGram` have states of their
        own.

        Parameters
        ----------
        problem, start, draws : Problem, ndarray or None, Draws
            As for `Solver.init`.
        """
        if isinstance(problem, NuQP):
            return NuState(problem, problem.first_point() if start is None else start)
        if isinstance(problem.gram, CompleteGram):
            return CompleteState(problem, start, draws.goal)
        return super().init(problem, start, draws)

    def advance(self, state: BoxState, most: int, target: float) -> tuple[int, float, bool]:
        """Make up to `most` steps of SMO (`take_steps`); a missing kernel row is fetched and ends the call.

        Parameters
        ----------
        state, most, target : BoxState, int, float
            As for `Decomposition.advance`.
        """
        rows = state.source.row_table
        given = state.boxes, rows, state.pairs, self.second, most, target, state.kinks, 0.0
        done, change, missing = take_steps(*given)
        if missing >= 0:
            state.fetch(missing)
        return done, change, missing < 0
