"""States of a decomposition solve: their interface for methods, and the state with shrinking."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import partial
from typing import Any

import numpy as np

from svmkit.kernels.gram import Gram, RestrictedGram
from svmkit.problems.certificate import Certificate, relative_gap
from svmkit.solver.smo import box as smo_box
from svmkit.solver.smo.box import Box
from svmkit.solver.smo.steps import require_bound
from svmkit.solver.step_info import StepInfo
from svmkit_decomposition import guesses

LIKELY = 31  # kernel rows guessed on a miss
SHRINK = 1000  # iterations from one attempt at shrinking to the next (LIBSVM's)
LEFT = 2.0 / 3.0  # shrinking takes place only if at most this share of the points remains
PRICE = 3.0, 0.5  # iterations per support vector that a full gradient costs: if the rows in use fit the cache; if not
WORK = 4_000_000  # entries of v that one step may read: some milliseconds, kernel rows excluded


class SolveState(ABC):
    """The state of a solve."""

    @property
    @abstractmethod
    def point(self) -> np.ndarray:
        """The iterate (m,), a new array."""

    @abstractmethod
    def step(self, method: Any) -> StepInfo:
        """Take some steps by the rules of a `Decomposition` and report on them."""

    @abstractmethod
    def resync(self, certificate: Certificate) -> None:
        """Take over the certificate's exact gradient; switch to float64 kernel rows if float32 rows limit the solve."""

    def widen(self) -> None:  # noqa: B027  optional
        """Let all points take part again, with an exact gradient."""

    def details(self) -> dict[str, float]:
        """Return further facts about the result, by name."""
        return {}


