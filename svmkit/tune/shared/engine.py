"""The fits of a search on kernel values that all folds share: folds side by side in threads, C by C."""

from __future__ import annotations

import itertools
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from svmkit.kernels.engines import engine_for
from svmkit.kernels.gram import parse_bytes
from svmkit.model.one_vs_one import scores
from svmkit.problems.dual import DualQP
from svmkit.runtime import threads
from svmkit.solver.base import libsvm_patience
from svmkit.solver.smo.boxes import Box, BoxAnswer, SolvesBoxes
from svmkit.tasks import Answers
from svmkit.training.division import DIVISIONS, Division
from svmkit.training.settings import Method
from svmkit.training.subproblems.by_engine import device_memory
from svmkit.training.weights import training_weights
from svmkit.tune.estimator import QUIET, Training, reason
from svmkit.tune.records import Records
from svmkit.tune.result import FACTS
from svmkit.tune.shared.active import ActiveSets, Solved, Stopped
from svmkit.tune.shared.matrix import SharedMatrix, as_thin
from svmkit.tune.shared.near import ROUGH, Hard, Standings
from svmkit.tune.shared.sharing import engine_solves, gap_of, groups_of, method_of, most_kept, most_of_a_round
from svmkit.tune.shared.small import FoldPart, FoldParts, SmallFits, fit_small, is_small
from svmkit.tune.space import NEAR, Path

TOGETHER = 1 << 26  # decision values that an engine returns at a time
FIRST = {fact: f"{fact}_0" for fact in FACTS}  # the names of the facts in a record of one C
SUMS = "fit_s", "n_iter", "kernel_values"  # the facts that are added up when a fit is continued
ROWS = 2500  # of small folds that are fitted by one call, all together: the search looks around between two
T = TypeVar("T")
Folds = Sequence[tuple[np.ndarray, np.ndarray]]
"""The training rows and the held-out rows of each fold."""


@dataclass
class Fold:
    """A fold, the next position among the Cs of a group, and its subproblems; none are made before they are needed."""

    number: int
    train: np.ndarray
    held: np.ndarray
    next: int = 0
    parts: list[FoldPart] | None = None
    sets: list[ActiveSets] | None = None  # what solves them where an engine does not


