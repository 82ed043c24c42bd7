"""The settings of a training, checked once, and resolved from names to the objects that do the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.kernels.engines import require_device
from svmkit.kernels.forms import FORMS
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram import Gram, parse_bytes
from svmkit.losses.base import Loss
from svmkit.losses.by_name import LIBLINEAR_NAMES, canonical_name, loss_names, make_loss
from svmkit.model.calibration import require_kind
from svmkit.model.conformal import require_alpha
from svmkit.model.objective import describe_objective
from svmkit.problems.base import Problem
from svmkit.problems.risks.penalty import L1_RATIO, Penalty, make_penalty
from svmkit.problems.schemes import SCHEMES
from svmkit.scoring.metric import Metric
from svmkit.solver.base import Solver
from svmkit.solver.requirements import Requires
from svmkit.solver.sampler import Goal, Sampler
from svmkit.solver.selection import by_name
from svmkit.solver.selection.with_nu import with_nu
from svmkit.solver.selection.with_penalty import with_penalty
from svmkit.solver.stopping import Criterion, Gap, Seconds, Stop, Support, is_limited, parse_stop
from svmkit.tasks import Task, task_named
from svmkit.training.weights import require_C

CHOSEN = "cv"  # in place of C, gamma or epsilon: the value is chosen by cross-validation
RELEVANCES = ("learned",)


MOST_FOLDS = 100  # folds of CV+, at most


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a training, whatever starts it; `svmkit.fit` describes each field.

    Raises InputError for a value that no data and no solver can use.

    Examples
    --------
    >>> resolve(Settings(solver="smo", kernel="rbf", kernel_params={"gamma": 0.5})).kernel
    RBF(gamma=0.5)
    """

    solver: str | Solver = "auto"
    solver_options: Mapping[str, Any] | None = None  # of a solver given by name
    kernel: Any = None  # a name, a Kernel or a callable; None is rbf, or linear for a solver that needs it
    kernel_params: Mapping[str, Any] | None = None  # gamma, degree and coef0 of a kernel given by name
    loss: str | Loss | None = None  # None is the default of the solver
    loss_options: Mapping[str, Any] | None = None  # of a loss given by name, such as tau
    penalty: str | None = None  # of linear models: l2, l1, elasticnet or group; None is the default of the solver
    l1_ratio: float = L1_RATIO  # the share of |w|_1 in the elastic net
    penalty_groups: str | Sequence[int] | None = None  # the columns of each group; None: the table's columns
    C: float = 1.0
    nu: float | None = None  # in place of C or epsilon; for a one-class model its nu
    epsilon: float = 0.1
    non_crossing: bool = False  # whether the predictions of several levels are sorted in each row
    contamination: Any = "auto"  # the share of outliers of a one-class model; "auto" leaves it to nu
    multiclass: str = "ovo"
    class_weight: str | dict | None = None
    impute: str | None = None
    scale: str | None = None
    relevance: str | None = None  # "learned": weights of the columns, if cross-validation finds that they help
    memory: str | int = "1GB"
    calibration: str | None = None
    thresholds: bool = False  # whether decisions of folds estimate the cost of thresholds, without a calibration
    conformal: float | None = None  # the share of rows whose truth sets may miss
    conformal_by: str | None = None  # "class": for the rows of each class
    conformal_folds: int | None = None  # folds of CV+; None holds a quarter of the rows out
    stop: Criterion | Stop | None = None  # None is a gap of 1e-3
    sampler: str | Sampler | None = None
    seed: int = 0
    n_threads: int | None = None
    device: str | None = None  # of kernel values: "cpu", "cuda:1", "auto"; None keeps the current choice

    def __post_init__(self) -> None:
        require_C(self.C)
        if not (isinstance(self.epsilon, int | float | np.number) and 0.0 <= self.epsilon < np.inf):
            raise InputError(f"epsilon must be a finite number >= 0, not {self.epsilon!r}")
        penalty = make_penalty(self.penalty or "l2", self.l1_ratio, self.penalty_groups)
        if self.penalty_groups is not None and not penalty.has_groups:
            raise InputError(f"penalty_groups goes with penalty=group, not with penalty={penalty.name}")
        parse_bytes(self.memory)
        require_device(self.device)
        if self.multiclass not in [*SCHEMES]:
            raise InputError(f"multiclass={self.multiclass!r} is not known; there are: {', '.join(SCHEMES)}")
        if isinstance(self.seed, int | np.integer) and self.seed < 0:
            raise InputError(f"the seed must be a whole number >= 0, not {self.seed}")
        if isinstance(self.stop, str):
            object.__setattr__(self, "stop", parse_stop(self.stop))
        options = self.solver_options if isinstance(self.solver_options, Mapping) else {}  # others are refused later
        is_open = isinstance(self.solver, str) and self.loss is None and "loss" not in options
        scheme = SCHEMES[self.multiclass]
        if scheme.by_probability and is_open:  # models have to know whether they have probabilities
            object.__setattr__(self, "loss", scheme.loss)
        if self.calibration is not None:
            require_kind(self.calibration)
        if self.conformal is not None:
            require_alpha(self.conformal)
        if self.conformal_by not in (None, "class"):
            raise InputError(f"conformal_by={self.conformal_by!r} is not known: give class, or leave it out")
        if self.conformal_by is not None and self.conformal is None:
            raise InputError("conformal_by needs the share of rows that sets may miss: give conformal, too")
        if self.conformal_folds is not None:
            if not isinstance(self.conformal_folds, int | np.integer) or not 2 <= self.conformal_folds <= MOST_FOLDS:
                raise InputError(
                    f"conformal_folds={self.conformal_folds!r} must be a whole number from 2 to {MOST_FOLDS}: the file "
                    "keeps a model of each fold"
                )
            if self.conformal is None:
                raise InputError("conformal_folds needs the share of rows that sets may miss: give conformal, too")
        if self.relevance not in (None, *RELEVANCES):
            known = ", ".join(RELEVANCES)
            raise InputError(f"relevance={self.relevance!r} is not known; there are: {known}, and None for none")

    def scaling(self, *, sparse: bool) -> str | None:
        """Return the kind of scaling of dense or sparse data; weights of columns are learnt after scaling."""
        if self.relevance is None or self.scale not in (None, "none"):
            return self.scale
        return "maxabs" if sparse else "standard"  # standard deviations of rare 0/1 columns say little

    @property
    def has_folds(self) -> bool:
        """Whether models of folds decide on rows unseen in training, for a calibration or for thresholds."""
        return self.calibration is not None or self.thresholds

    @property
    def uses_groups(self) -> bool:
        """Whether training divides the samples into folds, which keep groups together."""
        return self.has_folds or self.relevance is not None

    @property
    def trains_once(self) -> bool:
        """Whether there is one training, on all rows without imputing."""
        return not (self.impute or self.uses_groups or self.conformal is not None)

    @property
    def rules(self) -> Stop:
        """The stop rules; empty for the default."""
        return Stop(()) if self.stop is None else Stop(()) | self.stop

    @cached_property
    def gap_alone(self) -> Goal | None:
        """The requested gap and iterations, including defaults; None if other rules can stop the solve, too."""
        stop = Stop(()) | (self.stop or Gap(1e-3))
        goal = stop.goal
        return goal if goal is not None and 0.0 < goal.gap == stop.least(Gap) else None

    @cached_property
    def is_limited(self) -> bool:
        """Whether the rules limit the number of support vectors."""
        return is_limited(self.stop)

    @property
    def most_support(self) -> float:
        """The limit on support vectors; inf without one."""
        return self.rules.least(Support)


