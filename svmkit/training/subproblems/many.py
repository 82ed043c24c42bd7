"""The training of many small linear problems at a time, in calls of compiled code that share the data."""

from __future__ import annotations

import math
import time
from functools import partial
from itertools import accumulate, repeat

import numpy as np

from svmkit.data.prepare.features import is_sparse
from svmkit.kernels.gram import parse_bytes
from svmkit.kernels.loops.norms import square_norms
from svmkit.losses.base import PIECEWISE
from svmkit.problems.base import FREE, DecisionFunction
from svmkit.problems.certificate import Certificate
from svmkit.problems.risks.many import Answers, Parts, SolvesMany
from svmkit.runtime.garbage import collecting_later
from svmkit.runtime.interrupt import Flag
from svmkit.runtime.mapping import is_mapped
from svmkit.runtime.threads import spread
from svmkit.solver.base import Solver
from svmkit.solver.history import History, HistoryPoint
from svmkit.solver.sampler import Goal
from svmkit.solver.solution import Solution, Status
from svmkit.training.division import REST
from svmkit.training.subproblems.one import Part, SubproblemTrainer
from svmkit.training.subproblems.time_budget import TimeBudget

TOGETHER = 1 << 22  # samples of all problems whose results are held at a time
SHARE, FLOAT64 = 0.25, 8  # share of the memory that a dense copy of the data may take, and the bytes of a number
PAUSE = 5e7  # nanoseconds of work between two checks for signals


def train_many(
    trainer: SubproblemTrainer, ks: list[int], C: float, budget: TimeBudget, parts: list[Part | None], flag: Flag
) -> None:
    """Train small linear problems in few calls of compiled code, if the solver has such code and the stop rules allow
    it. A problem that this does not certify is left to other code.

    Parameters
    ----------
    trainer : SubproblemTrainer
        Trains one problem at a time.
    ks : list of int
        The problems.
    C, budget, parts, flag : object
        As for `svmkit.training.subproblems.at_once.train_at_once`.
    """
    solvers = {id(trainer.solvers[k]): trainer.solvers[k] for k in ks}  # equal solvers are the same object
    codes = {key: solver.batch_code() for key, solver in solvers.items()}
    if not any(codes.values()):
        return
    data, method = trainer.data, trainer.method
    goal = method.settings.gap_alone
    if goal is None or budget.left < math.inf:
        return
    if trainer.start is not None or trainer.limited or method.sampler is not None:
        return
    if data.kernel.name != "linear" or not data.task.is_supervised or is_mapped(data.X):
        return
    if float(data.n_samples) * data.width * FLOAT64 > SHARE * parse_bytes(data.memory):
        return
    if not all(map(len, data.grams.members)):  # other code reports the class without samples
        return
    sq = square_norms(data.X)
    if not (math.isfinite(C) and math.isfinite(sq.max())):  # and the numbers that are too large
        return
    pairs = data.pairs
    for key, code in codes.items():
        solver = solvers[key]
        if code is None or method.loss.family not in PIECEWISE:
            continue
        width = data.width + (getattr(solver, "bias", 0.0) != 0.0)
        own = [k for k in ks if trainer.solvers[k] is solver and pairs[k][0] >= 0]
        some = [k for k in own if code.is_small(trainer.tasks[k].m, width)]
        if some and not flag:
            _Many(trainer, some, solver, code, C, goal, sq).run(parts, flag)
            trainer.interrupted |= bool(flag)


