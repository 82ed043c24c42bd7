"""The gap that a certificate would have, from a report whose gap is that of the solver's own objective."""

from __future__ import annotations

import math
from typing import Any

from svmkit.problems.base import Problem
from svmkit.problems.certificate import Certificate, relative_gap
from svmkit.solver.base import Solver
from svmkit.solver.step_info import StepInfo

STEEPEST = 30.0  # largest factor by which a certificate may raise the factor of the square


class Estimate:
    """Translates reports in the solver's own units (`StepInfo.in_own_units`) if a gap of `limit` is requested.

    A solver that keeps the gradient of all points computes P and D in one pass over them (`Solver.bounds`), after the
    first step and each time the iterations have grown by 3 %. Otherwise the gap is estimated as a multiple of the
    square of the reported gap, with the factor found by the last certificate.
    """

    def __init__(self, problem: Problem, solver: Solver, limit: float, n_iter: int) -> None:
        self._problem, self._solver, self._limit = problem, solver, limit
        self._next_look = n_iter + 1
        self._factor, self._own = 1.0, math.inf

    def refine(self, info: StepInfo, state: Any, n_iter: int) -> StepInfo:
        """Return the report with the estimated gap of a certificate; inf if none is computed this time.

        Parameters
        ----------
        info, state, n_iter : StepInfo, object, int
            The solver's report, its state, and the iterations so far.
        """
        is_own = info.in_own_units and not info.full and self._problem.is_gap_squared
        if self._limit == math.inf or not is_own:
            return info
        if not info.sampled:
            if n_iter < self._next_look and info.moved:
                return info._replace(gap=math.inf)
            self._next_look = n_iter + max(1, n_iter // 32)
            bounds = self._solver.bounds(state)
            if bounds is not None:
                return info._replace(gap=self._relative_gap(info.gap, *bounds))
        self._own = info.gap
        return info._replace(gap=min(info.gap, self._factor * info.gap**2))

    def learn(self, certificate: Certificate) -> None:
        """Learn the factor from a certificate of the iterate that was reported last."""
        if certificate.gap and 0.0 < self._own < math.inf:
            self._factor = min(STEEPEST, certificate.gap / self._own**2)

    def _relative_gap(self, own: float, primal: float, dual: float) -> float:
        """Return the relative gap of P and D; the reported one if they prove nothing."""
        gap = relative_gap(primal - dual, dual)
        return own if gap <= self._limit and self._problem.gram.definiteness.flaw is not None else gap
