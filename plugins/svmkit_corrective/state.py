"""State of a fully corrective solve: all points as of the last survey, and SMO's state over the working set."""

from __future__ import annotations

import numpy as np

from svmkit.problems.box import BoxQP
from svmkit.problems.certificate import Certificate
from svmkit.problems.simplex import SimplexQP
from svmkit.problems.tube import TubeQP
from svmkit.solver.smo import box as smo_box
from svmkit.solver.smo.box import Box
from svmkit_corrective.face import Face, Phase
from svmkit_corrective.working_set.growth import WorkingSet

ENDLESS = 1e300  # weight of the origin, which has no bounds and counts for nothing: this stays what it is
WORK = 300_000_000  # kernel values that one step may compute: a fraction of a second
LAST = 800_000_000  # kernel values at most that the last step may compute, which are those of a certificate


class CorrectiveState:
    """The iterate of a fully corrective solve.

    Parameters
    ----------
    problem : BoxQP, TubeQP or SimplexQP
        The problem to solve.
    face : Face
        The same problem as the driver takes it.
    point : ndarray of shape (m,)
        A feasible point to start from; the state owns the array and changes it.
    rng : numpy.random.Generator
        Draws the points of the first working set.

    Attributes
    ----------
    phase : Phase
        What the next step does.
    box : Box
        SMO's state over all m points. `box.beta` is the iterate at the last survey, or at the end of the last working
        set that was solved. `box.v` is sign times gradient; it belongs to `box.beta` in phase GROWING only.
    working : WorkingSet
        The working set.
    inner : Box or None
        SMO's state over the working set in phase SOLVING, otherwise None. Where the face has a tilt, the origin of the
        feature space is its last entry.
    i, k : int
        Maximal violating pair of the working set, as slots; -1 where a point does not exist.
    level : float
        Estimate of the value that v has at all points between their bounds at the optimum. A point on the wrong side
        of it violates its optimality condition.
    value, gap : float
        Objective of the problem, and absolute gap of all points at the last survey.
    inner_goal : float
        Gap within the working set at which it counts as solved.
    changed, change : ndarray of shape (q,)
        Points whose weights have changed since v was last up to date, and the changes.
    done : int
        Number of these changes whose effect on v is in `ahead` already.
    ahead : ndarray of shape (m,)
        Effect of the first `done` changes on v, not yet added to v.
    n_iter : int
        SMO steps so far.
    imprecise : bool
        Whether the precision of the working set's matrix limits progress.
    complete : bool
        Whether at the last growth no point outside the set violated its condition.
    goal : float
        The relative gap that is asked for; 0.0 if that is not known.
    relative, before : float
        The relative gaps of all points at the last survey and at the one before.
    """

    def __init__(
        self, problem: BoxQP | TubeQP | SimplexQP, face: Face, point: np.ndarray, rng: np.random.Generator
    ) -> None:
        self.problem, self.face, self.rng = problem, face, rng
        m = problem.m
        self.box = Box(
            face.sign, face.upper, problem.ridge, problem.diag, point, face.sign * face.origin, np.empty(m, np.uint8)
        )
        self.working = WorkingSet(problem.gram, face.signs, face.bias, face.tilt is not None)
        self.inner: Box | None = None
        self.phase = Phase.START
        self.n_iter = 0
        self.level = self.value = self.gap = self.inner_goal = 0.0
        self.i = self.k = -1
        self.changed, self.change, self.done = np.flatnonzero(point), point[point != 0.0], 0
        self.ahead = np.zeros(m)
        self.complete = self.imprecise = False
        self.goal, self.relative, self.before = 0.0, 1.0, 1.0

    # the iterate

    @property
    def point(self) -> np.ndarray:
        """Weights of all points, a new array of shape (m,)."""
        point = self.box.beta.copy()
        if self.inner is not None:
            point[self.working.idx] = self.among(self.inner).beta
        return point

    @property
    def n_support(self) -> int:
        """Number of weights that are not 0."""
        count = int(np.count_nonzero(self.box.beta))
        if self.inner is not None:
            inside = np.count_nonzero(self.among(self.inner).beta)
            count += int(inside) - int(np.count_nonzero(self.box.beta[self.working.idx]))
        return count

    def violation(self) -> float:
        """Return the violation of the optimality conditions by the maximal violating pair of all points."""
        box, slope = self.box, self.slope
        smo_box.take_sides(box, self.face.kink)
        i, k = smo_box.extremes(box.v, box.side, self.face.kink)
        low, high = self.slopes(box, i, k)
        if slope is not None:
            return max(slope - low, high - slope, 0.0) if k >= 0 else max(slope - low, 0.0)
        return max(high - low, 0.0) if min(i, k) >= 0 else 0.0

    def slopes(self, box: Box, i: int, k: int) -> tuple[float, float]:
        """Return v of points i and k, with the kink: that of i where its weight rises, that of k where it falls."""
        low, high = float(box.v[i]), float(box.v[k])
        if self.face.kink is None:
            return low, high
        kink = self.face.kink
        return low + (-kink if box.beta[i] < 0.0 else kink), high + (kink if box.beta[k] > 0.0 else -kink)

    @property
    def slope(self) -> float | None:
        """v of the origin of the feature space, -tilt (sign'beta), the bias times -1; None if the face has no tilt."""
        return None if self.face.tilt is None else -self.face.tilt * float(self.face.sign @ self.box.beta)

    def among(self, box: Box) -> Box:
        """Return the part of `inner` that belongs to the points of the working set."""
        return box if self.face.tilt is None else Box(*(values[:-1] for values in box))

    def middle(self, box: Box) -> float:
        """Return v of the origin, else the mean of v over the maximal violating pair; `level` if there is none."""
        if self.slope is not None:
            return float(box.v[-1]) + (self.face.kink or 0.0) if box is self.inner else self.slope
        i, k = (self.i, self.k) if box is self.inner else smo_box.extremes(box.v, box.side, self.face.kink)
        return 0.5 * sum(self.slopes(box, i, k)) if min(i, k) >= 0 else self.level

    # all points

    @property
    def behind(self) -> bool:
        """Whether v lacks the effect of changes of weights."""
        return len(self.changed) > 0

    def sync(self) -> None:
        """Compute the effect of the next changes of weights on v of all points; add it to v after the last of them.

        Before a survey that will probably end the solve, v is computed from scratch instead, as its certificate asks
        for: the Gram remembers that product.
        """
        if self.ends and not self.done:
            self.ahead[:] = self.v_of(self.gradient()) - self.box.v
            self.working.square.lossy = False
            self._settle()
            return
        n = max(1, WORK // self.problem.m)
        now = np.s_[self.done : self.done + n]
        self.ahead += self.face.sign * self.effect(self.change[now], self.changed[now])
        self.done = min(self.done + n, len(self.changed))
        if self.done == len(self.changed):
            self._settle()

    def effect(self, weights: np.ndarray, idx: np.ndarray) -> np.ndarray:
        """Return the change of the gradient (m,) when the points `idx` get additional weights, from what is stored."""
        sign, problem = self.face.sign, self.problem
        product = self.working.square.product(idx, sign[idx] * weights)
        if product is None:
            return problem.image(weights, idx, dtype=problem.gram.dtype)
        change = sign * product
        change[idx] += problem.ridge[idx] * weights
        return change

    def make_up(self) -> bool:
        """Compute v from scratch if stored values left something out of it, once in a solve; return whether they did.

        Later changes are small, and so is what they leave out.
        """
        square = self.working.square
        due, square.lossy = square.lossy, False
        if due:
            beta, at = self.box.beta, np.flatnonzero(self.box.beta)
            change = self.problem.image(beta[at], at, dtype=self.problem.gram.dtype)
            self.box.v[:] = self.face.sign * (self.face.origin + change)
        return due

    def _settle(self) -> None:
        """Add `ahead` to v and forget the changes.

        The working set's matrix is not exact. If the whole change goes clearly beyond the minimum along it, only the
        part up to the minimum is kept.
        """
        box, part = self.box, 1.0
        sign = self.face.sign[self.changed]
        slope = float(self.change @ (sign * box.v[self.changed]))
        curvature = float(self.change @ (sign * self.ahead[self.changed]))
        if self.face.tilt is not None:
            shift = float(sign @ self.change)
            slope += self.face.tilt * shift * (float(self.face.sign @ box.beta) - shift)
            curvature += self.face.tilt * shift * shift
        if self.face.kink is not None:  # along the change it is convex, so that this is at least what it adds
            weights = box.beta[self.changed]
            slope += self.face.kink * float(np.abs(weights).sum() - np.abs(weights - self.change).sum())
        if self.phase is not Phase.START and slope < 0.0 and 0.9 * curvature > -slope:
            part = -slope / curvature
            box.beta[self.changed] -= (1.0 - part) * self.change
            self.imprecise = True
        box.v[:] += part * self.ahead
        self.ahead[:] = 0.0
        self.changed, self.change, self.done = self.changed[:0], self.change[:0], 0

    def take(self, certificate: Certificate) -> None:
        """Take over the certificate's exact gradient; note whether rounding errors of v limit the solve."""
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
        return self.face.sign * gradient

    # the working set

    @property
    def labels(self) -> np.ndarray:
        """The labels of the points in `box`, of which the first working set gets both."""
        return self.problem.y

    def grow(self, first: int, growth: float) -> None:
        """Let points join and leave the working set, and begin to solve for the set.

        Parameters
        ----------
        first : int
            Number of points drawn for the first set, and the least number that may join later.
        growth : float
            Number of points that may join, as a multiple of the support vectors so far.
        """
        working, kink = self.working, self.face.kink
        if not len(working.idx):
            working.seed(self.labels, self.box.beta, first, self.rng)
        else:
            if self.imprecise or working.square.full:
                working.refine()
            violated = working.grow(self.box, self.level, max(first, int(growth * self.n_support)), kink)
            # the set stays the same a second time, unsolved: its matrix was not precise enough to solve for it
            self.imprecise = self.complete and not violated and self.gap > 2.0 * self.inner_goal
            self.complete = not violated
        inner = Box(*(values[working.idx] for values in self.box))
        if self.face.tilt is not None:
            tilt, v = self.face.tilt, self.slope - (kink or 0.0)  # with the kink of a weight > 0 it is the slope
            origin = (1.0, np.inf, tilt, tilt, ENDLESS, v, smo_box.side_of(1.0, ENDLESS, np.inf, kink))
            inner = Box(*(np.append(a, np.asarray(b, a.dtype)) for a, b in zip(inner, origin, strict=True)))
        self.inner = inner
        self.steps, self.rows = working.square.steps, working.square.rows
        self.i, self.k = smo_box.extremes(inner.v, inner.side, kink)
        self.phase = Phase.SOLVING

    def advance(self, most: int) -> tuple[int, float, bool]:
        """Make up to `most` SMO steps in the working set.

        Parameters
        ----------
        most : int
            Limit of the number of steps.

        Returns
        -------
        steps : int
            Number of steps made.
        change : float
            Change of the problem's objective.
        solved : bool
            Whether no further step is possible.
        """
        assert self.inner is not None
        given = self.inner, self.rows, self.i, self.k, True, most, 0.0
        done, self.i, self.k, fell, _ = self.steps(*given, self.face.kink)
        return done, fell * self.face.worth, done < most

    def leave(self) -> None:
        """Take over the working set's weights; v of all points lacks their effect until `sync` has added it."""
        assert self.inner is not None
        self.level = self.middle(self.inner)
        idx, inner = self.working.idx, self.among(self.inner)
        change = inner.beta - self.box.beta[idx]
        moved = np.flatnonzero(change)
        self.changed, self.change = idx[moved], change[moved]
        self.box.beta[idx] = inner.beta
        self.inner = None
        self.phase = Phase.SYNCING if self.behind else Phase.GROWING
