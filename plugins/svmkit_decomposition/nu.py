"""State of SMO for nu-SVC and nu-SVR: the two kinds of weights of each sample, and v, which they share."""

from __future__ import annotations

import numpy as np

from svmkit.problems.certificate import Certificate
from svmkit.problems.nu import NuQP
from svmkit.solver.smo import box as smo_box
from svmkit.solver.smo.box import Box
from svmkit.solver.smo.steps import take_steps
from svmkit.solver.step_info import StepInfo

WORK = 4_000_000  # entries of v that one step may read: some milliseconds, kernel rows excluded


class NuState:
    """State of a solve over all points.

    Parameters
    ----------
    problem : NuQP
        The problem to solve.
    start : ndarray of shape (m,) or None
        A feasible point d to start from; None for the problem's own.
    second : bool
        Whether the second point is chosen by the second-order rule.

    Attributes
    ----------
    over, under : Box
        The state of a and of a', which share v.
    pairs : ndarray of int64, shape (2, 2)
        The maximal violating pair of each; -1 where a point does not exist.
    objective : float
        Objective of the problem, updated with each step.
    n_iter : int
        Iterations so far.
    """

    def __init__(self, problem: NuQP, start: np.ndarray | None, second: bool) -> None:
        self.problem, self.second, self.n_iter = problem, second, 0
        d = problem.first_point() if start is None else start
        self._restart(problem.parts(d), problem.gradient(d))

    def _restart(self, parts: tuple[np.ndarray, np.ndarray], v: np.ndarray) -> None:
        p = self.problem
        boxes = []
        for sign, upper, weights in zip((1.0, -1.0), (p.over, p.under), parts, strict=True):
            box = Box(np.full(p.m, sign), np.zeros(p.m), upper, p.ridge, p.diag, weights, v, np.empty(p.m, np.uint8))
            smo_box.take_sides(box, None)
            boxes.append(box)
        self.over, self.under = boxes
        self.pairs = np.array([smo_box.extremes(v, box.side, None) for box in boxes], dtype=np.int64)
        self.objective, self.fresh = p.value(self.beta, v), True

    @property
    def beta(self) -> np.ndarray:
        """The iterate d, a new array of shape (m,)."""
        return self.over.beta - self.under.beta

    def step(self) -> StepInfo:
        """Take some steps, few at first, and report on them."""
        if self.fresh:  # it may be optimal already
            self.fresh = False
            return self._report(0, True)
        most = min(1 + self.n_iter // 16, max(20, min(1000, WORK // self.problem.m)))
        steps, fell, missing, gram = 0, 0.0, 0, self.problem.gram
        while missing >= 0:
            boxes, rows = (self.over, self.under), gram.row_table
            done, change, missing = take_steps(boxes, rows, self.pairs, self.second, most - steps, 0.0, None, 0.0)
            steps, fell = steps + done, fell + change
            if missing >= 0:
                gram.row(missing)
        self.objective += fell
        return self._report(steps, fell < 0.0)

    def _report(self, steps: int, moved: bool) -> StepInfo:
        self.n_iter += steps
        v, gap, violation, levels = self.over.v, 0.0, 0.0, []
        for box, (i, k) in zip((self.over, self.under), self.pairs.tolist(), strict=True):
            level = 0.5 * float(v[i] + v[k]) if min(i, k) >= 0 else float(v[max(i, k)])
            levels.append(level)
            violation = max(violation, float(v[k] - v[i])) if min(i, k) >= 0 else violation
            gap += smo_box.gap(box, False, -level, None)
        return StepInfo(
            self.objective,
            int(np.count_nonzero(self.over.beta != self.under.beta)),
            float(steps),
            gap=self.problem.relative(gap, self.objective, (levels[0], levels[1])),
            gap_abs=gap,
            moved=moved,
            steps=steps,
            violation=violation,
        )

    def details(self) -> dict[str, float]:
        """Return what nu has settled: rho or epsilon."""
        return self.problem.settle(self.over.v)

    def widen(self) -> None:
        """All points take part always."""

    def resync(self, certificate: Certificate) -> None:
        """Take over the certificate's exact gradient; switch to float64 kernel rows if float32 rows limit the solve."""
        assert certificate.gradient is not None
        v = self.over.v
        worst = max((float(v[k] - v[i]) for i, k in self.pairs.tolist() if min(i, k) >= 0), default=0.0)
        if np.abs(v - certificate.gradient).max() > 0.1 * worst:
            self.problem.gram.promote()
        self._restart((self.over.beta, self.under.beta), certificate.gradient)
