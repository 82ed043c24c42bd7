"""The default solver: the usual objective, minimised by the fastest solver.

The objective follows from the kernel alone, so that the optimum depends neither on the size of the data nor on the
machine. `fastest` is the rule for the solver; docs/choosing.md has the measurements behind it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Kernel, Linear
from svmkit.kernels.gram import Gram, fits_once
from svmkit.losses.base import PIECEWISE, Family, Loss
from svmkit.losses.by_name import make_loss, task_of_name
from svmkit.problems.base import FREE, NUMBER_OR_FREE, Problem
from svmkit.problems.box import BoxQP
from svmkit.problems.certificate import Certificate
from svmkit.problems.nu_dual import NuQP
from svmkit.problems.one_class import OneClassQP
from svmkit.problems.risks.kernel_rank import KernelRankRisk
from svmkit.problems.risks.linear_risk import LinearDual
from svmkit.problems.risks.rank_risk import RankRisk
from svmkit.problems.schemes import SCHEMES
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.base import Solver
from svmkit.solver.loop.free_bias import FreeBias
from svmkit.solver.loop.relay import Relay
from svmkit.solver.sampler import Draws, Sampler
from svmkit.solver.selection import defaults
from svmkit.solver.step_info import StepInfo
from svmkit.solver.task import Task

SMALL = 5_000  # samples up to which steps on the whole kernel matrix are faster than a growing working set
SMALL_ONE_CLASS = 3_500  # the same for OneClassQP, which needs fewer steps and so less of the kernel matrix
SHARE = 4  # the whole matrix may take this part of the memory budget: Gram keeps float64 rows up to the same limit
FLOAT64 = 8  # bytes of a kernel value
# Newton's method has a Hessian of d^2 numbers: it is faster than coordinate descent with LONG rows a column and more,
# FLAT rows a squared column and more, up to so many columns; without a kink of the loss, products with it will do
LONG, FLAT, FEW_COLUMNS, FEW_OF_SMOOTH = 4, 1 / 40, 990, 3_000
# columns beyond which its Hessian is not a matrix, and rows per column above which no rule tells the faster one
WIDE, EVEN = 1_000, 0.5
LOGISTIC_COST = 2.2  # of a pass of coordinate descent with the logistic loss, relative to a piecewise loss


def fastest(task: Task, loss: Loss | None = None) -> tuple[str, str]:
    """Return the name of the fastest solver of a task with a loss, and why in words; None stands for a loss with a
    kink.
    """
    if issubclass(task.problem, RankRisk):
        return defaults.RANKING, "it counts pairs without listing them"
    if task.problem.is_linear:
        return _fastest_linear(task.m, task.d, loss)
    if issubclass(task.problem, SimplexQP):
        return defaults.SIMPLEX, "fastest at every size"
    if loss is not None and loss.family is Family.LOGISTIC:
        return defaults.LOGISTIC_KERNEL, "all samples are support vectors"
    if task.n_outputs > 1 and fits_once(task.m, task.memory):
        return defaults.WHOLE_MATRIX, "the outputs share the kernel matrix"
    small = SMALL_ONE_CLASS if issubclass(task.problem, OneClassQP) else SMALL
    if task.m <= small and FLOAT64 * task.m**2 <= task.memory // SHARE:
        return defaults.WHOLE_MATRIX, "the kernel matrix fits"
    return defaults.WORKING_SET, "a growing working set needs few of the kernel values"


@lru_cache(maxsize=64)  # a small fit asks three times
def _fastest_linear(m: int, d: int, loss: Loss | None) -> tuple[str, str]:
    if not d or not (loss is None or plugins.load("solver", defaults.LINEAR_TALL).takes_loss(loss)):
        return defaults.LINEAR, "its steps need no kernel values"
    is_smooth = loss is not None and loss.family is not Family.BOUNDED
    if d <= (FEW_OF_SMOOTH if is_smooth else FEW_COLUMNS) and m >= max(LONG * d, FLAT * d**2):
        return defaults.LINEAR_TALL, "columns are few beside the rows"
    if is_smooth and d > WIDE and m >= EVEN * d:
        reason = f"columns are many: {defaults.LINEAR_TALL} where passes of {defaults.LINEAR} gain little"
        return defaults.LINEAR_WIDE, reason
    return defaults.LINEAR, "its steps need no kernel values, and columns are many beside the rows"


@dataclass(frozen=True)
class Auto(Solver):
    """The fastest solver for size, kernel and memory. The bias is free, as in LIBSVM's problems.

    Kernels: the hinge loss, solved by smo or fcsmo. The linear kernel: the squared hinge loss, solved by newton where X
    has few columns and more rows, by dcd elsewhere, and by both in turn on many columns. Regression: the
    epsilon-insensitive loss, by smo or fcsmo, and with the linear kernel by newton or dcd. One-class models: OneClassQP
    by smo or fcsmo, and SimplexQP by fcfw. Ranking: the squared hinge loss of pairs, by ocas.

    Parameters
    ----------
    loss : str or Loss, default="auto"
        Any loss that the chosen solver supports; "auto" is LIBSVM's default, hinge, and with the linear kernel
        LIBLINEAR's, squared_hinge.
    bias : "free" or float, default="free"
        With the linear kernel, the value of a column that is added for the bias, which is then regularised, 0 for no
        bias: bias=1 is LIBLINEAR's problem. Other kernels have a free bias.
    """

    name = "auto"
    problem = BoxQP
    further = (SimplexQP, OneClassQP, NuQP, RankRisk, KernelRankRisk)
    joint = tuple(defaults.ALL_CLASSES)
    terms = ("loss", "bias")
    losses = ("hinge", "squared_hinge", *PIECEWISE, Family.LOGISTIC)
    shares_folds = True
    runs_on_device = True
    paper = "Chang, Lin 2011; Fan et al. 2008"

    loss: str | Loss = "auto"
    bias: float | str = field(default=FREE, metadata=NUMBER_OR_FREE)

    @classmethod
    def problem_for(cls, kernel: Kernel) -> type[Problem]:
        return LinearDual if kernel.name == "linear" else BoxQP

    @classmethod
    def regression_for(cls, kernel: Kernel) -> type[Problem] | None:
        name = defaults.LINEAR if kernel.name == "linear" else defaults.WHOLE_MATRIX
        return plugins.load("solver", name).regression_for(kernel)

    def sampler_for(self, kernel: Kernel) -> Sampler:
        loss = self.loss
        known = loss.task if isinstance(loss, Loss) else None if loss == "auto" else task_of_name(loss)
        return self._poser(kernel, known or "classify").sampler_for(kernel)

    def pose(self, gram: Gram, target: np.ndarray, C: float | np.ndarray, loss: Loss | None = None) -> Problem:
        """Pose the problem of the task and the kernel, through one of its solvers.

        Parameters
        ----------
        gram, target, C, loss : Gram, ndarray, float or ndarray, Loss or None
            As for `Solver.pose`.
        """
        task = "classify" if loss is None else loss.task
        return self._poser(gram.kernel, task).pose(gram, target, C, loss)

    def loss_for(self, kernel: Kernel, task: str = "classify", epsilon: float | None = None) -> Loss:
        """Return the given loss, or the usual one of the task and the kernel.

        Parameters
        ----------
        kernel, task, epsilon : Kernel, str, float or None
            As for `Solver.loss_for`.
        """
        return _loss_for(self, kernel.name == "linear", task, epsilon)

    def formulation(self, kernel: Kernel, task: str = "classify") -> str:
        return _formulation(self, kernel.name == "linear", task)

    def _poser(self, kernel: Kernel, task: str = "classify") -> Solver:
        """Return a solver of the problem, to pose it."""
        return _poser(self, self.problem_of(kernel, task))

    def solver_for(self, task: Task) -> Solver:
        return _solver_for(self, *task[:1], *task[2:])  # for any kernel

    def _choose(self, task: Task) -> Solver:
        """Return the solver, as `solver_for` does."""
        if issubclass(task.problem, SimplexQP):
            return _build(fastest(task)[0])
        loss = self._loss_of(task)
        if issubclass(task.problem, RankRisk):
            return _build(fastest(task)[0], loss)
        if task.problem.is_linear:
            return _build(self._fastest(task)[0], loss, self.bias)
        if self.bias != FREE:
            raise InputError(f"bias={self.bias} is an option of the linear kernel; with others the bias is free")
        return _build(self._fastest(task)[0], loss)

    def reason_for(self, task: Task) -> str:
        return self._fastest(task)[1]

    def _loss_of(self, task: Task) -> str | Loss:
        """Return the loss of a task, as the option of a solver."""
        if self.loss != "auto":
            return self.loss
        if issubclass(task.problem, RankRisk):
            return "squared_hinge"
        return "squared_hinge" if task.problem.is_linear and not task.problem.has_targets() else "hinge"

    def _fastest(self, task: Task) -> tuple[str, str]:
        return _fastest(self, *task[:1], *task[2:])

    def _find_fastest(self, task: Task) -> tuple[str, str]:
        """Return the result of `fastest` for the loss of a task."""
        if issubclass(task.problem, SimplexQP | OneClassQP | NuQP) or (task.problem.is_linear and not task.d):
            return fastest(task)  # the loss does not matter, or the task is only to be posed and no more is known of it
        return fastest(task, _loss(self._loss_of(task), task.problem.task))

    def joint_solver(self, scheme: str) -> Solver | None:
        about, loss = SCHEMES[scheme], self.loss
        bias = self.bias if about.frees_bias or self.bias != FREE else 1.0
        return _build(defaults.ALL_CLASSES[scheme], about.loss if loss == "auto" else loss, bias).joint_solver(scheme)

    def within_support(self) -> Solver:
        return _build(defaults.WITHIN_SUPPORT) if self.loss == "auto" else self

    def init(self, problem: Any, start: np.ndarray | None, draws: Draws) -> _Chosen:
        """Return the fastest solver for the problem, with a new state.

        Parameters
        ----------
        problem, start, draws : object, ndarray or None, Draws
            As for `Solver.init`.
        """
        solver = self.solver_for(Task.of(problem))
        return _Chosen(solver, solver.init(problem, start, draws))

    def step(self, state: _Chosen) -> StepInfo:
        return state.solver.step(state.state)

    def solution(self, state: _Chosen) -> np.ndarray:
        return state.solver.solution(state.state)

    def resync(self, state: _Chosen, certificate: Certificate) -> None:
        state.solver.resync(state.state, certificate)

    def bounds(self, state: _Chosen) -> tuple[float, float] | None:
        return state.solver.bounds(state.state)

    def reactivate(self, state: _Chosen) -> None:
        state.solver.reactivate(state.state)


class _Chosen(NamedTuple):
    """A chosen solver and its state."""

    solver: Solver
    state: Any


@lru_cache(maxsize=256)  # a small fit asks twice
def _solver_for(auto: Auto, problem: type[Problem], *facts: int) -> Solver:
    return auto._choose(Task(problem, Linear(), *facts))


@lru_cache(maxsize=256)
def _fastest(auto: Auto, problem: type[Problem], *facts: int) -> tuple[str, str]:
    return auto._find_fastest(Task(problem, Linear(), *facts))


@cache  # a small fit asks four times
def _poser(auto: Auto, problem: type[Problem]) -> Solver:
    return auto.solver_for(Task(problem, Linear(), 0, 0))  # the kernel does not matter in this case


@cache
def _loss(given: str | Loss, task: str) -> Loss:
    return make_loss(given, task)


@cache
def _loss_for(auto: Auto, is_linear: bool, task: str, epsilon: float | None) -> Loss:
    kernel = Linear() if is_linear else RBF()
    return auto._poser(kernel, task).loss_for(kernel, task, epsilon)


@cache
def _formulation(auto: Auto, is_linear: bool, task: str) -> str:
    kernel = Linear() if is_linear else RBF()
    return auto._poser(kernel, task).formulation(kernel, task)


@cache
def _build(name: str, loss: str | Loss | None = None, bias: float | str | None = None) -> Solver:
    if name == defaults.LINEAR_WIDE:
        first, second = _build(defaults.LINEAR, loss, bias), _build(defaults.LINEAR_TALL, loss, bias)
        is_logistic = (loss.name if isinstance(loss, Loss) else loss) == "logistic"
        return Relay(FreeBias(first) if bias == FREE else first, second, LOGISTIC_COST if is_logistic else 1.0)
    given = {"loss": loss, "bias": bias}
    return plugins.build("solver", name, {key: value for key, value in given.items() if value is not None})
