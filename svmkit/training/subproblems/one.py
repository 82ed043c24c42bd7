"""The training of one subproblem."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from svmkit.errors import InputError
from svmkit.model.model import SVMModel
from svmkit.problems.base import DecisionFunction, Problem
from svmkit.problems.certificate import Certificate
from svmkit.runtime.interrupt import Flag
from svmkit.scoring.metric import Metric
from svmkit.solver.history import History, HistoryPoint, Measured
from svmkit.solver.loop.iterate import Progress
from svmkit.solver.loop.recorder import Callback, Journal, Score, is_true
from svmkit.solver.loop.solve import solve
from svmkit.solver.requirements import Reads
from svmkit.solver.sampler import Cyclic
from svmkit.solver.solution import Solution, Status
from svmkit.training.callbacks import Callbacks
from svmkit.training.checkpoint import LastProgress, Slot
from svmkit.training.data import TrainingData, solver_tasks
from svmkit.training.division import Subproblem
from svmkit.training.settings import Method
from svmkit.training.subproblems.refit import try_refit
from svmkit.training.subproblems.time_budget import TimeBudget
from svmkit.training.subproblems.validation import Held, Measure, Validation
from svmkit.training.subproblems.warm_start import ModelStart, move_weights

Start = Sequence[np.ndarray] | SVMModel
"""A point for each subproblem, or a model some of whose support vectors are rows of the data."""


class Part(NamedTuple):
    """The result of training one subproblem, with the decision function over the rows of X that are support vectors."""

    solution: Solution
    decision: DecisionFunction
    kernel_values: int
    seconds: float  # without measurements on held-out rows
    around: float = 0.0  # the part of `seconds` not spent on steps
    progress: Progress | None = None  # the state to continue from, if the limit in seconds ended this solve

    def continue_with(self, later: Part) -> Part:
        """Return this result continued by `later`: the better of the two, and the effort of both."""
        first, last = self.solution, later.solution
        gaps = first.certificate.gap, last.certificate.gap
        kept = self if None not in gaps and gaps[0] < gaps[1] else later  # type: ignore[operator]
        point, certificate = kept.solution.point, kept.solution.certificate
        history = History([*first.history, *last.history])
        solution = replace(last, point=point, certificate=certificate, history=history)
        values, seconds = self.kernel_values + later.kernel_values, self.seconds + later.seconds
        return Part(solution, kept.decision, values, seconds, later.around, later.progress)


class SubproblemTrainer:
    """Trains any of the subproblems of data, for any C; options as for `svmkit.training.train.fit_prepared`."""

    def __init__(
        self,
        data: TrainingData,
        method: Method,
        *,
        start: Start | None = None,
        validation: Held | None = None,
        metric: Metric | None = None,
        callbacks: Callbacks | None = None,
    ) -> None:
        self.data, self.method, self.callbacks = data, method, callbacks or Callbacks()
        self.stop = method.settings.stop
        self.limited = method.settings.is_limited  # whether the stop rules limit the number of support vectors
        self._in_order = isinstance(method.sampler, Cyclic)
        self._is_linear = method.problem_type(data.kernel).is_linear
        self.tasks = solver_tasks(method, data)  # facts about each subproblem on which its solver may depend
        by_size = {m: method.solver.solver_for(task) for m, task in {task.m: task for task in self.tasks}.items()}
        self.solvers = [by_size[task.m] for task in self.tasks]  # chosen by `method.solver`
        self.start = ModelStart(start, data, self._is_linear) if isinstance(start, SVMModel) else start
        self.validation = Validation(validation, data, metric) if validation is not None else None
        self.measuring = 0.0  # seconds spent on the accuracy on held-out rows
        self.interrupted = False  # whether a signal or a callback has ended the training
        self.parts: list[Part | None] = []  # results of the current run, from which intermediate models are made

    def is_complete(self, k: int) -> bool:
        """Return whether all kernel rows of subproblem k are kept in compiled code (`CompleteGram`)."""
        return self.solvers[k].by_slices and not self._in_order and self.data.is_complete[k]

    def subproblem(self, k: int) -> Subproblem:
        """Return the k-th subproblem, which shares kernel rows with others unless their order matters."""
        if self.is_complete(k):
            return self.data.subproblem(k, complete=True)
        if self.start is not None or not self.solvers[k].examines:
            self.data.examine()
        # computing products of many rows takes less time than copying the values of other class pairs
        rows = self.solvers[k].reads is not Reads.BLOCKS and not self._is_linear
        return self.data.subproblem(k, shared=rows and not self._in_order)

    def train(
        self,
        pair: Subproblem,
        C: float,
        *,
        budget: TimeBudget | None = None,
        seconds: float = math.inf,
        start: np.ndarray | Progress | None = None,
        slot: Slot | None = None,
        place: tuple[int, int, str] | None = None,
    ) -> Part:
        """Train one subproblem; raise InputError if a start or checkpoint does not fit it, or the solver cannot.

        Parameters
        ----------
        pair, C : Subproblem, float
            The subproblem, and the weight of the summed losses, > 0.
        budget : TimeBudget, default=None
            The stop rules, with a limit in seconds that is shared. None gives all of the time of the rules.
        seconds : float, default=inf
            The share of this subproblem in a limit in seconds.
        start : ndarray or Progress, default=None
            The starting point, or the progress to continue. None uses the start of all subproblems, if given.
        slot : Slot, default=None
            Where progress is saved. Progress that it already holds takes precedence over any other start.
        place : tuple (int, int, str), default=None
            The arguments of `Callbacks.on_begin`. None is (k, number of subproblems, name of the subproblem).
        """
        began, values = time.perf_counter() - self.measuring, pair.gram.kernel_values
        solver = self.solvers[pair.k]
        problem = pair.pose(self.method, solver, C)
        progress = slot.progress if slot else None
        if progress:
            progress = progress._replace(point=problem.restore(progress.point))
        reason = problem.infeasible(progress.point) if progress else None
        if slot and reason:  # compiled loops trust a point
            raise slot.refusal(pair.name, reason)
        if isinstance(start, Progress):
            progress = start
        budget = budget or TimeBudget(self.stop)
        share = min(seconds, budget.left)
        sizes, measure = self.data.sizes, self.validation.measure(pair) if self.validation else None
        saver = slot or LastProgress()
        score = self._score(pair, C, problem, measure) if measure or self.callbacks.sees_models else None
        solution = solve(
            problem,
            solver,
            sampler=self.method.sampler,
            stop=budget.rules(share, progress.seconds if progress else 0.0),
            start=progress or (self._start(pair, C, problem) if start is None else start),
            seed=self.method.settings.seed,
            callbacks=self._callbacks(*(place or (pair.k, len(sizes), pair.name))),
            journal=Journal(saver, score),
        )
        steps = solution.seconds - (progress.seconds if progress else 0.0)
        solution, decision = self._decide(pair, C, problem, solution, measure)
        took = time.perf_counter() - self.measuring - began
        # a custom rule may report that time is over, and more time would not change that
        last = saver.progress if solution.status is Status.TIME_LIMIT and took >= share else None
        decision, values = decision.restrict(pair.rows), pair.gram.kernel_values - values
        self.callbacks.on_end(lambda: self._model_with(pair.k, decision))
        return Part(solution, decision, values, took, took - steps, last)

    def note_end(self, part: Part, flag: Flag) -> None:
        """Note that a signal, or a callback during the solve of `part`, has asked to end."""
        self.interrupted |= bool(flag) or part.solution.status is Status.INTERRUPTED

    def _callbacks(self, k: int, n_problems: int, name: str) -> list[Callback]:
        """Return the callbacks of a solve; a callback that asks to stop ends the training, even at its last point."""

        def asking(callback: Callback) -> Callback:
            def call(point: HistoryPoint) -> bool:
                stop = is_true(callback(point))
                self.interrupted |= stop
                return stop

            return call

        callbacks = self.callbacks.on_begin(k, n_problems, name)
        return list(callbacks) if self.callbacks.passive else [asking(callback) for callback in callbacks]

    def _score(self, pair: Subproblem, C: float, problem: Problem, measure: Measure | None) -> Score:
        """Return the function that shows models to callbacks and measures accuracy."""
        last = 0  # number of support vectors of the refitted model that was measured last

        def decide(point: np.ndarray, certificate: Certificate) -> DecisionFunction:
            return self._decision(pair, C, problem, point, certificate)

        def measure_refitted(point: np.ndarray, certificate: Certificate, measure: Measure) -> float | Measured | None:
            nonlocal last
            idx = np.flatnonzero(point)
            if len(idx) < 1.5 * last:
                return None
            last = len(idx)
            best = try_refit(problem, idx, bounded=False)
            return measure(best[0] if best else decide(point, certificate))

        def score(point: np.ndarray, certificate: Certificate) -> float | Measured | None:
            began, value = time.perf_counter(), None
            if self.callbacks.sees_models:
                self.callbacks.on_iterate(
                    lambda: self._model_with(pair.k, decide(point, certificate).restrict(pair.rows))
                )
            if measure is not None and self.limited:  # the refitted model, each time the support has grown by half
                value = measure_refitted(point, certificate, measure)
            elif measure is not None:
                value = measure(decide(point, certificate))
            self.measuring += time.perf_counter() - began
            return value

        return score

    def _decision(
        self, pair: Subproblem, C: float, problem: Problem, point: np.ndarray, certificate: Certificate
    ) -> DecisionFunction:
        """Return the decision function of a point."""
        return self.data.task.decision(problem, point, certificate, C * pair.weights, self.method.settings)

    def _decide(
        self, pair: Subproblem, C: float, problem: Problem, solution: Solution, measure: Measure | None
    ) -> tuple[Solution, DecisionFunction]:
        """Return the solution and its decision function, refitted for all samples if a limit cut the solve short."""
        decision = self._decision(pair, C, problem, solution.point, solution.certificate)
        if not self.limited or solution.status in (Status.CONVERGED, Status.INTERRUPTED):
            return solution, decision
        best = try_refit(problem, np.flatnonzero(solution.point))
        if best is not None and best[1].primal < solution.certificate.primal:
            decision, certificate = best
            solution = replace(solution, certificate=certificate)
        if measure and solution.history:
            solution.history[-1] = solution.history[-1].with_scores(measure(decision))
        return solution, decision

    def _start(self, pair: Subproblem, C: float, problem: Problem) -> np.ndarray | None:
        if self.start is None:
            return self._find_near(pair, C, problem)
        if isinstance(self.start, ModelStart):
            return self.start.point(pair, problem)
        k, m = pair.k, len(pair.rows)
        if k >= len(self.start) or self.start[k].shape != (m,):
            raise InputError(f"start has no point of length {m} for problem {k}: it belongs to other data")
        reason = problem.infeasible(self.start[k])
        if reason:
            raise InputError(f"start for problem {k} is infeasible: {reason}")
        return self.start[k]

    def _find_near(self, pair: Subproblem, C: float, problem: Problem) -> np.ndarray | None:
        """Return the point of a trained neighbour; None without one, or if the problem accepts none."""
        near = self.data.division.neighbour(pair.k)
        if near is None or near >= len(self.parts) or (part := self.parts[near]) is None:
            return None
        decision, losses = part.decision, (self.data.division.loss(near), pair.loss)
        try:
            if decision.w is not None:
                return problem.start_weights(decision.w, decision.intercept)
            coef = np.zeros(self.data.n_samples)
            coef[decision.rows] = decision.coef
            before, after = (loss.terms(pair.y, C * pair.weights) for loss in losses if loss is not None)
            return problem.start(move_weights(coef[pair.rows], before, after, part.solution.certificate.gradient))
        except InputError:  # not every problem can start at a model
            return None

    def _model_with(self, k: int, decision: DecisionFunction) -> SVMModel:
        """Return the model of the decision function of subproblem k and the current results of the others."""
        empty = no_decision(decision)
        decisions = [part.decision if part else empty for part in self.parts]
        decisions[k] = decision
        return self.data.model(decisions, {"solver": self.method.solver.name})[0]


def no_decision(like: DecisionFunction) -> DecisionFunction:
    """Return the decision function of a subproblem that did not begin, in the form of one that did."""
    return DecisionFunction(np.empty(0), 0.0, None if like.w is None else np.empty(0), np.empty(0, dtype=np.int64))
