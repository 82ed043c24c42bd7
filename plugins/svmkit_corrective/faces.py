"""Solves of a SimplexQP over the faces of the simplex, and their first rounds if each point has a ridge."""

from __future__ import annotations

import numpy as np

from svmkit.problems.certificate import relative_gap
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.sampler import Draws
from svmkit.solver.smo import box as smo_box
from svmkit_corrective.corrective_state import WHOLE, CorrectiveState, StandardForm
from svmkit_corrective.landmarks import Start, find_start, weights_at
from svmkit_corrective.rounds import Phase

MOST = 30_000  # points up to which first rounds on all points are considered,
FEW = 5_000  # and up to which they are worth their kernel values even if less than half of the points keep weights
MOSTLY = 0.7  # like `WHOLE`: partial changes leave weights that should be 0
NEAR = 0.01  # relative gap at their start up to which they are also worth it
FALL = 0.8  # reduction of the relative gap by a round on all points, above which working sets are solved instead


class FaceState(CorrectiveState):
    """The iterate of a solve of a SimplexQP over the faces of the simplex; the gap is 2 (f - min g)."""

    def __init__(self, problem: SimplexQP, point: np.ndarray, draws: Draws) -> None:
        m = problem.m
        origin = np.zeros(m) if problem.linear_term is None else problem.linear_term
        form = StandardForm(np.ones(m), np.zeros(m), np.full(m, np.inf), origin, problem.y, problem.bias, 2.0)
        super().__init__(problem, form, point, draws)

    def find_level(self):
        return float(self.box.beta @ self.box.v)

    def total_gap(self):
        return _simplex_gap(self.box)

    def inner_gap(self):
        return _simplex_gap(self.inner)

    def objective(self):
        return float(self.box.beta @ (self.box.v + self.form.origin))

    def relative_gap(self, gap):
        primal, dual = self.problem.values(self.box.beta, self.box.v)
        return relative_gap(primal - dual, dual)


class SpreadState(FaceState):
    """The iterate of a solve that begins with weights on most points, if each has a ridge, as in one-class models.

    A ridge keeps weights small and most of them above 0. The first rounds therefore move all weights at once, to the
    minimum of the objective with all but the ridge replaced by its tangent (a proximal step), or by exact line search a
    part of the way. When the gap no longer falls fast enough, rounds over working sets follow.
    """

    def __init__(self, problem: SimplexQP, start: Start, draws: Draws) -> None:
        super().__init__(problem, start.point, draws)
        self.whole, self.expected = MOSTLY, start.gap

    @property
    def ends(self):
        return self.expected <= self.goal if self.phase is Phase.START else super().ends

    def effect(self, weights, idx):
        if self.whole == WHOLE:
            return super().effect(weights, idx)
        return self.problem.image(weights, idx, dtype=np.float32)

    def spread(self):
        if self.whole == WHOLE or (self.before < 1.0 and self.relative > FALL * self.before):
            self.whole = WHOLE
            return False
        box = self.box
        change = weights_at(box.v - self.problem.ridge * box.beta, self.problem.ridge) - box.beta
        self.changed = np.flatnonzero(change)
        self.change = change[self.changed]
        box.beta[self.changed] += self.change
        self.phase = Phase.SYNCING
        return self.behind


def spread_start(problem: SimplexQP, goal: float) -> Start | None:
    """Return the start of rounds on all points; None for a problem whose first rounds should not move all weights.

    Parameters
    ----------
    problem, goal : SimplexQP, float
        The problem, and the requested relative gap.
    """
    if not problem.is_gap_squared or problem.m > MOST:
        return None
    start = find_start(problem, goal)
    mostly = start.gap < 1.0 and 2 * np.count_nonzero(start.point) > problem.m
    return start if problem.m <= FEW or start.gap <= NEAR or mostly else None


def _simplex_gap(box: smo_box.Box) -> float:
    return 2.0 * max(float(box.beta @ box.v) - float(box.beta.sum()) * float(box.v.min()), 0.0)
