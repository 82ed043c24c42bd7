"""What the predictions of a model are worth on some rows."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from svmkit.cli.common import labels_of
from svmkit.data import Dataset
from svmkit.model.model import SVMModel
from svmkit.model.predictions import predict_with_scores
from svmkit.scoring.metric import OF_PROBABILITIES, Metric
from svmkit.scoring.probability_scores import ProbabilityScores
from svmkit.scoring.quantities import QuantityScores, scores_of
from svmkit.scoring.scores import Scores
from svmkit.tasks import task_named


@dataclass(frozen=True)
class Measurement:
    """What the predictions of a model are worth on some rows.

    Attributes
    ----------
    scores : Scores, QuantityScores or None
        The counts by class, or the errors; None where the rows have no labels that the model knows.
    value : float or None
        The metric; None where it is not defined for these rows.
    seconds : float or None
        The time of the prediction; None if it was not measured.
    probabilities : ProbabilityScores or None, default=None
        The scores of probabilities; None for a model without them.
    outliers : float or None, default=None
        The share of outliers, of a model that tells them.
    """

    scores: Scores | QuantityScores | None
    value: float | None
    seconds: float | None
    probabilities: ProbabilityScores | None = None
    outliers: float | None = None


def measure(model: SVMModel, data: Dataset, metric: Metric, n_threads: int | None) -> Measurement:
    """Predict the labels or targets of some rows and compare them with the true ones.

    Parameters
    ----------
    model : SVMModel
        The model.
    data : Dataset
        The rows; only a model of outliers does without labels.
    metric : Metric
        What is measured besides the scores.
    n_threads : int or None
        The number of threads; None uses all.
    """
    began, decision, scores = time.perf_counter(), None, None
    wide = model.widened(data.n_features)
    if model.calibration is not None:
        chances = wide.predict_proba(data.X, n_threads=n_threads)
        predicted = model.classes[chances.argmax(axis=1)]
        scores = ProbabilityScores.from_predictions(chances, model.classes, labels_of(data))
        if metric.needs_decisions:
            decision = predict_with_scores(wide, data.X, n_threads)[1]
    elif metric.needs_decisions:
        predicted, decision = predict_with_scores(wide, data.X, n_threads)
    else:
        predicted = wide.predict(data.X, n_threads=n_threads)
    seconds = time.perf_counter() - began
    if not task_named(model.task).is_supervised:
        known = data.y is not None and data.y.dtype.kind in "if" and np.isin(data.y, model.classes).all()
        scored = Scores.from_predictions(predicted, labels_of(data), model.classes) if known else None
        value = metric.score_predictions(predicted, labels_of(data), decision) if known else None
        return Measurement(scored, value, seconds, outliers=float(np.mean(predicted < 0)))
    if metric.name in OF_PROBABILITIES:
        value = metric.score_probabilities(scores)
    else:
        value = metric.score_predictions(predicted, labels_of(data), decision)
    return Measurement(scores_of(model, predicted, labels_of(data)), value, seconds, scores)
