"""The contract of a solver, for authors of solver plugins.

A solver is a frozen dataclass of hyperparameters. It makes a state, takes one step at a time on the state and returns
the iterate. `svmkit.solver.solve` owns the loop, the clock, stopping, history, interrupts and the certificate. All
names that an author needs are in `svmkit.solver`:

    @dataclass(frozen=True)
    class Mine(Solver):
        '''My method (Author, Year, equation).'''
        name = "mine"
        eta: float = 0.1
        def init(self, problem, start, draws): ...
        def step(self, state): ...
        def solution(self, state): ...

An entry point in the package's pyproject.toml registers the solver:

    [project.entry-points."svmkit.solvers"]
    mine = "my_package:Mine"
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, ClassVar, NamedTuple

import numpy as np

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram import Gram
from svmkit.problems.base import Problem
from svmkit.problems.certificate import Certificate
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.at_once import SolvesPairs
from svmkit.solver.sampler import Draws, Full, Sampler
from svmkit.solver.task import Task


class Requires(Enum):
    """What a solver requires of the kernel; checked before a solve."""

    NORMALISED_KERNEL = "a kernel with constant k(x, x), such as rbf or laplacian"
    LINEAR_KERNEL = "the linear kernel"

    def holds(self, kernel: Kernel) -> bool:
        """Return whether the kernel meets the requirement."""
        return kernel.normalised if self is Requires.NORMALISED_KERNEL else kernel.name == "linear"


class Reads(Enum):
    """How a solver of a kernel problem reads kernel values, which decides what it costs on many samples."""

    ROWS = "single kernel rows, the same ones many times: fast while the memory holds them"
    BLOCKS = "many kernel rows in one product: fast also where the memory holds few of them"


class StepInfo(NamedTuple):
    """The solver's report of a step: facts about the new iterate that the solver knows without extra work.

    Attributes
    ----------
    objective : float
        Objective of the problem at the new iterate; nan if the solver does not know it.
    n_support : int
        Number of non-zero weights.
    epochs : float
        Passes over the training set that the step was worth.
    gap : float, default=inf
        Estimate of the relative gap; inf if unknown.
    gap_abs : float, default=inf
        Estimate of the gap in units of the objective; inf if unknown.
    sampled : bool, default=False
        The estimates come from a sample of the points, so they may be too small.
    moved : bool, default=True
        The step improved the iterate.
    full : bool, default=False
        The limit on support vectors keeps better points out, and the estimates are those within the present support.
    done : bool, default=False
        The solver's own criterion holds, so the solve has converged.
    steps : int, default=1
        Iterations, as the method counts them.
    violation : float, default=inf
        Largest violation of the optimality conditions (the eps of LIBSVM and LIBLINEAR); inf if unknown.
    shrunk : bool, default=False
        Some points are left out, and the estimates are those of the remaining points.
    trail : ndarray of float64, shape (n, 5), default=None
        Earlier iterates of a step that took many iterations, for the history: iterations since the last report,
        objective, gap, number of support vectors, kernel values.

    Notes
    -----
    A solver that would need a pass over the data to know its objective reports nan. The loop then certifies the
    iterate from time to time, off the clock, and takes objective and gap from the certificate.
    """

    objective: float
    n_support: int
    epochs: float
    gap: float = float("inf")
    gap_abs: float = float("inf")
    sampled: bool = False
    moved: bool = True
    full: bool = False
    done: bool = False
    steps: int = 1
    violation: float = float("inf")
    shrunk: bool = False
    trail: np.ndarray | None = None


@dataclass(frozen=True)
class Solver(ABC):
    """Base of all solvers: a frozen dataclass whose fields are the hyperparameters.

    Capabilities that only some solvers have are base classes of their own: `LearnsFromStreams` and `LimitsSupport`.

    Attributes
    ----------
    name : str
        The registered name, at most 10 characters.
    problem : type of Problem, default=SimplexQP
        The type of problem that the solver minimises.
    terms : tuple of str, default=()
        Names of the hyperparameters that shape the problem, such as loss and bias.
    losses : tuple of str, default=("squared_hinge",)
        Losses that the solver can take; the first is its default.
    requires : tuple of Requires, default=()
        What the kernel must satisfy.
    monotone : bool, default=False
        The objective never rises, so that the last iterate is the best one.
    sampler : Sampler, default=Full()
        The sampler that is used unless another one is given.
    recheck : int, default=10
        Iterations from a refused certificate to the next one, in addition to a sixteenth of the iterations so far.
    reads : Reads or None, default=None
        How it reads kernel values; None if that is not known or it reads none. `svmkit compare` says by this fact
        when a set is too large for the solver.
    certified : bool, default=True
        The solver has a dual point of its own, so that the certificate has a dual value.
    by_slices : bool, default=False
        On a `CompleteGram` the solver takes many steps at a time in compiled code, so that class pairs are trained side
        by side in threads.
    external : bool, default=False
        Other software does the work. Its one step is the whole solve, which cannot start from a point.
    paper : str, default=""
        Source of the method.
    """

    name: ClassVar[str] = ""
    problem: ClassVar[type[Problem]] = SimplexQP
    terms: ClassVar[tuple[str, ...]] = ()
    losses: ClassVar[tuple[str, ...]] = ("squared_hinge",)
    requires: ClassVar[tuple[Requires, ...]] = ()
    monotone: ClassVar[bool] = False
    sampler: ClassVar[Sampler] = Full()
    recheck: ClassVar[int] = 10
    reads: ClassVar[Reads | None] = None
    certified: ClassVar[bool] = True
    by_slices: ClassVar[bool] = False
    external: ClassVar[bool] = False
    paper: ClassVar[str] = ""

    @classmethod
    def problem_for(cls, kernel: Kernel) -> type[Problem]:
        """Return the type of problem that the solver minimises with this kernel; by default `problem`."""
        return cls.problem

    def pose(self, gram: Gram, y: np.ndarray, C: float | np.ndarray) -> Problem:
        """Make the problem that this solver solves for a binary training set.

        Parameters
        ----------
        gram : Gram
            Kernel values of the m samples.
        y : ndarray of float64, shape (m,)
            Labels, -1.0 and +1.0, both present.
        C : float or ndarray of float64, shape (m,)
            Weight of each loss, > 0.

        Returns
        -------
        Problem
            Of type `problem_for(gram.kernel)`, with the hyperparameters named in `terms`.

        Raises
        ------
        InputError
            The solver cannot take the kernel, or y, C or a hyperparameter is invalid.
        """
        problem = self.problem_for(gram.kernel)
        if problem.is_linear:
            self.check_kernel(gram.kernel)
        return problem.classifier(gram, y, C, **{name: getattr(self, name) for name in self.terms})

    def solver_for(self, task: Task) -> Solver:
        """Return the solver that does the work: this one, or another one that minimises the same.

        Parameters
        ----------
        task : Task
            What the choice may depend on.

        Returns
        -------
        Solver
            A solver that chooses itself.
        """
        return self

    def reason_for(self, task: Task) -> str:
        """Return the reason for `solver_for(task)` in words; empty for a solver that chooses itself."""
        return ""

    def for_pairs(self) -> SolvesPairs | None:
        """Return compiled code that solves many small class pairs in one call; None if there is none.

        Nobody watches such solves. Iterates and results have to be those of `step`.
        """
        return None

    def within_support(self) -> Solver:
        """Return the solver to take where support vectors are limited; by default this one."""
        return self

    def sampler_for(self, kernel: Kernel) -> Sampler:
        """Return the sampler that is used with this kernel unless another one is given; by default `sampler`."""
        return self.sampler

    def formulation(self, kernel: Kernel) -> str:
        """Describe the objective with this kernel, such as "hinge, free bias"; equal text means equal objectives."""
        return self.problem_for(kernel).formulation(**{name: getattr(self, name) for name in self.terms})

    def patience(self, m: int) -> int:
        """Return the number of iterations that a solve of m points may take when no other budget is given."""
        return max(100_000, 10 * m)

    @abstractmethod
    def init(self, problem: Any, start: np.ndarray | None, draws: Draws) -> Any:
        """Return a new state.

        Parameters
        ----------
        problem : Problem
            The problem to solve, of type `problem_for(kernel)`.
        start : ndarray or None
            A feasible point to start from; None leaves the choice to the solver.
        draws : Draws
            Which points to look at: each call `draws()` returns the next index array. `draws.rng` is the generator
            for all other random choices.

        Returns
        -------
        Any
            The state. The loop passes it to all other methods and does not look into it.
        """

    @abstractmethod
    def step(self, state: Any) -> StepInfo:
        """Do one natural unit of work (a Frank-Wolfe iteration, a working set, an epoch, a cut) and report on it."""

    @abstractmethod
    def solution(self, state: Any) -> np.ndarray:
        """Return the iterate as a feasible point of the problem, in an array of its own."""

    def resync(self, state: Any, certificate: Certificate) -> None:  # noqa: B027  optional
        """Continue after a certificate whose gap was too large; the state may take over its exact gradient."""

    def reactivate(self, state: Any) -> None:  # noqa: B027  optional
        """Look at all points again, since the estimates of a shrunk problem (`StepInfo.shrunk`) meet a stop rule."""

    def details(self, state: Any) -> dict[str, float]:
        """Return further facts about the result that are specific to the method, by name."""
        return {}

    @property
    def params(self) -> dict[str, Any]:
        """The hyperparameters as plain values."""
        return asdict(self)

    def check(self, problem: Problem) -> None:
        """Raise InputError if this solver cannot solve the problem."""
        if not isinstance(problem, self.problem):
            raise InputError(f"solver {self.name} solves {self.problem.name}, not {problem.name}")
        self.check_kernel(problem.gram.kernel)

    def check_kernel(self, kernel: Kernel) -> None:
        """Raise InputError if this solver cannot work with the kernel; the message names the solvers that can."""
        for need in self.requires:
            if not need.holds(kernel):
                able = plugins.solvers_where(lambda solver: all(need.holds(kernel) for need in solver.requires))
                raise InputError(
                    f"solver {self.name} needs {need.value}, not {kernel.name}; with {kernel.name}: {', '.join(able)}"
                )


def libsvm_patience(m: int) -> int:
    """Return LIBSVM's limit of iterations for m points, for `Solver.patience` of methods whose steps cost as little."""
    return max(10_000_000, 100 * m)