class _Many:
    """Problems `ks` that one solver trains for one C, on samples of the squared norms `sq` (n,)."""

    def __init__(
        self,
        trainer: SubproblemTrainer,
        ks: list[int],
        solver: Solver,
        code: SolvesMany,
        C: float,
        goal: Goal,
        sq: np.ndarray,
    ) -> None:
        self.trainer, self.ks, self.code, self.goal = trainer, ks, code, goal
        self.sizes = np.array([trainer.tasks[k].m for k in ks], dtype=np.int64)
        self.d = trainer.data.width
        self.parts = self._pose(solver, C, sq)

    def _pose(self, solver: Solver, C: float, sq: np.ndarray) -> Parts:
        from svmkit.problems.risks.linear_problem import centre_targets  # here: they need numba
        from svmkit.problems.risks.points import make_two_sided

        data = self.trainer.data
        members, bias = data.grams.members, getattr(solver, "bias", 0.0)
        costs = np.where(data.weights > 0.0, C * data.weights, 1.0)  # samples of weight 0 take no part in any problem
        loss, origin, of_targets, first = self.trainer.method.loss, 0.0, np.empty(0), 1.0
        if data.task.has_targets:
            terms = loss.terms(data.answers.values, costs)
            if bias == FREE:
                terms, origin, of_targets = centre_targets(terms, data.grams.rows)
            above = under = make_two_sided(terms).rows
        else:
            above, under = (make_two_sided(loss.terms(np.full(len(costs), y), costs)).rows for y in (1.0, -1.0))
            first = 1.0 if len(members) > 2 else -1.0  # with two classes the second one is positive
        X = data.X.toarray() if is_sparse(data.X) else data.X
        where = [(a, REST if data.task.has_targets else b) for a, b in (data.pairs[k] for k in self.ks)]
        return Parts(
            X=np.ascontiguousarray(X, dtype=np.float64),
            sq=sq,
            above=above,
            under=under,
            origin=origin,
            of_targets=of_targets,
            codes=data.codes,
            used=data.grams.rows,
            members=np.concatenate(members),
            first=np.array([0, *accumulate(map(len, members))]),
            where=np.array(where),
            signs=np.array([first] * len(where)),
            bias=math.nan if bias == FREE else float(bias),
            gap=self.goal.gap,
        )

    def run(self, parts: list[Part | None], flag: Flag) -> None:
        """Train the problems, and keep the results with a proven gap."""
        first, most = 0, int(min(self.goal.iterations, self.code.most))
        while first < len(self.ks) and not flag:
            last, total, work = first, 0, 0.0
            while last < len(self.ks) and (last == first or (total < TOGETHER and work < PAUSE)):
                total, work = total + int(self.sizes[last]), work + self.code.work(int(self.sizes[last]), self.d)
                last += 1
            part = self.parts._replace(where=self.parts.where[first:last], signs=self.parts.signs[first:last])
            answers, began = Answers.empty(self.sizes[first:last], self.d, most), time.perf_counter()
            spread(self.code.solve, last - first, work / (last - first), part, answers)
            seconds = time.perf_counter() - began
            with collecting_later(last - first):
                self._keep(parts, answers, first, last, seconds)
            self.trainer.callbacks.on_trained(last - first, len(self.ks))
            first = last

    def _keep(self, parts: list[Part | None], answers: Answers, first: int, last: int, seconds: float) -> None:
        """Keep the proven results of the problems `first` to `last` - 1, which took these seconds in total."""
        steps, starts = answers.steps.tolist(), answers.start.tolist()
        total = float(np.dot(answers.steps, self.sizes[first:last])) or 1.0
        for p, k in enumerate(self.ks[first:last]):
            m = int(self.sizes[first + p])
            at, took = slice(starts[p], starts[p] + m), seconds * steps[p] * m / total
            primal, dual, of_primal, of_dual = answers.values[p].tolist()
            bias = answers.bias[p].item()
            own = bias if math.isnan(self.parts.bias) else None
            values = answers.gradient[at], own
            certificate = Certificate.from_values(primal, dual, *values, errors=(of_primal, of_dual))
            if certificate.gap is None or certificate.gap > self.goal.gap:
                continue
            make_history = partial(_history, answers.trail[p, : steps[p]].copy(), took)
            beta, rows = answers.beta[at], answers.rows[at]
            known = beta, Status.CONVERGED, steps[p], took, certificate
            solution = Solution.defer_history(make_history, *known)
            parts[k] = Part(solution, DecisionFunction(beta, bias, answers.w[p]).restrict(rows), 0, took)


def _history(trail: np.ndarray, took: float) -> History:
    """Return the history of a solve of these seconds, from the iterations in `StepInfo.trail`."""
    n = len(trail)
    _, objective, gap, support, _ = trail.T.tolist()
    columns = range(1, n + 1), [took * k / n for k in range(1, n + 1)], objective, gap, map(int, support)
    points = zip(*columns, repeat(0), repeat(None), repeat(None), strict=False)
    return History(map(partial(tuple.__new__, HistoryPoint), points))
