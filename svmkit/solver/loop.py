"""The outer loop, once for all solvers: budget, stop, history, callbacks, interrupt, checkpoint, certificate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from svmkit.errors import InputError
from svmkit.problems.base import Certificate, Problem
from svmkit.runtime import interrupt, threads
from svmkit.solver.base import Solver, StepInfo
from svmkit.solver.history import Clock, History, HistoryPoint, Schedule
from svmkit.solver.sampler import Draws, Sampler
from svmkit.solver.solution import Solution, Status
from svmkit.solver.stopping import Criterion, Gap, Iterations, Stop, Support

Callback = Callable[[HistoryPoint], Any]
"""Called with each history point, off the clock; returning True ends the solve as `interrupted`."""
Score = Callable[[np.ndarray, Certificate], float | None]
"""Accuracy of the model that a point and what is known of it (`Problem.bound`) stand for; None where not measured."""

SAMPLED_LOOKS = 3  # a gap seen on a sample has to hold this often in a row: draw again twice (PARTAN, 4.2)
SAMPLED_POINTS = 3 * 59  # and over so many points, or all: of solvers that look at one, three are no sample
STUCK = 5  # steps in a row without progress that count as stalled; sampled steps may miss, so 20 times as many
NEWS = 500  # points of a history up to which every gap is one
FULL = 1e-2  # gap within a support that may not grow: what is left out weighs more than what is below this


class Progress(NamedTuple):
    """What a solve needs to go on where another one ended."""

    point: np.ndarray
    n_iter: int = 0
    epochs: float = 0.0
    seconds: float = 0.0
    rng_state: dict | None = None


class Saver(Protocol):
    """Where progress is kept; `svmkit.training.checkpoint` has one for files."""

    def due(self, seconds: float) -> bool: ...

    def save(self, progress: Progress) -> None: ...


def solve(
    problem: Problem,
    solver: Solver,
    *,
    sampler: Sampler | None = None,
    stop: Criterion | Stop | None = None,
    start: np.ndarray | Progress | None = None,
    seed: int = 0,
    callbacks: Sequence[Callback] = (),
    saver: Saver | None = None,
    score: Score | None = None,
    n_threads: int | None = None,
) -> Solution:
    """Solve `problem` and certify the result on all samples.

    Parameters
    ----------
    sampler : which points each step looks at, default the solver's own, mostly all of them
    stop : criteria joined with `|`, default Gap(1e-3); without a budget of time, iterations or epochs
        among them, `Solver.patience` is the budget
    start : a point of the problem, or the Progress of an earlier solve, to go on from
    seed : of every random choice: same seed, same machine, same threads, same result
    callbacks : see `Callback`
    saver : keeps Progress on the way and at the end
    score : measured off the clock every time the iterations have grown by a fifth, and at the end, for
        `HistoryPoint.accuracy`
    n_threads : default all

    Returns
    -------
    Solution, always certified. Ctrl-C or SIGTERM returns the best iterate with status `interrupted`.

    Raises
    ------
    InputError when the solver cannot take the problem or its kernel; SvmkitError when no certificate exists.
    """
    solver.check(problem)
    rules = Stop(()) | (stop if stop is not None else Gap(1e-3))
    if not any(rule.status in (Status.MAX_ITER, Status.TIME_LIMIT) for rule in rules.criteria):
        rules = rules | Iterations(solver.patience(problem.m))
    progress = Progress(start) if isinstance(start, np.ndarray) else start
    with interrupt.catching() as flag, threads.using(n_threads):
        run = _Run(problem, solver, rules, progress, sampler or solver.sampler, seed, callbacks, saver, score)
        try:
            run.loop(flag)
        except KeyboardInterrupt:
            run.status = Status.INTERRUPTED
        return run.finish()


@dataclass
class _Best:
    """Best iterate of a solver whose objective may go up again."""

    objective: float = math.inf
    point: np.ndarray | None = None


class _Run:
    """One solve under way."""

    def __init__(self, problem, solver, rules, progress, sampler, seed, callbacks, saver, score) -> None:
        self.problem, self.solver, self.rules = problem, solver, rules
        self.callbacks, self.saver, self.score = callbacks, saver, score
        self.clock = Clock(progress.seconds if progress else 0.0)
        self.n_iter = progress.n_iter if progress else 0
        self.epochs = progress.epochs if progress else 0.0
        self.history, self.schedule, self.best = History(), Schedule(self.n_iter), _Best()
        self.status = Status.INTERRUPTED
        self.info: StepInfo | None = None
        self.certificate: Certificate | None = None
        self.measured: Certificate | None = None  # of the last iterate whose solver did not know its objective
        self.shrink = 1.0  # the loop's estimate has to be this much below the tolerance
        self.next_check = self.next_score = self.looks = self.stuck = self.resyncs = 0
        self.seen = 0.0  # points of these looks
        self.known = True  # the gap of the last iterate
        self.next_look = self.epochs  # of a solver that does not know its objective
        self.rng = np.random.default_rng(seed)
        if progress and progress.rng_state:
            try:
                self.rng.bit_generator.state = progress.rng_state
            except (TypeError, ValueError, KeyError, OverflowError) as error:
                raise InputError(f"the state of the random generator is damaged ({error}): do not resume") from None
        draws = Draws(sampler, problem.y, self.rng)
        self.state = solver.init(problem, progress.point if progress else None, draws)
        budgets = [rule.limit for rule in rules.criteria if isinstance(rule, Support)]
        if budgets and solver.budgeted:  # the solver keeps to it and says when nothing better fits
            solver.limit_support(self.state, int(min(budgets)))
            self.rules = Stop(tuple(rule for rule in rules.criteria if not isinstance(rule, Support)))

    def loop(self, flag: interrupt.Flag) -> None:
        while not flag:
            self.info = info = self.solver.step(self.state)
            self.n_iter += info.steps
            self.epochs += info.epochs
            seconds = self.clock()
            ending = self._ending(info, seconds)
            if math.isnan(info.objective):
                if not ending and self.epochs < self.next_look:
                    continue
                self.next_look = self.epochs + max(1.0, self.epochs / 8)
                self.info = info = self._measured(info)
                ending = ending or self._ending(info, seconds)
            due = self.schedule.due(self.n_iter, seconds) or self._news(info)
            if (ending or due) and self._record(info, seconds) and not ending:
                return  # a callback asked to stop
            if ending:
                self.status = ending
                return

    def _news(self, info: StepInfo) -> bool:
        """Whether the gap is known again, of a solver that knows it now and then only; not so often as to swamp."""
        self.known, before = math.isfinite(info.gap), self.known
        return self.known and not before and len(self.history) < NEWS

    def _measured(self, info: StepInfo) -> StepInfo:
        """`info` with objective and gap from a certificate, taken off the clock."""
        with self.clock.stopped():
            self.measured = self.problem.certificate(self.solver.solution(self.state))
            self.problem.raise_bound(self.measured)
        P, D, gap = self.measured.primal, self.measured.dual, self.measured.gap
        info = info._replace(objective=P)
        return info if gap is None or D is None else info._replace(gap=gap, gap_abs=P - D)

    def _ending(self, info: StepInfo, seconds: float) -> Status | None:
        """The status with which the solve ends here, if it does."""
        if info.done:
            return Status.CONVERGED
        if info.steps or not info.moved:  # a look between two steps that found nothing new says nothing
            self.stuck = 0 if info.moved else self.stuck + 1
        stuck = self.stuck >= STUCK * (20 if info.sampled else 1)
        if stuck and not info.full:
            ending = self._stalled()
            if ending:
                return ending
        estimate = info.gap if info.full else info.gap / self.shrink
        reached = self.rules.reached(info._replace(gap=estimate), self.n_iter, self.epochs, seconds)
        near = any(rule.status is Status.CONVERGED for rule in reached)
        if info.full and (stuck or info.gap <= FULL or near):
            return Status.MAX_SUPPORT
        if not near:
            self._look_anew()
        return next((rule.status for rule in reached if self._accepts(rule, info)), None)

    def _accepts(self, rule: Criterion, info: StepInfo) -> bool:
        """Whether `rule` really ends the solve; a gap must hold on fresh samples and in the certificate."""
        if rule.status is not Status.CONVERGED:
            return True
        if info.shrunk:
            self.solver.reactivate(self.state)
            return False
        if not self._looked(info):
            return False
        if not isinstance(rule, Gap):
            return True
        if self.measured is not None:
            self.certificate = self.measured
            return True
        if self.n_iter < self.next_check:
            return False
        self.certificate = self.problem.certificate(self.solver.solution(self.state))
        gap = self.certificate.gap
        if gap is None or gap <= rule.limit:
            return True
        self._look_anew()
        # a certificate costs as much as many steps: ask again when it is likely to hold, and not too soon
        self.next_check = self.n_iter + self.solver.recheck + self.n_iter // 16
        if not info.sampled:
            self.shrink *= min(0.8, max(0.05, 0.8 * math.sqrt(rule.limit / gap)))
        self._resync()
        return False

    def _looked(self, info: StepInfo) -> bool:
        """Whether what `info` says has been seen often enough, this time included."""
        self.looks += 1
        self.seen += info.epochs * self.problem.m
        enough = self.looks >= SAMPLED_LOOKS and self.seen >= min(SAMPLED_POINTS, self.problem.m) - 0.5
        return enough or not info.sampled

    def _look_anew(self) -> None:
        self.looks, self.seen = 0, 0.0

    def _stalled(self) -> Status | None:
        """No step makes progress: certify, then once more from exact values before giving up."""
        self.certificate = self.problem.certificate(self.solver.solution(self.state))
        if self._certified(self.certificate):
            return Status.CONVERGED
        if self.resyncs > 2:
            return Status.STALLED
        self.stuck = 0
        self._resync()
        return None

    def _certified(self, certificate: Certificate) -> bool:
        """Whether the gap asked for is proven: the loop's estimate is often the stricter of the two."""
        limits = [rule.limit for rule in self.rules.criteria if isinstance(rule, Gap)]
        return bool(limits) and certificate.gap is not None and certificate.gap <= min(limits)

    def _resync(self) -> None:
        assert self.certificate is not None
        self.resyncs += 1
        self.problem.raise_bound(self.certificate)
        self.solver.resync(self.state, self.certificate)
        self.certificate = None

    def _point(self, info: StepInfo, seconds: float) -> HistoryPoint:
        gap = info.gap if math.isfinite(info.gap) else None
        return HistoryPoint(self.n_iter, seconds, info.objective, gap, info.n_support, self.problem.gram.kernel_values)

    def _record(self, info: StepInfo, seconds: float) -> bool:
        """Write a history point, save and call back; True when a callback asks to stop."""
        with self.clock.stopped():
            point = self._point(info, seconds)
            if self.score is not None and self.n_iter >= self.next_score:
                self.next_score = self.n_iter + 1 + self.n_iter // 5
                point = self._scored(point, self.solver.solution(self.state), self.problem.bound(info.objective))
            if self.history and self.history[-1].n_iter == point.n_iter:  # the same iterate, of which more is known
                accuracy = self.history.pop().accuracy
                point = point._replace(accuracy=accuracy if point.accuracy is None else point.accuracy)
            self.history.append(point)
            self._compare(info)
            if self.saver is not None and self.saver.due(seconds):
                self._save(seconds)
            return any([callback(point) is True for callback in self.callbacks])

    def _compare(self, info: StepInfo) -> None:
        """Keep the iterate when it is the best one so far."""
        if not self.solver.monotone and info.objective < self.best.objective:
            self.best = _Best(info.objective, self.solver.solution(self.state))

    def _scored(self, point: HistoryPoint, iterate: np.ndarray, certificate: Certificate) -> HistoryPoint:
        assert self.score is not None
        with self.problem.gram.unnoticed():
            return point._replace(accuracy=self.score(iterate, certificate))

    def _save(self, seconds: float) -> None:
        assert self.saver is not None
        rng_state: dict = dict(self.rng.bit_generator.state)
        self.saver.save(Progress(self.solver.solution(self.state), self.n_iter, self.epochs, seconds, rng_state))

    def finish(self) -> Solution:
        seconds = self.clock()
        if self.saver is not None:
            self._save(seconds)
        if self.info is not None and math.isnan(self.info.objective):
            self.info = self._measured(self.info)
            self._compare(self.info)
        if self.info is not None and (not self.history or self.history[-1].n_iter < self.n_iter):
            self.history.append(self._point(self.info, seconds))
        point, certificate = self.solver.solution(self.state), self.certificate
        if certificate is None:  # else it was accepted, for this very point
            point = self.best.point if self.best.point is not None else point
            certificate = self.problem.certificate(point)
        if self.status is Status.MAX_ITER and self._certified(certificate):
            self.status = Status.CONVERGED
        if self.score is not None and self.history:
            self.history[-1] = self._scored(self.history[-1], point, certificate)
        details = self.solver.details(self.state)
        return Solution(point, self.status, self.n_iter, seconds, certificate, self.history, details)
