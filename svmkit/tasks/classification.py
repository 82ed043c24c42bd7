"""Classification: labels of two classes or more."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from svmkit.data.prepare.labels import encode_labels
from svmkit.problems.schemes import SCHEMES
from svmkit.scoring.evaluations.base import Evaluation
from svmkit.scoring.evaluations.classes import ClassEvaluation
from svmkit.tasks.base import Answers, Task
from svmkit.tasks.sets import ClassSets, Sets


class Classification(Task):
    """Labels of two classes or more.

    Examples
    --------
    >>> from svmkit.tasks import Classification
    >>> Classification().has_classes
    True
    """

    name: ClassVar[str] = "classify"
    loss_task: ClassVar[str] = "classify"
    noun: ClassVar[str] = "classification"
    machine: ClassVar[str] = "a classifier"
    has_classes: ClassVar[bool] = True
    evaluation: ClassVar[type[Evaluation]] = ClassEvaluation
    sets: ClassVar[Sets | None] = ClassSets()
    metric: ClassVar[str] = "accuracy"

    def encode(self, y: Any, n_samples: int) -> Answers:
        return Answers(*encode_labels(y, n_samples=n_samples))

    def division(self, scheme: str, n_classes: int) -> str:
        # for two classes, one against the rest is the same problem, with scikit-learn's sign of its decisions
        return "ovo" if scheme == "ovr" and n_classes == 2 else scheme

    def identity(self, answers: Answers, settings: Any) -> np.ndarray:
        scheme = list(SCHEMES).index(self.division(settings.multiclass, len(answers.classes)))
        codes = answers.codes.astype(np.int64, copy=False)  # for any stored integer type
        codes = np.append(codes, -scheme) if scheme else codes
        return self.with_loss(codes, settings)

    def problem_type(self, method, kernel):
        return method.solver.problem_for(kernel)

    def pose(self, solver, gram, target, C, settings):
        """Return the problem that a solver minimises, with the loss of the settings.

        Parameters
        ----------
        solver, gram, target, C, settings : Solver, Gram, ndarray, float or ndarray, Settings
            As for `Task.pose`.
        """
        return solver.pose(gram, target, C, settings.loss)

    def limits_support(self, settings: Any) -> bool:
        return settings.nu is None
