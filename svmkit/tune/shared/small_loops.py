"""The compiled code of `svmkit.tune.shared.small`: all subproblems of some folds, for all C, in one call.

It releases the GIL. A subproblem with few of the rows gathers the kernel values that its steps need; one with most of
them reads the matrix in place, and the weights of the other rows stay 0. For the next C it begins at the last end
point, or at that point times C over the last C, whichever is better.

Samples whose kernel rows have not been computed stay aside until the others hardly violate the optimality conditions.
Then a subproblem requests the rows of the samples that violate them most and waits: the call goes on with the other
subproblems, and another call resumes it once the rows are there.
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

SHARE = 0.9  # share of the requested gap down to which a solve goes
TRIES = 4  # attempts at a certificate, each with a smaller gap
BETWEEN, LOOKS = 12, 40  # steps between two checks of the gap, at least, and samples per such step
WHOLE = 1.5  # a subproblem gathers nothing if its samples, times this, exceed all rows
NEWTON = 100  # steps before a Newton step, at least
FUTILE = 4  # factor of these steps after a futile Newton step
ASKED, LEAST_ASKED = 32, 8  # divisor of the samples whose rows are requested at a time, and how many more
PART = 0.5  # of the violation of all samples: if that of the available ones is no larger, others are requested
JITTER = 1e-10  # fraction of the largest value, added to a diagonal before factorisation


class Rows(NamedTuple):
    """The kernel rows of a matrix, some of which may not have been computed."""

    K: np.ndarray  # float64 (m, m)
    slots: np.ndarray  # int64 (m,): the place of each row in K; -1 if it has not been computed
    wanted: np.ndarray  # bool (m,): whether a subproblem waits for a row


class Waiting(NamedTuple):
    """The state of the subproblems, some of which wait for kernel rows."""

    next: np.ndarray  # int64 (n_folds * width,): the next C; their number if a subproblem has ended
    begun: np.ndarray  # bool (n_folds * width,): whether that C has been started
    beta: np.ndarray  # float64 (total,): the weights of waiting subproblems, one after the other


class Parts(NamedTuple):
    """The subproblems of some folds, one after the other; each fold has `width` of them."""

    rows: np.ndarray  # int64 (total,): their rows of the matrix
    first: np.ndarray  # int64 (n_folds * width + 1,): where each begins
    y: np.ndarray  # float64 (total,): -1.0 and 1.0
    weights: np.ndarray  # float64 (total,): the factors of C
    held: np.ndarray  # int64 (n_held,): the held-out rows, fold after fold
    ends: np.ndarray  # int64 (n_folds + 1,): where the held-out rows of each fold begin


class Fits(NamedTuple):
    """The results: of each C and each subproblem."""

    decision: np.ndarray  # float64 (n_C, width, n_held): decisions of held-out rows, with the bias
    values: np.ndarray  # float64 (n_C, n_folds * width, 5): the fields of `svmkit.problems.sums.Values`
    gap: np.ndarray  # float64 (n_C, n_folds * width): the relative gap, inf where none is reached
    steps: np.ndarray  # int64 (n_C, n_folds * width)
    is_support: np.ndarray  # bool (n_C, n_folds, m): whether a row is a support vector of some subproblem of a fold


@njit(nogil=True, cache=True)
def fit_parts(matrix, diag, room, parts, Cs, target, most, bounds, at, fits):
    """Solve and certify all subproblems of some folds for all C, ascending, as far as their kernel rows are available.

    A solve ends at the relative gap `target` or after `most` steps. A subproblem ends with the first C at which its gap
    is not reached; its values are nan then. `room` holds the kernel values of the largest subproblem that gathers them.
    """
    width = fits.decision.shape[1]
    for p in range(parts.first.size - 1):
        if at.next[p] == Cs.size:
            continue
        own, fold = slice(parts.first[p], parts.first[p + 1]), p // width
        held = slice(parts.ends[fold], parts.ends[fold + 1])
        part, where = (parts.rows[own], parts.y[own], parts.weights[own]), (p, fold, p % width, parts.held[held], held)
        at.next[p] = _fit_part(matrix, diag, room, part, Cs, target, most, bounds, at, at.beta[own], fits, where)


@njit(cache=True)
def _fit_part(matrix, diag, room, own, Cs, target, most, bounds, at, kept, fits, where):
    """Fit a subproblem for the remaining Cs; return the one for which it waits, with its weights in `kept`."""
    (rows, y, weights), (p, fold, place, held, of_held) = own, where
    span, here, table = _rows_of(matrix, room, rows)
    n, before, reached, first, waits = span.size, 0.0, False, at.next[p], at.begun[p]
    signs, zeros, limits, peaks = np.ones(n), np.zeros(n), np.zeros(n), diag[span]
    signs[here], limits[here] = y, weights
    beta, h, none = np.zeros(n), np.zeros(n), zeros[: rows.size]
    if waits:
        beta[here] = kept
        _from_scratch(matrix, span, signs, beta, table, h)
    else:
        fits.values[:, p, :], fits.gap[:, p] = np.nan, np.inf
    for c in range(first, Cs.size):
        upper = Cs[c] * limits
        ratio = _best_ratio(signs, beta, h, Cs[c] / before) if before > 0.0 else 1.0
        before = Cs[c]
        for r in range(n):
            beta[r] = min(ratio * beta[r], upper[r])
        box = Box(signs, zeros, upper, zeros, peaks, beta, ratio * h - signs, np.empty(n, np.uint8))
        goal, cost = target, upper[here]
        record = Record(y, y, none, cost, none, none, none, none)
        for _ in range(TRIES):
            steps, waits = _solve(matrix, span, box, table, SHARE * goal, most - fits.steps[c, p])
            fits.steps[c, p] += steps
            if waits:
                kept[:], at.begun[p] = beta[here], True
                return c
            _from_scratch(matrix, span, signs, beta, table, h)
            own_h = h[here]
            bias = select_bias(y, y - own_h, cost.copy(), 0.0)
            values = values_at(record, own_h, beta[here], peaks[here], 0.0, bias, 0.0, 0.0, True, bounds)
            found = gap_of(values)
            reached = found <= target
            if reached or fits.steps[c, p] >= most:
                break
            goal *= 0.5
            box.v[:] = h - signs
        if not reached:
            break
        fits.gap[c, p] = found
        for k in range(5):
            fits.values[c, p, k] = values[k]
        out = fits.decision[c, place, of_held]
        for i in np.flatnonzero(beta):
            fits.is_support[c, fold, span[i]] = True
        if n == matrix.K.shape[0]:
            out[:] = h[held] + bias
        else:
            _decide(matrix, rows, y * beta, bias, held, out)
    return Cs.size


@njit(cache=True)
def _rows_of(matrix, room, rows):
    """Return the rows of a subproblem's arrays, the places of its own rows among them, and its kernel values."""
    n, m = rows.size, matrix.K.shape[0]
    if WHOLE * n > m:
        n, span, at, slab, slots = m, np.arange(m), rows, matrix.K, matrix.slots.copy()
    else:
        span, at, slab, slots = rows, np.arange(n), room[: n * n].reshape((n, n)), np.full(n, -1)
    times, guessed, clock, uses = np.zeros(n, np.int64), np.zeros(n, np.bool_), np.zeros(1, np.int64), np.zeros(1)
    return span, at, RowTable(slab, slots, times, guessed, clock, uses, 0.0)


