"""Evaluations of predicted orders, within groups."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from svmkit.data import Dataset
from svmkit.losses.base import Loss
from svmkit.scoring.evaluations.base import OF_CLASSES, OF_QUANTITIES, Evaluation, Rows, Score
from svmkit.scoring.evaluations.doubt import Trained, doubt_orders
from svmkit.scoring.evaluations.quantities import score_by
from svmkit.scoring.metric import Metric, title
from svmkit.scoring.quantities import LevelMetric
from svmkit.scoring.ranks import NAMES, RankMetric, RankScores
from svmkit.scoring.wording import describe_pairs, format_measure


@dataclass(frozen=True)
class OrderEvaluation(Evaluation):
    """The predictions of a ranker (n_samples,) beside the values of a data set, within its groups."""

    truth: Any  # `Ranks`
    predicted: np.ndarray

    what: ClassVar[str] = "orders"
    tested: ClassVar[str] = "test_metric"

    @classmethod
    def predict(cls, model: Any, test: Dataset, n_threads: int | None) -> OrderEvaluation:
        """Predict the order of rows.

        Parameters
        ----------
        model, test, n_threads : object, Dataset, int or None
            As for `Evaluation.predict`.
        """
        began = time.perf_counter()
        predicted = model.predict(test.X, n_threads=n_threads)
        return cls(model, test.name, test.truth, predicted, seconds=time.perf_counter() - began)

    @classmethod
    def count(cls, model: Any, predicted: np.ndarray, truth: Any, decision: np.ndarray | None = None) -> RankScores:
        """Return the scores of a predicted order.

        Parameters
        ----------
        model, predicted, truth, decision : object, ndarray, object, ndarray or None
            As for `Evaluation.count`.
        """
        return RankScores.from_predictions(predicted, truth)

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
        """Return the metric of orders by its name; None stands for the concordance.

        Parameters
        ----------
        name, classes, codes, class_weight, probabilities, levels
            As for `Evaluation.metric`.

        Raises
        ------
        InputError
            If no metric of orders has this name.
        """
        return RankMetric.from_words(name)

    def by_metric(self, name: str) -> tuple[Metric, float | None]:
        metric = RankMetric.from_words(name)
        return metric, metric.score_predictions(self.predicted, self.truth)

    @classmethod
    def score(cls, metric: Metric | None, loss: Loss | None) -> Score:
        return score_by(LevelMetric.from_losses([loss]) if loss else metric or RankMetric.from_words())

    @classmethod
    def judge(cls, trained: Trained) -> str | None:
        return doubt_orders(trained)

    @classmethod
    def describe_answers(cls, result: dict[str, Any]) -> str:
        scores = result["train_scores"]
        return describe_pairs(scores) if scores else "a quantity"

    @classmethod
    def training_rows(cls, result: dict[str, Any]) -> Rows:
        parts = [name for name in ("train", "test") if result[f"{name}_scores"] is not None]
        shown = []
        for key in NAMES:
            values = [(name, result[f"{name}_scores"][key]) for name in parts]
            words = title(key) + (f"@{result[f'{parts[0]}_scores']['ndcg_at']}" if key == "ndcg" else "")
            said = [f"{value:.4f} {name}" for name, value in values if value is not None]
            said[-1:] = [f"{part} ({result['n_test']:,} rows)" if part.endswith("test") else part for part in said[-1:]]
            shown += [(words, ", ".join(said))] if said else []
        metric = result["metric"]
        if metric["name"] not in NAMES:
            values = [(name, metric[name]) for name in parts]
            shown.append(
                (metric["name"], ", ".join(f"{format_measure('{:.4f}', value)} {name}" for name, value in values))
            )
        return shown

    @classmethod
    def measured_of(cls, record: dict[str, Any]) -> str:
        return str((record.get("metric") or {}).get("name") or NAMES[0])

    @cached_property
    def scores(self) -> RankScores:
        """Concordance, AUC, Kendall's tau and NDCG."""
        return RankScores.from_predictions(self.predicted, self.truth)

    @cached_property
    def notes(self) -> list[str]:
        doubt = self.judge(Trained(self.model, None, self.scores, self.status))
        return [doubt] if doubt else []

    def result(self) -> dict[str, Any]:
        return {
            "data": self.data,
            "task": self.model.task,
            "n_test": self.scores.n_samples,
            **dict.fromkeys((*OF_CLASSES, *OF_QUANTITIES)),
            **self.scores.summary(),
            "warning": next(iter(self.notes), None),
        }

    def rows(self, result: dict[str, Any]) -> Rows:
        measures = [("orders", describe_pairs(result))]
        for key in NAMES:
            words = title(key) + (f"@{result['ndcg_at']}" if key == "ndcg" else "")
            measures.append((words, format_measure("{:.4f}", result[key])))
        return measures
