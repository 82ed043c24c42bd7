"""The interface of evaluations: the predictions of a model beside the truth, and all reports on them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from svmkit.data import Dataset
from svmkit.errors import InputError
from svmkit.losses.base import Loss
from svmkit.scoring.evaluations.doubt import Trained
from svmkit.scoring.metric import Metric
from svmkit.scoring.probability_scores import ProbabilityScores
from svmkit.solver.history import Measured

OF_CLASSES = (
    *("test_accuracy", "majority", "majority_share", "balanced_accuracy", "recall", "precision", "f1", "rows"),
    *("never_predicted", "unknown_labels", "positive", "roc_auc", "average_precision", "confusion"),
)
"""The keys of `svmkit evaluate --json` that are about classes, null for quantities."""
OF_QUANTITIES = ("test_r2", "test_rmse", "test_mae")

Rows = list[tuple[str, str]]
"""Names and texts of the rows of a report."""
Score = Callable[[np.ndarray, np.ndarray], float | Measured]
"""Measures the decisions (n,) of one decision function against what is to be learnt (n,)."""


@dataclass(frozen=True)
class Measurement:
    """What the predictions of a model are worth on some rows."""

    scores: Any = None  # of the kind that the evaluation counts; None where rows have no labels that the model knows
    value: float | None = None  # of the metric, None if it is not defined
    seconds: float | None = None  # None where predicting was not timed
    probabilities: ProbabilityScores | None = None  # None without a calibration
    outliers: float | None = None  # a share of the rows


@dataclass(frozen=True)
class Evaluation(ABC):
    """The predictions of a model beside the truth of some rows.

    Its class says what is measured of such predictions: which metrics there are, what counts besides, and how training,
    evaluation and comparison tell of it. A task names one (`Task.evaluation`).

    Attributes
    ----------
    model, data : SVMModel, str
        The model, and the name of the data.
    seconds : float
        How long predicting took.
    what : str
        What is predicted, in words.
    tested : str
        The key of records under which the measure on test rows stands.
    grows : str
        The column of a history with that measure as a model grows.
    """

    model: Any
    data: str
    seconds: float = field(default=0.0, kw_only=True)

    what: ClassVar[str]
    tested: ClassVar[str]
    grows: ClassVar[str] = "score"

    @classmethod
    @abstractmethod
    def predict(cls, model: Any, test: Dataset, n_threads: int | None) -> Self:
        """Predict rows; raise InputError if they lack labels to compare with.

        Parameters
        ----------
        model, test, n_threads : as for `Task.evaluate`
        """

    @classmethod
    @abstractmethod
    def count(cls, model: Any, predicted: np.ndarray, truth: Any, decision: np.ndarray | None = None) -> Any:
        """Return the scores of predictions.

        Parameters
        ----------
        model : SVMModel
        predicted, truth : ndarray, the predictions of the rows, and their labels, targets or `Ranks`
        decision : ndarray of shape (n_samples, n_levels), of which levels are made, to count how often they cross
        """

    @classmethod
    @abstractmethod
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
        """Return the metric of a name; None stands for the usual one. Raises InputError: there is none, or it measures
        something else.

        Parameters
        ----------
        name, classes, class_weight, probabilities : str or None, ndarray, object, bool
            As for `Metric.from_name`; no classes in regression.
        codes : ndarray of int, shape (n_samples,)
            The class of each sample; not used in regression.
        levels : sequence of Loss
            The levels of the loss of a regression.
        """

    @classmethod
    @abstractmethod
    def score(cls, metric: Metric | None, loss: Loss | None) -> Score:
        """Return what measures one decision function during a solve, by a metric if there is one.

        Parameters
        ----------
        metric, loss : Metric, Loss, default None
            What is measured besides the usual, and the loss of this output where it has its own.
        """

    @classmethod
    def judge(cls, trained: Trained) -> str | None:
        """Return one line that says why a model is useless; None if nothing indicates it."""
        return None

    @classmethod
    @abstractmethod
    def describe_answers(cls, result: dict[str, Any]) -> str:
        """Return what a model learnt from, in words, by the result of `svmkit train`: "3 classes"."""

    @classmethod
    @abstractmethod
    def training_rows(cls, result: dict[str, Any]) -> Rows:
        """Return the rows of the report of `svmkit train` about the quality of the predictions."""

    @classmethod
    def measured_of(cls, record: dict[str, Any]) -> str:
        """Return what `tested` is, in words, by the record of a comparison."""
        return cls.tested.removeprefix("test_")

    @classmethod
    def answers(
        cls, model: Any, X: Any, metric: Metric, n_threads: int | None
    ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Return predictions of rows, decisions as far as scores or metric need them, and probabilities if there are.

        Parameters
        ----------
        model, X, n_threads : as for `predict_with_scores`
        metric : Metric, measured besides the scores
        """
        return model.predict(X, n_threads=n_threads), None, None

    @classmethod
    def timed_answers(cls, model: Any, X: Any, metric: Metric, n_threads: int | None) -> tuple[tuple, float | None]:
        """Return what `answers` returns, and the seconds that it took.

        The seconds are None where training has left the decisions of rows on disk, which are not read again.

        Parameters
        ----------
        model, X, metric, n_threads : object, object, Metric, int or None
            As for `answers`, but that X may have fewer columns than the model or more.
        """
        model = model.widened(X.shape[1])
        known = model.take_decisions(X)
        if known is not None:
            return (model.labels(known), known, None), None
        began = time.perf_counter()
        answers = cls.answers(model, X, metric, n_threads)
        return answers, time.perf_counter() - began

    @classmethod
    def measure(cls, model: Any, data: Dataset, metric: Metric, n_threads: int | None) -> Measurement:
        """Predict the labels or targets of some rows and compare them with the true ones.

        Parameters
        ----------
        model, data, metric : SVMModel, Dataset, Metric
            The model, the rows, and the metric besides the scores.
        n_threads : int or None
            The number of threads; None uses all.
        """
        (predicted, decision, _), seconds = cls.timed_answers(model, data.X, metric, n_threads)
        truth = data.truth
        value = metric.score_predictions(predicted, truth, decision)
        return Measurement(cls.count(model, predicted, truth, decision), value, seconds)

    @abstractmethod
    def by_metric(self, name: str) -> tuple[Metric, float | None]:
        """Return a metric and its value for the predictions, which is None if it is not defined for them.

        Parameters
        ----------
        name : str
            As for `metric`; with two classes, the rarer one among these rows is the positive class.

        Raises
        ------
        InputError
            As for `metric`.
        """

    @property
    @abstractmethod
    def notes(self) -> list[str]:
        """Notes that precede all numbers, a line each, such as why the model may be useless."""

    @abstractmethod
    def result(self) -> dict[str, Any]:
        """Return the keys and values of `svmkit evaluate --json` that follow the name of the model."""

    @abstractmethod
    def rows(self, result: dict[str, Any]) -> Rows:
        """Return the rows of the report of `svmkit evaluate` from what `result` returned."""

    def tables(self, result: dict[str, Any]) -> list[str]:
        """Return the lines of the report that follow its rows."""
        return []

    @property
    def status(self) -> str:
        """How the training of the model ended, "" if it does not say."""
        return str(self.model.about.get("status", ""))


def require_labels(test: Dataset) -> np.ndarray:
    """Return the labels of rows; raise InputError if they have none."""
    if test.y is None:
        raise InputError(f"{test.name} has no labels to compare predictions with: svmkit predict needs none")
    return test.y
