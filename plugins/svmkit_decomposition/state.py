"""State of a decomposition solve: beta, v = y G of the points that take part, and their kernel rows."""

from __future__ import annotations

import math

import numpy as np

from svmkit.kernels.gram import Gram, RestrictedGram
from svmkit.problems.base import Certificate
from svmkit.problems.box import BoxQP
from svmkit.problems.loss import Loss
from svmkit.solver import smo_steps
from svmkit.solver.base import StepInfo
from svmkit.solver.smo_steps import Box
from svmkit_decomposition import guesses

LIKELY = 31  # rows guessed on a miss
SHRINK = 1000  # iterations from one look at what could be left out to the next (LIBSVM's)
LEFT = 2.0 / 3.0  # fewer points than this part must remain for it to be done
PRICE = 3.0, 0.5  # iterations a vector that the gradient of all costs, where rows in use fit the cache, or do not
WORK = 4_000_000  # values of v that a step goes over: some milliseconds, and the rows that it needs


class BoxState:
    """beta (m,) and, of the points that take part (`at`, None for all), a `Box` and a source of kernel rows.

    i, k : the maximal violating pair of these; objective : of the problem, kept up step by step
    """

    def __init__(self, problem: BoxQP, beta: np.ndarray) -> None:
        self.problem, self.n_iter = problem, 0
        self.next_look = min(problem.m, SHRINK)
        self.restart(beta, problem.gradient(beta))

    def restart(self, beta: np.ndarray, gradient: np.ndarray) -> None:
        """All points take part, at beta with its gradient, both (m,)."""
        p = self.problem
        self.at: np.ndarray | None = None
        self.source: Gram | RestrictedGram = p.gram
        self._beta, self.outside = beta, 0
        side = np.empty(p.m, dtype=np.uint8)
        self.box = Box(p.y, p.upper, p.ridge, p.diag, self._beta, p.y * gradient, side)
        smo_steps.take_sides(self.box)
        self.i, self.k = smo_steps.extremes(self.box.v, side)
        self.objective = 0.5 * float(self._beta @ (gradient - 1.0))
        self.target, self.since, self.fresh = math.inf, self.n_iter, True

    @property
    def beta(self) -> np.ndarray:
        """Weights of all m points, an array of its own."""
        beta = self._beta.copy()
        if self.at is not None:
            beta[self.at] = self.box.beta
        return beta

    @property
    def n_support(self) -> int:
        """Weights that are not 0."""
        return int(np.count_nonzero(self.box.beta)) + self.outside

    @property
    def violation(self) -> float:
        """How far the maximal violating pair is from optimal."""
        return float(self.box.v[self.k] - self.box.v[self.i]) if min(self.i, self.k) >= 0 else 0.0

    def budget(self) -> int:
        """Iterations until the next report: few at first, and not so many that nobody could interrupt."""
        return min(1 + self.n_iter // 16, max(20, min(1000, WORK // len(self.box.v))))

    def aim(self) -> float:
        """The violation at which the next report is due as well: 1, 2 and 5 times powers of ten, as people stop at."""
        if self.violation <= self.target:
            self.target = _round_below(self.violation)
        return self.target

    def likely(self, i: int) -> np.ndarray:
        """Rows that may be asked for soon when i is missing now: those that would be chosen in its place."""
        box, rows = self.box, self.source.row_table
        scores = np.empty(len(box.v))
        if i == self.i or rows.slot_of[self.i] < 0:
            guesses.depths(box, rows.slot_of, box.v[self.k], scores)
        else:
            guesses.gains(box, rows.slot_of, rows.slab[rows.slot_of[self.i]], self.i, scores)
        return guesses.largest(scores, LIKELY)

    def shrink(self) -> None:
        """Leave out the points whose weights stay at a bound for all that the violation says, once these are many.

        To take them back costs a pass over all kernel values of the support vectors, so it has to pay: that much work
        must have been done before.
        """
        if self.violation <= 0.0:
            self.widen()
        if self.n_iter < self.next_look or self.violation <= 0.0:
            return
        self.next_look = self.n_iter + min(self.problem.m, SHRINK)
        box = self.box
        moving = np.count_nonzero(box.side == (smo_steps.UP | smo_steps.LOW))  # rows used again and again
        price = PRICE[0 if moving <= len(self.source.row_table.slab) else 1] * self.n_support
        if self.at is None and self.n_iter - self.since < price:
            return
        kept = smo_steps.stay(box.v, box.side, box.v[self.i], box.v[self.k])
        if len(kept) > LEFT * len(box.v):
            return
        self._beta = self.beta
        if isinstance(self.source, RestrictedGram):
            self.source.restrict(kept)
        else:
            self.source = self.source.restricted(kept)
        self.at = self.source.at
        self.box = Box(*(values[kept] for values in box))
        self.outside = np.count_nonzero(self._beta) - np.count_nonzero(self.box.beta)
        self.i, self.k = (int(np.searchsorted(kept, r)) for r in (self.i, self.k))

    def widen(self) -> None:
        """All points take part again, from an exact gradient."""
        if isinstance(self.source, RestrictedGram):
            self.source.close()
            beta = self.beta
            self.restart(beta, self.problem.gradient(beta))

    def resync(self, certificate: Certificate) -> None:
        """Take over the certificate's exact gradient; float64 rows from now on if float32 ones hold us up."""
        gradient, box = certificate.gradient, self.box
        assert gradient is not None
        exact = self.problem.y * gradient
        drift = np.abs(box.v - (exact if self.at is None else exact[self.at])).max()
        if isinstance(self.source, RestrictedGram):
            self.source.close()
        if drift > 0.1 * self.violation:
            self.problem.gram.promote()
        self.restart(self.beta, gradient)

    def report(self, steps: int, moved: bool) -> StepInfo:
        """What is known of the iterate."""
        box, m = self.box, self.problem.m
        self.n_iter += steps
        apart = math.inf
        if min(self.i, self.k) >= 0:
            b = -0.5 * (box.v[self.i] + box.v[self.k])
            apart = smo_steps.gap(box, self.problem.loss is Loss.SQUARED_HINGE, b)
        size = max(abs(self.objective), abs(apart - self.objective), 1e-300)
        return StepInfo(
            self.objective,
            self.n_support,
            steps * len(box.v) / m,
            gap=apart / size if apart < math.inf else math.inf,
            gap_abs=apart,
            moved=moved,
            steps=steps,
            violation=max(self.violation, 0.0),
            shrunk=self.at is not None,
        )


def _round_below(x: float) -> float:
    """The largest of 1, 2 and 5 times powers of ten below x; 0 for x <= 0."""
    if not 1e-300 < x < math.inf:
        return 0.0
    power = math.floor(math.log10(x))
    return max(value for value in (float(f"{d}e{power + e}") for d in (1, 2, 5) for e in (-1, 0)) if value < x)
