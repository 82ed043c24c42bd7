"""The compiled code of `svmkit.tune.shared.small`: all subproblems of a fold, for all C, in one call.

It releases the GIL. A subproblem gathers the kernel rows that its steps ask for; for the next C it begins where the
last one ended, or at that point times C over the last C, whichever is better.
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
from svmkit.tune.shared.loops import add_rows

SHARE = 0.9  # of the gap that is asked for, down to which a solve goes
TRIES = 4  # certificates that are asked for a smaller gap each
BETWEEN = 32  # steps between two looks at the gap, at least


class Parts(NamedTuple):
    """The subproblems of a fold, one after the other."""

    rows: np.ndarray  # int64 (total,): their rows of the matrix
    first: np.ndarray  # int64 (n_parts + 1,): where each begins
    y: np.ndarray  # float64 (total,): -1.0 and 1.0
    weights: np.ndarray  # float64 (total,): what C is multiplied with


class Fits(NamedTuple):
    """The results: of each C and each subproblem."""

    decision: np.ndarray  # float64 (n_C, n_parts, n_held): decisions of held-out rows, with the bias
    values: np.ndarray  # float64 (n_C, n_parts, 5): the fields of `svmkit.problems.sums.Values`
    steps: np.ndarray  # int64 (n_C, n_parts)
    is_support: np.ndarray  # bool (n_C, m): whether a row of the matrix is a support vector of some subproblem


@njit(nogil=True, cache=True)
def fit_parts(K, held_rows, diag, parts, Cs, target, most, bounds, fits):
    """Solve and certify all subproblems of a fold for all C, ascending.

    `held_rows` (m, n_held) are the columns of K (m, m) for the held-out rows. A solve ends at the relative gap `target`
    or after `most` steps. A subproblem ends with the first C at which its gap is not reached; its values are nan then.
    """
    for p in range(parts.first.size - 1):
        at = slice(parts.first[p], parts.first[p + 1])
        _fit_part(K, held_rows, diag, parts.rows[at], parts.y[at], parts.weights[at], Cs, target, most, bounds, fits, p)


@njit(cache=True)
def _fit_part(K, held_rows, diag, rows, y, weights, Cs, target, most, bounds, fits, p):
    n = rows.size
    slab, slots, zeros = np.empty((n, n)), np.full(n, -1, dtype=np.int64), np.zeros(n)
    times, guessed, clock, uses = np.zeros(n, np.int64), np.zeros(n, np.bool_), np.zeros(1, np.int64), np.zeros(1)
    table = RowTable(slab, slots, times, guessed, clock, uses, 0.0)
    own, beta, h, before, reached = diag[rows], np.zeros(n), np.zeros(n), 0.0, False
    fits.values[:, p, :] = np.nan
    for c in range(Cs.size):
        upper = Cs[c] * weights
        ratio = _best_ratio(y, beta, h, Cs[c] / before) if before > 0.0 else 1.0
        before = Cs[c]
        for r in range(n):
            beta[r] = min(ratio * beta[r], upper[r])
        box = Box(y, zeros, upper, zeros, own, beta, ratio * h - y, np.empty(n, np.uint8))
        goal = target
        for _ in range(TRIES):
            fits.steps[c, p] += _solve(K, rows, box, table, SHARE * goal, most - fits.steps[c, p])
            _from_scratch(K, rows, box, table, h)
            minus_h, cost = y - h, upper.copy()
            bias = select_bias(y, minus_h, cost, 0.0)
            record = Record(y, y, zeros, upper, zeros, zeros, zeros, zeros)
            values = values_at(record, h, beta, own, 0.0, bias, 0.0, 0.0, True, bounds)
            reached = _gap_of(values) <= target
            if reached or fits.steps[c, p] >= most:
                break
            goal *= 0.5
            box.v[:] = h - y
        if not reached:
            return
        for k in range(5):
            fits.values[c, p, k] = values[k]
        idx = np.flatnonzero(beta)
        out = fits.decision[c, p]
        out[:] = bias
        add_rows(held_rows, rows[idx], y[idx] * beta[idx], out)
        for r in rows[idx]:
            fits.is_support[c, r] = True


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
    """Take steps of SMO until the relative gap is at most `target`, `most` steps at most; return the steps."""
    pairs, objective, steps = np.empty((1, 2), dtype=np.int64), 0.0, 0
    for r in range(box.v.size):
        objective += 0.5 * box.beta[r] * (box.y[r] * box.v[r] - 1.0)
    take_sides(box, None)
    pairs[0, 0], pairs[0, 1] = extremes(box.v, box.side, None)
    between = max(BETWEEN, box.v.size // 8)
    while True:
        i, k = pairs[0, 0], pairs[0, 1]
        if i < 0 or k < 0 or not box.v[k] > box.v[i] or steps >= most:
            return steps
        difference = gap(box, False, -0.5 * (box.v[i] + box.v[k]), None)
        if difference <= target * max(abs(objective), abs(difference - objective)):
            return steps
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
