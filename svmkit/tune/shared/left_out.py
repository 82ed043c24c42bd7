"""The decision on each row by the model of all other rows, from one solution of all rows.

A row of weight 0 is not missed: the solution of all rows also solves the problem without it, with the same dual value
and a primal value that is not larger. A row that the solution decides wrongly is decided wrongly without it, too: for
the optima f of all rows and f' of the others, the loss of the row grows, L(f') >= L(f), since f minimises J + C L and
f' minimises J. For other rows, the weight is transferred to the rows between their bounds, along the direction in which
they stay optimal as long as none reaches a bound, and SMO continues from there on the rows that may move.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from svmkit.kernels.extent import fits_float32_rows
from svmkit.problems.dual import DualQP
from svmkit.solver.smo.box import Box, box_of, l1_part
from svmkit.tune.shared import loops, removal
from svmkit.tune.shared.active import ActiveSets, Solved, Stopped
from svmkit.tune.shared.matrix import SharedMatrix
from svmkit.tune.shared.removal import Aim, Found, Whole

SURE = 0.05  # error of decisions at the solution of all rows if the signs of decisions matter
LEAST = 1e-9  # smallest relative gap of a solution, or of a refit, that a sign requires
WITHIN = 0.1  # gap of the solution of all rows, relative to the requested gap
MORE = (12, 3)  # divisors of the rows that may move besides those between their bounds; at last all may
CHUNK = 32  # refits between two checks for the end of the search
TOGETHER = 512  # rows whose first steps are computed together
JITTER = 1e-9  # fraction of the largest kernel value, added to the diagonal for first steps
NONE = np.empty(0, np.int64)


class LeftOut(NamedTuple):
    """The decisions on the n rows of a problem, each by the model of the other rows.

    For a row that is not missed, and, if only labels matter, for a row that the solution decides wrongly, the decision
    is that of the solution of all rows.
    """

    decision: np.ndarray  # (n,), with the bias
    is_done: bool  # whether each refit has reached its aim
    steps: int
    n_refits: int


class Remover:
    """Leaves out each row of a problem in turn.

    Parameters
    ----------
    shared, at : SharedMatrix, ndarray of int
        The kernel values, and the rows that take part.
    jobs, stopped : int, callable
        The number of threads, and a function that returns whether the search has ended; if so, `Stopped` is raised.
    """

    def __init__(self, shared: SharedMatrix, at: np.ndarray, jobs: int, stopped: Callable[[], bool]) -> None:
        self.shared, self.at, self.jobs, self.stopped = shared, at, jobs, stopped
        self.sets = ActiveSets(shared, at, len(at), stopped)
        every = len(at) == shared.m
        self.K = shared.K if every else shared.K[np.ix_(at, at)]

    def solve(self, problem: DualQP, C: float, aim: Aim, patience: float) -> Solved:
        """Solve the problem of all rows, for ascending C, to a smaller gap than refits, or one that settles most signs.

        Parameters
        ----------
        problem, C, aim, patience : DualQP, float, Aim, float
            As for `ActiveSets.solve`, and the aim of the refits.
        """
        goal = max(WITHIN * aim.gap, LEAST)
        solved = self.sets.solve(problem, C, goal, patience)
        if aim.labels and solved.certificate.gap is not None:
            needed = SURE**2 / (8.0 * self.shared.largest * max(abs(solved.certificate.primal), 1e-300))
            if max(needed, LEAST) < solved.certificate.gap:
                further = self.sets.solve(problem, C, max(needed, LEAST), patience)
                solved = further._replace(steps=solved.steps + further.steps)
        return solved

    def leave_out(self, problem: DualQP, solved: Solved, aim: Aim) -> LeftOut:
        """Return the decision on each row by the model of the others.

        Parameters
        ----------
        problem, solved, aim : DualQP, Solved, Aim
            The problem, its solution, and the aim of the refits. If only labels count, decisions may have a wrong size.
        """
        own = problem.gradient_from(solved.h[self.at], solved.point)
        box = box_of(problem, solved.point.copy(), own)
        kinks, bias = l1_part(problem), (solved.certificate.bias or 0.0) - problem.centre
        is_free = (solved.point > problem.lower) & (solved.point < problem.upper)
        if kinks is not None:
            is_free &= solved.point != 0.0
        roots = np.sqrt(np.maximum(problem.gram.diag, 0.0))
        whole = Whole(box.v.copy(), solved.point, problem.origin, roots, self.K, np.flatnonzero(is_free))
        decision = solved.h[self.at] + bias
        labels = aim.labels and kinks is None
        held = self._rows_to_refit(box, whole, solved, decision, labels)
        found = Found(decision, np.zeros(len(held)), np.zeros(len(held), np.int64), np.zeros(len(held), np.bool_))
        found = found._replace(decision=decision[held])
        ways = self._ways(box, whole, held)
        for active in self._levels(box, whole, bias, kinks):
            left = np.flatnonzero(~found.is_done)
            if not len(left):
                break
            self._refit(box, whole, active, aim, (held, ways, found), left, kinks)
        decision[held] = found.decision
        return LeftOut(decision + problem.centre, bool(found.is_done.all()), int(found.steps.sum()), len(held))

    def _rows_to_refit(self, box: Box, whole: Whole, solved: Solved, decision: np.ndarray, labels: bool) -> np.ndarray:
        """Return the rows that need a refit."""
        is_missed = solved.point != 0.0
        if not labels:
            return np.flatnonzero(is_missed)
        certificate = solved.certificate
        size = math.sqrt(2.0 * max(certificate.primal - (certificate.dual or 0.0), 0.0))
        bias = certificate.bias or 0.0
        wrong = np.flatnonzero(is_missed & (box.y * decision < 0.0))  # they stay wrong
        sure = np.zeros(len(wrong), np.bool_)
        removal.sure_rows(box, whole, size, bias, wrong, False, sure)
        is_missed[wrong[sure]] = False
        others = np.flatnonzero(solved.point == 0.0)
        sure = np.zeros(len(others), np.bool_)
        removal.sure_rows(box, whole, size, bias, others, True, sure)
        is_missed[others[~sure]] = True
        return np.flatnonzero(is_missed)

    def _ways(self, box: Box, whole: Whole, held: np.ndarray) -> np.ndarray:
        """Return the first step of the free rows for each row that is left out, (q, n_free), in terms of y beta.

        The equations of the free rows stay satisfied as long as none of them reaches a bound.
        """
        free, ways = whole.free, np.zeros((len(held), len(whole.free)))
        n = len(free)
        if not n:
            return ways
        M = np.zeros((n + 1, n + 1))
        M[:n, :n], M[n, :n], M[:n, n] = self.K[np.ix_(free, free)], 1.0, 1.0
        M[np.arange(n), np.arange(n)] += box.ridge[free] + JITTER * self.shared.largest
        try:
            inverse = np.linalg.inv(M)
        except np.linalg.LinAlgError:
            return ways
        place = np.full(len(self.at), -1)
        place[free] = np.arange(n)
        weights = box.y * whole.beta
        for lo in range(0, len(held), TOGETHER):
            rows = held[lo : lo + TOGETHER]
            right = np.ones((n + 1, len(rows)))
            right[:n] = self.K[np.ix_(free, rows)]
            step = (inverse[:n] @ right).T
            own = np.flatnonzero(place[rows] >= 0)  # the equation of the row itself is dropped
            at = place[rows[own]]
            step[own] = -inverse[:n, at].T / inverse[at, at][:, None]
            ways[lo : lo + TOGETHER] = np.nan_to_num(step * weights[rows][:, None], nan=0.0, posinf=0.0, neginf=0.0)
        return ways

    def _levels(self, box: Box, whole: Whole, bias: float, kinks: Any):
        """Yield the rows that may move in refits, more each time, beginning with rows whose weights would move next."""
        n, kind = len(self.at), np.float32 if fits_float32_rows(self.shared.largest) else np.float64
        removal.take_sides(box, kinks)
        picked, slack = np.empty(n, np.int64), np.empty(n)
        some = picked[: loops.pick_active(box, bias, math.inf, picked, slack, kinks)]
        order = some[np.argsort(-slack[: len(some)], kind="stable")]
        order = np.concatenate([whole.free, order[~np.isin(order, whole.free)]])
        for size in (*(len(whole.free) + n // part for part in MORE), n):
            rows = np.sort(order[:size]) if size < n else np.arange(n)
            values = np.empty((len(rows), len(rows)), kind)
            loops.gather(self.K, rows, 0, 0.0, values)
            yield removal.active_rows(box, rows, values, kinks)
            if size >= n:
                return

    def _refit(self, box: Box, whole: Whole, active: Any, aim: Aim, about: Any, left: np.ndarray, kinks: Any) -> None:
        """Leave out some of the rows, in threads, each with a state of its own."""
        held, ways, found = about
        jobs = max(1, min(self.jobs, -(-len(left) // CHUNK)))

        def work(rows: np.ndarray) -> None:
            own = Box(*(array.copy() for array in box))
            part = active._replace(part=Box(*(array.copy() for array in active.part)))
            for lo in range(0, len(rows), CHUNK):
                if self.stopped():
                    raise Stopped
                at = rows[lo : lo + CHUNK]
                some = Found(*(array[at] for array in found))
                removal.leave_out(own, whole, part, aim, held[at], ways[at], some, kinks)
                for array, new in zip(found, (*some[:2], found.steps[at] + some.steps, some.is_done), strict=True):
                    array[at] = new

        if jobs == 1:
            work(left)
            return
        with ThreadPoolExecutor(jobs, "svmkit-left-out") as pool:
            for done in [pool.submit(work, left[k::jobs]) for k in range(jobs)]:
                done.result()
