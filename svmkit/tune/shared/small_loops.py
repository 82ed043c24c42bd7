"""The compiled code of `svmkit.tune.shared.small`: all subproblems of some folds, for all C, in one call.

It releases the GIL. A subproblem of few of the rows gathers the kernel values that its steps ask for; one of most of
them reads the matrix as it is, and the weights of the other rows stay 0. For the next C it begins where the last one
ended, or at that point times C over the last C, whichever is better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit.kernels.loops.row_table import RowTable
from svmkit.problems.bias import select_bias
from svmkit.problems.sums import Record, values_at
from svmkit.runtime.compiling import njit
from svmkit.solver.smo.box import Box, extremes, gap, take_sides
from svmkit.solver.smo.steps import take_steps
from svmkit.tune.shared.loops import add_rows, newton_step, pick_free

SHARE = 0.9  # of the gap that is asked for, down to which a solve goes
TRIES = 4  # certificates that are asked for a smaller gap each
BETWEEN, LOOKS = 12, 40  # steps between two looks at the gap, at least, and the part of the samples that are as many
WHOLE = 1.5  # times the samples of a subproblem are more than all rows: it gathers nothing
NEWTON = 100  # steps before one of Newton, at least
FUTILE = 4  # times as many follow one that was in vain
JITTER = 1e-10  # part of the largest value that is added to a diagonal before it is factorised


class Parts(NamedTuple):
    """The subproblems of some folds, one after the other; each fold has `width` of them."""

    rows: np.ndarray  # int64 (total,): their rows of the matrix
    first: np.ndarray  # int64 (n_folds * width + 1,): where each begins
    y: np.ndarray  # float64 (total,): -1.0 and 1.0
    weights: np.ndarray  # float64 (total,): what C is multiplied with
    held: np.ndarray  # int64 (n_held,): the rows that the folds hold out, those of a fold after those of the one before
    ends: np.ndarray  # int64 (n_folds + 1,): where those of each fold begin


class Fits(NamedTuple):
    """The results: of each C and each subproblem."""

    decision: np.ndarray  # float64 (n_C, width, n_held): decisions of held-out rows, with the bias
    values: np.ndarray  # float64 (n_C, n_folds * width, 5): the fields of `svmkit.problems.sums.Values`
    gap: np.ndarray  # float64 (n_C, n_folds * width): the relative gap, inf where none is reached
    steps: np.ndarray  # int64 (n_C, n_folds * width)
    is_support: np.ndarray  # bool (n_C, n_folds, m): whether a row is a support vector of some subproblem of a fold


@njit(nogil=True, cache=True)
def fit_parts(K, diag, parts, Cs, target, most, bounds, fits):
    """Solve and certify all subproblems of some folds for all C, ascending, with kernel values K (m, m).

    A solve ends at the relative gap `target` or after `most` steps. A subproblem ends with the first C at which its gap
    is not reached; its values are nan then.
    """
    width, m, largest = fits.decision.shape[1], K.shape[0], 0
    for n in np.diff(parts.first):
        largest = max(largest, n if WHOLE * n <= m else 0)
    room = np.empty(largest**2)
    for p in range(parts.first.size - 1):
        at, fold = slice(parts.first[p], parts.first[p + 1]), p // width
        held = slice(parts.ends[fold], parts.ends[fold + 1])
        own, where = (parts.rows[at], parts.y[at], parts.weights[at]), (p, fold, p % width, parts.held[held], held)
        _fit_part(K, diag, room, own, Cs, target, most, bounds, fits, where)


@njit(cache=True)
def _fit_part(K, diag, room, own, Cs, target, most, bounds, fits, where):
    (rows, y, weights), (p, fold, place, held, of_held) = own, where
    span, at, table = _rows_of(K, room, rows)
    n, before, reached = span.size, 0.0, False
    signs, zeros, limits, peaks = np.ones(n), np.zeros(n), np.zeros(n), diag[span]
    signs[at], limits[at] = y, weights
    beta, h, none = np.zeros(n), np.zeros(n), zeros[: rows.size]
    fits.values[:, p, :], fits.gap[:, p] = np.nan, np.inf
    for c in range(Cs.size):
        upper = Cs[c] * limits
        ratio = _best_ratio(signs, beta, h, Cs[c] / before) if before > 0.0 else 1.0
        before = Cs[c]
        for r in range(n):
            beta[r] = min(ratio * beta[r], upper[r])
        box = Box(signs, zeros, upper, zeros, peaks, beta, ratio * h - signs, np.empty(n, np.uint8))
        goal, cost = target, upper[at]
        record = Record(y, y, none, cost, none, none, none, none)
        for _ in range(TRIES):
            fits.steps[c, p] += _solve(K, span, box, table, SHARE * goal, most - fits.steps[c, p])
            _from_scratch(K, span, box, table, h)
            own_h = h[at]
            bias = select_bias(y, y - own_h, cost.copy(), 0.0)
            values = values_at(record, own_h, beta[at], peaks[at], 0.0, bias, 0.0, 0.0, True, bounds)
            found = _gap_of(values)
            reached = found <= target
            if reached or fits.steps[c, p] >= most:
                break
            goal *= 0.5
            box.v[:] = h - signs
        if not reached:
            return
        fits.gap[c, p] = found
        for k in range(5):
            fits.values[c, p, k] = values[k]
        out = fits.decision[c, place, of_held]
        for i in np.flatnonzero(beta):
            fits.is_support[c, fold, span[i]] = True
        if n == K.shape[0]:
            out[:] = h[held] + bias
        else:
            _decide(K, rows, y * beta, bias, held, out)


@njit(cache=True)
def _rows_of(K, room, rows):
    """Return the rows that a subproblem's arrays stand for, where its own are among them, and its kernel values."""
    n, m = rows.size, K.shape[0]
    if WHOLE * n > m:
        n, span, at, slab, slots = m, np.arange(m), rows, K, np.arange(m)
    else:
        span, at, slab, slots = rows, np.arange(n), room[: n * n].reshape((n, n)), np.full(n, -1)
    times, guessed, clock, uses = np.zeros(n, np.int64), np.zeros(n, np.bool_), np.zeros(1, np.int64), np.zeros(1)
    return span, at, RowTable(slab, slots, times, guessed, clock, uses, 0.0)


