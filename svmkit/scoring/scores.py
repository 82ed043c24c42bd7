"""The quality of predicted labels: accuracy, the share of the largest class, recall, balanced accuracy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from svmkit.data.formats.layout import integral
from svmkit.scoring.accuracy import comparable

RECALLS = 10  # the most classes whose recall is logged; with more classes, the lowest recalls


@dataclass(frozen=True)
class Scores:
    """The counts of labels and predictions by class, int64, and the measures that follow from them."""

    classes: np.ndarray  # of the model and among the labels, in sorted order; text if labels or predictions are
    rows: np.ndarray  # of each class, the number of its rows
    predicted: np.ndarray  # the number of rows predicted as it, and of hits
    hits: np.ndarray

    @classmethod
    def from_predictions(cls, predicted: np.ndarray, labels: np.ndarray, classes: np.ndarray | None = None) -> Scores:
        """Count predictions against labels, which compare as in `svmkit.scoring.accuracy.accuracy`.

        Parameters
        ----------
        predicted, labels : ndarray of shape (n_samples,), numbers, booleans or text
        classes : ndarray, the classes of the model, in the type of `predicted`; None is the distinct predictions
        """
        known = given = np.unique(predicted) if classes is None else np.asarray(classes)
        labels, known = comparable(labels, known)
        predicted, known = comparable(predicted, np.unique(known))
        unknown = labels[~places(labels, known)[1]]
        if len(unknown):
            known = np.union1d(known, unknown)
        counts = [
            np.bincount(places(values, known)[0], minlength=len(known))
            for values in (labels, predicted, labels[predicted == labels])
        ]
        return cls(integral(known) if known.dtype.kind == "f" and given.dtype.kind != "f" else known, *counts)

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return int(self.rows.sum())

    @property
    def accuracy(self) -> float:
        """The fraction of predictions that equal their labels, from 0 to 1."""
        return float(self.hits.sum() / self.rows.sum())

    @property
    def majority(self) -> str:
        """The most frequent class; the first one if there are several."""
        return str(self.classes[self.rows.argmax()])

    @property
    def majority_share(self) -> float:
        """The fraction of labels of the largest class: the accuracy of always predicting it."""
        return float(self.rows.max() / self.rows.sum())

    @cached_property
    def recall(self) -> dict[str, float]:
        """The fraction of the rows of each class that were predicted as it; classes without rows are left out."""
        present = np.flatnonzero(self.rows)
        return {str(self.classes[c]): float(self.hits[c] / self.rows[c]) for c in present.tolist()}

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that have rows."""
        return float(np.mean(list(self.recall.values())))

    @property
    def worst(self) -> list[tuple[str, float]]:
        """The classes that have rows and their recall, lowest first."""
        return sorted(self.recall.items(), key=lambda item: item[1])

    @property
    def columns(self) -> dict[str, float]:
        """The measures, besides accuracy, that are columns of a table of several runs: none."""
        return {}

    @property
    def logged(self) -> dict[str, float]:
        """The further scalars of a run: recall of each class, or of many, and where their names are the same, the
        lowest.
        """
        values = {"balanced_accuracy": self.balanced_accuracy, "majority_share": self.majority_share}
        names = [re.sub(r"[^\w. -]", "_", label, flags=re.ASCII)[:50] for label in self.recall]
        if len(set(names)) == len(names) <= RECALLS:
            return values | {f"recall_{n}": of for n, of in zip(names, self.recall.values(), strict=True)}
        return values | {"lowest_recall": self.worst[0][1]}

    @property
    def kept(self) -> dict[str, float]:
        """The test scores that a model keeps."""
        return {"accuracy": self.accuracy, "balanced_accuracy": self.balanced_accuracy}

    def never_predicted(self, least: int = 1) -> list[str]:
        """Return the classes with at least `least` rows that are never predicted."""
        return [str(label) for label in self.classes[(self.rows >= least) & (self.predicted == 0)]]

    def summary(self) -> dict[str, Any]:
        """Return the measures besides accuracy, as `svmkit train --json` prints them."""
        return {
            "balanced_accuracy": self.balanced_accuracy,
            "majority": self.majority,
            "majority_share": self.majority_share,
            "recall": self.recall,
            "never_predicted": self.never_predicted(),
        }


def balanced_accuracy(hits: np.ndarray, codes: np.ndarray, rows: np.ndarray) -> float:
    """Return the balanced accuracy of predictions of one set, from hits (n_samples,), codes (n_samples,) and rows."""
    present = rows > 0
    return float(np.mean(np.bincount(codes[hits], minlength=len(rows))[present] / rows[present]))


def places(labels: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the place of each label among the classes, in any order, and whether it is one of them."""
    labels, classes = comparable(labels, classes)
    order = np.argsort(classes)
    at = order[np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)]
    return at, classes[at] == labels
