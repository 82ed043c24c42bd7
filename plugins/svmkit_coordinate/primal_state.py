"""The state of primal coordinate descent: growing sets of columns, and a quadratic model of the losses on each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from svmkit.losses.terms import LogisticTerms
from svmkit.problems.certificate import relative_gap
from svmkit.problems.risks.linear_risk import LinearRisk
from svmkit.problems.risks.points import sum_derivatives
from svmkit.solver.sampler import Draws
from svmkit_coordinate import columns

FIRST = 64  # columns of the first working set
TIGHTER = 0.1  # violation within a working set at which it ends, as a part of the largest one before
STEPS = 30  # Newton steps in a working set at most
PASSES = 8  # passes on a model before the weights that are not 0 are solved for at once;
MOST = 60  # as many as take as long, up to this number,
AT_ONCE = 2000  # if there are so many at most
IDLE = 2  # Newton steps in turn that may leave P as it is
NOTHING = 1e-14  # change of P or D, relative to the larger, and violation, relative to the slopes, that is rounding
JITTER = 1e-12  # of the diagonal, for columns that depend on each other
EASIER = 0.1  # the share of the curvature of lines falls by this factor after a whole step, and rises by its inverse
LEAST = 1e-4  # of that share
WORTH = 1e8  # products of numbers that solving for weights again and again may take


class State:
    """State of a solve: w (width,), its decision values h (m,), and the dual point that its losses suggest.

    beta (m,) are the derivatives of the losses, v (width,) = X'beta, `dual` is the largest D so far and `best` the
    weights of it, None where these are beta. `out` (d,) are the columns whose weight is 0 at the optimum, as the gap
    proves. `size` is that of the last working set.
    """

    def __init__(self, problem: LinearRisk, start: np.ndarray | None, draws: Draws) -> None:
        self.problem, self.penalty, self.over = problem, problem.penalty, draws.over
        m, width, d = problem.m, problem.design.width, problem.design.d
        self.w = np.zeros(width) if start is None else start.copy()
        self.beta, self.curvature, self.share = np.empty(m), np.empty(m), 1.0
        self.dual, self.best, self.size, self.passes = -np.inf, None, 0, 0.0
        self.before = np.zeros(m)  # the dual point of the iterate before, here one that is always feasible
        self.columns: tuple[np.ndarray, Any] | None = None
        self.normal = Normal()
        self.norms = np.sqrt(columns.square_sums(problem.design))
        self.out = np.zeros(d, dtype=bool)
        self.l1, self.l2 = np.full(width, self.penalty.l1), np.full(width, self.penalty.l2)
        if width > d:
            bias = problem.design.bias  # the weight of a column of ones is the intercept
            self.l1[-1], self.l2[-1] = (
                (0.0, 0.0) if problem.is_free else (self.l1[-1] / bias, self.l2[-1] / bias / bias)
            )
        t = problem.terms
        sides = np.where(t.upper > 0.0, t.ridge_up, np.inf), np.where(t.lower < 0.0, t.ridge_down, np.inf)
        if isinstance(t, LogisticTerms):
            sides = (4.0 / np.abs(t.bound),)
        self.ridge = float(min(side.min() for side in sides))  # D is so curved at least
        self.anew()

    def anew(self) -> None:
        """Compute everything from scratch at w."""
        self.h = self.problem.decision(self.w) if self.w.any() else np.zeros(self.problem.m)
        self.examine()

    def examine(self) -> None:
        """Set the bias where it is free, P, and what w suggests for D; leave out what the gap proves to be 0."""
        p = self.problem
        if p.is_free:
            by = p.best_bias(self.h)
            self.h += by
            self.w[-1] += by / p.bias
        loss = self.weigh()
        beta = p.balanced(self.beta)
        self.v = p.weights(beta)
        self.primal = self.penalty.value(self.w[: p.design.d] if p.is_free else self.w) + loss
        scale = p.dual_scale(beta, self.v)
        dual = p.dual(scale * beta, self.penalty.image(scale * self.v))
        if dual > self.dual:
            self.dual, self.best = dual, None
            self._leave_out(scale)
        elif self.best is None:
            self.best = self.before
        self.before = scale * beta
        self.gap = max(relative_gap(self.primal - self.dual, self.dual), 0.0)
        self.measure()
        self.passes += 1.0

    def measure(self) -> None:
        """Set the violations of the optimality conditions."""
        w = self._weights(np.arange(self.problem.design.d))
        self.violation = np.empty(w.size)
        self.worst = columns.violations(self._pulls(), w, self.l1, self.l2, self.violation)

    def weigh(self) -> float:
        """Set beta and the curvatures at h; return the sum of the losses."""
        points, h = self.problem.points, self.h
        return sum_derivatives(*points, h, self.share, self.beta, self.curvature, 0, h.size)[0]

    def _pulls(self) -> np.ndarray:
        """Return v for a column of ones in place of that of the bias."""
        v = self.v.copy()
        if v.size > self.problem.design.d:
            v[-1] = self.beta.sum()
        return v

    def _weights(self, chosen: np.ndarray) -> np.ndarray:
        """Return the weights of the chosen columns, followed by the intercept where there is one."""
        d = self.problem.design
        return np.append(self.w[chosen], d.bias * self.w[-1]) if d.width > d.d else self.w[chosen]

    def _leave_out(self, scale: float) -> None:
        """Leave out columns with |x_j'beta| < l1 for all dual points beta that the gap allows (Ndiaye et al. 2017)."""
        radius = np.sqrt(2.0 * max(self.primal - self.dual, 0.0) / self.ridge)
        d = self.problem.design.d
        self.out = np.abs(scale * self.v[:d]) + radius * self.norms < self.penalty.l1 * (1.0 - 1e-9)

    def choose(self) -> np.ndarray:
        """Return the columns of the next working set: those of non-zero weights, and those that violate most."""
        d = self.problem.design.d
        used = self.w[:d] != 0.0
        n = int(np.count_nonzero(used))
        self.size = min(d, max(FIRST, 2 * n, self.size))
        score = np.where(used, np.inf, np.where(self.out, 0.0, self.violation[:d]))
        able = np.flatnonzero(score > 0.0)
        if able.size > self.size:
            able = able[np.argpartition(score[able], able.size - self.size)[able.size - self.size :]]
        return np.sort(able)

    def improve(self) -> int:
        """Minimise over a working set, by Newton steps; return their number."""
        chosen = self.choose()
        if self.columns is None or not np.array_equal(self.columns[0], chosen):
            self.columns, self.normal = (chosen, columns.take_columns(self.problem.design, chosen)), Normal()
            self.passes += 1.0
        A, goal = self.columns[1], TIGHTER * self.worst
        at = np.append(chosen, self.w.size - 1) if self.w.size > self.problem.design.d else chosen
        l1, l2, pulls, lacking = self.l1[at], self.l2[at], np.empty(at.size), np.empty(at.size)
        part, steps, idle, value = at.size / self.w.size, 0, 0, np.inf
        w = self._weights(chosen)
        while steps < STEPS and not self.over():
            before, value = value, self.weigh() + float(l1 @ np.abs(w)) + 0.5 * float(l2 @ (w * w))
            idle = 0 if before - value > NOTHING * value else idle + 1
            columns.fill_pulls(A, self.beta, pulls)
            worst = columns.violations(pulls, w, l1, l2, lacking)
            least = NOTHING * float(np.abs(pulls).max(initial=0.0))
            if worst <= max(goal, least) or idle > IDLE:
                break
            moved = self._step(A, w, l1, l2, max(TIGHTER * worst, 0.3 * goal, least))
            steps += 1
            self.passes += 4.0 * part
            if not moved:
                break
        self.w[chosen] = w[: chosen.size]
        if at.size > chosen.size:
            self.w[-1] = w[-1] / self.problem.design.bias
        return max(steps, 1)

    def _step(self, A: Any, w: np.ndarray, l1: np.ndarray, l2: np.ndarray, goal: float) -> bool:
        """Minimise the model at w (k,) and go toward its minimum, in place; return whether that lowers P."""
        p = self.problem
        squares = np.empty(w.size)
        columns.fill_squares(A, self.curvature, l2, squares)
        model = Model(A, self.curvature, squares, l1, l2, w.copy(), -self.beta, self.normal)
        self.passes += model.solve(goal, self.over) * w.size / self.w.size
        step, change = model.z - w, np.zeros(p.m)
        columns.add_change(A, step, change)
        t = columns.line_search(*p.points, self.h, change, w, step, l1, l2)
        before = self.share  # trust the curvatures more after a whole step, and less after one that was cut short
        self.share = max(before * EASIER, LEAST) if t == 1.0 else min(before / EASIER, 1.0)
        if t == 0.0:
            return self.share > before
        w[:] = model.z if t == 1.0 else w + t * step
        self.h += t * change
        return True


