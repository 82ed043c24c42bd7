"""`svmkit tune --nested`: the score of the search itself, on rows that neither it nor its refit has seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from svmkit.runtime.terminal import align
from svmkit.scoring.metric import Metric
from svmkit.tune.result import Candidate


@dataclass(frozen=True)
class OuterFold:
    """A search on the other folds: its best candidate, and the metric of its refit on the rows of the fold."""

    best: Candidate
    score: float


@dataclass(frozen=True)
class Nested:
    """The metric of a search on outer folds, beside the scores that the searches gave their best candidates.

    Attributes
    ----------
    folds : tuple of OuterFold
        The outer folds; fewer than requested if a search was interrupted.
    metric : Metric
        The metric of the search.
    """

    folds: tuple[OuterFold, ...]
    metric: Metric

    def about(self) -> dict[str, Any]:
        """Return the values of `svmkit tune --json` under the key `nested`."""
        scores, inner = self._scores
        return {
            "folds": len(self.folds),
            "mean_score": float(scores.mean()),
            "std_score": float(scores.std()),
            "inner_mean_score": float(inner.mean()),
            "scores": [
                {"score": fold.score, "inner_score": fold.best.mean_score, "params": fold.best.params}
                for fold in self.folds
            ],
        }

    @property
    def _scores(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([fold.score for fold in self.folds]), np.array([fold.best.mean_score for fold in self.folds])

    def lines(self) -> list[str]:
        """Return the lines of a report."""
        (scores, inner), show = self._scores, self.metric.format
        spread = f"{100 * scores.std():.2f}" if self.metric.is_share else f"{scores.std():.4f}"
        names = list(dict.fromkeys(name for fold in self.folds for name in fold.best.params))
        rows = [["", *names, "search", "rows not seen"]]
        for k, fold in enumerate(self.folds):
            values = [format_param(fold.best.params.get(name, "-")) for name in names]
            rows.append([str(k + 1), *values, show(fold.best.mean_score), show(fold.score)])
        return [
            f"nested: {self.metric.title} {show(float(scores.mean()))} ± {spread} on {len(scores)} outer folds that "
            f"their searches had not seen; the searches said {show(float(inner.mean()))}",
            *align(rows),
        ]


def format_param(value: Any) -> str:
    """Return the value of a searched parameter as shown in tables."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
