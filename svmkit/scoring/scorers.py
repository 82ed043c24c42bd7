"""The scorers of scikit-learn, asked about given predictions, and what each of them needs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Probe:
    """What a scorer does with a few made-up predictions.

    Attributes
    ----------
    failure : Exception or None
        Why it cannot be taken.
    needs_decisions : bool
        Whether predicted labels do not suffice.
    takes_sides : bool
        Whether it changes when two classes change places.
    """

    failure: Exception | None = None
    needs_decisions: bool = False
    takes_sides: bool = False


@lru_cache
def probe(name: str, n_classes: int) -> Probe:
    """Return what the scorer of this name does with made-up predictions of so many classes, 2 or 3."""
    truth = np.repeat(np.arange(n_classes), (4, 3, 2)[:n_classes])
    predicted = np.roll(truth, 1)
    decision = np.eye(n_classes)[predicted] + np.linspace(0.0, 0.3, len(truth))[:, None] * np.arange(n_classes)
    if n_classes == 2:
        decision = decision[:, 1] - decision[:, 0]
    try:
        value = scorer_value(name, truth, predicted, decision, n_classes)
    except Exception as error:
        return Probe(error)
    try:
        scorer_value(name, truth, predicted, None, n_classes)
        needs = False
    except AttributeError:
        needs = True
    if n_classes > 2:
        return Probe(None, needs)
    return Probe(None, needs, not math.isclose(value, scorer_value(name, 1 - truth, 1 - predicted, -decision, 2)))


def scorer_value(
    name: str, truth: np.ndarray, predicted: np.ndarray, decision: np.ndarray | None, n_classes: int
) -> float:
    """Return the value of a scorer of scikit-learn.

    Parameters
    ----------
    name : str
        The name of the scorer.
    truth, predicted : ndarray of shape (n_samples,), int
        The classes, 0 to n_classes - 1, and their predictions.
    decision : ndarray or None
        The decisions, as `Metric.value` takes them.
    n_classes : int
        The number of classes.
    """
    from sklearn.metrics import get_scorer

    answers = _answers()(predicted, decision, np.arange(n_classes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an undefined value is told by the value
        return float(get_scorer(name)(answers, np.empty((len(truth), 0)), truth))


@lru_cache(maxsize=1)
def _answers() -> Callable[..., Any]:
    """Return the class of classifiers that know their answers; a scorer of scikit-learn asks a classifier."""
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
