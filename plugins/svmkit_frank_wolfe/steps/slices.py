"""Slices of a solve: the steps of a variant up to the next report, compiled, with kernel rows fetched as they miss."""

from __future__ import annotations

from functools import partial

import numpy as np

from svmkit.kernels.gram.matrix import MatrixGram
from svmkit.kernels.loops.row_table import RowTable
from svmkit.solver.step_info import StepInfo
from svmkit_frank_wolfe.iterate.state import SimplexState
from svmkit_frank_wolfe.steps import guesses, oracle
from svmkit_frank_wolfe.steps.compiled_steps import Points, Rule, Sums, take_steps
from svmkit_frank_wolfe.steps.oracle import Choice

SMALL = 2000  # points of which a solve in Python takes no longer than the compilation of these steps
LIKELY = 31  # kernel rows that are guessed on a miss
WORK = 8_000_000  # points that the steps of a slice may pass: some milliseconds, kernel rows excluded
MARGIN = 1.0 + 1e-9  # by which a slice's target is larger, so that rounding cannot make it miss the one of the loop


def apply(state: SimplexState) -> bool:
    """Return whether compiled steps are taken: many points, all of them tracked and looked at, and one iterate kept.

    A matrix that is given as such has no table of rows that compiled steps could read.
    """
    tracked = state.tracked.everything and state.draws.every and state.keeps == 1
    return tracked and state.problem.m >= SMALL and not isinstance(state.problem.gram, MatrixGram)


def take(state: SimplexState, rule: Rule) -> StepInfo:
    """Take the steps of a rule up to the next report.

    They are the same steps, however many of them make a slice: a slice ends where a single step would have been
    recorded or could have ended the solve.

    Parameters
    ----------
    state : SimplexState
        The iterate, for which `apply` holds.
    rule : Rule
        How a step chooses its direction.

    Returns
    -------
    StepInfo
        The report on the iterate after these steps.
    """
    problem, gram, goal = state.problem, state.problem.gram, state.draws.goal
    points, most, steps, missing = _points(state), _most(state), 0, 0
    target = MARGIN * goal.gap if goal is not None else 0.0
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


def _points(state: SimplexState) -> Points:
    """Return the arrays of the iterate; those that no step changes are copied once, as compiled loops need one type."""
    tracked = state.tracked
    if state.fixed is None:
        state.fixed = tuple(np.array(v) for v in (tracked.y, tracked.diag, tracked.ridge, tracked.linear))
    return Points(state.w, state.g, *state.fixed)


def _most(state: SimplexState) -> int:
    """Return the number of steps of the next slice: one where a rule or a caller wants to see each of them."""
    goal = state.draws.goal
    if goal is None:
        return 1
    until = min(state.next_report, goal.begun + goal.iterations)
    return int(max(1, min(until - state.n_iter, WORK // state.problem.m)))


def _likely(rule: Rule, p: Points, rows: RowTable, i: int, missing: int, bias: float) -> np.ndarray:
    """Return the points whose kernel rows will probably be needed soon: those that come next to the missing one."""
    if missing == i:
        return guesses.toward(p.g, rows.slot_of, LIKELY)
    row = rows.slab[rows.slot_of[i]] if rule == Rule.SWAP2O else rows.slab[0, :0]
    return guesses.away(p, rows.slot_of, row, i, bias, LIKELY)
