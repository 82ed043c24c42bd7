"""Linear problems: X with its bias column, row by row in compiled code and as a whole on all cores.

`row_dot` and `row_add` are what a compiled loop of a linear solver needs of a row; they take dense X (m, d) and `CSR`
alike, so that a solver is written once. Call them from a module-level `@njit(cache=True)` function.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import get_num_threads, njit, prange, types
from numba.extending import overload

from svmkit.errors import InputError
from svmkit.gram import Gram

FAST = {"contract", "nsz", "reassoc"}


class CSR(NamedTuple):
    """The arrays of a CSR matrix, as compiled loops take them."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


def row_dot(X, i, w):
    """x_i'w over the columns of X, float64."""
    raise TypeError("row_dot is for compiled code")


def row_add(X, i, a, w):
    """w += a x_i over the columns of X."""
    raise TypeError("row_add is for compiled code")


@overload(row_dot, inline="always")
def _row_dot(X, i, w):
    if isinstance(X, types.Array):

        def dense(X, i, w):
            s = 0.0
            for c in range(X.shape[1]):
                s += X[i, c] * w[c]
            return s

        return dense

    def sparse(X, i, w):
        s = 0.0
        for k in range(X.indptr[i], X.indptr[i + 1]):
            s += X.data[k] * w[np.uintp(X.indices[k])]
        return s

    return sparse


@overload(row_add, inline="always")
def _row_add(X, i, a, w):
    if isinstance(X, types.Array):

        def dense(X, i, a, w):
            for c in range(X.shape[1]):
                w[c] += a * X[i, c]

        return dense

    def sparse(X, i, a, w):
        for k in range(X.indptr[i], X.indptr[i + 1]):
            w[np.uintp(X.indices[k])] += a * X.data[k]

    return sparse


class Design:
    """X (m, d) of a Gram with the linear kernel, and a column of `bias` behind it unless that is 0.

    rows : X as compiled loops take it; width : d, or d + 1 with a bias column; sq (m,) : squared norms, bias included

    Raises InputError for another kernel.
    """

    def __init__(self, gram: Gram, bias: float) -> None:
        if gram.kernel.name != "linear":
            raise InputError(f"a linear problem needs the linear kernel, not {gram.kernel.name}")
        X = gram.engine.X  # type: ignore[attr-defined]
        self.rows = CSR(X.data, X.indices, X.indptr) if sp.issparse(X) else X
        self.m, self.d = X.shape
        self.bias = float(bias)
        self.width = self.d + (self.bias != 0.0)
        self.sq = gram.diag + self.bias**2

    def margins(self, w: np.ndarray) -> np.ndarray:
        """h (m,) = X w, for w (width,)."""
        out = np.full(self.m, self.bias * w[-1])
        _add_margins(self.rows, w, out)
        return out

    def pull(self, v: np.ndarray) -> np.ndarray:
        """X'v (width,), for v (m,)."""
        parts = np.zeros((get_num_threads(), self.width))
        _add_pulls(self.rows, v, parts)
        out = parts.sum(axis=0)
        if self.width > self.d:
            out[-1] = self.bias * v.sum()
        return out

    def joined(self, w: np.ndarray, intercept: float) -> np.ndarray:
        """The inverse of `split`; without a bias column the intercept is lost."""
        return np.append(w, intercept / self.bias) if self.width > self.d else np.array(w, dtype=np.float64)

    def split(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """(weights of the columns (d,), intercept) of w (width,)."""
        return w[: self.d].copy(), self.bias * float(w[-1]) if self.width > self.d else 0.0


@njit(parallel=True, cache=True)
def _add_margins(X, w, out):
    for i in prange(out.size):
        out[i] += row_dot(X, i, w)


@njit(parallel=True, cache=True)
def _add_pulls(X, v, parts):
    """Each part takes a stretch of the rows."""
    n = parts.shape[0]
    step = (v.size + n - 1) // n
    for p in prange(n):
        for i in range(p * step, min(v.size, p * step + step)):
            if v[i] != 0.0:
                row_add(X, i, v[i], parts[p])


@njit(cache=True)
def coordinate_pass(X, bias, y, upper, ridge, sq, order, beta, v, shrink_low, shrink_high):
    """One pass of dual coordinate descent over the points in `order` (Hsieh et al. 2008, Algorithm 3).

    Minimises 1/2 |v|^2 + 1/2 sum ridge beta^2 - sum beta, v = sum beta y x with the bias column, over 0 <= beta <=
    upper, one coordinate at a time, in place. A weight at a bound whose gradient points outside by more than the
    threshold (shrink_high at 0, shrink_low at upper; inf and -inf: never) is left out from now on.

    Returns (n, largest and smallest projected gradient, sum of the points' parts of P - D as they were met); the first
    n of `order` are those that stay.
    """
    n, k, bad = order.size, 0, 0.0
    top, low = -np.inf, np.inf
    last = v.size - 1
    while k < n:
        i = order[k]
        margin = row_dot(X, i, v)
        if bias != 0.0:
            margin += bias * v[last]
        margin *= y[i]
        slope = margin - 1.0 + ridge[i] * beta[i]
        held = beta[i]
        bad += _part_of_gap(margin, held, upper[i], ridge[i])
        if (held == 0.0 and slope > shrink_high) or (held == upper[i] and slope < shrink_low):
            n -= 1
            order[k], order[n] = order[n], order[k]
            continue
        k += 1
        projected = slope
        if held == 0.0:
            projected = min(slope, 0.0)
        elif held == upper[i]:
            projected = max(slope, 0.0)
        top, low = max(top, projected), min(low, projected)
        if abs(projected) > 1e-12:
            curvature = sq[i] + ridge[i]
            new = held - slope / curvature if curvature > 0.0 else (upper[i] if slope < 0.0 else held)
            beta[i] = min(max(new, 0.0), upper[i])
            step = (beta[i] - held) * y[i]
            row_add(X, i, step, v)
            if bias != 0.0:
                v[last] += step * bias
    return n, top, low, bad


@njit(inline="always")
def _part_of_gap(margin, beta, upper, ridge):
    """What a point adds to P - D at v = sum beta y x: never negative, and 0 at the optimum."""
    slack = 1.0 - margin
    if ridge == 0.0:
        return upper * max(slack, 0.0) - beta * slack
    cost = max(slack, 0.0)
    return cost * cost / (2.0 * ridge) - beta * slack + 0.5 * ridge * beta * beta