class SharedSearch:
    """Fits paths of a single C each, in all folds, and keeps a record of each fit.

    Parameters
    ----------
    X, answers, folds : ndarray or CSR of shape (n, d), Answers, Folds
        The rows as the kernel takes them, what is learnt of them, and the folds.
    training, records, jobs : Training, Records, int
        The settings of all fits, whose memory is that of one job; where results go; and the number of concurrent fits.
    """

    def __init__(self, X: Any, answers: Answers, folds: Folds, training: Training, records: Records, jobs: int) -> None:
        self.jobs = jobs
        self.resume(training, records)
        X, answers, folds = _group_rows(X, answers, folds)
        self.X, self.answers, self.folds, self.m = X, answers, folds, X.shape[0]
        self._thin = X if X.shape[0] == X.shape[1] else as_thin(X)  # the former may be kernel values
        self._matrix: SharedMatrix | None = None  # the last one
        self.truth = training.metric.codes(answers.values)
        scheme = training.task.division("ovo", len(answers.classes))
        self.division: Division = DIVISIONS[scheme](answers.classes, training.task.noun)
        self._parts: dict[tuple[int, str], list[FoldPart]] = {}

    def resume(self, training: Training, records: Records) -> None:
        """Prepare for further paths on the same rows and folds, with the kernel matrix of the last one.

        Parameters
        ----------
        training, records : Training, Records
            As for the class; metric, task and weights are the same as before.
        """
        settings = training.settings
        memory = self.jobs * parse_bytes(settings.memory)
        self.training, self.records = replace(training, settings=replace(settings, memory=memory)), records
        self._unknown = {f"{fact}_{i}": math.nan for fact in FACTS for i in range(training.width)}
        self.standings: Standings | None = None

    @property
    def n_threads(self) -> int:
        """The threads of all fits together."""
        return min(threads.most(), self.jobs * (self.training.settings.n_threads or 1))

    def parts(self, fold: Fold, class_weight: Any) -> list[FoldPart]:
        """Return the subproblems of a fold, with the weights that its training rows give to the classes."""
        key = fold.number, repr(class_weight)
        if key not in self._parts:
            answers, train, weights = self.answers, np.sort(fold.train), np.zeros(self.m)
            codes, division = answers.codes[train], self.division
            weights[train] = training_weights(codes, answers.classes, class_weight, None)
            rows = [train[division.takes_part(codes, k)] for k in range(len(division.parts))]
            targets = [division.target(answers, at, k) for k, at in enumerate(rows)]
            self._parts[key] = [FoldPart(at, y, weights[at]) for at, y in zip(rows, targets, strict=True)]
        return self._parts[key]

    @QUIET
    def run(self, paths: Sequence[Path]) -> None:
        """Fit all paths; the search may end in between (`Records.stop`).

        With `Training.refine` of `NEAR`, hard fits end at a rough gap at first, and go on where they may be the best.
        """
        if self.training.refine != NEAR or len(paths) < 2:
            self._run(paths)
            return
        standings = self.standings = Standings(len(self.folds), self._memory)
        self._run(paths, ROUGH)
        while (near := standings.near_best(paths)) and not self.records.stopped:
            self._run(near, goes_on=True)

    def _run(self, paths: Sequence[Path], rough: float | None = None, goes_on: bool = False) -> None:
        """Fit paths, hard ones to a rough gap if one is given, or continue such fits."""
        groups = groups_of(paths)
        if self._matrix is not None:  # its kernel comes first
            at_hand = repr(self._matrix.kernel)
            groups.sort(key=lambda group: repr(group[0].kernel.resolve(self.X)) != at_hand)
        for group in groups:
            if self.records.stopped:
                return
            kernel = group[0].kernel.resolve(self.X)
            began = time.perf_counter()
            if engine_solves(group[0], kernel, self.X, self.training.settings, self.training.task):
                try:
                    _Group(self, group, None, 0.0).run_by_engine(engine_for(kernel, self.X).box_code())
                except Exception as error:
                    self._fail(group, error)
                continue
            if self._matrix is None or repr(self._matrix.kernel) != repr(kernel):
                last, self._matrix = self._matrix, None
                try:
                    with threads.using(self.n_threads):
                        self._matrix = SharedMatrix(kernel, self._thin, self._memory, last).prepare()
                except Exception as error:
                    self._fail(group, error)
                    continue
            seconds = time.perf_counter() - began
            _Group(self, group, self._matrix, seconds, rough).run(goes_on)

    @property
    def _memory(self) -> int:
        return int(self.training.settings.memory)

    def _fail(self, group: Iterable[Path], error: Exception) -> None:
        for path in group:
            for k in range(len(self.folds)):
                self.keep(path, k, {}, reason(error))

    def keep(self, path: Path, fold: int, facts: dict[str, float], why: str | None = None) -> None:
        """Keep the record of a fit.

        Parameters
        ----------
        path, fold, facts, why : Path, int, dict, str or None
            The path of one C, the number of the fold, and the `FACTS`, or none and the reason why it failed.
        """
        found = self._unknown.copy()
        for fact, value in facts.items():
            found[FIRST[fact]] = float(value)
        found["score"] = found["metric_0"]
        if self.standings is not None:
            self.standings.add(path.number, fold, found["score"])
        record = {"path": path.number, "fold": fold, "n_rows": self.m, "n_fits": 1, "scores": found}
        self.records.keep(record | {"reasons": {} if why is None else {"0": why}})


