"""Coordinate descent over groups of columns, for the penalty that makes the weights of whole groups exactly 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmkit.problems.risks.design import row_dot
from svmkit.problems.risks.linear_risk import LinearRisk
from svmkit.runtime.compiling import njit
from svmkit.solver.sampler import Draws
from svmkit_coordinate import columns
from svmkit_coordinate.primal_state import EASIER, FIRST, IDLE, LEAST, NOTHING, STEPS, State
from svmkit_coordinate.rows import TIGHTER

PASSES = 200  # passes on a model at most
SUFFICIENT = 0.1  # part of the fall of P that the model promises, which a step is to bring
HALVES = 40  # of a step that brings less


class GroupState(State):
    """State of a solve with groups: `violation`, `out` and the working set are of groups instead of columns.

    `starts` (n_groups + 1,) says where each begins, and `weigh_by` (n_groups,) are the factors of the norms. An
    intercept is a last group of one column.
    """

    def __init__(self, problem: LinearRisk, start: np.ndarray | None, draws: Draws) -> None:
        d, width = problem.design.d, problem.design.width
        sizes = problem.penalty.sizes(width)
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
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
        """Leave out groups with |X_g'beta| < sqrt(n_g) for all dual points beta that the gap allows."""
        radius = np.sqrt(2.0 * max(self.primal - self.dual, 0.0) / self.ridge)
        at = self.starts[: self.n_groups]
        pulls = np.sqrt(np.add.reduceat(np.square(scale * self.v), at)) if at.size else np.zeros(0)
        norms = np.sqrt(np.add.reduceat(np.square(self.norms), at)) if at.size else np.zeros(0)
        self.out = pulls + radius * norms < self.weigh_by[: self.n_groups] * (1.0 - 1e-9)
        if self.v.size > self.problem.design.d:  # the last sum may hold the entry of the bias: it is kept
            self.out[-1:] = False

    def choose(self) -> np.ndarray:
        """Return the groups of the next working set: those of non-zero weights, and those that violate most."""
        at = self.starts[: self.n_groups]
        used = np.logical_or.reduceat(self.w[: self.problem.design.d] != 0.0, at)
        self.size = min(self.n_groups, max(FIRST, 2 * int(np.count_nonzero(used)), self.size))
        score = np.where(used, np.inf, np.where(self.out, 0.0, self.violation[: self.n_groups]))
        able = np.flatnonzero(score > 0.0)
        if able.size > self.size:
            able = able[np.argpartition(score[able], able.size - self.size)[able.size - self.size :]]
        return np.sort(able)

    def improve(self) -> int:
        groups, d = self.choose(), self.problem.design.d
        sizes = np.diff(self.starts)[groups]
        chosen = np.concatenate([np.arange(self.starts[g], self.starts[g + 1]) for g in groups] or [np.empty(0, int)])
        A, has_bias = columns.take_columns(self.problem.design, chosen), self.w.size > d
        starts = np.concatenate([[0], np.cumsum([*sizes, *[1] * has_bias])]).astype(np.int64)
        weigh_by = np.append(self.weigh_by[groups], self.weigh_by[-1:] if has_bias else [])
        pulls, lacking = np.empty(starts[-1]), np.empty(len(weigh_by))
        goal, w, steps, idle, value = TIGHTER * self.worst, self._weights(chosen), 0, 0, np.inf
        self.passes += 1.0
        while steps < STEPS and not self.over():
            before, value = value, self.loss + penalty_of(w, starts, weigh_by)
            idle = 0 if before - value > NOTHING * value else idle + 1
            columns.fill_pulls(A, self.beta, pulls)
            worst = group_violations(pulls, w, starts, weigh_by, lacking)
            least = NOTHING * float(np.abs(pulls).max(initial=0.0))
            if worst <= max(goal, least) or idle > IDLE:
                break
            moved = self._step_of_groups(A, w, starts, weigh_by, max(TIGHTER * worst, 0.3 * goal, least), value)
            steps += 1
            self.passes += 4.0 * w.size / self.w.size
            if not moved:
                break
        self.w[chosen] = w[: chosen.size]
        if has_bias:
            self.w[-1] = w[-1] / self.problem.design.bias
        return max(steps, 1)

    def _step_of_groups(
        self, A: Any, w: np.ndarray, starts: np.ndarray, weigh_by: np.ndarray, goal: float, value: float
    ) -> bool:
        """Minimise the model at w (k,), whose P is `value`, and go toward its minimum; return whether P falls."""
        p, z, r = self.problem, w.copy(), -self.beta
        self.known = None
        bends = largest_curvatures(A, starts, self.curvature)
        self.passes += (
            group_passes(A, self.curvature, bends, starts, weigh_by, z, r, PASSES, goal) * w.size / self.w.size
        )
        step, change = z - w, np.zeros(p.m)
        columns.add_change(A, step, change)
        promised = penalty_of(z, starts, weigh_by) - penalty_of(w, starts, weigh_by) - float(self.beta @ change)
        t, before = 1.0, self.share
        for _ in range(HALVES):
            new = p.total_loss(self.h + t * change) + penalty_of(w + t * step, starts, weigh_by)
            if new - value <= SUFFICIENT * t * promised + NOTHING * value:  # what rounding may add
                break
            t *= 0.5
        else:
            t = 0.0
        self.share = max(before * EASIER, LEAST) if t == 1.0 else min(before / EASIER, 1.0)
        if t > 0.0:
            w[:] = z if t == 1.0 else w + t * step
            self.h = self.h + t * change
        self.loss = self.weigh()
        return t > 0.0 or self.share > before


