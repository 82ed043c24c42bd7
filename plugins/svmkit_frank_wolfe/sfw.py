"""Stochastic Frank-Wolfe, without and with away steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from svmkit.errors import InputError
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.capabilities import LearnsFromStreams
from svmkit.solver.sampler import Draws, Permuted, Sampler
from svmkit.solver.step_info import StepInfo
from svmkit_frank_wolfe.iterate import loops
from svmkit_frank_wolfe.iterate.state import Direction, SimplexState
from svmkit_frank_wolfe.steps import oracle
from svmkit_frank_wolfe.steps.oracle import Choice
from svmkit_frank_wolfe.steps.step import FrankWolfe

BATCH = 64  # a panel of sparse rows of X costs little more than a few single rows


class _Batch(NamedTuple):
    """Samples, their kernel values with the n points tracked at that time (q, n), and among themselves (q, q)."""

    points: np.ndarray
    values: np.ndarray
    between: np.ndarray


class ArrivalState(SimplexState):
    """State of a solve whose working set grows by arriving samples, with kernel values a batch ahead."""

    def __init__(self, problem: SimplexQP, point: np.ndarray, draws: Draws, keeps: int, everything: bool) -> None:
        super().__init__(problem, point, draws, keeps, everything)
        self._await_samples()

    def renew(self, problem: SimplexQP, draws: Draws) -> None:
        super().renew(problem, draws)
        self._await_samples()

    def _await_samples(self) -> None:
        self._drawn, self._at = np.empty(0, dtype=np.int64), 0
        self._batch = _Batch(self._drawn, np.empty((0, 0)), np.empty((0, 0)))
        self._joined: dict[int, int] = {}  # position -> number in the batch, of samples that joined since

    def next_sample(self) -> int:
        """Return the next sample of the draws, in their order; `row_of_sample` gives its kernel values."""
        self._at += 1
        if self._at >= len(self._batch.points):
            while not self._drawn.size:
                self._drawn = self.draws()
            points, self._drawn = self._drawn[:BATCH], self._drawn[BATCH:]
            gram = self.problem.gram
            self._batch = _Batch(points, gram.block(points, self.tracked.idx), gram.block(points, points))
            self._at = 0
            self._joined.clear()
        return int(self._batch.points[self._at])

    def row_of_sample(self) -> np.ndarray:
        """Return the kernel values (n,) of the sample with all n tracked points."""
        known, row = self._batch.values[self._at], np.empty(self.tracked.n)
        row[: len(known)] = known
        for position, q in self._joined.items():
            row[position] = self._batch.between[self._at, q]
        return row

    def join(self, point: int, g: float, row: np.ndarray) -> int:
        """Track a sample if the budget of support vectors allows it; return its position, -1 if it stays out.

        Parameters
        ----------
        point, g, row : int, float, ndarray
            The sample, the gradient there, and its values (n,) with the points that are tracked.
        """
        position = oracle.join(self, point, np.full(self.keeps, g), row)
        if position >= 0:
            self._joined[position] = self._at
        return position


@dataclass(frozen=True)
class SFW(LearnsFromStreams, FrankWolfe):
    """Stochastic Frank-Wolfe (Ouyang, Gray 2010, Algorithms 1 and 2): samples arrive one at a time, streams included.

    A sample joins the working set when its g is at most the lowest g inside. Then one toward step goes to the best
    vertex of the working set. An iteration is an arrival, and m of them are an epoch; the sampler gives the order, by
    default a fresh permutation in each epoch. A step scales alpha in O(1) and g in one pass over the working set.
    """

    name = "sfw"
    sampler: ClassVar[Sampler] = Permuted(BATCH)
    tracks_all: ClassVar[bool] = False
    state_class: ClassVar[type[ArrivalState]] = ArrivalState

    def origin(self, problem: SimplexQP, rng: np.random.Generator) -> np.ndarray:
        point = np.zeros(problem.m)  # line 1
        point[rng.integers(problem.m)] = 1.0
        return point

    def prepare(self, state: ArrivalState) -> None:
        """Do nothing: a sample arrives with the step."""

    def choose(self, state: ArrivalState) -> Choice:
        """Choose the next sample if its g is at most the lowest in the working set, else the best vertex of the set.

        A sample that is chosen joins the working set (Algorithm 1, lines 4 to 9).
        """
        p, point, inside = state.problem, state.next_sample(), int(state.g.argmin())
        lowest = float(state.g[inside])
        if state.tracked.position[point] < 0:
            row = state.row_of_sample()
            g = p.y[point] * state.scales[0] * loops.gradient_at(row, state.w, state.tracked.y, p.bias)
            if p.linear_term is not None:
                g += p.linear_term[point]
            if g <= lowest:
                return Choice(state.join(point, g, row), g, 1, True)
        return Choice(inside, lowest, 1, True)

    def members(self, state: ArrivalState) -> np.ndarray:
        return state.tracked.idx

    def renew(self, state: ArrivalState, problem: SimplexQP, draws: Draws) -> None:
        """Continue on the problem of the next block, whose new samples arrive one at a time.

        Parameters
        ----------
        state, problem, draws : ArrivalState, SimplexQP, Draws
            As for `LearnsFromStreams.renew`.
        """
        state.renew(problem, draws)

    def step(self, state: ArrivalState) -> StepInfo:
        info = self.look(state)  # the estimates are for the iterate before the step
        state.advance(self.direction(state))
        return info._replace(objective=state.objective, n_support=state.active)


@dataclass(frozen=True)
class MSFW(SFW):
    """Modified SFW (Ouyang, Gray 2010, Algorithms 1, 3 and 4): toward or away steps inside the working set.

    An away step to the bound drops a point from the support; the point stays in the working set, where it can return.

    Parameters
    ----------
    away : str, default="set"
        Where the away vertex is sought. "set" is the whole working set, as Algorithm 4 prints it: if the vertex has no
        weight, a toward step is taken; this gives the published numbers of support vectors. "support" is the points
        with weight, as in MFW: more points are dropped, and the solve converges faster in the end.

    Raises
    ------
    InputError
        If `away` is neither.
    """

    name = "msfw"

    away: str = "set"

    def __post_init__(self) -> None:
        if self.away not in ("set", "support"):
            raise InputError(f"msfw: away must be set or support, not {self.away!r}")

    def direction(self, state: ArrivalState) -> Direction:
        if self.away == "set" and state.w[state.g.argmax()] == 0.0:
            return state.toward()
        return state.toward_or_away()
