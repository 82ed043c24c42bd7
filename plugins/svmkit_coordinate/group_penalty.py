"""The penalty of groups of columns: its steps on a matrix and on columns, and its data for the loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from svmkit.problems.risks.design import row_dot
from svmkit.runtime.compiling import njit
from svmkit_coordinate import columns
from svmkit_coordinate.rows import JITTER

PASSES = 20  # over the matrix before a Newton step for the non-zero weights
ROUNDS = 50  # of both
SUFFICIENT = 0.1  # share of the decrease predicted by its slope that a Newton step must achieve
HALVES = 10  # halvings of a step that achieves less


class Grouped(NamedTuple):
    """The norms of n groups of k weights, times factors `weigh_by` (n,); `starts` (n + 1,) has the start of each
    group.
    """

    starts: np.ndarray
    weigh_by: np.ndarray

    def value(self, w: np.ndarray) -> float:
        """Return the penalty of weights w (k,)."""
        return float(penalty_of(w, self.starts, self.weigh_by))

    def violation(self, pulls: np.ndarray, w: np.ndarray) -> float:
        """Return the largest violation of the optimality conditions at w (k,), where X'beta = pulls."""
        return float(group_violations(pulls, w, self.starts, self.weigh_by, np.empty(len(self.weigh_by))))

    def find_free(self, pulls: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return the numbers of the weights of groups that are not 0 or would leave 0, ascending."""
        squares, at = np.square(np.stack([w, pulls])), self.starts[:-1]
        own, pull = np.sqrt(np.add.reduceat(squares, at, axis=1)) if at.size else np.empty((2, 0))
        return np.flatnonzero(np.repeat((own > 0.0) | (pull > self.weigh_by), np.diff(self.starts)))

    def take(self, free: np.ndarray) -> Grouped:
        """Return the penalty of only the weights `free`, which form whole groups."""
        kept = np.isin(self.starts[:-1], free)
        return Grouped(np.append(0, np.cumsum(np.diff(self.starts)[kept])), self.weigh_by[kept])

    def minimise(self, H: np.ndarray, slope: np.ndarray, z: np.ndarray, goal: float, over: Callable[[], bool]) -> None:
        """Minimise as `Separate.minimise` does, by proximal steps on groups and Newton steps for non-zero groups.

        Parameters
        ----------
        H, slope, z, goal, over : ndarray, ndarray, ndarray, float, callable
            As for `Separate.minimise`; `slope` moves with z.
        """
        bends = largest_eigenvalues(self.starts, lambda at: H[at[:, :, None], at[:, None, :]])
        for _ in range(ROUNDS):
            if group_matrix_passes(H, bends, slope, *self, z, PASSES, goal) <= goal or over():
                break
            self._take_newton_step(H, slope, z)

    def _take_newton_step(self, H: np.ndarray, slope: np.ndarray, z: np.ndarray) -> None:
        """Take a Newton step for the non-zero groups of z, on which the penalty is smooth, if one is found."""
        sizes = np.sqrt(np.add.reduceat(np.square(z), self.starts[:-1]))
        used = np.flatnonzero(np.repeat(sizes > 0.0, np.diff(self.starts)))
        if not used.size:
            return
        own, (starts, weigh_by), sizes = z[used], self.take(used), sizes[sizes > 0.0]
        unit, bend = own / np.repeat(sizes, np.diff(starts)), weigh_by / sizes
        part = H[np.ix_(used, used)]
        bent = part.copy()
        add_bends(bent, unit, bend, starts)
        bent[np.diag_indices(used.size)] += JITTER * float(part.trace()) / used.size
        steep = slope[used] + np.repeat(weigh_by, np.diff(starts)) * unit
        try:
            factor = scipy.linalg.cho_factor(bent, overwrite_a=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            return
        step = -scipy.linalg.cho_solve(factor, steep, check_finite=False)
        first, linear, square = float(steep @ step), float(slope[used] @ step), float(step @ part @ step)
        before, t = float(penalty_of(own, starts, weigh_by)), 1.0
        for _ in range(HALVES):
            fall = t * linear + 0.5 * t * t * square + float(penalty_of(own + t * step, starts, weigh_by)) - before
            if fall <= SUFFICIENT * t * first:
                z[used] = own + t * step
                slope += H[:, used] @ (t * step)
                return
            t *= 0.5


def largest_eigenvalues(starts: np.ndarray, find: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return the largest eigenvalue of the block of each group, slightly enlarged.

    Parameters
    ----------
    starts : ndarray of shape (n + 1,)
        Where each group begins.
    find : callable
        Returns the blocks (g, size, size) of the columns (g, size) of g groups of one size.
    """
    sizes, out = np.diff(starts), np.empty(len(starts) - 1)
    for size in np.unique(sizes):
        groups = np.flatnonzero(sizes == size)
        blocks = find(starts[groups][:, None] + np.arange(size))
        out[groups] = np.linalg.eigvalsh(blocks)[:, -1] * (1.0 + 1e-9)
    return np.maximum(out, columns.TINIEST)


def find_blocks(A: Any, curvature: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return A_g diag(curvature) A_g' (n, size, size) of the rows `groups` (n, size) of A (k, m)."""
    out = np.empty((*groups.shape, groups.shape[1]))
    fill_blocks(A, curvature, groups, np.zeros(curvature.size), out)
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def fill_blocks(A, curvature, groups, row, out):
    """Write the matrices of `find_blocks` to out, with a `row` (m,) of zeros as working memory."""
    for g in range(groups.shape[0]):
        for a in range(groups.shape[1]):
            if groups.shape[1] == 1:
                out[g, 0, 0] = columns.row_square(A, groups[g, 0], curvature)
                continue
            columns.row_push(A, groups[g, a], 1.0, curvature, row)
            for b in range(a + 1):
                out[g, a, b] = out[g, b, a] = row_dot(A, groups[g, b], row)
            row[:] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def add_bends(H, unit, bend, starts):
    """Add bend_g (I - unit_g unit_g') to the block of each group in H (k, k)."""
    for g in range(bend.size):
        for a in range(starts[g], starts[g + 1]):
            H[a, a] += bend[g]
            for b in range(starts[g], starts[g + 1]):
                H[a, b] -= bend[g] * unit[a] * unit[b]


@njit(cache=True, nogil=True, error_model="numpy")
def group_matrix_passes(H, bends, slope, starts, weigh_by, z, most, goal):
    """Make passes over groups of z (k,) on 1/2 z'H z + ..., whose `slope` (k,) without the norms is kept, as
    `group_passes`. Return the largest violation of the last pass over all groups.
    """
    worst, whole, push = np.inf, True, np.zeros(z.size)
    for _ in range(most):
        largest = 0.0
        for g in range(bends.size):
            first, last = starts[g], starts[g + 1]
            if not whole and _norm(z, first, last) == 0.0:
                continue
            for j in range(first, last):
                push[j] = slope[j]
            lacking = prox(push, z, bends[g], first, last, weigh_by[g])
            largest = max(largest, lacking)
            if lacking == 0.0:
                continue
            for j in range(first, last):
                if push[j] != 0.0:
                    z[j] += push[j]
                    for k in range(z.size):
                        slope[k] += push[j] * H[j, k]
        if whole:
            worst = largest
            if worst <= goal:
                break
        whole = not whole and largest <= max(columns.SETTLED * worst, 0.5 * goal)
    return worst


@njit(cache=True, nogil=True, error_model="numpy")
def prox(push, z, bend, first, last, factor):
    """Replace the slopes in push[first:last] by the proximal step of a group from z; return the violation it
    indicates.
    """
    for j in range(first, last):
        push[j] = z[j] - push[j] / bend
    size = _norm(push, first, last)
    keep = max(1.0 - factor / (bend * size), 0.0) if size > 0.0 else 0.0
    square = 0.0
    for j in range(first, last):
        push[j] = keep * push[j] - z[j]
        square += push[j] * push[j]
    return bend * np.sqrt(square)


@njit(cache=True, nogil=True, error_model="numpy")
def penalty_of(w, starts, weigh_by):
    """Return the sum of the norms of groups of weights w (k,), times their factors."""
    total = 0.0
    for g in range(weigh_by.size):
        total += weigh_by[g] * _norm(w, starts[g], starts[g + 1])
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _norm(v, first, last):
    square = 0.0
    for j in range(first, last):
        square += v[j] * v[j]
    return np.sqrt(square)


@njit(cache=True, nogil=True, error_model="numpy")
def group_violations(pulls, w, starts, weigh_by, out):
    """Write the violation of the optimality conditions of each group of weights w (k,), whose columns have X'beta =
    pulls, to out (n_groups,); return the largest one.
    """
    most = 0.0
    for g in range(out.size):
        first, last = starts[g], starts[g + 1]
        size, square = _norm(w, first, last), 0.0
        if size > 0.0:
            for j in range(first, last):
                square += (weigh_by[g] * w[j] / size - pulls[j]) ** 2
            out[g] = np.sqrt(square)
        else:
            out[g] = max(_norm(pulls, first, last) - weigh_by[g], 0.0)
        most = max(most, out[g])
    return most


@njit(cache=True, nogil=True, error_model="numpy")
def group_passes(A, curvature, bends, starts, weigh_by, z, r, most, goal):
    """Make passes over groups of z (k,) on the quadratic model of `columns.model_passes`, z and r (m,) in place.

    A group takes a proximal step with the largest curvature `bends` of its columns (Tseng, Yun 2009), exactly to 0 if
    that is the minimum. After a pass over all groups, groups of non-zero weights are visited until they have settled.
    Return the number of passes.
    """
    push = np.zeros(z.size)
    done = 0.0
    while done < most:
        worst = 0.0
        for g in range(bends.size):
            worst = max(worst, _improve(A, curvature, bends[g], starts[g], starts[g + 1], weigh_by[g], z, r, push))
        done += 1.0
        if worst <= goal:
            break
        for _ in range(10):
            inner, used = 0.0, 0
            for g in range(bends.size):
                if _norm(z, starts[g], starts[g + 1]) > 0.0:
                    used += starts[g + 1] - starts[g]
                    inner = max(
                        inner,
                        _improve(A, curvature, bends[g], starts[g], starts[g + 1], weigh_by[g], z, r, push),
                    )
            done += used / z.size
            if inner <= columns.SETTLED * worst or inner <= 0.5 * goal:
                break
    return done


@njit(cache=True, nogil=True, error_model="numpy")
def _improve(A, curvature, bend, first, last, factor, z, r, push):
    """Take a proximal step of the model along a group; return its violation before, as indicated by the step."""
    for j in range(first, last):
        push[j] = row_dot(A, j, r)
    lacking = prox(push, z, bend, first, last, factor)
    if lacking == 0.0:
        return 0.0
    for j in range(first, last):
        if push[j] != 0.0:
            columns.row_push(A, j, push[j], curvature, r)
            z[j] += push[j]
    return lacking