def largest_curvatures(A: Any, starts: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """Return the largest eigenvalue of A_g diag(curvature) A_g' of each group g of rows of A, a little enlarged."""
    squares = np.empty(starts[-1])
    columns.fill_squares(A, curvature, np.zeros(squares.size), squares)
    out = np.maximum(np.add.reduceat(squares, starts[:-1]), columns.TINIEST)
    for g in np.flatnonzero(np.diff(starts) > 1):
        H = columns.normal_matrix(A, np.arange(starts[g], starts[g + 1]), curvature, curvature.size)
        out[g] = min(max(float(np.linalg.eigvalsh(H)[-1]) * (1.0 + 1e-9), columns.TINIEST), out[g])
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def penalty_of(w, starts, weigh_by):
    """Return the sum of the norms of groups of weights w (k,), times their factors."""
    total = 0.0
    for g in range(weigh_by.size):
        total += weigh_by[g] * _norm(w, starts[g], starts[g + 1])
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _norm(v, first, last):
    square = 0.0
    for j in range(first, last):
        square += v[j] * v[j]
    return np.sqrt(square)


@njit(cache=True, nogil=True, error_model="numpy")
def group_violations(pulls, w, starts, weigh_by, out):
    """Write the violation of the optimality conditions of each group of weights w (k,), whose columns have X'beta =
    pulls, to out (n_groups,); return the largest one.
    """
    most = 0.0
    for g in range(out.size):
        first, last = starts[g], starts[g + 1]
        size, square = _norm(w, first, last), 0.0
        if size > 0.0:
            for j in range(first, last):
                square += (weigh_by[g] * w[j] / size - pulls[j]) ** 2
            out[g] = np.sqrt(square)
        else:
            out[g] = max(_norm(pulls, first, last) - weigh_by[g], 0.0)
        most = max(most, out[g])
    return most


@njit(cache=True, nogil=True, error_model="numpy")
def group_passes(A, curvature, bends, starts, weigh_by, z, r, most, goal):
    """Make passes over groups of z (k,) on the quadratic model of `columns.model_passes`, z and r (m,) in place.

    A group takes a proximal step of the largest curvature `bends` of its columns (Tseng, Yun 2009), exactly to 0 where
    that is the minimum. After a pass over all groups those of non-zero weights are visited until they are settled.
    Return the number of passes.
    """
    push = np.zeros(z.size)
    done = 0.0
    while done < most:
        worst = 0.0
        for g in range(bends.size):
            worst = max(worst, _improve(A, curvature, bends[g], starts[g], starts[g + 1], weigh_by[g], z, r, push))
        done += 1.0
        if worst <= goal:
            break
        for _ in range(10):
            inner, used = 0.0, 0
            for g in range(bends.size):
                if _norm(z, starts[g], starts[g + 1]) > 0.0:
                    used += starts[g + 1] - starts[g]
                    inner = max(
                        inner,
                        _improve(A, curvature, bends[g], starts[g], starts[g + 1], weigh_by[g], z, r, push),
                    )
            done += used / z.size
            if inner <= columns.SETTLED * worst or inner <= 0.5 * goal:
                break
    return done


@njit(cache=True, nogil=True, error_model="numpy")
def _improve(A, curvature, bend, first, last, factor, z, r, push):
    """Take a proximal step of the model along a group; return its violation before, as the step shows it."""
    for j in range(first, last):
        push[j] = z[j] - row_dot(A, j, r) / bend
    size = _norm(push, first, last)
    keep = max(1.0 - factor / (bend * size), 0.0) if size > 0.0 else 0.0
    square = 0.0
    for j in range(first, last):
        push[j] = keep * push[j] - z[j]
        square += push[j] * push[j]
    if square == 0.0:
        return 0.0
    for j in range(first, last):
        if push[j] != 0.0:
            columns.row_push(A, j, push[j], curvature, r)
            z[j] += push[j]
    return bend * np.sqrt(square)