@dataclass(frozen=True)
class Method:
    """The objects that do the work of a training, resolved from the settings and the task."""

    settings: Settings
    task: Task
    solver: Solver  # or one that chooses a solver for each subproblem
    kernel: Kernel  # its gamma may still be a rule such as "scale"
    sampler: Sampler | None  # None is the default of the solver

    @cached_property
    def loss(self) -> Loss:
        """The loss of a supervised task."""
        given, epsilon = self.settings.loss, self.settings.epsilon
        return given if isinstance(given, Loss) else self.solver.loss_for(self.kernel, self.task.loss_task, epsilon)

    def with_groups(self, sizes: Sequence[int] | None) -> Method:
        """Return the method whose penalty has groups of these sizes, if it needs groups and names none.

        Parameters
        ----------
        sizes : sequence of int or None
            The numbers of features of the columns of a table; None if the data come from no table.
        """
        settings = self.settings
        if settings.penalty != "group" or settings.penalty_groups is not None or sizes is None:
            return self
        settings = replace(settings, penalty_groups=tuple(sizes))
        return replace(self, settings=settings, solver=with_penalty(self.solver, _penalty_of(settings, self.task)))

    def limit(self, seconds: float) -> Method:
        """Return the method with another limit in seconds, if its stop rules have one."""
        rules = self.settings.rules.criteria
        if not any(isinstance(rule, Seconds) for rule in rules):
            return self
        rules = tuple(Seconds(max(seconds, 1e-9)) if isinstance(rule, Seconds) else rule for rule in rules)
        return replace(self, settings=replace(self.settings, stop=Stop(rules)))

    @property
    def levels(self) -> tuple[Loss, ...]:
        """The losses of the outputs of a regression: one, unless the loss has several levels; none for other tasks."""
        return self.loss.levels if self.task.has_targets else ()

    def metric(
        self, name: str | None, classes: np.ndarray, codes: np.ndarray, *, probabilities: bool = False
    ) -> Metric:
        """Return the metric of a name, or the default one for None, as `Evaluation.metric` does.

        Parameters
        ----------
        name, classes, codes : str or None, ndarray of shape (n_classes,), ndarray of shape (n_samples,)
            The name, the classes, and the class of each sample, as in `Answers`.
        probabilities : bool, default=False
            Whether models have probabilities although their loss provides none.
        """
        has_odds = probabilities or (self.task.has_classes and self.loss.is_likelihood)
        weights = self.settings.class_weight
        return self.task.evaluation.metric(name, classes, codes, weights, probabilities=has_odds, levels=self.levels)

    @property
    def formulation(self) -> str:
        """The objective in words, such as "hinge, free bias"."""
        return self.task.formulation(self, self.kernel)

    def division(self, n_classes: int) -> str:
        """Return the name of the division of data with this number of classes into subproblems."""
        return self.task.division(self.settings.multiclass, n_classes)

    def objective(self, kernel: Kernel) -> dict[str, Any]:
        """Return the objective of the solver with a resolved kernel, as plain values that a model keeps."""
        if kernel is not self.kernel:
            return self._describe(kernel)
        described = self._own_objective
        return described | {"options": dict(described["options"])}

    def facts(self, kernel: Kernel) -> dict[str, str]:
        """Return the facts that define the problem with a resolved kernel, apart from the data, each by its name.

        Parameters
        ----------
        kernel : Kernel
            The kernel.
        """
        settings = self.settings
        kernel_words = [kernel.name, *(f"{name}={value}" for name, value in kernel.params.items())]
        facts = {"task": self.task.name, "objective": self.task.formulation(self, kernel)}
        facts |= {"kernel": " ".join(kernel_words), "C": str(float(settings.C)), "nu": str(settings.nu)}
        facts |= {"contamination": str(settings.contamination)}
        return facts | ({"epsilon": str(float(settings.epsilon))} if self.task.has_targets else {})

    @cached_property
    def _own_objective(self) -> dict[str, Any]:
        return self._describe(self.kernel)

    def _describe(self, kernel: Kernel) -> dict[str, Any]:
        loss = self.solver.loss_for(kernel, self.task.loss_task, self.settings.epsilon)
        return describe_objective(loss, self.task.formulation(self, kernel))

    def require_one_output(self, who: str) -> None:
        """Raise InputError if there are several levels or labels, which `who` cannot learn together."""
        if self.task.has_labels:
            raise InputError(f"{who} learns one label a row, and a regression of one target")
        if len(self.levels) > 1:
            raise InputError(f"{who} learns one level, not {self.loss.words}: give one tau")

    def problem_type(self, kernel: Kernel | None = None) -> type[Problem]:
        """Return the type of the subproblems; raise InputError if the solver does not support this task and kernel."""
        if kernel is None or kernel is self.kernel:
            return self._own_problem_type
        return self.task.problem_type(self, kernel)

    @cached_property
    def _own_problem_type(self) -> type[Problem]:
        return self.task.problem_type(self, self.kernel)

    def pose(self, solver: Solver, gram: Gram, target: np.ndarray, C: np.ndarray, loss: Loss | None = None) -> Problem:
        """Return the problem over the samples of a Gram that `solver`, or the one it chooses, minimises.

        Parameters
        ----------
        solver, gram, target, C : object
            As for `Task.pose`.
        loss : Loss, default=None
            The loss of one of several outputs; None is the loss of the method.
        """
        settings = self.settings if loss is None else replace(self.settings, loss=loss)
        return self.task.pose(solver, gram, target, C, settings)


