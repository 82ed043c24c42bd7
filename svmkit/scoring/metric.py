"""The metric by which models are compared: accuracy, balanced accuracy or any other scorer of scikit-learn."""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from svmkit.errors import InputError, one_line
from svmkit.scoring.probability_scores import ProbabilityScores
from svmkit.scoring.scores import balanced_accuracy, places

COUNTED = ("accuracy", "balanced_accuracy")  # counted with numpy, the others are scikit-learn's
R2, RMSE, MAE = OF_QUANTITIES = "r2", "neg_root_mean_squared_error", "neg_mean_absolute_error"  # with numpy, too
OF_PROBABILITIES = "neg_log_loss", "neg_brier_score"
OF_LEVELS = "neg_mean_pinball_loss", "neg_mean_expectile_loss"  # of quantiles and expectiles, which name them
RARE = 0.1  # share of the rows below which a class is lost in accuracy
_UNBOUNDED = (  # prefixes of the names of metrics that are not shares
    *("neg_", "matthews", "positive_likelihood", "mutual_info"),
    *("r2", "explained_variance", "d2_", "max_error"),
)
_SHORT = {"rmse": RMSE, "mae": MAE, "mse": "neg_mean_squared_error", "R2": R2, "pinball": OF_LEVELS[0]}
_USUAL = "accuracy, balanced_accuracy, f1, f1_macro, precision, recall, roc_auc, average_precision"
VALUES = 1 << 22  # decisions of class pairs that are held at a time


