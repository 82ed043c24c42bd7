"""Solves of problems that differ only in C, on some rows of a matrix of kernel values.

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

from svmkit.kernels.engines.contract import PANEL
from svmkit.kernels.extent import fits_float32_rows
from svmkit.kernels.rounding import U
from svmkit.problems.certificate import Certificate
from svmkit.problems.dual import DualQP
from svmkit.problems.sums import Bounds
from svmkit.solver.smo.box import Box, box_of, l1_part
from svmkit.tune.shared import leaps, loops, rounds
from svmkit.tune.shared.bordered import absorb, empty_factor
from svmkit.tune.shared.matrix import PartGram, SharedMatrix
from svmkit.tune.shared.rounds import EasyPath, Iterate, deeper, depth_of

NONE = np.empty(0, np.int64)
LEAST = 1e-10  # fraction of the least k(x, x) below which a value vanishes beside it in float32
JITTER = 3e-6  # fraction of the largest value, added to a diagonal before factorisation in float32
LEAPS, LEAP_STEPS = 6, 12  # leaps of a solve, and steps of a leap, at most
LEAP = 300  # number of weights between their bounds from which on leaps are taken
LONG = 5  # steps of SMO for each of these weights that take as long as a leap: after a fit with more, leaps are taken
HARD, SHORT = 1, 1000  # steps of SMO per sample, and in total, from which on a rough gap suffices if one is given
OFF = 0.5  # share of the requested gap that violations of samples at their bounds may add up to after a leap
NEAR = 0.3  # in units of the margin: a leap watches samples that are no farther from leaving their bounds


class Solved(NamedTuple):
    """The solution of a problem: a point (n,), h (m,) without the bias, the certificate, and the steps."""

    point: np.ndarray
    h: np.ndarray
    certificate: Certificate
    steps: int


class Stopped(Exception):
    """The search has ended."""


class ActiveSets:
    """Solves problems on rows `at` (n,) of a matrix, one for each C, ascending.

    Parameters
    ----------
    shared, at : SharedMatrix, ndarray of int
        The kernel values, and the rows that take part.
    most : int
        The largest number of samples in a round.
    stopped : callable
        Returns whether the search has ended; if so, `Stopped` is raised.
    kept : float, default inf
        The bytes of kernel values and of a factor that may be kept between solves.

    Attributes
    ----------
    takes_leaps : bool
        Whether a leap is likely to take less time than steps of SMO.
    """

    def __init__(
        self, shared: SharedMatrix, at: np.ndarray, most: int, stopped: Callable[[], bool], kept: float = np.inf
    ) -> None:
        self.kept = kept
        self.shared, self.at, self.most, self.stopped = shared, at, min(most, len(at)), stopped
        self.gram: PartGram = shared.gram(at)
        self._kind = np.dtype(np.float32 if fits_float32_rows(shared.largest) else np.float64)
        self._least = LEAST * float(np.abs(shared.diag).min())
        self._forget()
        self._base: tuple[Iterate, float] | None = None  # the last iterate reached by steps, and its C
        # the C that `follow` has left unsolved, the iterate that it has reached, and the steps this took
        self._begun: tuple[float, Iterate, int] | None = None
        self._solutions: list[tuple[np.ndarray, np.ndarray, float]] = []  # the last two: weights, slopes, C
        self.takes_leaps = False

    def _forget(self) -> None:
        self._square = rounds.empty_square(len(self.at), self._kind)
        self._factor = empty_factor(len(self.at), self._kind)

    def begin(self, problem: DualQP, point: np.ndarray, C: float) -> None:
        """Set the start of the next solve, unless the point lies outside the bounds.

        Parameters
        ----------
        problem, point, C : DualQP, ndarray of shape (n,), float
            The problem, the point, and the C that the problem is posed for.
        """
        self._solutions, self.takes_leaps = [], True
        is_feasible = not ((point > problem.upper).any() or (point < problem.lower).any())
        self._base = (self._from_scratch(problem, point), C) if is_feasible else None

    def solve(self, problem: DualQP, C: float, target: float, patience: float, rough: float | None = None) -> Solved:
        """Solve a problem of these rows to a certified relative gap.

        Parameters
        ----------
        problem, C : DualQP, float
            The problem and the C that it was posed for, larger than in all problems before.
        target, patience : float
            The requested gap, and the step limit.
        rough : float, default=None
            A gap that suffices if the requested one takes more than `HARD` steps a sample.
        """
        began, goal, enough = self._start(problem, C), target, target
        if self._base is None:
            self._base = began, C
        begun, self._begun = self._begun, None
        _, now, steps = begun if begun is not None and begun[0] == C else (C, began, 0)
        spent, most = float(steps), patience if rough is None else min(patience, self._few)
        for _ in range(rounds.TRIES):
            now, taken, cost = self._descend(problem, C, now, goal, most - spent, most < patience)
            steps, spent = steps + taken, spent + cost
            if now.depth > len(self.at):  # a certificate allows for no more
                now = self._from_scratch(problem, now.point)
            certificate = problem.certify(now.point, now.h[self.at])
            is_hard = most < patience and spent >= most
            if is_hard and rough is not None:
                goal, enough, most = 2.0 * rough, rough, patience
            if certificate.gap is None or certificate.gap <= enough or certificate.is_exhausted or spent >= patience:
                break
            goal *= 0.5
        if now is not began:  # scaling the same solution again and again costs one rounding only
            self._base = now, C
        self._limit_memory()
        n_free = np.count_nonzero((now.point > problem.lower) & (now.point < problem.upper))
        self.takes_leaps = self.takes_leaps or bool(n_free >= LEAP and steps > LONG * n_free)
        self._remember(problem, now, C, (certificate.bias or 0.0) - problem.centre)
        return Solved(now.point, now.h, certificate, steps)

    @property
    def _few(self) -> int:
        """The number of steps from which on a fit counts as hard."""
        return max(HARD * len(self.at), SHORT)

    def follow(
        self, y: np.ndarray, weights: np.ndarray, Cs: np.ndarray, target: float, held: np.ndarray
    ) -> tuple[EasyPath, int]:
        """Solve problems of the hinge, after the first one, as long as each is easy; return the fits and their number.

        Parameters
        ----------
        y, weights, Cs : ndarray of shape (n,), (n,) and (n_C,)
            The labels, the factors of C, and the values of C, as for `solve`.
        target, held : float, ndarray of int
            The requested gap, and the rows of the matrix whose decisions are returned.
        """
        shared, n = self.shared, len(self.at)
        n_C = len(Cs)
        steps, n_support, n_free = (np.zeros(n_C, np.int64) for _ in range(3))
        path = EasyPath(np.empty((n_C, len(held))), np.empty(n_C), steps, n_support, n_free, np.empty((2, 2, n)))
        if self._base is None:
            return path, 0
        bounds = Bounds(shared.error, shared.largest, max(shared.m, PANEL), 0.0, U)
        part, pace = (y, weights, self.gram.diag, shared.group[self.at]), self._pace(target, self._few, LEAP, False)
        far = shared.K, self.at
        last, self._square, done, now, taken = rounds.follow(
            far, part, self._base, self._square, pace, Cs, held, bounds, path
        )
        self._base = Iterate(*last[0]), last[1]
        self._begun = (float(Cs[done]), Iterate(*now), taken) if done < n_C and taken else None
        is_long = (path.n_free >= LEAP) & (path.steps > LONG * path.n_free)
        self.takes_leaps = self.takes_leaps or bool(is_long[:done].any())
        ends = zip(path.ends[-done:], Cs[:done][-2:].tolist(), strict=False) if done else ()
        self._solutions = [*self._solutions, *((*end, C) for end, C in ends)][-2:]
        self._limit_memory()
        return path, done

    def _pace(self, target: float, most: float, leap: int, is_ridged: bool) -> rounds.Pace:
        jitter = JITTER * self.shared.largest
        return rounds.Pace(target, float(most), self.most, leap, jitter, self._least, is_ridged)

    def _limit_memory(self) -> None:
        """Drop data that there is no room to keep until the next C."""
        if self._square.values.nbytes + sum(array.nbytes for array in self._factor) > self.kept:
            self._forget()

    def _remember(self, problem: DualQP, now: Iterate, C: float, bias: float) -> None:
        """Keep a solution for `_ahead`, together with the last one for another C."""
        slopes = now.h[self.at] + problem.signs * problem.origin + bias
        earlier = [one for one in self._solutions if one[2] < C]
        self._solutions = [*earlier[-1:], (problem.signs * now.point, slopes, C)]

    def _from_scratch(self, problem: DualQP, point: np.ndarray) -> Iterate:
        """Return a point with its h (m,) from scratch, in float64."""
        idx, h = np.flatnonzero(point), np.zeros(self.shared.m)
        loops.add_rows(self.shared.K, self.at[idx], point[idx] * problem.signs[idx], h)
        return Iterate(point, h, depth_of(len(idx)))

    def _start(self, problem: DualQP, C: float) -> Iterate:
        """Return the best of several starting points."""
        if self._base is None:
            return self._vertex(problem) or Iterate(problem.first_point(), np.zeros(self.shared.m), 0.0)
        last, before = self._base
        has_twins = not (problem.is_ridged or problem.lower.any()) and bool(np.isfinite(problem.upper).all())
        group = self.shared.group[self.at] if has_twins else NONE
        far, kinks = (self.shared.K, self.at), l1_part(problem)
        return Iterate(*rounds.begin(far, _arrays_of(problem), last, C / before, group, LEAP, kinks))

    def _vertex(self, problem: DualQP) -> Iterate | None:
        """Return the vertex of the box that the solution tends to as C falls; None if it is no better than 0.

        All weights of the smaller class are then at their bounds, and in the other class those of the samples farthest
        behind.
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
        self, problem: DualQP, C: float, now: Iterate, target: float, most: float, is_trial: bool
    ) -> tuple[Iterate, int, float]:
        """Lower the objective until the relative gap is at most `target`, or for `most` steps.

        Returns the iterate, the steps, and the number of steps that would take as long as these and the leaps together.
        """
        kinks, steps, spent, left, far = l1_part(problem), 0, 0.0, 0, (self.shared.K, self.at)
        if self.takes_leaps and not is_trial and kinks is None and not problem.is_ridged:
            left = LEAPS if np.isfinite(problem.upper).all() else 0
        for _ in range(rounds.ROUNDS):
            if self.stopped():
                raise Stopped
            pace = self._pace(target, most - spent, LEAP if left else self.most + 1, problem.is_ridged)
            after, self._square, taken, goal, why = rounds.descend(
                far, _arrays_of(problem), now, self._square, pace, kinks
            )
            steps, spent = steps + taken, spent + taken
            now = Iterate(*after) if taken else now
            if why == rounds.ENDED:
                break
            if why == rounds.LEAPS:
                left -= 1
                box = box_of(problem, now.point, problem.gradient_from(now.h[self.at], now.point))
                spent += LONG * np.count_nonzero((box.beta > box.lower) & (box.beta < box.upper))
                led = self._leap(C, now, box, goal, left == LEAPS - 1)
                now, left = (now, 0) if led is None else (led, left)
        return now, steps, spent

    def _leap(self, C: float, now: Iterate, box: Box, goal: float, is_first: bool) -> Iterate | None:
        """Take Newton steps that change many bounds at a time; return the iterate, None if the objective does not fall.

        Parameters
        ----------
        C, now, box, goal, is_first : float, Iterate, Box, float, bool
            The C, the starting iterate and its box, the requested gap, and whether no steps were taken before.
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
        sizes = tuple(float(np.abs(array).sum()) for array in (own.beta, box.beta, change))
        depth = deeper(now.depth, sizes, int(np.count_nonzero(change)))
        return Iterate(own.beta, now.h + length * image, depth)

    def _ahead(self, C: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights times their signs, and the slopes, extrapolated from the last two solutions."""
        (w, s, before), (weights, slopes, last) = self._solutions
        t = (C - last) / (last - before)
        return weights + t * (weights - w), slopes + t * (slopes - s)


def _arrays_of(problem: DualQP) -> rounds.Posed:
    """Return the arrays of a problem."""
    given = problem.signs, problem.lower, problem.upper, problem.ridge, problem.diag, problem.origin
    return rounds.Posed(*given)
