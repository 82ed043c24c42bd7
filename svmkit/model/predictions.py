"""The labels of a model and its decisions by class, taken of a part of the rows at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmkit.model.model import SVMModel

VALUES = 1 << 22  # decisions of class pairs that are held at a time


def predict_with_scores(model: SVMModel, X: Any, n_threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Predict labels with the decisions behind them, (n_samples,) for two classes, else (n_samples, n_classes): the
    larger, the more they speak for `classes[1]`, or for the class of the column (`SVMModel.scores`).
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
