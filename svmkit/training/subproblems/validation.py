"""Accuracy, or R2, on held-out rows during a solve, from the current support vectors only; its time is not counted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from svmkit.data import Dataset
from svmkit.data.prepare.features import as_features, pad_or_refuse_columns, require_finite
from svmkit.errors import InputError
from svmkit.kernels.engines import engine_for
from svmkit.kernels.extent import Extent
from svmkit.problems.base import ClassDecisions, DecisionFunction
from svmkit.scoring.accuracy import accuracy, comparable
from svmkit.scoring.metric import Metric
from svmkit.scoring.quantities import LevelMetric, QuantityMetric
from svmkit.scoring.ranks import RankMetric
from svmkit.solver.history import Measured
from svmkit.tasks import Answers
from svmkit.training.data import TrainingData
from svmkit.training.division import Subproblem

Measure = Callable[[DecisionFunction], float | Measured]
"""Measures the model that has a given decision function over the rows of a class pair."""

Held = tuple[Any, Any] | Dataset
"""Held-out samples and their labels; a data set may have features that were 0 in all training samples."""


class Validation:
    """Held-out rows X (n_rows, n_features) with their y, in the form that the training data were brought into.

    For a precomputed kernel, X has kernel values (n_rows, n_train). Labels of classes that are not trained on are left
    out. A data set may have features that the training data do not have: these were 0 there (`SVMModel.widened`).
    `metric` is measured besides accuracy for two classes, and in place of R2 in regression; of more than two classes
    only accuracy is measured, by class pair. InputError is raised if the number of columns or labels is wrong, a value
    is not finite, or no label belongs to a class that is trained on.
    """

    def __init__(self, held: Held, data: TrainingData, metric: Metric | None = None) -> None:
        X, y = (held.X, held.truth) if isinstance(held, Dataset) else held
        X, n_features = as_features(X, what="the validation X"), data.raw.shape[1]
        self._width = max(n_features, X.shape[1]) if isinstance(held, Dataset) else n_features
        X = pad_or_refuse_columns(X, self._width, what="the validation X", name="fit")
        require_finite(X, what="the validation X", holes=data.preprocessing.takes_holes)
        has_groups = data.task.has_groups  # a tuple of values, groups and flags is no array
        self._answers = (
            data.task.encode_truth(y, X.shape[0]) if has_groups else _answers(np.asarray(y), data, X.shape[0])
        )
        self._is_wider = self._width > n_features
        self._X = (data.preprocessing.widen(self._width) if self._is_wider else data.preprocessing).apply(X)
        self._data = data
        self._metric = metric if len(data.classes) == 2 or data.task.has_targets else None

    def _wide(self, rows: Any) -> Any:
        """Return rows of the training data, or weights of their columns, with zeros in the features they lack."""
        return pad_or_refuse_columns(rows, self._width, pad=True) if self._is_wider else rows

    def measure(self, pair: Subproblem) -> Measure | None:
        """Return the function that measures models of `pair` on the rows of its classes; None without such rows."""
        rows = np.flatnonzero(self._data.division.takes_part(self._answers.codes, pair.k))
        if not len(rows):
            return None
        data, codes, scored = self._data, self._answers.codes[rows], self._score(pair, rows)
        X = self._X if len(rows) == self._X.shape[0] else self._X[rows]
        extent = Extent.measure(data.kernel, data.X)
        if len(extent.origin):
            extent = replace(extent, origin=self._wide(extent.origin[None, :])[0])
        engine = engine_for(data.kernel, X, extent)

        def measure(model: DecisionFunction) -> float | Measured:
            if isinstance(model, ClassDecisions):
                W = self._wide(model.w)
                decisions = engine.product(W, np.eye(len(W))) + model.intercepts
                return accuracy(decisions.argmax(axis=1), codes)
            if model.w is not None:
                decision = engine.product(self._wide(model.w[None, :]), np.ones((1, 1)))[:, 0] + model.intercept
            else:
                used = np.flatnonzero(model.coef)
                vectors = self._wide(data.vectors(pair.rows[used]))
                decision = engine.product(vectors, model.coef[used, None])[:, 0] + model.intercept
            return scored(decision)

        return measure

    def _score(self, pair: Subproblem, rows: np.ndarray) -> Callable[[np.ndarray], float | Measured]:
        """Return the function that measures decisions on these rows."""
        metric = self._metric
        if self._data.task.has_targets:
            default = RankMetric.from_words if self._data.task.has_groups else QuantityMetric.from_scorer
            targets = self._data.division.target(self._answers, rows, pair.k)
            of_quantities = LevelMetric.from_losses([pair.loss]) if pair.loss else metric or default()
            return lambda decision: Measured(None, _none_if_nan(of_quantities.value(targets, decision)))
        if self._data.outputs:
            positive = self._data.division.target(self._answers, rows, pair.k) > 0.0
        else:
            positive = self._data.division.is_positive(self._answers.codes[rows], pair.k)

        def scored(decision: np.ndarray) -> float | Measured:
            right = accuracy(decision > 0.0, positive)
            if metric is None:
                return right
            return Measured(
                right, _none_if_nan(metric.value(positive.astype(int), (decision > 0.0).astype(int), decision))
            )

        return scored


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else value


def _answers(y: np.ndarray, data: TrainingData, n_rows: int) -> Answers:
    """Return held-out labels, with the code -1 for an unknown one, or targets; text and numbers compare as text."""
    codes = np.zeros(n_rows, dtype=np.int64)
    if data.answers.names:
        if y.shape != (n_rows, len(data.answers.names)) or y.dtype.kind not in "biuf":
            raise InputError(f"the validation y should have {len(data.answers.names)} numbers in each of {n_rows} rows")
        numbers = y.astype(np.float64)
        return Answers(data.classes, codes, numbers if data.task.has_targets else np.where(numbers > 0, 1.0, -1.0))
    if data.task.has_targets:
        if y.shape not in ((n_rows,), (n_rows, 1)) or y.dtype.kind not in "biuf":
            raise InputError(f"the validation y should be one number for each of its {n_rows} rows")
        return Answers(data.classes, codes, y.ravel().astype(np.float64))
    if y.shape not in ((n_rows,), (n_rows, 1)):
        raise InputError(f"the validation y has shape {y.shape}: pass one label for each of its {n_rows} rows")
    labels, classes = comparable(y.ravel(), data.classes)
    codes -= 1
    for code, label in enumerate(classes):
        codes[labels == label] = code
    if (codes < 0).all():
        raise InputError(f"the validation y has none of the classes trained on: {', '.join(map(str, classes))}")
    return Answers(data.classes, codes)
