"""SMO under two equalities, compiled: steps for nu-SVC and nu-SVR, whose pairs have weights of one kind.

The problem is `svmkit.problems.nu.NuQP`. Its weights a and a' are two boxes over the same v: for a step on two samples
of a, v takes the part that it has in BoxQP with y = +1, for one of a' with y = -1. So a box is that of
`svmkit.solver.smo.box`, and the pair with the larger violation steps (LIBSVM: Chang, Lin 2011, section 4.2).
"""

from __future__ import annotations

import numpy as np

from svmkit.kernels.loops.row_loops import find
from svmkit.runtime.compiling import njit
from svmkit.solver.smo.box import extremes, move
from svmkit.solver.smo.steps import TAU, second_order, step


@njit(inline="always")
def _violation(v, i, k):
    """Return the violation of a pair; -inf where it does not exist."""
    return v[k] - v[i] if i >= 0 and k >= 0 else -np.inf


@njit(cache=True)
def take_nu_steps(over, under, rows, pairs, second, most, target):
    """Run SMO from the maximal violating pairs until both violations are <= `target`, at most `most` steps.

    Parameters
    ----------
    over, under : svmkit.solver.smo.box.Box
        The state of a, with y = +1, and of a', with y = -1; changed in place. They share the array v.
    rows : svmkit.kernels.loops.row_table.RowTable
        As for `svmkit.solver.smo.steps.take_steps`.
    pairs : ndarray of int64, shape (2, 2)
        The maximal violating pair of each box, as `extremes` returns it; changed in place.
    second, most, target
        As for `svmkit.solver.smo.steps.take_steps`.

    Returns
    -------
    steps : int
        Steps taken. The last one may have made no progress, which ends the run.
    change : float
        Change of the objective.
    missing : int
        The point whose kernel row is not at hand, so that the run ended early; -1 if none was missing.
    """
    v, unit = over.v, rows.grain if rows.grain > 0.0 else 1.0
    floor = max(2.0 * rows.grain, TAU)
    steps, change = 0, 0.0
    while steps < most:
        first = _violation(v, pairs[0, 0], pairs[0, 1])
        last = _violation(v, pairs[1, 0], pairs[1, 1])
        at = 0 if first >= last else 1
        if not max(first, last) > target:
            break
        box, other = (over, under) if at == 0 else (under, over)
        i, partner = pairs[at, 0], pairs[at, 1]
        a = find(rows, i)
        if a < 0:
            return steps, change, i
        row_i = rows.slab[a]
        if second:
            better = second_order(v, box.side, box.diag, row_i, i, unit, floor)
            partner = better if better >= 0 else partner
        b = find(rows, partner)
        if b < 0:
            return steps, change, partner
        t, fell = step(box, i, partner, unit * row_i[partner], floor)
        steps += 1
        change += fell
        if t == 0.0:
            break
        pairs[at] = move(v, box.side, row_i, rows.slab[b], t * unit)
        pairs[1 - at] = extremes(v, other.side)
    return steps, change, -1
