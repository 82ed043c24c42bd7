"""Some columns of X stored by rows, and the quadratic model of the losses by its matrix: for few columns, or sparse
rows.

A pass of coordinate descent over the matrix costs its size, whatever the number of samples ("covariance updates":
Friedman, Hastie, Tibshirani 2010).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from svmkit.problems.risks.design import CSR, Design
from svmkit.runtime.compiling import njit
from svmkit_coordinate.columns import SETTLED, TINIEST, add_change, fill_pulls, violation_of, violations

MOST = 512  # columns of a matrix; larger ones leave the cache
THIN = 16.0  # products per stored value, at most: as many as passes over columns take in the same time
NARROW = 256  # columns of dense X that models of flat losses are given at once,
TALL = 4  # if there are as many rows for each
TIGHTER = 0.1  # violation within a working set at which it ends, as a part of the largest one before;
CLOSER = 1e-2  # the same for few columns by rows, where a step costs less than a check of all columns;
CLOSEST = 1e-5  # where the gap that is asked for is small,
EXACT = 1e-8  # and where the model is exact
ROOM = 1 << 22  # values for which a copy has room at first: memory that is not written is not used
CHUNK = 2048  # dense rows that are multiplied at once
PASSES = 100  # over the matrix before the weights that are not 0 are solved for at once
ROUNDS = 30  # of both
CLOSE = 0.03  # change of the curvatures, as a share of their sum, up to which the last matrix is used again
JITTER = 1e-12  # of the diagonal, for columns that depend on each other
WORTH = 1e8  # products of numbers that solving for weights again and again may take


class Model(NamedTuple):
    """The quadratic model of the losses at a point, and the penalty, on k columns.

    `curvature` and `beta` (m,) are the derivatives of the losses, `pulls` (k,) the slopes -A'beta with the other sign,
    z (k,) is the point, which moves to the minimum, and `penalty` has the methods of `Separate`.
    """

    curvature: np.ndarray
    beta: np.ndarray
    pulls: np.ndarray
    z: np.ndarray
    penalty: Any


class Separate(NamedTuple):
    """The penalty l1 |z| + 1/2 l2 z^2 of k weights, with factors l1, l2 (k,)."""

    l1: np.ndarray
    l2: np.ndarray

    def value(self, w: np.ndarray) -> float:
        """Return the penalty of weights w (k,)."""
        return float(self.l1 @ np.abs(w)) + 0.5 * float((self.l2 * w) @ w)

    def violation(self, pulls: np.ndarray, w: np.ndarray) -> float:
        """Return the largest violation of the optimality conditions at w (k,), where X'beta = pulls."""
        return float(violations(pulls, w, self.l1, self.l2, np.empty(w.size)))

    def find_free(self, pulls: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return the indices of the weights that are not 0 or would become non-zero, ascending."""
        return np.flatnonzero((w != 0.0) | (np.abs(self.l2 * w - pulls) > self.l1))

    def take(self, free: np.ndarray) -> Separate:
        """Return the penalty of the weights `free` alone."""
        return Separate(self.l1[free], self.l2[free])

    def minimise(self, H: np.ndarray, slope: np.ndarray, z: np.ndarray, goal: float, over: Callable[[], bool]) -> None:
        """Minimise slope'(z - z0) + 1/2 (z - z0)'H (z - z0) and the penalty over z (k,) in place, from z0 on.

        Parameters
        ----------
        H, slope, z : ndarray
            The matrix (k, k), which is overwritten, the derivatives (k,) at z0, and z0.
        goal, over : float, callable
            The largest violation that may be left, and what says that time is over.
        """
        slope = slope + self.l2 * z
        H[np.diag_indices(z.size)] += self.l2
        for _ in range(ROUNDS):
            if matrix_passes(H, slope, z, self.l1, PASSES, goal) <= goal or over():
                break
            used = np.flatnonzero(z)
            new = minimise_with_signs(H[np.ix_(used, used)], slope[used], z[used], self.l1[used])
            slope += H[:, used] @ (new - z[used])
            z[used] = new


class Rows:
    """The columns `chosen` (k,) of X by rows, followed by a column of ones where the design has a bias.

    A is None if X itself serves, with all columns chosen; `flat` says whether curvatures are constant. `products` are
    those of X.
    """

    def __init__(self, design: Design, chosen: np.ndarray, A: CSR | None, flat: bool, products: Any = None) -> None:
        self.design, self.A, self.flat, self.size = design, A, flat, chosen.size + (design.width > design.d)
        self.products = products or design
        self.curvature: np.ndarray | None = None  # (m,), those of H, whose columns are `free`
        self.H, self.free = np.empty((0, 0)), np.empty(0, dtype=np.int64)

    @classmethod
    def take(cls, design: Design, chosen: np.ndarray, flat: bool, products: Any = None) -> Rows | None:
        """Return the columns `chosen`, ascending, by rows; None where passes over columns cost less.

        Parameters
        ----------
        design, chosen, flat, products : Design, ndarray, bool, object
            X, the columns, whether all curvatures stay as they are, and what has `margins` and `pull` of X, None for
            the design.
        """
        if chosen.size == design.d and is_narrow(design, flat):
            return cls(design, chosen, None, flat, products)
        if not isinstance(design.rows, CSR) or chosen.size > MOST:
            return None
        more = int(design.width > design.d)
        place, last = _place(design.d, chosen), chosen.size if more else -1
        starts, products = np.zeros(design.m + 1, dtype=np.int64), 0
        room = min(design.entries, ROOM) + design.m * more + 2
        data, indices = np.empty(room, dtype=design.rows.data.dtype), np.empty(room, dtype=np.int32)
        for lo, hi in design.windows():
            while lo < hi:
                rows = design.part(lo, hi)
                done, part = _copy(rows, place, last, starts[lo : hi + 1], data, indices)
                lo, products = lo + done, products + part
                if lo < hi:  # a row did not fit
                    room = max(data.size, int(rows.indptr[done + 1] - rows.indptr[done]) + 2)
                    data, indices = (np.append(a, np.empty(room, dtype=a.dtype)) for a in (data, indices))
        if products > 2.0 * THIN * starts[-1]:
            return None
        return cls(design, chosen, CSR(data, indices, starts), flat)

    @property
    def is_whole(self) -> bool:
        """Whether the columns are all of X."""
        return self.A is None

    def tighten(self, left: float) -> float:
        """Return the violation at which a working set of these columns ends, as a share of the largest one before.

        Parameters
        ----------
        left : float
            The gap that is asked for, as a part of the present one.
        """
        if self.flat:
            return EXACT
        return min(max(left, CLOSEST), TIGHTER if self.is_whole else CLOSER)

    def pulls(self, beta: np.ndarray) -> np.ndarray:
        """Return A'beta (k,) for beta (m,)."""
        if self.A is not None:
            out = np.zeros(self.size)
            add_change(self.A, beta, out)
            return out
        out = self.products.pull(beta)
        if self.size > self.design.d:
            out[-1] = beta.sum()
        return out

    def change(self, step: np.ndarray) -> np.ndarray:
        """Return A step (m,) for a step (k,)."""
        if self.A is None:
            return self.products.margins(self.design.join(step[: self.design.d], step[-1]))
        out = np.empty(self.design.m)
        fill_pulls(self.A, step, out)
        return out

    def minimise(self, model: Model, goal: float, over: Callable[[], bool]) -> float:
        """Minimise a model up to a violation of `goal` in the weights that are not 0 or would become non-zero; return
        the equivalent number of passes over A.

        Parameters
        ----------
        model, goal, over : Model, float, callable
            The model, whose z moves, the largest violation that may be left, and what says that time is over.
        """
        penalty, z = model.penalty, model.z
        free = np.arange(self.size) if self.flat else penalty.find_free(model.pulls, z)
        own = z[free]
        penalty.take(free).minimise(self._matrix(model.curvature, free), -model.pulls[free], own, goal, over)
        z[free] = own
        return 2.0

    def _matrix(self, curvature: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Return A' diag(curvature) A of the columns `free`, ascending, or that of curvatures close to these."""
        off = np.abs(curvature - self.curvature).sum() if self.curvature is not None else np.inf
        if off <= CLOSE * curvature.sum():
            at = np.minimum(np.searchsorted(self.free, free), self.free.size - 1)
            if np.array_equal(self.free[at], free):
                return self.H[np.ix_(at, at)]
        self.free, self.curvature = free, curvature.copy()
        d, H = self.design.d, np.zeros((free.size, free.size))
        if isinstance(self.design.rows, CSR):
            place = _place(self.size, free)
            last = int(place[-1]) if self.size > d and self.A is None else -1
            parts = self.design.windows() if self.A is None else [(0, self.design.m)]
            for lo, hi in parts:
                add_products(self.design.part(lo, hi) if self.A is None else self.A, curvature[lo:hi], place, last, H)
            H = H + H.T
        elif self.size == d and (curvature == curvature[0]).all():  # no copy of X is weighed
            for lo in range(0, self.design.m, CHUNK):
                part = self.design.rows[lo : lo + CHUNK].astype(np.float64, copy=False)
                H = scipy.linalg.blas.dsyrk(curvature[0], part.T, beta=1.0, c=H, overwrite_c=1)  # the upper triangle
            H = np.triu(H) + np.triu(H, 1).T
        else:
            roots = np.sqrt(curvature)
            for lo in range(0, self.design.m, CHUNK):
                part = np.ones((min(CHUNK, self.design.m - lo), self.size))
                part[:, :d] = self.design.rows[lo : lo + CHUNK]
                part *= roots[lo : lo + CHUNK, None]
                H += part.T @ part
        self.H = H
        return H.copy()


def is_narrow(design: Design, flat: bool) -> bool:
    """Return whether models of all columns of X at once are the fastest.

    Parameters
    ----------
    design, flat : Design, bool
        X, and whether all curvatures stay as they are.
    """
    if isinstance(design.rows, CSR):
        return design.d <= MOST and design.entries <= THIN * design.m
    return flat and design.d <= NARROW and design.m >= TALL * design.d


def _place(n: int, chosen: np.ndarray) -> np.ndarray:
    """Return the place (n,) of each column among those chosen, -1 of the others."""
    place = np.full(n, -1, dtype=np.int32)
    place[chosen] = np.arange(chosen.size)
    return place


def minimise_with_signs(H: np.ndarray, slope: np.ndarray, start: np.ndarray, l1: np.ndarray) -> np.ndarray:
    """Return a z (k,) of less slope'(z - start) + 1/2 (z - start)'H (z - start) + l1'|z|, none of whose signs is new.

    Weights whose signs the minimum of the others would change become 0: all at once where that lowers the model as much
    as a step to where the first one is 0. Then come the rest, as far as that is `WORTH` it.

    Parameters
    ----------
    H, slope, start, l1 : ndarray
        The matrix (k, k), the derivatives (k,) without those of l1, the weights (k,), and the factors (k,) of |z|.
    """
    z, left, slope = start.copy(), np.arange(start.size), slope.copy()
    jitter, done = JITTER * float(H.trace()) / max(start.size, 1), 0.0
    while left.size and done <= WORTH:
        part, own, weigh = H[np.ix_(left, left)], z[left], l1[left]
        done += left.size**3 / 3.0
        steep = slope[left] + weigh * np.sign(own)
        try:
            factor = scipy.linalg.cho_factor(part + jitter * np.eye(left.size), check_finite=False)
            step = -scipy.linalg.cho_solve(factor, steep, check_finite=False)
        except scipy.linalg.LinAlgError:
            break
        if not np.isfinite(step).all():
            break
        crosses = (np.sign(step) * own < 0.0) & (np.abs(step) >= np.abs(own)) & (weigh > 0.0)
        if not crosses.any():
            z[left] = own + step
            break
        ratios = np.where(crosses, np.abs(own) / np.where(crosses, np.abs(step), 1.0), np.inf)
        t = float(ratios.min())
        ways = np.where(crosses, -own, step), np.where(ratios <= t, -own, t * step)
        best = min(ways, key=lambda way: float(steep @ way) + 0.5 * float(way @ (part @ way)))
        slope += H[:, left] @ best
        z[left] = np.where(best == -own, 0.0, own + best)
        left = left[z[left] != 0.0]
    return z


@njit(cache=True, nogil=True)
def _copy(X, place, last, starts, data, indices):
    """Copy the values in columns with a place, and a 1 at the place `last` unless that is -1, behind those of the rows
    before, and write where the rows end to starts[1:], as long as there is room for a whole row of X.

    Return the number of rows copied, and the sum of the squares of the numbers of their values.
    """
    to, room, products = np.uintp(starts[0]), data.size, 0
    for i in range(starts.size - 1):
        first, end, began = np.uintp(X.indptr[i]), np.uintp(X.indptr[i + 1]), to
        if np.int64(to) + np.int64(end - first) + 2 > room:
            return i, products
        for at in range(first, end):
            j = place[np.uintp(X.indices[at])]
            indices[to], data[to] = j, X.data[at]  # overwritten if it has no place: a branch would be unpredictable
            to += np.uintp(j >= 0)
        if last >= 0:
            indices[to], data[to] = last, 1.0
            to += np.uintp(1)
        starts[i + 1] = to
        products += np.int64(to - began) ** 2
    return starts.size - 1, products


@njit(cache=True, nogil=True, error_model="numpy")
def add_products(X, curvature, place, last, H):
    """Add X' diag(curvature) X of the columns with a place to H + H', whatever the order of the entries of a row.

    Parameters
    ----------
    X, curvature, place, last, H
        CSR rows, their curvatures, the places (d,), the place of a column of ones or -1, and the matrix.
    """
    longest = 0
    for i in range(curvature.size):
        longest = max(longest, X.indptr[i + 1] - X.indptr[i])
    columns, values = np.empty(longest + 2, dtype=np.uint32), np.empty(longest + 2)
    for i in range(curvature.size):
        if curvature[i] == 0.0:
            continue
        n = np.uintp(0)
        for at in range(np.uintp(X.indptr[i]), np.uintp(X.indptr[i + 1])):
            j = place[np.uintp(X.indices[at])]
            columns[n], values[n] = j, X.data[at]  # as in `_copy`
            n += np.uintp(j >= 0)
        if last >= 0:
            columns[n], values[n] = last, 1.0
            n += np.uintp(1)
        for a in range(n):
            row, by = np.uintp(columns[a]), curvature[i] * values[a]
            for b in range(a):
                H[row, np.uintp(columns[b])] += by * values[b]
            H[row, row] += 0.5 * by * values[a]


@njit(cache=True, nogil=True, error_model="numpy")
def matrix_passes(H, slope, z, l1, most, goal):
    """Make passes of coordinate descent over z (k,) on sum_j l1_j |z_j| + 1/2 z'H z + ..., whose `slope` (k,) without
    the first sum is kept. Return the largest violation of the last pass over all weights.
    """
    worst, whole = np.inf, True
    for _ in range(most):
        largest = 0.0
        for j in range(z.size):
            if not whole and z[j] == 0.0:
                continue
            lacking = violation_of(slope[j], z[j], l1[j])
            largest = max(largest, lacking)
            if lacking == 0.0:
                continue
            bend = max(H[j, j], TINIEST)
            target = bend * z[j] - slope[j]
            new = np.copysign(max(abs(target) - l1[j], 0.0) / bend, target)
            by = new - z[j]
            if by != 0.0 and np.isfinite(new):
                z[j] = new
                for k in range(z.size):
                    slope[k] += by * H[j, k]
        if whole:
            worst = largest
            if worst <= goal:
                break
        whole = not whole and largest <= max(SETTLED * worst, 0.5 * goal)
    return worst