class _Group:
    """The fits of the paths of one group, which differ in C alone."""

    def __init__(
        self,
        search: SharedSearch,
        group: list[Path],
        shared: SharedMatrix | None,
        seconds: float,
        rough: float | None = None,
    ) -> None:
        self.search, self.group, self.shared = search, group, shared
        self.method: Method = method_of(group[0], search.training.settings, search.training.task)
        settings = self.method.settings
        self.target = gap_of(settings.stop) or 0.0
        self.rough = rough if rough is not None and rough > self.target else None
        # whether fits for several C may be one call
        self.is_plain = shared is not None and self.method.loss.name == "hinge" and shared.kernel.semidefinite is True
        self.most = most_of_a_round(search.m, settings, search.jobs)
        fits = len(group) * len(search.folds)
        # the time and the kernel values for the matrix, for each fit
        self.around = seconds / fits, 0.0 if shared is None else shared.take_computed() / fits
        self.folds = [Fold(k, train, held) for k, (train, held) in enumerate(search.folds)]
        self.beginning: deque[list[Fold]] = deque()  # not begun
        self.waiting: deque[Fold] = deque()
        self.failed: BaseException | None = None

    def run(self, goes_on: bool) -> None:
        """Fit the paths in all folds, or continue the fits that have ended at a rough gap."""
        n_folds = len(self.folds)
        jobs = min(self.search.jobs, n_folds)
        if goes_on:
            self.waiting.extend(self.folds)
            self._complete_matrix()
            self._side_by_side(jobs, self._next_further)
            return
        calls = min(n_folds, max(jobs, math.ceil(n_folds * self.search.m / ROWS)))
        starts = [k * n_folds // calls for k in range(calls + 1)]
        self.beginning.extend(self.folds[lo:hi] for lo, hi in itertools.pairwise(starts))
        self._side_by_side(min(calls, self.search.n_threads), self._next_beginning)
        if self.waiting and not self.search.records.stopped:
            self._complete_matrix()
        self._side_by_side(min(jobs, len(self.waiting)), self._next_fit)

    def _complete_matrix(self) -> None:
        """Compute the missing kernel values; the time counts for all remaining fits."""
        began, shared = time.perf_counter(), self.shared
        assert shared is not None
        with threads.using(self.search.n_threads):
            shared.K  # noqa: B018  it is computed here, on all threads
        fits = sum(len(self.group) - fold.next for fold in self.waiting)
        seconds, computed = self.around
        taken = time.perf_counter() - began
        self.around = seconds + taken / fits, computed + shared.take_computed() / fits

    def _side_by_side(self, n: int, step: Callable[[], bool]) -> None:
        """Take steps in n threads, each until nothing is left, the search has ended or a step has failed."""
        if n == 1:
            self._work(step)
        elif n > 1:
            with ThreadPoolExecutor(n, "svmkit-fold") as pool:
                for _ in range(n):
                    pool.submit(self._work, step)
        if self.failed is not None:
            raise self.failed

    def run_by_engine(self, code: SolvesBoxes) -> None:
        """Let an engine solve all subproblems where it keeps the rows, as many at a time as there is memory for
        results.
        """
        fits = [(fold, path) for fold in self.folds for path in self.group]
        for fold in self.folds:
            fold.parts = self._parts(fold)
        width = max(len(fold.parts or ()) for fold in self.folds)
        each = max(1, TOGETHER // (width * self.search.m))
        memory, stopped = device_memory(self.search.training.settings), lambda: bool(self.search.records.stopped)
        for lo in range(0, len(fits), each):
            now, began = fits[lo : lo + each], time.perf_counter()
            boxes = [Box(p.rows, p.y, path.Cs[0] * p.weights) for fold, path in now for p in fold.parts or ()]
            answers = iter(code(boxes, self.target, memory, True, stopped))
            seconds = time.perf_counter() - began
            if stopped():
                return
            for fold, path in now:
                solved = [_solution_of(next(answers)) for _ in fold.parts or ()]
                facts = self._facts(fold, solved)
                facts["fit_s"] = seconds / len(now)
                self.search.keep(path, fold.number, facts)

    @QUIET
    def _work(self, step: Callable[[], bool]) -> None:
        try:
            with threads.using(1):
                while not (self.search.records.stopped or self.failed) and step():
                    pass
        except Stopped:
            return
        except BaseException as error:
            self.failed = error

    def _next_beginning(self) -> bool:
        """Begin folds that have not been begun; return whether there were any."""
        folds = _take(self.beginning)
        if folds is not None:
            self._begin(folds)
        return folds is not None

    def _next_fit(self) -> bool:
        """Fit the next C of a fold, and those before it that are easy; return whether there was one."""
        fold = _take(self.waiting)
        if fold is None:
            return False
        self._follow(fold)
        if fold.next < len(self.group):
            self._fit(fold)
        if fold.next < len(self.group):
            self.waiting.append(fold)
        return True

    def _next_further(self) -> bool:
        """Continue the next fit that has ended at a rough gap; return whether there was one to look at."""
        fold, standings = _take(self.waiting), self.search.standings
        if fold is None or standings is None:
            return False
        hard = standings.take(self.group[fold.next].number, fold.number)
        if hard is None:
            fold.next += 1
        else:
            self._fit(fold, hard)
        if fold.next < len(self.group):
            self.waiting.append(fold)
        return True

    def _begin(self, folds: list[Fold]) -> None:
        """Fit the first C of some folds, as many as compiled code can certify at once, and keep their records."""
        began, search, shared = time.perf_counter(), self.search, self.shared
        assert shared is not None
        try:
            own = [FoldParts(self._parts(fold), fold.held) for fold in folds]
            sizes = [len(part.rows) for fold in own for part in fold.parts]
            n_decisions = sum(len(fold.held) * len(fold.parts) for fold in own)
            memory, workers = search.training.settings.memory, min(search.n_threads, len(search.folds))
            if is_small(shared, self.method, sizes, len(self.group), n_decisions, memory, workers):
                fits = fit_small(shared, own, [path.Cs[0] for path in self.group], self.target)
                if fits is not None:
                    self._keep_fits(folds, fits, began)
            for fold, (parts, _) in zip(folds, own, strict=True):
                fold.parts = list(parts)
        except Exception as error:
            for fold in folds:
                search.keep(self.group[fold.next], fold.number, {}, reason(error))
                fold.next += 1
        self.waiting.extend(fold for fold in folds if fold.next < len(self.group))

    def _keep_fits(self, folds: list[Fold], fits: SmallFits, began: float) -> None:
        """Keep the records of the fits of some folds that are certified."""
        judged = self._judge(folds, fits.decision)
        assert self.shared is not None
        seconds, values = time.perf_counter() - began, self.shared.take_computed() / fits.gap.size
        shares = fits.steps + fits.steps.shape[1]  # a fit without steps takes some time, too
        each = (seconds * shares / shares.sum() + self.around[0]).tolist()
        for k, fold in enumerate(folds):
            for c in range(int(fits.n_certified[k])):
                counts = int(fits.steps[k, c]), int(fits.n_support[k, c]), float(fits.gap[k, c])
                facts = judged[c][k] | self._count(*counts) | {"fit_s": each[k][c]}
                facts["kernel_values"] += values
                self.search.keep(self.group[fold.next], fold.number, facts)
                fold.next += 1

    def _follow(self, fold: Fold) -> None:
        """Fit the next Cs of a fold of one subproblem with the hinge, as long as they are easy."""
        if not (self.is_plain and fold.parts and fold.sets and len(fold.sets) == 1):
            return
        began, (part,), (sets,) = time.perf_counter(), fold.parts, fold.sets
        if self.rough is None and sets.takes_leaps:
            return
        Cs = np.array([path.Cs[0] for path in self.group[fold.next :]])
        try:
            found, n = sets.follow(part.y, part.weights, Cs, self.target, fold.held)
        except Exception:  # the next fit says why, if it is for good
            fold.sets = None
            return
        if n:
            gap, steps, n_support = (array[None, :n] for array in (found.gap, found.steps, found.n_support))
            fits = SmallFits(found.decision[:n, :, None], gap, steps, n_support, np.array([n]))
            self._keep_fits([fold], fits, began)

    def _fit(self, fold: Fold, hard: Hard | None = None) -> None:
        """Fit the next C of a fold, judge the fit on the held-out rows, and keep the record.

        A fit that has ended at a rough gap is continued.
        """
        path, began = self.group[fold.next], time.perf_counter()
        try:
            if fold.parts is None:
                fold.parts = self._parts(fold)
            if fold.sets is None:
                fold.sets = [self._active_sets(part.rows, fold.parts) for part in fold.parts]
            C = path.Cs[0]
            points = itertools.repeat(None) if hard is None or hard.points is None else hard.points
            every = zip(fold.parts, fold.sets, points, strict=False)
            solved = [self._solve(part, sets, C, point) for part, sets, point in every]
            facts = self._facts(fold, solved)
        except Stopped:
            raise
        except Exception as error:
            fold.parts = fold.sets = None  # the next C begins anew
            self.search.keep(path, fold.number, {}, reason(error))
            fold.next += 1
            return
        facts["fit_s"] = time.perf_counter() - began + self.around[0]
        if hard is not None:
            facts |= {name: facts[name] + hard.facts[name] for name in SUMS}
        standings = self.search.standings
        if self.rough is not None and standings is not None and self.target < facts["gap"] <= self.rough:
            standings.put_off(path.number, fold.number, [one.point for one in solved], facts)
        self.search.keep(path, fold.number, facts)
        fold.next += 1

    def _active_sets(self, rows: np.ndarray, parts: list[FoldPart]) -> ActiveSets:
        assert self.shared is not None
        search = self.search
        kept = most_kept(search.m, self.method.settings, search.jobs, len(parts) * len(search.folds))
        return ActiveSets(self.shared, rows, self.most, lambda: search.records.stopped, kept)

    def _solve(self, part: FoldPart, sets: ActiveSets, C: float, point: np.ndarray | None) -> Solved:
        problem = self.method.pose(self.method.solver, sets.gram, part.y, C * part.weights)
        assert isinstance(problem, DualQP)
        if point is not None:
            sets.begin(problem, point, C)
        return sets.solve(problem, C, self.target, libsvm_patience(len(part.rows)), self.rough)

    def _parts(self, fold: Fold) -> list[FoldPart]:
        return self.search.parts(fold, self.method.settings.class_weight)

    def _facts(self, fold: Fold, solved: list[Solved]) -> dict[str, Any]:
        """Return the `FACTS` of a fit but its seconds."""
        decision = np.stack([one.h[fold.held] + (one.certificate.bias or 0.0) for one in solved], axis=1)
        is_support = np.zeros(self.search.m, np.bool_)
        for part, one in zip(fold.parts or [], solved, strict=True):
            is_support[part.rows[one.point != 0.0]] = True
        gaps = [math.inf if one.certificate.gap is None else one.certificate.gap for one in solved]
        steps = sum(one.steps for one in solved)
        (judged,) = self._judge([fold], decision[None])[0]
        return judged | self._count(steps, int(np.count_nonzero(is_support)), max(gaps))

    def _judge(self, folds: Sequence[Fold], decision: np.ndarray) -> list[list[dict[str, Any]]]:
        """Return the accuracy and the metric of the decisions (n_C, n_held, n_parts) on the rows that each of some
        folds holds out, for each C.
        """
        metric, n_classes = self.search.training.metric, len(self.search.answers.classes)
        counts = np.array([len(fold.held) for fold in folds])
        ends = np.cumsum(counts)
        truth = self.search.truth[np.concatenate([fold.held for fold in folds])]
        needed: np.ndarray | None = None
        if not n_classes:
            predicted = decision[:, :, 0]
        elif n_classes == 2:
            predicted = (decision[:, :, 0] > 0.0).astype(np.int64)
        else:
            needed = scores(decision.reshape(-1, decision.shape[2]), n_classes).reshape(*decision.shape[:2], n_classes)
            predicted = needed.argmax(axis=2)
        right = np.full((len(decision), len(folds)), math.nan)
        if n_classes:
            right = np.add.reduceat(predicted == truth, ends - counts, axis=1, dtype=np.float64) / counts
        if metric.name == "accuracy":
            return [[{"accuracy": value, "metric": value} for value in values] for values in right.tolist()]
        parts = [slice(end - count, end) for end, count in zip(ends.tolist(), counts.tolist(), strict=True)]
        rows = [np.bincount(truth[at], minlength=n_classes) if n_classes else None for at in parts]
        found = []
        for c, values in enumerate(right.tolist()):
            some = []
            for at, own, value in zip(parts, rows, values, strict=True):
                votes = needed[c, at] if needed is not None and metric.needs_decisions else None
                some.append({"accuracy": value, "metric": metric.value(truth[at], predicted[c, at], votes, own)})
            found.append(some)
        return found

    def _count(self, steps: int, n_support: int, gap: float) -> dict[str, Any]:
        """Return what a fit took, and whether its certificates reached the gap that was asked for."""
        return {
            "n_iter": steps,
            "kernel_values": self.around[1],
            "n_support": n_support,
            "converged": gap <= self.target,
            "determined": True,
            "tol": math.inf,
            "gap": gap,
        }


def _group_rows(X: Any, answers: Answers, folds: Folds) -> tuple[Any, Answers, Folds]:
    """Return the same with the rows that a fold holds out together, and those of each class among them.

    A class pair reads pieces of kernel rows then, in place of single values all over them.
    """
    if len(answers.classes) <= 2 or X.shape[0] == X.shape[1]:  # the latter may be kernel values
        return X, answers, folds
    fold = np.zeros(X.shape[0], np.int64)
    for k, (_, held) in enumerate(folds):
        fold[held] = k
    order = np.lexsort((answers.codes, fold))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    targets = None if answers.targets is None else answers.targets[order]
    moved = [(np.sort(place[train]), np.sort(place[held])) for train, held in folds]
    return X[order], answers._replace(codes=answers.codes[order], targets=targets), moved


def _solution_of(answer: BoxAnswer) -> Solved:
    assert answer.decision is not None
    return Solved(answer.beta, answer.decision, answer.certificate, answer.n_iter)


def _take(waiting: deque[T]) -> T | None:
    """Take the first waiting item, from a queue that threads share; None if it is empty."""
    try:
        return waiting.popleft()
    except IndexError:
        return None