@njit(cache=True)
def _decide(matrix, rows, coef, bias, held, out):
    """Set out (n_held,) to the decisions of held-out rows."""
    out[:] = bias
    idx, first = np.flatnonzero(coef), held[0]
    is_run = True  # one row after the other, as where there are several classes
    for j in range(held.size):
        is_run &= held[j] == first + j
    if is_run:
        add_rows(matrix.K, matrix.slots[rows[idx]], coef[idx], out, first)
        return
    for i in idx:
        row, value = matrix.K[matrix.slots[rows[i]]], coef[i]
        for j in range(held.size):
            out[j] += value * row[held[j]]


@njit(inline="always")
def _best_ratio(y, beta, h, ratio):
    """Return 1 or a ratio: the factor of beta, whose decisions are h, that gives the lower objective."""
    norm, total = 0.0, 0.0
    for r in range(y.size):
        norm += beta[r] * y[r] * h[r]
        total += beta[r]
    return ratio if 0.5 * ratio * ratio * norm - ratio * total < 0.5 * norm - total else 1.0


@njit(inline="always")
def gap_of(values):
    """Return the relative gap as `Certificate.from_values` does, inf if the values prove nothing."""
    primal, dual, of_primal, of_dual, _ = values
    least = max(abs(primal) - of_primal, abs(dual) - of_dual)
    difference = primal + of_primal - (dual - of_dual)
    if not difference >= 0.0 or not least > 0.0:
        return 0.0 if primal == 0.0 and dual == 0.0 and difference == 0.0 else np.inf
    return difference / least


