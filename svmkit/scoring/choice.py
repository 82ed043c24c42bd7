"""The metric and the scores that suit what a model predicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from svmkit.errors import InputError
from svmkit.losses.base import Loss
from svmkit.model.model import SVMModel
from svmkit.scoring.label_scores import LabelMetric, LabelScores
from svmkit.scoring.metric import OF_LEVELS, Metric, require_metric
from svmkit.scoring.quantities import LevelMetric, LevelScores, QuantityMetric, QuantityScores, metric_name
from svmkit.scoring.ranks import RankMetric, RankScores
from svmkit.scoring.scores import Scores
from svmkit.tasks import task_named


def metric_for(
    name: str | None,
    classes: np.ndarray,
    codes: np.ndarray,
    class_weight: Any = None,
    *,
    probabilities: bool = False,
    levels: Sequence[Loss] = (),
    has_groups: bool = False,
    several_labels: bool = False,
) -> Metric:
    """Return the metric of a name for some labels; None stands for R2, for the mean loss of several levels, or what
    suits the classes (`Metric.from_name`). Raises InputError: the metric is not known, or measures something else.

    Parameters
    ----------
    name, classes, class_weight, probabilities : as for `Metric.from_name`; no classes in regression
    codes : ndarray of shape (n_samples,), int, of no use in regression
    levels : sequence of Loss, those of the loss of a regression
    has_groups : bool, whether an order within groups is learnt
    several_labels : bool, whether a row may have several labels
    """
    if has_groups:
        return RankMetric.from_words(name)
    name = None if name is None else require_metric(name, probabilities=probabilities)
    if several_labels:
        return LabelMetric.from_scorer(name)
    if len(levels) > 1 or (name in OF_LEVELS and levels and "tau" in levels[0].params):
        own = metric_name(levels[0])
        if name not in (None, own):
            raise InputError(f"metric {name} does not measure levels of {levels[0].name}: leave it out, or give {own}")
        return LevelMetric.from_losses(levels)
    if name in OF_LEVELS:
        raise InputError(f"metric {name} measures the levels of a loss: give loss quantile or expectile")
    if not len(classes):
        return QuantityMetric.from_scorer(name)
    return Metric.from_name(name, classes, np.bincount(codes), class_weight, probabilities=probabilities)


def scores_of(
    model: SVMModel, predicted: np.ndarray, labels: Any, decision: np.ndarray | None = None
) -> Scores | QuantityScores | RankScores | LabelScores:
    """Return what predictions of a model are worth: `QuantityScores` in regression, with several levels `LevelScores`,
    `RankScores` of orders, of several labels a row `LabelScores`, else `Scores`.

    Parameters
    ----------
    model : SVMModel
    predicted, labels : ndarray, the predictions of the rows, and their labels, targets or `Ranks`
    decision : ndarray of shape (n_samples, n_levels), of which levels are made, to count how often they cross
    """
    if task_named(model.task).has_groups:
        return RankScores.from_predictions(predicted, labels)
    if levels := model.levels:
        return LevelScores.from_levels(levels, predicted, labels, decision)
    if task_named(model.task).has_labels:
        return LabelScores.from_predictions(predicted, labels, model.outputs)
    if model.regresses:
        return QuantityScores.from_predictions(predicted, labels)
    return Scores.from_predictions(predicted, labels, model.classes)
