"""Newton steps in which many weights reach a bound, or leave one, at the same time, compiled.

If hundreds of weights lie between their bounds, the set F of their samples is nearly the same as for the last C, and
SMO would change it by one or two samples a step. A leap solves the equations of F as if there were no bounds; then
weights beyond a bound are set to it, samples at a bound that violate the optimality conditions leave it, and the next
step begins (the primal-dual active set method: Hintermueller, Ito, Kunisch 2002, SIAM J. Optim. 13(3), algorithm 1).
From the last solution of a path, three or four steps reach the optimum. As nothing guarantees that, the way to the end
point is taken only as far as the objective falls.

After a step, v is equal for all samples between their bounds, so it is computed only for samples that may leave one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit.runtime.compiling import njit
from svmkit.solver.smo.box import take_sides
from svmkit.tune.shared.bordered import BORDER, border_of, complete, factorise, solve_between, solve_forward
from svmkit.tune.shared.loops import add_rows

FUTILE = 3  # number of steps, at most, after which no fewer samples change their set than before
FEWEST = 2  # least number of weights between their bounds


class Limits(NamedTuple):
    """The limits of a leap."""

    jitter: float  # added to a diagonal before factorisation
    margin: float  # samples at a bound are watched if their slopes are within this of leaving it
    tolerance: float  # violations of the conditions of the optimum up to which a sample stays at its bound
    most: int  # number of steps
    room: int  # number of samples that may leave a bound


class _Weights(NamedTuple):
    """Weights times their signs, (n,): at the start of a leap, their bounds, their moves, and whether they are free."""

    now: np.ndarray
    low: np.ndarray
    high: np.ndarray
    moved: np.ndarray
    is_free: np.ndarray


class _Watched(NamedTuple):
    """The samples at a bound that may leave it, in arrays that have room for more."""

    ids: np.ndarray  # int64 (room,)
    is_in: np.ndarray  # bool (n,)
    values: np.ndarray  # (room, p): kernel values with `about`
    about: np.ndarray  # int64 (p,): the samples whose weights may move
    used: np.ndarray  # int64 (1,)


@njit(nogil=True, cache=True)
def leap(box, far, factor, ahead, limits, image):
    """Move the weights of a box without ridges and kinks towards their optimum.

    Returns the decrease of the objective, the share of `image` (m,) by which the decision values of all rows have
    changed, and the factor for the next call. `far` is the matrix of all kernel values (m, m) and the row in it of each
    of the n samples. `ahead` are the weights times their signs, and the slopes v + b, that are expected at the optimum,
    (n,) each. If the way does not lead down, the decrease is 0.0 and nothing is changed.
    """
    n = box.v.size
    now, low, high = box.beta * box.y, np.empty(n), np.empty(n)
    for r in range(n):
        ends = box.y[r] * box.lower[r], box.y[r] * box.upper[r]
        low[r], high[r] = min(ends), max(ends)
    weights = _Weights(now, low, high, np.zeros(n), np.zeros(n, np.bool_))
    watched = _begin(weights, ahead, limits, far, factor)
    before, futile, z = n + 1, 0, np.empty(0, factor.L.dtype)
    for step in range(limits.most):
        free = np.flatnonzero(weights.is_free)
        if free.size < FEWEST:
            break
        border = border_of(factor, weights.is_free, weights.moved)
        if (step == 0 and border.size > factor.counts[0] // BORDER) or not complete(factor, border, far):
            if step:
                break
            factor = factorise(far, _innermost_first(weights, free), limits.jitter, factor)
            border = border_of(factor, weights.is_free, weights.moved)
            if not complete(factor, border, far):
                break
        if step == 0:
            z = _start_forward(factor, box.v)
        b = solve_between(factor, border, far, z, box.v, weights.is_free, weights.moved, limits.jitter)
        changed = _change_sets(weights, watched, box.v, b, limits.tolerance, far)
        futile += changed >= before
        if changed == 0 or futile > FUTILE:
            break
        before = changed
    _give_back(weights)
    idx = np.flatnonzero(weights.moved)
    image[:] = 0.0
    add_rows(far[0], far[1][idx], weights.moved[idx], image)
    fall, length = _take_way(box, weights, image[far[1]])
    return fall, length, factor


@njit(nogil=True, cache=True)
def _innermost_first(weights, free):
    """Return samples in the order of how far their weights are from their bounds, relative to these."""
    now, low, high, moved, _ = weights
    near = np.empty(free.size)
    for a in range(free.size):
        r = free[a]
        new = now[r] + moved[r]
        near[a] = max(low[r] - new, new - high[r]) / (high[r] - low[r])
    return free[np.argsort(near)]


@njit(nogil=True, cache=True)
def _begin(weights, ahead, limits, far, factor):
    """Set which samples are free, and the moves of samples expected at a bound; return samples that may leave one."""
    expected, slopes = ahead
    now, low, high, moved, is_free = weights
    n, p, q = now.size, 0, 0
    about, ids, is_in = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(n, np.bool_)
    for r in range(n):
        if not high[r] > low[r]:
            continue
        if now[r] > low[r] and now[r] < high[r]:
            is_free[r] = expected[r] > low[r] and expected[r] < high[r]
            moved[r] = 0.0 if is_free[r] else (high[r] if expected[r] >= high[r] else low[r]) - now[r]
        else:
            inward = -slopes[r] if now[r] == low[r] else slopes[r]
            is_free[r] = inward > limits.tolerance
            if inward <= -limits.margin or q >= limits.room:
                is_free[r] = False
                continue
        about[p] = r
        p += 1
        if not is_free[r]:
            ids[q] = r
            q += 1
    about, first = about[:p].copy(), ids[:q].copy()
    room = min(p, q + 64 + p // 4)
    watched = _Watched(
        np.empty(room, np.int64), is_in, np.empty((room, p), factor.L.dtype), about, np.zeros(1, np.int64)
    )
    for r in first:
        _watch(watched, r, far)
    return watched


@njit(nogil=True, cache=True)
def _watch(watched, r, far):
    """Watch a sample from now on, if there is room."""
    at = watched.used[0]
    if watched.is_in[r] or at >= watched.ids.size:
        return
    (K, rows), line = far, watched.values[at]
    row = K[rows[r]]
    for c in range(watched.about.size):
        line[c] = row[rows[watched.about[c]]]
    watched.ids[at], watched.is_in[r] = r, True
    watched.used[0] += 1


@njit(nogil=True, cache=True)
def _start_forward(factor, v):
    """Return the solution z of L z = -v for the samples of a factor."""
    f = factor.counts[0]
    z = np.empty((1, f), factor.L.dtype)
    for a in range(f):
        z[0, a] = -v[factor.ids[a]]
    solve_forward(factor.L, z)
    return z[0]


@njit(nogil=True, cache=True)
def _change_sets(weights, watched, v, b, tolerance, far):
    """Move weights beyond a bound back to it, and free samples at a bound that violate the conditions.

    Returns the number of changes.
    """
    now, low, high, moved, is_free = weights
    changed, q = 0, watched.used[0]
    change = np.dot(watched.values[:q], moved[watched.about].astype(watched.values.dtype))
    for a in range(q):
        r = watched.ids[a]
        if not is_free[r]:
            slope, is_low = v[r] + change[a] + b, now[r] + moved[r] <= low[r]
            if slope < -tolerance if is_low else slope > tolerance:
                is_free[r] = True
                changed += 1
    for r in watched.about:
        new = now[r] + moved[r]
        if is_free[r] and (new > high[r] or new < low[r]):
            moved[r], is_free[r] = (high[r] if new > high[r] else low[r]) - now[r], False
            changed += 1
            _watch(watched, r, far)
    return changed


@njit(nogil=True, cache=True)
def _give_back(weights):
    """Subtract the sum of the moves from weights between their bounds, in proportion to their room."""
    now, low, high, moved, is_free = weights
    free = np.flatnonzero(is_free)
    off, room, total = moved.sum(), np.empty(free.size), 0.0
    for a in range(free.size):
        r = free[a]
        new = now[r] + moved[r]
        room[a] = max(0.0, min(new - low[r], high[r] - new))
        total += room[a]
    if abs(off) < total:
        for a in range(free.size):
            moved[free[a]] -= off * room[a] / total


@njit(nogil=True, cache=True)
def _take_way(box, weights, image):
    """Move a box, whose v would change by `image`, as far as the objective falls; return the decrease and the step
    length.
    """
    now, low, high, moved, _ = weights
    falls, bends, off, size = 0.0, 0.0, 0.0, 0.0
    for r in range(now.size):
        falls += moved[r] * box.v[r]
        bends += moved[r] * image[r]
        off += moved[r]
        size += abs(moved[r])
    if not falls < 0.0 or abs(off) > 1e-9 * size:
        return 0.0, 0.0
    length = min(1.0, -falls / bends) if bends > 0.0 else 1.0
    for r in range(now.size):
        end = now[r] + length * moved[r]
        if length == 1.0 and moved[r] != 0.0:  # a weight meant to end at a bound does so, despite rounding
            end = low[r] if moved[r] == low[r] - now[r] else high[r] if moved[r] == high[r] - now[r] else end
        box.beta[r] = box.y[r] * (low[r] if end < low[r] else high[r] if end > high[r] else end)
        box.v[r] += length * image[r]
    take_sides(box, None)
    return -(length * falls + 0.5 * length * length * bends), length
