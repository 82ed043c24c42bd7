"""The contract of a task: how targets are encoded, divided and posed, and which options go with it."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from svmkit.data import Dataset
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram import Gram
from svmkit.problems.base import DecisionFunction, Problem
from svmkit.problems.certificate import Certificate
from svmkit.scoring.accuracy import comparable
from svmkit.scoring.evaluations.base import Evaluation
from svmkit.tasks.sets import Cover, Sets


class Answers(NamedTuple):
    """The labels or targets of the samples.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The labels in ascending order; none in regression.
    codes : ndarray of shape (n,), int
        The class of each sample; 0 in regression.
    targets : ndarray of shape (n,) or (n, n_outputs), float64, or None, default=None
        The targets; None for classification.
    names : tuple of str, default=()
        The names of the columns of the targets, if there are several.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.tasks import Answers
    >>> Answers(np.array(["no", "yes"]), np.array([0, 1, 1])).targets is None
    True
    """

    classes: np.ndarray
    codes: np.ndarray
    targets: np.ndarray | None = None
    names: tuple[str, ...] = ()

    @property
    def values(self) -> np.ndarray:
        """The labels of the samples, or the targets if there are any: (n,), or a column for each output."""
        return self.classes[self.codes] if self.targets is None else self.targets


class Output(NamedTuple):
    """One of several outputs of a model, all learnt from the same rows.

    Attributes
    ----------
    name : str
        Its name, such as "tau=0.9".
    column : int or None
        Its column of the targets; None if all outputs share one column.
    loss : Loss or None
        Its loss; None if all outputs have the loss of the method.
    constant : float or None, default=None
        The decision for every row if there is nothing to learn, since all samples have the same answer.

    Examples
    --------
    >>> from svmkit.losses import Quantile
    >>> from svmkit.tasks import Output
    >>> Output("tau=0.9", None, Quantile(tau=0.9)).name
    'tau=0.9'
    """

    name: str
    column: int | None = None
    loss: Any = None
    constant: float | None = None


class Task(ABC):
    """A kind of learning problem, such as classification.

    A task has no state: its attributes are facts about all models of its kind.

    Attributes
    ----------
    name : str
        The name, as in files and the option `task`.
    loss_task : str
        The task of its losses and problems.
    noun : str
        The training, in words, such as "regression".
    machine : str
        The predictor, in words with an article, such as "a classifier".
    has_classes : bool
        Whether labels are classes that models tell apart.
    has_targets : bool
        Whether models predict numbers.
    has_groups : bool
        Whether samples are compared only within their group, so that an order is learnt.
    has_labels : bool
        Whether a row may have several labels.
    is_supervised : bool
        Whether training needs labels or targets.
    evaluation : type of Evaluation
        The measures of predictions, and how reports describe them.
    sets : Sets or None
        How prediction sets are made (`conformal`); None if there are none.
    metric : str
        The metric by which models are compared unless another one is given: scikit-learn's name.
    kernel : str or None
        The kernel unless one is given; None leaves it to the solver.
    losses : tuple of str
        Losses of this task that solvers had before `svmkit.losses`; the first is the default.
    refuses : mapping of str to str
        Options of other tasks, with the reason as a continuation of the option's name.

    Examples
    --------
    >>> from svmkit.tasks import task_named
    >>> task = task_named("regress")
    >>> task.name, task.has_classes
    ('regress', False)
    """

    name: ClassVar[str]
    loss_task: ClassVar[str]
    noun: ClassVar[str]
    machine: ClassVar[str]
    has_classes: ClassVar[bool] = False
    has_targets: ClassVar[bool] = False
    has_groups: ClassVar[bool] = False
    has_labels: ClassVar[bool] = False
    is_supervised: ClassVar[bool] = True
    evaluation: ClassVar[type[Evaluation]]
    sets: ClassVar[Sets | None] = None
    metric: ClassVar[str]
    kernel: ClassVar[str | None] = None
    losses: ClassVar[tuple[str, ...]] = ("hinge", "squared_hinge")
    refuses: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def encode(self, y: Any, n_samples: int) -> Answers:
        """Check and encode the labels or targets of n_samples samples; raise InputError if they cannot be used."""

    def encode_truth(self, y: Any, n_samples: int) -> Answers:
        """Return the encoded truth with which predictions of a model are compared; by default the training answers."""
        return self.encode(y, n_samples)

    def encode_held(self, y: Any, n_rows: int, learnt: Answers) -> Answers:
        """Return the answers of held-out rows in the encoding of the learnt ones, with the code -1 for an unknown
        class.

        Parameters
        ----------
        y, n_rows : array-like of shape (n_rows,) or (n_rows, n_outputs), int
            The labels or targets; text and numbers compare as text.
        learnt : Answers
            The answers that were learnt.
        """
        y = np.asarray(y)
        if y.shape not in ((n_rows,), (n_rows, 1)):
            raise InputError(f"the validation y has shape {y.shape}: pass one label for each of its {n_rows} rows")
        codes = np.full(n_rows, -1, dtype=np.int64)
        labels, classes = comparable(y.ravel(), learnt.classes)
        for code, label in enumerate(classes):
            codes[labels == label] = code
        if (codes < 0).all():
            raise InputError(f"the validation y has none of the classes trained on: {', '.join(map(str, classes))}")
        return Answers(learnt.classes, codes)

    def evaluate(self, model: Any, test: Dataset, n_threads: int | None = None) -> Evaluation:
        """Predict rows and return the evaluation of the predictions; raise InputError if the rows lack a truth.

        Parameters
        ----------
        model, test : SVMModel, Dataset
            A model of this task, and rows with the number of its columns.
        n_threads : int, default=None
            The number of threads; None uses all.
        """
        return self.evaluation.predict(model, test, n_threads)

    def cover(self, model: Any, test: Dataset, n_threads: int | None = None) -> Cover | None:
        """Return how often the sets of a model contain the truth of rows; None for a model without sets.

        Parameters
        ----------
        model, test, n_threads : optional
            As for `evaluate`.
        """
        if model.conformal is None or self.sets is None:
            return None
        sets = model.predict_sets(test.X, n_threads=n_threads)
        alpha, promise = model.conformal.alpha, model.conformal.promise()
        cover = self.sets.cover(model, sets, test.truth, alpha)
        return cover if promise == 1.0 - alpha else replace(cover, promise=promise)

    def outputs(self, answers: Answers, method: Any) -> tuple[Output, ...]:
        """Return the outputs of a model; none if the answers are one column, and there is one loss.

        Parameters
        ----------
        answers : Answers
            The answers to learn.
        method : Method
            The method, which determines the loss.
        """
        return ()

    def division(self, scheme: str, n_classes: int) -> str:
        """Return the name of the way in which data are divided into subproblems, for several classes by this scheme."""
        return "whole"

    def identity(self, answers: Answers, settings: Any) -> np.ndarray:
        """Return the data, besides features, weights and kernel, that checkpoints of earlier versions are bound to.

        Parameters
        ----------
        answers : Answers
            The answers to learn.
        settings : Settings
            The settings of the training.
        """
        return answers.codes

    def groups(self, answers: Answers) -> np.ndarray | None:
        """Return the number of the group of each sample, (n,), int64, which no fold may split; None without groups.

        Parameters
        ----------
        answers : Answers
            The answers to learn, or to compare with predictions.
        """
        return None

    def can_measure(self, answers: Answers, rows: np.ndarray) -> bool:
        """Return whether some rows suffice to learn from, and to measure a model on.

        Parameters
        ----------
        answers, rows : Answers, ndarray of int
            As for `groups`, and the numbers of the rows.
        """
        return True

    def with_loss(self, identity: np.ndarray, settings: Any) -> np.ndarray:
        """Return the identity of a checkpoint, including a loss that is not one of `losses`."""
        loss = settings.loss
        if loss is None or loss.name in self.losses:
            return identity
        return np.append(identity, zlib.crc32(f"{loss.name} {loss.params}".encode()))

    @abstractmethod
    def problem_type(self, method: Any, kernel: Kernel) -> type[Problem]:
        """Return the type of problem of the method's solver; raise InputError if the solver does not support this
        task.
        """

    def require_kernel(self, solver: Any, kernel: Kernel) -> None:
        """Raise InputError if the solver cannot learn the task with the kernel."""
        solver.check_kernel(kernel)

    @abstractmethod
    def pose(self, solver: Any, gram: Gram, target: np.ndarray, C: np.ndarray, settings: Any) -> Problem:
        """Return the problem that a solver minimises.

        Parameters
        ----------
        solver : Solver
            The solver.
        gram : Gram
            The kernel values of m samples.
        target : ndarray of shape (m,), float64
            The labels -1.0 and +1.0, the codes of all classes, or the targets.
        C : ndarray of shape (m,), float64
            The weight of each sample's loss.
        settings : Settings
            The settings of the training.
        """

    def decision(
        self, problem: Problem, point: np.ndarray, certificate: Certificate, C: np.ndarray, settings: Any
    ) -> DecisionFunction:
        """Return the decision function of a point of a problem.

        Parameters
        ----------
        problem : Problem
            The problem from `pose`.
        point : ndarray of shape (m,), float64
            The point.
        certificate : Certificate
            Its certificate.
        C, settings : object
            The arguments of `pose`.
        """
        return problem.decision_function(point, certificate)

    def about(self, method: Any, C: float) -> dict[str, Any]:
        """Return the model's description of the problem that it was trained on, by this method with this C."""
        settings = method.settings
        about = {"C": float(C)} | ({} if settings.nu is None else {"nu": float(settings.nu)})
        return about if settings.loss is None else about | {"loss": settings.loss.name, **settings.loss.params}

    def formulation(self, method: Any, kernel: Any) -> str:
        """Return the objective of a method with a kernel in words, such as "hinge, free bias"; equal words mean equal
        objectives.
        """
        return method.solver.formulation(kernel, self.loss_task)

    def limits_support(self, settings: Any) -> bool:
        """Return whether a solver may delegate to one that improves within a limit on support vectors."""
        return False

    def require(self, settings: Any) -> None:
        """Raise InputError for settings that belong to another task."""
        for option, reason in self.refuses.items():
            if getattr(settings, option, None) is not None:
                raise InputError(f"{option} {reason}: leave it out")


def held_numbers(y: Any, n_rows: int, learnt: Answers) -> np.ndarray:
    """Return held-out answers that are numbers, float64, (n_rows,) or with as many columns as the learnt ones."""
    y, columns = np.asarray(y), len(learnt.names)
    if columns:
        if y.shape != (n_rows, columns) or y.dtype.kind not in "biuf":
            raise InputError(f"the validation y should have {columns} numbers in each of {n_rows} rows")
        return y.astype(np.float64)
    if y.shape not in ((n_rows,), (n_rows, 1)) or y.dtype.kind not in "biuf":
        raise InputError(f"the validation y should be one number for each of its {n_rows} rows")
    return y.ravel().astype(np.float64)
