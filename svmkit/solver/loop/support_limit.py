"""The limit on support vectors: the result of a solve never has more, with any solver."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from svmkit.errors import InputError
from svmkit.problems.certificate import Certificate
from svmkit.solver.capabilities import LimitsSupport
from svmkit.solver.loop.iterate import Iterate
from svmkit.solver.step_info import StepInfo
from svmkit.solver.stopping import Stop, Support

SCALES = tuple(0.5**k for k in range(8))  # a few of many vectors with their original weights can be too much


class SupportLimit:
    """The limit on support vectors of one solve.

    A solver that `LimitsSupport` is given the limit and continues within it. Any other solver takes steps until one of
    them exceeds the limit. The solve then ends at the better of two points: the best iterate within the limit, and the
    last iterate without its smallest weights.
    `most` is the largest number of support vectors, inf if no rule limits them, and `rules` are the other stop rules.
    InputError if the problem is linear, so that its models have weights of the columns and no support vectors, or a
    ranking, whose points are not weights of samples.
    """

    def __init__(self, iterate: Iterate, rules: Stop) -> None:
        solver, self._iterate = iterate.solver, iterate
        self.most = min((math.floor(r.limit) for r in rules.criteria if isinstance(r, Support)), default=math.inf)
        self.rules = Stop(tuple(rule for rule in rules.criteria if not isinstance(rule, Support)))
        self._watched = self.most < math.inf
        self._best: np.ndarray | None = None
        self._objective = math.inf
        if not self._watched:
            return
        if iterate.problem.task == "rank":
            raise InputError("a limit on support vectors is for classes, quantities and outliers: leave it out")
        if iterate.problem.is_linear:
            raise InputError(
                f"a limit on support vectors does not go with {solver.name} and the linear kernel: its model is one "
                "weight for each column, without support vectors; leave the limit out, or take swap2o"
            )
        if isinstance(solver, LimitsSupport):
            solver.limit_support(iterate.state, int(self.most))
            self._watched = False
        else:
            self._keep(iterate.point(), math.inf)

    def passed(self, info: StepInfo) -> bool:
        """Return whether the step has exceeded the limit; otherwise remember the iterate if it is the best so far."""
        if not self._watched:
            return False
        if info.n_support > self.most:
            return True
        if not info.objective > self._objective:  # an objective of nan says nothing: the last iterate is kept
            self._keep(self._iterate.point(), info.objective)
        return False

    def _keep(self, point: np.ndarray, objective: float) -> None:
        if np.count_nonzero(point) <= self.most:
            self._best, self._objective = point, objective

    def fall_back(self, info: StepInfo) -> StepInfo:
        """Set the iterate, which has exceeded the limit, to the best point within it, and report on this point."""
        problem, point = self._iterate.problem, self._iterate.point()
        point, certificate = self.enforce(point, problem.certificate(point))
        self._iterate.fallen_back = point
        objective = math.nan if math.isnan(info.objective) else problem.objective(point)
        gap, D = certificate.gap, certificate.dual
        info = StepInfo(objective, int(np.count_nonzero(point)), info.epochs, steps=info.steps)
        return info if gap is None or D is None else info._replace(gap=gap, gap_abs=certificate.primal - D)

    def enforce(self, point: np.ndarray, certificate: Certificate) -> tuple[np.ndarray, Certificate]:
        """Return a point with its certificate, replaced by the best point within the limit if it exceeds it."""
        if self.most == math.inf or np.count_nonzero(point) <= self.most:
            return point, certificate
        problem = self._iterate.problem
        kept = [*self._trim(point, certificate), *([] if self._best is None else [self._best])]
        return min(((p, problem.certificate(p)) for p in kept), key=lambda pair: pair[1].primal)

    def _trim(self, point: np.ndarray, certificate: Certificate) -> Iterator[np.ndarray]:
        """Yield the point without its smallest coefficients, at several scales if the problem has a scale.

        Both classes keep a coefficient if there is room for two.
        """
        iterate, most = self._iterate, int(self.most)
        coef = iterate.problem.decision_function(point, certificate).coef
        order = np.argsort(-np.abs(coef), kind="stable")
        order = order[coef[order] != 0.0]
        chosen, left = order[:most], order[most:]
        other = left[coef[left] * coef[chosen[0]] < 0.0]
        if most > 1 and other.size and (coef[chosen] * coef[chosen[0]] > 0.0).all():
            chosen[-1] = other[0]
        reduced, before = np.zeros_like(coef), None
        for scale in SCALES:
            reduced[chosen] = scale * coef[chosen]
            trimmed = iterate.problem.start(reduced)
            if trimmed is None:  # no point has these coefficients: take the start of a solve, within the limit
                trimmed = iterate.solver.solution(iterate.begin(None))
                if np.count_nonzero(trimmed) > most:  # for a solver that starts with all points: no point at all
                    trimmed = np.zeros_like(point)
                    if iterate.problem.infeasible(trimmed) is not None:
                        continue
            if before is None or not np.allclose(trimmed, before):
                yield trimmed
            before = trimmed
