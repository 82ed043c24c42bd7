"""The training of one class pair."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from svmkit.errors import Gone, InputError
from svmkit.model.model import SVMModel
from svmkit.problems.base import DecisionFunction, Problem
from svmkit.problems.certificate import Certificate
from svmkit.scoring.metric import Metric
from svmkit.solver.base import Solver
from svmkit.solver.history import HistoryPoint, Measured
from svmkit.solver.loop.iterate import Progress
from svmkit.solver.loop.recorder import Callback, Score, is_true
from svmkit.solver.loop.solve import solve
from svmkit.solver.requirements import Reads
from svmkit.solver.sampler import Cyclic, Sampler
from svmkit.solver.selection import by_name
from svmkit.solver.solution import Solution, Status
from svmkit.solver.stopping import Criterion, Stop, is_limited
from svmkit.training.checkpoint import Slot
from svmkit.training.choice import tasks
from svmkit.training.class_pair import ClassPair
from svmkit.training.data import TrainingData
from svmkit.training.display import Display
from svmkit.training.follower import Follower
from svmkit.training.subproblems.allowance import Allowance
from svmkit.training.subproblems.part import Part, Saved
from svmkit.training.subproblems.refit import by_size, refitted
from svmkit.training.subproblems.validation import Held, Measure, Validation
from svmkit.training.subproblems.warm_start import ModelStart

Watch = Callable[[int, int, str], Sequence[Callback]]
"""Called with (k, number of problems, "a vs b") before problem k; returns the callbacks of its solve."""

Start = Sequence[np.ndarray] | SVMModel
"""A point for each class pair, or a model some of whose support vectors are rows of the data."""


class PairTrainer:
    """Trains any of the class pairs, for any C.

    Parameters
    ----------
    data : TrainingData
        The data after every check.
    solver, sampler, stop, seed, start, validation, metric, watch : optional
        As for `svmkit.fit`.

    Attributes
    ----------
    tasks : list of Task
        The facts about each class pair on which a choice of its solver may depend.
    solvers : list of Solver
        The solver of each class pair: those that `solver` chooses.
    limited : bool
        Whether `stop` limits the number of support vectors.
    measuring : float
        The seconds that went into the accuracy on held-out rows.
    interrupted : bool
        Whether a signal or a callback has ended the training.
    gone : Gone or None
        Why no further class pair could begin, where the data have gone away.

    Raises
    ------
    InputError
        An option cannot be used with these data.
    """

    def __init__(
        self,
        data: TrainingData,
        *,
        solver: str | Solver = "auto",
        sampler: str | Sampler | None = None,
        stop: Criterion | Stop | None = None,
        seed: int = 0,
        start: Start | None = None,
        validation: Held | None = None,
        metric: Metric | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.data, self.seed, self.stop, self.watch = data, seed, stop, watch
        self.limited = is_limited(stop)
        self.solver = by_name.solver(solver, limited=self.limited and data.task == "classify")
        if data.multiclass == "crammer_singer":
            self.solver = by_name.of_all_classes(self.solver)
        self._is_linear = self.solver.problem_of(data.kernel, data.task).is_linear
        self.tasks = tasks(self.solver, data)
        self.solvers = [self.solver.solver_for(task) for task in self.tasks]
        self.sampler = by_name.sampler(sampler)
        self.start = self._from_model(start) if isinstance(start, SVMModel) else start
        self.validation = Validation.of(validation, data, metric) if validation is not None else None
        self.measuring = 0.0
        self.interrupted = False
        self._parts: list[Part | None] = []  # those of the run under way
        self.gone: Gone | None = None

    def _from_model(self, model: SVMModel) -> ModelStart:
        return ModelStart(model, self.data, self._is_linear)

    def is_complete(self, k: int) -> bool:
        """Return whether class pair k gets all of its kernel rows in compiled code (`CompleteGram`)."""
        return self.solvers[k].by_slices and not isinstance(self.sampler, Cyclic) and self.data.is_complete[k]

    def pair(self, k: int) -> ClassPair:
        """Return the k-th class pair, which shares kernel rows with others unless their order matters."""
        if self.is_complete(k):
            return self.data.pair(k, complete=True)
        # products of many rows take less time than copies of what other class pairs know
        rows = self.solvers[k].reads is not Reads.BLOCKS and not self._is_linear
        return self.data.pair(k, shared=rows and not isinstance(self.sampler, Cyclic))

    def train(
        self,
        pair: ClassPair,
        C: float,
        *,
        allowance: Allowance | None = None,
        seconds: float = math.inf,
        start: np.ndarray | Progress | None = None,
        slot: Slot | None = None,
        watched: tuple[int, int, str] | None = None,
    ) -> Part:
        """Train one class pair.

        Parameters
        ----------
        pair : ClassPair
            The class pair.
        C : float
            The weight of the summed losses, > 0.
        allowance : Allowance, default=None
            The stop rules, with a limit in seconds that is shared. None is all of the time that the rules give.
        seconds : float, default=inf
            The share of this class pair in a limit in seconds.
        start : ndarray or Progress, default=None
            The point to start from, or the progress to continue. None uses the start that was given for all class
            pairs, if any.
        slot : Slot, default=None
            Where progress is saved. Progress that it holds already comes before any other start.
        watched : tuple (int, int, str), default=None
            The arguments of `watch`. None is (k, number of class pairs, name of the class pair).

        Returns
        -------
        Part
            The result.

        Raises
        ------
        InputError
            A start or checkpoint does not fit the problem, or the solver cannot solve it.
        """
        began, values = time.perf_counter() - self.measuring, pair.gram.kernel_values
        solver = self.solvers[pair.k]
        problem = pair.problem(solver, C)
        progress = slot.progress if slot else None
        if progress:
            progress = progress._replace(point=problem.restore(progress.point))
        reason = problem.infeasible(progress.point) if progress else None
        if slot and reason:  # compiled loops trust a point
            raise slot.refusal(pair.name, reason)
        if isinstance(start, Progress):
            progress = start
        allowance = allowance or Allowance(self.stop)
        share = min(seconds, allowance.left)
        sizes, measure = self.data.sizes, self.validation.measure(pair) if self.validation else None
        follower = self.watch if isinstance(self.watch, Follower) else None
        saved = Saved(slot)
        solution = solve(
            problem,
            solver,
            sampler=self.sampler,
            stop=allowance.rules(share, progress.seconds if progress else 0.0),
            start=progress or (self._start(pair, problem) if start is None else start),
            seed=self.seed,
            callbacks=self._callbacks(watched or (pair.k, len(sizes), pair.name)),
            saver=saved,
            score=self._score(pair, problem, measure, follower) if measure or follower else None,
        )
        steps = solution.seconds - (progress.seconds if progress else 0.0)
        solution, decision = self._decided(problem, solution, measure)
        took = time.perf_counter() - self.measuring - began
        # a rule of the caller's own may say that time is over, and more of it would not change that
        last = saved.last if solution.status is Status.TIME_LIMIT and took >= share else None
        decision, values = decision.restrict(pair.rows), pair.gram.kernel_values - values
        if follower is not None:
            follower.end(lambda: self._model_with(pair.k, decision))
        return Part(solution, decision, values, took, took - steps, last)

    def _callbacks(self, watched: tuple[int, int, str]) -> list[Callback]:
        """Return the callbacks of a solve; one that asks to stop ends the training, even at its last point."""

        def heeded(callback: Callback) -> Callback:
            def call(point: HistoryPoint) -> bool:
                stop = is_true(callback(point))
                self.interrupted |= stop
                return stop

            return call

        if self.watch is None:
            return []
        callbacks = self.watch(*watched)
        return list(callbacks) if isinstance(self.watch, Display) else [heeded(callback) for callback in callbacks]

    def _score(self, pair: ClassPair, problem: Problem, measure: Measure | None, follower: Follower | None) -> Score:
        """Return the function that shows models to a follower and measures accuracy, of refitted ones under a limit."""
        sized = by_size(problem, measure) if self.limited and measure else None

        def score(point: np.ndarray, certificate: Certificate) -> float | Measured | None:
            began, value = time.perf_counter(), None
            if follower is not None:
                decide = partial(problem.decision_function, point, certificate)
                follower.see(lambda: self._model_with(pair.k, decide().restrict(pair.rows)))
            if measure is not None:
                value = sized(point, certificate) if sized else measure(problem.decision_function(point, certificate))
            self.measuring += time.perf_counter() - began
            return value

        return score

    def _decided(
        self, problem: Problem, solution: Solution, measure: Measure | None
    ) -> tuple[Solution, DecisionFunction]:
        """Return the solution and its decision function, refitted for all samples if a limit cut the solve short."""
        found = problem.decision_function(solution.point, solution.certificate)
        if not self.limited or solution.status in (Status.CONVERGED, Status.INTERRUPTED):
            return solution, found
        best = refitted(problem, np.flatnonzero(solution.point))
        if best is not None and best[1].primal < solution.certificate.primal:
            found, certificate = best
            solution = replace(solution, certificate=certificate)
        if measure and solution.history:
            solution.history[-1] = solution.history[-1].measured(measure(found))
        return solution, found

    def _start(self, pair: ClassPair, problem: Problem) -> np.ndarray | None:
        if self.start is None:
            return None
        if isinstance(self.start, ModelStart):
            return self.start.point(pair, problem)
        k, m = pair.k, len(pair.rows)
        if k >= len(self.start) or self.start[k].shape != (m,):
            raise InputError(f"start has no point of length {m} for problem {k}: it belongs to other data")
        reason = problem.infeasible(self.start[k])
        if reason:
            raise InputError(f"start for problem {k} is infeasible: {reason}")
        return self.start[k]

    def _model_with(self, k: int, decision: DecisionFunction) -> SVMModel:
        """Return the model of the decision function of class pair k and of what is known of the others."""
        empty = nothing(decision)
        found = [part.decision if part else empty for part in self._parts]
        found[k] = decision
        return self.data.model(found, {"solver": self.solver.name})[0]


def nothing(like: DecisionFunction) -> DecisionFunction:
    """Return the decision function of a class pair that did not begin, beside one that did."""
    return DecisionFunction(np.empty(0), 0.0, None if like.w is None else np.empty(0), np.empty(0, dtype=np.int64))
