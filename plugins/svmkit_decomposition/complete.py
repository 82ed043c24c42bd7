"""SMO on a class pair all of whose kernel rows fit in memory: slices of many steps in compiled code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from svmkit.kernels.loops.complete_rows import FromDense, FromMatrix, Slab, kernel_row
from svmkit.problems.certificate import Certificate, relative_gap
from svmkit.runtime.compiling import INLINED, njit
from svmkit.solver.sampler import Goal
from svmkit.solver.smo.box import LOW, UP, box_of, gap, l1_part, move, side_of, slope, slopes, violation_of
from svmkit.solver.smo.rows import OPTIONS, is_kind, locate, row_at
from svmkit.solver.smo.steps import require_bound, take_steps
from svmkit.solver.step_info import StepInfo
from svmkit_decomposition.decomposition_state import SolveState

WORK = 3e6  # kernel values and entries of v that a slice may compute and read: some milliseconds
VALUES = int(WORK)
MOST = 1e9  # steps in a slice
LOOKS = 64  # checks of the gap in a slice that go into the history
OFTEN = 8  # the gap is checked after so many steps, and after an eighth of the steps so far


@njit(**INLINED)
def n_support(beta):
    count = 0
    for r in range(beta.size):
        count += beta[r] != 0.0
    return count


class CompleteRows(NamedTuple):
    """The arguments of `svmkit.kernels.loops.complete_rows.kernel_row`: SMO's loop has missing rows computed."""

    source: FromMatrix | FromDense
    slab: Slab


@overload(locate, jit_options={**OPTIONS, "_nrt": False})  # as `_compute`
def _locate(rows, i):
    if not is_kind(rows, CompleteRows):
        return None

    def compute(rows, i):
        kernel_row(rows.source, rows.slab, i)
        return rows.slab.slot_of[i]

    return compute


@overload(row_at, jit_options=OPTIONS)
def _row_at(rows, slot):
    return (lambda rows, slot: rows.slab.rows[slot]) if is_kind(rows, CompleteRows) else None


@njit(nogil=True, cache=True)
def take_slice(box, rows, pairs, second, is_ridged, objective, target, taken, most, budget, trail, kinks):
    """Take steps of SMO until the relative gap is at most `target`, `most` steps are taken or the budget is spent.

    `pairs` (1, 2) is the maximal violating pair, negative if it and `box.side` are not known; box and pairs change in
    place. `objective` is the objective at the start, `target` the relative gap at which to end, `taken` the number of
    earlier steps. `budget` is roughly the number of kernel values and entries of v to compute and read before the slice
    ends at a check of the gap. Checks are recorded in `trail` (n, 5), as in `StepInfo.trail`.

    Returns (checks, steps, objective, P - D), where the objective is -inf if it is unbounded below.
    """
    v, beta, side, slab, n = box.v, box.beta, box.side, rows.slab, box.v.size
    if pairs[0, 0] < 0 or pairs[0, 1] < 0:
        for r in range(n):
            side[r] = side_of(box.y[r], beta[r], box.lower[r], box.upper[r], kinks)
        pairs[0, 0], pairs[0, 1] = move(v, side, v, v, 0.0, kinks)  # `extremes` would be one more function to compile
    # no min, max, int: each is a separate function to compile
    looks, steps, values, longest, state = 0, 0, slab.done[1], VALUES // (2 * n), -1
    longest = longest if longest > 1 else 1
    wait = OFTEN + taken // 8
    next_look = 0 if taken == 0 else wait if wait < longest else longest
    difference = 0.0
    while True:
        i, k = pairs[0, 0], pairs[0, 1]
        look, ends = steps >= next_look and state == -1, state != -1 or steps >= most or i < 0 or k < 0
        ends = ends or not violation_of(v, side, i, k, kinks) > 0.0
        if look or ends:
            low, high = slope(v[i], side[i], UP, kinks, i), slope(v[k], side[k], LOW, kinks, k)
            difference = gap(box, is_ridged, -0.5 * (low + high), kinks)
        if look:  # a slice ends by its budget at a look only, so that watching changes nothing
            wait = OFTEN + (taken + steps) // 8
            next_look = steps + (wait if wait < longest else longest)
            size, dual = abs(objective), abs(difference - objective)
            size = dual if dual > size else size  # the denominator of the relative gap
            work = 2.0 * n * steps + 4.0 * (slab.done[1] - values)
            if steps > 0 and (work > budget or difference <= target * size):
                ends = True
            elif looks < trail.shape[0]:
                line = trail[looks]
                line[0], line[1], line[2] = steps, objective, difference / (size if size > 1e-300 else 1e-300)
                line[3], line[4] = n_support(beta), slab.done[1]
                looks += 1
        if ends:
            return looks, steps, objective, difference
        wanted = (next_look if next_look < most else most) - steps
        done, objective, state = take_steps((box,), rows, pairs, second, wanted, 0.0, kinks, objective)
        steps += done


class CompleteState(SolveState):
    """State of a solve of a DualQP on a `CompleteGram`, from a feasible point (m,); None for the problem's first
    point.
    """

    def __init__(self, problem: Any, start: np.ndarray | None, goal: Goal | None) -> None:
        self.problem, self.goal, self.n_iter = problem, goal, 0
        self.target, self.fresh = float(goal.gap) if goal else 0.0, start is not None
        point = problem.first_point() if start is None else start.copy()
        self._restart(point, problem.gradient(point))

    def _restart(self, beta: np.ndarray, gradient: np.ndarray) -> None:
        self.box, self.kinks = box_of(self.problem, beta, gradient), l1_part(self.problem)
        self.pairs = np.full((1, 2), -1)
        self.objective = self.problem.value(beta, gradient)

    @property
    def point(self) -> np.ndarray:
        return self.box.beta.copy()

    def step(self, method: Any) -> StepInfo:
        most = 1 + self.n_iter // 16
        if self.goal is not None:
            most = int(max(1.0, min(MOST, self.goal.iterations - self.n_iter)))
        trail, before = np.empty((LOOKS, 5)), self.objective
        engine = self.problem.gram.engine
        looks, steps, self.objective, gap = take_slice(
            self.box,
            CompleteRows(engine.source, engine.slab),
            self.pairs,
            method.second,
            self.problem.is_ridged,
            before,
            self.target,
            self.n_iter,
            0 if self.fresh else most,
            0.0 if self.goal and self.goal.watched else WORK,
            trail,
            self.kinks,
        )
        moved, self.fresh = self.fresh or self.objective < before, False
        require_bound(self.objective, self.problem.gram.kernel)
        self.n_iter += steps
        low, high = slopes(self.box, *self.pairs[0], self.kinks)
        return StepInfo(
            self.objective,
            int(np.count_nonzero(self.box.beta)),
            float(steps),
            gap=relative_gap(gap, -self.objective),
            gap_abs=gap,
            moved=moved,
            steps=steps,
            violation=max(high - low, 0.0),
            trail=trail[:looks] if self.goal else None,
        )

    def resync(self, certificate: Certificate) -> None:
        """Take over the certificate's exact gradient, and aim at a smaller gap."""
        assert certificate.gradient is not None
        self._restart(self.box.beta, certificate.gradient)
        self.target *= 0.5
