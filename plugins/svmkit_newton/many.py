"""Many small problems of one data set in one call: each is gathered, solved and certified without a call of Python."""

from __future__ import annotations

import numpy as np

from svmkit.problems.risks.certify import best_bias, fill_gradient, prove, restrain
from svmkit.problems.risks.linear_problem import COLUMN
from svmkit.problems.risks.many import Answers, Parts
from svmkit.problems.risks.points import total_loss
from svmkit.problems.sums import exact_sum
from svmkit.runtime.compiling import njit
from svmkit_newton.narrow import Data, Iterate, combine, copy, descend, examine, multiply
from svmkit_newton.proximal import LEAST, put_centre

STEPS = 50  # of each problem at most; one that needs more is left to other code
BELOW = (5,)  # of terms of both sides
PRODUCT, SAMPLE = 2.0, 200.0  # nanoseconds of a value of X and a column, and of a sample, in all steps of a problem


def solve(first: int, last: int, parts: Parts, answers: Answers) -> None:
    """Solve the problems `first` to `last` - 1, and write their answers; without any for one that needs more steps.

    Parameters
    ----------
    first, last, parts, answers : int, int, Parts, Answers
        As for `SolvesMany`.
    """
    _solve_parts(first, last, parts, answers, BELOW)


@njit(cache=True, nogil=True, error_model="numpy")
def _solve_parts(first, last, parts, answers, below):
    for k in range(first, last):
        m = _list_rows(parts, k, answers.rows[answers.start[k] :])
        _solve_one(parts, k, answers, below, m)


@njit(cache=True, nogil=True, error_model="numpy")
def _list_rows(parts, k, rows):
    """Write the samples of a problem to `rows`, ascending; return their number."""
    a, b = parts.where[k]
    if b < 0:
        copy(rows[: parts.used.size], parts.used)
        return parts.used.size
    i, j, m = parts.first[a], parts.first[b], 0
    while i < parts.first[a + 1] or j < parts.first[b + 1]:
        if j == parts.first[b + 1] or (i < parts.first[a + 1] and parts.members[i] < parts.members[j]):
            rows[m] = parts.members[i]
            i += 1
        else:
            rows[m] = parts.members[j]
            j += 1
        m += 1
    return m


@njit(cache=True, nogil=True, error_model="numpy")
def _gather(parts, k, at, d, X, rows, sq):
    """Write the samples `at` (m,) of a problem to X (m, width), their terms to rows (m, 9) and their squared norms, the
    bias included, to sq (m,); return the value of the column of the bias.
    """
    m, total = at.size, 0.0
    for i in range(m):
        total += parts.sq[at[i]]
    column = parts.bias
    if np.isnan(column):
        column = COLUMN * np.sqrt(total / m)
        column = column if column > 0.0 else 1.0
    for i in range(m):
        copy(X[i, :d], parts.X[at[i]])
        is_above = (parts.codes[at[i]] == parts.where[k, 0]) == (parts.signs[k] > 0.0)
        copy(rows[i], parts.above[at[i]] if is_above else parts.under[at[i]])
        sq[i] = parts.sq[at[i]] + column * column
        if X.shape[1] > d:
            X[i, d] = column
    return column


@njit(cache=True, nogil=True, error_model="numpy")
def _first_shares(exact):
    """Return what `svmkit_newton.proximal.shares_of` does, and whether all bounds of losses with a kink are finite."""
    shares, some, finite = np.zeros(exact.shape[0]), False, True
    for i in range(exact.shape[0]):
        is_kinked = (exact[i, 3] > 0.0 and exact[i, 1] == 0.0) or (exact[i, 7] > 0.0 and exact[i, 5] == 0.0)
        if is_kinked:
            bound = max(exact[i, 3], exact[i, 7])
            shares[i] = 1.0 / bound
            some, finite = True, finite and bound < np.inf
    return shares if some else shares[:0], finite


@njit(cache=True, nogil=True, error_model="numpy")
def _solve_one(parts, k, answers, below, m):
    d, is_free = answers.w.shape[1], np.isnan(parts.bias)
    width = d + 1 if is_free or parts.bias != 0.0 else d
    first = answers.start[k]
    X, exact, sq = np.empty((m, width)), np.empty((m, 9)), np.empty(m)
    column = _gather(parts, k, answers.rows[first : first + m], d, X, exact, sq)
    shares, finite = _first_shares(exact)
    if not finite:
        return
    penalty, zeros = np.ones(width), np.zeros(m)
    if is_free:
        penalty[-1] = 0.0
    rows, values = exact, np.zeros(8)
    beta, w, h = np.zeros(m), np.zeros(width), np.zeros(m)
    if shares.size:
        rows = exact.copy()
        own = best_bias(exact, h) if is_free else 0.0
        for i in range(m):
            beta[i] = own
        loss, inverse = total_loss(exact, below, beta), 0.0
        for i in range(m):
            beta[i] = 0.0
            inverse += 1.0 / shares[i] if shares[i] > 0.0 else 0.0
        values[6] = loss / inverse if loss > 0.0 else 1.0
        values[7] = LEAST * values[6]
        put_centre(exact, below, shares, values[6], beta, rows)
    data = Data(X, penalty, rows, below, column if is_free else 0.0, exact, shares, shares.size > 0)
    arrays = np.empty((2, m))
    H, image = np.zeros((width, width)), np.zeros(width)
    it = Iterate(w, h, arrays[0], arrays[1], np.empty(width), beta, image, values, zeros, H)
    examine(data, it, parts.gap)
    steps = descend(data, it, parts.gap, answers.trail.shape[1], answers.trail[k])
    answers.steps[k] = steps
    _answer(parts, k, answers, below, data, it, sq, is_free)


@njit(cache=True, nogil=True, error_model="numpy")
def _answer(parts, k, answers, below, data, it, sq, is_free):
    """Write the point, certified from scratch, and its model."""
    m, d, first = it.beta.size, answers.w.shape[1], answers.start[k]
    restrain(data.exact, it.beta, is_free)
    v, h, own, bias, of_bias = np.empty(it.w.size), np.empty(m), 0.0, 0.0, np.empty(0)
    combine(data.X, it.beta, v)
    if is_free:
        v[-1] = it.w[-1] = 0.0
    multiply(data.X, v, h)
    of_point, w = h, v
    if data.is_answer_w:
        w, h = it.w, np.empty(m)
        multiply(data.X, w, h)
    if is_free:
        own = best_bias(data.exact, h)
    gradient = answers.gradient[first : first + m]
    fill_gradient(data.exact, below, it.beta, of_point, own, gradient)
    if is_free:
        bias, of_own = exact_sum(parts.origin, own)
        of_bias = np.empty(m)
        for i in range(m):
            h[i], of_h = exact_sum(h[i], own)
            of_bias[i] = abs(of_h) + abs(of_own)
            if parts.of_targets.size:
                of_bias[i] += parts.of_targets[answers.rows[first + i]]
    elif w.size > d:
        bias = data.X[0, -1] * w[-1]
    copy(answers.beta[first : first + m], it.beta)
    copy(answers.w[k], w[:d])
    answers.bias[k] = bias
    certified = prove(data.exact, below, sq, it.beta, v, w, h, of_bias, is_free)
    for c in range(4):
        answers.values[k, c] = certified[c]


def measure(m: int, width: int) -> float:
    """Return how many nanoseconds a problem of m samples takes, roughly."""
    return m * (PRODUCT * width * width + SAMPLE)
