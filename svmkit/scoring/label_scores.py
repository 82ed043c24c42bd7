"""The quality of predictions of several labels per row: 0/1 matrices of predictions and of labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmkit.errors import InputError
from svmkit.scoring.metric import Metric


@dataclass(frozen=True)
class LabelScores:
    """The counts of each label, and the measures that follow from them."""

    n_samples: int
    accuracy: float  # the share of the rows with all labels right, as in scikit-learn
    names: tuple[str, ...]
    rows: np.ndarray  # of each label, the number of rows that have it, that are predicted to, and both
    predicted: np.ndarray
    hits: np.ndarray

    @classmethod
    def from_predictions(cls, predicted: np.ndarray, labels: np.ndarray, names: tuple[str, ...]) -> LabelScores:
        """Count predictions against labels.

        Parameters
        ----------
        predicted, labels : ndarray of shape (n_samples, n_labels), 0 and 1
        names : tuple of str, those of the labels
        """
        predicted, labels = predicted > 0, np.asarray(labels) > 0
        counts = (each.sum(axis=0) for each in (labels, predicted, labels & predicted))
        return cls(len(labels), float((predicted == labels).all(axis=1).mean()), names, *counts)

    @property
    def right(self) -> float:
        """The share of all entries that are right: 1 minus the Hamming loss."""
        wrong = self.rows + self.predicted - 2 * self.hits
        return 1.0 - float(wrong.sum()) / (self.n_samples * len(self.names))

    @property
    def f1(self) -> np.ndarray:
        """F1 of each label; nan if no row has it and none is predicted to."""
        total = self.rows + self.predicted
        return np.divide(2.0 * self.hits, total, out=np.full(len(total), np.nan), where=total > 0)

    @property
    def columns(self) -> dict[str, float]:
        """The measures, besides accuracy, that are columns of a table of several runs: none."""
        return {}

    @property
    def logged(self) -> dict[str, float]:
        """The further scalars of a run."""
        return {"right": self.right}

    @property
    def kept(self) -> dict[str, float]:
        """The test scores that a model keeps."""
        return {"accuracy": self.accuracy}

    def summary(self) -> dict[str, Any]:
        """Return the measures besides accuracy, as `svmkit train --json` prints them."""
        total = int((self.rows + self.predicted).sum())
        shares = zip(self.names, self.rows.tolist(), self.f1.tolist(), strict=True)
        return {
            "right": self.right,
            "f1_micro": 2.0 * float(self.hits.sum()) / total if total else None,
            "labels": [
                {"label": name, "rows": rows, "f1": None if math.isnan(f1) else f1} for name, rows, f1 in shares
            ],
        }


class LabelMetric(Metric):
    """A metric of several labels per row: accuracy, or an F1 of scikit-learn."""

    @classmethod
    def from_scorer(cls, name: str | None) -> LabelMetric:
        """Return the metric of a scorer, by default accuracy; raise InputError if it does not measure labels."""
        known = "accuracy", "f1_micro", "f1_macro", "f1_weighted"
        if name not in (None, *known):
            raise InputError(f"metric {name} does not measure several labels a row: give one of {', '.join(known)}")
        return cls(name or known[0], np.empty(0))

    @property
    def needs_decisions(self) -> bool:
        """False: predictions suffice."""
        return False

    def codes(self, labels: np.ndarray) -> np.ndarray:
        """Return labels (n_samples, n_labels) in the form of `value`."""
        return np.asarray(labels) > 0

    def score_counts(self, scores: Any) -> float | None:
        return scores.accuracy if self.name == "accuracy" else None

    def value(
        self, truth: np.ndarray, predicted: np.ndarray, decision: np.ndarray | None = None, rows: Any = None
    ) -> float:
        """Return the metric of predicted labels.

        Parameters
        ----------
        truth, predicted : ndarray of shape (n_samples, n_labels), bool
            The labels of each row, and the predicted ones.
        decision, rows : None
            Not used.
        """
        if self.name == "accuracy":
            return float((truth == predicted).all(axis=1).mean())
        from sklearn.metrics import f1_score

        return float(f1_score(truth, predicted, average=self.name.removeprefix("f1_"), zero_division=0.0))
