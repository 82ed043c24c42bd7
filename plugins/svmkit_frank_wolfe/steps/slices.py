"""Slices of a solve: the steps of a variant up to the next report, compiled, with missing kernel rows fetched."""

from __future__ import annotations

from functools import partial

import numpy as np

from svmkit.kernels.gram.matrix import MatrixGram
from svmkit.kernels.loops.row_table import RowTable
from svmkit.runtime.compiling import njit
from svmkit.solver.exact_search import TINY
from svmkit.solver.step_info import StepInfo
from svmkit_frank_wolfe.iterate.state import SimplexState
from svmkit_frank_wolfe.steps import oracle
from svmkit_frank_wolfe.steps.compiled_steps import Points, Rule, Sums, take_steps
from svmkit_frank_wolfe.steps.oracle import Choice

SMALL = 2000  # points up to which a solve in Python takes no longer than compiling these steps
LIKELY = 31  # kernel rows that are guessed on a miss
WORK = 8_000_000  # points that the steps of a slice may visit: some milliseconds, kernel rows excluded
MARGIN = 1.0 + 1e-9  # factor of a slice's target, so that rounding cannot make it miss the target of the loop


def apply(state: SimplexState) -> bool:
    """Return whether compiled steps are taken: for many points, all of them tracked and evaluated, and one kept
    iterate.

    A matrix given directly has no table of rows that compiled steps could read.
    """
    tracked = state.tracked.everything and state.draws.every and state.keeps == 1
    return tracked and state.problem.m >= SMALL and not isinstance(state.problem.gram, MatrixGram)


def take(state: SimplexState, rule: Rule) -> StepInfo:
    """Take the steps of a rule up to the next report on the iterate, for which `apply` holds.

    They are the same steps in slices of any length: a slice ends where a single step would have been recorded or could
    have ended the solve.
    """
    problem, gram, goal, tracked = state.problem, state.problem.gram, state.draws.goal, state.tracked
    if state.fixed is None:  # arrays that no step changes are copied once, as compiled loops need one type
        state.fixed = tuple(np.array(v) for v in (tracked.y, tracked.diag, tracked.ridge, tracked.linear))
    points, most, steps, missing = Points(state.w, state.g, *state.fixed), _most(state), 0, 0
    target = 0.0 if goal is None or problem.is_gap_squared else MARGIN * goal.gap  # the loop checks each report
    sums, i, moved = Sums(float(state.scales[0]), state.f, state.c_alpha, int(state.active), state.age), state.i, True
    while missing >= 0 and not (steps and state.draws.over()):
        rows = gram.row_table
        done, sums, i, moved, missing = take_steps(rule, points, sums, i, rows, problem.bias, most - steps, target)
        steps += done
        if missing >= 0:
            gram.row(missing, partial(_likely, rule, points, rows, i, missing, problem.bias))
    state.scales[0], state.f, state.c_alpha, state.active, state.age = sums
    state.n_iter += steps
    if state.n_iter >= state.next_report:
        state.next_report = state.n_iter + max(1, state.n_iter // 32)
    i = i if moved else int(state.g.argmin())  # a step within a full support may not have aimed at the lowest g
    choice = Choice(i, float(state.g[i]), problem.m, False)
    return oracle.report_within(state, choice, moved)._replace(steps=steps, epochs=float(steps))


def _most(state: SimplexState) -> int:
    """Return the number of steps of the next slice: one if a rule or a caller needs to see each step."""
    goal = state.draws.goal
    if goal is None:
        return 1
    until = min(state.next_report, goal.begun + goal.iterations)
    return int(max(1, min(until - state.n_iter, WORK // state.problem.m)))


def _likely(rule: Rule, p: Points, rows: RowTable, i: int, missing: int, bias: float) -> np.ndarray:
    """Return the points whose kernel rows will probably be needed soon: those that come next to the missing one."""
    if missing == i:
        return _near_toward(p.g, rows.slot_of, LIKELY)
    row = rows.slab[rows.slot_of[i]] if rule == Rule.SWAP2O else rows.slab[0, :0]
    return _near_away(p, rows.slot_of, row, i, bias, LIKELY)


@njit(cache=True)
def _near_toward(g, slot_of, n):
    """Return up to n points of lowest g whose rows are not cached (slot_of < 0), lowest first."""
    found, scores, count = np.empty(n, dtype=np.int64), np.empty(n), 0
    for r in range(g.size):
        if slot_of[r] < 0 and (count < n or -g[r] > scores[count - 1]):
            count = _insert(found, scores, count, r, -g[r])
    return found[:count]


@njit(cache=True, error_model="numpy")
def _near_away(p, slot_of, row, i, bias, n):
    """Return up to n active points whose swap with i gains most and whose rows are not cached, best first; row = k_i.

    An empty row stands for swaps that all have the same curvature.
    """
    g, found, scores, count = p.g, np.empty(n, dtype=np.int64), np.empty(n), 0
    for r in range(g.size):
        slope = g[r] - g[i]
        if p.w[r] > 0.0 and slope > 0.0 and slot_of[r] < 0:
            score = slope * slope
            if row.size:
                curvature = p.diag[i] + p.diag[r] - 2.0 * p.y[i] * p.y[r] * (row[r] + bias)
                score /= curvature if curvature > TINY else TINY
            if count < n or score > scores[count - 1]:
                count = _insert(found, scores, count, r, score)
    return found[:count]


@njit(cache=True)
def _insert(found, scores, count, r, score):
    """Insert point r by its score, largest first, where the last of a full list drops out; return the new length."""
    count = count + 1 if count < found.size else count
    p = count - 1
    while p > 0 and scores[p - 1] < score:
        found[p], scores[p] = found[p - 1], scores[p - 1]
        p -= 1
    found[p], scores[p] = r, score
    return count
