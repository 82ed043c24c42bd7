"""The flow, once: features and labels -> kernel -> gram -> problem -> solve -> model, for two classes or more."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmkit import checks, interrupt, plugins, threads
from svmkit.checkpoint import Checkpoint
from svmkit.errors import InputError
from svmkit.gram import Gram, parse_bytes
from svmkit.kernels import FromFunction, Kernel, Precomputed
from svmkit.loop import Callback, solve
from svmkit.model import SVMModel, pairs
from svmkit.problem import Problem
from svmkit.sampler import Sampler
from svmkit.scaling import Scaling
from svmkit.solver import Solution, Solver, Status
from svmkit.stopping import Criterion, Seconds, Stop

Watch = Callable[[int, int, str], Sequence[Callback]]
"""Called with (k, number of problems, "a vs b") before problem k; returns the callbacks for it."""

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
    became vectors, in the model's order; seconds : training, data checks and model included.
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


def as_kernel(kernel: str | Kernel | Callable, params: dict[str, Any] | None = None) -> Kernel:
    """A kernel from its name and those of `params` that it has, a callable f(X, Z), or a Kernel as it is."""
    if isinstance(kernel, Kernel):
        return kernel
    if not isinstance(kernel, str):
        return FromFunction(kernel)
    known = plugins.options(plugins.load("kernel", kernel))
    return plugins.build("kernel", kernel, {k: v for k, v in (params or {}).items() if k in known})


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
    start: Sequence[np.ndarray] | None = None,
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
    stop : default Gap(1e-3); budgets in seconds are shared by the pairs of classes by rows, others hold for each pair
    scale : None, standard, minmax or maxabs: applied to X and stored with the model
    memory : budget of the row cache; seed : of all random choices; n_threads : default all
    start : a point for each problem, as `Solution.point` of an earlier fit on the same X and y

    Returns
    -------
    Fit

    Raises
    ------
    InputError for data or options that cannot be used, each with one line on how to mend it.
    """
    began = time.perf_counter()
    X = checks.as_features(X)
    classes, codes = checks.encode_labels(y, n_samples=X.shape[0])
    checks.require_finite(X)
    if not (isinstance(C, int | float | np.number) and math.isfinite(C) and C > 0):
        raise InputError(f"C must be a finite number > 0, not {C!r}")
    parse_bytes(memory)
    solver = plugins.build("solver", solver) if isinstance(solver, str) else solver
    weights = C * _weights(codes, classes, class_weight, sample_weight)
    n_features = X.shape[1]
    scaling = Scaling.fit(scale, X) if scale and scale != "none" else None
    X = scaling.apply(X) if scaling else X
    kernel = kernel.resolve(X)
    if checkpoint is not None:
        checkpoint.bind(X, codes, weights, kernel)

    todo = pairs(len(classes))
    counts = np.bincount(codes, minlength=len(classes))
    sizes = [int(counts[a] + counts[b]) for a, b in todo]
    solutions: list[Solution] = []
    expansions: list[tuple[np.ndarray, np.ndarray, float]] = []
    kernel_values = 0
    with threads.using(n_threads), interrupt.catching():
        for k, (a, b) in enumerate(todo):
            rows = np.flatnonzero(((codes == a) | (codes == b)) & (weights > 0))
            # scikit-learn's conventions: two classes, positive is the second; more, it is the first of the pair
            y_pm = np.where(codes[rows] == (b if len(todo) == 1 else a), 1.0, -1.0)
            name = f"{classes[a]} vs {classes[b]}"
            problem = _problem(solver, kernel, _subset(X, rows, kernel), y_pm, weights[rows], memory, name)
            solution = solve(
                problem,
                solver,
                sampler=plugins.sampler(sampler),
                stop=_share(stop, sizes[k] / sum(sizes[k:]), sum(s.seconds for s in solutions)),
                start=_start(checkpoint, start, k, len(rows)),
                seed=seed,
                callbacks=watch(k, len(todo), name) if watch else (),
                saver=checkpoint.slot(k) if checkpoint else None,
            )
            coef, intercept = problem.expansion(solution.point, solution.certificate)
            used = np.flatnonzero(coef)
            solutions.append(solution)
            expansions.append((rows[used], coef[used], intercept))
            kernel_values += problem.gram.kernel_values
        about = {"solver": solver.name, "C": float(C), "n_samples": int(X.shape[0])}
        model, support = _assemble(X, kernel, classes, codes, expansions, n_features, scaling, about)
    return Fit(model, solutions, support, time.perf_counter() - began, kernel_values)


