"""The measures of a model on labelled data, from scikit-learn, and what has to be said about them."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.cli.evaluating import quality
from svmkit.data import Dataset
from svmkit.data.classes import targets_of, with_task
from svmkit.data.groups import add_groups
from svmkit.data.prepare.reading import Reading
from svmkit.errors import InputError
from svmkit.model.model import SVMModel
from svmkit.scoring.choice import scores_of
from svmkit.scoring.label_scores import LabelScores
from svmkit.scoring.metric import Metric, predict_with_scores
from svmkit.scoring.probability_scores import SCORES, ProbabilityScores, Reliability
from svmkit.scoring.quantities import LevelScores, QuantityScores
from svmkit.scoring.ranks import RankScores
from svmkit.scoring.scores import Scores
from svmkit.tasks import task_named

OF_CLASSES = (
    *("test_accuracy", "majority", "majority_share", "balanced_accuracy", "recall", "precision", "f1", "rows"),
    *("never_predicted", "unknown_labels", "positive", "roc_auc", "average_precision", "confusion"),
)
"""The keys of `svmkit evaluate --json` that are about classes, null for quantities."""
OF_QUANTITIES = ("test_r2", "test_rmse", "test_mae")
OF_ONE = ("r2", "rmse", "mae", "mean_rmse")  # measures that results have under names of their own


def add_truth(test: Dataset, model: SVMModel, options: Any) -> Dataset:
    """Return the data for a ranker with their groups and events, whose columns the model knows unless they are given.

    Raises InputError: the data have no such column, or the options are not of such a model.
    """
    given = {"groups": options.groups, "event": options.event}
    if not task_named(model.task).has_groups:
        for name, column in given.items():
            if column is not None:
                raise InputError(f"--{name} is for a ranker, and {options.model} is none: leave it out")
        return test
    trained = model.about.get("params", {})
    columns = {name: trained.get(name) if column is None else column for name, column in given.items()}
    encoding = model.encoding
    reading = None if encoding is None else Reading(decimal=encoding.decimal, charset=encoding.charset)
    return with_task(add_groups(test, options.data, **columns, reading=reading), model.task)


def evaluate(
    model: SVMModel, test: Dataset, n_threads: int | None
) -> Evaluation | QuantityEvaluation | RankEvaluation | LabelEvaluation:
    """Predict some rows, with probabilities if the model has them; raise InputError if they lack labels to compare."""
    began = time.perf_counter()
    if task_named(model.task).has_groups:
        predicted = model.predict(test.X, n_threads=n_threads)
        return RankEvaluation(model, test, predicted, time.perf_counter() - began)
    if model.regresses:
        decision = model.decision_function(test.X, n_threads=n_threads)
        predicted, seconds = model.labels(decision), time.perf_counter() - began
        column = np.asarray(test.X)[:, 0] if test.n_features == 1 and not sp.issparse(test.X) else None
        return QuantityEvaluation(model, test.name, targets_of(test), predicted, decision, column, seconds)
    if test.y is None:
        raise InputError(f"{test.name} has no labels to compare predictions with: svmkit predict needs none")
    if model.outputs:
        predicted = model.predict(test.X, n_threads=n_threads)
        return LabelEvaluation(model, test.name, test.y, predicted, time.perf_counter() - began)
    predicted, decision = predict_with_scores(model, test.X, n_threads)
    seconds, probabilities = time.perf_counter() - began, None
    if model.calibration is not None:
        predictions = model.predict_proba(test.X, n_threads=n_threads)
        probabilities = ProbabilityScores.from_predictions(predictions, model.classes, test.y)
    scores = Scores.from_predictions(predicted, test.y, model.classes)
    every = Metric("accuracy", scores.classes)
    of_model = Metric("accuracy", model.classes).codes(test.y)
    positive = None
    if len(model.classes) == 2:
        known = of_model[of_model < 2]
        positive = Metric.from_name("average_precision", model.classes, np.bincount(known, minlength=2)).positive
    codes = every.codes(test.y), every.codes(predicted)
    return Evaluation(model, test.name, scores, *codes, decision, positive, probabilities, seconds)


@dataclass(frozen=True)
class Evaluation:
    """The predictions of a model beside the labels, by class."""

    model: SVMModel
    data: str
    scores: Scores  # its classes are those of the model and the labels that it does not know
    truth: np.ndarray  # the classes of the rows, by their places among `scores.classes`
    predicted: np.ndarray  # in the same way
    decision: np.ndarray  # what `predict_with_scores` returns
    positive: str | None  # of two classes the one that ROC, precision and recall curves are about
    probabilities: ProbabilityScores | None = None  # on the rows whose label the model knows
    seconds: float = 0.0

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
            names = ", ".join(self.unknown[:3]) + (" and others" if len(self.unknown) > 3 else "")
            said.append(f"{rows:,} rows have labels that the model does not know ({names}): they count as wrong")
        return said + ([self.doubt] if self.doubt else [])

    @cached_property
    def doubt(self) -> str | None:
        """Why the model may be no use (`svmkit.cli.evaluating.quality.doubt`); None if nothing speaks against it."""
        about, known = self.model.about, self.scores
        n_samples, settings = about.get("n_samples"), about.get("params")
        if not isinstance(n_samples, int) or len(self.model.classes) > 2 or self.model.kernel.name == "linear":
            n_samples = 0
        if self.unknown:  # that they are never predicted has been said
            kept = np.array([label not in self.unknown for label in self.labels])
            known = Scores(known.classes[kept], known.rows[kept], known.predicted[kept], known.hits[kept])
        return quality.doubt(
            self.model,
            train=None,
            test=known,
            status=str(about.get("status", "")),
            share=int(self.model.n_support.sum()) / n_samples if n_samples else None,
            n_samples=n_samples,
            weighted=isinstance(settings, dict) and bool(settings.get("class_weight")),
        )

    def one_against_rest(self) -> tuple[np.ndarray, np.ndarray]:
        """Return which rows are of the positive class, and their decisions for it.

        Where there are many classes, both have a column for each class of which there are rows and of the others, too.
        Rows whose label the model does not know are left out.
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

    def confusion(self) -> np.ndarray:
        """Return the number of rows of each class, by row, that were predicted as each class, by column."""
        from sklearn.metrics import confusion_matrix

        return confusion_matrix(self.truth, self.predicted, labels=np.arange(len(self.labels)))

    def result(self) -> dict[str, Any]:
        """Return the keys and values of `svmkit evaluate --json` that follow the name of the model."""
        from sklearn.metrics import precision_recall_fscore_support

        scores, labels, reliability = self.scores, self.labels, self.reliability()
        of_classes = precision_recall_fscore_support(
            self.truth, self.predicted, labels=np.arange(len(labels)), zero_division=np.nan
        )
        precision, _, f1, rows = (dict(zip(labels, values.tolist(), strict=True)) for values in of_classes)
        return {
            "data": self.data,
            "task": self.model.task,
            "n_test": scores.n_samples,
            "test_accuracy": scores.accuracy,
            "majority": scores.majority,
            "majority_share": scores.majority_share,
            "balanced_accuracy": scores.balanced_accuracy,
            "recall": scores.recall,
            "precision": {label: None if math.isnan(value) else value for label, value in precision.items()},
            "f1": {label: None if math.isnan(value) else value for label, value in f1.items()},
            "rows": rows,
            "never_predicted": scores.never_predicted(),
            "unknown_labels": self.unknown,
            "positive": self.positive,
            **self.areas(),
            **(dict.fromkeys(SCORES) if self.probabilities is None else self.probabilities.summary()),
            "reliability": None if reliability is None else reliability.plain(),
            "confusion": {"labels": labels, "matrix": self.confusion().tolist()},
            **dict.fromkeys(OF_QUANTITIES),
            "warning": self.doubt,
        }


