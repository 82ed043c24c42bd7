"""The facts on which the choice of a solver may depend."""

from __future__ import annotations

from typing import NamedTuple

from svmkit.kernels.functions import Kernel
from svmkit.problems.base import Problem


class Task(NamedTuple):
    """The facts that a choice among solvers of one problem may depend on: data and budget, but not the machine.

    Attributes
    ----------
    problem : type of Problem
        The problem that is minimised.
    kernel : Kernel
        The kernel.
    m : int
        The number of samples, of one class pair.
    memory : int
        The budget of kernel rows in bytes.
    n_pairs : int, default=1
        The number of class pairs that are trained one after the other.
    d : int, default=0
        The number of columns of X, for a linear problem; 0 if it is not known.
    n_outputs : int, default=1
        The number of problems that share all these samples, and may share their kernel matrix.

    Examples
    --------
    >>> from svmkit.kernels import RBF
    >>> from svmkit.solver import BoxQP, Task
    >>> Task(BoxQP, RBF(1.0), m=1000, memory=10**9).n_pairs
    1
    """

    problem: type[Problem]
    kernel: Kernel
    m: int
    memory: int
    n_pairs: int = 1
    d: int = 0
    n_outputs: int = 1

    @classmethod
    def of(cls, problem: Problem) -> Task:
        """Return the task of a single problem."""
        gram = problem.gram
        d = problem.n_columns if problem.is_linear else 0
        return cls(type(problem), gram.kernel, problem.m, gram.budget, d=d)
