"""Fully corrective solves of nu-SVC and nu-SVR: a working set, and pairs under two equalities within it."""

from __future__ import annotations

import math

import numpy as np

from svmkit.kernels.loops.row_loops import in_order
from svmkit.problems.certificate import Certificate
from svmkit.problems.nu_dual import NuQP
from svmkit.solver.smo import box as smo_box
from svmkit.solver.smo.box import LOW, UP, Box
from svmkit.solver.smo.steps import take_steps
from svmkit_corrective.rounds import WORK, Phase, Rounds
from svmkit_corrective.working_set.square import FEWEST


class NuRounds(Rounds):
    """The iterate d (m,), from its start: the boxes of a and a' of all points, and of the working set, share v.

    `waiting` are the points whose `change` of weight is missing in v.
    """

    def __init__(self, problem: NuQP, d: np.ndarray) -> None:
        self.problem, self.v = problem, problem.gradient(d)
        self.boxes = smo_box.nu_boxes_of(problem, problem.parts(d), self.v)
        self.idx, self.K = np.empty(0, dtype=np.int64), np.empty((0, 0))
        self.most = max(FEWEST, int(math.sqrt(problem.gram.budget // 2 / 8)))
        self.inner: tuple[Box, ...] = ()
        self.waiting, self.change = self.idx, np.zeros(problem.m)

    @property
    def point(self) -> np.ndarray:
        d = self.boxes[0].beta - self.boxes[1].beta
        if self.inner:
            d[self.idx] = self.inner[0].beta - self.inner[1].beta
        return d

    @property
    def n_support(self) -> int:
        return int(np.count_nonzero(self.point))

    @property
    def behind(self) -> bool:
        return len(self.waiting) > 0

    @property
    def size(self) -> int:
        return len(self.idx)

    def sync(self) -> None:
        n = max(1, WORK // self.problem.m)
        now, self.waiting = self.waiting[:n], self.waiting[n:]
        self.v += self.problem.image(self.change[now], now, dtype=self.problem.gram.dtype)

    def violation(self) -> float:
        pairs = (smo_box.extremes(self.v, box.side, None) for box in self.boxes)
        return max([0.0, *(float(self.v[k] - self.v[i]) for i, k in pairs if min(i, k) >= 0)])

    def find_level(self) -> float:
        self.levels = self.problem.levels(self.v)
        return self.levels[0]

    def objective(self) -> float:
        return self.problem.value(self.point, self.v)

    def total_gap(self) -> float:
        return sum(smo_box.gap(b, False, -level, None) for b, level in zip(self.boxes, self.levels, strict=True))

    def relative_gap(self, gap: float) -> float:
        return self.problem.relative(gap, self.value, self.levels)

    def take(self, certificate: Certificate) -> None:
        assert certificate.gradient is not None
        if self.inner:
            self.leave()
        self.waiting, self.phase = self.waiting[:0], Phase.SYNCING
        self.v[:] = certificate.gradient

    def details(self) -> dict[str, float]:
        return self.problem.settle(self.v)

    def grow(self, first: int, growth: float) -> None:
        out = np.ones(self.problem.m, dtype=bool)
        out[self.idx] = False
        # half of the room at most, or the set would lose all points that it was solved for
        wanted = min(max(first, int(growth * self.n_support)), self.most // 2)
        joining: list[np.ndarray] = []
        safety = np.full(self.problem.m, -np.inf)
        for box, level in zip(self.boxes, self.levels, strict=True):
            for bit, sign in ((UP, -1.0), (LOW, 1.0)):
                depth = np.where(box.side & bit, sign * (self.v - level), -np.inf)
                np.maximum(safety, depth, out=safety)
                there = np.flatnonzero(out & (depth > -np.inf))
                n = min(len(there), wanted // 4 + 1)
                worst = there[np.argpartition(-depth[there], n - 1)[:n]] if n else there
                joining.append(worst)
        new = np.unique(np.concatenate(joining))[: self.most]
        if len(self.idx) + len(new) > self.most:  # the safest points leave
            keep = self.idx[np.argsort(-safety[self.idx], kind="stable")[: self.most - len(new)]]
            self.idx, self.K = np.empty(0, dtype=np.int64), np.empty((0, 0))
            new = np.concatenate([keep, new])
        n, idx = len(self.idx), np.concatenate([self.idx, new])
        K = np.empty((len(idx), len(idx)), dtype=np.float64)
        K[:n, :n] = self.K
        K[n:] = self.problem.gram.block(new, idx)
        K[:n, n:] = K[n:, :n].T
        self.idx, self.K = idx, K
        parts = self.boxes[0].beta[self.idx], self.boxes[1].beta[self.idx]
        self.inner = smo_box.nu_boxes_of(self.problem, parts, self.v[self.idx], self.idx)
        self.pairs = np.array([smo_box.extremes(box.v, box.side, None) for box in self.inner], dtype=np.int64)
        self.phase = Phase.SOLVING

    def inner_gap(self) -> float:
        """Return the gap within the working set, with the middles of the maximal violating pairs as levels."""
        total = 0.0
        for box, (i, k) in zip(self.inner, self.pairs.tolist(), strict=True):
            if min(i, k) >= 0:
                total += smo_box.gap(box, False, -0.5 * float(box.v[i] + box.v[k]), None)
        return total

    def advance(self, most: int) -> tuple[int, float, bool]:
        rows = in_order(self.K, len(self.idx), 0.0)
        done, fell, _ = take_steps(self.inner, rows, self.pairs, True, most, 0.0, None, 0.0)
        return done, fell, done < most

    def leave(self) -> None:
        idx, (a, b), (over, under) = self.idx, self.inner, self.boxes
        change = a.beta - b.beta - over.beta[idx] + under.beta[idx]
        for box, own in zip(self.boxes, self.inner, strict=True):
            box.beta[idx], box.side[idx] = own.beta, own.side
        self.change[idx] = change
        self.waiting, self.inner = idx[change != 0.0], ()
        self.phase = Phase.SYNCING if self.behind else Phase.GROWING
