"""The work of `svmkit warmup`: tiny solves that call every compiled loop in every precision and storage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import scipy.sparse as sp

from svmkit import plugins
from svmkit.kernels.functions import RBF, Linear
from svmkit.kernels.gram import Gram
from svmkit.solver.base import Requires, Solver
from svmkit.solver.loop import solve
from svmkit.solver.stopping import Iterations
from svmkit.training.data import TrainingData

POINTS, STEPS = 96, 200


def data(dtype=np.float64) -> tuple[np.ndarray, np.ndarray]:
    """Return points of two overlapping classes in the plane (more than a batch of a working set) and their labels."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(POINTS) % 2, 1.0, -1.0)
    return (rng.normal(size=(POINTS, 2)) + y[:, None]).astype(dtype), y


def steps(solvers: Sequence[str] = ()) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the steps of a warm-up: each solver once, then every storage and precision.

    Parameters
    ----------
    solvers : sequence of str, default=()
        Names of solvers; an empty sequence stands for all solvers that are not other software.

    Yields
    ------
    (str, callable)
        The name of the step, and the function that performs it.

    Raises
    ------
    InputError
        A name is not a solver that works here. The error comes before any work.
    """
    chosen = [
        plugins.build("solver", name) for name in solvers or plugins.solvers_where(lambda kind: not kind.external)
    ]
    for solver in chosen:
        yield f"solver {solver.name}", partial(_solve, solver)
    yield "three classes", _share
    for dtype in (np.float64, np.float32):
        for name, storage in (("dense", np.ascontiguousarray), ("sparse", sp.csr_array)):
            for rows in (np.float64, np.float32):
                label = f"{name} {dtype.__name__} data, {rows.__name__} rows"
                yield label, partial(_touch, storage(data(dtype)[0]), rows)


def _touch(X, rows) -> None:
    gram = Gram(RBF(0.5), X, dtype=rows)
    gram.row(0)
    gram.block(np.arange(3), np.arange(2))
    gram.matvec(np.ones(4), np.arange(4), dtype=gram.dtype)


def _share() -> None:
    """Compute kernel values of one-versus-one on three classes, in both precisions."""
    X, _ = data()
    for memory in ("1GB", 1):
        three = TrainingData.of(X, np.arange(POINTS) % 3, kernel=RBF(0.5), memory=memory)
        gram = three.pair(0).gram
        gram.row(0)
        gram.matvec(np.ones(4), np.arange(4), dtype=gram.dtype)


def _solve(solver: Solver) -> None:
    """Solve with kernel rows in both precisions; linear solvers, which read X itself, on dense and on sparse X."""
    X, y = data()
    grams = []
    if solver.problem_for(Linear()).is_linear:
        grams += [Gram(Linear(), stored) for stored in (X, sp.csr_array(X))]
    if Requires.LINEAR_KERNEL not in solver.requires:
        grams += [Gram(RBF(0.5), X, dtype=rows) for rows in (np.float64, np.float32)]
    for gram in grams:
        solve(solver.pose(gram, y, 1.0), solver, stop=Iterations(STEPS))
