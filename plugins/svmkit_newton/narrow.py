"""Steps of Newton's method on little data, compiled as a whole, since a step takes less time than the calls of Python.

X is an array of float64 here, with its bias column, and every sample has two sides, so that one compiled form serves
all data and losses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.problems.risks.linear_problem import LinearProblem
from svmkit.problems.risks.points import dual_sums, make_two_sided, sum_derivatives, total_loss
from svmkit.runtime.compiling import njit
from svmkit_newton.proximal import LESS, is_solved, put_centre
from svmkit_newton.samples import FAST, part_toward, search

WORK = 20_000_000  # products in a Hessian up to which calls of Python would take longer
VALUES = 500_000  # values of X that are copied at most


class Data(NamedTuple):
    """The problem: X (m, width) with the bias column, the penalty on each weight, the terms of the losses, and the
    value of the column of a bias that is free, 0.0 for another one. Where losses have kinks, `shares` (m,) are those of
    `svmkit_newton.proximal`, and `rows` the terms around the centre; otherwise they are `exact` as well. The model of
    the answer has the weights w or, unless `is_answer_w`, X'beta.
    """

    X: np.ndarray
    penalty: np.ndarray
    rows: np.ndarray
    below: tuple[int, ...]
    column: float
    exact: np.ndarray
    shares: np.ndarray
    is_answer_w: bool


class Iterate(NamedTuple):
    """The arrays that steps change in place, as `State` has them. `values` (8,) are P, D, the gap of beta, its support,
    and for losses with kinks P and P - D of the problem around the centre, its width and the least one. `held` (m,) are
    the second derivatives in the matrix H (width, width), of which the lower part is in use.
    """

    w: np.ndarray
    h: np.ndarray
    slopes: np.ndarray
    curvature: np.ndarray
    g: np.ndarray
    beta: np.ndarray
    image: np.ndarray
    values: np.ndarray
    held: np.ndarray
    H: np.ndarray


def is_narrow(m: int, width: int) -> bool:
    """Return whether a problem of m samples is small enough for these steps, the bias column included in its width."""
    return m * width * width <= WORK and m * width <= VALUES


def read_data(problem: LinearProblem, penalty: np.ndarray, shares: np.ndarray) -> Data:
    """Return the data of a problem, copied."""
    X, d = problem.gram.engine.X, problem.design
    full = np.empty((problem.m, d.width))
    full[:, : d.d] = X.toarray() if sp.issparse(X) else X
    full[:, d.d :] = d.bias
    exact, below = make_two_sided(problem.terms)
    rows = exact.copy() if shares.size else exact
    return Data(full, penalty, rows, below, d.bias if problem.is_free else 0.0, exact, shares, False)


# loops, since numba takes seconds to compile an assignment to a part of an array, whose error names both shapes, and a
# tenth of a second for each kind of product and each expression of arrays
@njit(no_cpython_wrapper=True)
def copy(out, values):
    """Write the values (n,) to out (n,)."""
    for i in range(out.size):
        out[i] = values[i]


@njit(no_cpython_wrapper=True)
def _move(out, t, way):
    """Add t times the way (n,), or t where there is none, to out (n,)."""
    for i in range(out.size):
        if way is None:
            out[i] += t
        else:
            out[i] += t * way[i]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def multiply(X, w, out):
    """Set out (m,) to X w, for w (width,)."""
    for i in range(out.size):
        total = 0.0
        for c in range(w.size):
            total += X[i, c] * w[c]
        out[i] = total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def combine(X, beta, out):
    """Set out (width,) to X' beta, for beta (m,)."""
    for c in range(out.size):
        out[c] = 0.0
    for i in range(beta.size):
        b = beta[i]
        if b != 0.0:
            for c in range(out.size):
                out[c] += b * X[i, c]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def add_rows(H, X, rows, changes):
    """Add to the lower part of H the sum of x x' of the samples `rows`, each times its change; of four of them at a
    time, for which each value of H is read and written once.
    """
    n = rows.size
    for k in range(0, n - n % 4, 4):
        i0, i1, i2, i3 = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        for a in range(H.shape[0]):
            x0, x1 = changes[k] * X[i0, a], changes[k + 1] * X[i1, a]
            x2, x3 = changes[k + 2] * X[i2, a], changes[k + 3] * X[i3, a]
            for b in range(a + 1):
                H[a, b] += x0 * X[i0, b] + x1 * X[i1, b] + x2 * X[i2, b] + x3 * X[i3, b]
    for k in range(n - n % 4, n):
        i = rows[k]
        for a in range(H.shape[0]):
            x = changes[k] * X[i, a]
            for b in range(a + 1):
                H[a, b] += x * X[i, b]


@njit(cache=True, nogil=True, error_model="numpy")
def descend(data, it, goal, most, trail):
    """Make up to `most` steps, until the gap of beta is at most `goal` or a step is no progress; return their number.

    Parameters
    ----------
    data, it : Data, Iterate
        The problem and the iterate, which `examine` has completed.
    goal, most : float, int
        The relative gap and the number of steps at which to end.
    trail : ndarray of float64, shape (most, 5)
        Receives what `StepInfo.trail` holds.
    """
    X, penalty, rows, below = data.X, data.penalty, data.rows, data.below
    for k in range(most):
        primal, dual = it.values[4], it.values[1]
        s = _direction(X, penalty, it)
        along, square, change = 0.0, 0.0, np.empty(it.h.size)
        multiply(X, s, change)
        for c in range(s.size):
            along += penalty[c] * it.w[c] * s[c]
            square += penalty[c] * s[c] * s[c]
        t = search(rows, below, it.h, change, along, square, 1.0)
        _move(it.w, t, s)
        _move(it.h, t, change)
        examine(data, it, goal)
        gap = it.values[2]
        trail[k, 0], trail[k, 1], trail[k, 2], trail[k, 3], trail[k, 4] = k + 1, -it.values[1], gap, it.values[3], 0
        is_stuck = not (it.values[4] < primal or it.values[1] > dual)
        if gap <= goal:
            return k + 1
        if data.shares.size and (is_stuck or is_solved(it.values[5], it.values[4], it.values[0] - it.values[1])):
            is_stuck = not recentre(data, it, goal)
        if is_stuck:
            return k + 1
    return most


