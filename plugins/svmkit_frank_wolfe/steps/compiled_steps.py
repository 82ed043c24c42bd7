"""Many steps in one compiled call, while all points are tracked and the kernel rows of the steps are available.

The steps are those of the variants' `direction`, on the same vertices, without the overhead of Python for each.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from svmkit.kernels.loops.row_loops import find
from svmkit.runtime.compiling import njit
from svmkit.solver.exact_search import TINY
from svmkit_frank_wolfe.iterate import loops
from svmkit_frank_wolfe.iterate.loops import FAINT, FRESH


class Rule(IntEnum):
    """The rule by which compiled steps choose their direction, named after its solver."""

    FW = 0
    MFW = 1
    SWAP = 2
    SWAP2O = 3
    MDM = 4


class Points(NamedTuple):
    """The arrays of all n points that a step reads and changes."""

    w: np.ndarray  # unscaled weights and gradient, changed in place
    g: np.ndarray
    y: np.ndarray
    diag: np.ndarray  # A_ii
    ridge: np.ndarray
    linear: np.ndarray  # the linear term c; empty for c = 0


class Sums(NamedTuple):
    """The numbers of an iterate."""

    scale: float  # alpha = scale w
    f: float  # alpha'g
    c_alpha: float  # c'alpha
    active: int  # weights above 0
    age: int  # steps since f was summed anew


@njit(inline="always")
def _toward(p, s, i):
    """Return slope, curvature, largest step, s, c_in and c_out of D = e_i - alpha, as in `Direction`."""
    image = p.g[i] - (p.linear[i] if p.linear.size else 0.0)
    return p.g[i] - s.f, p.diag[i] - 2.0 * image + s.f - s.c_alpha, 1.0, -1.0, 1.0, 0.0


@njit(inline="always")
def _away(p, s, j):
    """Return the same of D = alpha - e_j."""
    image, weight = p.g[j] - (p.linear[j] if p.linear.size else 0.0), s.scale * p.w[j]
    most = weight / (1.0 - weight) if weight < 1.0 else 0.0
    return s.f - p.g[j], p.diag[j] - 2.0 * image + s.f - s.c_alpha, most, 1.0, 0.0, -1.0


@njit(inline="always")
def _pairwise(p, s, bias, row, i, j):
    """Return the same of D = e_i - e_j, where row = k_i."""
    entry = p.diag[i] if i == j else p.y[i] * p.y[j] * (row[j] + bias)
    return p.g[i] - p.g[j], p.diag[i] - 2.0 * entry + p.diag[j], s.scale * p.w[j], 0.0, 1.0, -1.0


@njit(inline="always")
def _gain(d):
    """Return slope^2 / curvature of a direction; 0 if f does not fall along it."""
    curvature = d[1] if d[1] > TINY else TINY
    return d[0] * d[0] / curvature if d[0] < 0.0 else 0.0


@njit(cache=True)
def _direction(rule, p, s, bias, row, i, j):
    """Return the away vertex and the direction that a rule chooses; row = k_i, which fw and mfw do not read.

    `j` is the active point of highest g.
    """
    toward = _toward(p, s, i)
    if rule == Rule.FW:
        return j, toward
    if rule == Rule.MFW:
        away = _away(p, s, j)
        return j, (toward if toward[0] <= away[0] else away)
    if rule == Rule.SWAP2O:
        j = loops.second_order_away(p.g, p.w, p.y, p.diag, row, i, p.y[i], bias, TINY)
        if j < 0:
            return i, toward
    swap = _pairwise(p, s, bias, row, i, j)
    return j, (swap if rule == Rule.MDM or _gain(swap) >= _gain(toward) else toward)


@njit(cache=True)
def _reweigh(p, s, i, c_in, j, c_out, drops):
    """Give the two vertices their new weights; return the scale and the number of active points."""
    w, scale, active = p.w, s.scale, s.active
    if not FAINT < scale < 1.0 / FAINT:
        for r in range(w.size):
            w[r] *= scale
        scale = 1.0
    if c_in != 0.0:
        active += w[i] == 0.0
        w[i] += c_in / scale
    if c_out != 0.0:
        w[j] += c_out / scale
        if drops or w[j] <= 0.0:
            w[j] = 0.0
            active -= 1
    return scale, active


@njit(cache=True)
def _sum_up(p, s):
    """Return the numbers of an iterate with f, c'alpha and the number of active points summed from scratch."""
    f, active = loops.survey(p.g, p.w)
    c_alpha = 0.0
    for r in range(p.linear.size):
        c_alpha += p.linear[r] * p.w[r]
    return Sums(s.scale, f * s.scale, c_alpha * s.scale, active, 0)


@njit(cache=True)
def take_steps(rule, p, sums, i, rows, bias, most, target):
    """Take up to `most` steps, until the estimate 2 (f - min g) of the gap is at most `target` times the objective.

    Parameters
    ----------
    rule, i : Rule, int
        How a step chooses its direction, and the toward vertex of the first step; each later one goes to argmin of g.
    p, sums : Points, Sums
        The iterate, changed in place, and its numbers.
    rows, bias : svmkit.kernels.loops.row_table.RowTable, float
        The available kernel rows, and the number that is added to every kernel value.
    most, target : int, float
        Largest number of steps, and the relative gap at which to end.

    Returns
    -------
    steps, sums, i : int, Sums, int
        Steps taken, of which the last one may have had a length of 0, which ends the run; numbers and toward vertex.
    moved, missing : bool, int
        Whether the last step had a length > 0, and the point whose missing kernel row ended the run early; -1 if none
        was missing.
    """
    s, steps = sums, 0
    j = loops.away_vertex(p.g, p.w)
    while steps < most:
        a = 0 if rule == Rule.FW or rule == Rule.MFW else find(rows, i)
        if a < 0:
            return steps, s, i, True, i
        k, (slope, curvature, lam_max, shrink, c_in, c_out) = _direction(rule, p, s, bias, rows.slab[a], i, j)
        lam = -slope / (curvature if curvature > TINY else TINY) if slope < 0.0 else 0.0
        lam = lam if lam < lam_max else lam_max
        if not lam > 0.0:
            return steps + 1, _sum_up(p, s), i, False, -1
        shrink, c_in, c_out = 1.0 + lam * shrink, lam * c_in, lam * c_out
        k = k if c_out != 0.0 else i
        a = find(rows, i if c_in != 0.0 else k)
        b = find(rows, k) if c_out != 0.0 else a
        if a < 0 or b < 0:
            return steps, s, i, True, (i if a < 0 and c_in != 0.0 else k)
        objective, c_alpha = s.f + s.c_alpha + lam * (2.0 * slope + lam * curvature), s.c_alpha
        if p.linear.size:
            c_alpha = shrink * c_alpha + c_in * p.linear[i] + c_out * p.linear[k]
        moved = Sums(s.scale * shrink, s.f, c_alpha, s.active, s.age)
        scale, active = _reweigh(p, moved, i, c_in, k, c_out, lam >= lam_max and c_out != 0.0)
        i, j = loops.move_and_look(
            p.g, p.w, p.y, p.ridge, p.linear, rows.slab[a], rows.slab[b], i, k, shrink, c_in, c_out, bias
        )
        s = Sums(scale, objective - c_alpha, c_alpha, active, s.age + 1)
        steps += 1
        if s.age >= FRESH or scale != moved.scale:
            s = _sum_up(p, s)
        if 2.0 * (s.f - p.g[i]) <= target * abs(s.f + s.c_alpha):
            break
    return steps, s, i, True, -1
