"""Evaluations of predicted labels if a row may have several."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from svmkit.data import Dataset
from svmkit.losses.base import Loss
from svmkit.scoring.evaluations.base import OF_CLASSES, OF_QUANTITIES, Evaluation, Rows, Score, require_labels
from svmkit.scoring.evaluations.classes import score_signs
from svmkit.scoring.evaluations.doubt import Trained, doubt_classes
from svmkit.scoring.label_scores import LabelMetric, LabelScores
from svmkit.scoring.metric import Metric, require_metric
from svmkit.scoring.wording import label_rows


@dataclass(frozen=True)
class LabelEvaluation(Evaluation):
    """Predicted labels beside the true ones, several a row: 0/1 matrices (n_samples, n_labels)."""

    labels: np.ndarray
    predicted: np.ndarray

    what: ClassVar[str] = "labels"
    tested: ClassVar[str] = "test_accuracy"
    grows: ClassVar[str] = "accuracy"

    @classmethod
    def predict(cls, model: Any, test: Dataset, n_threads: int | None) -> LabelEvaluation:
        """Predict the labels of rows.

        Parameters
        ----------
        model, test, n_threads : object, Dataset, int or None
            As for `Evaluation.predict`.

        Raises
        ------
        InputError
            If the rows have no labels.
        """
        labels = require_labels(test)
        began = time.perf_counter()
        predicted = model.predict(test.X, n_threads=n_threads)
        return cls(model, test.name, labels, predicted, seconds=time.perf_counter() - began)

    @classmethod
    def count(cls, model: Any, predicted: np.ndarray, truth: Any, decision: np.ndarray | None = None) -> LabelScores:
        """Return the scores of predicted labels.

        Parameters
        ----------
        model, predicted, truth, decision : object, ndarray, object, ndarray or None
            As for `Evaluation.count`.
        """
        return LabelScores.from_predictions(predicted, truth, model.outputs)

    @classmethod
    def metric(
        cls,
        name: str | None,
        classes: np.ndarray,
        codes: np.ndarray,
        class_weight: Any = None,
        *,
        probabilities: bool = False,
        levels: Sequence[Loss] = (),
    ) -> Metric:
        """Return the metric of several labels per row by its name; None stands for accuracy.

        Parameters
        ----------
        name, classes, codes, class_weight, probabilities, levels
            As for `Evaluation.metric`.

        Raises
        ------
        InputError
            If no metric has this name, or it does not measure several labels a row.
        """
        return LabelMetric.from_scorer(None if name is None else require_metric(name, probabilities=probabilities))

    def by_metric(self, name: str) -> tuple[Metric, float | None]:
        metric = self.metric(name, np.empty(0), np.empty(0))
        return metric, metric.score_predictions(self.predicted, self.labels)

    @classmethod
    def score(cls, metric: Metric | None, loss: Loss | None) -> Score:
        return score_signs(None)

    @classmethod
    def judge(cls, trained: Trained) -> str | None:
        return doubt_classes(trained)

    @classmethod
    def describe_answers(cls, result: dict[str, Any]) -> str:
        return f"{len(result['outputs'])} labels"

    @classmethod
    def training_rows(cls, result: dict[str, Any]) -> Rows:
        said: Rows = []
        for part in ("train", "test"):
            if (scores := result[f"{part}_scores"]) is not None:
                said += label_rows(scores | {"accuracy": result[f"{part}_accuracy"]}, part)
        return said

    @cached_property
    def scores(self) -> LabelScores:
        """Accuracy, and the counts of each label."""
        return LabelScores.from_predictions(self.predicted, self.labels, self.model.outputs)

    @property
    def notes(self) -> list[str]:
        return []

    def result(self) -> dict[str, Any]:
        return {
            "data": self.data,
            "task": self.model.task,
            "n_test": self.scores.n_samples,
            **dict.fromkeys(OF_CLASSES),
            **dict.fromkeys(OF_QUANTITIES),
            "test_accuracy": self.scores.accuracy,
            **self.scores.summary(),
            "warning": None,
        }

    def rows(self, result: dict[str, Any]) -> Rows:
        return label_rows(result | {"accuracy": result["test_accuracy"]})