@njit(inline="always")
def _bring(matrix, rows, table, i):
    """Gather kernel row i of a subproblem, which has been computed, unless it is there."""
    if table.slot_of[i] < 0:
        slot = matrix.slots[rows[i]]
        if table.slab.shape[0] < matrix.K.shape[0]:  # else it is the matrix
            row, slot = matrix.K[slot], i
            line = table.slab[slot]
            for r in range(rows.size):
                line[r] = row[rows[r]]
        table.slot_of[i] = slot


@njit(cache=True)
def _hide(box, hidden):
    """Set the sides of all points, with none for `hidden` ones, and return the maximal violating pair of the others."""
    take_sides(box, None)
    for r in hidden:
        box.side[r] = 0
    return extremes(box.v, box.side, None)


@njit(inline="always")
def _extend(box, hidden, low, high):
    """Return the v of the maximal violating pair with the hidden points, whose weights are 0."""
    for r in hidden:
        if box.y[r] > 0.0:
            low = min(low, box.v[r])
        else:
            high = max(high, box.v[r])
    return low, high


@njit(cache=True)
def _ask_for(matrix, rows, box, hidden, middle):
    """Request the kernel rows of the hidden points that violate the most at v = `middle`."""
    most, violations = int(np.count_nonzero(box.upper)) // ASKED + LEAST_ASKED, box.y[hidden]
    for j in range(hidden.size):
        violations[j] *= middle - box.v[hidden[j]]
    order = np.argsort(-violations)[: np.count_nonzero(violations > 0.0)]
    if order.size > most:
        equal = violations[order[0]] == violations[order[-1]]  # at the start: some all over the samples
        order = order[:: order.size // most] if equal else order[:most]
    for j in order:
        matrix.wanted[rows[hidden[j]]] = True


@njit(cache=True)
def _from_scratch(matrix, rows, signs, beta, table, h):
    """Set h (n,), without the bias, from the weights, whose kernel rows are there."""
    h[:] = 0.0
    idx = np.flatnonzero(beta)
    for i in idx:
        _bring(matrix, rows, table, i)
    add_rows(table.slab, table.slot_of[idx], signs[idx] * beta[idx], h)


@njit(cache=True)
def _solve(matrix, rows, box, table, target, most):
    """Take steps of SMO until the relative gap is at most `target`, `most` steps at most.

    If there are many, Newton steps on the weights between their bounds come in between. Returns the steps, and whether
    they ended for lack of kernel rows.
    """
    pairs, objective, steps = np.empty((1, 2), dtype=np.int64), 0.0, 0
    for r in range(box.v.size):
        objective += 0.5 * box.beta[r] * (box.y[r] * box.v[r] - 1.0)
    hidden = np.flatnonzero((box.upper > 0.0) & (matrix.slots[rows] < 0))
    pairs[0, 0], pairs[0, 1] = _hide(box, hidden)
    n = int(np.count_nonzero(box.upper))  # the others are held out
    between, patience = max(BETWEEN, n // LOOKS), max(NEWTON, n)
    next_newton = patience
    while True:
        i, k = pairs[0, 0], pairs[0, 1]
        own_low, own_high = box.v[i] if i >= 0 else np.inf, box.v[k] if k >= 0 else -np.inf
        low, high = _extend(box, hidden, own_low, own_high)
        if not high > low or steps >= most:
            return steps, False
        difference = gap(box, False, -0.5 * (low + high), None)
        if difference <= target * max(abs(objective), abs(difference - objective)):
            return steps, False
        if hidden.size and not own_high - own_low > PART * (high - low):
            _ask_for(matrix, rows, box, hidden, 0.5 * (low + high) if i < 0 or k < 0 else 0.5 * (own_low + own_high))
            return steps, True
        if steps >= next_newton:
            fall = _take_newton_step(matrix, rows, box, table)
            next_newton = steps + (patience if fall > 0.0 else FUTILE * patience)
            if fall > 0.0:
                objective -= fall
                pairs[0, 0], pairs[0, 1] = _hide(box, hidden)
                continue
        left = between
        while left > 0:
            done, objective, missing = take_steps((box,), table, pairs, True, left, 0.0, None, objective)
            steps += done
            left -= done
            if missing == -2:
                return steps, False
            if missing < 0:
                break
            _bring(matrix, rows, table, missing)


@njit(cache=True)
def _take_newton_step(matrix, rows, box, table):
    """Take a Newton step on the samples between their bounds; return the decrease of the objective."""
    free = np.empty(box.v.size, np.int64)
    n = pick_free(box, free)
    if n < 2:
        return 0.0
    for i in free[:n]:
        _bring(matrix, rows, table, i)
    try:
        return newton_step(box, table.slab, free[:n].copy(), JITTER * box.diag.max(), None, table.slot_of)
    except Exception:  # the kernel matrix of these samples is singular
        return 0.0
