"""The compiled loop under dcd with K workers: each takes a part of the points, and its own v for a pass.

A pass is a round of CoCoA+ (Ma et al. 2015) in one process. Worker k goes over its part with v_k = v + sigma dv_k,
where dv_k is what its own steps add: sigma > 1 stands for what the others do meanwhile. Then v becomes v + sum_k dv_k.
With sigma = K the objective never rises, and K workers need nearly K times the passes of one; with little more than
half of that they need far fewer (two: 1.1 to 1.5 times), and where the objective falls by too little, an exact line
search along all steps together mends it. Parts are dealt anew for each pass: fixed ones take a tenth more passes.

Which thread does which part changes nothing: the result depends on K alone. A thread does whatever part is still to be
done, so that one thread does them all where the others do not come.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange

from svmkit.problems.coordinate_descent import Pass, coordinate_pass
from svmkit.problems.linear_risk import LinearDual
from svmkit_coordinate import atomic
from svmkit_coordinate.passes import shuffle

SIGMA = 0.6  # times K; a9a, w8a, mnist: from 0.55 on hardly a pass needs the line search, to 0.7 passes hardly grow
SURE = 0.5  # share of the gain of the workers' own problems below which the line search is worth its look at all steps
FEW = 128  # points a worker below which one of them does a pass alone
PATIENCE = 1 << 20  # looks at the counters, a millisecond or so, after which a thread with nothing to do leaves
OPEN, TAKEN, DONE = 0, 8, 16  # counters of parts, a cache line each: those that may be taken, were taken, are done
LAST = -1  # of OPEN: no more parts


class Shared(NamedTuple):
    """What K workers share.

    sigma : of all; points (m, 4) : with it; v (K, >= width), found (K, 6) : of each; seeds (K,) : of its orders, 0 for
    the order that there is; ends (K + 1,) : of their parts; met, before (m,) : points in the order of the pass, and
    their weights before it; whole (6,) : n, gain, apart, top, low, born of a pass; sums (4,) : passes, points
    looked at, gain, born of a call; counters (24,)
    """

    sigma: float
    points: np.ndarray
    v: np.ndarray
    found: np.ndarray
    seeds: np.ndarray
    ends: np.ndarray
    met: np.ndarray
    before: np.ndarray
    whole: np.ndarray
    sums: np.ndarray
    counters: np.ndarray

    @classmethod
    def of(cls, problem: LinearDual, workers: int) -> Shared:
        d, K = problem.design, workers
        sigma = SIGMA * K
        return cls(
            sigma,
            d.points(problem.y, problem.upper, problem.ridge, sigma),
            np.zeros((K, d.width + 16 - d.width % 8)),  # nothing of two workers in one cache line
            np.zeros((K, 6)),
            np.zeros(K, dtype=np.uint64),
            np.zeros(K + 1, dtype=np.int64),
            np.zeros(d.m, dtype=np.int64),
            np.zeros(d.m),
            np.zeros(6),
            np.zeros(4),
            np.zeros(24, dtype=np.int64),
        )


def shared_passes(X, bias, order, n, beta, v, thresholds, shrinking, shared, room, most):
    """As `passes`, by the workers of `shared`, whose seeds the caller has set; ends where few points take part."""
    shared.sums[:], shared.counters[:] = 0.0, 0
    _cut(n, shared)
    shared.counters[OPEN] = len(shared.v)
    _spread(X, bias, order, beta, v, thresholds, shrinking, room, most, shared)
    (last, *about), (count, looks, gain, born) = shared.whole.tolist(), shared.sums.tolist()
    return Pass(int(last), *about[:-1], int(about[-1])), int(count), int(looks), gain, int(born)


@njit(parallel=True, cache=True)
def _spread(X, bias, order, beta, v, thresholds, shrinking, room, most, shared):
    for _ in prange(shared.v.shape[0]):
        _work(X, bias, order, beta, v, thresholds, shrinking, room, most, shared)


@njit(cache=True)
def _work(X, bias, order, beta, v, thresholds, shrinking, room, most, shared):
    """What one thread does: parts, as long as there are any; who does the last one of a pass joins them."""
    K, counters, idle = shared.v.shape[0], shared.counters, 0
    while idle < PATIENCE:
        k = atomic.read(counters, TAKEN)
        until = atomic.read(counters, OPEN)  # second: if k is still the next one to be taken below, it is k's pass
        if until == LAST:
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
    """A pass over part k."""
    lo, hi = shared.ends[k], shared.ends[k + 1]
    part, own = order[lo:hi], shared.v[k, : v.size]
    if shared.seeds[k]:
        shared.seeds[k] = shuffle(part, hi - lo, shared.seeds[k])
    for j in range(lo, hi):
        shared.met[j] = order[j]
        shared.before[j] = beta[order[j]]
    for c in range(v.size):  # here and below element by element: a slice at once takes a second to compile
        own[c] = v[c]
    done = coordinate_pass(X, bias, shared.points, part, hi - lo, beta, own, thresholds[0], thresholds[1], shared.sigma)
    found = shared.found[k]
    found[0], found[1], found[2], found[3], found[4], found[5] = done


@njit(cache=True)
def _join(order, beta, v, thresholds, shrinking, room, most, shared):
    """After all parts: v, what the pass did, the parts of the next one; whether there is to be a next one."""
    K, looked = shared.v.shape[0], shared.ends[-1]
    n, expected, apart, top, low, born = 0, 0.0, 0.0, -np.inf, np.inf, 0
    for k in range(K):
        found = shared.found[k]
        n, expected, apart, born = n + int(found[0]), expected + found[1], apart + found[2], born + int(found[5])
        top, low = max(top, found[3]), min(low, found[4])
    move = shared.v[0]  # from here on the sum of what they add to v
    apiece, together = 0.0, 0.0  # squares of what each adds, and of the sum
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
    whole[0], whole[1], whole[2], whole[3], whole[4], whole[5] = n, gain, apart, top, low, born
    sums[0], sums[1], sums[2], sums[3] = sums[0] + 1, sums[1] + looked, sums[2] + gain, sums[3] + born
    return n >= FEW * K and sums[1] + n <= room and sums[0] < most


@njit(cache=True)
def _search(beta, gain, together, born, shared):
    """The best share, at most 1, of all steps of the pass: (by how much the objective falls, it, born)."""
    n, curvature = shared.ends[-1], together
    for j in range(n):
        i = shared.met[j]
        curvature += shared.points[i, 2] * (beta[i] - shared.before[j]) ** 2
    slope = gain + 0.5 * curvature
    share = min(max(slope / curvature, 0.0), 1.0) if curvature > 0.0 else 1.0
    for j in range(n):
        i, held = shared.met[j], shared.before[j]
        born -= (beta[i] > 0.0) - (held > 0.0)
        beta[i] = held + share * (beta[i] - held)
        born += (beta[i] > 0.0) - (held > 0.0)
    return share * (slope - 0.5 * share * curvature), share, born


@njit(cache=True)
def _deal(order, n, shared):
    """Those that stay of each part, side by side at the front of `order`, the first of each part, then the next.

    So that each of the next parts has as many of every part before; without seeds one part after the other.
    """
    K, at = shared.v.shape[0], 0
    rounds = K if shared.seeds[0] else 1
    for r in range(rounds):
        for k in range(K):
            stay, lo = int(shared.found[k, 0]), shared.ends[k]
            for j in range(stay * r // rounds, stay * (r + 1) // rounds):
                shared.met[at] = order[lo + j]
                at += 1
    for j in range(n):
        order[j] = shared.met[j]
    _cut(n, shared)


@njit(cache=True)
def _cut(n, shared):
    """Parts of order[:n], as equal as can be."""
    K = shared.v.shape[0]
    for k in range(K + 1):
        shared.ends[k] = n * k // K
