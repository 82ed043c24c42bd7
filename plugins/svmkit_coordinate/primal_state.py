"""The state of primal coordinate descent: growing sets of columns, and a quadratic model of the losses on each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from svmkit.losses.terms import LogisticTerms
from svmkit.problems.certificate import relative_gap
from svmkit.problems.risks.design import CSR
from svmkit.problems.risks.linear_risk import LinearRisk
from svmkit.problems.risks.points import sum_derivatives
from svmkit.solver.sampler import Draws
from svmkit_coordinate import columns
from svmkit_coordinate.by_columns import ByColumns
from svmkit_coordinate.rows import TIGHTER, Model, Rows, Separate, is_narrow, minimise_with_signs

FIRST = 64  # columns of the first working set
FEW = 8  # one row in so many makes a sample, whose optimum is the start,
MANY = 2000  # if there are so many of them;
NEAR = 3e-3  # gap of it that is enough,
ROUNDS = 8  # or rounds
STEPS = 30  # Newton steps in a working set at most
PASSES = 8  # passes on a model before the weights that are not 0 are solved for at once;
MOST = 60  # as many as take as long, up to this number,
AT_ONCE = 2000  # if there are so many at most
IDLE = 2  # Newton steps in turn that may leave P as it is
NOTHING = 1e-14  # change of P or D, relative to the larger, and violation, relative to the slopes, that is rounding
EASIER = 0.1  # the share of the curvature of lines falls by this factor after a whole step, and rises by its inverse
LEAST = 1e-4  # of that share


@dataclass
class Normal:
    """The normal matrix of the last solve, kept for further weights with the same curvatures (m,)."""

    used: np.ndarray | None = None
    curvature: np.ndarray | None = None
    H: np.ndarray | None = None

    def take(self, A: Any, used: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """Return the `columns.normal_matrix` of the rows `used` of A, ascending.

        Parameters
        ----------
        A, used, curvature : object, ndarray, ndarray
            The rows, the same in each call; the indices of the requested ones; and the curvatures.
        """
        if self.used is not None and self.H is not None and np.array_equal(curvature, self.curvature):
            at = np.searchsorted(self.used, used)
            if np.array_equal(self.used[np.minimum(at, self.used.size - 1)], used):
                return self.H[np.ix_(at, at)]
        self.used, self.curvature = used, curvature.copy()
        self.H = columns.normal_matrix(A, used, curvature, curvature.size)
        return self.H.copy()


class Columns:
    """Columns of X in the form of `columns.take_columns`, A (k, m), over which coordinate descent makes its passes."""

    is_whole = False

    def __init__(self, A: Any, m: int) -> None:
        self.A, self.m, self.normal = A, m, Normal()

    @property
    def size(self) -> int:
        """The number of columns."""
        return len(self.A.indptr) - 1 if isinstance(self.A, CSR) else len(self.A)

    def tighten(self, left: float) -> float:
        """Return the violation at which a working set ends, as `Rows.tighten`: passes over many columns take long."""
        return TIGHTER

    def pulls(self, beta: np.ndarray) -> np.ndarray:
        """Return A beta (k,) for beta (m,)."""
        out = np.empty(self.size)
        columns.fill_pulls(self.A, beta, out)
        return out

    def change(self, step: np.ndarray) -> np.ndarray:
        """Return A'step (m,) for a step (k,)."""
        out = np.zeros(self.m)
        columns.add_change(self.A, step, out)
        return out

    def minimise(self, model: Model, goal: float, over: Callable[[], bool]) -> float:
        """Minimise a model up to a violation of `goal`; return the passes over A that it took.

        Parameters
        ----------
        model, goal, over : Model, float, callable
            The model, whose z moves; the largest violation that may be left; and a function that says whether time is
            over.
        """
        squares, r, (l1, l2) = np.empty(self.size), -model.beta, model.penalty
        columns.fill_squares(self.A, model.curvature, l2, squares)
        given = self.A, model.curvature, squares, l1, l2, model.z, r
        passes, rounds, most = 0.0, 0, float(PASSES)
        while not over():
            worth, worst = columns.model_passes(*given, most, goal)
            passes, rounds = passes + worth, rounds + 1
            if worst <= goal or rounds >= STEPS:
                break
            used = np.flatnonzero(model.z)
            if used.size > AT_ONCE:
                continue
            most = max(PASSES, min(columns.passes_at_once(self.A, used.size, self.m), MOST))
            if passes >= most:
                self._solve_at_once(model, used, r)
        return passes

    def _solve_at_once(self, model: Model, used: np.ndarray, r: np.ndarray) -> None:
        """Solve for the non-zero weights; if that changes a sign, step until a weight is 0 and solve for the others."""
        H, (l1, l2) = self.normal.take(self.A, used, model.curvature), model.penalty
        H[np.diag_indices(used.size)] += l2[used]
        old = model.z[used]
        slope = self.pulls(r)[used] + l2[used] * old
        z = minimise_with_signs(H, slope, old, l1[used])
        whole = np.zeros(self.size)
        whole[used] = z - old
        model.z[used] = z
        r += model.curvature * self.change(whole)


