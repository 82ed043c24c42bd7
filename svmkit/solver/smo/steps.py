"""The loop of SMO, compiled: the selection of two points, the step on them and the update of v, one pass each.

The problem is min 1/2 beta'Q beta + origin'beta + sum_r kink_r |beta_r| over lower <= beta <= upper with y'beta
constant, and v_r = y_r G_r, where G is the gradient of its smooth part (LIBSVM: Chang, Lin 2011, section 4). A step
moves t > 0 from point k to point i: y_i beta_i grows by t and y_k beta_k falls by t, so v changes by t times the
difference of kernel rows i and k, plus the ridge terms. Point i must have room above in y beta (the set UP, I_up in
LIBSVM's paper), point k room below (LOW, I_low). At the optimum no v of UP is below a v of LOW. With kinks, as
`box` says, a step ends where a beta reaches 0.

The weights of nu-SVC and nu-SVR are two boxes over the same v, a and a', each with its own equality: for a step on two
samples of a, v has the role that it has with y = +1, for a step on a' the role with y = -1 (section 4.2). The loop
therefore takes a tuple of boxes, and the pair with the largest violation steps.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.extending import overload

from svmkit.errors import SvmkitError
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram.semidefinite import not_finite, not_semidefinite
from svmkit.kernels.loops.row_table import RowTable
from svmkit.runtime.compiling import INLINED, njit
from svmkit.solver.smo.box import BLOCK, FAST, LOW, UP, extremes, ridge_at, side_of, slope, violation_of
from svmkit.solver.smo.rows import OPTIONS, UNCOUNTED, follow, is_kind, locate, quantum_of, release, row_at

TAU = 1e-12  # LIBSVM's floor of a curvature: kernels that are not positive semidefinite give negative curvatures
LAST: Any = np.int64(BLOCK - 1)  # the bits of a place in a block, whose size is a power of 2, and the largest place
ROUNDING = 1e-5  # relative rounding error of float32 kernel rows: a curvature below it is truly negative


def require_bound(objective: float, kernel: Kernel) -> None:
    """Raise SvmkitError when `take_steps` found an unbounded objective, so the kernel is not positive semidefinite."""
    if math.isnan(objective):
        raise SvmkitError(f"the dual is nan: {not_finite(kernel)}")
    if not math.isfinite(objective):
        raise SvmkitError(
            f"the dual has no bound: {not_semidefinite(kernel)}; choose another kernel, the hinge loss or a smaller C"
        )


@njit(cache=True, fastmath=FAST, error_model="numpy")
def second_order(v, side, diag, row, i, unit=1.0, floor=TAU, kinks=None):
    """Return the best partner of point i by the second-order rule, or -1 when no point violates with it.

    The partner maximises (v_r - v_i)^2 / (K_ii - 2 K_ir + K_rr), of which `floor` is the least denominator, over the r
    of LOW with v_r > v_i (WSS 2 of Fan, Chen, Lin 2005). `row` is kernel row i in multiples of `unit`.
    """
    best: Any = 0
    at = -1
    base, own, twice = v[i], diag[i], 2.0 * unit
    if kinks is not None:
        base = slope(v[i], side[i], UP, kinks, i)
    for lo in range(0, v.size, BLOCK):
        part, sides = v[lo : lo + BLOCK], side[lo : lo + BLOCK]
        diags, values = diag[lo : lo + BLOCK], row[lo : lo + BLOCK]
        top: Any = 0
        for r in range(part.size):
            violation = part[r] - base
            if kinks is not None:
                violation = slope(part[r], sides[r], LOW, kinks, lo + r) - base
            curvature = own + diags[r] - twice * values[r]
            gain = violation * violation / (curvature if curvature > floor else floor)
            # the last bits give the place: a second search would take longer than the first one
            key = np.float64(gain).view(np.int64) & ~LAST | (LAST - r)
            key = key if sides[r] & LOW and violation > 0.0 else 0
            top = key if key > top else top
        if top > best:
            best, at = top, lo
    return at + LAST - (best & LAST) if at >= 0 else -1


@njit(**INLINED)
def step(box, i, k, k_ik, floor=TAU, kinks=None):
    """Take the exact step on points i and k, whose y beta grows and falls: update beta, side and the ridge terms in v.

    Returns (length t of the step, change of the objective <= 0). t is 0 if rounding leaves both beta unchanged, and inf
    if the objective is unbounded below along the step; nothing is changed then. Only a kernel that is not positive
    semidefinite, without upper bounds, can lead to inf. `floor` is the least curvature.
    """
    beta_i, rises_i = box.beta[i], box.y[i] > 0.0
    beta_k, rises_k = box.beta[k], not box.y[k] > 0.0
    end_i = box.upper[i] if rises_i else box.lower[i]
    end_k = box.upper[k] if rises_k else box.lower[k]
    ridge_i, ridge_k, size = box.ridge[i], box.ridge[k], box.diag[i] + box.diag[k]
    if kinks is not None:
        end_i = 0.0 if beta_i < 0.0 else end_i
        end_k = 0.0 if beta_k > 0.0 else end_k
        ridge_i = ridge_at(box.ridge, kinks, i, beta_i < 0.0)
        ridge_k = ridge_at(box.ridge, kinks, k, beta_k <= 0.0)
        size += (ridge_i - box.ridge[i]) + (ridge_k - box.ridge[k])
    room_i = end_i - beta_i if rises_i else beta_i - end_i
    room_k = end_k - beta_k if rises_k else beta_k - end_k
    violation = violation_of(box.v, box.side, i, k, kinks)
    curvature = size - 2.0 * k_ik
    if curvature < -ROUNDING * abs(size) and room_i == np.inf and room_k == np.inf:
        return np.inf, -np.inf
    ridge = ridge_i + ridge_k
    least = ridge if ridge > curvature else curvature
    t = violation / (floor if floor > least else least)
    t = room_i if room_i < t else t
    t = room_k if room_k < t else t
    new_i = _move_weight(beta_i, rises_i, t, end_i, t == room_i)
    new_k = _move_weight(beta_k, rises_k, t, end_k, t == room_k)
    if new_i == beta_i and new_k == beta_k:
        return 0.0, 0.0
    box.beta[i], box.beta[k] = new_i, new_k
    box.side[i] = side_of(box.y[i], new_i, box.lower[i], box.upper[i], kinks)
    box.side[k] = side_of(box.y[k], new_k, box.lower[k], box.upper[k], kinks)
    box.v[i] += t * ridge_i
    box.v[k] -= t * ridge_k
    return t, t * (0.5 * t * curvature - violation)


@njit(**INLINED)
def _move_weight(beta, rises, t, end, to_end):
    """Return beta moved by t, exactly `end` if the step ends there."""
    moved = beta + t if rises else beta - t
    beyond = moved > end if rises else moved < end
    return end if to_end or beyond else moved


@njit(**INLINED)
def _violation(box, i, k, kinks):
    """Return the violation of a pair of points; -inf if one of them does not exist."""
    return violation_of(box.v, box.side, i, k, kinks) if i >= 0 and k >= 0 else -np.inf


@njit(**INLINED)
def _partner_in(row, box, i, k, second, limits, kinks):
    """Return the partner of point i, whose kernel row is given, and their kernel value; `limits` are unit and floor.

    The partner follows from the second-order rule if `second` is true and such a partner exists; else it is k.
    """
    unit, floor = limits
    partner = second_order(box.v, box.side, box.diag, row, i, unit, floor, kinks) if second else k
    partner = partner if partner >= 0 else k
    return partner, unit * row[partner]


def _partner_of(rows, slot, box, i, k, second, limits, kinks):
    """Return the result of `_partner_in` for the row in a slot."""
    return _partner_in(row_at(rows, slot), box, i, k, second, limits, kinks)


@overload(_partner_of, jit_options=OPTIONS)
def _partner_by_row(rows, slot, box, i, k, second, limits, kinks):
    return None if is_kind(rows, RowTable) else _partner_of


@overload(_partner_of, jit_options=UNCOUNTED)
def _partner_in_table(rows, slot, box, i, k, second, limits, kinks):
    def find_partner(rows, slot, box, i, k, second, limits, kinks):
        """Return the result of `_partner_in` for the row in a slot of a table.

        Parameters
        ----------
        rows, slot : RowTable, int
            The kernel rows, and the slot of the row of point i.
        box, i, k, second, limits, kinks
            As for `_partner_in`.
        """
        return _partner_in(rows.slab[slot], box, i, k, second, limits, kinks)

    return find_partner if is_kind(rows, RowTable) else None


@njit(nogil=True, cache=True)
def take_steps(boxes, rows, pairs, second, most, target, kinks, change):
    """Run SMO from the maximal violating pairs until no violation is above `target`, at most `most` steps.

    The state is one box, or two that share v; `rows` are kernel rows as `svmkit.solver.smo.rows` reads them. `pairs`
    (n_boxes, 2) is the maximal violating pair of each box, as `extremes` returns it. All but the rows change in place.
    k is chosen by the second-order rule if `second` is true, else it is the k of the pair.

    Returns (steps, change, missing): the last step may have made no progress or may have been unbounded; both end the
    run. The change of the objective is added to `change`, and is -inf if it is unbounded below. `missing` is the point
    whose missing kernel row ended the run early; -1 if none was missing, and -2 if the last step made no progress or
    was unbounded.
    """
    return _run(boxes, rows, pairs, second, most, target, kinks, change)


def _run(boxes, rows, pairs, second, most, target, kinks, change):
    """Run `take_steps`; rows of a `RowTable` are not reference-counted, as in `rows`."""
    quantum = quantum_of(rows)
    unit = quantum if quantum > 0.0 else 1.0
    floor = max(2.0 * quantum, TAU)  # rounding of a row to integers leaves a curvature uncertain by this much
    steps, box = 0, boxes[0]
    while steps < most:
        at, worst = 0, _violation(boxes[0], pairs[0, 0], pairs[0, 1], kinks)
        for other in range(1, len(boxes)):
            violation = _violation(boxes[other], pairs[other, 0], pairs[other, 1], kinks)
            if violation > worst:
                at, worst = other, violation
        if not worst > target:
            break
        if len(boxes) > 1:  # for a single box, references to its arrays would be counted anew for each step
            box = boxes[at]
        i, k = pairs[at, 0], pairs[at, 1]
        a = locate(rows, i)
        if a < 0:
            return steps, change, i
        partner, k_ik = _partner_of(rows, a, box, i, k, second, (unit, floor), kinks)
        release(rows, a)
        b = locate(rows, partner)
        if b < 0:
            return steps, change, partner
        t, fell = step(box, i, partner, k_ik, floor, kinks)
        steps += 1
        change += fell
        if t == 0.0 or t == np.inf:
            return steps, change, -2
        pairs[at, 0], pairs[at, 1] = follow(box, rows, a, b, t * unit, kinks)
        for other in range(len(boxes)):
            if other != at:
                pairs[other, 0], pairs[other, 1] = extremes(box.v, boxes[other].side, kinks)
    return steps, change, -1


@overload(_run, jit_options=OPTIONS)
def _run_on_rows(boxes, rows, pairs, second, most, target, kinks, change):
    return None if is_kind(rows, RowTable) else _run


@overload(_run, jit_options=UNCOUNTED)
def _run_on_table(boxes, rows, pairs, second, most, target, kinks, change):
    return _run if is_kind(rows, RowTable) else None
