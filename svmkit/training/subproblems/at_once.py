"""The training of many small class pairs at a time: many in one call of compiled code, or one per thread."""

from __future__ import annotations

import math
import time
from functools import cached_property, partial
from itertools import pairwise, repeat

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.extent import require_finite_values
from svmkit.kernels.rounding import U
from svmkit.problems.base import DecisionFunction
from svmkit.problems.certificate import Certificate
from svmkit.runtime.garbage import collecting_later
from svmkit.runtime.interrupt import Flag
from svmkit.runtime.threads import spread, thread_count, using
from svmkit.solver.base import Solver
from svmkit.solver.history import History, HistoryPoint
from svmkit.solver.loop.iterate import Progress
from svmkit.solver.sampler import Goal
from svmkit.solver.smo.pairs import Answers, Pairs, Room
from svmkit.solver.solution import Solution, Status
from svmkit.solver.stopping import Gap, Stop
from svmkit.training.callbacks import Callbacks
from svmkit.training.data import TrainingData
from svmkit.training.subproblems.one import Part, SubproblemTrainer
from svmkit.training.subproblems.time_budget import TimeBudget

WORK = 0.5  # nanoseconds of training a class pair, for each of its n^2 kernel values: decides on the number of threads
BUDGET = 6e6  # kernel values and vector entries that a call may compute and read: some milliseconds
MOST = 1 << 22  # samples of all class pairs whose results a thread holds at a time