class BoxState(SolveState):
    """State of a solve that computes kernel rows on demand, for the points that shrinking has not left out.

    It begins at a feasible `point` (m,) of a DualQP, an array that it owns and changes.
    """

    def __init__(self, problem: Any, point: np.ndarray) -> None:
        self.problem, self.n_iter = problem, 0
        self.next_look = min(problem.m, SHRINK)  # iteration before which no further attempt at shrinking is made
        self.restart(point, problem.gradient(point))

    def restart(self, beta: np.ndarray, gradient: np.ndarray) -> None:
        """Let all points take part, at weights (m,) that the state owns and changes, with this gradient (m,)."""
        self.at: np.ndarray | None = None  # the points that take part (n,), ascending; None for all m points
        self.source: Gram | RestrictedGram = self.problem.gram  # kernel rows among the points that take part
        self._beta = beta
        self.outside = 0  # number of points left out that have non-zero weights
        # the state of SMO over the points that take part
        self.boxes: tuple[Box, ...] = (smo_box.box_of(self.problem, self._beta, gradient),)
        self.kinks = smo_box.l1_part(self.problem)
        smo_box.take_sides(self.box, self.kinks)
        # the maximal violating pair, as positions in `box`; -1 if a point does not exist
        self.pairs = np.array([smo_box.extremes(self.box.v, self.box.side, self.kinks)], dtype=np.int64)
        self.objective = self.problem.value(self._beta, gradient)
        self.target = math.inf  # violation at which the next report is due, see `aim`
        self.since = self.n_iter  # iteration at which all points last began to take part
        self.fresh = True  # whether no report has been made since

    @property
    def box(self) -> Box:
        """The only one of `boxes`."""
        return self.boxes[0]

    @property
    def point(self) -> np.ndarray:
        beta = self._beta.copy()
        if self.at is not None:
            beta[self.at] = self.box.beta
        return beta

    @property
    def n_support(self) -> int:
        return int(np.count_nonzero(self.box.beta)) + self.outside

    @property
    def violation(self) -> float:
        """Violation of the optimality conditions by the maximal violating pair; 0.0 if there is no such pair."""
        low, high = self.slopes
        return high - low if self.pairs.min() >= 0 else 0.0

    @property
    def slopes(self) -> tuple[float, float]:
        """`smo.box.slopes` of the maximal violating pair."""
        return smo_box.slopes(self.box, *self.pairs[0], self.kinks)

    def gaps(self) -> tuple[float, float]:
        """Return the absolute and the relative gap of the points that take part."""
        gap = math.inf
        if self.pairs.min() >= 0:
            gap = smo_box.gap(self.box, self.problem.is_ridged, -0.5 * sum(self.slopes), self.kinks)
        return gap, relative_gap(gap, -self.objective)

    def step(self, method: Any) -> StepInfo:
        if self.fresh:  # the start, or all points again: the iterate may be optimal already
            self.fresh = False
            return self._report(0, True)
        if method.shrinking:
            self.shrink()
        # few iterations at first, and never too many for an interrupt
        most = min(1 + self.n_iter // 16, max(20, min(1000, WORK // len(self.boxes[0].v))))
        target, steps, fell, complete = self.aim(), 0, 0.0, False
        while not complete:
            done, change, complete = method.advance(self, most - steps, target)
            steps, fell = steps + done, fell + change
        self.objective += fell
        require_bound(self.objective, self.problem.gram.kernel)
        return self._report(steps, fell < 0.0)

    def _report(self, steps: int, moved: bool) -> StepInfo:
        """Count the steps and report on the iterate; estimates cover the points that take part."""
        self.n_iter += steps
        gap, relative = self.gaps()
        return StepInfo(
            self.objective,
            self.n_support,
            steps * len(self.boxes[0].v) / self.problem.m,
            gap=relative,
            gap_abs=gap,
            moved=moved,
            steps=steps,
            violation=max(self.violation, 0.0),
            shrunk=self.at is not None,
        )

    def aim(self) -> float:
        """Return the violation at which a report is also due: the next usual tolerance, 1, 2 or 5 times 10^n."""
        if self.violation <= self.target:
            self.target = _round_below(self.violation)
        return self.target

    def fetch(self, i: int) -> None:
        """Compute kernel row i, with the rows that may be needed soon."""
        self.source.row(i, partial(self.likely, i))

    def likely(self, i: int) -> np.ndarray:
        """Return up to `LIKELY` points whose kernel rows may be needed soon, given that row i is needed now."""
        box, rows, first = self.box, self.source.row_table, int(self.pairs[0, 0])
        scores = np.empty(len(box.v))
        if i == first or rows.slot_of[first] < 0:
            guesses.depths(box, rows.slot_of, self.slopes[1], scores, self.kinks)
        else:
            guesses.gains(box, rows.slot_of, rows.slab[rows.slot_of[first]], first, scores, self.kinks)
        return guesses.largest(scores, LIKELY)

    def shrink(self) -> None:
        """Leave out points whose weights will probably stay at a bound, once they are a third of the points in `box`.

        Taking the points back costs a pass over the kernel rows of all support vectors. The first points are therefore
        left out only after the solve has done as much work as that.
        """
        if self.violation <= 0.0:
            self.widen()
        if self.n_iter < self.next_look or self.violation <= 0.0:
            return
        self.next_look = self.n_iter + min(self.problem.m, SHRINK)
        box = self.box
        # the rows of the points between their bounds are used repeatedly
        moving = np.count_nonzero((box.beta != 0.0) & (box.lower < box.beta) & (box.beta < box.upper))
        price = PRICE[0 if moving <= len(self.source.row_table.slab) else 1] * self.n_support
        if self.at is None and self.n_iter - self.since < price:
            return
        kept = smo_box.stay(box.v, box.side, *self.slopes, self.kinks)
        if len(kept) > LEFT * len(box.v):
            return
        self._beta = self.point
        if isinstance(self.source, RestrictedGram):
            self.source.restrict(kept)
        else:
            self.source = self.source.restriction(kept)
        self.at = self.source.at
        self.boxes = (Box(*(values[kept] for values in box)),)
        self.kinks = smo_box.l1_among(self.kinks, kept)
        self.outside = np.count_nonzero(self._beta) - np.count_nonzero(self.box.beta)
        self.pairs = np.searchsorted(kept, self.pairs)

    def widen(self) -> None:
        if isinstance(self.source, RestrictedGram):
            self.source.close()
            beta = self.point
            self.restart(beta, self.problem.gradient(beta))

    def resync(self, certificate: Certificate) -> None:
        gradient, box = certificate.gradient, self.box
        assert gradient is not None
        exact = self.problem.signs * gradient
        drift = np.abs(box.v - (exact if self.at is None else exact[self.at])).max()
        if isinstance(self.source, RestrictedGram):
            self.source.close()
        if drift > 0.1 * self.violation:
            self.problem.gram.promote()
        self.restart(self.point, gradient)


class NuState(BoxState):
    """State of a solve of a NuQP over all points: the boxes of a and a' share v, and none is left out."""

    def restart(self, d: np.ndarray, gradient: np.ndarray) -> None:
        self._restart(self.problem.parts(d), gradient)

    def _restart(self, parts: tuple[np.ndarray, np.ndarray], v: np.ndarray) -> None:
        self.source, self.at, self.kinks = self.problem.gram, None, None
        self.boxes = smo_box.nu_boxes_of(self.problem, parts, v)
        self.pairs = np.array([smo_box.extremes(v, box.side, None) for box in self.boxes], dtype=np.int64)
        self.objective, self.fresh = self.problem.value(self.point, v), True

    @property
    def point(self) -> np.ndarray:
        return self.boxes[0].beta - self.boxes[1].beta

    @property
    def n_support(self) -> int:
        return int(np.count_nonzero(self.boxes[0].beta != self.boxes[1].beta))

    @property
    def violation(self) -> float:
        v = self.boxes[0].v
        return max((float(v[k] - v[i]) for i, k in self.pairs.tolist() if min(i, k) >= 0), default=0.0)

    def gaps(self) -> tuple[float, float]:
        v, gap, levels = self.boxes[0].v, 0.0, []
        for box, (i, k) in zip(self.boxes, self.pairs.tolist(), strict=True):
            levels.append(0.5 * float(v[i] + v[k]) if min(i, k) >= 0 else float(v[max(i, k)]))
            gap += smo_box.gap(box, False, -levels[-1], None)
        return gap, self.problem.relative(gap, self.objective, (levels[0], levels[1]))

    def aim(self) -> float:
        return 0.0

    def fetch(self, i: int) -> None:
        self.source.row(i)

    def shrink(self) -> None:
        """No point is left out."""

    def widen(self) -> None:
        """All points always take part."""

    def details(self) -> dict[str, float]:
        return self.problem.settle(self.boxes[0].v)

    def resync(self, certificate: Certificate) -> None:
        assert certificate.gradient is not None
        if np.abs(self.boxes[0].v - certificate.gradient).max() > 0.1 * self.violation:
            self.problem.gram.promote()
        self._restart((self.boxes[0].beta, self.boxes[1].beta), certificate.gradient)


def _round_below(x: float) -> float:
    """Return the largest of 1, 2 and 5 times powers of ten below x; 0 for x <= 0."""
    if not 1e-300 < x < math.inf:
        return 0.0
    power = math.floor(math.log10(x))
    return max(value for value in (float(f"{d}e{power + e}") for d in (1, 2, 5) for e in (-1, 0)) if value < x)
