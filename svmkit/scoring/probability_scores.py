"""The quality of predicted probabilities: log loss, Brier score and reliability."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from svmkit.scoring.scores import places

SCORES = "log_loss", "brier_score", "base_log_loss", "base_brier_score"
LEAST = np.finfo(np.float64).eps  # replaces a probability of 0, as in scikit-learn
BINS = 10


class Reliability(NamedTuple):
    """The observed frequencies of predictions of about the same probability, bin by bin."""

    predicted: np.ndarray  # the mean of the predicted probabilities
    observed: np.ndarray  # the share of the predictions that came true, and their number
    rows: np.ndarray

    @classmethod
    def from_probabilities(cls, probability: np.ndarray, came_true: np.ndarray) -> Reliability:
        """Divide predictions (n,) and whether they came true (n,) at 0.1, 0.2, ..., 0.9; empty bins are left out."""
        at = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
        rows = np.bincount(at, minlength=BINS)
        used = rows > 0
        predicted, observed = (np.bincount(at, values, BINS)[used] / rows[used] for values in (probability, came_true))
        return cls(predicted, observed, rows[used])

    def plain(self) -> list[dict[str, Any]]:
        """Return the bins as `svmkit evaluate --json` prints them."""
        columns = (self.predicted.tolist(), self.observed.tolist(), self.rows.tolist())
        return [{"predicted": p, "observed": o, "rows": n} for p, o, n in zip(*columns, strict=True)]

    @classmethod
    def from_plain(cls, bins: Iterable[dict[str, Any]]) -> Reliability:
        """Return the reliability from bins of `plain`; bins of several runs are merged."""
        rows, sums, hits = np.zeros(BINS, dtype=np.int64), np.zeros(BINS), np.zeros(BINS)
        for entry in bins:
            at = min(int(entry["predicted"] * BINS + 1e-9), BINS - 1)  # a mean may be rounded to below its bin
            rows[at] += entry["rows"]
            sums[at] += entry["rows"] * entry["predicted"]
            hits[at] += entry["rows"] * entry["observed"]
        used = rows > 0
        return cls(sums[used] / rows[used], hits[used] / rows[used], rows[used])


@dataclass(frozen=True)
class ProbabilityScores:
    """The scores of `probabilities` (n_rows, n_classes) on some rows whose classes are the `codes`."""

    probabilities: np.ndarray
    codes: np.ndarray

    @classmethod
    def from_predictions(
        cls, probabilities: np.ndarray, classes: np.ndarray, labels: np.ndarray
    ) -> ProbabilityScores | None:
        """Combine probabilities and labels, without rows of unknown labels; None if no label is known.

        Parameters
        ----------
        probabilities : ndarray of shape (n_samples, n_classes)
        classes : ndarray of shape (n_classes,)
        labels : ndarray of shape (n_samples,)
        """
        at, is_class = places(np.asarray(labels), classes)
        return cls(probabilities[is_class], at[is_class]) if is_class.any() else None

    @property
    def log_loss(self) -> float:
        """The mean of -log of the probability of the true class."""
        true = self.probabilities[np.arange(len(self.codes)), self.codes]
        return float(-np.log(np.maximum(true, LEAST)).mean()) + 0.0  # of a single class 0, not -0

    @property
    def brier_score(self) -> float:
        """The mean squared error of the probability of `classes[1]`; with more classes, the sum over the classes."""
        hits = self.codes[:, None] == np.arange(self.probabilities.shape[1])
        squares = np.square(self.probabilities - hits).sum(axis=1).mean()
        return float(squares if self.probabilities.shape[1] > 2 else 0.5 * squares)

    def reliability(self, code: int | None = None) -> Reliability:
        """Return the reliability of the probabilities of one class, or, for None, of all classes together."""
        hits = self.codes[:, None] == np.arange(self.probabilities.shape[1])
        if code is None:
            return Reliability.from_probabilities(self.probabilities.ravel(), hits.ravel())
        return Reliability.from_probabilities(self.probabilities[:, code], hits[:, code])

    def reliability_of_labels(self) -> Reliability:
        """Return the reliability of the probabilities of the predicted labels: how often these are right."""
        return Reliability.from_probabilities(
            self.probabilities.max(axis=1), self.probabilities.argmax(axis=1) == self.codes
        )

    @cached_property
    def base(self) -> ProbabilityScores:
        """The scores of the base rate alone: each row gets the shares of the classes among these rows."""
        shares = np.bincount(self.codes, minlength=self.probabilities.shape[1]) / len(self.codes)
        return ProbabilityScores(np.broadcast_to(shares, self.probabilities.shape), self.codes)

    def summary(self) -> dict[str, float]:
        """Return the scores by name, and the scores of the base rate, which no useful model exceeds."""
        own, base = ((of.log_loss, of.brier_score) for of in (self, self.base))
        return dict(zip(SCORES, own + base, strict=True))
