"""Oracles: which vertex comes next, and which points join the working set under a support budget."""

from __future__ import annotations

import numpy as np

from svmkit.problems.simplex import SimplexQP
from svmkit.solver.base import StepInfo
from svmkit_frank_wolfe import loops
from svmkit_frank_wolfe.state import Choice, SimplexState

WORTH = -1e-12  # relative change of f from which on an exchange is made


def first(problem: SimplexQP, rng: np.random.Generator) -> np.ndarray:
    """One random point of each sign with the best weights for the two (one exact pairwise step); one alone if equal."""
    sides = [side for side in (np.flatnonzero(problem.y > 0), np.flatnonzero(problem.y < 0)) if len(side)]
    pair = np.array([rng.choice(side) for side in sides])
    point = np.zeros(problem.m)
    point[pair[0]] = 1.0
    if len(pair) == 2 and problem.linear_term is None:
        cross = -(problem.gram.block(pair[:1], pair[1:])[0, 0] + problem.bias)
        a, b = problem.diag[pair]
        weight = np.clip((b - cross) / max(a + b - 2.0 * cross, 1e-300), 0.0, 1.0)
        point[pair] = weight, 1.0 - weight
    return point


def best(state: SimplexState) -> Choice:
    """The best vertex of all points, or of a sample.

    Of points that are not tracked g is computed when they are drawn, at |S| times the number of active points. Once
    that is dearer than a kernel row, the state goes over to tracking all points.
    """
    sample = state.draws()
    if state.idx is not None and sample.size * state.n >= state.problem.m:
        state.track(None, state.point())
    if state.idx is None:
        i = int(state.g.argmin())
        lowest = float(state.g[i])  # with all points tracked the estimate is exact, sampler or not
        return Choice(i if state.draws.every else int(sample[state.g[sample].argmin()]), lowest, sample.size, False)
    point, gs = among(state, sample)
    i = int(state.position[point])
    return Choice(i if i >= 0 else join(state, point, gs), float(gs[0]), sample.size, True)


def among(state: SimplexState, sample: np.ndarray) -> tuple[int, np.ndarray]:
    """(point, its gradients at the kept iterates (keeps,)): the one of the sample with the lowest g."""
    assert state.idx is not None
    p, known = state.problem, state.position[sample]
    alphas = state.alphas
    weights = np.where(known >= 0, alphas[:, known], 0.0)
    support = np.flatnonzero(alphas.any(axis=0))
    coef = (alphas[:, support] * state.y[support]).T
    values = p.gram.matvec(coef, state.idx[support], sample) + p.bias * coef.sum(axis=0)
    gs = p.y[sample] * values.T + weights * p.ridge[sample]
    if p.linear_term is not None:
        gs += p.linear_term[sample]
    lowest = int(np.argmin(gs[0]))
    return int(sample[lowest]), gs[:, lowest]


def join(state: SimplexState, point: int, gs: np.ndarray, row: np.ndarray | None = None) -> int:
    """Track `point`; with the budget spent only in exchange for another one. Its position, -1 if it stays out."""
    if state.active < state.budget:
        return state.append(point, gs, row)
    assert state.idx is not None
    if row is None:
        row = state.problem.gram.block(np.array([point]), state.idx)[0]
    j = exchange(state, row, gs[0], state.problem.diag[point], state.problem.y[point])
    if j >= 0:
        state.replace(j, point, gs[0], row)
    return j


def exchange(state: SimplexState, row: np.ndarray, g_i: float, a_ii: float, y_i: float) -> int:
    """The active point that had better hand its weight to i, a point outside the support; -1 if none."""
    bias, scale = state.problem.bias, state.scales[0]
    j, change = loops.exchange(state.g, state.w, state.y, state.diag, row, bias, scale, g_i, a_ii, y_i)
    return j if change < WORTH * abs(state.f + state.c_alpha) else -1


def within(state: SimplexState, choice: Choice, moved: bool) -> StepInfo:
    """The report on `choice`, kept to the budget: a full support changes by exchanges, then moves within itself."""
    i = choice.i
    if state.active < state.budget or (i >= 0 and state.w[i] > 0.0):
        return state.report(choice, moved)
    j = -1
    if i >= 0:
        state.aim(i)
        j = exchange(state, state.row_i(), state.g[i], state.diag[i], state.y[i])
    if j >= 0:
        state.hand_over(j)
    i = loops.active_vertex(state.g, state.w)
    info = state.report(choice._replace(i=i, lowest=float(state.g[i])), moved or j >= 0)
    return info._replace(full=j < 0)
