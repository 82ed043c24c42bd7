"""SMO on many class pairs in one compiled call: their slices, one after the other, and their certificates."""

from __future__ import annotations

import numpy as np

from svmkit.kernels.loops.complete_rows import Slab, combine, source_of_pair
from svmkit.problems.bias import select_bias
from svmkit.problems.sums import Record, values_at
from svmkit.runtime.compiling import njit
from svmkit.solver.smo.box import Box
from svmkit_decomposition.complete import LOOKS, CompleteRows, n_support, take_slice


@njit(nogil=True, cache=True)
def solve_pairs(pairs, bounds, answers, room, at, budget, hurry, second):
    """Solve class pairs with the hinge loss, as specified by `svmkit.solver.smo.pairs.SolvesPairs`.

    `second` says whether the second point of a step is chosen by the second-order rule.
    """
    lines = 0
    while at < pairs.where.shape[0] and lines + LOOKS < room.trail.shape[0]:
        n, under_way = pairs.where[at, 1] + pairs.where[at, 3], room.under_way
        if budget <= 0.0 or (hurry and not under_way[0]):
            break
        source, first = source_of_pair(pairs.source, pairs.where[at]), answers.first[at]
        y, C, diag, v = room.vectors[0, :n], room.vectors[1, :n], room.vectors[2, :n], room.vectors[3, :n]
        h, ridge, cost = room.vectors[4, :n], room.vectors[5, :n], room.vectors[6, :n]
        beta = answers.beta[first : first + n]
        slab = Slab(room.rows[: n * n].reshape((n, n)), room.slot_of[:n], room.done)
        box, pair = Box(y, ridge, C, ridge, diag, beta, v, room.side[:n]), np.full((1, 2), -1)  # ridge and lower are 0
        taken, objective = 0, 0.0
        if under_way[0]:
            pair[0, 0], pair[0, 1] = int(under_way[1]), int(under_way[2])
            taken, objective = int(under_way[3]), under_way[4]
        else:
            _begin(pairs, at, slab, box)
        given, values = (0.0 if hurry else budget), slab.done[1]
        most = 0 if hurry else max(0, int(min(pairs.most - taken, 1e15)))
        trail = room.trail[lines : lines + LOOKS]
        rows = CompleteRows(source, slab)
        looks, steps, objective, difference = take_slice(
            box, rows, pair, second, False, objective, pairs.gap, taken, most, given, trail, None
        )
        for line in range(lines, lines + looks):
            room.trail[line, 0] += taken
            room.pair_of[line] = at
        lines += looks
        taken += steps
        work = 2.0 * n * steps + 4.0 * (slab.done[1] - values)
        budget -= work + n
        scale = max(abs(objective), abs(difference - objective))
        line = room.trail[lines]
        line[0], line[1], line[2] = taken, objective, difference / max(scale, 1e-300)
        line[3], line[4], room.pair_of[lines] = n_support(beta), slab.done[1], at
        lines += 1
        if not hurry and work > given and difference > pairs.gap * scale:
            under_way[0], under_way[1], under_way[2] = 1.0, pair[0, 0], pair[0, 1]
            under_way[3], under_way[4] = taken, objective
            break
        under_way[0] = 0.0
        size = _support(pairs, answers, at, y, room.support)
        support, coef = room.support[:size], answers.coef[first:]
        combine(slab, support, coef, h)  # the last step with a sample needed its row
        for r in range(n):
            v[r], cost[r] = y[r] - h[r], C[r]
        bias, record = select_bias(y, v, cost, 0.0), Record(y, y, ridge, C, ridge, ridge, ridge, ridge)
        values = values_at(record, h, beta, diag, 0.0, bias, 0.0, 0.0, True, bounds)
        for c in range(5):
            answers.values[at, c] = values[c]
        for r in range(n):
            answers.gradient[first + r] = y[r] * h[r] - 1.0
        answers.bias[at], answers.size[at] = bias, size
        answers.counts[at, 0], answers.counts[at, 1] = taken, slab.done[1]
        at += 1
    return at, lines


@njit(cache=True)
def _begin(pairs, at, slab, box):
    """Set the state of a class pair to beta = 0."""
    a, n_a, b, n_b = pairs.where[at, 0], pairs.where[at, 1], pairs.where[at, 2], pairs.where[at, 3]
    for r in range(n_a + n_b):
        s = a + r if r < n_a else b + r - n_a
        box.y[r] = 1.0 if r < n_a else -1.0
        box.upper[r], box.diag[r] = pairs.C[s], pairs.diag[s]
        box.beta[r], box.v[r], box.ridge[r] = 0.0, -box.y[r], 0.0
        slab.slot_of[r] = -1
    slab.done[0] = slab.done[1] = 0


@njit(cache=True)
def _support(pairs, answers, at, y, idx):
    """Write the support vectors of a class pair to `idx` and to the results, and return their number."""
    a, n_a, b, size, first = pairs.where[at, 0], pairs.where[at, 1], pairs.where[at, 2], 0, answers.first[at]
    for r in range(y.size):
        beta = answers.beta[first + r]
        if beta != 0.0:
            idx[size], answers.coef[first + size] = r, beta * y[r]
            answers.rows[first + size] = pairs.order[a + r if r < n_a else b + r - n_a]
            size += 1
    return size