@dataclass(frozen=True)
class QuantityEvaluation:
    """Predicted quantities beside the targets, float64 arrays of shape (n_samples,); of several outputs predictions,
    and the decisions of which they are made, have a column for each.
    """

    model: SVMModel
    data: str
    targets: np.ndarray
    predicted: np.ndarray
    decision: np.ndarray
    column: np.ndarray | None = None  # the only feature, where there is one
    seconds: float = 0.0

    @cached_property
    def scores(self) -> QuantityScores:
        """R2, RMSE and MAE, and what is known of several levels."""
        scores = scores_of(self.model, self.predicted, self.targets, self.decision)
        assert isinstance(scores, QuantityScores)
        return scores

    @property
    def middle(self) -> int:
        """The level nearest to the median."""
        return int(np.argmin([abs(loss.params["tau"] - 0.5) for loss in self.model.levels]))

    @cached_property
    def notes(self) -> list[str]:
        """What has to be said: why the model may be no use."""
        doubt = quality.doubt(self.model, train=None, test=self.scores, status=str(self.model.about.get("status", "")))
        return [doubt] if doubt else []

    def result(self) -> dict[str, Any]:
        """Return the keys and values of `svmkit evaluate --json` that follow the name of the model."""
        scores = self.scores
        middle = self.predicted[:, self.middle] if isinstance(scores, LevelScores) else self.predicted
        errors, of_levels = middle - self.targets, dict[str, Any]()
        if isinstance(scores, LevelScores):
            of_levels = {key: value for key, value in scores.summary().items() if key not in OF_ONE}
            of_levels |= {"non_crossing": self.model.non_crossing}
        return {
            "data": self.data,
            "task": self.model.task,
            "n_test": scores.n_samples,
            **dict.fromkeys(OF_CLASSES),
            **dict(zip(OF_QUANTITIES, (scores.r2, scores.rmse, scores.mae), strict=True)),
            "mean_rmse": scores.spread,
            "bias": float(errors.mean()),
            "largest_error": float(np.abs(errors).max()),
            **of_levels,
            "warning": next(iter(self.notes), None),
        }


