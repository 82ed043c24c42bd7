"""The rounds of `svmkit.tune.shared.active`, compiled: a solve is one call unless it takes a leap.

With the hinge, one call solves for several values of C, as long as these are easy.

A round gathers the kernel values among the samples that may move into a square, takes steps of SMO on it, with Newton's
steps on the weights between their bounds where SMO would need many, and changes the decision values of all rows. Folds
are fitted in parallel threads: if Python drove the rounds, the threads would wait for the interpreter's lock at every
array.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit.kernels.loops.row_table import RowTable
from svmkit.problems.bias import select_bias
from svmkit.problems.sums import Record, values_at
from svmkit.runtime.compiling import njit
from svmkit.solver.smo.box import LOW, UP, Box, extremes, gap, l1_among, ridge_at, slope, take_sides, width_at
from svmkit.tune.shared.loops import add_rows, gather, newton_step, pick_active, pick_free, work
from svmkit.tune.shared.small_loops import gap_of

MARGIN = 0.3  # of half the largest violation: tolerance for slopes of samples that take part without violating
SHARE = 0.9  # of the gap that is asked for, down to which the samples of a round are solved
NEWTON = 400  # steps of SMO cost as much as a step of Newton with this root of their number of samples
MOST_NEWTON = 20  # steps of Newton in a round
ROUNDS, TRIES = 1000, 4  # of a call, and certificates that are asked for a smaller gap each
AGAIN = 0.5  # of the weights that are not 0 have moved: decision values are computed anew instead of changed
IDLE, SPARE = 1.5, 5  # samples of a square for each that may move, at most, and one in so many for which there is room
SLICE = 20_000_000  # samples times steps between two checks whether the search continues
ENDED, LEAPS, LOOKS = 0, 1, 2  # why a call returns: it has ended, a leap is due, or the caller is to check for a stop


class Posed(NamedTuple):
    """The arrays of a `DualQP` without a regularised bias, (n,) each; what differs above and below 0 is an `L1Part`."""

    signs: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    ridge: np.ndarray
    diag: np.ndarray
    origin: np.ndarray


class Iterate(NamedTuple):
    """A point (n,), h (m,) without the bias there, and how far its rounding errors may have come.

    An entry of h is off by at most `depth` times the unit roundoff times the sum of the weights and of the values of
    the kernel, as a sum is whose terms take part in `depth` additions each.
    """

    point: np.ndarray
    h: np.ndarray
    depth: float


class Square(NamedTuple):
    """Kernel values among some of n samples, which change a few at a time, float32 if they can be.

    The order of the samples is that of the rows and columns of `values`, where there is room for more.
    """

    values: np.ndarray  # (size, size)
    members: np.ndarray  # int64 (n,): the samples
    is_member: np.ndarray  # bool (n,)
    used: np.ndarray  # int64 (1,): how many they are


class Pace(NamedTuple):
    """The limits of a descent."""

    target: float  # the relative gap that is asked for
    most: float  # steps
    room: int  # samples of a round, at most
    leap: int  # weights between their bounds from which on a leap is due, up to `room`
    jitter: float  # is added to a diagonal before it is factorised
    least: float  # values below are 0 in a square
    is_ridged: bool


class EasyPath(NamedTuple):
    """The fits of a subproblem for each of some C."""

    decision: np.ndarray  # float64 (n_C, n_held): of the held-out rows, with the bias
    gap: np.ndarray  # float64 (n_C,): the relative gap that is certified
    steps: np.ndarray  # int64 (n_C,)
    n_support: np.ndarray  # int64 (n_C,)
    n_free: np.ndarray  # int64 (n_C,): the weights between their bounds
    ends: np.ndarray  # float64 (2, 2, n): weights times their signs, and slopes v + b, of the last two C


def empty_square(n: int, kind: np.dtype) -> Square:
    """Return a square of none of n samples, for values of a type."""
    return Square(np.empty((0, 0), kind), np.empty(n, np.int64), np.zeros(n, np.bool_), np.zeros(1, np.int64))


@njit(nogil=True, cache=True)
def descend(far, posed, start, square, pace, kinks):
    """Lower the objective by rounds until the relative gap is that of the pace, or its steps are taken.

    `far` is the matrix of all kernel values (m, m) and the row in it of each of the n samples. Returns where the rounds
    lead to, the square for the next time, the steps, the gap that is asked for, not relative, and why they have ended.
    """
    n, why, steps = far[1].size, ENDED, 0
    point, h, depth, goal = start.point.copy(), start.h.copy(), start.depth, 0.0
    given = posed.signs, posed.lower, posed.upper, posed.ridge, posed.diag
    box = Box(given[0], given[1], given[2], given[3], given[4], point, np.empty(n), np.empty(n, np.uint8))
    picked, slack, change = np.empty(n, np.int64), np.empty(n), np.empty(n)
    for _ in range(ROUNDS):
        value = _take_slopes(box, posed.origin, h, far[1], kinks)
        i, k = extremes(box.v, box.side, kinks)
        if i < 0 or k < 0:
            break
        low, high = slope(box.v[i], box.side[i], UP, kinks, i), slope(box.v[k], box.side[k], LOW, kinks, k)
        bias = -0.5 * (low + high)
        difference = gap(box, pace.is_ridged, bias, kinks)
        goal = pace.target * max(abs(value), abs(difference - value))
        if not high > low or difference <= goal or steps >= pace.most:
            break
        if steps * square.used[0] >= SLICE:
            why = LOOKS
            break
        if pace.leap <= _count_free(box) <= pace.room:
            why = LEAPS
            break
        active = picked[: pick_active(box, bias, MARGIN * 0.5 * (high - low), picked, slack, kinks)]
        if active.size > pace.room:  # those that violate the conditions most
            active = active[np.argsort(-slack[: active.size])[: pace.room]]
        square = _bring(square, active, far, pace)
        taken = _solve_round(box, square, pace, SHARE * goal, pace.most - steps, change, kinks)
        steps += taken
        moved, sizes = _take_change(box, change)
        if moved == 0:
            break
        depth = deeper(depth, sizes, moved)
        if moved > AGAIN * np.count_nonzero(point):
            h[:], change[:] = 0.0, point
            depth = depth_of(np.count_nonzero(point))
        _add_change(far, posed.signs, change, h)
    return Iterate(point, h, depth), square, steps, goal, why


@njit(nogil=True, cache=True)
def follow(far, part, last, square, pace, Cs, held, bounds, path):
    """Solve and certify problems of the hinge for ascending C, as long as each takes no more than the steps of a pace.

    `part` are the labels, what C is multiplied with, the diagonal, and `group` as for `begin`; `last` is the iterate to
    go on from, with its C. Returns the same after the last steps, the square for the next time, how many C are
    certified, and where the next one has ended, with its steps.
    """
    (y, weights, diag, group), (base, before), n = part, last, far[1].size
    zeros, origin, now, steps, done, total = np.zeros(n), -np.ones(n), base, 0, 0, 0
    while done < Cs.size and total * n < SLICE:
        posed, found = Posed(y, zeros, Cs[done] * weights, zeros, diag, origin), np.inf
        now, steps, goal = begin(far, posed, base, Cs[done] / before, group, pace.leap, None), 0, pace.target
        for _ in range(TRIES):
            own = Pace(goal, pace.most - steps, pace.room, n + 1, pace.jitter, pace.least, False)
            after, square, taken, _absolute, why = descend(far, posed, now, square, own, None)
            if taken:
                now, steps = after, steps + taken
            if now.depth > n:  # which is what a certificate allows for
                now = _from_scratch(far, posed, now.point)
            found, rounding, bias = _certify(posed, now, far[1], bounds)
            if found <= max(pace.target, 2.0 * rounding) or steps >= pace.most or why == LOOKS:
                break  # no step reduces a gap that consists mostly of rounding errors
            goal *= 0.5
        if not found <= pace.target:
            break
        _keep(path, done, posed, now, far[1], held, (found, bias, steps))
        done, total = done + 1, total + steps
        if steps:  # what is scaled from a solution is off by one rounding, however often
            base, before = now, Cs[done - 1]
    return (base, before), square, done, now, steps


@njit(cache=True)
def _certify(posed, now, at, bounds):
    """Return the relative gap that is proven at an iterate of the hinge, the part of it that is due to rounding, and
    the bias.
    """
    y, h, zeros = posed.signs, now.h[at], posed.lower
    bias = select_bias(y, y - h, posed.upper.copy(), 0.0)
    record = Record(y, y, zeros, posed.upper, zeros, zeros, zeros, zeros)
    values = values_at(record, h, now.point, posed.diag, 0.0, bias, 0.0, 0.0, True, bounds)
    size = max(abs(values[0]), abs(values[1]))
    return gap_of(values), (values[2] + values[3]) / size if size > 0.0 else 0.0, bias


@njit(cache=True)
def _keep(path, c, posed, now, at, held, found):
    """Keep a fit that is certified."""
    out, ends, n_support, n_free = path.decision[c], path.ends, 0, 0
    path.gap[c], bias, path.steps[c] = found
    for j in range(held.size):
        out[j] = now.h[held[j]] + bias
    for r in range(at.size):
        weight = now.point[r]
        n_support += weight != 0.0
        n_free += weight > posed.lower[r] and weight < posed.upper[r]
        ends[0, 0, r], ends[0, 1, r] = ends[1, 0, r], ends[1, 1, r]
        ends[1, 0, r], ends[1, 1, r] = posed.signs[r] * weight, now.h[at[r]] - posed.signs[r] + bias
    path.n_support[c], path.n_free[c] = n_support, n_free


@njit(cache=True)
def _from_scratch(far, posed, point):
    """Return a point with its decisions from scratch."""
    h = np.zeros(far[0].shape[0])
    _add_change(far, posed.signs, point, h)
    return Iterate(point, h, depth_of(np.count_nonzero(point)))


@njit(nogil=True, cache=True)
def begin(far, posed, last, ratio, group, leap, kinks):
    """Return the best of some points for a C that is `ratio` times that of the last iterate.

    They are the last point, which is optimal still once no weight is at C, the point times the ratio, which is optimal
    as long as the solution is linear in C, and, where `group` (n,) is given, a number that equal rows have in common,
    the last point with weights of equal rows of opposite labels raised alike. Where `leap` weights or more are between
    their bounds, only such are taken from which a leap goes on.
    """
    best = _scale(posed, last, ratio)
    n_free, n_bound = 0, 0
    for r in range(posed.upper.size):
        n_bound += best.point[r] == posed.upper[r]
        n_free += best.point[r] > posed.lower[r] and best.point[r] < posed.upper[r]
    is_many = n_free >= leap and n_bound > 0
    same = _scale(posed, last, 1.0)
    rise = _rise_of_twins(posed, group, 1.0 - 1.0 / ratio) if group.size else posed.origin[:0]
    if is_many and rise.size:
        for r in range(rise.size):
            if rise[r] == 0.0 and best.point[r] == posed.upper[r]:
                rise = rise[:0]
                break
    if is_many and not rise.size:
        return best
    value = _value_at(posed, best, far[1], kinks)
    if not is_many:  # otherwise the same weights are between their bounds
        other = _value_at(posed, same, far[1], kinks)
        if other < value:
            best, value = same, other
    if rise.size:
        twins = _raise(far, posed, same, rise)
        if _value_at(posed, twins, far[1], kinks) < value:
            return twins
    return best


@njit(cache=True)
def _scale(posed, last, ratio):
    """Return an iterate times a ratio within the bounds."""
    point = np.empty(last.point.size)
    for r in range(point.size):
        new = last.point[r] * ratio
        point[r] = _snap(posed.lower[r] if new < posed.lower[r] else new, posed.upper[r])
    return Iterate(point, last.h * ratio, last.depth + 2.0)


@njit(inline="always")
def _snap(weight, upper):
    """Return a weight, which is at its upper bound if it is off by a rounding error, or beyond."""
    return upper if weight >= upper * (1.0 - 2.0**-50) else weight


@njit(cache=True)
def _rise_of_twins(posed, group, share):
    """Return a change (n,) of the weights of equal rows of opposite labels that leaves w as it is; (0,) if none does.

    Those of the label with the lower bounds rise by a share of these, and those of the other one by as much together.
    Where the bounds have risen by this share, and no other weight is at its bound, the last solution with this change
    is the next one.
    """
    sums, rise, n_rising = np.zeros((2, group.max() + 1)), np.zeros(group.size), 0
    for r in range(group.size):
        sums[int(posed.signs[r] > 0.0), group[r]] += posed.upper[r]
    for r in range(group.size):
        down, up = sums[0, group[r]], sums[1, group[r]]
        if down > 0.0 and up > 0.0:
            rise[r] = share * posed.upper[r] * min(down, up) / (up if posed.signs[r] > 0.0 else down)
            n_rising += 1
    return rise if n_rising else rise[:0]


@njit(cache=True)
def _raise(far, posed, last, rise):
    """Return an iterate with a change of its weights, within the bounds."""
    point, h, n, size, old, off = last.point.copy(), last.h.copy(), 0, 0.0, 0.0, 0.0
    for r in range(point.size):
        old += abs(point[r])
        if rise[r] != 0.0:
            point[r] = _snap(point[r] + rise[r], posed.upper[r])
            off += rise[r]
            n += 1
        size += abs(point[r])
    _add_change(far, posed.signs, rise, h)
    return Iterate(point, h, deeper(last.depth, (size, old, off), n))


@njit(cache=True)
def _value_at(posed, now, at, kinks):
    """Return the objective at an iterate."""
    box = Box(
        posed.signs,
        posed.lower,
        posed.upper,
        posed.ridge,
        posed.diag,
        now.point,
        np.empty(at.size),
        np.empty(at.size, np.uint8),
    )
    return _take_slopes(box, posed.origin, now.h, at, kinks)


@njit(cache=True)
def _take_slopes(box, origin, h, at, kinks):
    """Set v and the sides of a box from the decisions h (m,) of all rows; return the objective."""
    value = 0.0
    for r in range(at.size):
        weight, sign = box.beta[r], box.y[r]
        gradient = sign * h[at[r]] + ridge_at(box.ridge, kinks, r, weight < 0.0) * weight + origin[r]
        box.v[r] = sign * gradient
        value += 0.5 * weight * (gradient + origin[r])
        if kinks is not None:
            value += width_at(kinks, r) * abs(weight)
    take_sides(box, kinks)
    return value


@njit(cache=True)
def _count_free(box):
    """Return how many weights are between their bounds."""
    n = 0
    for r in range(box.v.size):
        n += box.beta[r] > box.lower[r] and box.beta[r] < box.upper[r]
    return n


@njit(cache=True)
def _bring(square, wanted, far, pace):
    """Return a square that has some samples, at most `room`, and others; where these are many they are given up."""
    values, members, is_member, used = square
    old, n = used[0], used[0]
    for r in wanted:
        if not is_member[r]:
            members[n] = r  # there is room: each sample is a member once
            n += 1
    if n > min(len(values), int(IDLE * wanted.size)):
        if len(values) < wanted.size or len(values) > IDLE * wanted.size:
            side = min(pace.room, wanted.size + wanted.size // SPARE)
            values = np.empty((side, side), values.dtype)
        is_member[members[:n]] = False
        old, n = 0, wanted.size
        members[:n] = np.sort(wanted)
    is_member[members[old:n]] = True
    used[0] = n
    gather(far[0], far[1][members[:n]], old, pace.least, values)
    return Square(values, members, is_member, used)


@njit(cache=True)
def _solve_round(box, square, pace, goal, most, change, kinks):
    """Solve the problem of the samples of a square while others stay; return the steps, and set by what all change."""
    at, K = square.members[: square.used[0]], square.values
    n, part, own = at.size, _part_of(box, at), l1_among(kinks, at)
    table = RowTable(
        K, np.arange(n), np.zeros(n, np.int64), np.zeros(n, np.bool_), np.zeros(1, np.int64), np.zeros(1), 0.0
    )
    steps, newton, long = 0, 0, max(2 * n, n * n // NEWTON)
    patience = long
    while steps < most and steps * n < SLICE:
        if patience <= 0 and newton < MOST_NEWTON:
            newton += 1
            patience = 2 * n if _newton_step(part, K, pace.jitter, own) > 0.0 else 4 * long
        wanted = min(most - steps, SLICE // n)
        wanted = min(wanted, patience) if newton < MOST_NEWTON else wanted
        taken, more = work(part, table, pace.is_ridged, goal, int(wanted), own)
        steps += taken
        patience -= taken
        if not more:
            break
    change[:] = 0.0
    for a in range(n):
        change[at[a]] = part.beta[a] - box.beta[at[a]]
    return steps


@njit(cache=True)
def _part_of(box, at):
    """Return a copy of the state of some samples."""
    part = box.y[at], box.lower[at], box.upper[at], box.ridge[at], box.diag[at], box.beta[at], box.v[at], box.side[at]
    return Box(*part)


@njit(cache=True)
def _newton_step(box, K, jitter, kinks):
    """Take a Newton step on the samples between their bounds; return the decrease of the objective."""
    free = np.empty(box.v.size, np.int64)
    n = pick_free(box, free, kinks)
    if n < 2:
        return 0.0
    try:
        return newton_step(box, K, free[:n].copy(), jitter, kinks)
    except Exception:  # the kernel matrix of these samples is singular
        return 0.0


@njit(cache=True)
def _take_change(box, change):
    """Move the weights within their bounds; return how many moved, and the sums that `deeper` takes."""
    moved, size, old, off = 0, 0.0, 0.0, 0.0
    for r in range(change.size):
        before = box.beta[r]
        old += abs(before)
        if change[r] != 0.0:
            moved += 1
            off += abs(change[r])
            new = before + change[r]
            box.beta[r] = box.lower[r] if new < box.lower[r] else box.upper[r] if new > box.upper[r] else new
        size += abs(box.beta[r])
    return moved, (size, old, off)


@njit(cache=True)
def _add_change(far, signs, change, h):
    """Update the decisions h (m,) for a change (n,) of the weights."""
    idx = np.flatnonzero(change)
    add_rows(far[0], far[1][idx], change[idx] * signs[idx], h)


@njit(cache=True)
def depth_of(n):
    """Return a bound on the additions that each of n terms takes part in by `add_rows`."""
    return n / 4.0 + 8.0


@njit(cache=True)
def deeper(depth, sizes, n):
    """Return the `depth` of a point after a change of n weights.

    `sizes` are the sums of the absolute values of the point, of that before, whose depth is given, and of the change.
    """
    size, old, off = sizes
    return (depth * old + depth_of(n) * (old + off)) / size if size > 0.0 else np.inf
