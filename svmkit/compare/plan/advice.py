"""What speaks against a solver on a problem of some size, told before the solver runs.

The rules know no solver by name: they use what a solver declares of itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from svmkit import plugins
from svmkit.compare.plan.entries import build_kernel, build_solver
from svmkit.compare.plan.sets import Sets
from svmkit.compare.plan.spec import Cell, sampler_of
from svmkit.data.classes import CLASSIFY
from svmkit.data.places.sources import find
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram import parse_bytes
from svmkit.problems.base import Problem
from svmkit.solver.base import Solver
from svmkit.solver.requirements import Reads
from svmkit.solver.sampler import Full, Sampler
from svmkit.solver.task import Task
from svmkit.tasks import task_named

FEW = 20  # the memory holds fewer than one kernel row in so many: most rows are computed again and again
BY_COLUMNS = 5_000  # samples from which on a linear problem is solved by columns in less time than by kernel values
VALUE = 4  # bytes of a kernel value where memory is short
PACKED = 40  # a compressed file is at most so many times smaller than its text
LINE = 4  # bytes of a sample's line, at least


def advice(
    solver: Solver, kernel: Kernel, m: int, memory: int, sampler: Sampler | None = None, task: str = CLASSIFY
) -> str | None:
    """Return in one sentence why a solver is the wrong tool, and which ones are better; None if nothing is known.

    Parameters
    ----------
    solver : Solver
        The solver, with its options.
    kernel : Kernel
        The kernel.
    m : int
        Number of samples of the largest class pair.
    memory : int
        Budget of kernel rows in bytes.
    sampler : Sampler, default=None
        Which points each step looks at; None is the solver's own sampler.
    task : {"classify", "regress"}, default="classify"
        What is learnt.
    """
    problem = _problem(type(solver), kernel, task)
    if problem is None or problem.is_linear:  # a solver without such a problem is refused when it runs
        return None
    if kernel.name == "linear":
        if m < BY_COLUMNS:
            return None
        able = _able(kernel, lambda kind: _is_linear(kind, kernel, task) and kind.certified)
        return (
            f"it solves the linear problem by kernel values of {m:,} samples; solvers that work on the columns are "
            f"faster, with a regularised bias: {able}"
        )
    solver = solver.solver_for(Task(problem, kernel, m, memory))
    rows = memory // (VALUE * m)
    if solver.reads is not Reads.ROWS or not isinstance(sampler or solver.sampler_for(kernel), Full) or FEW * rows >= m:
        return None
    able = _able(kernel, lambda kind: kind.reads is Reads.BLOCKS and _problem(kind, kernel, task) is not None)
    return (
        f"its steps read single kernel rows, and the memory holds {rows:,} of {m:,}; give more memory, or a solver "
        f"that reads blocks of them: {able}"
    )


def advise(cell: Cell, sets: Sets) -> str | None:
    """Return the advice for a cell, whose sets are loaded."""
    assert sets.train.y is not None
    m = sets.train.n_samples
    if not task_named(sets.train.task).has_targets:
        _, counts = np.unique(sets.train.y, return_counts=True)
        m = int(np.sort(counts)[-2:].sum())
    solver, kernel, sampler = _parts(cell)
    memory = parse_bytes(cell.settings["data"]["memory"])
    return advice(solver, kernel, m, memory, sampler, sets.train.task or CLASSIFY)


def may_have(cell: Cell) -> bool:
    """Return whether there can be advice for a cell, judged by the size of its file without reading it."""
    solver, kernel, sampler = _parts(cell)
    source = find(cell.settings["data"]["source"])
    if not isinstance(source, Path):
        return False  # built-in sets are small
    packed = PACKED if source.suffix in (".bz2", ".gz", ".xz", ".npz", ".parquet") else 1
    most = max(1, packed * source.stat().st_size // LINE)
    return advice(solver, kernel, most, parse_bytes(cell.settings["data"]["memory"]), sampler) is not None


def _parts(cell: Cell) -> tuple[Solver, Kernel, Sampler | None]:
    how, data = cell.settings["solver"], cell.settings["data"]
    return build_solver(cell.solver, how), build_kernel(cell.data, data["kernel"]), sampler_of(how)


def _problem(kind: type[Solver], kernel: Kernel, task: str) -> type[Problem] | None:
    return kind.regression_for(kernel) if task_named(task).has_targets else kind.problem_for(kernel)


def _is_linear(kind: type[Solver], kernel: Kernel, task: str) -> bool:
    problem = _problem(kind, kernel, task)
    return problem is not None and problem.is_linear


def _able(kernel: Kernel, fits: Any) -> str:
    """Return the names of svmkit's own solvers that fit and can take the kernel."""
    own = plugins.solvers_where(lambda kind: not kind.external and fits(kind))
    return ", ".join(name for name in own if all(n.holds(kernel) for n in plugins.load("solver", name).requires))
