"""Evaluations of predicted quantities, and of several levels of one quantity."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from svmkit.data import Dataset
from svmkit.data.classes import targets_of
from svmkit.losses.base import Loss
from svmkit.scoring import metric as metrics
from svmkit.scoring.evaluations.base import OF_CLASSES, OF_QUANTITIES, Evaluation, Rows, Score
from svmkit.scoring.evaluations.doubt import Trained, doubt_quantities
from svmkit.scoring.metric import Metric, title
from svmkit.scoring.quantities import LevelMetric, LevelScores, QuantityMetric, QuantityScores, metric_of_levels
from svmkit.scoring.wording import format_measure, level_rows, mean_of_targets
from svmkit.solver.history import Measured

OF_ONE = ("r2", "rmse", "mae", "mean_rmse")  # measures that have their own names in results


@dataclass(frozen=True)
class QuantityEvaluation(Evaluation):
    """Predicted quantities beside the targets, float64 arrays of shape (n_samples,); with several outputs, predictions
    and the underlying decisions have a column for each.
    """

    targets: np.ndarray
    predicted: np.ndarray
    decision: np.ndarray
    column: np.ndarray | None = None  # the only feature, if there is one

    what: ClassVar[str] = "quantities"
    tested: ClassVar[str] = "test_r2"

    @classmethod
    def predict(cls, model: Any, test: Dataset, n_threads: int | None) -> QuantityEvaluation:
        """Predict the targets of rows, or several levels of them.

        Parameters
        ----------
        model, test, n_threads : object, Dataset, int or None
            As for `Evaluation.predict`.

        Raises
        ------
        InputError
            If the rows have no targets, or they are not finite numbers.
        """
        began = time.perf_counter()
        decision = model.decision_function(test.X, n_threads=n_threads)
        predicted, seconds = model.labels(decision), time.perf_counter() - began
        column = np.asarray(test.X)[:, 0] if test.n_features == 1 and not sp.issparse(test.X) else None
        kind = LevelEvaluation if model.levels else QuantityEvaluation
        return kind(model, test.name, targets_of(test), predicted, decision, column, seconds=seconds)

    @classmethod
    def count(cls, model: Any, predicted: np.ndarray, truth: Any, decision: np.ndarray | None = None) -> QuantityScores:
        """Return the scores of predicted quantities, or of predicted levels.

        Parameters
        ----------
        model, predicted, truth, decision : object, ndarray, object, ndarray or None
            As for `Evaluation.count`.
        """
        if levels := model.levels:
            return LevelScores.from_levels(levels, predicted, truth, decision)
        return QuantityScores.from_predictions(predicted, truth)

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
        """Return the metric of quantities by its name; None stands for R2, or for the mean loss of several levels.

        Parameters
        ----------
        name, classes, codes, class_weight, probabilities, levels
            As for `Evaluation.metric`.

        Raises
        ------
        InputError
            If no metric has this name, or it does not measure quantities or these levels.
        """
        name = None if name is None else metrics.require_metric(name, probabilities=probabilities)
        return metric_of_levels(name, levels) or QuantityMetric.from_scorer(name)

    def by_metric(self, name: str) -> tuple[Metric, float | None]:
        metric = self.metric(name, np.empty(0), np.empty(0), levels=self.model.levels)
        return metric, metric.score_predictions(self.predicted, self.targets)

    @classmethod
    def score(cls, metric: Metric | None, loss: Loss | None) -> Score:
        return score_by(LevelMetric.from_losses([loss]) if loss else metric or QuantityMetric.from_scorer())

    @classmethod
    def judge(cls, trained: Trained) -> str | None:
        return doubt_quantities(trained)

    @classmethod
    def describe_answers(cls, result: dict[str, Any]) -> str:
        further = (result.get("label") or {}).get("more", [])
        return f"{len(result['outputs'])} quantities" if further else "a quantity"

    @classmethod
    def training_rows(cls, result: dict[str, Any]) -> Rows:
        parts = [name for name in ("train", "test") if result[f"{name}_scores"] is not None]
        if not parts:
            return []
        if "levels" in result[f"{parts[-1]}_scores"]:
            sorts = bool(result["params"].get("non_crossing"))
            return level_rows({name: result[f"{name}_scores"] for name in parts}, sorts)
        last, tested = parts[-1], f" ({result['n_test']:,} rows)"
        shown = []
        for key, words in (("r2", "R2"), ("rmse", "RMSE"), ("mae", "MAE")):
            digits = "{:.4f}" if key == "r2" else "{:.6g}"
            said = [f"{format_measure(digits, result[f'{name}_{key}'])} {name}" for name in parts]
            said[-1] += tested if key == "r2" and last == "test" else ""
            if key == "rmse":
                said[-1] += f" ({mean_of_targets(result[f'{last}_scores'])})"
            shown.append((words, ", ".join(said)))
        metric = result["metric"]
        if metric["name"] not in metrics.OF_QUANTITIES:
            values = [f"{format_measure('{:.6g}', metric[name])} {name}" for name in parts]
            shown.append((title(metric["name"]), ", ".join(values)))
        return shown

    @classmethod
    def measured_of(cls, record: dict[str, Any]) -> str:
        return "R2"

    @classmethod
    def answers(
        cls, model: Any, X: Any, metric: Metric, n_threads: int | None
    ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Return predicted quantities, and decisions for a model of several levels.

        Parameters
        ----------
        model, X, metric, n_threads : object, object, Metric, int or None
            As for `Evaluation.answers`.
        """
        if not model.levels:
            return model.predict(X, n_threads=n_threads), None, None
        decision = model.decision_function(X, n_threads=n_threads)
        return model.labels(decision), decision, None

    @cached_property
    def scores(self) -> QuantityScores:
        """R2, RMSE and MAE, and the scores of several levels."""
        return self.count(self.model, self.predicted, self.targets, self.decision)

    @cached_property
    def notes(self) -> list[str]:
        doubt = self.judge(Trained(self.model, None, self.scores, self.status))
        return [doubt] if doubt else []

    @property
    def errors(self) -> np.ndarray:
        """The predictions less the targets."""
        return self.predicted - self.targets

    def result(self) -> dict[str, Any]:
        scores, errors = self.scores, self.errors
        return {
            "data": self.data,
            "task": self.model.task,
            "n_test": scores.n_samples,
            **dict.fromkeys(OF_CLASSES),
            **dict(zip(OF_QUANTITIES, (scores.r2, scores.rmse, scores.mae), strict=True)),
            "mean_rmse": scores.spread,
            "bias": float(errors.mean()),
            "largest_error": float(np.abs(errors).max()),
            **self.further(),
            "warning": next(iter(self.notes), None),
        }

    def further(self) -> dict[str, Any]:
        """Return the keys and values of `result` before the warning."""
        return {}

    def rows(self, result: dict[str, Any]) -> Rows:
        return [
            ("R2", format_measure("{:.4f}", result["test_r2"])),
            ("RMSE", f"{result['test_rmse']:.6g} ({mean_of_targets(result)})"),
            ("MAE", f"{result['test_mae']:.6g}"),
            ("largest error", f"{result['largest_error']:.6g}"),
            ("bias", f"{result['bias']:.6g} (mean of predicted - true)"),
        ]


@dataclass(frozen=True)
class LevelEvaluation(QuantityEvaluation):
    """Predicted levels of one quantity, such as quantiles, beside the targets (n_samples,)."""

    @property
    def taus(self) -> list[float]:
        """The levels."""
        return [loss.params["tau"] for loss in self.model.levels]

    @property
    def middle(self) -> int:
        """The level nearest to the median."""
        return int(np.argmin([abs(tau - 0.5) for tau in self.taus]))

    @property
    def errors(self) -> np.ndarray:
        return self.predicted[:, self.middle] - self.targets

    def further(self) -> dict[str, Any]:
        of_levels = {key: value for key, value in self.scores.summary().items() if key not in OF_ONE}
        return of_levels | {"non_crossing": self.model.non_crossing}

    def rows(self, result: dict[str, Any]) -> Rows:
        return level_rows({"": result}, result["non_crossing"])


def score_by(metric: Metric) -> Score:
    """Return the score of decisions that are predictions, by a metric alone."""

    def score(truth: np.ndarray, decision: np.ndarray) -> Measured:
        value = metric.value(truth, decision)
        return Measured(None, None if math.isnan(value) else value)

    return score
