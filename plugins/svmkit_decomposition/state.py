"""State of a decomposition solve: the iterate, and the kernel rows of the points that shrinking has not left out."""

from __future__ import annotations

import math

import numpy as np

from svmkit.kernels.gram import Gram, RestrictedGram
from svmkit.problems.box import BoxQP
from svmkit.problems.certificate import Certificate, relative_gap
from svmkit.problems.tube import TubeQP
from svmkit.solver.smo import box as smo_box
from svmkit.solver.smo.box import Box
from svmkit.solver.step_info import StepInfo
from svmkit_decomposition import guesses

LIKELY = 31  # kernel rows guessed on a miss
SHRINK = 1000  # iterations from one attempt at shrinking to the next (LIBSVM's)
LEFT = 2.0 / 3.0  # shrinking takes place only if at most this share of the points remains
PRICE = 3.0, 0.5  # iterations per support vector that a full gradient costs: if the rows in use fit the cache; if not
WORK = 4_000_000  # entries of v that one step may read: some milliseconds, kernel rows excluded


class BoxState:
    """State of a solve.

    Parameters
    ----------
    problem : BoxQP or TubeQP
        The problem to solve.
    beta : ndarray of shape (m,)
        A feasible point to start from; the state owns the array and changes it.

    Attributes
    ----------
    at : ndarray of int64, shape (n,), or None
        The points that take part, ascending; None for all m points.
    box : Box
        The state of SMO over the n points that take part.
    source : Gram or RestrictedGram
        Kernel rows among the points that take part.
    epsilon : float, svmkit.solver.smo.box.Epsilon or None
        As in `svmkit.solver.smo.box`, of the points that take part.
    pairs : ndarray of int64, shape (1, 2)
        Their maximal violating pair, as positions in `box`; -1 where a point does not exist.
    objective : float
        Objective of the problem, updated with each step.
    outside : int
        Number of points that are left out and have a weight that is not 0.
    fresh : bool
        Whether all points take part and no report has been made since they do.
    n_iter : int
        Iterations so far.
    since : int
        Iteration at which all points last began to take part.
    next_look : int
        Iteration before which no further attempt at shrinking is made.
    target : float
        Violation at which the next report is due, see `aim`.
    """

    def __init__(self, problem: BoxQP | TubeQP, beta: np.ndarray) -> None:
        self.problem, self.n_iter = problem, 0
        self.next_look = min(problem.m, SHRINK)
        self.restart(beta, problem.gradient(beta))

    def restart(self, beta: np.ndarray, gradient: np.ndarray) -> None:
        """Let all points take part.

        Parameters
        ----------
        beta : ndarray of shape (m,)
            The iterate; the state owns the array and changes it.
        gradient : ndarray of shape (m,)
            Gradient of the objective at `beta`.
        """
        self.at: np.ndarray | None = None
        self.source: Gram | RestrictedGram = self.problem.gram
        self._beta, self.outside = beta, 0
        self.box, self.epsilon = smo_box.box_of(self.problem, self._beta, gradient), smo_box.epsilon_of(self.problem)
        smo_box.take_sides(self.box, self.epsilon)
        self.pairs = np.array([smo_box.extremes(self.box.v, self.box.side, self.epsilon)], dtype=np.int64)
        self.objective = self.problem.value(self._beta, gradient)
        self.target, self.since, self.fresh = math.inf, self.n_iter, True

    @property
    def beta(self) -> np.ndarray:
        """Weights of all points, a new array of shape (m,)."""
        beta = self._beta.copy()
        if self.at is not None:
            beta[self.at] = self.box.beta
        return beta

    @property
    def n_support(self) -> int:
        """Number of weights that are not 0."""
        return int(np.count_nonzero(self.box.beta)) + self.outside

    @property
    def violation(self) -> float:
        """Violation of the optimality conditions by the maximal violating pair; 0.0 if there is no such pair."""
        low, high = self.slopes
        return high - low if self.pairs.min() >= 0 else 0.0

    @property
    def slopes(self) -> tuple[float, float]:
        """`smo.box.slopes` of the maximal violating pair."""
        return smo_box.slopes(self.box, *self.pairs[0], self.epsilon)

    def budget(self) -> int:
        """Return the number of iterations until the next report: few at first, and never too many for an interrupt."""
        return min(1 + self.n_iter // 16, max(20, min(1000, WORK // len(self.box.v))))

    def aim(self) -> float:
        """Return the violation at which a report is due as well: the next usual tolerance, 1, 2 or 5 times 10^n."""
        if self.violation <= self.target:
            self.target = _round_below(self.violation)
        return self.target

    def likely(self, i: int) -> np.ndarray:
        """Return up to `LIKELY` points whose kernel rows may be needed soon, given that row i is needed now."""
        box, rows, first = self.box, self.source.row_table, int(self.pairs[0, 0])
        scores = np.empty(len(box.v))
        if i == first or rows.slot_of[first] < 0:
            guesses.depths(box, rows.slot_of, self.slopes[1], scores, self.epsilon)
        else:
            guesses.gains(box, rows.slot_of, rows.slab[rows.slot_of[first]], first, scores, self.epsilon)
        return guesses.largest(scores, LIKELY)

    def shrink(self) -> None:
        """Leave out the points whose weights will probably stay at a bound, once they are a third of those in `box`.

        Taking the points back costs a pass over the kernel rows of all support vectors. The first points therefore
        leave only after the solve has done as much work as that.
        """
        if self.violation <= 0.0:
            self.widen()
        if self.n_iter < self.next_look or self.violation <= 0.0:
            return
        self.next_look = self.n_iter + min(self.problem.m, SHRINK)
        box = self.box
        # the rows of the points between their bounds are used again and again
        moving = np.count_nonzero((box.beta != 0.0) & (box.lower < box.beta) & (box.beta < box.upper))
        price = PRICE[0 if moving <= len(self.source.row_table.slab) else 1] * self.n_support
        if self.at is None and self.n_iter - self.since < price:
            return
        kept = smo_box.stay(box.v, box.side, *self.slopes, self.epsilon)
        if len(kept) > LEFT * len(box.v):
            return
        self._beta = self.beta
        if isinstance(self.source, RestrictedGram):
            self.source.restrict(kept)
        else:
            self.source = self.source.restriction(kept)
        self.at = self.source.at
        self.box = Box(*(values[kept] for values in box))
        self.epsilon = smo_box.epsilon_among(self.epsilon, kept)
        self.outside = np.count_nonzero(self._beta) - np.count_nonzero(self.box.beta)
        self.pairs = np.searchsorted(kept, self.pairs)

    def widen(self) -> None:
        """Let all points take part again, from an exact gradient."""
        if isinstance(self.source, RestrictedGram):
            self.source.close()
            beta = self.beta
            self.restart(beta, self.problem.gradient(beta))

    def resync(self, certificate: Certificate) -> None:
        """Take over the certificate's exact gradient; switch to float64 kernel rows if float32 rows limit the solve."""
        gradient, box = certificate.gradient, self.box
        assert gradient is not None
        exact = self.problem.signs * gradient
        drift = np.abs(box.v - (exact if self.at is None else exact[self.at])).max()
        if isinstance(self.source, RestrictedGram):
            self.source.close()
        if drift > 0.1 * self.violation:
            self.problem.gram.promote()
        self.restart(self.beta, gradient)

    def report(self, steps: int, moved: bool) -> StepInfo:
        """Count the steps and report on the iterate.

        Parameters
        ----------
        steps : int
            Iterations since the last report.
        moved : bool
            Whether the objective has fallen.

        Returns
        -------
        StepInfo
            Its estimates are those of the points that take part.
        """
        box, m = self.box, self.problem.m
        self.n_iter += steps
        gap = math.inf
        if self.pairs.min() >= 0:
            gap = smo_box.gap(box, self.problem.is_ridged, -0.5 * sum(self.slopes), self.epsilon)
        return StepInfo(
            self.objective,
            self.n_support,
            steps * len(box.v) / m,
            gap=relative_gap(gap, -self.objective),
            gap_abs=gap,
            moved=moved,
            steps=steps,
            violation=max(self.violation, 0.0),
            shrunk=self.at is not None,
        )


def _round_below(x: float) -> float:
    """Return the largest of 1, 2 and 5 times powers of ten below x; 0 for x <= 0."""
    if not 1e-300 < x < math.inf:
        return 0.0
    power = math.floor(math.log10(x))
    return max(value for value in (float(f"{d}e{power + e}") for d in (1, 2, 5) for e in (-1, 0)) if value < x)