def require_metric(name: str, *, probabilities: bool = False) -> str:
    """Return the name of a metric that can be computed from predictions and decisions of classes, or from predicted
    quantities. rmse, mae and mse are short for scikit-learn's names. The log loss and the Brier score are available
    with `probabilities`. Raises InputError: scikit-learn has no such scorer, or it needs probabilities.
    """
    name = name.strip().replace("-", "_")
    name = _SHORT.get(name, name)
    if name in COUNTED or name in OF_QUANTITIES or name in OF_LEVELS or (name in OF_PROBABILITIES and probabilities):
        return name
    from sklearn.metrics import get_scorer_names

    if name not in get_scorer_names():
        close = difflib.get_close_matches(name, get_scorer_names(), n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"there are {_USUAL}, and scikit-learn's others"
        raise InputError(f"metric {name!r} is not known; {hint}")
    if measures_quantities(name):
        return name
    failures = [_probe(name, n_classes).failure for n_classes in (2, 3)]
    if all(failures):
        if any("predict_proba" in str(failure) for failure in failures):
            of_them = " or ".join(OF_PROBABILITIES)
            if probabilities:
                raise InputError(
                    f"metric {name} is not one of those of probabilities that are measured: give {of_them}"
                )
            raise InputError(
                f"metric {name} needs probabilities: give roc_auc or average_precision, or train with the logistic "
                f"loss or a calibration (--calibrate; the folds of a search have none), and give {of_them}"
            )
        raise InputError(f"metric {name} cannot be computed for one label a row: {failures[0]}")
    return name


def measures_quantities(name: str) -> bool:
    """Return whether a scorer of scikit-learn measures quantities rather than classes."""
    if name in (*COUNTED, *OF_QUANTITIES, *OF_PROBABILITIES, *OF_LEVELS):
        return name in (*OF_QUANTITIES, *OF_LEVELS)
    from sklearn.metrics import get_scorer

    return "regression" in getattr(getattr(get_scorer(name), "_score_func", None), "__module__", "")


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric of the predictions for some classes; greater is better."""

    name: str  # of scikit-learn's scorer
    classes: np.ndarray
    positive: str | None = None  # the positive class of a metric of two classes; None if it treats all classes alike
    reason: str = ""  # why this metric, or this class, was chosen, in words

    @classmethod
    def from_name(
        cls,
        name: str | None,
        classes: np.ndarray,
        rows: np.ndarray,
        class_weight: Any = None,
        *,
        probabilities: bool = False,
    ) -> Metric:
        """Return the metric for some labels; raise InputError if it is not known, or does not support so many classes.
        None stands for balanced accuracy if classes have weights or one has less than a tenth of the rows, else for
        accuracy.

        Parameters
        ----------
        name : str or None
        classes, rows : ndarray of shape (n_classes,), the labels, sorted, and the number of rows of each
        class_weight : object, None if classes have no weights
        probabilities : bool, whether the models have probabilities
        """
        if name is None:
            share = rows.min() / rows.sum()
            if class_weight is not None:
                return cls("balanced_accuracy", classes, reason="classes have weights")
            if share < RARE:
                why = f"class {classes[rows.argmin()]} has {share:.1%} of the rows"
                return cls("balanced_accuracy", classes, reason=why)
            return cls("accuracy", classes)
        name = require_metric(name, probabilities=probabilities)
        if name in OF_PROBABILITIES:
            return cls(name, classes)
        if measures_quantities(name):
            raise InputError(f"metric {name} measures quantities, not classes: give one of {_USUAL}")
        if name in COUNTED:
            return cls(name, classes)
        failure = _probe(name, min(len(classes), 3)).failure
        if failure is not None:
            raise InputError(_wrong_number(name, len(classes), failure))
        if len(classes) > 2 or not _probe(name, 2).takes_sides:
            return cls(name, classes)
        if set(classes.tolist()) <= {-1, 0, 1}:
            return cls(name, classes, str(classes[1]))
        rarer = int(rows[1] <= rows[0])
        return cls(name, classes, str(classes[rarer]), f"class {classes[rarer]} is the rarer one")

    @property
    def title(self) -> str:
        """The name in words."""
        return title(self.name)

    @property
    def note(self) -> str | None:
        """A note on the choice of the metric; None if nothing was chosen."""
        if not self.reason:
            return None
        if self.positive is not None:
            return f"the metric is {self.title} of class {self.positive}, the rarer one"
        return f"the metric is {self.title}, since {self.reason} (--metric takes another)"

    @property
    def is_share(self) -> bool:
        """Whether the metric is a number from 0 to 1, which is shown in per cent."""
        return is_share(self.name)

    @property
    def needs_decisions(self) -> bool:
        """Whether predicted labels are not sufficient."""
        return (
            self.name not in (*COUNTED, *OF_PROBABILITIES)
            and _probe(self.name, min(len(self.classes), 3)).needs_decisions
        )

    def format(self, value: float | None) -> str:
        """Return a value in words."""
        return "not known" if value is None or math.isnan(value) else format_value(self.name, value)

    def about(self) -> dict[str, Any]:
        """Return the description of the metric, for JSON."""
        return {"name": self.name, "positive": self.positive, "reason": self.reason or None}

    def codes(self, labels: np.ndarray) -> np.ndarray:
        """Return the class of each label (n_samples,), `n_classes` for an unknown label."""
        at, is_class = places(labels, self.classes)
        return np.where(is_class, at, len(self.classes))

    def value(
        self, truth: np.ndarray, predicted: np.ndarray, decision: np.ndarray | None = None, rows: Any = None
    ) -> float:
        """Return the metric of some predictions; nan if it is not defined for them.

        Parameters
        ----------
        truth, predicted : ndarray of shape (n_samples,), int, the class of each row and its prediction
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes), as from `predict_with_scores`
        rows : ndarray of shape (n_classes,), the rows of each class, if they have been counted
        """
        if self.name == "accuracy":
            return float((predicted == truth).mean())
        if self.name in OF_PROBABILITIES:  # see score_probabilities
            return math.nan
        if self.name == "balanced_accuracy":
            rows = np.bincount(truth) if rows is None else rows
            return balanced_accuracy(predicted == truth, truth, rows)
        if self.positive is not None and self.positive == str(self.classes[0]):
            truth, predicted = (np.where(c < 2, 1 - c, c) for c in (truth, predicted))
            decision = None if decision is None else -decision
        try:
            return _scorer_value(self.name, truth, predicted, decision, len(self.classes))
        except (ValueError, AttributeError):
            return math.nan

    def score_model(self, model: Any, X: Any, labels: np.ndarray, n_threads: int | None = None) -> float | None:
        """Return the metric of a model on some rows; None if it is not defined for them.

        Parameters
        ----------
        model, X, n_threads : as for `predict_with_scores`
        labels : ndarray of shape (n_samples,), the labels, or targets
        """
        if not self.needs_decisions:
            return self.score_predictions(model.predict(X, n_threads=n_threads), labels)
        predicted, decision = predict_with_scores(model, X, n_threads)
        return self.score_predictions(predicted, labels, self.by_class(model, decision))

    def score_counts(self, scores: Any) -> float | None:
        """Return the metric if it follows from scores that have been counted already; None otherwise."""
        return getattr(scores, self.name) if self.name in COUNTED else None

    def score_predictions(
        self, predicted: np.ndarray, labels: np.ndarray, decision: np.ndarray | None = None
    ) -> float | None:
        """Return the metric of some predictions; None if it is not defined for them.

        Parameters
        ----------
        predicted, labels : ndarray of shape (n_samples,), possibly of different types
        decision : ndarray, the decisions behind them, as for `value`
        """
        found = self.value(self.codes(labels), self.codes(predicted), decision)
        return None if math.isnan(found) else found

    def score_probabilities(self, scores: ProbabilityScores | None) -> float | None:
        """Return the metric of predicted probabilities, if it is one; None without rows."""
        if scores is None:
            return None
        return -(scores.log_loss if self.name == OF_PROBABILITIES[0] else scores.brier_score)

    def by_class(self, model: Any, decision: np.ndarray) -> np.ndarray:
        """Return decisions of `predict_with_scores` in the form of `value`; the model may have fewer classes."""
        if len(self.classes) == 2:
            return decision
        votes = decision if decision.ndim == 2 else np.stack([-decision, decision], axis=1)
        found = np.full((len(votes), len(self.classes)), votes.min() - 1.0)
        found[:, self.codes(model.classes)] = votes
        return found


def title(name: str) -> str:
    """Return the name of a metric in words."""
    return name.upper() if name == R2 else name.replace("_", " ")


def is_share(name: str) -> bool:
    """Return whether a metric is a number from 0 to 1, which is shown in per cent."""
    return not name.startswith(_UNBOUNDED)


def format_value(name: str, value: float, digits: int = 2) -> str:
    """Return the value of a metric in words, with `digits` digits of a percentage."""
    return f"{value:.{digits}%}" if is_share(name) else f"{value:.{digits + 2}f}"


def _wrong_number(name: str, n_classes: int, failure: Exception) -> str:
    from sklearn.metrics import get_scorer_names

    if n_classes == 2:
        return f"metric {name} is not one of two classes: {one_line(failure)}"
    known = [f"{name}_{kind}" for kind in ("macro", "weighted")]
    known = [other for other in known if other in get_scorer_names()] or ["balanced_accuracy", "f1_macro"]
    return f"metric {name} is one of two classes, and there are {n_classes}: give {' or '.join(known)}"


class Probe(NamedTuple):
    """The behaviour of a scorer on a few made-up predictions."""

    failure: Exception | None = None  # why it cannot be used
    needs_decisions: bool = False  # whether predicted labels are not sufficient
    takes_sides: bool = False  # whether it changes when two classes are swapped


@lru_cache
def _probe(name: str, n_classes: int) -> Probe:
    """Return the behaviour of a scorer on made-up predictions of so many classes, 2 or 3."""
    truth = np.repeat(np.arange(n_classes), (4, 3, 2)[:n_classes])
    predicted = np.roll(truth, 1)
    decision = np.eye(n_classes)[predicted] + np.linspace(0.0, 0.3, len(truth))[:, None] * np.arange(n_classes)
    if n_classes == 2:
        decision = decision[:, 1] - decision[:, 0]
    try:
        value = _scorer_value(name, truth, predicted, decision, n_classes)
    except Exception as error:
        return Probe(error)
    try:
        _scorer_value(name, truth, predicted, None, n_classes)
        needs = False
    except AttributeError:
        needs = True
    if n_classes > 2:
        return Probe(None, needs)
    return Probe(None, needs, not math.isclose(value, _scorer_value(name, 1 - truth, 1 - predicted, -decision, 2)))


def _scorer_value(
    name: str, truth: np.ndarray, predicted: np.ndarray, decision: np.ndarray | None, n_classes: int
) -> float:
    """Return the value of a scorer of scikit-learn; truth and predictions are codes, decisions as in `Metric.value`."""
    from sklearn.metrics import get_scorer

    answers = _answers()(predicted, decision, np.arange(n_classes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the value shows that it is undefined
        return float(get_scorer(name)(answers, np.empty((len(truth), 0)), truth))


@lru_cache(maxsize=1)
def _answers() -> Callable[..., Any]:
    """Return the class of classifiers with fixed answers; a scorer of scikit-learn calls a classifier."""
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.metaestimators import available_if

    class Answers(ClassifierMixin, BaseEstimator):
        def __init__(self, predicted, decision, classes):
            self.predicted, self.decision, self.classes = predicted, decision, classes
            self.classes_ = classes

        def predict(self, X):
            return self.predicted

        @available_if(lambda self: self.decision is not None)
        def decision_function(self, X):
            return self.decision

    return Answers


def predict_with_scores(model: Any, X: Any, n_threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Predict labels with the decisions behind them, (n_samples,) for two classes, else (n_samples, n_classes): larger
    values favour `classes[1]`, or the class of the column (`SVMModel.scores`).
    """
    if len(model.classes) == 2:
        decision = model.decision_function(X, n_threads=n_threads)
        return model.labels(decision), decision
    step = max(1, VALUES // len(model.intercept))
    labels, votes = [], []
    for lo in range(0, X.shape[0], step):
        decision = model.decision_function(X[lo : lo + step], n_threads=n_threads)
        votes.append(model.scores(decision))
        labels.append(model.classes[votes[-1].argmax(axis=1)] if model.calibration is None else model.labels(decision))
    return np.concatenate(labels), np.concatenate(votes)