@njit(cache=True, nogil=True, error_model="numpy")
def recentre(data, it, goal):
    """Make the slopes the centre of a narrower problem; return whether there is one."""
    width, least = LESS * it.values[6], it.values[7]
    if width < least:
        return False
    it.values[6] = width
    put_centre(data.exact, data.below, data.shares, width, it.slopes, data.rows)
    examine(data, it, goal)
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def examine(data, it, goal):
    """Complete the iterate at w and h as `State.examine` does, and look at the gap as `State.gap` does."""
    X, penalty, rows, below, column, exact, shares, is_answer_w = data
    m, is_kinked = it.h.size, shares.size > 0
    if column != 0.0:
        bias = search(rows, below, it.h, np.ones(m), 0.0, 0.0, 0.0)
        _move(it.h, bias, None)
        it.w[-1] += bias / column
    loss, linear, ridged, support = sum_derivatives(rows, below, it.h, None, it.slopes, it.curvature, 0, m)
    v, norm, length, square = np.empty(it.w.size), 0.0, 0.0, 0.0
    combine(X, it.slopes, v)
    for c in range(v.size):
        size = penalty[c] * it.w[c]
        it.g[c] = size - v[c]
        v[c] *= penalty[c]
        norm += size * size
        length += v[c] * v[c]
        square += (v[c] - it.image[c]) * (v[c] - it.image[c])
    primal = 0.5 * norm + loss
    dual = linear - 0.5 * (length + ridged)
    it.values[4], it.values[5] = primal, primal - dual
    if is_kinked:
        primal += total_loss(exact, below, it.h) - loss
        linear, ridged = dual_sums(exact, below, it.slopes)
        dual = linear - 0.5 * (length + ridged)
    t = part_toward(it.values[1], dual, square, primal)
    if t == 1.0:
        copy(it.beta, it.slopes)
        copy(it.image, v)
    elif t > 0.0:
        length, support = 0.0, 0
        for c in range(v.size):
            it.image[c] += t * (v[c] - it.image[c])
            length += it.image[c] * it.image[c]
        for i in range(m):
            it.beta[i] += t * (it.slopes[i] - it.beta[i])
            support += it.beta[i] != 0.0
        linear, ridged = dual_sums(exact, below, it.beta)
        dual = linear - 0.5 * (length + ridged)
    else:
        dual, support = it.values[1], it.values[3]
    gap = (primal - dual) / max(abs(primal), abs(dual), 1e-300)
    if gap <= goal and not is_answer_w:
        h, length = np.empty(m), 0.0
        multiply(X, it.image, h)
        for c in range(v.size):
            length += it.image[c] * it.image[c]
        if column != 0.0:
            _move(h, column * it.w[-1], None)
            if not is_kinked:
                _move(h, search(rows, below, h, np.ones(m), 0.0, 0.0, 0.0), None)
        best = 0.5 * length + total_loss(exact, below, h)
        gap = (best - dual) / max(abs(best), abs(dual), 1e-300)
    it.values[0], it.values[1], it.values[2], it.values[3] = primal, dual, max(gap, 0.0), support


@njit(cache=True, nogil=True, error_model="numpy")
def _direction(X, penalty, it):
    """Return -H^-1 g (width,), with the matrix at the present second derivatives."""
    changed, active, m = 0, 0, it.held.size
    for i in range(m):
        changed += it.curvature[i] != it.held[i]
        active += it.curvature[i] != 0.0
    if changed == 0 or 2 * changed > active:
        for a in range(it.H.shape[0]):
            for b in range(a + 1):
                it.H[a, b] = 0.0
        for i in range(m):
            it.held[i] = 0.0
    rows, changes, n = np.empty(m, np.int64), np.empty(m), 0
    for i in range(m):
        if it.curvature[i] != it.held[i]:
            rows[n], changes[n] = i, it.curvature[i] - it.held[i]
            it.held[i] = it.curvature[i]
            n += 1
    add_rows(it.H, X, rows[:n], changes[:n])
    ridge, L, x = 0.0, np.empty(it.H.shape), np.empty(it.g.size)
    for c in range(x.size):
        x[c] = -it.g[c]
    while True:
        for c in range(L.shape[0]):
            for b in range(c + 1):
                L[c, b] = it.H[c, b]
            L[c, c] += penalty[c] + ridge * L[c, c]
            if penalty[c] == 0.0 and L[c, c] <= 0.0:
                L[c, c] = 1.0  # no sample is curved: the bias is the best one already
        if _factorise(L):
            return _solve(L, x)
        ridge = max(100.0 * ridge, 1e-15)
        if ridge > 1.0:  # some numbers are not finite
            return x


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _factorise(L):
    """Replace the lower part of L (n, n) by its Cholesky factor; return whether it is positive definite."""
    for i in range(L.shape[0]):
        for j in range(i + 1):
            s = L[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if j < i:
                L[i, j] = s / L[j, j]
            elif s > 0.0:
                L[i, i] = np.sqrt(s)
            else:
                return False
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _solve(L, x):
    """Return the solution of L L' z = x, in x (n,)."""
    n = x.size
    for i in range(n):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]
    return x
