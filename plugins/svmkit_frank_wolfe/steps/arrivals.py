"""Samples that arrive one at a time, with kernel values that are computed a batch ahead."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit.problems.simplex import SimplexQP
from svmkit.solver.sampler import Draws
from svmkit_frank_wolfe.iterate import loops
from svmkit_frank_wolfe.iterate.state import SimplexState
from svmkit_frank_wolfe.steps import oracle
from svmkit_frank_wolfe.steps.oracle import Choice

BATCH = 64  # a panel of sparse rows of X costs little more than a few single rows


class _Batch(NamedTuple):
    """Samples, their kernel values with the n points tracked at that time (q, n), and among themselves (q, q)."""

    points: np.ndarray
    values: np.ndarray
    between: np.ndarray


class ArrivalState(SimplexState):
    """State of a solve whose working set grows by arriving samples."""

    def __init__(self, problem: SimplexQP, point: np.ndarray, draws: Draws, keeps: int, everything: bool) -> None:
        super().__init__(problem, point, draws, keeps, everything)
        self.arrivals = Arrivals()

    def renew(self, problem: SimplexQP, draws: Draws) -> None:
        super().renew(problem, draws)
        self.arrivals = Arrivals()


class Arrivals:
    """The samples of a state's `draws`, in their order, a batch at a time.

    It is a part of the state and has no reference back to it: a cycle would keep the kernel values of the working set
    alive until the garbage collector runs.
    """

    def __init__(self) -> None:
        self._drawn = np.empty(0, dtype=np.int64)
        self._at = 0
        self._batch = _Batch(self._drawn, np.empty((0, 0)), np.empty((0, 0)))
        self._joined: dict[int, int] = {}  # position -> number in the batch, of samples that joined since

    def next(self, state: ArrivalState) -> int:
        """Return the next sample; `row` gives its kernel values."""
        self._at += 1
        if self._at >= len(self._batch.points):
            self._fetch(state)
        return int(self._batch.points[self._at])

    def _fetch(self, state: ArrivalState) -> None:
        while not self._drawn.size:
            self._drawn = state.draws()
        points, self._drawn = self._drawn[:BATCH], self._drawn[BATCH:]
        gram, idx = state.problem.gram, state.tracked.idx
        self._batch = _Batch(points, gram.block(points, idx), gram.block(points, points))
        self._at = 0
        self._joined.clear()

    def row(self, n: int) -> np.ndarray:
        """Return the kernel values (n,) of the sample that `next` gave with all n tracked points."""
        known = self._batch.values[self._at]
        row = np.empty(n)
        row[: len(known)] = known
        for position, q in self._joined.items():
            row[position] = self._batch.between[self._at, q]
        return row

    def mark_joined(self, position: int) -> None:
        """Note that the sample that `next` gave is tracked at `position` now."""
        self._joined[position] = self._at


def arrival(state: ArrivalState) -> Choice:
    """Choose the next sample if its g is at most the lowest in the working set, otherwise the best vertex of the set.

    A sample that is chosen joins the working set (SFW paper, Algorithm 1, lines 4-9).
    """
    p, arrivals = state.problem, state.arrivals
    point = arrivals.next(state)
    inside = int(state.g.argmin())
    lowest = float(state.g[inside])
    if state.tracked.position[point] >= 0:
        return Choice(inside, lowest, 1, True)
    row = arrivals.row(state.tracked.n)
    g = p.y[point] * state.scales[0] * loops.gradient_at(row, state.w, state.tracked.y, p.bias)
    if p.linear_term is not None:
        g += p.linear_term[point]
    if g > lowest:
        return Choice(inside, lowest, 1, True)
    position = oracle.join(state, point, np.full(state.keeps, g), row)
    if position >= 0:
        arrivals.mark_joined(position)
    return Choice(position, g, 1, True)
