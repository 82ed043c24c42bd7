"""The compiled loops of SMO: the selection of two points, the step on them and the update of v, one pass each.

The problem is BoxQP, min 1/2 beta'Q beta - 1'beta over 0 <= beta <= upper with y'beta = 0, and v_r = y_r G_r, where G
is the gradient (LIBSVM: Chang, Lin 2011, section 4). A step moves t > 0 from point k to point i: y_i beta_i grows by t
and y_k beta_k falls by t, so v changes by t times the difference of kernel rows i and k, plus the ridge terms. Point i
must have room above in y beta (the set UP, I_up in LIBSVM's paper), point k room below (LOW, I_low). At the optimum no
v of UP is below a v of LOW. Regression has kinks, as `box` says; a step on them ends where a beta reaches 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from svmkit.errors import SvmkitError
from svmkit.kernels.loops.row_loops import find
from svmkit.runtime.compiling import njit
from svmkit.solver.smo.box import BLOCK, FAST, LOW, UP, move, side_of, slope, violation_of

TAU = 1e-12  # LIBSVM's floor of a curvature: kernels that are not positive semidefinite give negative curvatures
ROUNDING = 1e-5  # relative rounding error of float32 kernel rows: a curvature below it is truly negative


def require_bound(objective: float, kernel: str) -> None:
    """Raise SvmkitError when `take_steps` found an unbounded objective, so the kernel is not positive semidefinite.

    Parameters
    ----------
    objective : float
        The objective after the steps; -inf where it is unbounded below.
    kernel : str
        Name of the kernel, for the message.
    """
    if not math.isfinite(objective):
        raise SvmkitError(
            f"the dual has no bound: the {kernel} kernel is not positive semidefinite on these data; choose another "
            "kernel, the hinge loss or a smaller C"
        )


@njit(cache=True, fastmath=FAST, error_model="numpy")
def second_order(v, side, diag, row, i, unit=1.0, floor=TAU, kink=None):
    """Return the best partner of point i by the second-order rule, or -1 when no point violates with it.

    Parameters
    ----------
    v, diag : ndarray of float64, shape (n,)
        As in `Box`.
    side : ndarray of uint8, shape (n,)
        As in `Box`.
    row : ndarray, shape (n,)
        Kernel row i in multiples of `unit`.
    i : int
        The first point.
    unit : float, default=1.0
        The kernel value that an entry 1 of `row` stands for.
    floor : float, default=TAU
        Lower bound that is put on curvatures.
    kink : float or None, default=None
        epsilon of a regression.

    Notes
    -----
    The partner maximises (v_r - v_i)^2 / (K_ii - 2 K_ir + K_rr) over the r of LOW with v_r > v_i (WSS 2 of Fan, Chen,
    Lin 2005).
    """
    best: Any = 0
    at = -1
    base, own, twice = v[i], diag[i], 2.0 * unit
    if kink is not None:
        base = slope(v[i], side[i], UP, kink)
    for lo in range(0, v.size, BLOCK):
        part, sides = v[lo : lo + BLOCK], side[lo : lo + BLOCK]
        diags, values = diag[lo : lo + BLOCK], row[lo : lo + BLOCK]
        top: Any = 0
        for r in range(part.size):
            violation = part[r] - base
            if kink is not None:
                violation = slope(part[r], sides[r], LOW, kink) - base
            curvature = own + diags[r] - twice * values[r]
            gain = violation * violation / (curvature if curvature > floor else floor)
            gain = gain if sides[r] & LOW and violation > 0.0 else 0.0
            key = np.float64(gain).view(np.int64)
            top = key if key > top else top
        if top > best:
            best, at = top, lo
    k, most = -1, 0.0
    if at >= 0:
        for r in range(at, at + BLOCK if at + BLOCK < v.size else v.size):
            violation = v[r] - base
            if kink is not None:
                violation = slope(v[r], side[r], LOW, kink) - base
            if side[r] & LOW and violation > 0.0:
                curvature = own + diag[r] - twice * row[r]
                gain = violation * violation / (curvature if curvature > floor else floor)
                if gain > most:
                    k, most = r, gain
    return k


@njit(inline="always")
def step(box, i, k, k_ik, floor=TAU):
    """Take the exact step on points i and k within the box: update their beta and side, but not v.

    Parameters
    ----------
    box : Box
        The state, changed in place.
    i, k : int
        The point whose y beta grows and the point whose y beta falls.
    k_ik : float
        Kernel value of the two points.
    floor : float, default=TAU
        Lower bound that is put on the curvature.

    Returns
    -------
    t : float
        Length of the step. It is 0 where rounding leaves both beta unchanged, and inf where the objective is unbounded
        below along the step; nothing is changed then. Only a kernel that is not positive semidefinite, without upper
        bounds, can lead to inf.
    change : float
        Change of the objective, <= 0.
    """
    beta, ridge = box.beta, box.ridge[i] + box.ridge[k]
    beta_i, upper_i, up_i = beta[i], box.upper[i], box.y[i] > 0.0
    beta_k, upper_k, up_k = beta[k], box.upper[k], box.y[k] > 0.0
    violation = box.v[k] - box.v[i]
    size = box.diag[i] + box.diag[k]
    curvature = size - 2.0 * k_ik
    room_i = upper_i - beta_i if up_i else beta_i
    room_k = beta_k if up_k else upper_k - beta_k
    if curvature < -ROUNDING * abs(size) and room_i == np.inf and room_k == np.inf:
        return np.inf, -np.inf
    least = ridge if ridge > curvature else curvature
    t = violation / (floor if floor > least else least)
    t = room_i if room_i < t else t
    t = room_k if room_k < t else t
    new_i = _shifted(beta_i, t if up_i else -t, upper_i, t == room_i)
    new_k = _shifted(beta_k, -t if up_k else t, upper_k, t == room_k)
    if new_i == beta_i and new_k == beta_k:
        return 0.0, 0.0
    beta[i], beta[k] = new_i, new_k
    box.side[i], box.side[k] = side_of(box.y[i], new_i, upper_i), side_of(box.y[k], new_k, upper_k)
    return t, t * (0.5 * t * curvature - violation)


@njit(inline="always")
def kinked_step(box, i, k, k_ik, floor, kink):
    """Take the exact step of a regression, as `step` does: it ends where a beta reaches 0 or its bound.

    The arguments and results are those of `step`, and `kink` is epsilon. Every y is 1.
    """
    beta, ridge = box.beta, box.ridge[i] + box.ridge[k]
    end_i = 0.0 if beta[i] < 0.0 else box.upper[i]
    end_k = 0.0 if beta[k] > 0.0 else -box.upper[k]
    room_i, room_k = end_i - beta[i], beta[k] - end_k
    violation = violation_of(box.v, box.side, i, k, kink)
    size = box.diag[i] + box.diag[k]
    curvature = size - 2.0 * k_ik
    if curvature < -ROUNDING * abs(size) and room_i == np.inf and room_k == np.inf:
        return np.inf, -np.inf
    least = ridge if ridge > curvature else curvature
    t = violation / (floor if floor > least else least)
    t = room_i if room_i < t else t
    t = room_k if room_k < t else t
    new_i, new_k = beta[i] + t, beta[k] - t
    new_i = end_i if t == room_i or new_i > end_i else new_i
    new_k = end_k if t == room_k or new_k < end_k else new_k
    if new_i == beta[i] and new_k == beta[k]:
        return 0.0, 0.0
    beta[i], beta[k] = new_i, new_k
    box.side[i] = side_of(1.0, new_i, box.upper[i], kink)
    box.side[k] = side_of(1.0, new_k, box.upper[k], kink)
    return t, t * (0.5 * t * curvature - violation)


@njit(inline="always")
def _shifted(beta, t, upper, to_bound):
    """Return beta + t.

    The result is exactly the bound where the step ends there.
    """
    if to_bound:
        return upper if t > 0.0 else 0.0
    moved = beta + t
    moved = moved if moved > 0.0 else 0.0
    return moved if moved < upper else upper


@njit(cache=True)
def take_steps(box, rows, i, k, second, most, target, kink=None):
    """Run SMO from the maximal violating pair (i, k) until the violation is <= `target`, at most `most` steps.

    Parameters
    ----------
    box : Box
        The state, changed in place.
    rows : svmkit.kernels.loops.row_table.RowTable
        Kernel rows that are at hand; in multiples of `rows.grain` where that is positive.
    i, k : int
        The maximal violating pair, as `extremes` returns it.
    second : bool
        Choose k by the second-order rule (`second_order`); else take the maximal violating pair.
    most : int
        Largest number of steps.
    target : float
        Violation v_k - v_i at which to end.
    kink : float or None, default=None
        epsilon of a regression.

    Returns
    -------
    steps : int
        Steps taken. The last one may have made no progress or may have been unbounded; both end the run.
    i, k : int
        The maximal violating pair at the end.
    change : float
        Change of the objective, -inf where it is unbounded below.
    missing : int
        The point whose kernel row is not at hand, so that the run ended early; -1 if none was missing.
    """
    v, side, diag, ridge = box.v, box.side, box.diag, box.ridge
    unit = rows.grain if rows.grain > 0.0 else 1.0
    floor = max(2.0 * rows.grain, TAU)  # rounding of a row to whole numbers leaves this much of a curvature open
    steps, change = 0, 0.0
    while steps < most and i >= 0 and k >= 0 and violation_of(v, side, i, k, kink) > target:
        a = find(rows, i)
        if a < 0:
            return steps, i, k, change, i
        row_i = rows.slab[a]
        partner = second_order(v, side, diag, row_i, i, unit, floor, kink) if second else k
        partner = partner if partner >= 0 else k
        b = find(rows, partner)
        if b < 0:
            return steps, i, k, change, partner
        row_k = rows.slab[b]
        if kink is None:
            t, fell = step(box, i, partner, unit * row_i[partner], floor)
        else:
            t, fell = kinked_step(box, i, partner, unit * row_i[partner], floor, kink)
        steps += 1
        change += fell
        if t == 0.0 or t == np.inf:
            break
        v[i] += t * ridge[i]
        v[partner] -= t * ridge[partner]
        i, k = move(v, side, row_i, row_k, t * unit, kink)
    return steps, i, k, change, -1
