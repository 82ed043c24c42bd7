"""Compare the decomposition solvers with LIBSVM (scikit-learn's SVC), in turns on the same data to the same tolerance.

    python examples/benchmarks/decomposition.py svmguide1 ijcnn1 w8a a9a --solvers smo,smo1,svmlight

DATA are names of sets that are listed below with their C and gamma, or NAME:C:GAMMA; a set NAME.t beside it is the test
set. Every solver stops at a violation of 1e-3, as LIBSVM does; smol2 solves another problem (squared hinge), so its D
cannot be compared. Each solver has a cache of 1 GB. Times are medians of runs in alternation, with checks and
certificate, beside processor time, which is more reliable on a machine in use by others. First every solver runs on
some 200 rows, so that its loops are compiled. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.svm import SVC

from svmkit.data import load
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF
from svmkit.kernels.gram import Gram
from svmkit.problems.box import BoxQP
from svmkit.solver.stopping import Violation
from svmkit.training.train import fit

SETS = {  # C, gamma, C of smol2
    "svmguide1": (1.0, 1 / 800, 0.4),
    "a9a": (1.5, 1 / 200, 0.5),
    "ijcnn1": (5.0, 0.194, 5.0),
    "w8a": (5.0, 1 / 44, 5.0),
}
COLUMNS = (
    "data",
    "solver",
    "iterations",
    "SVs",
    "D, relative to LIBSVM's",
    "gap",
    "test %",
    "s",
    "CPU s",
    "s / LIBSVM's",
    "CPU s / LIBSVM's",
)
EPS = 1e-3
CACHE = 1000  # MB


class Task(NamedTuple):
    """One training set; X_test is None without a test set."""

    name: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: Any
    gamma: float


class Run(NamedTuple):
    """The result of one training run; beta (m,) if it is a feasible point of the hinge problem."""

    seconds: float
    cpu: float
    n_iter: int
    n_support: int
    accuracy: float
    beta: np.ndarray | None
    gap: float | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--solvers", default="smo,smo1,svmlight", help="default smo,smo1,svmlight")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, in turns (default 3)")
    parser.add_argument("--rows", type=int, help="the first ROWS rows only")
    args = parser.parse_args()

    print("| " + " | ".join(COLUMNS) + " |")
    print("|---" * len(COLUMNS) + "|")
    compiling: dict[str, float] = {}
    for text in args.data:
        name, C, gamma, C_squared = parameters(text)
        task = read(name, gamma, args.rows)
        contenders: dict[str, Callable[[Task], Run]] = {"LIBSVM": lambda task, C=C: libsvm(task, C)}
        if intelex() is not None:
            contenders["sklearnex"] = lambda task, C=C: libsvm(task, C, intelex())
        for solver in args.solvers.split(","):
            own = C_squared if solver == "smol2" else C
            contenders[solver] = lambda task, solver=solver, own=own: ours(task, solver, own)
        every = max(1, len(task.y) // 200)
        small = task._replace(X=task.X[::every], y=task.y[::every], X_test=None)
        for label, train in contenders.items():
            began = time.perf_counter()
            train(small)
            compiling[label] = max(compiling.get(label, 0.0), time.perf_counter() - began)
        runs: dict[str, list[Run]] = {label: [] for label in contenders}
        for k in range(args.repeat):
            for label, train in contenders.items():
                runs[label].append(train(task))
                print(f"{name} {label} run {k + 1}: {runs[label][-1].seconds:.2f} s", file=sys.stderr, flush=True)
        for line in rows(task, C, runs):
            print(line, flush=True)
    print("\nFirst runs, with compilation: " + ", ".join(f"{k} {s:.1f} s" for k, s in compiling.items()) + ".")


def parameters(text: str) -> tuple[str, float, float, float]:
    name, *numbers = text.split(":")
    if numbers:
        return name, float(numbers[0]), float(numbers[1]), float(numbers[0])
    return name, *SETS[name]


def read(name: str, gamma: float, n: int | None) -> Task:
    train = load(name)
    try:
        test = load(f"{name}.t", n_features=train.n_features)  # the last columns may be empty there
    except InputError:
        return Task(name, with_int32_indices(train.X[:n]), train.y[:n], None, None, gamma)
    return Task(name, with_int32_indices(train.X[:n]), train.y[:n], with_int32_indices(test.X), test.y, gamma)


def with_int32_indices(X):
    """X as CSR with int32 indices, which SVC requires."""
    if not sp.issparse(X):
        return X
    return sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def intelex():
    """scikit-learn-intelex's SVC if it is installed, otherwise None."""
    try:
        from sklearnex.svm import SVC as Patched
    except ImportError:
        return None
    return Patched


def libsvm(task: Task, C: float, kind=SVC) -> Run:
    began, used = time.perf_counter(), time.process_time()
    model = kind(C=C, gamma=task.gamma, tol=EPS, cache_size=CACHE).fit(task.X, task.y)
    seconds, cpu = time.perf_counter() - began, time.process_time() - used
    coef = model.dual_coef_
    beta = np.zeros(len(task.y))
    beta[model.support_] = np.abs(coef.toarray() if sp.issparse(coef) else coef).ravel()
    iterations = int(np.sum(getattr(model, "n_iter_", 0)))
    return Run(seconds, cpu, iterations, len(model.support_), accuracy(model, task), beta, None)


def ours(task: Task, solver: str, C: float) -> Run:
    began, used = time.perf_counter(), time.process_time()
    found = fit(task.X, task.y, solver=solver, kernel=RBF(task.gamma), C=C, stop=Violation(EPS), memory=f"{CACHE}MB")
    seconds, cpu = time.perf_counter() - began, time.process_time() - used
    solution = found.solutions[0]
    beta = None if solver == "smol2" else solution.point
    return Run(seconds, cpu, found.n_iter, solution.n_support, accuracy(found.model, task), beta, found.gap)


def accuracy(model, task: Task) -> float:
    return float("nan") if task.X_test is None else float(np.mean(model.predict(task.X_test) == task.y_test))


def rows(task: Task, C: float, runs: dict[str, list[Run]]) -> list[str]:
    """The lines of the table; every D is computed from scratch in float64."""
    signs = np.where(task.y == np.unique(task.y)[-1], 1.0, -1.0)
    problem = BoxQP(Gram(RBF(task.gamma), task.X), signs, C)
    base = problem.objective(runs["LIBSVM"][-1].beta)
    lines = []
    for label, each in runs.items():
        last, base_runs = each[-1], runs["LIBSVM"]
        seconds, cpu = median(run.seconds for run in each), median(run.cpu for run in each)
        slower = median(run.seconds / other.seconds for run, other in zip(each, base_runs, strict=True))
        dearer = median(run.cpu / other.cpu for run, other in zip(each, base_runs, strict=True))
        difference = "" if last.beta is None else f"{(base - problem.objective(last.beta)) / abs(base):+.1e}"
        percent = "" if task.X_test is None else f"{100 * last.accuracy:.2f}"
        gap = "" if last.gap is None else f"{last.gap:.1e}"
        lines.append(
            f"| {task.name} | {label} | {last.n_iter:,} | {last.n_support:,} | {difference} | {gap} "
            f"| {percent} | {seconds:.2f} | {cpu:.2f} | {slower:.2f} | {dearer:.2f} |"
        )
    return lines


if __name__ == "__main__":
    main()
