"""The measures of a model on labelled data, from scikit-learn, and what has to be said about them."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmkit.cli.evaluating import quality
from svmkit.data import Dataset
from svmkit.errors import InputError
from svmkit.model.model import SVMModel
from svmkit.model.predictions import predict_with_scores
from svmkit.scoring.metric import Metric
from svmkit.scoring.probability_scores import ProbabilityScores, Reliability
from svmkit.scoring.scores import Scores


@dataclass(frozen=True)
class Evaluation:
    """The predictions of a model beside the labels, by class.

    Attributes
    ----------
    model : SVMModel
        The model.
    data : str
        The name of the data.
    scores : Scores
        The counts by class; their classes are those of the model, and the labels that it does not know.
    truth, predicted : ndarray of shape (n_samples,), int
        The class of each row among `scores.classes`, and its prediction.
    decision : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        The decisions by class of the model (`svmkit.model.predictions`).
    positive : str or None
        Of two classes the one that ROC, precision and recall curves are about.
    probabilities : ProbabilityScores or None, default=None
        The scores of probabilities on the rows whose label the model knows; None without any.
    seconds : float, default=0.0
        The time of the prediction.
    """

    model: SVMModel
    data: str
    scores: Scores
    truth: np.ndarray
    predicted: np.ndarray
    decision: np.ndarray
    positive: str | None
    probabilities: ProbabilityScores | None = None
    seconds: float = 0.0

    @classmethod
    def from_model(cls, model: SVMModel, test: Dataset, n_threads: int | None) -> Evaluation:
        """Predict the labels of some rows, and probabilities if the model has them, beside the true ones.

        Parameters
        ----------
        model : SVMModel
            The model.
        test : Dataset
            The rows.
        n_threads : int or None
            The number of threads; None uses all.

        Raises
        ------
        InputError
            The data have no labels.
        """
        if test.y is None:
            raise InputError(f"{test.name} has no labels to compare predictions with: svmkit predict needs none")
        began = time.perf_counter()
        predicted, decision = predict_with_scores(model, test.X, n_threads)
        seconds, probabilities = time.perf_counter() - began, None
        if model.calibration is not None:
            chances = model.predict_proba(test.X, n_threads=n_threads)
            probabilities = ProbabilityScores.from_predictions(chances, model.classes, test.y)
        scores = Scores.from_predictions(predicted, test.y, model.classes)
        every = Metric("accuracy", scores.classes)
        of_model = Metric("accuracy", model.classes).codes(test.y)
        positive = None
        if len(model.classes) == 2:
            known = of_model[of_model < 2]
            positive = Metric.from_name("average_precision", model.classes, np.bincount(known, minlength=2)).positive
        answers = every.codes(test.y), every.codes(predicted), decision
        return cls(model, test.name, scores, *answers, positive, probabilities, seconds)

    @property
    def labels(self) -> list[str]:
        """The names of the classes, in the order of `truth`, `predicted` and the confusion matrix."""
        return [str(label) for label in self.scores.classes]

    @property
    def unknown(self) -> list[str]:
        """The labels that the model does not know."""
        return [label for label in self.labels if label not in set(map(str, self.model.classes))]

    @property
    def notes(self) -> list[str]:
        """What has to be said: labels that the model does not know, and why it may be no use, a line each."""
        said = []
        if self.unknown:
            rows = sum(int(self.scores.rows[self.labels.index(label)]) for label in self.unknown)
            more = " and others" if len(self.unknown) > 3 else ""
            names = ", ".join(self.unknown[:3]) + more
            said.append(f"{rows:,} rows have labels that the model does not know ({names}): they count as wrong")
        doubt = self.doubt
        return said + ([doubt] if doubt else [])

    @property
    def doubt(self) -> str | None:
        """Why the model may be no use (`svmkit.cli.evaluating.quality.doubt`); None if nothing speaks against it."""
        about, n_support = self.model.about, int(self.model.n_support.sum())
        n_samples, settings = about.get("n_samples"), about.get("params")
        if not isinstance(n_samples, int) or len(self.model.classes) > 2 or self.model.kernel.name == "linear":
            n_samples = 0
        known = self.scores
        if self.unknown:  # that they are never predicted has been said
            kept = np.array([label not in self.unknown for label in self.labels])
            known = Scores(known.classes[kept], known.rows[kept], known.predicted[kept], known.hits[kept])
        return quality.doubt(
            self.model,
            train=None,
            test=known,
            status=str(about.get("status", "")),
            share=n_support / n_samples if n_samples else None,
            n_samples=n_samples,
            weighted=isinstance(settings, dict) and bool(settings.get("class_weight")),
        )

    def one_against_rest(self) -> tuple[np.ndarray, np.ndarray]:
        """Return which rows are of the positive class and their decisions, for each class where there are many.

        Rows whose label the model does not know are left out.

        Returns
        -------
        positive : ndarray of shape (n_rows,) for two classes, else (n_rows, n_columns), bool
            A column for each class of which there are rows, and of the others, too.
        decision : ndarray of the same shape
            The decisions for the class.
        """
        place = {label: k for k, label in enumerate(map(str, self.model.classes))}
        codes = np.array([place.get(label, -1) for label in self.labels])[self.truth]
        known = codes >= 0
        codes, decision = codes[known], self.decision[known]
        if self.positive is not None:
            at = place[self.positive]
            return codes == at, decision if at == 1 else -decision
        rows = np.bincount(codes, minlength=len(place))
        columns = np.flatnonzero((rows > 0) & (rows < len(codes)))
        return codes[:, None] == columns, decision[:, columns]

    def areas(self) -> dict[str, float | None]:
        """Return roc_auc and average_precision, over many classes the mean of each against the rest; None if undefined.

        They need rows of two classes that the model knows.
        """
        from sklearn.metrics import average_precision_score, roc_auc_score

        positive, decision = self.one_against_rest()
        if not positive.any() or (positive.ndim == 1 and positive.all()):
            return {"roc_auc": None, "average_precision": None}
        return {
            "roc_auc": float(roc_auc_score(positive, decision)),
            "average_precision": float(average_precision_score(positive, decision)),
        }

    def reliability(self) -> Reliability | None:
        """Return how often predicted probabilities came true, of the positive class, or of all of many classes."""
        if self.probabilities is None:
            return None
        place = None if self.positive is None else list(map(str, self.model.classes)).index(self.positive)
        return self.probabilities.reliability(place)

    def _probability_scores(self) -> dict[str, Any]:
        scores, reliability = self.probabilities, self.reliability()
        known = {"log_loss": None, "brier_score": None} if scores is None else scores.summary()
        return {**known, "reliability": None if reliability is None else reliability.plain()}

    def confusion(self) -> np.ndarray:
        """Return the number of rows of each class, by row, that were predicted as each class, by column."""
        from sklearn.metrics import confusion_matrix

        return confusion_matrix(self.truth, self.predicted, labels=np.arange(len(self.labels)))

    def result(self, model: str) -> dict[str, Any]:
        """Return the keys and values of `svmkit evaluate --json`; `model` is the model as the command names it."""
        from sklearn.metrics import precision_recall_fscore_support

        every = np.arange(len(self.labels))
        precision, _, f1, rows = precision_recall_fscore_support(
            self.truth, self.predicted, labels=every, zero_division=np.nan
        )
        scores = self.scores
        return {
            "model": model,
            "data": self.data,
            "task": self.model.task,
            "n_test": scores.n_samples,
            "test_accuracy": scores.accuracy,
            "majority": scores.majority,
            "majority_share": scores.majority_share,
            "balanced_accuracy": scores.balanced_accuracy,
            "recall": scores.recall,
            "precision": _by_name(self.labels, precision),
            "f1": _by_name(self.labels, f1),
            "rows": dict(zip(self.labels, rows.tolist(), strict=True)),
            "never_predicted": scores.never_predicted(),
            "unknown_labels": self.unknown,
            "positive": self.positive,
            **self.areas(),
            **self._probability_scores(),
            "confusion": {"labels": self.labels, "matrix": self.confusion().tolist()},
            **dict.fromkeys(("test_r2", "test_rmse", "test_mae")),
            "warning": self.doubt,
            "n_support": int(self.model.n_support.sum()),
            "predict_s": self.seconds,
        }


def _by_name(names: list[str], values: np.ndarray) -> dict[str, float | None]:
    """Return values by class, None for those that are not defined."""
    return {name: None if math.isnan(value) else value for name, value in zip(names, values.tolist(), strict=True)}
