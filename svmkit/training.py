"""The flow, once: features and labels -> kernel -> gram -> problem -> solve -> model, for two classes or more."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from svmkit import interrupt, plugins, threads
from svmkit.checkpoint import Checkpoint
from svmkit.errors import InputError
from svmkit.kernels import FromFunction, Kernel
from svmkit.loop import Callback, Progress, Saver, Score, solve
from svmkit.model import SVMModel
from svmkit.prepared import Pair, PairModel, Prepared
from svmkit.problem import Certificate, Expansion, Problem
from svmkit.refit import by_size, refitted
from svmkit.sampler import Cyclic, Sampler
from svmkit.solver import Requires, Solution, Solver, Status
from svmkit.stopping import Criterion, Seconds, Stop, Support
from svmkit.validation import Measure, Validation
from svmkit.warmstart import ModelStart

Watch = Callable[[int, int, str], Sequence[Callback]]
"""Called with (k, number of problems, "a vs b") before problem k; returns the callbacks for it."""

Start = Sequence[np.ndarray] | SVMModel
"""A point for each pair of classes, or a model whose support vectors are rows of the data."""

_WORST = [
    Status.CONVERGED,
    Status.MAX_SUPPORT,
    Status.STALLED,
    Status.MAX_ITER,
    Status.TIME_LIMIT,
    Status.INTERRUPTED,
]


@dataclass(frozen=True)
class Fit:
    """A trained model and how it was found; sums and worst cases run over the binary problems.

    solutions : one for each pair of classes, in the order of the model's intercepts; support : rows of X that
    became vectors, in the model's order; seconds : training, data checks and model included, validation excluded.
    """

    model: SVMModel
    solutions: list[Solution]
    support: np.ndarray
    seconds: float
    kernel_values: int

    @property
    def status(self) -> Status:
        return max((s.status for s in self.solutions), key=_WORST.index)

    @property
    def n_iter(self) -> int:
        return sum(s.n_iter for s in self.solutions)

    @property
    def objective(self) -> float:
        """Sum of the primal values."""
        return float(sum(s.certificate.primal for s in self.solutions))

    @property
    def dual_objective(self) -> float | None:
        """Sum of the dual values; None when a solver has none."""
        duals = [s.certificate.dual for s in self.solutions]
        return None if None in duals else float(sum(duals))  # type: ignore[arg-type]

    @property
    def gap(self) -> float | None:
        """The largest relative duality gap; None when a solver has none."""
        gaps = [s.certificate.gap for s in self.solutions]
        return None if None in gaps else max(gaps)  # type: ignore[type-var]


def as_kernel(kernel: Any, params: dict[str, Any] | None = None, solver: str | Solver | None = None) -> Kernel:
    """A kernel from its name and those of `params` that it has, a callable f(X, Z), or a Kernel as it is.

    None : linear for a `solver` that needs it, else rbf. Raises InputError for a kernel that the solver cannot take.
    """
    solver = plugins.build("solver", solver) if isinstance(solver, str) else solver
    if kernel is None:
        kernel = "linear" if solver is not None and Requires.LINEAR_KERNEL in solver.requires else "rbf"
    if isinstance(kernel, str):
        known = plugins.options(plugins.load("kernel", kernel))
        kernel = plugins.build("kernel", kernel, {k: v for k, v in (params or {}).items() if k in known})
    found = kernel if isinstance(kernel, Kernel) else FromFunction(kernel)
    if solver is not None:
        solver.check_kernel(found)
    return found


class Part(NamedTuple):
    """What training one pair of classes gave."""

    solution: Solution
    model: PairModel
    kernel_values: int
    seconds: float


class Trainer:
    """Everything about training but the C: trains one pair at a time, and puts the pairs together.

    data : what is trained on; the others as for `fit`
    """

    def __init__(
        self,
        data: Prepared,
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
        self.solver = plugins.build("solver", solver) if isinstance(solver, str) else solver
        self.sampler = plugins.sampler(sampler)
        self.start = self._from_model(start) if isinstance(start, SVMModel) else start
        self.validation = Validation(*validation, data) if validation is not None else None

        self.budgeted = any(isinstance(rule, Support) for rule in (Stop(()) | (stop or Stop(()))).criteria)
        self.measuring = 0.0  # seconds that went into the accuracy on held-out rows

    def _from_model(self, model: SVMModel) -> ModelStart:
        return ModelStart(model, self.data, self.solver.problem_for(self.data.kernel).is_linear)

    def pair(self, k: int) -> Pair:
        """The k-th pair. Kernel values are shared unless the solver needs none, or is shown the samples in order."""
        linear = self.solver.problem_for(self.data.kernel).is_linear
        return self.data.pair(k, shared=not linear and not isinstance(self.sampler, Cyclic))

    def train(
        self,
        pair: Pair,
        C: float,
        before: Sequence[Part] = (),
        *,
        start: np.ndarray | Progress | None = None,
        saver: Saver | None = None,
        watched: tuple[int, int, str] | None = None,
    ) -> Part:
        """Train one pair from `start`, else from the start that was given for all.

        before : the parts of the pairs before this one, whose seconds are spent; watched : what `watch` is told,
        default (k, number of pairs, name of the pair)
        """
        began, values = time.perf_counter() - self.measuring, pair.gram.kernel_values
        problem = pair.problem(self.solver, C)
        reason = problem.infeasible(start.point) if isinstance(start, Progress) else None
        if reason:  # compiled loops trust a point
            raise InputError(f"the checkpoint is damaged, its point of {pair.name} is none: {reason}; do not resume")
        sizes, measure = self.data.sizes, self.validation.measure(pair) if self.validation else None
        solution = solve(
            problem,
            self.solver,
            sampler=self.sampler,
            stop=_share(self.stop, sizes[pair.k] / sum(sizes[pair.k :]), sum(p.solution.seconds for p in before)),
            start=self._start(pair, problem) if start is None else start,
            seed=self.seed,
            callbacks=self.watch(*(watched or (pair.k, len(sizes), pair.name))) if self.watch else (),
            saver=saver,
            score=self._score(problem, measure) if measure else None,
        )
        solution, found = self._expanded(problem, solution, measure)
        used = np.flatnonzero(found.coef)
        model = PairModel(pair.rows[used], found.coef[used], found.intercept, found.w)
        seconds = time.perf_counter() - self.measuring - began
        return Part(solution, model, pair.gram.kernel_values - values, seconds)

    def _score(self, problem: Problem, measure: Measure) -> Score:
        """Under a budget of support vectors, the curve is that of the models that the budget is for."""
        sized = by_size(problem, measure) if self.budgeted else None

        def score(point: np.ndarray, certificate: Certificate) -> float | None:
            began = time.perf_counter()
            value = sized(point, certificate) if sized else measure(problem.expansion(point, certificate))
            self.measuring += time.perf_counter() - began
            return value

        return score

    def _expanded(self, problem: Problem, solution: Solution, measure: Measure | None) -> tuple[Solution, Expansion]:
        """The solution and its decision function; where a budget cut the solve short, refitted for all samples."""
        found = problem.expansion(solution.point, solution.certificate)
        if not self.budgeted or solution.status in (Status.CONVERGED, Status.INTERRUPTED):
            return solution, found
        best = refitted(problem, np.flatnonzero(solution.point))
        if best is not None and best.certificate.primal < solution.certificate.primal:
            found = Expansion(best.coef, best.intercept)
            solution = replace(solution, certificate=best.certificate)
        if measure and solution.history:
            solution.history[-1] = solution.history[-1]._replace(accuracy=measure(found))
        return solution, found

    def _start(self, pair: Pair, problem: Problem) -> np.ndarray | None:
        if self.start is None:
            return None
        if isinstance(self.start, ModelStart):
            return self.start.point(pair, problem)
        k, m = pair.k, len(pair.rows)
        if k >= len(self.start) or self.start[k].shape != (m,):
            raise InputError(f"start has no point of length {m} for problem {k}: it belongs to other data")
        reason = problem.infeasible(self.start[k])
        if reason:
            raise InputError(f"start for problem {k} is no point of it: {reason}")
        return self.start[k]

    def joined(self, parts: list[Part], C: float) -> Fit:
        """The model of all pairs."""
        began = time.perf_counter()
        about = {"solver": self.solver.name, "C": float(C)}
        model, support = self.data.model([p.model for p in parts], about)
        seconds = sum(p.seconds for p in parts) + time.perf_counter() - began
        return Fit(model, [p.solution for p in parts], support, seconds, sum(p.kernel_values for p in parts))


def fit(
    X,
    y,
    *,
    solver: str | Solver = "swap2o",
    kernel: Kernel,
    C: float = 1.0,
    sampler: str | Sampler | None = None,
    stop: Criterion | Stop | None = None,
    class_weight: str | dict | None = None,
    sample_weight: np.ndarray | None = None,
    scale: str | None = None,
    memory: str | int = "1GB",
    seed: int = 0,
    n_threads: int | None = None,
    start: Start | None = None,
    validation: tuple[Any, Any] | None = None,
    watch: Watch | None = None,
    checkpoint: Checkpoint | None = None,
) -> Fit:
    """Train a classifier.

    Parameters
    ----------
    X : (n_samples, n_features), dense or CSR, float32 or float64; y : (n_samples,) labels, numbers or text
    solver, sampler : names, or instances; sampler None is the solver's own, mostly "full"
    kernel : Kernel, gamma and the like resolved here
    C : weight of the summed losses, > 0; class_weight : None, "balanced" or {label: weight}; sample_weight :
        (n_samples,), >= 0; a sample of weight 0 takes no part. C_i is the product of the three.
    stop : default Gap(1e-3); budgets in seconds are shared by the pairs of classes by rows, others hold for each
        pair: of three classes, Support(50) leaves up to 50 vectors to each of the three pairs
    scale : None, standard, minmax or maxabs: applied to X and stored with the model
    memory : budget of the row cache; seed : of all random choices; n_threads : default all
    start : a point for each problem, as `Solution.point` of an earlier fit on the same X and y; or an SVMModel of
        the same classes and columns, whatever its C and kernel, that shares support vectors with X. A start changes
        where training begins, not where it ends.
    validation : (X, y) of held-out rows: each history's `accuracy` is measured on those of its classes, off the
        clock, every time the iterations have grown by a fifth

    Returns
    -------
    Fit

    Raises
    ------
    InputError for data or options that cannot be used, each with one line on how to mend it.
    """
    began = time.perf_counter()
    require_C(C)
    data = Prepared.of(
        X,
        y,
        kernel=kernel,
        class_weight=class_weight,
        sample_weight=sample_weight,
        scale=scale,
        memory=memory,
    )
    trainer = Trainer(
        data, solver=solver, sampler=sampler, stop=stop, seed=seed, start=start, validation=validation, watch=watch
    )
    if checkpoint is not None:
        checkpoint.bind(data.X, data.codes, C * data.weights, data.kernel)
    parts: list[Part] = []
    with threads.using(n_threads), interrupt.catching():
        for k in range(len(data.sizes)):
            going_on = (checkpoint.progress(k), checkpoint.slot(k)) if checkpoint else (None, None)
            parts.append(trainer.train(trainer.pair(k), C, parts, start=going_on[0], saver=going_on[1]))
        fitted = trainer.joined(parts, C)
    return replace(fitted, seconds=time.perf_counter() - trainer.measuring - began)


def require_C(C: Any) -> None:
    """InputError unless C is a finite number > 0."""
    if not (isinstance(C, int | float | np.number) and math.isfinite(C) and C > 0):
        raise InputError(f"C must be a finite number > 0, not {C!r}")


def _share(stop: Criterion | Stop | None, share: float, spent: float) -> Criterion | Stop | None:
    """`stop` with a share of the seconds that are left: by rows, among the problems that are left."""
    if stop is None:
        return None
    rules = (Stop(()) | stop).criteria
    return Stop(tuple(Seconds(max((r.limit - spent) * share, 1e-9)) if isinstance(r, Seconds) else r for r in rules))
