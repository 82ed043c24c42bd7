"""Evaluations of predicted classes, and of outliers among rows."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from svmkit.data import Dataset
from svmkit.errors import InputError
from svmkit.losses.base import Loss
from svmkit.runtime.terminal import align
from svmkit.scoring.accuracy import accuracy, comparable
from svmkit.scoring.evaluations.base import OF_QUANTITIES, Evaluation, Measurement, Rows, Score, require_labels
from svmkit.scoring.evaluations.doubt import Trained, doubt_classes, doubt_outliers
from svmkit.scoring.metric import (
    COUNTED,
    OF_PROBABILITIES,
    Metric,
    format_value,
    predict_with_scores,
    require_metric,
    title,
)
from svmkit.scoring.operating import codes_above, gain_curve
from svmkit.scoring.probability_scores import SCORES, ProbabilityScores, Reliability
from svmkit.scoring.quantities import metric_of_levels
from svmkit.scoring.scores import Scores
from svmkit.scoring.wording import base_rate, largest
from svmkit.solver.history import Measured

WHOLE = 12  # classes up to which tables are whole
MOST = 10  # classes and confusions that are shown if there are more
FEW = 5  # classes up to which the recall of each is shown; beyond, the three worst

FIRST = (0.05, 0.1, 0.2, 0.5)  # shares of the rows of highest decision whose gain is reported


@dataclass(frozen=True)
class ClassEvaluation(Evaluation):
    """The predictions of a model beside the labels, by class."""

    scores: Scores  # its classes are those of the model and the labels that it does not know
    truth: np.ndarray  # the classes of the rows, by their places among `scores.classes`
    predicted: np.ndarray  # in the same way
    decision: np.ndarray  # what `predict_with_scores` returns
    positive: str | None  # with two classes, the positive class of ROC, precision and recall curves
    probabilities: ProbabilityScores | None = None  # on the rows whose label the model knows

    what: ClassVar[str] = "classes"
    tested: ClassVar[str] = "test_accuracy"
    grows: ClassVar[str] = "accuracy"

    @classmethod
    def predict(cls, model: Any, test: Dataset, n_threads: int | None) -> ClassEvaluation:
        """Predict the classes of rows, and their probabilities if the model is calibrated.

        Parameters
        ----------
        model, test, n_threads : object, Dataset, int or None
            As for `Evaluation.predict`.

        Raises
        ------
        InputError
            If the rows have no labels.
        """
        y, _ = comparable(require_labels(test), model.classes)
        began = time.perf_counter()
        predicted, decision = predict_with_scores(model, test.X, n_threads)
        seconds, probabilities = time.perf_counter() - began, None
        if model.calibration is not None:
            predictions = model.predict_proba(test.X, n_threads=n_threads)
            probabilities = ProbabilityScores.from_predictions(predictions, model.classes, y)
        scores = Scores.from_predictions(predicted, y, model.classes)
        every = Metric("accuracy", scores.classes)
        of_model = Metric("accuracy", model.classes).codes(y)
        positive = None
        if len(model.classes) == 2:
            known = of_model[of_model < 2]
            positive = Metric.from_name("average_precision", model.classes, np.bincount(known, minlength=2)).positive
        codes = every.codes(y), every.codes(predicted)
        return cls(model, test.name, scores, *codes, decision, positive, probabilities, seconds=seconds)

    @classmethod
    def count(cls, model: Any, predicted: np.ndarray, truth: Any, decision: np.ndarray | None = None) -> Scores:
        """Return the scores of predicted classes.

        Parameters
        ----------
        model, predicted, truth, decision : object, ndarray, object, ndarray or None
            As for `Evaluation.count`.
        """
        return Scores.from_predictions(predicted, truth, model.classes)

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
        """Return the metric of classes with a name, the usual one for None.

        Parameters
        ----------
        name, classes, codes, class_weight, probabilities, levels
            As for `Evaluation.metric`.

        Raises
        ------
        InputError
            If no metric has this name, or it does not measure predictions of so many classes.
        """
        name = None if name is None else require_metric(name, probabilities=probabilities)
        metric_of_levels(name)
        rows = np.bincount(codes, minlength=len(classes))
        return Metric.from_name(name, classes, rows, class_weight, probabilities=probabilities)

    def by_metric(self, name: str) -> tuple[Metric, float | None]:
        classes = self.model.classes
        truth, predicted = self.scores.classes[self.truth], self.scores.classes[self.predicted]
        codes = Metric("accuracy", classes).codes(truth)
        metric = self.metric(name, classes, codes[codes < len(classes)], probabilities=self.probabilities is not None)
        if metric.name in OF_PROBABILITIES:
            return metric, metric.score_probabilities(self.probabilities)
        decision = metric.by_class(self.model, self.decision) if metric.needs_decisions else None
        return metric, metric.score_predictions(predicted, truth, decision)

    @classmethod
    def score(cls, metric: Metric | None, loss: Loss | None) -> Score:
        return score_signs(metric if metric is not None and len(metric.classes) == 2 else None)

    @classmethod
    def judge(cls, trained: Trained) -> str | None:
        return doubt_classes(trained)

    @classmethod
    def describe_answers(cls, result: dict[str, Any]) -> str:
        return f"{len(result['classes'])} classes"

    @classmethod
    def training_rows(cls, result: dict[str, Any]) -> Rows:
        ahead, metric = result.get("progressive_accuracy"), result["metric"]
        said = [] if ahead is None else [f"{ahead:.2%} ahead of learning"]
        parts = [name for name in ("train", "test") if result[f"{name}_accuracy"] is not None]
        for name in parts:
            facts = [f"{result['n_test']:,} rows"] if name == "test" else []
            facts += (
                [largest(result[f"{name}_scores"])] if name == parts[-1] else []
            )  # the share is about the same in both
            said.append(f"{result[f'{name}_accuracy']:.2%} {name}" + (f" ({'; '.join(facts)})" if facts else ""))
        shown = [("accuracy", ", ".join(said))] if said else []
        if parts and metric["name"] not in COUNTED:
            values = [
                f"{format_value(metric['name'], metric[name])} {name}" for name in parts if metric[name] is not None
            ]
            about = f" (class {metric['positive']})" if metric["positive"] else ""
            shown.append((title(metric["name"]), ", ".join(values or ["not defined"]) + about))
        if parts:
            balanced = [f"{result[f'{name}_scores']['balanced_accuracy']:.2%} {name}" for name in parts]
            last, recall = parts[-1], list(result[f"{parts[-1]}_scores"]["recall"].items())
            worst = "" if len(recall) <= FEW else f"worst of {len(recall)} classes: "
            if worst:
                recall = sorted(recall, key=lambda item: item[1])[:3]
            each = ", ".join(f"{label}: {value:.2%}" for label, value in recall)
            shown.append(("balanced", ", ".join(balanced)))
            shown.append(("recall", f"{worst}{each}{' (test)' if last == 'test' else ''}"))
        return shown

    @classmethod
    def answers(
        cls, model: Any, X: Any, metric: Metric, n_threads: int | None
    ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Return predicted classes, decisions if the metric needs them, and probabilities if the model is calibrated.

        Parameters
        ----------
        model, X, metric, n_threads : object, object, Metric, int or None
            As for `Evaluation.answers`.
        """
        if model.calibration is not None:
            likely = model.predict_proba(X, n_threads=n_threads)
            decision = predict_with_scores(model, X, n_threads)[1] if metric.needs_decisions else None
            return model.classes[likely.argmax(axis=1)], decision, likely
        if metric.needs_decisions:
            return *predict_with_scores(model, X, n_threads), None
        return model.predict(X, n_threads=n_threads), None, None

    @classmethod
    def measure(cls, model: Any, data: Dataset, metric: Metric, n_threads: int | None) -> Measurement:
        """Predict the classes of some rows and compare them with the labels.

        Parameters
        ----------
        model, data, metric, n_threads : object, Dataset, Metric, int or None
            As for `Evaluation.measure`.
        """
        (predicted, decision, likely), seconds = cls.timed_answers(model, data.X, metric, n_threads)
        probabilities = (
            None if likely is None else ProbabilityScores.from_predictions(likely, model.classes, data.truth)
        )
        if metric.name in OF_PROBABILITIES:
            value = metric.score_probabilities(probabilities)
        else:
            value = metric.score_predictions(predicted, data.truth, decision)
        return Measurement(cls.count(model, predicted, data.truth), value, seconds, probabilities)

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
        """Notes, a line each: labels that the model does not know, and why it may be useless."""
        said = []
        if self.unknown:
            rows = sum(int(self.scores.rows[self.labels.index(label)]) for label in self.unknown)
            names = ", ".join(self.unknown[:3]) + (" and others" if len(self.unknown) > 3 else "")
            said.append(f"{rows:,} rows have labels that the model does not know ({names}): they count as wrong")
        return said + ([self.doubt] if self.doubt else [])

    @cached_property
    def doubt(self) -> str | None:
        """Why the model may be useless (`judge`); None if nothing indicates it."""
        about, known = self.model.about, self.scores
        n_samples, settings, gap = about.get("n_samples"), about.get("params"), about.get("gap")
        if not isinstance(n_samples, int) or len(self.model.classes) > 2 or self.model.kernel.name == "linear":
            n_samples = 0
        if self.unknown:  # it has been reported that they are never predicted
            kept = np.array([label not in self.unknown for label in self.labels])
            known = Scores(known.classes[kept], known.rows[kept], known.predicted[kept], known.hits[kept])
        return self.judge(
            Trained(
                self.model,
                train=None,
                test=known,
                status=self.status,
                share=int(self.model.n_support.sum()) / n_samples if n_samples else None,
                gap=gap if isinstance(gap, float) else None,
                n_samples=n_samples,
                weighted=isinstance(settings, dict) and bool(settings.get("class_weight")),
            )
        )

    def above(self, positive: str, threshold: float) -> ClassEvaluation:
        """Return the evaluation of predictions that are the positive class where its decision exceeds a threshold."""
        labels = self.model.classes[codes_above(self.model, self.decision, positive, threshold)]
        predicted, n_classes = Metric("accuracy", self.scores.classes).codes(labels), len(self.labels)
        hits = np.bincount(predicted[predicted == self.truth], minlength=n_classes)
        scores = replace(self.scores, predicted=np.bincount(predicted, minlength=n_classes), hits=hits)
        return replace(self, scores=scores, predicted=predicted, positive=positive)

    def cost(self, positive: str, fn: float, fp: float) -> float:
        """Return the mean cost of a row whose label the model knows; raise InputError if there is none.

        Parameters
        ----------
        positive : str
            The positive class.
        fn, fp : float
            The cost of a positive row that is missed, and of another row that is taken for positive.
        """
        at = self.labels.index(positive)
        known = ~np.isin(self.truth, [self.labels.index(label) for label in self.unknown])
        if not known.any():
            raise InputError(f"no row of {self.data} has a label that the model knows: its errors have no cost")
        truth, taken = self.truth[known] == at, self.predicted[known] == at
        return float(fn * (truth & ~taken).mean() + fp * (taken & ~truth).mean())

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

    def gain(self) -> dict[str, float] | None:
        """Return the cumulative gain: the share of the positive rows among the rows of highest decision, by the share
        of all rows taken; None unless there are rows of two classes.
        """
        positive, decision = self.one_against_rest()
        if positive.ndim > 1 or not positive.any() or positive.all():
            return None
        found = np.interp(FIRST, *gain_curve(positive, decision))
        return {f"{share:g}": float(value) for share, value in zip(FIRST, found, strict=True)}

    def reliability(self) -> Reliability | None:
        """Return the reliability of the predicted probabilities, of the positive class, or of all of many classes."""
        if self.probabilities is None:
            return None
        place = None if self.positive is None else list(map(str, self.model.classes)).index(self.positive)
        return self.probabilities.reliability(place)

    def confusion(self) -> np.ndarray:
        """Return the number of rows of each class, by row, that were predicted as each class, by column."""
        from sklearn.metrics import confusion_matrix

        return confusion_matrix(self.truth, self.predicted, labels=np.arange(len(self.labels)))

    def result(self) -> dict[str, Any]:
        from sklearn.metrics import precision_recall_fscore_support

        scores, labels, reliability = self.scores, self.labels, self.reliability()
        of_classes = precision_recall_fscore_support(
            self.truth, self.predicted, labels=np.arange(len(labels)), zero_division=np.nan
        )
        precision, _, f1, _ = (dict(zip(labels, values.tolist(), strict=True)) for values in of_classes)
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
            "rows": dict(zip(labels, scores.rows.tolist(), strict=True)),
            "never_predicted": scores.never_predicted(),
            "unknown_labels": self.unknown,
            "positive": self.positive,
            **self.areas(),
            "gain": self.gain(),
            **(dict.fromkeys(SCORES) if self.probabilities is None else self.probabilities.summary()),
            "reliability": None if reliability is None else reliability.plain(),
            "confusion": {"labels": labels, "matrix": self.confusion().tolist()},
            **dict.fromkeys(OF_QUANTITIES),
            "warning": self.doubt,
        }

    def rows(self, result: dict[str, Any]) -> Rows:
        positive = result["positive"]
        against = " (mean of each class against the rest)" if positive is None else f" (class {positive})"
        measures = [
            ("accuracy", f"{result['test_accuracy']:.2%} ({largest(result)})"),
            ("balanced accuracy", f"{result['balanced_accuracy']:.2%}"),
        ]
        for name, key in (("ROC AUC", "roc_auc"), ("average precision", "average_precision")):
            area = "not defined: rows of one class only" if result[key] is None else f"{result[key]:.4f}{against}"
            measures.append((name, area))
        if result["gain"] is not None:
            found = result["gain"]["0.1"]
            measures.append(
                ("gain", f"{found:.2%} of class {positive} are in the tenth of the rows of highest decision")
            )
        if result["log_loss"] is not None:
            for name, key in (("log loss", "log_loss"), ("Brier score", "brier_score")):
                measures.append((name, f"{result[key]:.4f} ({base_rate(result, key)})"))
        return measures

    def tables(self, result: dict[str, Any]) -> list[str]:
        return ["", *by_class(result), "", *confusion(**result["confusion"])]


