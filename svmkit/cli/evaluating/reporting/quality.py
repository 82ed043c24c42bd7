"""The measures of an evaluation, each with its spread and the value of the trivial model: one function per kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from svmkit.cli.evaluating.reporting.spread import Interval, bootstrap, make_auc, wilson
from svmkit.scoring.evaluations.base import Evaluation
from svmkit.scoring.evaluations.classes import ClassEvaluation
from svmkit.scoring.evaluations.labels import LabelEvaluation
from svmkit.scoring.evaluations.orders import OrderEvaluation
from svmkit.scoring.evaluations.quantities import LevelEvaluation, QuantityEvaluation
from svmkit.scoring.metric import title
from svmkit.scoring.probability_scores import LEAST
from svmkit.scoring.ranks import NAMES
from svmkit.tasks.sets import Cover

MANY = 26  # classes up to which the area under ROC curves has an interval


class Measure(NamedTuple):
    """A measure: its key in `svmkit evaluate --json`, its name, value and interval, and that of the trivial model."""

    key: str
    name: str
    value: float | None
    interval: Interval = None
    trivial: float | None = None
    percent: bool = False
    better: str = "greater"  # whether greater or smaller values are better

    @property
    def reaches_trivial(self) -> bool:
        """Whether the interval fails to show that the model is better than the trivial one."""
        if self.interval is None or self.trivial is None:
            return False
        low, high = self.interval
        return high >= self.trivial if self.better == "smaller" else low <= self.trivial


@singledispatch
def measure(evaluated: Evaluation, result: dict[str, Any], seed: int) -> list[Measure]:
    """Return the measures of an evaluation.

    Parameters
    ----------
    evaluated, result, seed : Evaluation, dict, int
        The evaluation, the return value of its `result`, and the seed of the bootstrap.
    """
    return []


@measure.register
def _measure_classes(evaluated: ClassEvaluation, result: dict[str, Any], seed: int) -> list[Measure]:
    scores, truth, n_classes = evaluated.scores, evaluated.truth, len(evaluated.labels)
    hit = (truth == evaluated.predicted).astype(np.float64)
    areas = _areas(evaluated) if result["roc_auc"] is not None else []
    known = np.isin(truth, [k for k, label in enumerate(evaluated.labels) if label not in evaluated.unknown])
    likely = evaluated.probabilities
    losses = None if likely is None else _losses(likely.probabilities, likely.codes)

    def sample(weights: np.ndarray) -> dict[str, float]:
        rows = np.bincount(truth, weights, n_classes)
        present = rows > 0
        found = {
            "balanced_accuracy": float(np.mean(np.bincount(truth, weights * hit, n_classes)[present] / rows[present]))
        }
        of_known = weights[known]
        if areas:
            found["roc_auc"] = float(np.mean([area(of_known) for area in areas]))
        if losses is not None and of_known.any():
            means = losses @ of_known / of_known.sum()
            found |= {"log_loss": float(means[0]), "brier_score": float(means[1])}
        return found

    ends = bootstrap(sample, len(truth), seed)
    accuracy = wilson(float(hit.sum()), scores.n_samples)
    found = [
        Measure("test_accuracy", "accuracy", result["test_accuracy"], accuracy, result["majority_share"], True),
        Measure(
            "balanced_accuracy",
            "balanced accuracy",
            result["balanced_accuracy"],
            ends["balanced_accuracy"],
            1.0 / max(len(result["recall"]), 1),
            True,
        ),
    ]
    if result["roc_auc"] is not None:
        found.append(Measure("roc_auc", "ROC AUC", result["roc_auc"], ends.get("roc_auc"), 0.5))
    if result["log_loss"] is not None:
        for key, name in (("log_loss", "log loss"), ("brier_score", "Brier score")):
            found.append(Measure(key, name, result[key], ends.get(key), result[f"base_{key}"], better="smaller"))
    return found


def _areas(evaluated: ClassEvaluation) -> list[Callable[[np.ndarray], float]]:
    """Return functions of weights for the area of each class against the rest; none for very many classes."""
    positive, decision = evaluated.one_against_rest()
    columns = zip(decision.reshape(len(decision), -1).T, positive.reshape(len(positive), -1).T, strict=True)
    return [make_auc(*column) for column in columns] if decision.size <= MANY * len(decision) else []


def _losses(probabilities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the log loss and the Brier score of each row, (2, n)."""
    hits = codes[:, None] == np.arange(probabilities.shape[1])
    squares = np.square(probabilities - hits).sum(axis=1) * (1.0 if probabilities.shape[1] > 2 else 0.5)
    true = probabilities[np.arange(len(codes)), codes]
    return np.array([-np.log(np.maximum(true, LEAST)), squares])


