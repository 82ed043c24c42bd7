"""The calibration of a model, and what its probabilities are worth on the test rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmkit.data import Dataset
from svmkit.data.classes import answers
from svmkit.model.model import SVMModel
from svmkit.scoring.metric import Metric
from svmkit.scoring.probability_scores import ProbabilityScores
from svmkit.training.result import Fit

SCORES = ("test_log_loss", "test_brier_score")
UNKNOWN = dict.fromkeys(("calibration", *SCORES, "test_reliability"))
"""The keys of a record on probabilities, of a cell without them."""


def calibration_facts(fitted: Fit) -> dict[str, Any] | None:
    """Return the kind of the calibration, its number of folds and its seconds; None without one."""
    if fitted.model.calibration is None:
        return None
    return {**fitted.model.about["calibration"], "seconds": fitted.calibration_s}


def test_scores(model: SVMModel, test: Dataset, train: Dataset) -> dict[str, Any]:
    """Return the scores of probabilities on test rows, and how reliable they are; {} for a model without them.

    They are test_log_loss, test_brier_score, and test_reliability: "of" names the class whose probabilities are looked
    at, the positive one of the training rows as in `svmkit evaluate`, or it is "predicted label" for more than two
    classes; "bins" are as in `svmkit evaluate --json`.
    """
    assert test.y is not None
    if model.calibration is None:
        return {}
    quality = ProbabilityScores.from_predictions(model.predict_proba(test.X), model.classes, test.y)
    if quality is None:
        return {}
    of, reliability = "predicted label", quality.reliability_of_labels()
    if len(model.classes) == 2:
        positive = Metric.from_name("average_precision", model.classes, np.bincount(answers(train)[1])).positive
        code = list(map(str, model.classes)).index(str(positive))
        of, reliability = f"class {positive}", quality.reliability(code)
    scores = {f"test_{name}": value for name, value in quality.summary().items()}
    return {**scores, "test_reliability": {"of": of, "bins": reliability.plain()}}
