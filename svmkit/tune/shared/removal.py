"""The compiled refits of leave-one-out: each takes a row out of a solution, and stops once its prediction is known.

Let w* be the optimum without row r, and w a point whose gap there is g. Then |h(x) - h*(x)| <= sqrt(2 g k(x, x)) for
all rows, and the optimal bias is where the weights that the losses imply, as functions of the bias, sum to 0. Both
together bound the decision of row r: `knows_sign` checks whether any optimum within the bound can decide otherwise.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from svmkit.kernels.loops.row_table import RowTable
from svmkit.runtime.compiling import njit
from svmkit.solver.smo.box import LOW, TINIEST, UP, Box, extremes, gap, l1_among, ridge_at, slope, take_sides, width_at
from svmkit.tune.shared.loops import add_rows, work

ROUNDS = 40  # of a refit, at most
FALL = 0.03  # factor by which a round reduces the gap if a sign is sought
SWEEPS = 8  # over the rows that share the weight of the removed row
LEAST = 1e-14  # share of a weight that is not transferred
TINY = 1e-9  # share of the sum of weights that may be due to rounding


class Whole(NamedTuple):
    """The solution of all n rows from which each refit starts, and what refits need of the problem."""

    v: np.ndarray  # as in `Box`
    beta: np.ndarray
    origin: np.ndarray  # the origin of the problem
    roots: np.ndarray  # sqrt(k(x, x))
    K: np.ndarray  # (n, n), the kernel values among the rows, float64
    free: np.ndarray  # the rows between their bounds


class Active(NamedTuple):
    """The rows whose weights a refit moves, after the first step, with their kernel values."""

    at: np.ndarray
    part: Box
    rows: RowTable
    kinks: Any  # as in `svmkit.solver.smo.box`


class Aim(NamedTuple):
    """The aim of a refit."""

    gap: float  # relative
    labels: bool  # the sign of the decision suffices if it is known earlier


class Found(NamedTuple):
    """The results of refits, an entry each."""

    decision: np.ndarray  # without the centre of the targets
    gap: np.ndarray  # relative
    steps: np.ndarray
    is_done: np.ndarray


@njit(nogil=True, cache=True)
def knows_sign(box, roots, size, r, h, rises, skips):
    """Return whether the decision of row r has the sign of that of every optimum within the bounds.

    Parameters
    ----------
    box, roots : Box, ndarray of shape (n,)
        The state of a problem without kinks, and sqrt(k(x, x)).
    size : float
        sqrt(2 g), for the gap g.
    r, h, rises, skips
        The row, its decision value without the bias, whether its decision is positive, and whether the row is left out
        of the problem.
    """
    turn = 1.0 if rises else -1.0
    shift, total, sizes = turn * size * roots[r] - h, 0.0, 0.0
    for j in range(box.v.size):
        if j == r and skips:
            continue
        y, ridge = box.y[j], box.ridge[j]
        residual = -y * (box.v[j] - y * ridge * box.beta[j] + turn * size * roots[j] + shift)
        if ridge > TINIEST:
            best = min(max(residual / ridge, box.lower[j]), box.upper[j])
        else:
            is_up = residual > 0.0 or (residual == 0.0 and turn * y < 0.0)
            best = box.upper[j] if is_up else box.lower[j]
        total += y * best
        sizes += abs(best)
    return turn * total > TINY * sizes


@njit(nogil=True, cache=True)
def sure_rows(box, whole, size, bias, rows, skips, out):
    """Write to `out` whether the signs of the decisions of some rows at the solution of all are those of every optimum.

    Parameters
    ----------
    box, whole, size, bias : Box, Whole, float, float
        The state at the solution of all rows, sqrt(2 g) of its gap g, and the bias.
    rows, skips, out : ndarray of int, bool, ndarray of bool
        The rows, whether each is left out of its problem, and the result.
    """
    for q in range(rows.size):
        r = rows[q]
        h = whole.v[r] - box.y[r] * (whole.origin[r] + box.ridge[r] * whole.beta[r])
        out[q] = knows_sign(box, whole.roots, size, r, h, h + bias > 0.0, skips)


@njit(nogil=True, cache=True)
def leave_out(box, whole, active, aim, held, ways, found, kinks):
    """Refit without each of the rows `held` (q,), one at a time, from the solution of all rows.

    Parameters
    ----------
    box, whole, active, aim : Box, Whole, Active, Aim
        The working state, whose v and beta need not be set, the starting solution, the rows that move, and the aim.
    held, ways, found : ndarray of int, ndarray of shape (q, n_free), Found
        The rows, the first step of the free rows for each, in terms of y beta, and the results.
    kinks
        As in `svmkit.solver.smo.box`, of all rows.
    """
    for q in range(held.size):
        r = held[q]
        lower, upper = box.lower[r], box.upper[r]
        box.lower[r], box.upper[r] = 0.0, 0.0
        _remove(box, whole, r, ways[q], kinks)
        decision, difference, steps, is_done = _refit(box, whole, active, aim, r, kinks)
        found.decision[q], found.gap[q], found.steps[q], found.is_done[q] = decision, difference, steps, is_done
        box.lower[r], box.upper[r] = lower, upper


@njit(nogil=True, cache=True)
def _remove(box, whole, r, way, kinks):
    """Set the weight of row r to 0 at the solution of all rows, and transfer it to other rows."""
    y, free = box.y, whole.free
    box.v[:], box.beta[:] = whole.v, whole.beta
    moved, coef = np.empty(free.size + 1, np.int64), np.empty(free.size + 1)
    left = y[r] * whole.beta[r]  # of y beta
    moved[0], coef[0] = r, -left
    box.beta[r] = 0.0
    scale = abs(left)
    for i in range(free.size):
        j = free[i]
        moved[i + 1], coef[i + 1] = j, 0.0
        if j != r:
            coef[i + 1] = _raise(box, j, way[i])
            left -= coef[i + 1]
    for _ in range(SWEEPS):
        if abs(left) <= LEAST * scale:
            break
        share = left / free.size if free.size else 0.0
        for i in range(free.size):
            if free[i] != r:
                taken = _raise(box, free[i], share)
                coef[i + 1] += taken
                left -= taken
    add_rows(whole.K, moved, coef, box.v)
    for i in range(1, moved.size):
        j = moved[i]
        box.v[j] += _ridge_rise(box, j, whole.beta[j], kinks)
    while abs(left) > LEAST * scale:  # no room is left between the bounds: the best rows at a bound take all they can
        take_sides(box, kinks)
        i, k = extremes(box.v, box.side, kinks)
        moved[0] = i if left > 0.0 else k
        if moved[0] < 0:
            break
        coef[0] = _raise(box, moved[0], left)
        if coef[0] == 0.0:
            break
        left -= coef[0]
        add_rows(whole.K, moved[:1], coef[:1], box.v)
        box.v[moved[0]] += _ridge_rise(box, moved[0], box.beta[moved[0]] - y[moved[0]] * coef[0], kinks)


@njit(inline="always")
def _raise(box, j, by):
    """Add to y beta of a row, within its bounds, and return what was added."""
    before, y = box.beta[j], box.y[j]
    box.beta[j] = min(max(before + y * by, box.lower[j]), box.upper[j])
    return y * (box.beta[j] - before)


@njit(inline="always")
def _ridge_rise(box, j, before, kinks):
    """Return by how much the ridge has raised v of a row since its weight was `before`."""
    now = box.beta[j]
    new, old = ridge_at(box.ridge, kinks, j, now < 0.0), ridge_at(box.ridge, kinks, j, before < 0.0)
    return box.y[j] * (new * now - old * before)


@njit(nogil=True, cache=True)
def _refit(box, whole, active, aim, r, kinks):
    """Lower the objective without row r; return its decision, the relative gap, the steps, and whether that is all."""
    is_ridged, steps, decision, difference = box.ridge.any(), 0, 0.0, math.inf
    for _ in range(ROUNDS):
        take_sides(box, kinks)
        i, k = extremes(box.v, box.side, kinks)
        if i < 0 or k < 0:
            return decision, difference, steps, False
        low, high = slope(box.v[i], box.side[i], UP, kinks, i), slope(box.v[k], box.side[k], LOW, kinks, k)
        bias = -0.5 * (low + high)
        g, value = gap(box, is_ridged, bias, kinks), _objective(box, whole.origin, kinks)
        size = max(abs(value), abs(g - value), TINIEST)
        h = box.v[r] - box.y[r] * whole.origin[r]
        decision, difference = h + bias, g / size
        is_optimal = not high > low
        is_done = is_optimal or g <= aim.gap * size
        wanted = 0.9 * aim.gap * size
        if aim.labels and not is_done and kinks is None:
            size_of = math.sqrt(2.0 * max(g, 0.0))
            is_done = knows_sign(box, whole.roots, size_of, r, h, decision > 0.0, True)
            wanted = max(wanted, FALL * g)
        if is_done:
            return decision, difference, steps, True
        taken = _round(box, whole.K, active, is_ridged, wanted, kinks)
        steps += taken
        if taken == 0:
            break
    return decision, difference, steps, False


@njit(nogil=True, cache=True)
def _objective(box, origin, kinks):
    """Return the objective of the dual, which is minimised."""
    total = 0.0
    for j in range(box.v.size):
        total += 0.5 * box.beta[j] * (box.y[j] * box.v[j] + origin[j])
        if kinks is not None:
            total += abs(box.beta[j]) * width_at(kinks, j)
    return total


@njit(nogil=True, cache=True)
def _round(box, K, active, is_ridged, goal, kinks):
    """Take steps among the active rows while the others stay; return how many."""
    at, part = active.at, active.part
    for a in range(at.size):
        j = at[a]
        part.v[a], part.beta[a], part.lower[a], part.upper[a] = box.v[j], box.beta[j], box.lower[j], box.upper[j]
    steps, _ = work(part, active.rows, is_ridged, goal, 1000 + 20 * at.size, active.kinks)
    moved, coef, n = np.empty(at.size, np.int64), np.empty(at.size), 0
    for a in range(at.size):
        j = at[a]
        by = part.beta[a] - box.beta[j]
        if by != 0.0:
            moved[n], coef[n] = j, box.y[j] * by
            n += 1
            box.beta[j] = part.beta[a]
            box.v[j] += _ridge_rise(box, j, box.beta[j] - by, kinks)
    add_rows(K, moved[:n], coef[:n], box.v)
    return steps if n else 0


def active_rows(box: Box, at: np.ndarray, values: np.ndarray, kinks: Any) -> Active:
    """Return the rows that refits move.

    Parameters
    ----------
    box, at, values, kinks : Box, ndarray of shape (n,), ndarray of shape (n, n), object
        The state of all rows, the rows that move, the kernel values among them, and the kinks of all rows.
    """
    n = len(at)
    unused = np.zeros(n, np.int64), np.zeros(n, np.bool_), np.zeros(1, np.int64), np.zeros(1)
    rows = RowTable(values, np.arange(n), *unused, quantum=0.0)
    return Active(at, Box(*(array[at] for array in box)), rows, l1_among(kinks, at))
