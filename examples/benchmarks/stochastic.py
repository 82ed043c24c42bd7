"""Measure epochs and seconds of stochastic solvers to 1 % and 0.1 % above the optimum, beside scikit-learn's SGD.

    python examples/benchmarks/stochastic.py a9a w8a -C 1 --epochs 200

On linear problems every solver takes one epoch after the other; P is measured in between, off the clock, as is
compilation. Figures are medians over the seeds; `-` means never within the given epochs. The optimum, which is
certified, is that of dcd, for l1 that of LIBLINEAR. The peer is SGDClassifier with alpha = lambda = 1 / (m C) on the
same columns, including that of the bias. Then pegasos and norma run with an RBF kernel on the first rows of each set
(--rows, --gamma; --rows 0 leaves them out), for which dcd solves the same problem on the rows of a factor of the kernel
matrix. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit import plugins
from svmkit.data import load
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear
from svmkit.kernels.gram import Gram
from svmkit.problems.base import Problem
from svmkit.solver.base import Solver
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Draws
from svmkit.solver.stopping import Gap, Iterations

LOSSES = ("hinge", "squared_hinge")
LINEAR = (
    ("pegasos", {}),
    ("pegasos", {"average": "none"}),
    ("sgd", {}),
    ("sgd", {"average": "none"}),
    ("sgdqn", {}),
    ("sgdqn", {"average": "none"}),
    ("sgdqn", {"curvature": "step", "clip": 100.0}),
    ("folos", {}),
)
KERNEL = (("pegasos", {}), ("pegasos", {"average": "none"}), ("norma", {}), ("norma", {"average": "none"}))
LEVELS = (1e-2, 1e-3)


class Course(NamedTuple):
    """(seconds, P / optimum - 1) after each epoch; the final accuracy on the test set, None without a test set."""

    seconds: list[float]
    above: list[float]
    accuracy: float | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("-C", type=float, default=1.0)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=5000, help="rows for the kernel solvers (default 5000; 0: none)")
    parser.add_argument("--kernel-epochs", type=int, default=50)
    parser.add_argument("--gamma", type=float, default=1 / 200)
    args = parser.parse_args()
    for name in args.data:
        X, y = read(name)
        test = tested(f"{name}.t", X.shape[1])
        for loss in LOSSES:
            print(linear(name, X, y, test, loss, args), flush=True)
        print(l1(name, X, y, args), flush=True)
        for loss in LOSSES if args.rows else ():
            print(kernels(name, X[: args.rows], y[: args.rows], loss, args), flush=True)


def read(name: str, n_features: int | None = None) -> tuple[Any, np.ndarray]:
    """X, and y of -1.0 and +1.0."""
    data = load(name, n_features=n_features)
    assert data.y is not None
    return data.X, np.where(data.y == np.unique(data.y)[-1], 1.0, -1.0)


def tested(name: str, n_features: int) -> tuple[Any, np.ndarray] | None:
    try:
        return read(name, n_features)
    except InputError:
        return None


def linear(name: str, X: Any, y: np.ndarray, test: Any, loss: str, args: argparse.Namespace) -> str:
    gram = Gram(Linear(), X)
    dcd = plugins.build("solver", "dcd", {"loss": loss})
    best = solve(dcd.pose(gram, y, args.C), dcd, stop=Gap(1e-5) | Iterations(5000)).certificate
    problem = plugins.build("solver", "sgd", {"loss": loss}).pose(gram, y, args.C)
    found = {}
    for solver_name, options in LINEAR:
        solver = plugins.build("solver", solver_name, {"loss": loss} | options)
        label = " ".join(
            [f"`{solver_name}`", *(f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in options.items())]
        )
        found[label] = courses(solver, problem, best.primal, args.epochs, args.seeds, test)
    for average in (True, False):
        label = "SGDClassifier" + (", average" if average else "")
        found[label] = [
            course(peer(problem, loss, average, seed), problem, best.primal, args.epochs, test)
            for seed in range(args.seeds)
        ]
    title = (
        f"{name}, {loss}, C = {args.C:g}, {X.shape[0]:,} rows; P* = {best.primal:.6g} (certified gap {best.gap:.0e})"
    )
    return table(title, found)


def courses(solver: Solver, problem: Problem, best: float, count: int, seeds: int, test: Any = None) -> list[Course]:
    """One course for each seed; one epoch before all of them compiles."""
    next(epochs_of(solver, problem, 0))
    return [course(epochs_of(solver, problem, seed), problem, best, count, test) for seed in range(seeds)]


def epochs_of(solver: Solver, problem: Problem, seed: int) -> Iterator[Callable[[], np.ndarray]]:
    """A function that makes one epoch, and one that returns the point."""
    state = solver.init(problem, None, Draws(solver.sampler, problem.y, np.random.default_rng(seed)))
    while True:
        solver.step(state)
        yield lambda: solver.solution(state)


def peer(problem: Any, loss: str, average: bool, seed: int) -> Iterator[Callable[[], np.ndarray]]:
    """The same for scikit-learn's SGDClassifier."""
    from sklearn.linear_model import SGDClassifier

    X = problem.gram.engine.X
    X = (
        sp.csr_array(sp.hstack([X, np.ones((X.shape[0], 1))]))
        if sp.issparse(X)
        else np.column_stack([X, np.ones(len(X))])
    )
    model = SGDClassifier(loss=loss, alpha=problem.lam, fit_intercept=False, average=average, random_state=seed)
    while True:
        model.partial_fit(X, problem.y, classes=[-1.0, 1.0])
        yield lambda: model.coef_[0].astype(np.float64)


