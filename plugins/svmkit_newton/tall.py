"""The iterate of Newton's method on many rows of few columns: passes over X that keep nothing of a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from svmkit.problems.risks.linear_risk import LinearDual
from svmkit.runtime.mapping import is_mapped
from svmkit_newton.carried import read_carried
from svmkit_newton.hessian import Given
from svmkit_newton.passes import FEW, Curve, Look, look, slopes_along, total_loss
from svmkit_newton.proximal import LEAST, LEAST_CHANGE, shares_of
from svmkit_newton.sums import BySums

ONE_IN = 16  # rows of which one is in the sample at whose optimum a solve begins
SAMPLE = 8_192  # rows of a sample at least
CLOSE = 1e-3  # gap at which the sample is solved
STEPS = 40  # on it at the most


def is_tall(problem: LinearDual, wide: int) -> bool:
    """Return whether a problem of many samples, with a matrix of up to `wide` columns, has so few columns that these
    passes are the fastest.
    """
    return problem.design.width <= min(FEW, wide) and not is_mapped(problem.design.rows)


class Tall(BySums):
    """The iterate on the rows of X in memory, from dual weights (m,), from a sample or from 0."""

    def __init__(
        self,
        problem: LinearDual,
        start: np.ndarray | None,
        goal: float,
        over: Callable[[], bool] = lambda: False,
        earlier: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(problem, problem.design.width, problem.is_free, goal)
        self.hessian = Given(self.penalty)
        self._w, self._answer = np.zeros(len(self.penalty)), np.zeros(len(self.penalty))
        self._curve: Curve | None = None
        self._solution: np.ndarray | None = None
        shares = shares_of(problem.points)
        # the dual weights at the iterate and the best, where losses are bent
        self._beta, self._best = np.empty((2, problem.m if shares.size else 0))
        carried = read_carried(earlier, problem.design.width, shares)
        if carried is not None:
            self._w = carried.w
        elif start is not None:
            self._w = problem.weights(start)
        elif not shares.size and (w := self._first_guess(over)) is not None:
            self._w = w
        if problem.is_free and carried is None and (start is not None or shares.size):
            h = problem.decision(self._w) if self._w.any() else np.zeros(problem.m)
            self._w[-1] += problem.best_bias(h) / problem.bias
        if shares.size and carried is not None:
            self._curve, self.least = Curve(shares, carried.width, carried.centre), carried.least
        elif shares.size:
            self._bend(shares, 0.0 if start is None else problem.dual(start, problem.weights(start)), start)
        self.begin()

    def _first_guess(self, over: Callable[[], bool]) -> np.ndarray | None:
        """Return weights (width,) to begin at; None for 0."""
        return _optimum_of_sample(self.problem, over)

    def _bend(self, shares: np.ndarray, known: float, start: np.ndarray | None) -> None:
        """Bend losses with kinks by as much in sum as P is above the known D, or by a part of P if that is more."""
        m = self.problem.m
        size = self.penalty * self._w
        primal = 0.5 * float(size @ size) + self.loss_of(self._w)
        change = max(primal - known, LEAST_CHANGE * primal)
        width = change / float((1.0 / shares[shares > 0.0]).sum()) or 1.0
        self._curve = Curve(shares, width, np.zeros(m) if start is None else start.copy())
        self.least = LEAST * width

    @property
    def w(self) -> np.ndarray:
        return self._w

    @property
    def width(self) -> float:
        return self._curve.width if self._curve else 0.0

    def solution(self) -> np.ndarray:
        """Return the best dual weights (m,), feasible; the same array until there are better ones."""
        if self._solution is None:
            p = self.problem
            beta = self._best.copy() if self._best.size else np.empty(p.m)
            if not self._best.size:
                look(p.design, p.points, self._answer, beta=beta, is_curved=False)
            self._solution = p.balanced(beta)
        return self._solution

    def put(self, w: np.ndarray) -> None:
        self._w = w.copy()

    @property
    def centre(self) -> np.ndarray:
        """The centre (m,) around which losses with kinks are bent, where there are any."""
        assert self._curve is not None
        return self._curve.centre

    def looks(self) -> tuple[Look]:
        p = self.problem
        return (look(p.design, p.points, self._w, self._curve, beta=self._beta),)

    def slopes_along(self, s: np.ndarray, steps: np.ndarray) -> np.ndarray:
        return slopes_along(self.problem.design, self.problem.points, self._w, s, steps, self._curve)

    def loss_of(self, w: np.ndarray) -> float:
        return total_loss(self.problem.design, self.problem.points, w)

    def keep(self) -> None:
        self._answer, self._solution = self._w, None
        self._best[:] = self._beta

    def narrow_down(self, width: float) -> None:
        assert self._curve is not None
        self._curve.centre[:] = self._beta
        self._curve = self._curve._replace(width=width)

    def anew(self) -> None:
        """Do nothing: all numbers are those of a pass over X."""


def _optimum_of_sample(problem: LinearDual, over: Callable[[], bool]) -> np.ndarray | None:
    """Return about the weights (width,) at the optimum of one row in some; None if that would not help."""
    if problem.m < ONE_IN * SAMPLE:
        return None
    rows = np.arange(0, problem.m, ONE_IN)
    terms = problem.take_terms(rows)
    if not (terms.lower.any() and terms.upper.any()):
        return None  # the bias would have no optimum
    return solve_sample(problem.sample(rows), over)


def solve_sample(problem: LinearDual, over: Callable[[], bool] = lambda: False) -> np.ndarray:
    """Return about the weights (width,) at the optimum of a problem that is a sample of another one."""
    state = Tall(problem, None, CLOSE, over)
    for _ in range(STEPS):
        if state.gap <= CLOSE or over():
            break
        before = state.merit, state.dual, state.width
        state.move(1)
        if not (state.merit < before[0] or state.dual > before[1] or state.width < before[2]):
            break
    return state.w
