"""The iterate of Newton's method on rows on disk, each of which is read once a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from svmkit.problems.certificate import relative_gap
from svmkit.problems.risks.linear_risk import LinearDual, PairSums
from svmkit.runtime.mapping import examination_of, is_mapped, size_of
from svmkit_newton.hessian import Rough
from svmkit_newton.passes import NONE, Look, look
from svmkit_newton.proximal import shares_of
from svmkit_newton.samples import sum_slopes
from svmkit_newton.sums import FIRST
from svmkit_newton.tall import Tall

SETTLED = 0.01  # part of the rows in the Hessian whose change explains no more than
LEFT = 0.01  # this part of the square of the gradient after a step; more is due to the precision of the Hessian
RUN = 64  # consecutive rows of a sample
PART = 4  # of the memory that a sample takes
NEARLY = 0.05  # how far a step is from 1 that is made a whole one: what the sample says of it has errors of its own
FEWEST, MOST = 512, 16_384  # rows of a sample
HALF = 2  # of the memory that the sample takes at whose optimum a solve begins
EACH = 50  # rows for each column that it has at least: of fewer the optimum is no better than 0 to begin at
ONE_IN = 4  # rows of which it has one at the most
CLOSE = 0.1  # gap at which it is solved: its own error is many times as large
STEPS = 20  # on it at the most
FAR = 1e4  # times the gap asked for, from which on the next pass is not the last one


def is_on_disk(problem: LinearDual, wide: int) -> bool:
    """Return whether the rows are mapped to a file, with a matrix of up to `wide` columns, and no loss has a kink.

    Around a centre of losses with kinks, whole steps are often too long.
    """
    return problem.design.width <= wide and is_mapped(problem.design.rows) and not shares_of(problem.points).size


class FromDisk(Tall):
    """The iterate on mapped rows: a pass over them computes P, D, gradient and Hessian at a whole step.

    The Hessian takes up the rows whose second derivative has changed while they are in memory, in float32 as long as
    that does not spoil a step; whatever it is, P and D and the gradient are those of float64. The answer has the best
    dual weights and the best w, which need not be their image. A pass that may be the last one has the products that
    the certificate needs computed as well, by `PairSums`.
    """

    def __init__(
        self,
        problem: LinearDual,
        start: np.ndarray | None,
        goal: float,
        over: Callable[[], bool] = lambda: False,
        earlier: Mapping[str, Any] | None = None,
    ) -> None:
        self._matrix = Rough(problem.design, np.zeros(problem.design.width))
        is_new = examination_of(problem.gram.engine.X) is not None
        self._sample: LinearDual | None = None
        self._lowest, self._kept = np.inf, NONE  # the P of the answer, and w where the dual weights are from
        self._last: PairSums | None = None  # of the last pass
        self._sums: PairSums | None = None  # of the best dual weights
        super().__init__(problem, start, goal, over, earlier)
        if is_new:
            problem.forget_points()
            if self._matrix.single and self._matrix.overflows():  # which was not known before that pass
                self._matrix.refine()
                self.begin()

    def _first_guess(self, over: Callable[[], bool]) -> np.ndarray | None:
        return _optimum_of_runs(self.problem, over)

    def looks(self) -> tuple[Look]:
        p, matrix = self.problem, self._matrix
        if self._sums is not None:
            self._sums.drop()  # so that the X w of two passes are never there at once
        self._last, self._beta = None, NONE
        if is_mapped(p.design.rows) and self.gap <= FAR * self.goal:
            self._last = p.begin_pair(self._w)
        self._beta = np.empty(p.m) if self._last is None else self._last.beta
        matrix.begin_pass()
        seen = look(p.design, p.points, self._w, beta=self._beta, is_curved=False, behind=self._take_rows)
        matrix.end_pass()
        return (seen._replace(curved=matrix.H),)

    def _take_rows(self, lo: int, hi: int, curvature: np.ndarray) -> None:
        """Take what the Hessian and a certificate need of rows that have been looked at."""
        self._matrix.take_rows(lo, hi, curvature)
        if self._last is not None:
            self._last.add(lo, hi)

    def keep(self) -> None:
        self._kept, self._solution = self._w, None
        self._best, self._beta = self._beta, NONE  # the best ones so far may belong to others
        self._sums, self._last = self._last, None

    def solution(self) -> np.ndarray:
        self._last, self._beta = None, NONE
        if self._solution is None:
            own = self._sums.balance if self._sums is not None and self.problem.is_free else None
            self._solution = own() if own else self.problem.balanced(self._best, self._best)
        self.problem.pair(self._solution, self._answer, self._sums)
        return self._solution

    def propose(self, s: np.ndarray, steep: float) -> tuple[float, bool]:
        """Propose the step at which the slopes of a sample vanish.

        Their errors at the beginning, which are known, are subtracted as far as the rows are still curved. So where no
        second derivative changes, that is the whole step.
        """
        if self._sample is None:
            rows = _spread_runs(self.problem)
            if len(rows) < FEWEST:
                return super().propose(s, steep)
            self._sample = self.problem.sample(rows)
        sample, size, steps = self._sample, self.penalty * s, np.append(0.0, FIRST)
        given = *sample.points, sample.decision(self._w), sample.decision(s)
        slopes, rates, _ = np.transpose([sum_slopes(*given, t, 0, sample.m) for t in steps])
        along, square = float(self._w @ size), float(s @ size)
        if not rates[0] > 0.0:
            return super().propose(s, steep)
        kept = np.minimum(rates / rates[0], 1.0)
        off = steep - along - slopes[0] + steps * (-steep - square - rates[0])
        slopes += along + square * steps + kept * off
        k = int(np.count_nonzero(slopes < 0.0))
        if k == len(steps):
            return float(steps[-1]), False
        part = slopes[k - 1] / (slopes[k - 1] - slopes[k])
        t = float(steps[k - 1] + part * (steps[k] - steps[k - 1]))
        return t if abs(t - 1.0) > NEARLY else 1.0, False

    def move(self, most: int) -> tuple[int, float, np.ndarray | None]:
        before, matrix = self.excess, self._matrix
        moved = super().move(most)
        if matrix.single and matrix.changed <= SETTLED and self.gap > self.goal and self.excess > LEFT * before:
            matrix.refine()
        return moved

    def _gap(self) -> float:
        if self.primal < self._lowest:
            self._lowest, self._answer = self.primal, self._w
        least = self.excess if self._answer is self._kept is self._w else 0.0  # which has no rounding errors of P and D
        return relative_gap(max(self._lowest - self.dual, least), self.dual)


def _optimum_of_runs(problem: LinearDual, over: Callable[[], bool]) -> np.ndarray | None:
    """Return about the weights (width,) at the optimum of rows all over X that fit the memory; None if they are few."""
    rows = _spread_runs(problem, HALF, problem.m // ONE_IN)
    if len(rows) < EACH * problem.design.width:
        return None
    terms = problem.take_terms(rows)
    if not (terms.lower.any() and terms.upper.any()):
        return None  # the bias would have no optimum
    problem.drop_points()  # so that they are not there at once with the sample
    state = FromDisk(problem.sample(rows), None, CLOSE, over)
    for _ in range(STEPS):
        if state.gap <= CLOSE or over():
            break
        state.move(1)
    return state.w


def _spread_runs(problem: LinearDual, part: int = PART, most: int = MOST) -> np.ndarray:
    """Return the numbers of up to `most` rows in runs all over X, which take a part of the memory or are all."""
    budget, m = problem.gram.budget // part, problem.m
    n = max(min(m, most, budget * m // size_of(problem.gram.engine.X)), 1)
    starts = np.linspace(0, m - 1, -(-n // RUN), dtype=np.int64)
    return np.unique(np.minimum(starts[:, None] + np.arange(RUN), m - 1))