def course(epochs: Iterator[Callable[[], np.ndarray]], problem: Problem, best: float, count: int, test: Any) -> Course:
    """Run the epochs; the calibration before the first epoch counts as part of it."""
    seconds, above, spent, point = [], [], 0.0, np.empty(0)
    for _ in range(count):
        began = time.perf_counter()
        at = next(epochs)
        spent += time.perf_counter() - began
        point = at()
        seconds.append(spent)
        above.append(problem.objective(point) / best - 1.0)
    accuracy = None
    if test is not None and problem.is_linear:
        w, intercept = problem.design.split(point)  # type: ignore[attr-defined]
        accuracy = float((np.sign(test[0] @ w + intercept) == test[1]).mean())
    return Course(seconds, above, accuracy)


def l1(name: str, X: Any, y: np.ndarray, args: argparse.Namespace) -> str:
    from sklearn.svm import LinearSVC

    solver = plugins.build("solver", "folos", {"penalty": "l1", "loss": "squared_hinge"})
    problem = solver.pose(Gram(Linear(), X), y, args.C)
    peer = LinearSVC(penalty="l1", loss="squared_hinge", dual=False, C=args.C, tol=1e-7, max_iter=5000).fit(X, y)
    best = problem.objective(np.append(peer.coef_[0], peer.intercept_))
    found = {"`folos` penalty=l1": courses(solver, problem, best, args.epochs, args.seeds)}
    return table(f"{name}, squared_hinge, l1, C = {args.C:g}; P* = {best:.6g} (LIBLINEAR)", found)


def kernels(name: str, X: Any, y: np.ndarray, loss: str, args: argparse.Namespace) -> str:
    gram, every = Gram(RBF(args.gamma), X), np.arange(X.shape[0])
    factor = np.linalg.cholesky(gram.block(every, every) + 1.0 + 1e-9 * np.eye(len(every)))
    dcd = plugins.build("solver", "dcd", {"loss": loss, "bias": 0.0})
    best = solve(dcd.pose(Gram(Linear(), factor), y, args.C), dcd, stop=Gap(1e-5) | Iterations(5000)).certificate
    found = {}
    for solver_name, options in KERNEL:
        solver = plugins.build("solver", solver_name, {"loss": loss} | options)
        problem = solver.pose(gram, y, args.C)
        label = " ".join([f"`{solver_name}`", *(f"{k}={v}" for k, v in options.items())])
        found[label] = courses(solver, problem, best.primal, args.kernel_epochs, args.seeds)
    title = (
        f"{name}, first {len(every):,} rows, {loss}, rbf gamma = {args.gamma:g}, C = {args.C:g}; P* = {best.primal:.6g}"
    )
    return table(title, found)


def table(title: str, found: dict[str, list[Course]]) -> str:
    shown = [
        f"{title}.",
        "",
        "| solver | to 1 %: epochs (s) | to 0.1 %: epochs (s) | an epoch, ms | P above P* at the end | test, % |",
        "|---|---|---|---|---|---|",
    ]
    for label, courses in found.items():
        cells = [reached(courses, level) for level in LEVELS]
        epoch = 1e3 * np.median([np.median(np.diff([0.0, *c.seconds])) for c in courses])
        end = np.median([c.above[-1] for c in courses])
        accuracies = [c.accuracy for c in courses if c.accuracy is not None]
        accuracy = f"{100 * np.median(accuracies):.2f}" if accuracies else ""
        shown.append(f"| {label} | {cells[0]} | {cells[1]} | {epoch:.1f} | {end:.1e} | {accuracy} |")
        print(shown[-1], file=sys.stderr)
    return "\n".join(shown) + "\n"


def reached(courses: list[Course], level: float) -> str:
    """Median epoch and seconds at which the best P so far is low enough; `-` if most courses never reach it."""
    first = [next((k for k, above in enumerate(c.above) if above <= level), None) for c in courses]
    known = [(k + 1, c.seconds[k]) for k, c in zip(first, courses, strict=True) if k is not None]
    if 2 * len(known) <= len(courses):
        return "-"
    return f"{np.median([k for k, _ in known]):.0f} ({np.median([s for _, s in known]):.2f})"


if __name__ == "__main__":
    main()