@dataclass
class Normal:
    """The matrix of the weights that were solved for last, kept for others of the same curvatures (m,)."""

    used: np.ndarray | None = None
    curvature: np.ndarray | None = None
    H: np.ndarray | None = None

    def take(self, A: Any, used: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """Return the `columns.normal_matrix` of the rows `used` of A, ascending.

        Parameters
        ----------
        A, used, curvature
            Always the same rows; the numbers of those that are wanted, and the curvatures.
        """
        if self.used is not None and self.H is not None and np.array_equal(curvature, self.curvature):
            at = np.searchsorted(self.used, used)
            if np.array_equal(self.used[np.minimum(at, self.used.size - 1)], used):
                return self.H[np.ix_(at, at)]
        self.used, self.curvature = used, curvature.copy()
        self.H = columns.normal_matrix(A, used, curvature, curvature.size)
        return self.H.copy()


@dataclass
class Model:
    """The quadratic model of the losses at a point: A (k, m), curvatures (m,), and along each column `squares` (k,).

    z (k,) is the point of the model, r (m,) its derivatives by the decision values.
    """

    A: Any
    curvature: np.ndarray
    squares: np.ndarray
    l1: np.ndarray
    l2: np.ndarray
    z: np.ndarray
    r: np.ndarray
    normal: Normal

    def solve(self, goal: float, over: Callable[[], bool]) -> float:
        """Minimise up to a violation of `goal`; return the passes over A that it took."""
        passes, rounds, most = 0.0, 0, float(PASSES)
        while not over():
            worth, worst = columns.model_passes(
                self.A, self.curvature, self.squares, self.l1, self.l2, self.z, self.r, most, goal
            )
            passes, rounds = passes + worth, rounds + 1
            if worst <= goal or rounds >= STEPS:
                break
            used = np.flatnonzero(self.z)
            if used.size > AT_ONCE:
                continue
            most = max(PASSES, min(columns.passes_at_once(self.A, used.size, self.r.size), MOST))
            if passes >= most:
                self._solve_at_once(used)
        return passes

    def _solve_at_once(self, used: np.ndarray) -> None:
        """Solve for the non-zero weights; where that changes a sign, go until a weight is 0 and solve for the rest."""
        H = self.normal.take(self.A, used, self.curvature)
        diagonal = np.arange(used.size)
        H[diagonal, diagonal] += self.l2[used]
        pulls = np.empty(self.z.size)
        columns.fill_pulls(self.A, self.r, pulls)
        old, l1 = self.z[used], self.l1[used]
        slope = pulls[used] + self.l2[used] * old
        z = minimise_with_signs(H, slope, old, l1)
        whole = np.zeros(self.z.size)
        whole[used] = z - old
        self.z[used] = z
        change = np.zeros(self.r.size)
        columns.add_change(self.A, whole, change)
        self.r += self.curvature * change


def minimise_with_signs(H: np.ndarray, slope: np.ndarray, start: np.ndarray, l1: np.ndarray) -> np.ndarray:
    """Return a z (k,) of less slope'(z - start) + 1/2 (z - start)'H (z - start) + l1'|z|, none of whose signs is new.

    Weights whose signs the minimum of the others would change become 0: all at once where that lowers the model as much
    as a step to where the first one is 0. Then come the rest, as far as that is `WORTH` it.

    Parameters
    ----------
    H, slope, start, l1
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
        crosses = (step * own < 0.0) & (np.abs(step) >= np.abs(own)) & (weigh > 0.0)
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