@njit(cache=True)
def _decide(K, rows, coef, bias, held, out):
    """Set out (n_held,) to the decisions of held-out rows."""
    out[:] = bias
    for i in np.flatnonzero(coef):
        row, value = K[rows[i]], coef[i]
        for j in range(held.size):
            out[j] += value * row[held[j]]


@njit(inline="always")
def _best_ratio(y, beta, h, ratio):
    """Return which of 1 and a ratio gives the lower objective, as a factor of beta, whose decisions are h."""
    norm, total = 0.0, 0.0
    for r in range(y.size):
        norm += beta[r] * y[r] * h[r]
        total += beta[r]
    return ratio if 0.5 * ratio * ratio * norm - ratio * total < 0.5 * norm - total else 1.0


@njit(inline="always")
def _gap_of(values):
    """Return the relative gap as `Certificate.from_values`, inf where the values prove nothing."""
    primal, dual, of_primal, of_dual, _ = values
    least = max(abs(primal) - of_primal, abs(dual) - of_dual)
    difference = primal + of_primal - (dual - of_dual)
    if not difference >= 0.0 or not least > 0.0:
        return 0.0 if primal == 0.0 and dual == 0.0 and difference == 0.0 else np.inf
    return difference / least


@njit(inline="always")
def _bring(K, rows, table, i):
    """Gather kernel row i of a subproblem, unless it is there."""
    if table.slot_of[i] < 0:
        row, line = K[rows[i]], table.slab[i]
        for r in range(rows.size):
            line[r] = row[rows[r]]
        table.slot_of[i] = i


@njit(cache=True)
def _from_scratch(K, rows, box, table, h):
    """Set h (n,), without the bias, from the weights."""
    h[:] = 0.0
    idx = np.flatnonzero(box.beta)
    for i in idx:
        _bring(K, rows, table, i)
    add_rows(table.slab, idx, box.y[idx] * box.beta[idx], h)


@njit(cache=True)
def _solve(K, rows, box, table, target, most):
    """Take steps of SMO until the relative gap is at most `target`, `most` steps at most; return the steps.

    Where they are many, steps of Newton on the weights between their bounds come in between.
    """
    pairs, objective, steps = np.empty((1, 2), dtype=np.int64), 0.0, 0
    for r in range(box.v.size):
        objective += 0.5 * box.beta[r] * (box.y[r] * box.v[r] - 1.0)
    take_sides(box, None)
    pairs[0, 0], pairs[0, 1] = extremes(box.v, box.side, None)
    n = int(np.count_nonzero(box.upper))  # the others are held out
    between, patience = max(BETWEEN, n // LOOKS), max(NEWTON, n)
    next_newton = patience
    while True:
        i, k = pairs[0, 0], pairs[0, 1]
        if i < 0 or k < 0 or not box.v[k] > box.v[i] or steps >= most:
            return steps
        difference = gap(box, False, -0.5 * (box.v[i] + box.v[k]), None)
        if difference <= target * max(abs(objective), abs(difference - objective)):
            return steps
        if steps >= next_newton:
            fall = _take_newton_step(K, rows, box, table)
            next_newton = steps + (patience if fall > 0.0 else FUTILE * patience)
            if fall > 0.0:
                objective -= fall
                pairs[0, 0], pairs[0, 1] = extremes(box.v, box.side, None)
                continue
        left = between
        while left > 0:
            done, objective, missing = take_steps((box,), table, pairs, True, left, 0.0, None, objective)
            steps += done
            left -= done
            if missing == -2:
                return steps
            if missing < 0:
                break
            _bring(K, rows, table, missing)


@njit(cache=True)
def _take_newton_step(K, rows, box, table):
    """Take a step of Newton on the samples between their bounds; return by how much the objective falls."""
    free = np.empty(box.v.size, np.int64)
    n = pick_free(box, free)
    if n < 2:
        return 0.0
    for i in free[:n]:
        _bring(K, rows, table, i)
    try:
        return newton_step(box, table.slab, free[:n].copy(), JITTER * box.diag.max())
    except Exception:  # the kernel matrix of these samples is singular
        return 0.0
