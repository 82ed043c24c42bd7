"""What predictions of quantities are worth: R2, RMSE and MAE, and the other scorers of regression of scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmkit.errors import InputError
from svmkit.losses.base import Loss
from svmkit.model.model import SVMModel
from svmkit.scoring.metric import MAE, OF_LEVELS, OF_QUANTITIES, R2, RMSE, Metric, measures_quantities, require_metric
from svmkit.scoring.ranks import RankMetric, RankScores
from svmkit.scoring.scores import Scores
from svmkit.tasks import task_named

LEAST = 5e-5  # R2 of a model that is better than the mean: less is shown as 0.0000


@dataclass(frozen=True)
class QuantityScores:
    """The errors of predicted quantities; `rmse`, `mae` and `spread` are in units of the targets."""

    n_samples: int
    # 1 - sum (t - h)^2 / sum (t - mean t)^2 for targets t and predictions h: 1 is exact, 0 as good as the mean of these
    # targets; nan where all targets are the same
    r2: float
    rmse: float
    mae: float
    spread: float  # the RMSE of predicting the mean of these targets

    @classmethod
    def from_predictions(cls, predicted: np.ndarray, targets: np.ndarray) -> QuantityScores:
        """Compare predictions with targets, both (n_samples,) numbers."""
        targets = np.asarray(targets, dtype=np.float64)
        errors = targets - predicted
        with np.errstate(over="ignore", invalid="ignore"):
            squares, variance = float(np.mean(errors * errors)), float(targets.var())
        if targets.min() == targets.max():
            variance = 0.0  # without the rounding error of the mean
        r2 = 1.0 - squares / variance if variance > 0.0 else math.nan
        return cls(len(targets), r2, math.sqrt(squares), float(np.abs(errors).mean()), math.sqrt(variance))

    @property
    def accuracy(self) -> None:
        """None: quantities are not right or wrong."""
        return None

    @property
    def baseline(self) -> str:
        """The prediction that a useful model is better than, in words."""
        return "the mean of the targets"

    @property
    def beats_mean(self) -> bool:
        """Whether the predictions are better than the mean of the targets, or all targets are the same."""
        return not self.r2 <= LEAST

    def summary(self) -> dict[str, Any]:
        """Return the measures, as `svmkit train --json` prints them."""
        return {"r2": self.r2, "rmse": self.rmse, "mae": self.mae, "mean_rmse": self.spread}


class QuantityMetric(Metric):
    """A metric of predicted quantities; greater is better, so that errors are negative, as in scikit-learn."""

    @classmethod
    def from_scorer(cls, name: str | None = None) -> QuantityMetric:
        """Return the metric of a scorer, by default R2; raise InputError if there is none, or it measures classes."""
        name = R2 if name is None else require_metric(name)
        if not measures_quantities(name):
            raise InputError(f"metric {name} measures classes, not quantities: give one of {', '.join(OF_QUANTITIES)}")
        return cls(name, np.empty(0))

    @property
    def needs_decisions(self) -> bool:
        """False: predictions suffice."""
        return False

    def codes(self, labels: np.ndarray) -> np.ndarray:
        """Return targets (n_samples,) as `value` takes them."""
        return np.asarray(labels, dtype=np.float64)

    def score_counts(self, scores: QuantityScores) -> float | None:
        """Return the metric where it follows from scores that others have counted; None where it does not."""
        return {R2: scores.r2, RMSE: -scores.rmse, MAE: -scores.mae}.get(self.name)

    def value(
        self, truth: np.ndarray, predicted: np.ndarray, decision: np.ndarray | None = None, rows: Any = None
    ) -> float:
        if self.name in OF_QUANTITIES:
            return self.score_counts(QuantityScores.from_predictions(predicted, truth))  # type: ignore[return-value]
        from sklearn.metrics import get_scorer

        scorer: Any = get_scorer(self.name)
        try:
            return float(scorer._sign * scorer._score_func(truth, predicted, **scorer._kwargs))
        except ValueError:  # a logarithm of negative numbers, say
            return math.nan


def metric_for(
    name: str | None,
    classes: np.ndarray,
    codes: np.ndarray,
    class_weight: Any = None,
    *,
    probabilities: bool = False,
    levels: Sequence[Loss] = (),
    has_groups: bool = False,
) -> Metric:
    """Return the metric of a name for some labels; None stands for R2, for the mean loss of several levels, or what
    suits the classes (`Metric.from_name`). Raises InputError: the metric is not known, or measures something else.

    Parameters
    ----------
    name, classes, class_weight, probabilities : as for `Metric.from_name`; no classes in regression
    codes : ndarray of shape (n_samples,), int, of no use in regression
    levels : sequence of Loss, those of the loss of a regression
    has_groups : bool, whether an order within groups is learnt
    """
    if has_groups:
        return RankMetric.from_words(name)
    name = None if name is None else require_metric(name, probabilities=probabilities)
    if len(levels) > 1 or (name in OF_LEVELS and levels and "tau" in levels[0].params):
        from svmkit.scoring.levels import LevelMetric, metric_name

        own = metric_name(levels[0])
        if name not in (None, own):
            raise InputError(f"metric {name} does not measure levels of {levels[0].name}: leave it out, or give {own}")
        return LevelMetric.for_levels(levels)
    if name in OF_LEVELS:
        raise InputError(f"metric {name} measures the levels of a loss: give loss quantile or expectile")
    if not len(classes):
        return QuantityMetric.from_scorer(name)
    return Metric.from_name(name, classes, np.bincount(codes), class_weight, probabilities=probabilities)


def scores_of(
    model: SVMModel, predicted: np.ndarray, labels: Any, decision: np.ndarray | None = None
) -> Scores | QuantityScores | RankScores:
    """Return what predictions of a model are worth: `QuantityScores` in regression, with several levels `LevelScores`
    for whose crossings the decisions are needed, `RankScores` of orders, else `Scores`.
    """
    if task_named(model.task).has_groups:
        return RankScores.from_predictions(predicted, labels)
    if levels := model.levels:
        from svmkit.scoring.levels import LevelScores

        return LevelScores.from_levels(levels, predicted, labels, decision)
    if model.regresses:
        return QuantityScores.from_predictions(predicted, labels)
    return Scores.from_predictions(predicted, labels, model.classes)
