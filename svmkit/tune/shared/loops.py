"""The compiled loops of `svmkit.tune.shared.active`: which samples take part, steps of SMO on them, and Newton's step.

All of them release the GIL, so that folds are fitted side by side in threads.
"""

from __future__ import annotations

import numpy as np

from svmkit.runtime.compiling import njit
from svmkit.solver.smo.box import LOW, UP, extremes, gap, ridge_at, slope, take_sides
from svmkit.solver.smo.steps import take_steps


@njit(nogil=True, cache=True)
def pick_active(box, b, margin, out, slack, kinks=None):
    """Write the samples that may move at a bias b to `out`, and their descent slopes to `slack`; return their number.

    A sample may move if the objective falls as its weight rises or falls, or would if the slope were off by `margin`.
    """
    n = 0
    for r in range(box.v.size):
        side, invites = box.side[r], -np.inf
        if side & UP:
            invites = -(slope(box.v[r], side, UP, kinks, r) + b)
        if side & LOW:
            down = slope(box.v[r], side, LOW, kinks, r) + b
            invites = down if down > invites else invites
        if invites > -margin:
            out[n], slack[n] = r, invites
            n += 1
    return n


@njit(nogil=True, cache=True)
def gather(K, at, first, least, out):
    """Set the entries of out (size, size) for the rows `at` (n,) of K from number `first` on, above and to the left.

    Values below `least` become 0: a factorisation would make denormal numbers of them, which take ten times as long.
    """
    for a in range(at.size):
        row, line = K[at[a]], out[a]
        for c in range(first if a < first else 0, at.size):
            value = row[at[c]]
            line[c] = value if abs(value) > least else 0.0


@njit(nogil=True, cache=True, fastmath={"contract", "nsz"})
def add_rows(K, at, coef, out, first=0):
    """Add the rows `at` (n,) of K, each times its coefficient, to out (m,) in float64, four at a time; of longer rows,
    only the m values from index `first` on.
    """
    a, end = 0, first + out.size
    while a + 4 <= at.size:
        r0, r1 = K[at[a]][first:end], K[at[a + 1]][first:end]
        r2, r3 = K[at[a + 2]][first:end], K[at[a + 3]][first:end]
        c0, c1, c2, c3 = coef[a], coef[a + 1], coef[a + 2], coef[a + 3]
        for j in range(out.size):
            out[j] += c0 * r0[j] + c1 * r1[j] + c2 * r2[j] + c3 * r3[j]
        a += 4
    while a < at.size:
        row, c = K[at[a]][first:end], coef[a]
        for j in range(out.size):
            out[j] += c * row[j]
        a += 1


@njit(nogil=True, cache=True)
def work(box, rows, is_ridged, goal, most, kinks=None):
    """Take steps of SMO on the samples of a box until P - D among them is at most `goal`, `most` steps at most.

    Returns the steps, and whether more of them would help.
    """
    pairs, steps = np.empty((1, 2), dtype=np.int64), 0
    chunk = max(32, box.v.size // 2)
    take_sides(box, kinks)
    pairs[0, 0], pairs[0, 1] = extremes(box.v, box.side, kinks)
    while True:
        i, k = pairs[0, 0], pairs[0, 1]
        if i < 0 or k < 0:
            return steps, False
        low, high = slope(box.v[i], box.side[i], UP, kinks, i), slope(box.v[k], box.side[k], LOW, kinks, k)
        if not high > low or gap(box, is_ridged, -0.5 * (low + high), kinks) <= goal:
            return steps, False
        if steps >= most:
            return steps, True
        done, _, state = take_steps((box,), rows, pairs, True, chunk, 0.0, kinks, 0.0)
        steps += done
        if state != -1:
            return steps, False


@njit(nogil=True, cache=True, fastmath={"contract", "nsz", "reassoc"}, error_model="numpy")
def _solve(L, x):
    """Replace x by the solution of L L' x, where the rows of L are contiguous."""
    n = x.size
    for k in range(n):
        part, row, total = x[:k], L[k, :k], 0.0
        for j in range(part.size):
            total += part[j] * row[j]
        x[k] = (x[k] - total) / L[k, k]
    for k in range(n - 1, -1, -1):
        x[k] /= L[k, k]
        part, row, value = x[:k], L[k, :k], x[k]
        for j in range(part.size):
            part[j] -= value * row[j]


@njit(nogil=True, cache=True)
def newton_step(box, K, free, jitter, kinks=None, slots=None):
    """Move the `free` samples towards their optimum while the others stay, and return the decrease of the objective.

    The step solves the equations of the optimum, K d + db = -v with sum d = 0. Weights beyond a bound are set to it,
    the others compensate for the sum, and the step length minimises the objective. If the way does not lead down, 0.0
    is returned and nothing is changed. `slots`, if given, has the row of each sample.
    """
    n, at = free.size, free if slots is None else slots[free]
    H, u, w = np.empty((n, n), K.dtype), np.ones(n), np.empty(n)
    for a in range(n):
        r, row, line = free[a], K[at[a]], H[a]
        for c in range(n):
            line[c] = row[free[c]]
        below = box.beta[r] < 0.0
        line[a] += ridge_at(box.ridge, kinks, r, below) + jitter
        w[a] = -slope(box.v[r], box.side[r], UP, kinks, r)
    L = np.linalg.cholesky(H)
    _solve(L, u)
    _solve(L, w)
    db = w.sum() / u.sum()
    way, room, off = np.empty(n), np.zeros(n), 0.0
    for a in range(n):
        r = free[a]
        now, low, high = _range(box, r, kinks)
        new = now + w[a] - db * u[a]
        if new > low and new < high:
            room[a] = min(new - low, high - new)
        else:
            new = low if new <= low else high
        way[a] = new - now
        off += way[a]
    total = room.sum()
    if total <= abs(off):
        return 0.0
    image, falls, bends = np.zeros(box.v.size), 0.0, 0.0
    for a in range(n):
        way[a] -= off * room[a] / total
    add_rows(K, at, way, image)
    for a in range(n):
        r = free[a]
        image[r] += way[a] * ridge_at(box.ridge, kinks, r, box.beta[r] < 0.0)
        falls += way[a] * slope(box.v[r], box.side[r], UP, kinks, r)
        bends += way[a] * image[r]
    if not falls < 0.0:
        return 0.0
    length = min(1.0, -falls / bends) if bends > 0.0 else 1.0
    for a in range(n):
        r = free[a]
        now, low, high = _range(box, r, kinks)
        new = now + length * way[a]
        new = low if new < low else high if new > high else new
        if length == 1.0 and room[a] == 0.0:
            new = high if way[a] > 0.0 else low
        box.beta[r] = new * box.y[r]
    for r in range(box.v.size):
        box.v[r] += length * image[r]
    take_sides(box, kinks)
    return -(length * falls + 0.5 * length * length * bends)


@njit(inline="always")
def _range(box, r, kinks):
    """Return a weight times its sign, and the range around it within which the objective is smooth."""
    now, low, high = box.beta[r] * box.y[r], box.lower[r], box.upper[r]
    if box.y[r] < 0.0:
        low, high = -high, -low
    if kinks is not None:
        if now > 0.0:
            low = 0.0
        else:
            high = 0.0
    return now, low, high


@njit(nogil=True, cache=True)
def pick_free(box, out, kinks=None):
    """Write the samples between their bounds, and not at a kink, to `out`, and return how many there are."""
    n = 0
    for r in range(box.v.size):
        beta = box.beta[r]
        if beta > box.lower[r] and beta < box.upper[r] and (kinks is None or beta != 0.0):
            out[n] = r
            n += 1
    return n
