"""Fully corrective SMO for nu-SVC and nu-SVR: a growing working set, and pairs under two equalities within it."""

from __future__ import annotations

import math

import numpy as np

from svmkit.kernels.loops.row_loops import in_order
from svmkit.problems.certificate import Certificate
from svmkit.problems.nu import NuQP
from svmkit.solver.base import StepInfo
from svmkit.solver.smo import box as smo_box
from svmkit.solver.smo.box import LOW, UP, Box
from svmkit.solver.smo.steps import take_steps

CHUNK = 20_000_000  # entries of v that the SMO steps of one step may read, approximately
BETWEEN = 64  # SMO steps between two evaluations of the gap of the set
WORK = 300_000_000  # kernel values that one step may compute: a fraction of a second


class NuState:
    """State of a solve: all points as of the last survey, and SMO's state over the working set.

    Parameters
    ----------
    problem : NuQP
        The problem to solve.
    start : ndarray of shape (m,) or None
        A feasible point d to start from; None for the problem's own.
    first, growth, inner
        As for `svmkit_corrective.driver.Corrective`.

    Attributes
    ----------
    over, under : Box
        The state of a and of a' of all points, which share v.
    idx : ndarray of int64, shape (n,)
        The working set.
    among : tuple of Box or None
        The state of its a and a'; None while all points are looked at.
    """

    def __init__(self, problem: NuQP, start: np.ndarray | None, first: int, growth: float, inner: float) -> None:
        self.problem, self.first, self.growth, self.inner = problem, first, growth, inner
        self.n_iter, self.started = 0, False
        gram, d = problem.gram, problem.first_point() if start is None else start
        self.v = problem.gradient(d)
        self.over, self.under = self._boxes(problem.parts(d), self.v)
        self.idx, self.K = np.empty(0, dtype=np.int64), np.empty((0, 0))
        self.budget = gram.budget // 2
        self.among: tuple[Box, Box] | None = None
        self.waiting = self.idx  # points whose change of weight v lacks
        self.change = np.zeros(problem.m)
        self.objective, self.gap, self.levels = problem.value(self.point, self.v), math.inf, (0.0, 0.0)

    def _boxes(self, parts: tuple[np.ndarray, np.ndarray], v: np.ndarray, at: np.ndarray | None = None) -> list[Box]:
        p, rows, boxes = self.problem, slice(None) if at is None else at, []
        ridge, diag = p.ridge[rows], p.diag[rows]
        for sign, upper, weights in zip((1.0, -1.0), (p.over, p.under), parts, strict=True):
            state = weights, v, np.empty(len(v), np.uint8)
            boxes.append(Box(np.full(len(v), sign), np.zeros(len(v)), upper[rows], ridge, diag, *state))
            smo_box.take_sides(boxes[-1], None)
        return boxes

    @property
    def point(self) -> np.ndarray:
        """The iterate d, a new array of shape (m,)."""
        d = self.over.beta - self.under.beta
        if self.among is not None:
            d[self.idx] = self.among[0].beta - self.among[1].beta
        return d

    def step(self) -> StepInfo:
        """Survey all points, or bring v up to date, or grow the working set and take steps within it."""
        if self.among is not None:
            return self._solve()
        if len(self.waiting):
            self._sync()
            if len(self.waiting):
                return StepInfo(self.objective, self._n_support(), 0.0, steps=0)
        if self.started:
            self._grow()
            return self._solve()
        return self._survey()

    def _survey(self) -> StepInfo:
        before, self.objective = self.objective, self.problem.value(self.point, self.v)
        self.levels = self.problem.levels(self.v)
        self.gap = sum(
            smo_box.gap(b, False, -level, None) for b, level in zip((self.over, self.under), self.levels, strict=True)
        )
        moved, self.started = self.objective < before or self.n_iter == 0, True
        violation = 0.0
        for box in (self.over, self.under):
            i, k = smo_box.extremes(self.v, box.side, None)
            violation = max(violation, float(self.v[k] - self.v[i])) if min(i, k) >= 0 else violation
        gap = self.problem.relative(self.gap, self.objective, self.levels)
        return StepInfo(
            self.objective, self._n_support(), 1.0, gap=gap, gap_abs=self.gap, moved=moved, steps=0, violation=violation
        )

    def _n_support(self) -> int:
        return int(np.count_nonzero(self.point))

    def _grow(self) -> None:
        """Let the worst points of each kind and direction join, and begin to solve for the set."""
        out = np.ones(self.problem.m, dtype=bool)
        out[self.idx] = False
        most = int(math.sqrt(self.budget / 8))
        wanted = max(self.first, int(self.growth * self._n_support()))
        joining: list[np.ndarray] = []
        safety = np.full(self.problem.m, -np.inf)
        for box, level in zip((self.over, self.under), self.levels, strict=True):
            for bit, sign in ((UP, -1.0), (LOW, 1.0)):
                depth = np.where(box.side & bit, sign * (self.v - level), -np.inf)
                np.maximum(safety, depth, out=safety)
                there = np.flatnonzero(out & (depth > -np.inf))
                n = min(len(there), wanted // 4 + 1)
                worst = there[np.argpartition(-depth[there], n - 1)[:n]] if n else there
                joining.append(worst)
        new = np.unique(np.concatenate(joining))[:most]
        if len(self.idx) + len(new) > most:  # the points that are safest leave
            keep = self.idx[np.argsort(-safety[self.idx], kind="stable")[: most - len(new)]]
            self.idx, self.K = np.empty(0, dtype=np.int64), np.empty((0, 0))
            new = np.concatenate([keep, new])
        self._join(new)
        parts = self.over.beta[self.idx], self.under.beta[self.idx]
        a, b = self._boxes(parts, self.v[self.idx], self.idx)
        self.among = a, b
        self.pairs = np.array([smo_box.extremes(box.v, box.side, None) for box in (a, b)], dtype=np.int64)
        self.goal = self.inner * min(self.gap, self._inner_gap())

    def _join(self, new: np.ndarray) -> None:
        """Append points to the working set, and their kernel values to its matrix."""
        n, gram = len(self.idx), self.problem.gram
        idx = np.concatenate([self.idx, new])
        K = np.empty((len(idx), len(idx)), dtype=np.float64)
        K[:n, :n] = self.K
        K[n:] = gram.block(new, idx)
        K[:n, n:] = K[n:, :n].T
        self.idx, self.K = idx, K

    def _inner_gap(self) -> float:
        """Return the gap within the working set, with the middles of the maximal violating pairs as levels."""
        assert self.among is not None
        total = 0.0
        for box, (i, k) in zip(self.among, self.pairs.tolist(), strict=True):
            if min(i, k) >= 0:
                total += smo_box.gap(box, False, -0.5 * float(box.v[i] + box.v[k]))
        return total

    def _solve(self) -> StepInfo:
        assert self.among is not None
        rows = in_order(self.K, len(self.idx), 0.0)
        most = min(1 + self.n_iter // 64, 1 + CHUNK // len(self.idx))  # few at first, as others report
        steps, fell, solved = 0, 0.0, False
        while not solved and steps < most:
            asked = min(most - steps, BETWEEN)
            done, change, _ = take_steps(self.among, rows, self.pairs, True, asked, 0.0, None, 0.0)
            steps, fell = steps + done, fell + change
            solved = done < asked or self._inner_gap() <= self.goal
        self.objective, self.n_iter = self.objective + fell, self.n_iter + steps
        info = StepInfo(self.objective, self._n_support(), 0.0, steps=steps, moved=fell < 0.0)
        if solved:
            self._leave()
        return info

    def _leave(self) -> None:
        """Take over the weights of the working set; v of all points lacks their effect until `_sync` has added it."""
        assert self.among is not None
        idx, (a, b) = self.idx, self.among
        change = a.beta - b.beta - self.over.beta[idx] + self.under.beta[idx]
        self.over.beta[idx], self.under.beta[idx] = a.beta, b.beta
        self.over.side[idx], self.under.side[idx] = a.side, b.side
        self.change[idx] = change
        self.waiting, self.among, self.started = idx[change != 0.0], None, False

    def _sync(self) -> None:
        n = max(1, WORK // self.problem.m)
        now, self.waiting = self.waiting[:n], self.waiting[n:]
        self.v += self.problem.image(self.change[now], now, dtype=self.problem.gram.dtype)

    def details(self) -> dict[str, float]:
        """Return what nu has settled: rho or epsilon."""
        return self.problem.settle(self.v)

    def resync(self, certificate: Certificate) -> None:
        """Take over the certificate's exact gradient."""
        assert certificate.gradient is not None
        if self.among is not None:
            self._leave()
        self.waiting, self.started = self.waiting[:0], False
        self.v[:] = certificate.gradient