@measure.register
def _measure_quantities(evaluated: QuantityEvaluation, result: dict[str, Any], seed: int) -> list[Measure]:
    values = {key: result[key] for key in ("test_r2", "test_rmse", "test_mae")}
    ends: dict[str, Any] = {}
    targets, errors = evaluated.targets, evaluated.errors
    if targets.ndim == 1:  # for several outputs the measures are means, without intervals
        moments = np.array([errors**2, np.abs(errors), targets, targets**2])

        def sample(weights: np.ndarray) -> dict[str, float]:
            square, size, mean, second = (moments @ weights / weights.sum()).tolist()
            spread = second - mean * mean
            return {
                "test_r2": 1.0 - square / spread if spread > 0.0 else float("nan"),
                "test_rmse": float(np.sqrt(square)),
                "test_mae": size,
            }

        centred = targets - targets.mean()
        moments[2:] = centred, centred**2
        ends = bootstrap(sample, len(targets), seed)
    around = float(np.abs(targets - np.median(targets, axis=0)).mean())  # the smallest of all constants
    return [
        Measure("test_r2", "R2", values["test_r2"], ends.get("test_r2"), 0.0),
        Measure("test_rmse", "RMSE", values["test_rmse"], ends.get("test_rmse"), result["mean_rmse"], better="smaller"),
        Measure("test_mae", "MAE", values["test_mae"], ends.get("test_mae"), around, better="smaller"),
    ]


@measure.register
def _measure_levels(evaluated: LevelEvaluation, result: dict[str, Any], seed: int) -> list[Measure]:
    levels, n, losses = result["levels"], result["n_test"], evaluated.model.levels
    of_rows = np.mean(
        [loss.value(evaluated.targets, h) for loss, h in zip(losses, evaluated.predicted.T, strict=True)], axis=0
    )
    ends = bootstrap(lambda weights: {"mean_loss": float(weights @ of_rows / weights.sum())}, n, seed)
    constant = float(np.mean([level["constant"] for level in levels]))
    found = [Measure("mean_loss", "mean loss", result["mean_loss"], ends["mean_loss"], constant, better="smaller")]
    for loss, level in zip(losses, levels, strict=True):
        share, tau = level["coverage"], level["tau"]
        better = f"near {tau:.4g}" if loss.name == "quantile" else "-"
        found.append(Measure("levels", f"targets below tau={tau:g}", share, wilson(share * n, n), better=better))
    return found


@measure.register
def _measure_orders(evaluated: OrderEvaluation, result: dict[str, Any], seed: int) -> list[Measure]:
    trivial = {"concordance": 0.5, "auc": 0.5, "kendall_tau": 0.0}
    names = {key: title(key) + (f"@{result['ndcg_at']}" if key == "ndcg" else "") for key in NAMES}
    return [Measure(key, name, result[key], None, trivial.get(key)) for key, name in names.items()]


@measure.register
def _measure_labels(evaluated: LabelEvaluation, result: dict[str, Any], seed: int) -> list[Measure]:
    n = result["n_test"]
    return [
        Measure(
            "test_accuracy",
            "rows all right",
            result["test_accuracy"],
            wilson(result["test_accuracy"] * n, n),
            None,
            True,
        ),
        Measure("right", "labels right", result["right"], None, None, True),
        Measure("f1_micro", "F1 over all labels", result["f1_micro"]),
    ]


def measure_sets(cover: Cover) -> Measure:
    """Return how often the sets of a model contained the truth of the rows that count, of which there are some."""
    ends, least = wilson(cover.coverage * cover.n_rows, cover.n_rows), f"at least {cover.guaranteed:.4g}"
    return Measure("sets", "sets with the truth", cover.coverage, ends, None, True, least)