class AtOnce:
    """Trains the class pairs `ks`, which keep their kernel rows, for one C, those with most samples first.

    The solver has code for many class pairs (`Solver.for_pairs`). The first pair begins even if `flag` is set; the
    callbacks are told how many are trained. `parts` has the result of each pair that began: if its certificate does not
    prove the gap, its status says that the solve was interrupted. InputError is raised if C or a sample weight is
    invalid, or a kernel value overflows float64.
    """

    def __init__(
        self,
        data: TrainingData,
        ks: list[int],
        solver: Solver,
        C: float,
        goal: Goal,
        flag: Flag,
        callbacks: Callbacks,
    ) -> None:
        self.goal, self.flag, self.parts, self.callbacks = goal, flag, dict[int, Part](), callbacks
        shared, solve, began = data.grams.complete, solver.for_pairs(), time.perf_counter()
        assert solve is not None
        self.solve, self._rooms = solve, list[Room]()
        solver.check_kernel(data.kernel)
        require_finite_values(data.kernel, shared.engine.largest)
        pairs = data.pairs
        where = shared.places(np.array([pairs[k] for k in ks]))
        sizes = where[:, 1] + where[:, 3]
        order = (-sizes).argsort(kind="stable")
        self.ks, where, self.sizes = np.array(ks)[order].tolist(), where[order], sizes[order].tolist()
        costs = C * data.weights[shared.order]
        if not (costs.min() > 0.0 and costs.max() < math.inf):
            raise InputError(f"C must be finite and > 0 for every sample, not {costs.min():g}")
        most, largest = min(goal.iterations, solver.patience(self.sizes[0])), self.sizes[0]
        from svmkit.problems.sums import Bounds  # here: it needs numba

        self.bounds = Bounds(shared.error, shared.engine.largest, shared.m, shared.definiteness.shift, U)
        with using(min(thread_count(), shared.most_at_once(largest))):
            source, values = shared.source(shared.where(*pairs[ks[0]]))
            self.pairs = Pairs(source, where, costs, shared.diag, shared.order, goal.gap, most)
            around = time.perf_counter() - began
            spread(self.train, len(ks), WORK * sum(float(m) * m for m in self.sizes) / len(ks))
        if self.parts:
            k = next(k for k in self.ks if k in self.parts)  # a signal may have ended the thread of the first one
            first = self.parts[k]
            seconds, values = first.seconds + around, first.kernel_values + values
            self.parts[k] = first._replace(kernel_values=values, seconds=seconds, around=around)

    def train(self, first: int, last: int) -> None:
        """Train the class pairs with these numbers in the order of their sizes."""
        while first < last:
            upto, total = first + 1, self.sizes[first]
            while upto < last and total + self.sizes[upto] <= MOST:
                total += self.sizes[upto]
                upto += 1
            if self._some(first, upto) < upto:
                return
            first = upto

    def _some(self, first: int, last: int) -> int:
        """Train some class pairs and keep their parts; return the number of the one at which a signal ended it."""
        pairs, sizes = self.pairs._replace(where=self.pairs.where[first:last]), self.sizes[first:last]
        answers, room, hurry = Answers.empty(np.array(sizes)), self._room(sizes[0]), False
        at, trail, owners, began = 0, list[np.ndarray](), list[np.ndarray](), time.perf_counter()
        while at < last - first and not hurry:
            hurry, before = bool(self.flag), at
            at, lines = self.solve(pairs, self.bounds, answers, room, at, BUDGET, hurry)
            self.callbacks.on_trained(at - before, len(self.ks))
            trail.append(room.trail[:lines].copy())
            owners.append(room.pair_of[:lines].copy())
        seconds = time.perf_counter() - began
        self._rooms.append(room)
        with collecting_later(at):
            self._keep(answers, first, at, seconds, Histories(trail, owners))
        return first + at

    def _keep(self, answers: Answers, first: int, at: int, seconds: float, histories: Histories) -> None:
        """Keep the parts of the first `at` answers, for class pairs from number `first` on, with their histories."""
        sizes = self.sizes[first : first + at]
        counts, firsts, supports = answers.counts[:at].tolist(), answers.first.tolist(), answers.size.tolist()
        biases, values = answers.bias.tolist(), answers.values[:at]
        work = [2.0 * m * (steps + 1) + 4.0 * computed for m, (steps, computed) in zip(sizes, counts, strict=False)]
        total = sum(work)
        took = [seconds * part / total for part in work]
        histories.steps, histories.took = counts, took
        gradients = [answers.gradient[start : start + m] for start, m in zip(firsts, sizes, strict=False)]
        certificates = Certificate.from_many(values[:, :4], gradients, biases)
        bent = (values[:, 4] < -2.0 * values[:, 2]).tolist()  # which proves that the kernel is not semidefinite
        for p, (n_iter, computed) in enumerate(counts):
            source_of_pair = slice(firsts[p], firsts[p] + sizes[p])
            of_support = slice(firsts[p], firsts[p] + supports[p])
            certificate = certificates[p]
            proven = certificate.gap is not None and certificate.gap <= self.goal.gap and not bent[p]
            status = Status.CONVERGED if proven else Status.INTERRUPTED
            known = answers.beta[source_of_pair], status, n_iter, took[p], certificate
            solution = Solution.defer_history(partial(histories.read, p), *known)
            decision = DecisionFunction(answers.coef[of_support], biases[p], None, answers.rows[of_support])
            self.parts[self.ks[first + p]] = Part(solution, decision, computed, took[p])

    def _room(self, n: int) -> Room:
        """Return memory for class pairs of at most n samples: reused from a finished thread, or newly allocated."""
        try:
            room = self._rooms.pop()
        except IndexError:
            return Room.make(n, np.empty(n * n), np.zeros(2, dtype=np.int64))
        return room if len(room.side) >= n else Room.make(n, np.empty(n * n), room.done)


class Histories:
    """The histories of class pairs, with times in proportion to their steps, made when the first one is read.

    They are made together, so that no Python code runs for each point.

    Parameters
    ----------
    lines : list of ndarray of float64, shape (n, 5)
        Iterations, objective, gap, support vectors and kernel values, for one class pair after the other.
    owners : list of ndarray of int, shape (n,)
        The number of the class pair of each line.

    Attributes
    ----------
    steps, took : list of [int, int] and of float
        Iterations and kernel values, and seconds, of each class pair.
    """

    steps: list[list[int]]
    took: list[float]

    def __init__(self, lines: list[np.ndarray], owners: list[np.ndarray]) -> None:
        self.lines, self.owners = lines, owners

    def read(self, p: int) -> History:
        """Return the history of class pair p."""
        return self._histories[p]

    @cached_property
    def _histories(self) -> list[History]:
        lines, owners = np.concatenate(self.lines), np.concatenate(self.owners)
        # of two lines about one iterate the second one has more values
        again = (owners[1:] == owners[:-1]) & (lines[1:, 0] == lines[:-1, 0])
        kept = np.append(~again, True)[: len(owners)]
        lines, owners = lines[kept], owners[kept]
        done, objective, gap, n_support, values = lines.T
        at = np.array(self.took)[owners] * done / np.maximum(np.array(self.steps)[owners, 0], 1)
        n_iter, support, computed = (column.astype(np.int64).tolist() for column in (done, n_support, values))
        columns = n_iter, at.tolist(), objective.tolist(), gap.tolist(), support, computed, repeat(None), repeat(None)
        points = list(map(partial(tuple.__new__, HistoryPoint), zip(*columns, strict=False)))
        ends = np.searchsorted(owners, np.arange(len(self.took) + 1)).tolist()
        return [History(points[first:last]) for first, last in pairwise(ends)]


