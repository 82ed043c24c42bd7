"""The work of `svmkit warmup`: tiny solves that call every compiled loop in every precision and storage."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product

import numpy as np
import scipy.sparse as sp

from svmkit import plugins
from svmkit.explain.shapley import expansion_values
from svmkit.kernels.engines import few
from svmkit.kernels.functions import RBF, Kernel, Linear
from svmkit.kernels.gram import Gram
from svmkit.kernels.gram.complete import WIDE
from svmkit.runtime import threads
from svmkit.solver.base import Solver
from svmkit.solver.loop.solve import solve
from svmkit.solver.requirements import Requires
from svmkit.solver.stopping import Gap, Iterations
from svmkit.training.data import TrainingData
from svmkit.training.settings import Settings, resolve
from svmkit.training.train import fit

POINTS, STEPS, GAP = 96, 200, 0.1
MANY = 2048  # points from which solvers take compiled steps whose compilation does not pay for fewer


def data(dtype=np.float64, points: int = POINTS) -> tuple[np.ndarray, np.ndarray]:
    """Return points of two overlapping classes in the plane (more than a batch of a working set) and their labels."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(points) % 2, 1.0, -1.0)
    return (rng.normal(size=(points, 2)) + y[:, None]).astype(dtype), y


def steps(solvers: Sequence[str] = ()) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the steps of a warm-up by name: each solver once, then every storage and precision.

    Without names, all solvers that are not other software. Raises InputError before any work: a name is not a solver
    that works here.
    """
    chosen = [
        plugins.build("solver", name) for name in solvers or plugins.solvers_where(lambda kind: not kind.external)
    ]
    for solver in chosen:
        yield f"solver {solver.name}", partial(_solve, solver)
    for solver in chosen:
        if any(solver.regression_for(kernel) for kernel in (Linear(), RBF(0.5))):
            yield f"regression, solver {solver.name}", partial(_regress, solver)
    yield "three classes", _share
    yield "explanations", _explain
    for dtype in (np.float64, np.float32):
        for name, storage in (("dense", np.ascontiguousarray), ("sparse", sp.csr_array)):
            for rows in (np.float64, np.float32):
                label = f"{name} {dtype.__name__} data, {rows.__name__} rows"
                yield label, partial(_touch, storage(data(dtype, few.ROWS + 1)[0]), rows)


def perform(solvers: Sequence[str] = ()) -> Iterator[tuple[str, float]]:
    """Perform the `steps` in as many processes as there are cores, and yield each with its seconds as it ends."""
    from joblib import Parallel, delayed

    from svmkit.tune.backends import running

    parts = divide(solvers)
    jobs = min(threads.cores(), len(parts))
    with running("loky", jobs, 1):
        work = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="all")
        for done in work(delayed(_perform)(names, solvers) for names in parts):
            yield from done


def divide(solvers: Sequence[str] = ()) -> list[list[str]]:
    """Return the names of the `steps` in parts, the longest first.

    Steps that share many loops belong in one process: the solvers of a family, and the precisions of a storage.
    """
    parts: dict[str, list[str]] = {}
    for name, _ in steps(solvers):
        part, _, solver = name.partition(" data")[0].partition("solver ")
        if solver:
            part = type(plugins.build("solver", solver)).__module__.partition(".")[0]
        parts.setdefault(part, []).append(name)
    # sparse rows have many loops, and dense ones few
    return sorted(parts.values(), key=lambda names: names[0].startswith("dense") - names[0].startswith("sparse"))


def _perform(names: Sequence[str], solvers: Sequence[str]) -> list[tuple[str, float]]:
    """Perform these steps, and return each with its seconds."""
    work, done = dict(steps(solvers)), []
    for name in names:
        began = time.perf_counter()
        work[name]()
        done.append((name, time.perf_counter() - began))
    return done


def _touch(X, rows) -> None:
    gram = Gram(RBF(0.5), X, dtype=rows)
    gram.row(0)
    gram.block(np.arange(3), np.arange(2))
    gram.matvec(np.ones(4), np.arange(4), dtype=gram.dtype)


def _share() -> None:
    """Compute kernel values of one-versus-one on three classes, in both precisions."""
    X, _ = data()
    for memory in ("1GB", 1):
        three = TrainingData.prepare(X, np.arange(POINTS) % 3, resolve(Settings(kernel=RBF(0.5), memory=memory)))
        gram = three.subproblem(0).gram
        gram.row(0)
        gram.matvec(np.ones(4), np.arange(4), dtype=gram.dtype)


def _explain() -> None:
    """Compute the contributions of columns."""
    X, y = data()
    expansion_values(RBF(0.5), X[:2], X[2:4], X[:4], y[:4, None], np.arange(X.shape[1]))


def _solve(solver: Solver) -> None:
    """Solve with few and many kernel rows in both precisions, and with tiny values; linear solvers on both storages."""
    X, y = data()
    problems: list[tuple[Gram, np.ndarray]] = []
    if solver.problem_for(Linear()).is_linear:
        problems += [(Gram(Linear(), stored), y) for stored in (X, sp.csr_array(X))]
    if Requires.LINEAR_KERNEL not in solver.requires:
        for points in (POINTS, MANY):
            X, y_of = data(points=points)
            problems += [(Gram(RBF(0.5), X, dtype=rows), y_of) for rows in (np.float64, np.float32)]
        problems.append((Gram(RBF(8.0), np.eye(POINTS), dtype=np.float32), y))  # nearly 0 except on the diagonal
    for gram, labels in problems:
        solve(solver.pose(gram, labels, 1.0), solver, stop=Iterations(STEPS))
    _fit(solver)


def _fit(solver: Solver) -> None:
    """Fit as users do, few rows and many of each kind: two classes, three, whose pairs may be one call, and targets."""
    stop = Gap(GAP) | Iterations(STEPS)
    kernels: list[Kernel] = [Linear()] if solver.problem_for(Linear()).is_linear else []
    kernels += [] if Requires.LINEAR_KERNEL in solver.requires else [RBF(0.5)]
    for points in (POINTS, few.ROWS + 1):  # numpy computes the kernel values of fewer rows
        X, y = data(points=points)
        wide = np.hstack([X, np.zeros((points, WIDE))])  # its kernel matrix is computed as a whole
        for kernel, stored in product(kernels, (X, wide, sp.csr_array(wide))):
            for labels in (y, np.arange(points) % 3):
                fit(stored, labels, solver=solver, kernel=kernel, stop=stop)
            if solver.regression_for(kernel) is not None:
                fit(stored, y + X[:, 0], task="regress", solver=solver, kernel=kernel, stop=stop)


def _regress(solver: Solver) -> None:
    """Solve a regression with kernel rows in both precisions; linear ones on both storages."""
    X, y = data()
    grams, linear = [], solver.regression_for(Linear())
    if linear is not None and linear.is_linear:
        grams += [Gram(Linear(), stored) for stored in (X, sp.csr_array(X))]
    if Requires.LINEAR_KERNEL not in solver.requires and solver.regression_for(RBF(0.5)) is not None:
        grams += [Gram(RBF(0.5), X, dtype=rows) for rows in (np.float64, np.float32)]
    for gram in grams:
        solve(solver.pose_regression(gram, y + X[:, 0], 1.0, 0.1), solver, stop=Iterations(STEPS))
