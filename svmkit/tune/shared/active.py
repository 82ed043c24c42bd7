"""Solves of problems that differ in C, on some rows of a matrix of kernel values that are all at hand.

A solve is a sequence of rounds. Each gathers the kernel values among the samples whose weights may move into a square
that the processor's cache holds, and takes steps of SMO on it, with Newton's steps on the weights between their bounds
where SMO would need many; then the decision values of all rows follow. Each C begins at the best of some points: the
last solution, which stays optimal once no weight is at C, and the last solution times C over the last C, which stays
optimal as long as the solution is linear in C. So both ends of a path cost no step at all. The weights of equal rows of
opposite labels stay at C for ever: a third point raises them alike, which changes no decision value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from svmkit.kernels.extent import fits_float32_rows
from svmkit.kernels.loops.row_table import RowTable
from svmkit.problems.certificate import Certificate
from svmkit.problems.dual import DualQP
from svmkit.solver.smo.box import Box, extremes, gap, l1_among, l1_part, slopes, take_sides
from svmkit.tune.shared import leaps, loops
from svmkit.tune.shared.bordered import absorb, empty_factor
from svmkit.tune.shared.matrix import PartGram, SharedMatrix

MARGIN = 0.3  # half the largest violation, by which the slope of a sample may be off that takes part without violating
SHARE = 0.9  # of the gap that is asked for, down to which the samples of a round are solved
NEWTON = 400  # steps of SMO cost as much as a step of Newton with this root of their number of samples
MOST_NEWTON = 20  # steps of Newton in a round
ROUNDS, TRIES = 1000, 4  # of a solve, and certificates that are asked for a smaller gap each
LEAST = 1e-10  # part of the least k(x, x), below which a value is none of float32's digits beside it
JITTER = 3e-6  # part of the largest value that is added to a diagonal before it is factorised in float32
LEAPS, LEAP_STEPS = 6, 12  # of a solve, and steps of a leap, at most
LEAP = 300  # weights between their bounds, from which on leaps are taken
LONG = 5  # steps of SMO for each of these, which take as long as a leap: after a fit of more, leaps are taken
HARD, SHORT = 1, 1000  # steps of SMO a sample, and at all, from which on a rough gap is enough where one is given
OFF = 0.5  # of the gap that is asked for: what violations of the samples at their bounds may add up to after a leap
NEAR = 0.3  # of a margin of 1: how far from leaving its bound a sample is at which a leap looks
AGAIN = 0.5  # of the weights that are not 0 have moved: decision values are computed anew instead of changed
IDLE, SPARE = 1.5, 5  # samples of a square for each that may move, at most, and one in so many for which there is room
SLICE = 20_000_000  # samples times steps between two looks at whether the search goes on


class Solved(NamedTuple):
    """The solution of a problem: a point (n,) of the problem, h (m,) without the bias, its certificate, the steps."""

    point: np.ndarray
    h: np.ndarray
    certificate: Certificate
    steps: int


class _Iterate(NamedTuple):
    """A point (n,), h (m,) without the bias there, and how far its rounding errors may have come.

    An entry of h is off by at most `depth` times the unit roundoff times the sum of the weights and of the values of
    the kernel, as a sum is whose terms take part in `depth` additions each.
    """

    point: np.ndarray
    h: np.ndarray
    depth: float


class Stopped(Exception):
    """The search has ended."""


class Square:
    """Kernel values among some of the rows `at` (n,) of a matrix, float32 if they can be, which change a few at a time.

    `values` (size, size) has them; `size` is at least the number of samples, and `most` at most.
    """

    def __init__(self, shared: SharedMatrix, at: np.ndarray, most: int) -> None:
        self.shared, self.at, self.most = shared, at, most
        self.values = np.empty((0, 0), np.float32 if fits_float32_rows(shared.largest) else np.float64)
        self.members, self._least = np.empty(0, np.int64), LEAST * float(np.abs(shared.diag).min())
        self._is_member = np.zeros(len(at), np.bool_)

    def bring(self, wanted: np.ndarray) -> np.ndarray:
        """Return the samples whose kernel values the square has now, at most `most`: those that are wanted, and others.

        Where the others are many they are given up. The order is that of the rows and columns of `values`.
        """
        new = wanted[~self._is_member[wanted]]
        n = len(self.members) + len(new)
        if n > min(len(self.values), IDLE * len(wanted)):
            if len(self.values) < len(wanted) or len(self.values) > IDLE * len(wanted):
                side = min(self.most, len(wanted) + len(wanted) // SPARE)
                self.values = np.empty((side, side), self.values.dtype)
            self._is_member[self.members] = False
            self.members, new = np.empty(0, np.int64), np.sort(wanted)
        first = len(self.members)
        self.members = np.concatenate([self.members, new])
        self._is_member[new] = True
        loops.gather(self.shared.K, self.at[self.members], first, self._least, self.values)
        return self.members


class ActiveSets:
    """Solves problems on rows `at` (n,) of a matrix, one for each C, ascending.

    Parameters
    ----------
    shared, at : SharedMatrix, ndarray of int
        The kernel values, and the rows that take part.
    most : int
        The samples of a round, at most.
    stopped : callable
        Says whether the search has ended; `Stopped` is raised then.
    kept : float, default inf
        The bytes of kernel values and of a factor that may be kept between solves.
    """

    def __init__(
        self, shared: SharedMatrix, at: np.ndarray, most: int, stopped: Callable[[], bool], kept: float = np.inf
    ) -> None:
        self.kept = kept
        self.shared, self.at, self.most, self.stopped = shared, at, min(most, len(at)), stopped
        self.gram: PartGram = shared.gram(at)
        n = len(at)
        self._picked, self._slack, self._side = np.empty(n, np.int64), np.empty(n), np.empty(n, np.uint8)
        self._unused = np.zeros(n, np.int64), np.zeros(n, np.bool_), np.zeros(1, np.int64), np.zeros(1)
        self._forget()
        self._base: tuple[_Iterate, float] | None = None  # the last one that steps have led to, and its C
        self._solutions: list[tuple[np.ndarray, np.ndarray, float]] = []  # the last two: weights, slopes, C
        self._has_twins: bool | None = None  # whether there are equal rows of opposite labels
        self._leaps = False  # whether a leap is likely to take less time than steps of SMO

    def _forget(self) -> None:
        self._square = Square(self.shared, self.at, self.most)
        self._factor = empty_factor(len(self.at), self._square.values.dtype)

    def begin(self, problem: DualQP, point: np.ndarray, C: float) -> None:
        """Let the next solve begin at a point, unless it lies outside the bounds.

        Parameters
        ----------
        problem, point, C : DualQP, ndarray of shape (n,), float
            The problem, the point, and the C that the problem is posed for.
        """
        self._solutions, self._leaps = [], True
        is_feasible = not ((point > problem.upper).any() or (point < problem.lower).any())
        self._base = (self._from_scratch(problem, point), C) if is_feasible else None

    def solve(self, problem: DualQP, C: float, target: float, patience: float, rough: float | None = None) -> Solved:
        """Solve a problem of these rows to a certified relative gap.

        Parameters
        ----------
        problem, C : DualQP, float
            The problem and the C that it was posed for, above those of all problems before.
        target, patience : float
            The gap that is asked for, and the most steps.
        rough : float, default=None
            A gap that is enough where the one that is asked for takes more steps than `HARD` a sample.
        """
        now = self._start(problem, C)
        if self._base is None:
            self._base = now, C
        goal, steps, spent, began = target, 0, 0.0, now
        most, enough = (patience, target) if rough is None else (min(patience, max(HARD * len(self.at), SHORT)), target)
        for _ in range(TRIES):
            now, taken, cost = self._descend(problem, C, now, goal, most - spent, most < patience)
            steps, spent = steps + taken, spent + cost
            if now.depth > len(self.at):  # which is what a certificate allows for
                now = self._from_scratch(problem, now.point)
            certificate = problem.certify(now.point, now.h[self.at])
            is_hard = most < patience and spent >= most
            if is_hard and rough is not None:
                goal, enough, most = 2.0 * rough, rough, patience
            if certificate.gap is None or certificate.gap <= enough or certificate.is_exhausted or spent >= patience:
                break
            goal *= 0.5
        if now is not began:  # what is scaled from a solution is off by one rounding, however often
            self._base = now, C
        if self._square.values.nbytes + sum(array.nbytes for array in self._factor) > self.kept:
            self._forget()
        n_free = np.count_nonzero((now.point > problem.lower) & (now.point < problem.upper))
        self._leaps = self._leaps or bool(n_free >= LEAP and steps > LONG * n_free)
        self._remember(problem, now, C, (certificate.bias or 0.0) - problem.centre)
        return Solved(now.point, now.h, certificate, steps)

    def _remember(self, problem: DualQP, now: _Iterate, C: float, bias: float) -> None:
        """Keep a solution for `_ahead`, beside the last one of another C."""
        slopes = now.h[self.at] + problem.signs * problem.origin + bias
        earlier = [one for one in self._solutions if one[2] < C]
        self._solutions = [*earlier[-1:], (problem.signs * now.point, slopes, C)]

    def _from_scratch(self, problem: DualQP, point: np.ndarray) -> _Iterate:
        """Return a point with its h (m,) from scratch, in float64."""
        idx, h = np.flatnonzero(point), np.zeros(self.shared.m)
        loops.add_rows(self.shared.K, self.at[idx], point[idx] * problem.signs[idx], h)
        return _Iterate(point, h, _depth(len(idx)))

    def _apply(self, now: _Iterate, change: np.ndarray, problem: DualQP) -> _Iterate:
        """Return where a change (n,) of a point leads to, within the bounds."""
        point = np.clip(now.point + change, problem.lower, problem.upper)
        idx, h = np.flatnonzero(change), now.h.copy()
        loops.add_rows(self.shared.K, self.at[idx], change[idx] * problem.signs[idx], h)
        return _Iterate(point, h, _deeper(now, point, change, len(idx)))

    def _start(self, problem: DualQP, C: float) -> _Iterate:
        """Return the best of some points."""
        if self._base is None:
            return self._vertex(problem) or _Iterate(problem.first_point(), np.zeros(self.shared.m), 0.0)
        (point, h, depth), before = self._base
        ratios = C / before, 1.0
        points = [_Iterate(_scale_within(point, ratio, problem), h * ratio, depth + 2.0) for ratio in ratios]
        scaled = points[0].point
        is_bound = scaled == problem.upper
        is_many = np.count_nonzero((scaled > problem.lower) & ~is_bound) >= LEAP and is_bound.any()
        rise = self._rise_of_twins(problem, 1.0 - before / C)
        if rise is not None:
            twins = self._apply(points[1], rise, problem)
            twins = twins._replace(point=_snap(twins.point, problem))
            if not is_many or not (is_bound & (rise == 0.0)).any():
                points.append(twins)
        if is_many:
            del points[1]  # otherwise the same weights are between their bounds
        if len(points) == 1:
            return points[0]
        values = [problem.value(one.point, problem.gradient_from(one.h[self.at], one.point)) for one in points]
        return points[int(np.argmin(values))]

    def _rise_of_twins(self, problem: DualQP, share: float) -> np.ndarray | None:
        """Return a change (n,) of the weights of equal rows of opposite labels that leaves w as it is, or None.

        Those of the label with the lower bounds rise by a share of these, and those of the other one by as much
        together. Where the bounds have risen by this share, and no other weight is at its bound, the last solution
        with this change is the next one.
        """
        upper, is_up, group = problem.upper, problem.signs > 0.0, self.shared.group[self.at]
        if self._has_twins is None:
            self._has_twins = bool(np.isin(group[is_up], group[~is_up]).any())
        if not self._has_twins or problem.is_ridged or problem.lower.any() or not np.isfinite(upper).all():
            return None
        ups, downs = (np.bincount(group, upper * side, self.shared.m)[group] for side in (is_up, ~is_up))
        least = np.minimum(ups, downs)
        return share * upper * least / np.where(is_up, ups, downs) if least.any() else None

    def _vertex(self, problem: DualQP) -> _Iterate | None:
        """Return the vertex of the box that the solution tends to as C falls; None where it is no better than 0.

        All weights of the smaller class are at their bounds then, and those of the others that are farthest behind.
        """
        upper, signs = problem.upper, problem.signs
        if not np.isfinite(upper).all() or problem.lower.any() or not (signs < 0.0).any():
            return None
        sums = float(upper[signs > 0.0].sum()), float(upper[signs < 0.0].sum())
        larger = signs > 0.0 if sums[0] > sums[1] else signs < 0.0
        point = np.where(larger, upper * (min(sums) / max(sums)), upper)
        h = self._from_scratch(problem, point).h
        if problem.value(point, problem.gradient_from(h[self.at], point)) >= 0.0:
            return None
        order = np.flatnonzero(larger)[np.argsort((signs * h[self.at])[larger], kind="stable")]
        filled = np.cumsum(upper[order])
        point[order] = np.clip(min(sums) - (filled - upper[order]), 0.0, upper[order])
        return self._from_scratch(problem, point)

    def _descend(
        self, problem: DualQP, C: float, now: _Iterate, target: float, most: float, is_trial: bool
    ) -> tuple[_Iterate, int, float]:
        """Lower the objective until the relative gap is at most `target`, or for `most` steps.

        Returns where that is, the steps, and how many the time that leaps take stands for with these.
        """
        kinks, steps, spent = l1_part(problem), 0, 0.0
        can_leap = (
            self._leaps
            and not is_trial
            and kinks is None
            and not problem.is_ridged
            and np.isfinite(problem.upper).all()
        )
        leaps_left = LEAPS if can_leap else 0
        for _ in range(ROUNDS):
            point, h, _ = now
            gradient = problem.gradient_from(h[self.at], point)
            given = problem.signs, problem.lower, problem.upper, problem.ridge, problem.diag
            box = Box(*given, point, problem.signs * gradient, self._side)
            take_sides(box, kinks)
            i, k = extremes(box.v, box.side, kinks)
            if i < 0 or k < 0:
                break
            low, high = slopes(box, i, k, kinks)
            bias, value = -0.5 * (low + high), problem.value(point, gradient)
            difference = gap(box, problem.is_ridged, bias, kinks)
            size = max(abs(value), abs(difference - value))
            if not high > low or difference <= target * size or spent >= most:
                break
            if self.stopped():
                raise Stopped
            n_free = np.count_nonzero((box.beta > box.lower) & (box.beta < box.upper)) if leaps_left else 0
            if LEAP <= n_free <= self.most:
                leaps_left -= 1
                spent += LONG * n_free
                after = self._leap(C, now, box, target * size, leaps_left == LEAPS - 1)
                if after is not None:
                    now = after
                    continue
                leaps_left = 0
            picked = self._pick(box, bias, MARGIN * 0.5 * (high - low), kinks)
            taken, moved = self._round(box, picked, problem.is_ridged, SHARE * target * size, most - spent, kinks)
            steps, spent = steps + taken, spent + taken
            idx = np.flatnonzero(moved)
            if not len(idx):
                break
            change = np.zeros(len(point))
            change[picked[idx]] = moved[idx]
            now = self._apply(now, change, problem)
            if len(idx) > AGAIN * np.count_nonzero(now.point):
                now = self._from_scratch(problem, now.point)
        return now, steps, spent

    def _leap(self, C: float, now: _Iterate, box: Box, goal: float, is_first: bool) -> _Iterate | None:
        """Take Newton's steps that change many bounds at a time; return where they lead to, None if that is not down.

        Parameters
        ----------
        C, now, box, goal, is_first : float, _Iterate, Box, float, bool
            The C, where the steps begin, twice, the gap that is asked for, and whether no steps were taken before.
        """
        is_free = (box.beta > box.lower) & (box.beta < box.upper)
        weights, slopes = box.y * box.beta, box.v - float(np.median(box.v[is_free]))
        if is_first and len(self._solutions) == 2:
            weights, slopes = self._ahead(C)
        jitter, tolerance = JITTER * self.shared.largest, OFF * goal / float(box.upper.sum())
        limits = leaps.Limits(jitter, NEAR, tolerance, LEAP_STEPS, self.most)
        own = box._replace(beta=box.beta.copy(), v=box.v.copy())
        far, image = (self.shared.K, self.at), np.empty(self.shared.m)
        try:
            fall, length, self._factor = leaps.leap(own, far, self._factor, (weights, slopes), limits, image)
            absorb(self._factor, far, (own.beta > own.lower) & (own.beta < own.upper), jitter)
        except np.linalg.LinAlgError:
            self._factor, fall = empty_factor(len(self.at), self._factor.L.dtype), 0.0
        if not fall > 0.0:
            return None
        change = own.beta - box.beta
        return _Iterate(own.beta, now.h + length * image, _deeper(now, own.beta, change, int(np.count_nonzero(change))))

    def _ahead(self, C: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights times their signs, and the slopes, that the last two solutions tend to."""
        (w, s, before), (weights, slopes, last) = self._solutions
        t = (C - last) / (last - before)
        return weights + t * (weights - w), slopes + t * (slopes - s)

    def _pick(self, box: Box, bias: float, margin: float, kinks) -> np.ndarray:
        """Return the samples of a round: those that may move, and those that are in the square anyway."""
        n = loops.pick_active(box, bias, margin, self._picked, self._slack, kinks)
        picked = self._picked[:n]
        if n > self.most:  # those that violate the conditions most
            picked = picked[np.argpartition(-self._slack[:n], self.most - 1)[: self.most]]
        return self._square.bring(picked)

    def _round(
        self, box: Box, picked: np.ndarray, is_ridged: bool, goal: float, most: float, kinks
    ) -> tuple[int, np.ndarray]:
        """Solve the problem of some samples while others stay; return the steps, and by what their weights moved."""
        n, K = len(picked), self._square.values
        part, kinks = Box(*(array[picked] for array in box)), l1_among(kinks, picked)
        rows = RowTable(K, np.arange(n), *self._unused, quantum=0.0)
        steps, newton, long = 0, 0, max(2 * n, n * n // NEWTON)
        patience = long
        while steps < most:
            if self.stopped():
                raise Stopped
            if patience <= 0 and newton < MOST_NEWTON:
                newton += 1
                patience = 2 * n if self._newton(part, K, kinks) else 4 * long
            wanted = patience if newton < MOST_NEWTON else most
            taken, more = loops.work(part, rows, is_ridged, goal, int(min(wanted, most - steps, SLICE // n)), kinks)
            steps += taken
            patience -= taken
            if not more:
                break
        return steps, part.beta - box.beta[picked]

    def _newton(self, box: Box, K: np.ndarray, kinks) -> bool:
        """Take a step of Newton on the samples between their bounds; return whether it helped."""
        n = loops.pick_free(box, self._picked, kinks)
        if n < 2:
            return False
        try:
            jitter = JITTER * self.shared.largest
            return loops.newton_step(box, K, self._picked[:n].copy(), K.dtype.type(jitter), kinks) > 0.0
        except np.linalg.LinAlgError:
            return False


def _scale_within(point: np.ndarray, ratio: float, problem: DualQP) -> np.ndarray:
    """Return a point times a ratio within its bounds; what was at an upper bound is there again, for all rounding."""
    return _snap(np.clip(point * ratio, problem.lower, problem.upper), problem)


def _snap(point: np.ndarray, problem: DualQP) -> np.ndarray:
    """Return a point whose weights that are off an upper bound by a rounding error are there."""
    return np.where(point >= problem.upper * (1.0 - 2.0**-50), problem.upper, point)


def _depth(n: int) -> float:
    """Return the additions that each of n terms takes part in by `loops.add_rows`, and a few more."""
    return n / 4.0 + 8.0


def _deeper(before: _Iterate, point: np.ndarray, change: np.ndarray, n: int) -> float:
    """Return the `depth` of a point from that of the one before, by a change (n,) of so many weights that are not 0."""
    size, old, off = (float(np.abs(array).sum()) for array in (point, before.point, change))
    return (before.depth * old + _depth(n) * (old + off)) / size if size > 0.0 else np.inf
