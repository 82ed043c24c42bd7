"""The interface of solvers, for authors of solver plugins.

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
from typing import Any, ClassVar

import numpy as np

from svmkit import plugins
from svmkit.errors import InputError, meant, one_line
from svmkit.kernels.functions import RBF, Kernel, Linear
from svmkit.kernels.gram import Gram
from svmkit.losses.base import Family, Loss
from svmkit.losses.by_name import LIBLINEAR_NAMES, canonical_name, loss_names, make_loss
from svmkit.problems.base import Problem
from svmkit.problems.certificate import Certificate
from svmkit.problems.risks.many import SolvesMany
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.requirements import Reads, Requires
from svmkit.solver.sampler import Draws, Full, Sampler
from svmkit.solver.smo.pairs import SolvesPairs
from svmkit.solver.step_info import StepInfo
from svmkit.solver.task import Task


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
    regression : type of Problem or None, default=None
        The type of problem that the solver minimises in regression; None if it has none.
    further : tuple of type of Problem, default=()
        Other types of problem that the solver minimises as well, such as OneClassQP.
    joint : tuple of str, default=()
        The schemes of more than two classes with one joint problem for which `joint_solver` returns a solver.
    terms : tuple of str, default=()
        Names of the hyperparameters that shape the problem, such as loss and bias.
    losses : tuple of str or Family, default=("squared_hinge",)
        The losses that the solver takes, by name or whole families; the first one is its default. "hinge" and
        "squared_hinge" stand for the epsilon-insensitive losses in regression.
    requires : tuple of Requires, default=()
        What the kernel must satisfy.
    monotone : bool, default=False
        The objective never rises, so that the last iterate is the best one.
    sampler : Sampler, default=Full()
        The sampler that is used unless another one is given.
    recheck : int, default=10
        Iterations from a refused certificate to the next one, in addition to a sixteenth of the iterations so far.
    reads : Reads or None, default=None
        How it reads kernel values; None if that is unknown or it reads none. `svmkit compare` uses it to tell when a
        set is too large for the solver.
    certified : bool, default=True
        The solver has a dual point of its own, so that the certificate has a dual value.
    by_slices : bool, default=False
        On a `CompleteGram` the solver takes many steps at a time in compiled code, so that class pairs are trained side
        by side in threads.
    shares_folds : bool, default=False
        In a search, SMO on kernel values that all folds share may solve the dual problems in place of this solver.
    runs_on_device : bool, default=False
        An engine that was asked for may solve the problems on its device, where it keeps the rows of X, in place of
        this solver.
    frees_bias : bool, default=False
        The solver minimises linear problems with a free bias itself, so that no centre has to be moved for it.
    examines : bool, default=False
        The solver reads all rows on disk in order (`svmkit.runtime.mapping.windows`), which checks for NaN, before it
        uses their norms, so that no prior pass is needed.
    external : bool, default=False
        Other software does the work. Its one step is the whole solve, which cannot start from a point.
    paper : str, default=""
        Source of the method.

    Examples
    --------
    >>> from svmkit import Solver, plugins
    >>> smo = plugins.build("solver", "smo")
    >>> isinstance(smo, Solver), smo.name
    (True, 'smo')
    """

    name: ClassVar[str] = ""
    problem: ClassVar[type[Problem]] = SimplexQP
    regression: ClassVar[type[Problem] | None] = None
    further: ClassVar[tuple[type[Problem], ...]] = ()
    joint: ClassVar[tuple[str, ...]] = ()
    terms: ClassVar[tuple[str, ...]] = ()
    losses: ClassVar[tuple[str | Family, ...]] = ("squared_hinge",)
    requires: ClassVar[tuple[Requires, ...]] = ()
    monotone: ClassVar[bool] = False
    sampler: ClassVar[Sampler] = Full()
    recheck: ClassVar[int] = 10
    reads: ClassVar[Reads | None] = None
    certified: ClassVar[bool] = True
    by_slices: ClassVar[bool] = False
    shares_folds: ClassVar[bool] = False
    runs_on_device: ClassVar[bool] = False
    frees_bias: ClassVar[bool] = False
    examines: ClassVar[bool] = False
    external: ClassVar[bool] = False
    paper: ClassVar[str] = ""

    @classmethod
    def fault(cls) -> str | None:
        """Return what is wrong with what the class says of its problems, in words that follow its place, or None."""
        if not isinstance(cls.requires, tuple) or not all(isinstance(need, Requires) for need in cls.requires):
            return f"has requires = {cls.requires!r}: write a tuple of svmkit.solver.Requires"
        for kernel in (Linear(), RBF(1.0)):
            if not all(need.holds(kernel) for need in cls.requires):
                continue
            for method, or_none in ((cls.problem_for, False), (cls.regression_for, True)):
                where = f"{method.__name__}({kernel.name})"
                try:
                    problem = method(kernel)
                except Exception as error:
                    return f"fails in {where} with {one_line(error)}: return a type of problem for every kernel"
                if not ((isinstance(problem, type) and issubclass(problem, Problem)) or (problem is None and or_none)):
                    wanted = "a type of svmkit.problems.Problem" + (" or None" if or_none else "")
                    return f"returns {problem!r} from {where}: return {wanted}"
        return None

    @classmethod
    def takes_loss(cls, loss: Loss | type[Loss]) -> bool:
        """Return whether the solver can minimise a risk with this loss; by default what `losses` says."""
        return any(given is loss.family or canonical_name(str(given), loss.task) == loss.name for given in cls.losses)

    @classmethod
    def loss_names(cls, task: str | None = None) -> list[str]:
        """Return the names of the losses that the solver takes, those that `losses` names first.

        Parameters
        ----------
        task : {"classify", "regress"}, default=None
            Only the losses of a task; None is all.
        """
        taken = [name for name in loss_names(task) if cls.takes_loss(plugins.load("loss", name))]
        named = [canonical_name(given, task or "classify") for given in cls.losses if isinstance(given, str)]
        return [*(name for name in named if name in taken), *(name for name in taken if name not in named)]

    @classmethod
    def loss_option(cls, given: str | Loss) -> str | Loss:
        """Return a value of the option `loss` as the solver keeps it, with the names of `losses` where there are two.

        Raises
        ------
        InputError
            The solver does not take the loss; the message names those that it takes and the solvers that take it.
        """
        if isinstance(given, Loss):
            taken, name = cls.takes_loss(given), given.name
        else:
            name = str(given)
            taken = name in cls.losses or name in cls.loss_names() or LIBLINEAR_NAMES.get(name) in cls.losses
            given = LIBLINEAR_NAMES.get(name, given)
        if not taken:
            able = plugins.solvers_where(lambda solver: name in solver.loss_names())
            known = [*cls.loss_names("classify"), *cls.loss_names("regress")]
            fits = ", ".join(known) + (f"; with {name}: {', '.join(able)}" if able else "")
            if name in plugins.names("loss"):
                raise InputError(f"solver {cls.name} does not take loss={name}; it takes {fits}")
            raise InputError(f"solver {cls.name}: loss={name!r} is not known{meant(name, known)}; there are: {fits}")
        return given

    def loss_for(self, kernel: Kernel, task: str = "classify", epsilon: float | None = None) -> Loss:
        """Return the solver's loss in a task.

        Parameters
        ----------
        kernel : Kernel
            The kernel, on which the loss of a solver that chooses depends.
        task : {"classify", "regress"}, default="classify"
            What is learnt.
        epsilon : float, default=None
            Half the width of the tube of a loss that is given by its name and has one; None is the loss's default.

        Raises
        ------
        InputError
            The loss is none of the task.
        """
        return make_loss(getattr(self, "loss", self.losses[0]), task, epsilon=epsilon)  # type: ignore[arg-type]

    @classmethod
    def problem_for(cls, kernel: Kernel) -> type[Problem]:
        """Return the type of problem that the solver minimises with this kernel; by default `problem`."""
        return cls.problem

    def pose(self, gram: Gram, target: np.ndarray, C: float | np.ndarray, loss: Loss | None = None) -> Problem:
        """Make the problem that this solver solves for a training set.

        Parameters
        ----------
        gram : Gram
            Kernel values of the m samples.
        target : ndarray of float64, shape (m,)
            Labels, -1.0 and +1.0, both present; in regression the targets.
        C : float or ndarray of float64, shape (m,)
            Weight of each loss, > 0.
        loss : Loss, default=None
            The loss, which says what is learnt; None is that of classification, `loss_for(kernel)`.

        Returns
        -------
        Problem
            Of type `problem_of(gram.kernel, loss.task)`, with the hyperparameters named in `terms`.

        Raises
        ------
        InputError
            The solver cannot take the loss, the task or the kernel, or a value is invalid.
        """
        if loss is None:
            loss = self.loss_for(gram.kernel)
        elif not self.takes_loss(loss):
            self.loss_option(loss)  # which raises
        problem = self.problem_of(gram.kernel, loss.task)
        if problem.is_linear:
            self.check_kernel(gram.kernel)
        return problem.from_loss(gram, target, C, loss, **{k: getattr(self, k) for k in self.terms if k != "loss"})

    @classmethod
    def regression_for(cls, kernel: Kernel) -> type[Problem] | None:
        """Return the type of problem that the solver minimises in regression with this kernel; None if it has none."""
        return cls.regression

    def pose_regression(self, gram: Gram, t: np.ndarray, C: float | np.ndarray, epsilon: float) -> Problem:
        """Make the problem that this solver solves in regression.

        Parameters
        ----------
        gram : Gram
            Kernel values of the m samples.
        t : ndarray of float64, shape (m,)
            Targets.
        C : float or ndarray of float64, shape (m,)
            Weight of each loss, > 0.
        epsilon : float
            Half the width of the tube within which an error costs nothing, >= 0.

        Returns
        -------
        Problem
            Of type `regression_for(gram.kernel)`, with the hyperparameters named in `terms`.

        Raises
        ------
        InputError
            The solver has no problem of regression or cannot take the kernel, or a value is invalid.
        """
        return self.pose(gram, t, C, self.loss_for(gram.kernel, "regress", epsilon))

    def problem_of(self, kernel: Kernel, task: str = "classify") -> type[Problem]:
        """Return the type of problem that the solver minimises for a task with this kernel.

        Parameters
        ----------
        kernel : Kernel
            The kernel.
        task : {"classify", "regress", "rank"}, default="classify"
            What is to be learnt.

        Raises
        ------
        InputError
            The solver does not solve this task; the message names the solvers that do.
        """
        if task == "rank":
            able_to = [problem for problem in self.further if problem.task == task]
            ranking = next((problem for problem in able_to if problem.is_linear == (kernel.name == "linear")), None)
            if ranking is None and able_to:
                raise InputError(f"solver {self.name} ranks with the linear kernel, not {kernel.name}: leave it out")
            if ranking is None:
                able = plugins.solvers_where(lambda solver: any(one.task == task for one in solver.further))
                raise InputError(f"solver {self.name} cannot rank; those that can: {', '.join(able)}")
            return ranking
        if task != "regress":
            return self.problem_for(kernel)
        problem = self.regression_for(kernel)
        if problem is None:
            able = plugins.solvers_where(
                lambda solver: solver.regression_for(kernel) and all(need.holds(kernel) for need in solver.requires)
            )
            raise InputError(f"solver {self.name} cannot regress; with the {kernel.name} kernel: {', '.join(able)}")
        return problem

    def solver_for(self, task: Task) -> Solver:
        """Return the solver that does the work: this one, or another one that minimises the same objective.

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

    def batch_code(self) -> SolvesMany | None:
        """Return compiled code that solves many small linear problems of one data set in a call; None if there is none.

        Nobody watches such solves. Iterates and results have to be those of `step`.
        """
        return None

    def joint_solver(self, scheme: str) -> Solver | None:
        """Return the solver of one problem of all classes with these hyperparameters; None if there is none.

        Its `problem` is a subclass of `AllClasses`, such as `svmkit.problems.CrammerSinger`, and its name is that of
        this solver, whose `joint` names the scheme.

        Parameters
        ----------
        scheme : str
            A scheme of one problem of all classes (`svmkit.problems.schemes`).

        Raises
        ------
        InputError
            A hyperparameter does not go with that problem.
        """
        return None

    def within_support(self) -> Solver:
        """Return the solver to take where support vectors are limited; by default this one."""
        return self

    def sampler_for(self, kernel: Kernel) -> Sampler:
        """Return the sampler that is used with this kernel unless another one is given; by default `sampler`."""
        return self.sampler

    def formulation(self, kernel: Kernel, task: str = "classify") -> str:
        """Describe the objective with this kernel, such as "hinge, free bias"; equal text means equal objectives."""
        return self.problem_of(kernel, task).formulation(**{name: getattr(self, name) for name in self.terms})

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

    def bounds(self, state: Any) -> tuple[float, float] | None:
        """Return P and D of the iterate if they take at most one pass over the points beyond what the state keeps.

        Only solvers that report `StepInfo.in_own_units` are asked. Rounding errors do not matter.

        Parameters
        ----------
        state : Any
            The state of a solve.

        Returns
        -------
        tuple of two floats, or None
            None if the state does not keep enough for that.
        """
        return None

    def reactivate(self, state: Any) -> None:  # noqa: B027  optional
        """Look at all points again, since the estimates of a shrunk problem (`StepInfo.shrunk`) meet a stop rule."""

    def details(self, state: Any) -> dict[str, float]:
        """Return further facts about the result that are specific to the method, by name."""
        return {}

    def carry(self, state: Any) -> dict[str, Any] | None:
        """Return what another solve needs besides the point to continue this one, in JSON types: its `Draws.carried`.

        None if the point suffices.
        """
        return None

    @property
    def params(self) -> dict[str, Any]:
        """The hyperparameters as plain values; the options of a loss follow its name."""
        loss = getattr(self, "loss", None)
        return asdict(self) | ({"loss": loss.name, **loss.params} if isinstance(loss, Loss) else {})

    def check(self, problem: Problem) -> None:
        """Raise InputError if this solver cannot solve the problem."""
        if not self._takes(problem):
            able = plugins.solvers_where(lambda solver: solver._takes(problem))
            wanted = (self.problem_of(problem.gram.kernel, "regress") if problem.has_targets() else self.problem).name
            raise InputError(
                f"solver {self.name} solves {wanted}, not {problem.name}; {problem.name}: {', '.join(able)}"
            )
        self.check_kernel(problem.gram.kernel)

    @classmethod
    def _takes(cls, problem: Problem) -> bool:
        """Return whether the solver minimises problems of this type."""
        if not problem.has_targets():
            return isinstance(problem, (cls.problem, *cls.further))
        regression = cls.regression_for(problem.gram.kernel)  # tubes differ by their losses: the names must be equal
        return isinstance(problem, cls.further) or (regression is not None and type(problem).name == regression.name)

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