def _problem(solver: Solver, kernel: Kernel, X, y_pm, C, memory, name: str) -> Problem:
    if (y_pm == y_pm[0]).all() if len(y_pm) else True:
        raise InputError(f"{name}: sample weights are zero for all of a class; training needs two classes")
    return solver.problem.classifier(Gram(kernel, X, memory=memory), y_pm, C)


def _subset(X, rows: np.ndarray, kernel: Kernel):
    """The rows of X, without a copy when these are all of them."""
    if len(rows) == X.shape[0]:
        return X
    return X[rows][:, rows] if isinstance(kernel, Precomputed) else X[rows]


def _weights(codes, classes, class_weight, sample_weight) -> np.ndarray:
    """Class weight times sample weight for each sample, (n_samples,)."""
    weights = np.ones(len(codes))
    if sample_weight is not None:
        given = np.asarray(sample_weight, dtype=np.float64)
        if given.ndim == 0:
            given = np.full(len(codes), float(given))
        if given.shape != weights.shape or not np.isfinite(given).all() or (given < 0).any():
            raise InputError(f"sample_weight must be {len(codes)} finite numbers >= 0, one for each sample")
        weights *= given
    if class_weight is None:
        return weights
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise InputError(f"class_weight={class_weight!r} is not known: give balanced or a weight for each label")
        counts = np.bincount(codes, weights, minlength=len(classes))  # so that a weight of 2 is a row twice
        share = np.divide(weights.sum(), len(classes) * counts, out=np.zeros(len(classes)), where=counts > 0)
        return weights * share[codes]
    by_label = {_label_key(label): weight for label, weight in class_weight.items()}
    unknown = set(by_label) - {_label_key(label) for label in classes.tolist()}
    numbers = all(isinstance(w, int | float | np.number) and w > 0 and math.isfinite(w) for w in by_label.values())
    if unknown or not numbers:
        raise InputError(
            f"class_weight must give a finite number > 0 for labels among {', '.join(map(str, classes))}"
            + (f", not for {', '.join(sorted(map(str, unknown)))}" if unknown else "")
        )
    return weights * np.array([float(by_label.get(_label_key(label), 1.0)) for label in classes.tolist()])[codes]


def _label_key(label: Any) -> float | str:
    """1, 1.0 and "1" are one label: files and the command line spell numbers in their own ways."""
    try:
        return float(label)
    except (TypeError, ValueError):
        return str(label)


def _share(stop: Criterion | Stop | None, share: float, spent: float) -> Criterion | Stop | None:
    """`stop` with a share of the seconds that are left: by rows, among the problems that are left."""
    if stop is None:
        return None
    rules = (Stop(()) | stop).criteria
    return Stop(tuple(Seconds(max((r.limit - spent) * share, 1e-9)) if isinstance(r, Seconds) else r for r in rules))


def _start(checkpoint: Checkpoint | None, start: Sequence[np.ndarray] | None, k: int, m: int):
    """Where problem k begins: at its checkpoint, at the caller's point, or afresh."""
    progress = checkpoint.progress(k) if checkpoint else None
    if progress is not None:
        return progress
    if start is None:
        return None
    if k >= len(start) or start[k].shape != (m,):
        raise InputError(f"start has no point of length {m} for problem {k}: it belongs to other data")
    return start[k]


def _assemble(X, kernel, classes, codes, expansions, n_features, scaling, about) -> tuple[SVMModel, np.ndarray]:
    """The model over the union of all problems' support vectors, sorted by class."""
    support = np.unique(np.concatenate([rows for rows, _, _ in expansions]))
    support = support[np.argsort(codes[support], kind="stable")]
    place = np.full(X.shape[0], -1, dtype=np.int64)
    place[support] = np.arange(len(support))
    coef = np.zeros((len(classes) - 1, len(support)))
    for (a, b), (rows, weights, _) in zip(pairs(len(classes)), expansions, strict=True):
        coef[np.where(codes[rows] == a, b - 1, a), place[rows]] = weights
    model = SVMModel(
        kernel=kernel,
        classes=classes,
        vectors=support if isinstance(kernel, Precomputed) else X[support],
        n_support=np.bincount(codes[support], minlength=len(classes)),
        coef=coef,
        intercept=np.array([intercept for _, _, intercept in expansions]),
        n_features=n_features,
        scaling=scaling,
        about=about,
    )
    return model, support
