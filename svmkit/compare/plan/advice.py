"""Advice against a solver for a problem of some size, given before the solver runs.

The rules know no solver by name: they use the solvers' own declarations.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from svmkit import plugins
from svmkit.compare.plan.sets import Sets
from svmkit.compare.plan.spec import Cell
from svmkit.data.classes import CLASSIFY
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram import parse_bytes
from svmkit.problems.base import Problem
from svmkit.solver.base import Solver
from svmkit.solver.requirements import Reads
from svmkit.solver.sampler import Full, Sampler
from svmkit.solver.selection import by_name
from svmkit.solver.task import Task as SolverTask
from svmkit.tasks import Task, task_named
from svmkit.training.settings import Method, Settings

FEW = 20  # if the memory holds fewer than 1 in this many kernel rows, most rows are recomputed again and again
BY_COLUMNS = 5_000  # samples from which a linear problem is solved faster by columns than by kernel values
VALUE = 4  # bytes of a kernel value if memory is short


def advice(
    solver: Solver, kernel: Kernel, m: int, memory: int, sampler: Sampler | None = None, task: str | Task = CLASSIFY
) -> str | None:
    """Return in one sentence why a solver is unsuitable, and which ones are better; None if no rule applies.

    Parameters
    ----------
    solver, kernel, task : Solver, Kernel, str or Task
        The solver, with its options; the kernel; the task.
    m, memory : int
        Number of samples of the largest class pair; budget of kernel rows in bytes.
    sampler : Sampler, default=None
        The points that each step examines; None is the default of the solver.
    """
    problem = _problem(solver, kernel, task)
    if problem is None or problem.is_linear:  # a solver without such a problem is refused when it runs
        return None
    if kernel.name == "linear":
        if m < BY_COLUMNS:
            return None
        able = _able(kernel, lambda one: one.certified and getattr(_problem(one, kernel, task), "is_linear", False))
        by_columns = "solvers that work on the columns are faster, with a regularised bias"
        return f"it solves the linear problem by kernel values of {m:,} samples; {by_columns}: {able}" if able else None
    solver = solver.solver_for(SolverTask(problem, kernel, m, memory))
    rows = memory // (VALUE * m)
    if solver.reads is not Reads.ROWS or not isinstance(sampler or solver.sampler_for(kernel), Full) or FEW * rows >= m:
        return None
    able = _able(kernel, lambda one: one.reads is Reads.BLOCKS and _problem(one, kernel, task) is not None)
    return (
        f"its steps read single kernel rows, and the memory holds {rows:,} of {m:,}; give more memory, or a solver "
        f"that reads blocks of them: {able}"
    )


def advise(cell: Cell, sets: Sets) -> str | None:
    """Return the advice for a cell, whose sets are loaded."""
    m, task = sets.train.n_samples, task_named(sets.train.task)
    if task.has_classes:
        assert sets.train.y is not None
        _, counts = np.unique(sets.train.y, return_counts=True)
        m = int(np.sort(counts)[-2:].sum())
    given = cell.training
    solver, sampler = by_name.solver(given.solver, given.solver_options), by_name.sampler(given.sampler)
    return advice(solver, given.kernel, m, parse_bytes(given.memory), sampler, task)


def _problem(solver: Solver, kernel: Kernel, task: str | Task) -> type[Problem] | None:
    """Return the type of problem that a solver minimises for a task; None if it has none."""
    try:
        problem = Method(Settings(), task_named(task), solver, kernel, None).problem_type()
    except InputError:
        return None
    if task_named(task).is_supervised or issubclass(problem, (solver.problem, *solver.further)):
        return problem
    return None


def _able(kernel: Kernel, fits: Callable[[Solver], bool]) -> str:
    """Return the names of svmkit's own solvers that satisfy `fits` and support the kernel."""
    names = plugins.solvers_where(lambda kind: not kind.external and all(n.holds(kernel) for n in kind.requires))
    return ", ".join(name for name in names if fits(by_name.solver(name)))
