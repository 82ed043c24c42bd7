"""Coordinate descent over groups of columns, for the penalty that sets the weights of whole groups exactly to 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from svmkit.problems.risks.linear_risk import LinearRisk
from svmkit.solver.sampler import Draws
from svmkit_coordinate.group_penalty import Grouped, find_blocks, group_passes, group_violations, largest_eigenvalues
from svmkit_coordinate.primal_state import EASIER, FIRST, LEAST, NOTHING, Columns, State
from svmkit_coordinate.rows import Model, is_narrow

PASSES = 200  # passes on a model at most
SUFFICIENT = 0.1  # share of the decrease of P predicted by the model that a step must achieve
HALVES = 40  # halvings of a step that achieves less


class GroupColumns(Columns):
    """Columns of X, by whole groups, for passes of proximal steps."""

    def __init__(self, A: Any, m: int) -> None:
        super().__init__(A, m)
        self.curvature: np.ndarray | None = None  # (m,), for which `bends`, the largest of each group, hold
        self.bends = np.empty(0)

    def minimise(self, model: Model, goal: float, over: Callable[[], bool]) -> float:
        """Minimise a model by at most `PASSES` passes over the groups; return the equivalent passes over A.

        The largest curvatures of the groups are recomputed only if the curvature of the model has changed.

        Parameters
        ----------
        model, goal, over : Model, float, callable
            As for `Columns.minimise`.
        """
        if not np.array_equal(model.curvature, self.curvature):
            self.curvature = model.curvature.copy()
            self.bends = largest_eigenvalues(
                model.penalty.starts, lambda groups: find_blocks(self.A, model.curvature, groups)
            )
        given = self.A, model.curvature, self.bends, *model.penalty, model.z, -model.beta
        return float(group_passes(*given, PASSES, goal))


class GroupState(State):
    """State of a solve with groups: `violation`, `out` and the working set are of groups instead of columns.

    `starts` (n_groups + 1,) has the start of each group, and `weigh_by` (n_groups,) are the factors of the norms. An
    intercept is a last group of one column.
    """

    form = GroupColumns

    def __init__(self, problem: LinearRisk, start: np.ndarray | None, draws: Draws) -> None:
        d, width = problem.design.d, problem.design.width
        sizes = problem.penalty.sizes(width)
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.groups = np.repeat(np.arange(len(sizes)), sizes)[:d]  # of the columns
        self.weigh_by = np.sqrt(sizes.astype(np.float64))
        if width > d:
            self.weigh_by[-1] = 0.0 if problem.is_free else 1.0 / problem.design.bias
        self.n_groups = len(sizes) - (width > d)
        super().__init__(problem, start, draws)
        self.out = np.zeros(self.n_groups, dtype=bool)

    def measure(self) -> None:
        self.violation = np.empty(len(self.weigh_by))
        w = self._weights(np.arange(self.problem.design.d))
        self.worst = group_violations(self._pulls(self.v), w, self.starts, self.weigh_by, self.violation)

    def _leave_out(self, scale: float) -> None:
        """Leave out groups with |X_g'beta| < sqrt(n_g) for all dual points beta that the gap admits."""
        radius = np.sqrt(2.0 * max(self.primal - self.dual, 0.0) / self.ridge)
        at = self.starts[: self.n_groups]
        pulls = np.sqrt(np.add.reduceat(np.square(scale * self.v), at)) if at.size else np.zeros(0)
        norms = np.sqrt(np.add.reduceat(np.square(self.norms), at)) if at.size else np.zeros(0)
        self.out = pulls + radius * norms < self.weigh_by[: self.n_groups] * (1.0 - 1e-9)
        if self.v.size > self.problem.design.d:  # the last sum may contain the bias entry: it is kept
            self.out[-1:] = False

    def choose(self) -> np.ndarray:
        """Return the columns of the next working set: groups of non-zero weights, and groups with the largest
        violations.
        """
        if is_narrow(self.problem.design, self.flat):
            return np.arange(self.problem.design.d)
        at = self.starts[: self.n_groups]
        used = np.logical_or.reduceat(self.w[: self.problem.design.d] != 0.0, at)
        self.size = min(self.n_groups, max(FIRST, 2 * int(np.count_nonzero(used)), self.size))
        score = np.where(used, np.inf, np.where(self.out, 0.0, self.violation[: self.n_groups]))
        able = np.flatnonzero(score > 0.0)
        if able.size > self.size:
            able = able[np.argpartition(score[able], able.size - self.size)[able.size - self.size :]]
        takes = np.zeros(self.n_groups, dtype=bool)
        takes[able] = True
        return np.flatnonzero(takes[self.groups])

    def _penalty_of(self, chosen: np.ndarray) -> Grouped:
        groups, sizes = np.unique(self.groups[chosen], return_counts=True)
        if self.w.size > self.problem.design.d:
            groups, sizes = np.append(groups, len(self.weigh_by) - 1), np.append(sizes, 1)
        return Grouped(np.append(0, np.cumsum(sizes)), self.weigh_by[groups])

    def _go(self, w: np.ndarray, model: Model, change: np.ndarray) -> bool:
        penalty, step, before = model.penalty, model.z - w, self.share
        old, value = penalty.value(w), self.loss + penalty.value(w)
        promised = penalty.value(model.z) - old - float(model.beta @ change)
        t = 1.0
        for _ in range(HALVES):
            new = self.problem.total_loss(self.h + t * change) + penalty.value(w + t * step)
            if new - value <= SUFFICIENT * t * promised + NOTHING * value:  # the last term is rounding
                break
            t *= 0.5
        else:
            t = 0.0
        self.share = max(before * EASIER, LEAST) if t == 1.0 else min(before / EASIER, 1.0)
        if t > 0.0:
            w[:] = model.z if t == 1.0 else w + t * step
            self.h = self.h + t * change
        self.loss = self.weigh()
        return t > 0.0 or self.share > before