def train_at_once(
    trainer: SubproblemTrainer, ks: list[int], C: float, budget: TimeBudget, parts: list[Part | None], flag: Flag
) -> None:
    """Train class pairs in few calls of compiled code, if the solver has such code and the stop rules allow it.

    A single pair is not trained here: the gain of a tenth of a millisecond is not worth seconds of a first compilation.

    Parameters
    ----------
    trainer : SubproblemTrainer
        Trains one class pair at a time; it gets the pairs that are not certified at the requested gap.
    ks : list of int
        The class pairs, all of which keep their kernel rows (`SubproblemTrainer.is_complete`).
    C, budget, flag : float, TimeBudget, Flag
        The weight of the summed losses; the remaining seconds (with a limit, other code does the training); whether a
        signal asks to end.
    parts : list of Part or None
        The list of results; an entry stays None if its class pair did not begin.
    """
    data, stop = trainer.data, Stop(()) | (trainer.stop or Gap(1e-3))
    goal = stop.goal
    if goal is None or not 0.0 < goal.gap == stop.least(Gap) or not data.grams.complete.sizes.all() or flag:
        return
    if budget.left < math.inf or trainer.start is not None or data.kernel.semidefinite is False:
        return
    solver = trainer.solvers[ks[0]]
    if solver.for_pairs() is None or data.grams.complete.definiteness.flaw is not None:
        return
    known = [k for k in ks if trainer.solvers[k] is solver]
    for k, part in AtOnce(data, known, solver, C, goal, flag, trainer.callbacks).parts.items():
        parts[k] = part
        trainer.interrupted |= bool(flag)
        if part.solution.status is not Status.CONVERGED and not trainer.interrupted:
            solution = part.solution
            start = Progress(solution.point, solution.n_iter, 0.0, part.seconds)
            later = trainer.train(trainer.subproblem(k), C, budget=budget, start=start)
            parts[k] = part.continue_with(later)
            trainer.note_end(later, flag)


def side_by_side(
    trainer: SubproblemTrainer, ks: list[int], C: float, budget: TimeBudget, parts: list[Part | None], flag: Flag
) -> None:
    """Train class pairs in several threads, those with most samples first.

    Each class pair gets a share of the time of all threads in proportion to its size; the first one always begins.

    Parameters
    ----------
    trainer, ks, C, budget, parts, flag : object
        As for `at_once`, but a limit in seconds is respected.
    """
    if not ks:
        return
    sizes, began = trainer.data.sizes, time.perf_counter()
    ks = sorted(ks, key=lambda k: -sizes[k])
    share = thread_count() / float(sizes[ks].sum())  # of the time of all threads, per sample

    def train(first: int, last: int) -> None:
        for k in ks[first:last]:
            left = budget.left - (time.perf_counter() - began)
            if k != ks[0] and (trainer.interrupted or left <= 0.0):
                return
            seconds = min(left, budget.left * share * float(sizes[k]))
            pair = made.pop(k) if k in made else trainer.subproblem(k)
            parts[k] = part = trainer.train(pair, C, budget=budget, seconds=seconds)
            del pair  # its kernel rows are freed before those of the next one are made
            trainer.note_end(part, flag)

    made = {ks[0]: trainer.subproblem(ks[0])}  # first, so that all threads compute what the pairs share
    values = trainer.data.grams.complete.prepare(made[ks[0]].gram)
    with using(min(thread_count(), trainer.data.grams.complete.most_at_once(int(sizes[ks[0]])))):
        spread(train, len(ks), WORK * float(np.square(sizes[ks], dtype=np.float64).mean()))
    first = parts[ks[0]]
    assert first is not None
    parts[ks[0]] = first._replace(kernel_values=first.kernel_values + values)
    budget.take(time.perf_counter() - began)
