"""Newton's method by sums over the rows alone: no number is kept of a row, which may be anywhere."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from svmkit.problems.certificate import relative_gap
from svmkit_newton.passes import Look, SideSums
from svmkit_newton.proximal import LESS, is_solved
from svmkit_newton.samples import ROUNDING

# steps of a look along a direction, which takes hardly longer for many of them than for one
FIRST = np.array([0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 4.0])
FLAT = 0.2  # part of the slope at its beginning that a step may leave
LOOKS = 6  # along a direction at the most
FAR = 10.0  # how far a step may move a bias to which no sample gives a curvature, and times a step that is too short


def add_sides(looks: Sequence[Look]) -> tuple[SideSums, SideSums]:
    """Return the sums over all dual weights above 0, and over those below."""
    both = []
    for sides in ([seen.up for seen in looks], [seen.down for seen in looks]):
        totals, linear, ridged, images = zip(*sides, strict=True)
        both.append(SideSums(math.fsum(totals), math.fsum(linear), math.fsum(ridged), np.sum(images, axis=0)))
    return both[0], both[1]


def balance_sides(up: SideSums, down: SideSums) -> np.ndarray:
    """Return the factors of the weights above 0 and below at which all sum to 0, and one of which is 1."""
    least = min(up.total, -down.total)
    return np.array([least / up.total if up.total else 1.0, -least / down.total if down.total else 1.0])


class BySums(ABC):
    """The iterate of Newton's method by sums; its attributes are those of `svmkit_newton.newton.State`.

    The bias is a weight like the others here, and the whole step is tried before there is a search along it. D rises by
    the dual weights at the iterate alone, with a free bias balanced by the factors `scales` of those above 0 and below;
    the best of them are the answer.
    """

    hessian: Any  # with `take`

    def __init__(self, problem: Any, width: int, is_free: bool, goal: float) -> None:
        self.problem, self.goal, self.most = problem, goal, 1
        self.is_modelled = False  # whether the P of the best dual weights is guessed, which saves a pass
        self.is_bent = False  # whether a whole step was too long or too short the last time
        self.penalty = np.ones(width)
        if is_free:
            self.penalty[-1] = 0.0
        self.least, self.dual, self.gap = 0.0, -math.inf, math.inf
        self._least = math.inf  # P where the best dual weights are from: among equal ones those of the least P are kept

    @property
    @abstractmethod
    def w(self) -> np.ndarray:
        """The weights of the columns and of the bias, (width,)."""

    @property
    @abstractmethod
    def width(self) -> float:
        """The width by which losses with kinks are bent."""

    @abstractmethod
    def put(self, w: np.ndarray) -> None:
        """Let the iterate be at weights (width,)."""

    @abstractmethod
    def looks(self) -> Sequence[Look]:
        """Return the sums at the iterate, of one part of the rows or more."""

    @abstractmethod
    def slopes_along(self, s: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return the derivatives of the (bent) losses by the step along a direction, at each of some steps (k,)."""

    @abstractmethod
    def loss_of(self, w: np.ndarray) -> float:
        """Return the summed losses at weights (width,)."""

    @abstractmethod
    def keep(self) -> None:
        """Let the dual weights at the iterate be the answer."""

    @abstractmethod
    def narrow_down(self, width: float) -> None:
        """Make the dual weights at the iterate the centre around which losses with kinks are bent, by this width."""

    def begin(self) -> None:
        """Begin at the iterate; with a free bias that hardly a sample holds, where it is best: there is no good
        direction elsewhere.
        """
        self.examine()
        steep = abs(float(self.g[-1]))
        if not self.penalty[-1] and steep > FAR * self._bending():
            s = np.zeros(len(self.g))
            s[-1] = -np.sign(self.g[-1])
            self._look(self.w + self._search(-steep, self._along(s)) * s)

    def examine(self) -> None:
        """Look at the rows for P, D, gradient and Hessian at the iterate."""
        looks = self.looks()
        up, down = add_sides(looks)
        is_free = not self.penalty[-1]
        self.scales = scales = balance_sides(up, down) if is_free else np.ones(2)
        size, image = self.penalty * self.w, up.image + down.image
        norm = 0.5 * float(size @ size)
        self.g = size - image
        self.merit = norm + math.fsum(seen.loss for seen in looks)
        self.primal = norm + math.fsum(seen.exact for seen in looks)
        v = self.penalty * (scales[0] * up.image + scales[1] * down.image)
        linear = scales[0] * up.linear + scales[1] * down.linear
        dual = linear - 0.5 * (float(v @ v) + scales[0] ** 2 * up.ridged + scales[1] ** 2 * down.ridged)
        far = self.penalty * self.g
        self.excess = 0.5 * float(far @ far) + (abs(float(self.g[-1]) * self.w[-1]) if is_free else 0.0)
        self.support = sum(seen.support for seen in looks)
        self._curved = np.sum([seen.curved for seen in looks], axis=0)
        self.hessian.take(self._curved, is_free * max(abs(float(self.g[-1])) / FAR - self._bending(), 0.0))
        if dual > self.dual or (dual > self.dual - ROUNDING * abs(self.primal) and self.primal < self._least):
            self.dual, self._image, self._least = max(dual, self.dual), v, self.primal
            self.keep()
        self.gap = self._gap()

    def _bending(self) -> float:
        """Return the second derivative of the merit by the bias."""
        return float(self._curved.flat[-1])  # of the matrix, or of its diagonal

    def _gap(self) -> float:
        """Return the gap of w and the best dual weights; once it is small enough, that of the latter alone."""
        gap = relative_gap(max(self.primal - self.dual, self.excess), self.dual)
        if gap > self.goal:
            return gap
        own = self._image.copy()
        if not self.penalty[-1]:
            own[-1] = self.w[-1]
        if self.is_modelled:
            return max(relative_gap(self._model_primal(own - self.w) - self.dual, self.dual), gap)
        primal = 0.5 * float(self._image @ self._image) + self.loss_of(own)
        return max(relative_gap(primal - self.dual, self.dual), 0.0)

    def _model_primal(self, change: np.ndarray) -> float:
        """Return about P at a change (width,) of the iterate, from the quadratic model there."""
        H, far = self._curved, self.penalty * change
        curved = 2.0 * float(change @ (np.triu(H) @ change)) - float(np.diagonal(H) @ np.square(change))
        return self.primal + float(self.g @ change) + 0.5 * (curved + float(far @ far))

    def move(self, most: int) -> tuple[int, float, np.ndarray | None]:
        """Make a step; the arguments and the result are those of `svmkit_newton.newton.State.move`."""
        s, passes = self.hessian.direction(self.g)
        begin, steep, before = self.w.copy(), float(self.g @ s), (self.merit, self.dual)
        t, is_sure = self.propose(s, steep)
        self._look(begin + t * s)
        if not is_sure and not (abs(float(self.g @ s)) <= -FLAT * steep and self.merit <= before[0]):
            self.put(begin)
            t = self._search(steep, self._along(s))
            self._look(begin + t * s)
            passes += 3.0
        self.is_bent = not abs(t - 1.0) < FLAT
        is_stuck = not (self.merit < before[0] or self.dual > before[1])
        if self.width and self.gap > self.goal:
            is_due = is_stuck or is_solved(self.excess, self.merit, self.primal - self.dual)
            if is_due and self.width * LESS >= self.least:
                self.narrow_down(self.width * LESS)
                self.begin()
        return 1, passes + 3.0, None

    def propose(self, s: np.ndarray, steep: float) -> tuple[float, bool]:
        """Return the step to try first along a direction, and whether it is the one of the least merit for sure.

        Parameters
        ----------
        s, steep : ndarray, float
            The direction (width,), and the slope of the merit at its beginning, < 0.
        """
        return (self._search(steep, self._along(s)), True) if self.is_bent else (1.0, False)

    def _look(self, w: np.ndarray) -> None:
        self.put(w)
        self.examine()

    def _search(self, steep: float, along: Callable[[np.ndarray], np.ndarray]) -> float:
        """Return nearly the step of the least merit along a direction, whose slope at the beginning is `steep` < 0.

        The slope, which `along` returns at some steps (k,), never falls along the way; the step is where the line
        through the slopes around its zero is 0.
        """
        low, high, steps = (0.0, steep), (math.inf, math.inf), FIRST
        for _ in range(LOOKS):
            slopes = along(steps)
            k = int(np.count_nonzero(slopes < 0.0))  # they ascend
            low = (float(steps[k - 1]), float(slopes[k - 1])) if k else low
            if k == len(steps):
                steps = FAR * steps
                continue
            high = float(steps[k]), float(slopes[k])
            if k or high[1] <= -FLAT * steep:
                break
            steps = high[0] * FIRST[FIRST < 1.0]
        if high[0] == math.inf or low[1] == high[1]:
            return low[0]
        return low[0] - low[1] * (high[0] - low[0]) / (high[1] - low[1])

    def _along(self, s: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return what returns the derivatives of the merit by the step along a direction, at each of some steps."""
        size = self.penalty * s
        begin, rate = float(self.w @ size), float(s @ size)
        return lambda steps: begin + rate * steps + self.slopes_along(s, steps)
