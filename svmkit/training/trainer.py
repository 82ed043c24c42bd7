"""The training of one class pair after the other, and the model that they make together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from svmkit.errors import InputError
from svmkit.model.model import SVMModel
from svmkit.problems.base import Certificate, DecisionFunction, Problem
from svmkit.solver import by_name
from svmkit.solver.base import Solver
from svmkit.solver.loop import solve
from svmkit.solver.recorder import Callback, Score
from svmkit.solver.sampler import Cyclic, Sampler
from svmkit.solver.solution import Solution, Status
from svmkit.solver.stopping import Criterion, Seconds, Stop, Support
from svmkit.training.checkpoint import Slot
from svmkit.training.data import ClassPair, TrainingData
from svmkit.training.refit import by_size, refitted
from svmkit.training.result import Fit
from svmkit.training.validation import Measure, Validation
from svmkit.training.warm_start import ModelStart

Watch = Callable[[int, int, str], Sequence[Callback]]
"""Called with (k, number of problems, "a vs b") before problem k; returns the callbacks of its solve."""

Start = Sequence[np.ndarray] | SVMModel
"""A point for each class pair, or a model some of whose support vectors are rows of the data."""


class Part(NamedTuple):
    """The result of training one class pair.

    Attributes
    ----------
    solution : Solution
        How the solve ended, with its certificate.
    decision : DecisionFunction
        The decision function over the rows of X that are support vectors.
    kernel_values : int
        The number of kernel values that were computed.
    seconds : float
        The time of training, measurements on held-out rows excluded.
    """

    solution: Solution
    decision: DecisionFunction
    kernel_values: int
    seconds: float


class Trainer:
    """Trains class pairs one at a time, for any C, and joins them into a model.

    Parameters
    ----------
    data : TrainingData
        The data after every check.
    solver, sampler, stop, seed, start, validation, watch
        As for `svmkit.fit`.

    Attributes
    ----------
    limited : bool
        Whether `stop` limits the number of support vectors.
    measuring : float
        The seconds that went into the accuracy on held-out rows.

    Raises
    ------
    InputError
        An option cannot be used with these data.
    """

    def __init__(
        self,
        data: TrainingData,
        *,
        solver: str | Solver = "swap2o",
        sampler: str | Sampler | None = None,
        stop: Criterion | Stop | None = None,
        seed: int = 0,
        start: Start | None = None,
        validation: tuple[Any, Any] | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.data, self.seed, self.stop, self.watch = data, seed, stop, watch
        self.solver = by_name.solver(solver)
        self.sampler = by_name.sampler(sampler)
        self.start = self._from_model(start) if isinstance(start, SVMModel) else start
        self.validation = Validation(*validation, data) if validation is not None else None
        self.limited = any(isinstance(rule, Support) for rule in (Stop(()) | (stop or Stop(()))).criteria)
        self.measuring = 0.0

    def _from_model(self, model: SVMModel) -> ModelStart:
        return ModelStart(model, self.data, self.solver.problem_for(self.data.kernel).is_linear)

    def pair(self, k: int) -> ClassPair:
        """Return the k-th class pair, with shared kernel values unless the solver needs none or their order matters."""
        linear = self.solver.problem_for(self.data.kernel).is_linear
        return self.data.pair(k, shared=not linear and not isinstance(self.sampler, Cyclic))

    def train(
        self,
        pair: ClassPair,
        C: float,
        before: Sequence[Part] = (),
        *,
        start: np.ndarray | None = None,
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
        before : sequence of Part, default=()
            The results of the class pairs before this one, whose seconds count against a limit in seconds.
        start : ndarray, default=None
            The point to start from. None uses the start that was given for all class pairs, if any.
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
        problem = pair.problem(self.solver, C)
        progress = slot.progress if slot else None
        reason = problem.infeasible(progress.point) if progress else None
        if slot and reason:  # compiled loops trust a point
            raise slot.refusal(pair.name, reason)
        sizes, measure = self.data.sizes, self.validation.measure(pair) if self.validation else None
        solution = solve(
            problem,
            self.solver,
            sampler=self.sampler,
            stop=_share(self.stop, sizes[pair.k] / sum(sizes[pair.k :]), sum(p.solution.seconds for p in before)),
            start=progress or (self._start(pair, problem) if start is None else start),
            seed=self.seed,
            callbacks=self.watch(*(watched or (pair.k, len(sizes), pair.name))) if self.watch else (),
            saver=slot,
            score=self._score(problem, measure) if measure else None,
        )
        solution, decision = self._decided(problem, solution, measure)
        seconds = time.perf_counter() - self.measuring - began
        return Part(solution, decision.restrict(pair.rows), pair.gram.kernel_values - values, seconds)

    def _score(self, problem: Problem, measure: Measure) -> Score:
        """Return the function that measures accuracy; with a limit on support vectors it measures refitted models."""
        sized = by_size(problem, measure) if self.limited else None

        def score(point: np.ndarray, certificate: Certificate) -> float | None:
            began = time.perf_counter()
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
            solution.history[-1] = solution.history[-1]._replace(accuracy=measure(found))
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

    def joined(self, parts: list[Part], C: float) -> Fit:
        """Join the results of all class pairs, trained with this C, into a model."""
        began = time.perf_counter()
        about = {"solver": self.solver.name, "C": float(C)}
        model, support = self.data.model([p.decision for p in parts], about)
        seconds = sum(p.seconds for p in parts) + time.perf_counter() - began
        return Fit(model, [p.solution for p in parts], support, seconds, sum(p.kernel_values for p in parts))


def _share(stop: Criterion | Stop | None, share: float, spent: float) -> Criterion | Stop | None:
    """Return `stop` with this share of the seconds that are left after `spent` seconds."""
    if stop is None:
        return None
    rules = (Stop(()) | stop).criteria
    return Stop(tuple(Seconds(max((r.limit - spent) * share, 1e-9)) if isinstance(r, Seconds) else r for r in rules))
