"""What a solver is: all that the author of a solver plugin has to read.

A solver is a frozen dataclass of hyperparameters. It makes a state, takes one step at a time on it and says what
the iterate is; `svmkit.solver.solve` owns the loop, the clock, stopping, history, interrupts and the certificate.

    @dataclass(frozen=True)
    class Mine(Solver):
        '''My method (Author, Year, equation).'''
        name = "mine"
        eta: float = 0.1
        def init(self, problem, start, draws): ...
        def step(self, state): ...
        def solution(self, state): ...

and one line in the package's pyproject.toml: [project.entry-points."svmkit.solvers"] mine = "my_package:Mine".
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
from svmkit.problems.base import Certificate, Problem
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.sampler import Draws, Full, Sampler


class Requires(Enum):
    """What a solver needs of the kernel; checked before solving."""

    NORMALISED_KERNEL = "a kernel with constant k(x, x), such as rbf or laplacian"
    LINEAR_KERNEL = "the linear kernel"

    def holds(self, kernel: Kernel) -> bool:
        return kernel.normalised if self is Requires.NORMALISED_KERNEL else kernel.name == "linear"


class StepInfo(NamedTuple):
    """What one step left behind, cheap to know for the solver.

    objective : of the problem, at the new iterate; n_support : non-zero weights; epochs : how many passes over the
    training set the step was worth; gap : estimate of the relative gap (inf: unknown); gap_abs : the same in units
    of the objective; sampled : the estimates come from a sample, so they may be too small; moved : False when
    the iterate could not be improved; full : the support budget keeps better points out, and the estimates are those
    within the budget; done : the solver's own criterion holds, the solve has converged; steps : iterations, as the
    method counts them; violation : largest violation of the optimality conditions (LIBSVM's and LIBLINEAR's eps);
    shrunk : some points were left out, and the estimates are those of the others.

    A solver that would need a pass over the data to know its objective says nan: the loop then certifies the iterate
    now and then, off the clock, and takes objective and gap from there.
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


@dataclass(frozen=True)
class Solver(ABC):
    """Base of all solvers.

    name : at most 10 characters; problem : the type it solves; terms : hyperparameters that shape the problem (loss,
    bias, ...); losses : those it can take, the first by default; requires : what the kernel must be; monotone : the
    objective never gets worse, so the last iterate is the best one; sampler : which one it works with unless told
    otherwise; budgeted : `limit_support` is honoured; streams : `members` and `renew` let it learn from a stream;
    recheck : iterations before a certificate that failed is asked for again, a sixteenth of all more; certified : it
    comes with a dual point of its own; external : other software does the work, a step is all of it, and it can neither
    be started from a point nor stopped inside; paper : where it comes from.
    """

    name: ClassVar[str] = ""
    problem: ClassVar[type[Problem]] = SimplexQP
    terms: ClassVar[tuple[str, ...]] = ()
    losses: ClassVar[tuple[str, ...]] = ("squared_hinge",)
    requires: ClassVar[tuple[Requires, ...]] = ()
    monotone: ClassVar[bool] = False
    sampler: ClassVar[Sampler] = Full()
    budgeted: ClassVar[bool] = False
    streams: ClassVar[bool] = False
    recheck: ClassVar[int] = 10
    certified: ClassVar[bool] = True
    external: ClassVar[bool] = False
    paper: ClassVar[str] = ""

    @classmethod
    def problem_for(cls, kernel: Kernel) -> type[Problem]:
        """The type of problem that it solves with this kernel."""
        return cls.problem

    def pose(self, gram: Gram, y: np.ndarray, C: float | np.ndarray) -> Problem:
        """The problem of a binary training set as this solver takes it; parameters as `Problem.classifier`."""
        problem = self.problem_for(gram.kernel)
        if problem.is_linear:
            self.check_kernel(gram.kernel)
        return problem.classifier(gram, y, C, **{name: getattr(self, name) for name in self.terms})

    def formulation(self, kernel: Kernel) -> str:
        """What it minimises with this kernel, in words: "hinge, free bias"; equal words are equal objectives."""
        return self.problem_for(kernel).formulation(**{name: getattr(self, name) for name in self.terms})

    def patience(self, m: int) -> int:
        """Iterations after which a solve of m points ends that was given no other budget."""
        return max(100_000, 10 * m)

    @abstractmethod
    def init(self, problem: Any, start: np.ndarray | None, draws: Draws) -> Any:
        """A fresh state; `start` is a feasible point to begin from, or None. Random choices: `draws.rng`."""

    @abstractmethod
    def step(self, state: Any) -> StepInfo:
        """One natural unit of work (a Frank-Wolfe iteration, a working set, an epoch, a cut)."""

    @abstractmethod
    def solution(self, state: Any) -> np.ndarray:
        """The iterate as a point of the problem, an array of its own."""

    def resync(self, state: Any, certificate: Certificate) -> None:  # noqa: B027  optional
        """Go on after a certificate that was not good enough: a chance to take over its exact gradient."""

    def reactivate(self, state: Any) -> None:  # noqa: B027  optional
        """Look at all points again: what the others promise (`StepInfo.shrunk`) would end the solve."""

    def limit_support(self, state: Any, most: int) -> None:  # noqa: B027  optional
        """From now on keep the iterate at `most` non-zero weights or fewer; `StepInfo.full` tells when that binds."""

    def members(self, state: Any) -> np.ndarray:
        """Rows of the problem that the state still needs, in its own order (of a solver that streams)."""
        raise InputError(f"solver {self.name} does not learn from streams")

    def renew(self, state: Any, problem: Any, draws: Draws) -> None:
        """Go on with a problem whose first rows are the members, in their order, and the others new samples."""
        raise InputError(f"solver {self.name} does not learn from streams")

    def details(self, state: Any) -> dict[str, float]:
        """Further facts about the result that this method is known for, by name."""
        return {}

    @property
    def params(self) -> dict[str, Any]:
        """Hyperparameters as plain values."""
        return asdict(self)

    def check(self, problem: Problem) -> None:
        """Raise InputError when this solver cannot solve `problem`."""
        if not isinstance(problem, self.problem):
            raise InputError(f"solver {self.name} solves {self.problem.name}, not {problem.name}")
        self.check_kernel(problem.gram.kernel)

    def check_kernel(self, kernel: Kernel) -> None:
        """Raise InputError, naming the solvers that can, when this one cannot work with `kernel`."""
        for need in self.requires:
            if not need.holds(kernel):
                able = plugins.solvers_where(lambda solver: all(need.holds(kernel) for need in solver.requires))
                raise InputError(
                    f"solver {self.name} needs {need.value}, not {kernel.name}; with {kernel.name}: {', '.join(able)}"
                )
