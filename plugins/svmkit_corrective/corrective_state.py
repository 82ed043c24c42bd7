"""State of a fully corrective solve: all points as of the last survey, and SMO's state over the working set."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from svmkit.problems.certificate import Certificate
from svmkit.solver.sampler import Draws
from svmkit.solver.smo import box as smo_box
from svmkit.solver.smo.box import LOW, OVER, UP, Box, L1Part
from svmkit.solver.smo.steps import take_steps
from svmkit_corrective.rounds import WORK, Phase, Rounds
from svmkit_corrective.working_set.growth import WorkingSet

ENDLESS = 1e300  # weight of the origin, which has no bounds and is not counted: no step changes it noticeably
WHOLE = 0.9  # a change is made as a whole if the objective falls along this share of it, or more
LAST = 800_000_000  # kernel values that the last step may compute, at most, which a certificate needs, too


class StandardForm(NamedTuple):
    """min 1/2 x'Qx + origin'x + sum kink_i |x_i| over lower <= x <= upper (m,), where sign'x is constant.

    If `bias_penalty` is not None, sign'x is free instead and the term bias_penalty (sign'x)^2 / 2 of a regularised bias
    joins the objective. SMO then has one more point, the origin of the feature space, which takes up the sum.
    """

    sign: np.ndarray  # coefficients of the equality constraint
    lower: np.ndarray
    upper: np.ndarray
    origin: np.ndarray  # the gradient at x = 0
    signs: np.ndarray | None  # sign_i sign_j Q_ij = signs_i signs_j (k_ij + bias) except for the ridge; None for 1
    bias: float
    worth: float  # the problem's own objective changes by this factor times the one above
    bias_penalty: float | None = None
    kinks: float | L1Part | None = None  # as in `svmkit.solver.smo.box`


class CorrectiveState(Rounds):
    """The iterate of a solve under one equality: of a DualQP with a free bias, unless a subclass differs.

    It begins at a feasible `point` (m,), an array that it owns and changes; the generator of `draws`, which a solve
    without a working set never creates, draws the first one. `box` is SMO's state over all m points: `box.beta` is the
    iterate at the last survey, or at the end of the last working set that was solved, and `box.v` belongs to it in
    phase GROWING only. `inner` is SMO's state over the working set in phase SOLVING, otherwise None; if the form has a
    bias penalty, the origin of the feature space is its last entry. `pairs` (1, 2) is its maximal violating pair, as
    slots; -1 if a point does not exist.
    """

    def __init__(self, problem: Any, form: StandardForm, point: np.ndarray, draws: Draws) -> None:
        self.problem, self.form, self.draws = problem, form, draws
        m = problem.m
        given = form.sign, form.lower, form.upper, problem.ridge, problem.diag
        self.box = Box(*given, point, form.sign * form.origin, np.empty(m, np.uint8))
        self.working = WorkingSet(problem.gram, form.signs, form.bias, form.bias_penalty is not None)
        self.inner: Any = None
        self.inner_l1: float | L1Part | None = None
        self.pairs = np.full((1, 2), -1)
        # points whose weights have changed since v was last up to date, the changes, and how many of them are in
        # `ahead`
        self.changed, self.change, self.done = np.flatnonzero(point), point[point != 0.0], 0
        self.ahead = np.zeros(m)  # their effect on v, not yet added to v
        self.complete = False  # whether at the last growth no point outside the set violated its condition
        self.whole = WHOLE  # or another share, while all weights move
        self.imprecise = False  # whether the precision of the working set's matrix limits progress

    # the iterate

    @property
    def point(self) -> np.ndarray:
        point = self.box.beta.copy()
        if self.inner is not None:
            point[self.working.idx] = self.among(self.inner).beta
        return point

    @property
    def n_support(self) -> int:
        count = int(np.count_nonzero(self.box.beta))
        if self.inner is not None:
            inside = np.count_nonzero(self.among(self.inner).beta)
            count += int(inside) - int(np.count_nonzero(self.box.beta[self.working.idx]))
        return count

    def violation(self) -> float:
        box, slope = self.box, self.slope
        smo_box.take_sides(box, self.form.kinks)
        i, k = smo_box.extremes(box.v, box.side, self.form.kinks)
        low, high = smo_box.slopes(box, i, k, self.form.kinks)
        if slope is not None:
            return max(slope - low, high - slope, 0.0) if k >= 0 else max(slope - low, 0.0)
        return max(high - low, 0.0) if min(i, k) >= 0 else 0.0

    def find_level(self) -> float:
        # the level of the last working set: LIBSVM's rho
        return self.middle(self.box) if self.phase is Phase.START else self.level

    def objective(self) -> float:
        return self.problem.value(self.box.beta, self.box.y * self.box.v)

    def total_gap(self) -> float:
        bias = self.problem.best_bias(self.box.v, self.box.beta)
        return smo_box.gap(self.box, self.problem.is_ridged, bias, self.form.kinks)

    def inner_gap(self) -> float:
        return smo_box.gap(self.inner, self.problem.is_ridged, -self.middle(self.inner), self.inner_l1)

    @property
    def slope(self) -> float | None:
        """v of the origin of the feature space, the bias times -1; None if no bias is penalised."""
        penalty = self.form.bias_penalty
        return None if penalty is None else -penalty * float(self.form.sign @ self.box.beta)

    def among(self, box: Box) -> Box:
        """Return the part of `inner` that belongs to the points of the working set."""
        return box if self.form.bias_penalty is None else Box(*(values[:-1] for values in box))

    def middle(self, box: Box) -> float:
        """Return v of the origin, else the mean of v over the maximal violating pair; `level` if there is none."""
        kinks = self.inner_l1 if box is self.inner else self.form.kinks
        if self.slope is not None:
            return smo_box.slopes(box, -1, -1, kinks)[0] if box is self.inner else self.slope
        i, k = self.pairs[0].tolist() if box is self.inner else smo_box.extremes(box.v, box.side, kinks)
        return 0.5 * sum(smo_box.slopes(box, i, k, kinks)) if min(i, k) >= 0 else self.level

    # all points

    @property
    def behind(self) -> bool:
        return len(self.changed) > 0

    def sync(self) -> None:
        """Compute the effect of the next changes of weights on v of all points; add it to v after the last of them.

        Before a survey that will probably end the solve, v is computed from scratch instead, as its certificate
        requires: the Gram remembers that product.
        """
        if self.ends and not self.done:
            self.ahead[:] = self.v_of(self.gradient()) - self.box.v
            self.working.square.lossy = False
            self._settle()
            return
        n = max(1, WORK // self.problem.m)
        now = np.s_[self.done : self.done + n]
        self.ahead += self.form.sign * self.effect(self.change[now], self.changed[now])
        self.done = min(self.done + n, len(self.changed))
        if self.done == len(self.changed):
            if isinstance(self.form.kinks, L1Part):  # a ridge changes where a weight crosses 0
                counted = self.problem.ridge_terms(self.change, self.changed)
                self.ahead[self.changed] += self._ridge_change(1.0) - counted
            self._settle()

    def effect(self, weights: np.ndarray, idx: np.ndarray) -> np.ndarray:
        """Return the change of the gradient (m,) when the points `idx` get additional weights, from stored values."""
        sign, problem = self.form.sign, self.problem
        product = self.working.square.product(idx, sign[idx] * weights)
        if product is None:
            return problem.image(weights, idx, dtype=problem.gram.dtype)
        change = sign * product
        change[idx] += problem.ridge[idx] * weights
        return change

    def make_up(self) -> bool:
        square = self.working.square
        due, square.lossy = square.lossy, False
        if due:
            beta, at = self.box.beta, np.flatnonzero(self.box.beta)
            change = self.problem.image(beta[at], at, dtype=self.problem.gram.dtype)
            self.box.v[:] = self.form.sign * (self.form.origin + change)
        return due

    def _settle(self) -> None:
        """Add `ahead` to v and forget the changes.

        The working set's matrix is not exact. If the minimum along the change is clearly before its end, only the part
        up to the minimum is kept.
        """
        box, part = self.box, 1.0
        sign = self.form.sign[self.changed]
        slope = float(self.change @ (sign * box.v[self.changed]))
        curvature = float(self.change @ (sign * self.ahead[self.changed]))
        if self.form.bias_penalty is not None:
            shift = float(sign @ self.change)
            slope += self.form.bias_penalty * shift * (float(self.form.sign @ box.beta) - shift)
            curvature += self.form.bias_penalty * shift * shift
        kinks = self.form.kinks
        if kinks is not None:  # it is convex along the change, so this is at least the kinks' part
            weights = box.beta[self.changed]
            after, before = np.abs(weights), np.abs(weights - self.change)
            if isinstance(kinks, L1Part):
                slope += float(kinks.width[self.changed] @ (after - before))
            else:
                slope += kinks * float(after.sum() - before.sum())
        if self.phase is not Phase.START and slope < 0.0 and self.whole * curvature > -slope:
            part = -slope / curvature
            if isinstance(kinks, L1Part):
                box.v[self.changed] += self._ridge_change(part) - part * self._ridge_change(1.0)
            box.beta[self.changed] -= (1.0 - part) * self.change
            self.imprecise = self.whole == WHOLE
        box.v[:] += part * self.ahead
        self.ahead[:] = 0.0
        self.changed, self.change, self.done = self.changed[:0], self.change[:0], 0

    def _ridge_change(self, part: float) -> np.ndarray:
        """Return the change of the ridge terms of v at the changed points if only `part` of the change is made."""
        before = self.box.beta[self.changed] - self.change
        after, terms = before + part * self.change, self.problem.ridge_terms
        return terms(after, self.changed) - terms(before, self.changed)

    def take(self, certificate: Certificate) -> None:
        assert certificate.gradient is not None
        exact = self.v_of(certificate.gradient)
        drift = np.abs(self.box.v - exact).max()
        self.box.v[:] = exact
        self.working.square.lossy = False
        self.imprecise = drift > 0.1 * self.violation() and self.working.square.limits(drift)

    @property
    def ends(self) -> bool:
        """Whether the next survey will probably end the solve, if the gap falls by the factor by which it fell."""
        fall = min(1.0, self.relative / self.before) if self.before > 0.0 else 1.0
        soon = self.relative * fall <= self.goal
        return soon and self.problem.m * int(np.count_nonzero(self.box.beta)) <= LAST

    def gradient(self) -> np.ndarray:
        """Return the problem's own gradient (m,) at the iterate, from scratch in float64."""
        return self.problem.gradient(self.box.beta)

    def v_of(self, gradient: np.ndarray) -> np.ndarray:
        """Return v (m,) from the problem's own gradient at the iterate."""
        return self.form.sign * gradient

    # the working set

    @property
    def size(self) -> int:
        return len(self.inner.v)

    @property
    def labels(self) -> np.ndarray:
        """The labels of the points in `box`; the first working set gets points with both."""
        return self.problem.y

    def grow(self, first: int, growth: float) -> None:
        working, kinks = self.working, self.form.kinks
        if not len(working.idx):
            working.seed(self.labels, self.box.beta, first, self.draws.rng)
        else:
            if self.imprecise or working.square.full:
                working.refine()
            violated = working.grow(self.box, self.level, max(first, int(growth * self.n_support)), kinks)
            # the set stays the same a second time, unsolved: its matrix was too imprecise to solve for it
            self.imprecise = self.complete and not violated and self.gap > 2.0 * self.inner_goal
            self.complete = not violated
        inner = Box(*(values[working.idx] for values in self.box))
        self.inner_l1 = smo_box.l1_among(kinks, working.idx)
        if self.form.bias_penalty is not None:
            # its weight is above 0, and with the kink of such a weight v is the slope
            penalty, side = self.form.bias_penalty, UP | LOW | (OVER if kinks is not None else 0)
            v = self.slope - (kinks if isinstance(kinks, float) else 0.0)
            inner = Box(*_append(inner, (1.0, 0.0, np.inf, penalty, penalty, ENDLESS, v, side)))
            if isinstance(self.inner_l1, L1Part):
                self.inner_l1 = L1Part(*_append(self.inner_l1, (0.0, penalty)))
        self.inner = inner
        self.rows = working.square.rows
        self.pairs[0] = smo_box.extremes(inner.v, inner.side, self.inner_l1)
        self.phase = Phase.SOLVING

    def advance(self, most: int) -> tuple[int, float, bool]:
        done, fell, _ = take_steps((self.inner,), self.rows, self.pairs, True, most, 0.0, self.inner_l1, 0.0)
        return done, fell * self.form.worth, done < most

    def leave(self) -> None:
        self.level = self.middle(self.inner)
        idx, inner = self.working.idx, self.among(self.inner)
        change = inner.beta - self.box.beta[idx]
        moved = np.flatnonzero(change)
        self.changed, self.change = idx[moved], change[moved]
        self.box.beta[idx] = inner.beta
        self.inner = None
        self.phase = Phase.SYNCING if self.behind else Phase.GROWING


def _append(arrays: tuple[np.ndarray, ...], values: tuple[float, ...]) -> list[np.ndarray]:
    """Return the arrays (n,) with one more value each."""
    return [np.append(a, np.asarray(b, a.dtype)) for a, b in zip(arrays, values, strict=True)]
