"""Classification of rows that may have several labels, or none: a 0/1 matrix with a column for each label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from svmkit.data.prepare.labels import as_label_matrix, names_of_columns
from svmkit.scoring.evaluations.base import Evaluation
from svmkit.scoring.evaluations.labels import LabelEvaluation
from svmkit.tasks.base import Answers, Output, Task, held_numbers
from svmkit.tasks.classification import Classification
from svmkit.tasks.sets import Sets


class MultiLabel(Classification):
    """Labels that a row may have or not, each predicted by its own decision function.

    Examples
    --------
    >>> from svmkit.tasks import MultiLabel
    >>> MultiLabel().encode([[0, 1], [1, 1], [1, 0]], 3).targets.tolist()
    [[-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]]
    """

    name: ClassVar[str] = "multilabel"
    loss_task: ClassVar[str] = "classify"
    noun: ClassVar[str] = "labels"
    machine: ClassVar[str] = "a classifier of several labels"
    has_classes: ClassVar[bool] = False
    evaluation: ClassVar[type[Evaluation]] = LabelEvaluation
    sets: ClassVar[Sets | None] = None
    has_labels: ClassVar[bool] = True
    refuses: ClassVar[Mapping[str, str]] = {
        "class_weight": "is for one label a row",
        "calibration": "is for one label a row",
        "conformal": "is for one label a row",
    }

    def encode(self, y: Any, n_samples: int) -> Answers:
        labels = as_label_matrix(y, n_samples=n_samples)
        answers = Answers(np.empty(0), np.zeros(n_samples, dtype=np.int64), np.where(labels > 0, 1.0, -1.0))
        return answers._replace(names=names_of_columns(y, labels.shape[1]))

    def encode_truth(self, y: Any, n_samples: int) -> Answers:
        answers = self.encode(y, n_samples)
        return answers._replace(targets=(answers.values > 0.0).astype(np.float64))

    def encode_held(self, y: Any, n_rows: int, learnt: Answers) -> Answers:
        """Return the labels of held-out rows as signs, float64 (n_rows, n_labels).

        Parameters
        ----------
        y, n_rows, learnt : object, int, Answers
            As for `Task.encode_held`.

        Raises
        ------
        InputError
            If y is not a number for each label and row.
        """
        signs = np.where(held_numbers(y, n_rows, learnt) > 0, 1.0, -1.0)
        return Answers(learnt.classes, np.zeros(n_rows, dtype=np.int64), signs)

    def outputs(self, answers: Answers, method: Any) -> tuple[Output, ...]:
        return tuple(Output(name, column) for column, name in enumerate(answers.names))

    def division(self, scheme: str, n_classes: int) -> str:
        return "outputs"

    def identity(self, answers: Answers, settings: Any) -> np.ndarray:
        return self.with_loss(answers.values.ravel(), settings)

    def about(self, method: Any, C: float) -> dict[str, Any]:
        return Task.about(self, method, C)