def resolve(settings: Settings, task: str | Task | None = None) -> Method:
    """Return the solver, the kernel and the sampler that settings name for a task; None is classification.

    Raises InputError if a name or an option is unknown, or two of them are incompatible; the message lists the
    alternatives.
    """
    task = task_named(task)
    task.require(settings)
    is_joint = SCHEMES[settings.multiclass].is_joint
    if settings.multiclass != "ovo" and not task.has_classes:
        raise InputError(f"multiclass={settings.multiclass} is for classes: leave it out")
    if settings.thresholds and not task.has_classes:
        raise InputError("thresholds are for two classes: leave thresholds out")
    if settings.conformal_by is not None and not task.has_classes:
        raise InputError(f"conformal_by={settings.conformal_by} is for classes: leave it out")
    if task.is_supervised and settings.loss is not None:
        loss = make_loss(settings.loss, task.loss_task, settings.loss_options, epsilon=settings.epsilon)
        settings = replace(settings, loss=loss)
    elif task.is_supervised and settings.loss_options:
        names, known = ", ".join(settings.loss_options), ", ".join(loss_names(task.loss_task))
        raise InputError(f"{names} is an option of a loss: give the loss as well; there are: {known}")
    solver = _with_loss(by_name.solver(settings.solver, _solver_options(settings)), settings)
    if settings.penalty is not None:
        solver = with_penalty(solver, _penalty_of(settings, task))
    if settings.is_limited and task.limits_support(settings):
        solver = solver.within_support()
    if settings.nu is not None and task.is_supervised:
        solver = with_nu(solver, settings.nu)
    if is_joint:
        solver = _joint_solver(solver, settings.multiclass)
    taker = solver if settings.kernel is None else None  # whether it can use the kernel is asked below
    kernel = by_name.kernel(settings.kernel or task.kernel, dict(settings.kernel_params or {}), taker)
    if is_joint and kernel.name != "linear":
        scheme, name = settings.multiclass, kernel.name
        raise InputError(f"multiclass={scheme} needs the linear kernel, not {name}; with {name}: ovo, ovr")
    if settings.relevance and kernel.form is None:
        known = ", ".join(form.name for form in FORMS)
        raise InputError(f"relevance={settings.relevance} needs the gradient of a kernel ({known}), not {kernel.name}")
    if settings.penalty not in (None, "l2") and kernel.name != "linear":
        raise InputError(f"penalty={settings.penalty} is for kernel=linear, not {kernel.name}")
    is_known = isinstance(settings.kernel, str) and kernel.name != "precomputed"
    # what other kernels satisfy is not known yet
    if is_known or task.has_groups or Requires.LINEAR_KERNEL in solver.requires:
        task.require_kernel(solver, kernel)
    return Method(settings, task, solver, kernel, by_name.sampler(settings.sampler))


