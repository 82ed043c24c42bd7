"""Accuracy, or R2, on held-out rows during a solve, from the current support vectors only, outside measured time."""

from __future__ import annotations

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
from svmkit.scoring.accuracy import accuracy
from svmkit.scoring.metric import Metric
from svmkit.solver.history import Measured
from svmkit.training.data import TrainingData
from svmkit.training.division import Subproblem

Measure = Callable[[DecisionFunction], float | Measured]
"""Measures the model that has a given decision function over the rows of a class pair."""

Held = tuple[Any, Any] | Dataset
"""Held-out samples and their labels; a data set may have features that are 0 in all training samples."""


class Validation:
    """Held-out rows X (n_rows, n_features) with their y, in the form that the training data were brought into.

    For a precomputed kernel, X has kernel values (n_rows, n_train). Rows with labels of classes outside the training
    data are left out. A data set may have features that the training data lack: these were 0 there
    (`SVMModel.widened`). `metric` is measured besides accuracy for two classes, and in place of R2 in regression; for
    more than two classes only accuracy is measured, by class pair. InputError is raised if the number of columns or
    labels is wrong, a value is not finite, or no label belongs to a class of the training data.
    """

    def __init__(self, held: Held, data: TrainingData, metric: Metric | None = None) -> None:
        if not (isinstance(held, Dataset) or (isinstance(held, tuple | list) and len(held) == 2)):
            raise InputError("validation must be held-out rows with their labels or targets: give (X, y)")
        X, y = (held.X, held.truth) if isinstance(held, Dataset) else held
        X, n_features = as_features(X, what="the validation X"), data.raw.shape[1]
        self._width = max(n_features, X.shape[1]) if isinstance(held, Dataset) else n_features
        X = pad_or_refuse_columns(X, self._width, what="the validation X", name="fit")
        require_finite(X, what="the validation X", holes=data.preprocessing.takes_holes)
        self._answers = data.task.encode_held(y, X.shape[0], data.answers)
        self._is_wider = self._width > n_features
        self._X = (data.preprocessing.widen(self._width) if self._is_wider else data.preprocessing).apply(X)
        self._data = data
        self._metric = metric

    def _wide(self, rows: Any) -> Any:
        """Return rows of the training data, or weights of their columns, padded with zeros for missing features."""
        return pad_or_refuse_columns(rows, self._width, pad=True) if self._is_wider else rows

    def measure(self, pair: Subproblem) -> Measure | None:
        """Return the function that measures models of `pair` on the rows of its classes; None without such rows."""
        rows = np.flatnonzero(self._data.division.takes_part(self._answers.codes, pair.k))
        if not len(rows):
            return None
        data, codes = self._data, self._answers.codes[rows]
        truth, score = (
            data.division.target(self._answers, rows, pair.k),
            data.task.evaluation.score(self._metric, pair.loss),
        )
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
            return score(truth, decision)

        return measure