@dataclass(frozen=True)
class OutlierEvaluation(ClassEvaluation):
    """The predictions of a detector of outliers, -1, and of all others, 1, beside labels that say which they are."""

    @classmethod
    def judge(cls, trained: Trained) -> str | None:
        return doubt_outliers(trained)

    @classmethod
    def describe_answers(cls, result: dict[str, Any]) -> str:
        return "no labels used"

    @classmethod
    def training_rows(cls, result: dict[str, Any]) -> Rows:
        said: list[tuple[str, str]] = []
        for name, words in (("train", "training"), ("test", "test")):
            share, accuracy = result[f"{name}_outliers"], result[f"{name}_accuracy"]
            right = "" if accuracy is None else f", accuracy {accuracy:.2%} of the labels -1 and 1"
            said += [] if share is None else [("" if said else "outliers", f"{share:.2%} of the {words} rows{right}")]
        return said

    @classmethod
    def measure(cls, model: Any, data: Dataset, metric: Metric, n_threads: int | None) -> Measurement:
        """Predict which rows are outliers; the predictions are compared where the labels are -1 and 1.

        Parameters
        ----------
        model, data, metric, n_threads : object, Dataset, Metric, int or None
            As for `Evaluation.measure`.
        """
        began = time.perf_counter()
        predicted, decision, _ = cls.answers(model.widened(data.n_features), data.X, metric, n_threads)
        seconds, share = time.perf_counter() - began, float(np.mean(predicted < 0))
        if data.y is None or data.y.dtype.kind not in "if" or not np.isin(data.y, model.classes).all():
            return Measurement(None, None, seconds, outliers=share)
        value = metric.score_predictions(predicted, data.truth, decision)
        return Measurement(cls.count(model, predicted, data.truth), value, seconds, outliers=share)


