"""Tiny problems for every registered solver: what the light contract looks at, and what compiles the loops it needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit import plugins
from svmkit.kernels.functions import RBF, Kernel, Linear
from svmkit.kernels.gram import Gram
from svmkit.problems.base import Problem
from svmkit.solver.base import Solver
from svmkit.solver.loop.solve import solve
from svmkit.solver.requirements import Requires
from svmkit.solver.solution import Solution
from svmkit.solver.stopping import Gap, Iterations

C = 1.0
KERNELS: dict[str, Kernel] = {"linear": Linear(), "rbf": RBF(0.5)}
ONE_A_FAMILY = {
    "svmkit_frank_wolfe": "swap",
    "svmkit_decomposition": "smo",
    "svmkit_corrective": "fcfw",
    "svmkit_dask": "dfcsmo",
    "svmkit_coordinate": "dcd",
    "svmkit_stochastic": "sgd",
    "svmkit_cutting_plane": "ocas",
    "svmkit_newton": "newton",
    "svmkit_reference": "libsvm",
}
SUBLINEAR = {"fw", "partan", "sfw", "msfw"}  # their gap falls as 1/k


def classes(m: int = 96) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping classes in the plane, as many samples of each: X (m, 2), y (m,) of -1.0 and +1.0."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(m) % 2, 1.0, -1.0)
    return rng.normal(size=(m, 2)) + y[:, None], y


def cases() -> Iterator[tuple[str, str, str]]:
    """(solver, kernel, storage): every solver that works here on dense data; sparse data for one kernel solver a
    family and for every solver that sees X itself."""
    for name in plugins.solvers_where(lambda kind: True):
        solver = plugins.build("solver", name)
        linear = solver.problem_for(KERNELS["linear"]).is_linear
        if linear or Requires.LINEAR_KERNEL in solver.requires:
            yield name, "linear", "dense"
            yield name, "linear", "sparse"
        if Requires.LINEAR_KERNEL not in solver.requires:
            yield name, "rbf", "dense"
            if name in ONE_A_FAMILY.values():
                yield name, "rbf", "sparse"


def pose(solver: Solver, kernel: str, storage: str) -> Problem:
    X, y = classes()
    stored: Any = sp.csr_array(X) if storage == "sparse" else X
    return solver.pose(Gram(KERNELS[kernel], stored), y, C)


def tolerance(solver: Solver) -> float:
    """The relative gap that is asked for: some solvers end slowly, and some have no dual point of their own."""
    if not solver.certified:
        return 2e-2
    return 1e-2 if solver.name in SUBLINEAR else 1e-3


def solved(name: str, kernel: str, storage: str) -> tuple[Solver, Problem, Solution]:
    """The tiny problem, solved by `name` until its certificate is within the tolerance."""
    solver = plugins.build("solver", name)
    problem = pose(solver, kernel, storage)
    budget = Iterations(solver.patience(len(problem.y)))
    return solver, problem, solve(problem, solver, stop=Gap(tolerance(solver)) | budget)
