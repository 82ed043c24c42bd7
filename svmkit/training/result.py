"""The result of training: the model, and how it was found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat

import numpy as np

from svmkit.model.model import SVMModel
from svmkit.problems.certificate import Certificate
from svmkit.solver.base import Solver
from svmkit.solver.history import History
from svmkit.solver.solution import Solution, Status
from svmkit.solver.task import Task

_FROM_BEST_TO_WORST = [
    Status.CONVERGED,
    Status.MAX_SUPPORT,
    Status.STALLED,
    Status.NOT_CERTIFIED,
    Status.MAX_ITER,
    Status.TIME_LIMIT,
    Status.INTERRUPTED,
]


@dataclass(frozen=True)
class Choice:
    """The class pairs that one solver trains."""

    solver: str
    why: str  # the reason in words
    n_pairs: int
    n_samples: int  # of the largest class pair
    what: str = "class pairs"  # the noun for these problems

    def __str__(self) -> str:
        if self.n_pairs == 1:
            return f"{self.solver} for {self.n_samples:,} samples ({self.why})"
        return f"{self.solver} for {self.n_pairs:,} {self.what} of up to {self.n_samples:,} samples ({self.why})"


@dataclass(frozen=True)
class Fit:
    """A trained model and how it was found.

    Attributes
    ----------
    model : SVMModel
        The model.
    solutions : list of Solution
        The solution of each class pair, in the order of the model's intercepts.
    support : ndarray of shape (n_support,), int
        The rows of X that are support vectors, in the order of the model's vectors.
    seconds : float
        The time of training, including checks of the data and building the model, excluding measurements on held-out
        rows.
    kernel_values : int
        The number of computed kernel values.
    choices : list of Choice, default=[]
        The solvers that `auto` has chosen, and for which class pairs; empty for a solver that does not choose.
    calibration_s : float or None, default=None
        The part of `seconds` spent on the calibration; None without one.

    Examples
    --------
    >>> from svmkit import fit
    >>> from svmkit.kernels import Linear
    >>> fitted = fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], kernel=Linear(), C=10.0)
    >>> fitted.gap < 1e-3, fitted.support.tolist()
    (True, [1, 2])
    """

    model: SVMModel
    solutions: list[Solution]
    support: np.ndarray
    seconds: float
    kernel_values: int
    choices: list[Choice] = field(default_factory=list)
    calibration_s: float | None = None

    @cached_property
    def status(self) -> Status:
        """The worst status of any class pair."""
        return max((s.status for s in self.solutions), key=_FROM_BEST_TO_WORST.index)

    @property
    def n_iter(self) -> int:
        """The iterations of all class pairs."""
        return sum(s.n_iter for s in self.solutions)

    @property
    def n_untrained(self) -> int:
        """The number of class pairs that did not begin before training ended; they decide 0 and vote for no class."""
        return sum(not len(s.point) for s in self.solutions)

    @property
    def objective(self) -> float:
        """The sum of the primal values of all class pairs; inf if one was not trained."""
        return float(sum(s.certificate.primal for s in self.solutions))

    @property
    def dual_objective(self) -> float | None:
        """The sum of the dual values of all class pairs; None if one of them is unknown."""
        duals = _all_or_none([s.certificate.dual for s in self.solutions])
        return float(sum(duals)) if duals else None

    @cached_property
    def gap(self) -> float | None:
        """The largest relative duality gap of any class pair; None if one of them is unknown."""
        gaps = _all_or_none([s.certificate.gap for s in self.solutions])
        return max(gaps) if gaps else None

    @property
    def rounding(self) -> float | None:
        """The largest bound of the rounding errors in a gap (`Certificate.rounding`); None without a gap."""
        return None if self.gap is None else max(s.certificate.rounding for s in self.solutions)

    @property
    def flaw(self) -> str | None:
        """Why the result is not certified (`Certificate.flaw`), for the first class pair that has a flaw."""
        return next((s.certificate.flaw for s in self.solutions if s.certificate.flaw is not None), None)


def make_untrained(status: Status, flaw: str | None = None) -> Solution:
    """Return the solution of a class pair that did not begin: no point, and the bounds that hold without one."""
    return Solution(np.empty(0), status, 0, 0.0, Certificate(math.inf, 0.0, None, flaw=flaw), History())


def _all_or_none(values: list[float | None]) -> list[float]:
    """Return the values if all of them are known numbers, else an empty list."""
    known = [value for value in values if value is not None and not math.isnan(value)]
    return known if len(known) == len(values) else []


def describe_choices(choices: Sequence[Choice]) -> str | None:
    """Return the choices in one line; None if there are none."""
    return ", ".join(map(str, choices)) or None


def choices(
    solver: Solver, tasks: list[Task], what: str = "class pairs", solvers: Sequence[Solver] = ()
) -> list[Choice]:
    """Return the choices of a solver that chooses, most class pairs first; an empty list for any other solver.

    Parameters
    ----------
    solver, tasks : Solver, list of Task
        The solver, and its tasks in one training, which differ only in their numbers of samples.
    what : str, default="class pairs"
        The noun for these problems.
    solvers : sequence of Solver, default=()
        The solver that was chosen for each task; if empty, `solver` chooses.
    """
    sizes: dict[tuple[str, str], list[int]] = {}
    counts: dict[int, int] = {}
    for task in tasks:
        counts[task.m] = counts.get(task.m, 0) + 1
    by_size = {task.m: (task, taken) for task, taken in zip(tasks, solvers or repeat(None), strict=False)}
    for m, count in counts.items():
        task, taken = by_size[m]
        if why := solver.reason_for(task):
            name = (taken or solver.solver_for(task)).name
            sizes.setdefault((name, why), []).extend([m] * count)
    chosen = [Choice(name, why, len(ms), max(ms), what) for (name, why), ms in sizes.items()]
    return sorted(chosen, key=lambda choice: -choice.n_pairs)