def _joint_solver(solver: Solver, scheme: str) -> Solver:
    """Return the solver of the one problem of all classes, with the same hyperparameters, else raise InputError."""
    made = solver.joint_solver(scheme)
    if made is None:
        able = plugins.solvers_where(lambda one: scheme in one.joint)
        raise InputError(f"solver {solver.name} has no {scheme}; those that have: {', '.join(able)}")
    return made


def _penalty_of(settings: Settings, task: Task) -> Penalty:
    """Return the penalty that the settings name; raise InputError if the task or another setting excludes it."""
    penalty = make_penalty(settings.penalty or "l2", settings.l1_ratio, settings.penalty_groups)
    if penalty.l1 and not task.is_supervised:
        raise InputError(f"penalty={penalty.name} is for classes and quantities: leave it out")
    if penalty.l1 and settings.nu is not None:
        raise InputError(f"nu goes with the penalty l2, not with penalty={penalty.name}")
    return penalty


def require_class_by_class(settings: Settings) -> None:
    """Raise InputError for a problem of all classes together, which clusters cannot solve."""
    if SCHEMES[settings.multiclass].is_joint:
        raise InputError(f"multiclass={settings.multiclass} is not available on a cluster; there are: ovo, ovr")


def _solver_options(settings: Settings) -> Mapping[str, Any] | None:
    """Return the options of the solver, including the loss if it has such an option."""
    options, given, loss = settings.solver_options, settings.solver, settings.loss
    if not isinstance(loss, Loss):
        return options
    solver = plugins.load("solver", given) if isinstance(given, str) else type(given)
    solver.loss_option(loss)  # raises an error for a loss that the solver does not support
    if not isinstance(given, str):
        own = getattr(given, "loss", given.losses[0])
        name = own.name if isinstance(own, Loss) else canonical_name(str(own), loss.task)
        if name not in ("auto", loss.name):
            raise InputError(f"loss={loss.name!r} is for a solver given by its name; {given!r} has its own")
        return options
    return options if "loss" not in plugins.options(solver) else {**(options or {}), "loss": _loss_option(loss)}


def _with_loss(solver: Solver, settings: Settings) -> Solver:
    """Return a ready-made solver with the loss of the settings, so that models describe the loss by the solver."""
    loss = settings.loss
    if isinstance(settings.solver, str) or not isinstance(loss, Loss) or "loss" not in plugins.options(type(solver)):
        return solver
    return replace(solver, loss=_loss_option(loss))  # type: ignore[call-arg]


def _loss_option(loss: Loss) -> str | Loss:
    return LIBLINEAR_NAMES.get(loss.name, loss.name) if loss.name in _NAMED else loss


_NAMED = {"hinge", "squared_hinge", *LIBLINEAR_NAMES}  # the losses that solvers store by name
