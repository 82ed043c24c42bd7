"""Solves of a SimplexQP over the faces of the simplex, and their first rounds where each point has a ridge."""

from __future__ import annotations

import numpy as np

from svmkit.problems.certificate import relative_gap
from svmkit.problems.one_class import pick_evenly
from svmkit.problems.simplex import SimplexQP, level_of
from svmkit.solver.smo import box as smo_box
from svmkit_corrective.corrective_state import WHOLE, CorrectiveState, StandardForm
from svmkit_corrective.rounds import Phase

MOST = 30_000  # points at most that first rounds on all points are for,
FEW = 5_000  # and up to which they are worth their kernel values even if less than half of the points keep weights
LEAST, SHARE, LARGEST = 200, 8, 1_000  # points that the start is found from: one in so many, at least, at most
ENOUGH, ROUNDS = 0.01, 30  # part of the objective by which it still falls on them, and the steps there, at the end
MOSTLY = 0.7  # as `WHOLE`: parts of the way leave weights where none should stay
FALL = 0.8  # of the relative gap by a round on all points, above which working sets are solved instead


class FaceState(CorrectiveState):
    """The iterate of a solve of a SimplexQP over the faces of the simplex; the gap is 2 (f - min g)."""

    def __init__(self, problem: SimplexQP, point: np.ndarray, rng: np.random.Generator) -> None:
        m = problem.m
        origin = np.zeros(m) if problem.linear_term is None else problem.linear_term
        form = StandardForm(np.ones(m), np.zeros(m), np.full(m, np.inf), origin, problem.y, problem.bias, 2.0)
        super().__init__(problem, form, point, rng)

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
    """The iterate of a solve that begins with weights on most points, where each has a ridge, as in one-class models.

    A ridge keeps weights small and most of them above 0. The first rounds therefore move all weights at once, to where
    the objective is least when its tangent stands for all but the ridge (a proximal step), or by exact line search a
    part of the way. When the gap falls no longer fast enough, rounds over working sets follow.
    """

    def __init__(self, problem: SimplexQP, point: np.ndarray, rng: np.random.Generator) -> None:
        super().__init__(problem, point, rng)
        self.whole = MOSTLY

    def effect(self, weights, idx):
        if self.whole == WHOLE:
            return super().effect(weights, idx)
        return self.problem.image(weights, idx, dtype=np.float32)

    def spread(self):
        if self.whole == WHOLE or (self.before < 1.0 and self.relative > FALL * self.before):
            self.whole = WHOLE
            return False
        box = self.box
        change = _weights(box.v - self.problem.ridge * box.beta, self.problem.ridge) - box.beta
        self.changed = np.flatnonzero(change)
        self.change = change[self.changed]
        box.beta[self.changed] += self.change
        self.phase = Phase.SYNCING
        return self.behind


def _weights(h: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    """Return the weights (m,) of the simplex that minimise sum 2 h_i a_i + ridge_i a_i^2."""
    weights = np.maximum(level_of(h, ridge) - h, 0.0) / ridge
    return weights / weights.sum()


def spread_point(problem: SimplexQP) -> np.ndarray | None:
    """Return the point to which a proximal step leads from the solution for some of the points.

    None stands for a problem whose first rounds should not move the weights of all points.
    """
    if not problem.is_gap_squared or problem.m > MOST:
        return None
    at = pick_evenly(problem.m, min(max(LEAST, problem.m // SHARE), LARGEST))
    alpha, h = _solve_some(problem, at)
    if len(at) < problem.m:
        h = problem.image(alpha, at, dtype=np.float32)
        h[at] -= problem.ridge[at] * alpha
        h = h if problem.linear_term is None else h + problem.linear_term
    point = _weights(h, problem.ridge)
    return point if problem.m <= FEW or 2 * np.count_nonzero(point) > problem.m else None


def _solve_some(problem: SimplexQP, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weights of the points `at` that solve the problem for them, roughly, as they stand for all points, and
    half the gradient there without the ridge.
    """
    ridge, sign = problem.ridge[at] * (len(at) / problem.m), problem.y[at]
    A = (problem.gram.block(at, at) + problem.bias) * sign * sign[:, None]
    c = np.zeros(len(at)) if problem.linear_term is None else problem.linear_term[at]
    alpha = _weights(c, ridge)
    h = A @ alpha + c
    for _ in range(ROUNDS):
        change = _weights(h, ridge) - alpha
        image = A @ change
        slope, curvature = float(change @ (h + ridge * alpha)), float(change @ (image + ridge * change))
        part = min(1.0, -slope / curvature) if curvature > 0.0 else 1.0
        if not -part * slope > ENOUGH * abs(float(alpha @ (h + ridge * alpha))):
            break
        alpha, h = alpha + part * change, h + part * image
    return alpha, h


def _simplex_gap(box: smo_box.Box) -> float:
    return 2.0 * max(float(box.beta @ box.v) - float(box.beta.sum()) * float(box.v.min()), 0.0)
