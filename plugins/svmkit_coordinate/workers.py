"""The compiled loop of `dcd` with K workers: each takes a part of the points, with its own v for a pass.

A pass is a round of CoCoA+ (Ma et al. 2015) in one process. Worker k processes its part with v_k = v + sigma dv_k,
where dv_k is the sum of its own steps; sigma > 1 represents the simultaneous steps of the other workers. Then v becomes
v + sum_k dv_k. With sigma = K the objective never rises, and K workers need nearly K times the passes of one. With
sigma slightly above K/2 they need far fewer (two workers: 1.1 to 1.5 times), and an exact line search along the sum of
all steps follows if the objective falls by too little. Parts are drawn anew for each pass, since fixed parts need a
tenth more passes.

The result depends on K alone and not on which thread takes which part. A thread takes any available part, so one thread
can make the whole pass when the others are late.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit.problems.risks.coordinate_descent import Pass, coordinate_pass
from svmkit.problems.risks.design import Design
from svmkit.problems.risks.linear_risk import LinearDual
from svmkit.problems.risks.points import find_side
from svmkit.runtime.compiling import njit
from svmkit.runtime.threads import LEAST, spread
from svmkit_coordinate import atomic
from svmkit_coordinate.passes import shuffle

SIGMA = 0.6  # times K; on a9a, w8a and mnist few passes need the line search from 0.55 on, and few are added up to 0.7
SURE = 0.5  # share of the gain of the workers' own problems below which the line search pays
FEW = 128  # points per worker below which one worker makes the pass alone,
WIDE = 6.0  # or values of X in a pass per column, since all workers copy v
PATIENCE = 1 << 20  # checks of the counters, about a millisecond, after which an idle thread leaves
OPEN, TAKEN, DONE = 0, 8, 16  # counters of parts, in a cache line each: available, taken, done
LAST = -1  # value of OPEN when there are no more parts


class Shared(NamedTuple):
    """The shared memory of K workers."""

    few: int  # points below which one worker makes the pass alone
    sigma: float  # factor of the workers' own steps
    points: np.ndarray  # the terms of the loss, computed with sigma
    below: tuple[int, ...] | None
    v: np.ndarray  # (K, >= width): v of each worker
    seen: np.ndarray  # (K, 6): the `Pass` of each worker
    seeds: np.ndarray  # (K,): seeds of the workers' orders, 0 to keep the order
    ends: np.ndarray  # (K + 1,): ends of the parts
    met: np.ndarray  # (m,) of `number_type`: points in the order of the pass
    before: np.ndarray  # (m,): their weights before it
    whole: np.ndarray  # (6,): the `Pass` of all workers
    sums: np.ndarray  # (4,): passes, points visited, gain and born of a call
    counters: np.ndarray  # (24,): OPEN, TAKEN and DONE

    @classmethod
    def allocate(cls, problem: LinearDual, workers: int) -> Shared:
        d, K = problem.design, workers
        sigma = SIGMA * K
        return cls(
            few_points(d, K),
            sigma,
            *problem.make_points(sigma),
            np.zeros((K, d.width + 16 - d.width % 8)),  # no cache line is shared by two workers
            np.zeros((K, 6)),
            np.zeros(K, dtype=np.uint64),
            np.zeros(K + 1, dtype=np.int64),
            np.zeros(d.m, dtype=number_type(d.m)),
            np.zeros(d.m),
            np.zeros(6),
            np.zeros(4),
            np.zeros(24, dtype=np.int64),
        )


def number_type(m: int) -> type[np.signedinteger]:
    """Return the type of the numbers of m points: half the memory if that suffices."""
    return np.int32 if m < 1 << 31 else np.int64


def few_points(design: Design, workers: int) -> int:
    """Return the number of points below which one worker makes a pass alone."""
    return max(workers * FEW, int(WIDE * design.width * design.m / max(design.entries, 1)))


def shared_passes(design, order, n, beta, v, thresholds, shrinking, limits, shared):
    """Make passes as `passes` does, with several workers; end when few points take part.

    Parameters
    ----------
    design, order, n, beta, v, thresholds, shrinking
        The samples, as a `Design`; the others as for `passes`.
    limits, shared
        `room` and `most` of `passes`, and the memory of the workers, whose seeds the caller has set.
    """
    shared.sums[:], shared.counters[:] = 0.0, 0
    _cut(n, shared)
    shared.counters[OPEN] = len(shared.v)
    given = design.rows, design.bias, order, beta, v, thresholds, shrinking, *limits, shared
    spread(_enter, len(shared.v), LEAST, *given)  # a thread may stay for many passes; `dcd` knows when this pays
    (last, *about), (count, looks, gain, born) = shared.whole.tolist(), shared.sums.tolist()
    return Pass(int(last), *about[:-1], int(about[-1])), int(count), int(looks), gain, int(born)


@njit(nogil=True, cache=True)
def _enter(first, last, X, bias, order, beta, v, thresholds, shrinking, room, most, shared):
    for _ in range(first, last):
        _work(X, bias, order, beta, v, thresholds, shrinking, room, most, shared)


@njit(cache=True)
def _work(X, bias, order, beta, v, thresholds, shrinking, room, most, shared):
    """Process parts on one thread while there are any; the thread that ends the last part of a pass combines them."""
    K, counters, idle = shared.v.shape[0], shared.counters, 0
    while idle < PATIENCE:
        k = atomic.read(counters, TAKEN)
        until = atomic.read(counters, OPEN)  # read second: if k is still next below, it is k's pass
        if until == LAST or (k == until and most == 1):  # no pass follows: a wait would only keep a core busy
            return
        if k == until or not atomic.swap(counters, TAKEN, k, k + 1):
            idle += 1
            continue
        idle = 0
        _part(k % K, X, bias, order, beta, v, thresholds, shared)
        if atomic.add(counters, DONE, 1) + 1 == until:
            more = _join(order, beta, v, thresholds, shrinking, room, most, shared)
            atomic.write(counters, OPEN, until + K if more else LAST)


@njit(cache=True)
def _part(k, X, bias, order, beta, v, thresholds, shared):
    """Make a pass over part k."""
    lo, hi = shared.ends[k], shared.ends[k + 1]
    part, own = order[lo:hi], shared.v[k, : v.size]
    if shared.seeds[k]:
        shared.seeds[k] = shuffle(part, hi - lo, shared.seeds[k])
    for j in range(lo, hi):
        shared.met[j] = order[j]
        shared.before[j] = beta[order[j]]
    for c in range(v.size):  # element by element here and below: a slice takes a second to compile
        own[c] = v[c]
    high, low = thresholds[0], thresholds[1]
    done = coordinate_pass(X, bias, shared.points, part, hi - lo, beta, own, high, low, shared.sigma, shared.below)
    seen = shared.seen[k]
    seen[0], seen[1], seen[2], seen[3], seen[4], seen[5] = done


@njit(cache=True)
def _join(order, beta, v, thresholds, shrinking, room, most, shared):
    """Set v, the result of the pass and the parts of the next pass; return whether there is a next pass."""
    K, looked = shared.v.shape[0], shared.ends[-1]
    n, expected, gap, top, low, born = 0, 0.0, 0.0, -np.inf, np.inf, 0
    for k in range(K):
        seen = shared.seen[k]
        n, expected, gap, born = n + int(seen[0]), expected + seen[1], gap + seen[2], born + int(seen[5])
        top, low = max(top, seen[3]), min(low, seen[4])
    move = shared.v[0]  # from here on the sum of the workers' changes of v
    apiece, together = 0.0, 0.0  # squared norms of each change, and of their sum
    for c in range(v.size):
        total = 0.0
        for k in range(K):
            one = (shared.v[k, c] - v[c]) / shared.sigma
            apiece += one * one
            total += one
        move[c] = total
        together += total * total
    gain, share = expected + 0.5 * (shared.sigma * apiece - together), 1.0
    if gain < SURE * expected:
        gain, share, born = _search(beta, gain, together, born, shared)
    for c in range(v.size):
        v[c] += share * move[c]
    _deal(order, n, shared)
    if shrinking:
        thresholds[0] = top if top > 0.0 else np.inf
        thresholds[1] = low if low < 0.0 else -np.inf
    whole, sums = shared.whole, shared.sums
    whole[0], whole[1], whole[2], whole[3], whole[4], whole[5] = n, gain, gap, top, low, born
    sums[0], sums[1], sums[2], sums[3] = sums[0] + 1, sums[1] + looked, sums[2] + gain, sums[3] + born
    return n >= shared.few and sums[1] + n <= room and sums[0] < most


@njit(cache=True)
def _search(beta, gain, together, born, shared):
    """Apply the best share, at most 1, of all steps of the pass; return (decrease of the objective, share, born).

    For a weight that changes its sign, the part of phi above its smaller ridge is replaced by the chord over the step,
    which is never too small; the decrease is that of the true objective.
    """
    n, curvature, less = shared.ends[-1], together, 0.0
    for j in range(n):
        i = shared.met[j]
        curvature += _least_ridge(shared, i, beta[i], shared.before[j]) * (beta[i] - shared.before[j]) ** 2
    slope = gain + 0.5 * curvature
    share = min(max(slope / curvature, 0.0), 1.0) if curvature > 0.0 else 1.0
    for j in range(n):
        i, held, to = shared.met[j], shared.before[j], beta[shared.met[j]]
        born -= (to != 0.0) - (held != 0.0)
        beta[i] = held + share * (to - held)
        born += (beta[i] != 0.0) - (held != 0.0)
        if to * held < 0.0:
            ridge = _least_ridge(shared, i, to, held)
            before, after = _phi_above(shared, i, held, ridge), _phi_above(shared, i, to, ridge)
            less += before + share * (after - before) - _phi_above(shared, i, beta[i], ridge)
    return share * (slope - 0.5 * share * curvature) + less, share, born


@njit(cache=True)
def _least_ridge(shared, i, one, two):
    """Return the smaller ridge of sample i on the sides of two weights."""
    points, below = shared.points, shared.below
    return min(find_side(points, below, i, one, two).ridge, find_side(points, below, i, two, one).ridge)


@njit(cache=True)
def _phi_above(shared, i, weight, ridge):
    """Return phi of a weight of sample i without the curvature `ridge`."""
    side = find_side(shared.points, shared.below, i, weight, 0.0)
    return abs(weight) * (side.epsilon + 0.5 * (side.ridge - ridge) * abs(weight))


@njit(cache=True)
def _deal(order, n, shared):
    """Put the points that are not shrunk at the front of `order`, taken from the parts in turns.

    Each of the next parts then has equally many points of every previous part. Without seeds the order is kept.
    """
    K, at = shared.v.shape[0], 0
    rounds = K if shared.seeds[0] else 1
    for r in range(rounds):
        for k in range(K):
            stay, lo = int(shared.seen[k, 0]), shared.ends[k]
            for j in range(stay * r // rounds, stay * (r + 1) // rounds):
                shared.met[at] = order[lo + j]
                at += 1
    for j in range(n):
        order[j] = shared.met[j]
    _cut(n, shared)


@njit(cache=True)
def _cut(n, shared):
    """Cut order[:n] into parts of nearly equal size."""
    K = shared.v.shape[0]
    for k in range(K + 1):
        shared.ends[k] = n * k // K
