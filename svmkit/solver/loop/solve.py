"""The outer loop of all solvers: clock, budgets, interrupts, and the solution with its certificate."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from svmkit.errors import Gone, LostDigits, NotFinite, SvmkitWarning
from svmkit.problems.base import Problem
from svmkit.problems.certificate import Certificate
from svmkit.runtime import interrupt, threads
from svmkit.solver.base import Solver
from svmkit.solver.history import Clock
from svmkit.solver.loop.confirmation import Confirmation
from svmkit.solver.loop.iterate import Iterate, Progress
from svmkit.solver.loop.recorder import Callback, Journal, Recorder
from svmkit.solver.loop.support_limit import SupportLimit
from svmkit.solver.sampler import Draws, Sampler
from svmkit.solver.solution import Solution, Status
from svmkit.solver.step_info import StepInfo
from svmkit.solver.stopping import Criterion, Gap, Iterations, Seconds, Stop
from svmkit.solver.task import Task

# seconds, at most, by which certificates may exceed a limit in seconds, and their share of a short limit
OVERTIME = 0.5


def solve(
    problem: Problem,
    solver: Solver,
    *,
    sampler: Sampler | None = None,
    stop: Criterion | Stop | None = None,
    start: np.ndarray | Progress | None = None,
    seed: int = 0,
    callbacks: Sequence[Callback] = (),
    journal: Journal = Journal(),  # noqa: B008
    n_threads: int | None = None,
) -> Solution:
    """Solve a problem and certify the result on all samples.

    Parameters
    ----------
    problem : Problem
        The problem, of the type that the solver takes.
    solver : Solver
        The solver; `auto` chooses one for this problem.
    sampler : Sampler, default=None
        The points that each step examines. None is the solver's own sampler, for most solvers all points.
    stop : Criterion or Stop, default=None
        Stop rules, joined with `|`. None is `Gap(1e-3)`. `Solver.patience` iterations are added as a budget when the
        rules have no budget of time, iterations or epochs.
    start : ndarray or Progress, default=None
        A feasible point to start from, or the progress of an earlier solve to continue. None is the solver's choice.
    seed : int, default=0
        Seed of every random choice. Same seed, machine and number of threads: same result.
    callbacks : sequence of Callback, default=()
        Called with each history point, off the clock. A callback that returns True ends the solve.
    journal : Journal, default=Journal()
        Saves the progress and measures the accuracy meanwhile; by default neither.
    n_threads : int, default=None
        Number of threads of the compiled loops. None is all cores.

    Returns
    -------
    Solution
        The point, certified. Ctrl-C or SIGTERM returns the best iterate with status `interrupted`; a second one during
        a certificate returns it without bounds (`Problem.rough_certificate`).

    Raises
    ------
    InputError
        The solver cannot take the problem or its kernel.
    SvmkitError
        No certificate exists.
    NotFinite
        The solver ended at numbers that are not finite.
    LostDigits
        Rounding errors are larger than any gain of a model over a constant.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import Gram, plugins, solve
    >>> from svmkit.kernels import RBF
    >>> from svmkit.problems import SquaredHinge
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> solution = solve(SquaredHinge(Gram(RBF(1.0), X), y, 1.0), plugins.build("solver", "swap2o"))
    >>> str(solution.status)
    'converged'
    """
    solver = solver.solver_for(Task.of(problem))
    solver.check(problem)
    if problem.is_free and not solver.frees_bias:
        from svmkit.solver.loop.free_bias import FreeBias  # here: it needs numba

        solver = FreeBias(solver)
    rules = Stop(()) | (stop if stop is not None else Gap(1e-3))  # one Stop, also for a single rule
    if not any(rule.status in (Status.MAX_ITER, Status.TIME_LIMIT) for rule in rules.criteria):
        rules = rules | Iterations(solver.patience(problem.m))
    progress = Progress(start) if isinstance(start, np.ndarray) else start
    with interrupt.catching() as flag, threads.using(n_threads):
        clock = Clock(progress.seconds if progress else 0.0)
        seconds = rules.least(Seconds)

        def over() -> bool:
            return bool(flag) or clock() >= seconds

        goal = rules.goal
        if goal is not None and (
            journal.score or any(not getattr(callback, "patient", False) for callback in callbacks)
        ):
            goal = goal._replace(watched=True)
        if goal is not None and progress:
            goal = goal._replace(iterations=goal.iterations - progress.n_iter, begun=progress.n_iter)
        draws = Draws(sampler or solver.sampler, problem.y, seed, over, goal)
        iterate = Iterate(problem, solver, draws, progress, rules.least(Gap))
        limit = SupportLimit(iterate, rules)
        run = _Run(clock, iterate, limit, Recorder(iterate, callbacks, journal))
        try:
            run.loop(flag)
        except (KeyboardInterrupt, Gone):
            run.status = Status.INTERRUPTED
        solution = run.finish()
    if sampler is not None and not (sampler.every or draws.has_drawn) and solution.n_iter:
        warnings.warn(f"{solver.name} looks at all points: the sampler {sampler} has no effect", SvmkitWarning, 2)
    return solution


class _Run:
    """A running solve. A limit in seconds applies to the loop; measurements meanwhile may add `overtime`."""

    def __init__(self, clock: Clock, iterate: Iterate, limit: SupportLimit, recorder: Recorder) -> None:
        self.clock, self.iterate, self.limit, self.recorder = clock, iterate, limit, recorder
        self.confirmation = Confirmation(iterate, limit.rules)
        self.status = Status.INTERRUPTED
        self.info: StepInfo | None = None
        self.next_look = iterate.epochs  # when to certify a solver that does not know its objective
        seconds = limit.rules.least(Seconds)
        self.overtime = OVERTIME * min(1.0, seconds) if seconds < math.inf else math.inf

    def loop(self, flag: interrupt.Flag) -> None:
        """Take steps until a rule is confirmed, a callback asks to stop or the flag is raised."""
        iterate, confirmation, recorder = self.iterate, self.confirmation, self.recorder
        while not flag:
            self.info = info = iterate.step()
            seconds = self.clock()
            if self.limit.passed(info):
                with self.clock.pause():
                    self.info, self.status = self.limit.fall_back(info), Status.MAX_SUPPORT
                return
            ending = confirmation.ending(info, self._towards_limit())
            if math.isnan(info.objective):
                if not ending and iterate.epochs < self.next_look:
                    continue
                self.next_look = iterate.epochs + max(1.0, iterate.epochs / 8)
                with self.clock.pause():
                    self.info = info = iterate.measure(info)
                ending = ending or confirmation.ending(info, self._towards_limit())
            due = recorder.due(info, seconds)
            if ending or due:
                with self.clock.pause():
                    stop = recorder.write(info, seconds)
                if ending:
                    self.status = ending
                if ending or stop:
                    return

    def _towards_limit(self) -> float:
        """Return the seconds that count towards a limit."""
        return max(self.clock(), self.clock.total() - self.overtime)

    def finish(self) -> Solution:
        """Return the certified solution with its complete history."""
        iterate, recorder = self.iterate, self.recorder
        seconds = self.clock()
        recorder.save(seconds)
        if self.info is not None:
            self._measure()
            recorder.complete(self.info, seconds)
        point, certificate = self._answer()
        point, certificate = self.limit.enforce(point, certificate)
        if not (np.isfinite(point).all() and (iterate.is_cut_short or math.isfinite(certificate.primal))):
            raise NotFinite(iterate.solver.name)
        if certificate.rounding >= 1.0 and certificate.primal > iterate.problem.ceiling:
            raise LostDigits(iterate.solver.name, certificate.primal, iterate.problem.ceiling)
        if iterate.is_cut_short:
            self.status = Status.INTERRUPTED
        budgets = (Status.MAX_ITER, Status.TIME_LIMIT, Status.MAX_SUPPORT, Status.STALLED)
        if self.status in budgets and self.confirmation.proves(certificate):
            self.status = Status.CONVERGED
        elif self.status is Status.CONVERGED:
            self.status = self.confirmation.find_denial(certificate) or Status.CONVERGED
        elif self.status is Status.STALLED and certificate.flaw is not None:
            self.status = Status.NOT_CERTIFIED
        recorder.score_answer(point, certificate)
        details = iterate.solver.details(iterate.state)
        return Solution(point, self.status, iterate.n_iter, seconds, certificate, recorder.history, details)

    def _answer(self) -> tuple[np.ndarray, Certificate]:
        """Return the iterate whose certificate was accepted, else the best iterate."""
        recorder, certificate = self.recorder, self.confirmation.certificate
        if self.status is Status.STALLED and self.info is not None and recorder.best < self.info.objective:
            certificate = None  # which is that of the last iterate
        if certificate is not None:
            return self.iterate.point(), certificate
        if recorder.best_point is not None:
            point, objective = recorder.best_point, recorder.best
        else:
            point, objective = self.iterate.point(), self.info.objective if self.info else math.nan
        return point, self.iterate.certificate_at_end(point, objective)

    def _measure(self) -> None:
        """Complete the last report of a solver that does not know its objective, unless a signal interrupts it."""
        assert self.info is not None
        if math.isnan(self.info.objective) and not self.iterate.is_cut_short:
            with suppress(KeyboardInterrupt):
                self.info = self.iterate.measure(self.info)
                self.recorder.consider(self.info)
