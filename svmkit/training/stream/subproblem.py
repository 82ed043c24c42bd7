"""A problem that learns from samples as they arrive, and keeps only the rows that its solver still needs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.data.prepare.features import pad_or_refuse_columns
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram import Gram
from svmkit.problems.base import DecisionFunction, Problem
from svmkit.problems.certificate import Certificate
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.capabilities import LimitsSupport
from svmkit.solver.sampler import Draws, Sampler
from svmkit.solver.step_info import StepInfo
from svmkit.training.settings import Method

WAITING = 1024  # rows, or rows of a larger block, that wait for the other class at most; the last ones are kept


class Rows(NamedTuple):
    """Samples of a stream: features X (n, d), labels or targets y, weights C of the losses, and their indices."""

    X: Any
    y: np.ndarray
    C: np.ndarray
    ids: np.ndarray

    def take(self, at: np.ndarray | slice) -> Rows:
        """Return the samples at the given positions."""
        return Rows(*(part[at] for part in self))


def stack(parts: list[Rows]) -> Rows:
    """Return all samples in the order given; early rows, which lack the last columns, are padded with zeros."""
    width = max(rows.X.shape[1] for rows in parts)
    wide = [pad_or_refuse_columns(rows.X, width, pad=True) for rows in parts]
    X = wide[0] if len(wide) == 1 else sp.vstack(wide, format="csr") if sp.issparse(wide[0]) else np.vstack(wide)
    return Rows(X, *(np.concatenate(column) for column in zip(*(rows[1:] for rows in parts), strict=True)))


@dataclass(frozen=True)
class Arriving(Sampler):
    """Draws the points from `first` on, once and in order, after `before` samples of the stream."""

    name: ClassVar[str] = "arriving"
    first: int = 0
    before: int = 0

    def draws(self, y: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
        yield np.arange(self.first, len(y))


class OnlinePair:
    """The state of the solver of one class pair, or of a regression, and its current problem."""

    def __init__(self, plus: int, minus: int, method: Method, *, memory: int, max_support: int | None) -> None:
        # samples of the class `plus` have the label +1, those of `minus` -1; in regression all have the code `plus`
        self.plus, self.minus, self.method = plus, minus, method
        self.solver: Any = method.solver
        self.memory, self.max_support = memory, max_support  # bytes of kernel rows, limit on support vectors if any
        self.has_classes = method.task.has_classes
        self.rng = np.random.default_rng(method.settings.seed)
        self.state: Any = None
        self.problem: Problem | None = None
        self.rows: Rows | None = None  # the samples of the problem
        self.waiting: Rows | None = None  # the samples that wait for the other class
        self.start: DecisionFunction | None = None  # the linear model to start from once both classes have arrived
        self.info: StepInfo | None = None
        self.dropped = 0  # samples that were skipped before the other class arrived
        self.seen = 0  # samples of the stream that were learned, including those of the model at its start
        self.n_iter = self.kernel_values = 0
        self.seconds = 0.0

    @property
    def members(self) -> np.ndarray:
        """The positions in `rows` of the samples that the solver still needs."""
        return np.empty(0, dtype=np.int64) if self.state is None else self.solver.members(self.state)

    def signs(self, codes: np.ndarray) -> np.ndarray:
        """Return the labels -1.0 and +1.0 of samples with these class codes."""
        return np.where(codes == self.plus, 1.0, -1.0)

    def _lacks_class(self, rows: Rows) -> bool:
        """Return whether one of the two classes has not arrived."""
        return self.has_classes and bool((rows.y == rows.y[0]).all())

    def restorer(self) -> Callable[[], None]:
        """Return a function that undoes later calls of `learn`; the solver then starts from the current model."""
        facts, draws_state = dict(vars(self)), self.rng.bit_generator.state
        point = None if self.state is None else self.solver.solution(self.state)

        def restore() -> None:
            vars(self).update(facts)
            self.rng.bit_generator.state = draws_state
            if self.problem is not None:
                draws = Draws(Arriving(self.problem.m, self.seen), self.problem.y, self.rng)
                self._begin(self.problem, point, draws)

        return restore

    def _begin(self, problem: Problem, point: np.ndarray | None, draws: Draws) -> None:
        self.state = self.solver.init(problem, point, draws)
        if self.max_support is not None:
            assert isinstance(self.solver, LimitsSupport)  # `require_streamable` has checked it
            self.solver.limit_support(self.state, self.max_support)

    def learn(self, new: Rows, kernel: Kernel, until: Callable[[], bool]) -> int:
        """Make a step for each new sample, in order; return the number of remaining samples if `until` returned True.

        Parameters
        ----------
        new, kernel : Rows, Kernel
            The new samples, which wait until there is a sample of the other class, and the resolved kernel.
        until : callable
            The steps end once it returns True, but not before the first samples of both classes were learned: with
            fewer there would be no model.
        """
        began = time.perf_counter()
        rows = new if self.waiting is None else stack([self.waiting, new])
        members = self.members
        problem_rows = stack([self.rows.take(members), rows]) if self.rows is not None and len(members) else rows
        if self._lacks_class(problem_rows):
            room = max(WAITING, len(new.y))
            self.dropped += max(0, len(rows.y) - room)
            self.waiting = rows.take(slice(-room, None))
            return 0
        self.rows, self.waiting = problem_rows, None
        least = 0
        if self.state is None:
            least = 1 if not self.has_classes else int(np.argmax(rows.y != rows.y[0])) + 1
        left = self._steps(len(problem_rows.y) - len(rows.y), kernel, until, least=least)
        self.seconds += time.perf_counter() - began
        return min(left, len(new.y))

    def begin(self, rows: Rows, coef: np.ndarray, kernel: Kernel, seen: int) -> None:
        """Start from the support vectors of a model.

        Parameters
        ----------
        rows, coef : Rows, ndarray of shape (n,), float64
            The support vectors, and their coefficients.
        kernel, seen : Kernel, int
            The resolved kernel, and the number of samples that the model was trained on.
        """
        self.seen = max(seen, len(rows.y))
        if self._lacks_class(rows):
            self.waiting = rows
        else:
            self.rows = rows
            self._steps(len(rows.y), kernel, lambda: True, coef)

    def _steps(
        self, first: int, kernel: Kernel, until: Callable[[], bool], coef: np.ndarray | None = None, least: int = 0
    ) -> int:
        """Pass the rows to the solver, learn the rows from `first` on, and return the number of remaining rows.

        At least `least` rows are learned, whatever `until` returns.
        """
        assert self.rows is not None
        # float32 kernel rows stay float32: the cached ones would have to be computed again
        kept = self.problem.gram.dtype if self.problem and self.problem.gram.dtype == np.float32 else None
        gram = Gram(kernel, self.rows.X, memory=self.memory, dtype=kept)
        problem = self.method.pose(self.solver, gram, self.rows.y, self.rows.C)
        draws = Draws(Arriving(first, self.seen), problem.y, self.rng)
        if self.state is None:
            self.solver.check(problem)
            self._begin(problem, self._first_point(problem, coef), draws)
        else:
            self.solver.renew(self.state, problem, draws)
        self.problem = problem
        rows = left = problem.m - first
        while left and (rows - left < least or not until()):
            self.info = self.solver.step(self.state)
            self.n_iter += self.info.steps
            taken = max(1, round(self.info.epochs * problem.m))
            left, self.seen = left - taken, self.seen + taken
        self.kernel_values += gram.kernel_values
        return left

    def _first_point(self, problem: Problem, coef: np.ndarray | None) -> np.ndarray | None:
        """Return the starting point: the given model's, or the first sample if points are weights of samples."""
        if coef is not None:
            return problem.start(coef)
        if self.start is not None and self.start.w is not None:
            more = problem.gram.engine.X.shape[1] - len(self.start.w)
            return problem.start_weights(np.pad(self.start.w, (0, more)), self.start.intercept)
        return np.eye(1, problem.m)[0] if isinstance(problem, SimplexQP) else None

    def solution(self) -> tuple[np.ndarray, Certificate]:
        """Return the point over the problem's rows, and the bounds known without a pass over the rows."""
        if self.problem is None:
            return np.empty(0), Certificate(float("inf"), 0.0, None)
        point = self.solver.solution(self.state)
        objective = self.info.objective if self.info else self.problem.objective(point)
        return point, self.problem.bound(objective)

    def decision_function(self) -> tuple[Rows | None, DecisionFunction]:
        """Return the support vectors, None as long as there is no problem, and the decision function over them."""
        if self.problem is None or self.rows is None:  # samples of only one class have arrived: it gets all decisions
            constant = DecisionFunction(np.empty(0), 0.0 if self.waiting is None else float(self.waiting.y[0]))
            return None, self.start or constant
        decision = self.problem.decision_function(*self.solution()).restrict(np.arange(self.problem.m))
        assert decision.rows is not None
        return self.rows.take(decision.rows), decision


def join(pairs: list[OnlinePair]) -> tuple[Rows | None, list[DecisionFunction]]:
    """Return the support vectors of all class pairs, without duplicates, and the decision functions over them.

    The rows have class codes as `y`, and are None if there are none; `rows` of the decision functions are indices into
    them.
    """
    models = [pair.decision_function() for pair in pairs]
    decisions = [decision for _, decision in models]
    parts = [
        rows._replace(y=np.where(rows.y > 0, pair.plus, pair.minus))
        for pair, (rows, _) in zip(pairs, models, strict=True)
        if rows is not None
    ]
    if not parts:
        return None, [replace(decision, rows=np.empty(0, dtype=np.int64)) for decision in decisions]
    every = stack(parts)
    _, first, place = np.unique(every.ids, return_index=True, return_inverse=True)
    places = np.split(place, np.cumsum([len(decision.coef) for decision in decisions])[:-1])
    if any(decision.w is not None for decision in decisions):
        decisions = [replace(d, w=np.zeros(0)) if d.w is None else d for d in decisions]
    return every.take(first), [replace(d, rows=at) for d, at in zip(decisions, places, strict=True)]