class State:
    """State of a solve: w (width,), its decision values h (m,), and the dual point that its losses suggest.

    beta (m,) are the derivatives of the losses, v (width,) = X'beta, `dual` is the largest D so far and `best` the
    weights of it, None where these are beta. `out` (d,) are the columns whose weight is 0 at the optimum, as the gap
    proves. `size` is that of the last working set, `taken` its columns. `loss` is the sum of the losses, `known` is v
    of the current beta if it has been computed, and `flat` says whether losses are parabolas, so that a model is exact.
    `products` has `margins` and `pull` of X: the design, or a copy of it by columns.
    """

    form: ClassVar[type[Columns]] = Columns  # of working sets that are no `Rows`

    def __init__(self, problem: LinearRisk, start: np.ndarray | None, draws: Draws) -> None:
        self.problem, self.penalty, self.over = problem, problem.penalty, draws.over
        self.goal = draws.goal.gap if draws.goal else 0.0
        m, width, d = problem.m, problem.design.width, problem.design.d
        self.w = np.zeros(width) if start is None else start.copy()
        self.beta, self.curvature, self.share = np.empty(m), np.empty(m), 1.0
        self.dual, self.best, self.size, self.passes = -np.inf, None, 0, 0.0
        self.offered: np.ndarray | None = None  # the last `best` that was offered to the problem
        self.before = np.zeros(m)  # the dual point of the iterate before, here one that is always feasible
        self.centre: float | None = None  # factor of beta at the largest D, where that is of the last iterate
        self.taken: tuple[np.ndarray, Any] | None = None
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
        self.ridge = float(min(side.min() for side in sides))  # least curvature of D
        self.flat = not isinstance(t, LogisticTerms) and bool(
            np.isinf(t.upper).all()
            and np.isinf(t.lower).all()
            and not t.kink_up.any()
            and not t.kink_down.any()
            and (t.ridge_up == t.ridge_down).all()
        )
        self.loss, self.known = np.inf, None
        design = problem.design
        by_columns = isinstance(design.rows, CSR) and is_narrow(design, self.flat) and ByColumns.has_room(design)
        self.products: Any = ByColumns(design) if by_columns else design
        if start is None and m >= FEW * MANY:
            self._start_from_sample(draws)
        self.anew()

    @cached_property
    def norms(self) -> np.ndarray:
        """The norms (d,) of the columns of X."""
        return np.sqrt(columns.square_sums(self.problem.design))

    def _start_from_sample(self, draws: Draws) -> None:
        """Begin near the optimum of the problem of one row in `FEW`."""
        p, rows = self.problem, np.arange(0, self.problem.m, FEW)
        lower, upper = p.terms.lower[rows], p.terms.upper[rows]
        if (self.flat and is_narrow(p.design, True)) or not lower.any() or not upper.any():
            return  # a single step does as well, or the bias would have no optimum
        state = type(self)(p.sample(rows), None, draws)
        state.goal = NEAR
        for _ in range(ROUNDS):
            if state.gap <= NEAR or self.over():
                break
            state.improve()
            state.examine()
        self.w = state.w

    def anew(self) -> None:
        """Compute everything from scratch at w."""
        self.h = self.products.margins(self.w) if self.w.any() else np.zeros(self.problem.m)
        self.loss, self.known = self.weigh(), None
        self.examine()

    def examine(self) -> None:
        """Set the bias if it is free, P, and the dual point and D that w suggests."""
        p = self.problem
        if p.is_free:
            by = p.best_bias(self.h)
            self.w[-1] += by / p.bias
            if by != 0.0:
                self.h = self.h + by
                self.loss = self.weigh()
        beta = p.balanced(self.beta)
        if self.known is None or p.is_free:
            self.v = self._pull(beta)
            self.known = None if p.is_free else self.v
        else:
            self.v = self.known
        self.primal = self.penalty.value(self.w[: p.design.d] if p.is_free else self.w) + self.loss
        scale, dual = p.dual_scale(beta, self.v)
        self.centre = None
        if dual > self.dual:
            self.dual, self.best, self.centre = dual, None, scale
        elif self.best is None:
            self.best = self.before
        self.before = scale * beta
        self.gap = max(relative_gap(self.primal - self.dual, self.dual), 0.0)
        self.measure()
        self.passes += 1.0

    def _pull(self, beta: np.ndarray) -> np.ndarray:
        """Return X'beta (width,), without an entry of a bias that is free."""
        v = self.products.pull(beta)
        if self.problem.is_free:
            v[-1] = 0.0
        return v

    def measure(self) -> None:
        """Set the violations of the optimality conditions."""
        w = self._weights(np.arange(self.problem.design.d))
        self.violation = np.empty(w.size)
        self.worst = columns.violations(self._pulls(self.v), w, self.l1, self.l2, self.violation)

    def weigh(self) -> float:
        """Set beta and the curvatures at h; return the sum of the losses."""
        points, h = self.problem.points, self.h
        return sum_derivatives(*points, h, self.share, self.beta, self.curvature, 0, h.size)[0]

    def _pulls(self, v: np.ndarray) -> np.ndarray:
        """Return v (width,) for a column of ones in place of that of the bias."""
        v = v.copy()
        if v.size > self.problem.design.d:
            v[-1] = self.beta.sum()
        return v

    def _weights(self, chosen: np.ndarray) -> np.ndarray:
        """Return the weights of the chosen columns, followed by the intercept where there is one."""
        d = self.problem.design
        return np.append(self.w[chosen], d.bias * self.w[-1]) if d.width > d.d else self.w[chosen]

    @property
    def is_crowded(self) -> bool:
        """Whether more columns violate the conditions than the last working set had room for; if not, a pass for the
        norms of all columns does not pay.
        """
        return 0 < self.size < np.count_nonzero(self.violation)

    def leave_out(self) -> None:
        """Leave out columns that the gap proves to have weight 0."""
        if self.centre is not None:
            self._leave_out(self.centre)

    def _leave_out(self, scale: float) -> None:
        """Leave out columns with |x_j'beta| < l1 for all dual points beta that the gap allows (Ndiaye et al. 2017)."""
        radius = np.sqrt(2.0 * max(self.primal - self.dual, 0.0) / self.ridge)
        d = self.problem.design.d
        if is_narrow(self.problem.design, self.flat):  # all of its columns are in each working set
            return
        self.out = np.abs(scale * self.v[:d]) + radius * self.norms < self.penalty.l1 * (1.0 - 1e-9)

    def choose(self) -> np.ndarray:
        """Return the columns of the next working set: those of non-zero weights, and those that violate most."""
        d = self.problem.design.d
        if is_narrow(self.problem.design, self.flat):
            return np.arange(d)
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
        if self.taken is not None and self.taken[0].size <= 2 * chosen.size and np.isin(chosen, self.taken[0]).all():
            chosen = self.taken[0]
        else:
            self.taken = chosen, self._take(chosen)
            self.passes += 1.0
        part, penalty = self.taken[1], self._penalty_of(chosen)
        tighter = part.tighten(self.goal / self.gap if self.gap > 0.0 else 1.0)
        goal, steps, idle, value = tighter * self.worst, 0, 0, np.inf
        w = self._weights(chosen)
        while steps < STEPS and not self.over():
            before, value = value, self.loss + penalty.value(w)
            idle = 0 if before - value > NOTHING * value else idle + 1
            pulls = self._find_pulls(part)
            worst = penalty.violation(pulls, w)
            least = NOTHING * float(np.abs(pulls).max(initial=0.0))
            if worst <= max(goal, least) or idle > IDLE:
                break
            model = Model(self.curvature, self.beta, pulls, w.copy(), penalty)
            moved = self._step(part, w, model, max(tighter * worst, 0.3 * goal, least))
            steps += 1
            self.passes += 4.0 * w.size / self.w.size
            if not moved:
                break
        self.w[chosen] = w[: chosen.size]
        if w.size > chosen.size:
            self.w[-1] = w[-1] / self.problem.design.bias
        return max(steps, 1)

    def _penalty_of(self, chosen: np.ndarray) -> Any:
        """Return the penalty of the chosen columns, and of the intercept where there is one."""
        at = np.append(chosen, self.w.size - 1) if self.w.size > self.problem.design.d else chosen
        return Separate(self.l1[at], self.l2[at])

    def _find_pulls(self, part: Any) -> np.ndarray:
        """Return the slopes X'beta (k,) of a working set; of all columns they are v, too."""
        if not part.is_whole or self.problem.is_free:
            return part.pulls(self.beta)
        if self.known is None:
            self.known = self._pull(self.beta)
        return self._pulls(self.known)

    def _take(self, chosen: np.ndarray) -> Any:
        """Return the columns `chosen` in the form in which a model of them is minimised fastest."""
        design = self.problem.design
        rows = Rows.take(design, chosen, self.flat, self.products)
        if rows is not None:
            return rows
        before, part = self.taken if self.taken is not None and not isinstance(design.rows, CSR) else (None, None)
        return self.form(columns.take_columns(design, chosen, before, part and part.A), design.m)

    def _step(self, part: Any, w: np.ndarray, model: Model, goal: float) -> bool:
        """Minimise the model at w (k,) and step toward its minimum, in place; return whether that lowers P."""
        self.passes += part.minimise(model, goal, self.over) * w.size / self.w.size
        self.known = None
        return self._go(w, model, part.change(model.z - w))

    def _go(self, w: np.ndarray, model: Model, change: np.ndarray) -> bool:
        """Step from w (k,), in place, toward the model's z, where h changes by `change`; return whether P decreases."""
        step, (l1, l2), old, before = model.z - w, model.penalty, self.h, self.share
        if self._go_whole(model, w, step, change):
            w[:] = model.z
            return True
        self.h, self.share = old, min(before / EASIER, 1.0)  # and less after one that is cut short
        t = columns.line_search(*self.problem.points, old, change, w, step, l1, l2)
        if t == 1.0:
            w[:] = model.z
        else:
            w += t * step
        self.h = old + t * change
        self.loss = self.weigh()
        return t > 0.0 or self.share > before

    def _go_whole(self, model: Model, w: np.ndarray, step: np.ndarray, change: np.ndarray) -> bool:
        """Step from w (k,) to the model's z = w + step, and move the decision values by `change`; return whether P
        decreases enough. If not, h, beta and the curvatures are to be set again.
        """
        (l1, l2), before = model.penalty, self.loss
        with np.errstate(over="ignore", invalid="ignore"):  # a step along columns without a curvature may be huge
            at_zero = np.where(w == 0.0, np.abs(step), np.sign(w) * step)
            first = float(l1 @ at_zero + (l2 * w) @ step - self.beta @ change)
            if not first < 0.0:
                return False
            self.h, self.share = self.h + change, max(self.share * EASIER, LEAST)
            self.loss = self.weigh()  # trust the curvatures more after a whole step
            at_one = float(l1 @ (np.sign(model.z) * step) + (l2 * model.z) @ step - self.beta @ change)
            fall = float(l1 @ (np.abs(model.z) - np.abs(w))) + 0.5 * float((l2 * step) @ (model.z + w))
            return at_one <= columns.FLAT * -first or self.loss - before + fall <= columns.FLAT * first