def score_signs(metric: Metric | None) -> Score:
    """Return what measures decisions by their signs, and by a metric of two classes if there is one."""

    def score(truth: np.ndarray, decision: np.ndarray) -> float | Measured:
        positive, chosen = truth > 0.0, decision > 0.0
        right = accuracy(chosen, positive)
        if metric is None:
            return right
        value = metric.value(positive.astype(int), chosen.astype(int), decision)
        return Measured(right, None if math.isnan(value) else value)

    return score


def by_class(result: dict[str, Any]) -> list[str]:
    """Return lines with precision, recall, F1 and rows of each class; of many, those of the lowest F1."""
    names = result["confusion"]["labels"]
    title = "class"
    if len(names) > WHOLE:
        present = [name for name in names if result["rows"][name]]
        names = sorted(present, key=lambda name: (result["f1"][name] or 0.0, name))[:MOST]
        title = f"worst of {len(result['rows'])} classes"
    lines = [[title, "precision", "recall", "F1", "rows"]]
    for name in names:
        shares = [result[key].get(name) for key in ("precision", "recall", "f1")]
        cells = ["-" if share is None else f"{share:.2%}" for share in shares]
        lines.append([name, *cells, f"{result['rows'][name]:,}"])
    return align(lines, left=[0])


def confusion(labels: list[str], matrix: list[list[int]]) -> list[str]:
    """Return the confusion matrix as lines, true classes down and predictions across; of many, the largest entries."""
    if len(labels) <= WHOLE:
        head = ["true \\ predicted", *labels]
        body = [[name, *(f"{n:,}" for n in line)] for name, line in zip(labels, matrix, strict=True)]
        return align([head, *body], left=[0])
    entries = ((n, i, j, sum(line)) for i, line in enumerate(matrix) for j, n in enumerate(line))
    wrong = [(n, labels[i], labels[j], of) for n, i, j, of in entries if n and i != j]
    wrong.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    if not wrong:
        return ["no row was confused"]
    lines = [["most often confused", "taken for", "rows", "of"]]
    lines += [[true, taken, f"{n:,}", f"{of:,}"] for n, true, taken, of in wrong[:MOST]]
    return align(lines, left=[0])