@dataclass(frozen=True)
class RankEvaluation:
    """The predictions of a ranker (n_samples,) beside the values of a data set, within its groups."""

    model: SVMModel
    test: Dataset
    predicted: np.ndarray
    seconds: float = 0.0

    @cached_property
    def scores(self) -> RankScores:
        """Concordance, AUC, Kendall's tau and NDCG."""
        return RankScores.from_predictions(self.predicted, self.test.truth)

    @cached_property
    def notes(self) -> list[str]:
        """What has to be said: why the model may be no use."""
        doubt = quality.doubt(self.model, train=None, test=self.scores, status=str(self.model.about.get("status", "")))
        return [doubt] if doubt else []

    def result(self) -> dict[str, Any]:
        """Return the keys and values of `svmkit evaluate --json` that follow the name of the model."""
        return {
            "data": self.test.name,
            "task": self.model.task,
            "n_test": self.scores.n_samples,
            **dict.fromkeys((*OF_CLASSES, *OF_QUANTITIES)),
            **self.scores.summary(),
            "warning": next(iter(self.notes), None),
        }


@dataclass(frozen=True)
class LabelEvaluation:
    """Predicted labels beside the true ones, several a row: 0/1 matrices (n_samples, n_labels)."""

    model: SVMModel
    data: str
    labels: np.ndarray
    predicted: np.ndarray
    seconds: float = 0.0

    @cached_property
    def scores(self) -> LabelScores:
        """Accuracy, and the counts of each label."""
        return LabelScores.from_predictions(self.predicted, self.labels, self.model.outputs)

    @property
    def notes(self) -> list[str]:
        """What has to be said: nothing."""
        return []

    def result(self) -> dict[str, Any]:
        """Return the keys and values of `svmkit evaluate --json` that follow the name of the model."""
        return {
            "data": self.data,
            "task": self.model.task,
            "n_test": self.scores.n_samples,
            **dict.fromkeys(OF_CLASSES),
            **dict.fromkeys(OF_QUANTITIES),
            "test_accuracy": self.scores.accuracy,
            **self.scores.summary(),
            "warning": None,
        }
