"""Oracles: which vertex comes next, and which points join the working set under a support budget."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit.problems.simplex import SimplexQP
from svmkit.solver.step_info import StepInfo
from svmkit_frank_wolfe.iterate import loops
from svmkit_frank_wolfe.iterate.state import SimplexState

WORTH = -1e-12  # an exchange is made if it changes f by less than this times |f|


class Choice(NamedTuple):
    """The answer of an oracle."""

    i: int  # position of the next toward vertex among the tracked points, -1 for none
    lowest: float  # lowest known gradient
    looked: int  # points that the oracle evaluated
    sampled: bool  # whether these are only a sample, so that `lowest` need not be the lowest of all


def first(problem: SimplexQP, rng: np.random.Generator) -> np.ndarray:
    """Return one random point of each class with the best weights for the two; one point alone for a single class."""
    sides = [side for side in (np.flatnonzero(problem.y > 0), np.flatnonzero(problem.y < 0)) if len(side)]
    drawn = np.array([rng.choice(side) for side in sides])
    point = np.zeros(problem.m)
    point[drawn[0]] = 1.0
    if len(drawn) == 2 and problem.linear_term is None:
        cross = -(problem.gram.block(drawn[:1], drawn[1:])[0, 0] + problem.bias)
        a, b = problem.diag[drawn]
        weight = np.clip((b - cross) / max(a + b - 2.0 * cross, 1e-300), 0.0, 1.0)
        point[drawn] = weight, 1.0 - weight
    return point


def best(state: SimplexState) -> Choice:
    """Choose the vertex of lowest g among the points that the state's sampler draws next.

    If not all points are tracked, g of the drawn points S is computed, which takes |S| times the number of tracked
    points kernel values. Once that is more than a kernel row, all points are tracked from then on.
    """
    sample = state.draws()
    if not state.tracked.everything and sample.size * state.tracked.n >= state.problem.m:
        state.track(None, state.point())
    if state.tracked.everything:
        i = int(state.g.argmin())
        lowest = float(state.g[i])  # with all points tracked the estimate is exact, sampler or not
        return Choice(i if state.draws.every else int(sample[state.g[sample].argmin()]), lowest, sample.size, False)
    point, gs = among(state, sample)
    i = int(state.tracked.position[point])
    return Choice(i if i >= 0 else join(state, point, gs), float(gs[0]), sample.size, True)


def among(state: SimplexState, sample: np.ndarray) -> tuple[int, np.ndarray]:
    """Return the point of the sample with the lowest g, and its gradients at the kept iterates (keeps,)."""
    p, tracked = state.problem, state.tracked
    assert tracked.idx is not None
    known, alphas = tracked.position[sample], state.alphas
    weights = np.where(known >= 0, alphas[:, known], 0.0)
    support = np.flatnonzero(alphas.any(axis=0))
    coef = (alphas[:, support] * tracked.y[support]).T
    values = p.gram.matvec(coef, tracked.idx[support], sample) + p.bias * coef.sum(axis=0)
    gs = p.y[sample] * values.T + weights * p.ridge[sample]
    if p.linear_term is not None:
        gs += p.linear_term[sample]
    lowest = int(np.argmin(gs[0]))
    return int(sample[lowest]), gs[:, lowest]


def join(state: SimplexState, point: int, gs: np.ndarray, row: np.ndarray | None = None) -> int:
    """Track one more point, in exchange for an active one if the budget of support vectors is spent.

    Return its position; -1 if no exchange lowers f, so that the point stays out.

    Parameters
    ----------
    state, point, gs, row : SimplexState, int, ndarray, ndarray or None
        The state that tracks a working set, the row of the problem's X, not tracked yet, its gradients (keeps,) at the
        kept iterates, and its kernel values (n,) with the tracked points; None computes them.
    """
    if state.active < state.budget:
        return state.append(point, gs, row)
    assert state.tracked.idx is not None
    if row is None:
        row = state.problem.gram.block(np.array([point]), state.tracked.idx)[0]
    j = exchange(state, row, gs[0], state.problem.diag[point], state.problem.y[point])
    if j >= 0:
        state.replace(j, point, gs[0], row)
    return j


def exchange(state: SimplexState, row: np.ndarray, g_i: float, a_ii: float, y_i: float) -> int:
    """Return the active point whose weight is best moved to one outside the support; -1 if no exchange lowers f.

    Parameters
    ----------
    state, row, g_i, a_ii, y_i : SimplexState, ndarray, float, float, float
        The current iterate, and for the point outside the kernel values (n,) with the tracked points, the gradient,
        A_ii and the label.
    """
    bias, scale, tracked = state.problem.bias, state.scales[0], state.tracked
    j, change = loops.exchange(state.g, state.w, tracked.y, tracked.diag, row, bias, scale, g_i, a_ii, y_i)
    return j if change < WORTH * abs(state.objective) else -1


def report_within(state: SimplexState, choice: Choice, moved: bool) -> StepInfo:
    """Aim at the oracle's choice and report, within the support budget, after a step that `moved` the iterate.

    With a full support and a vertex outside it, the vertex takes the place of an active point if that lowers f;
    otherwise the state aims at the best vertex inside the support, and the report is `full`.
    """
    i = choice.i
    if state.active < state.budget or (i >= 0 and state.w[i] > 0.0):
        return report(state, choice, moved)
    j = -1
    if i >= 0:
        state.aim(i)
        j = exchange(state, state.row_i(), state.g[i], state.tracked.diag[i], state.tracked.y[i])
    if j >= 0:
        state.move(state.weight(j), state.pairwise(j))  # i takes over all the weight of j
        state.restart()
    i = loops.active_vertex(state.g, state.w)
    info = report(state, choice._replace(i=i, lowest=float(state.g[i])), moved or j >= 0)
    return info._replace(full=j < 0)


def report(state: SimplexState, choice: Choice, moved: bool) -> StepInfo:
    """Aim at the oracle's choice and report on the iterate; the estimate of the gap is 2 (f - lowest g)."""
    state.aim(choice.i)
    slack = 2.0 * (state.f - choice.lowest)
    return StepInfo(
        objective=state.objective,
        n_support=state.active,
        epochs=choice.looked / state.problem.m,
        gap=slack / max(abs(state.objective), 1e-300),
        gap_abs=max(slack, 0.0),
        sampled=choice.sampled,
        moved=moved or (not state.draws.every and slack > 0.0),
        in_own_units=True,
    )
