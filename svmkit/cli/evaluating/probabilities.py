"""What the commands say of the probabilities of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svmkit.model.calibration import Calibration
from svmkit.scoring.probability_scores import ProbabilityScores
from svmkit.training.result import Fit

Parts = Mapping[str, ProbabilityScores | None]
"""The scores of probabilities on the train and the test rows, as far as there are any."""


def result(fitted: Fit, parts: Parts) -> dict[str, Any] | None:
    """Return the key "calibration" of `svmkit train --json`; None for a model without probabilities."""
    calibration: Calibration | None = fitted.model.calibration
    if calibration is None:
        return None
    summaries = {part: None if scores is None else scores.summary() for part, scores in parts.items()}
    told = {"train": None, "test": None} | summaries
    return {**fitted.model.about["calibration"], "seconds": fitted.calibration_s, **told}


def scalars(parts: Parts) -> dict[str, float]:
    """Return the scores by the full names of the tracker, such as test/log_loss."""
    known = {part: scores.summary() for part, scores in parts.items() if scores is not None}
    return {f"{part}/{name}": value for part, summary in known.items() for name, value in summary.items()}


def rows_of(calibration: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Return the rows for a reader of what `result` returned."""
    if calibration is None:
        return []
    parts = [(part, calibration[part]) for part in ("train", "test") if calibration[part] is not None]
    said = [("calibration", f"{calibration['kind']} of {calibration['folds']} folds, {calibration['seconds']:.2f} s")]
    for name, title in (("log_loss", "log loss"), ("brier_score", "Brier score")):
        if parts:
            said.append((title, ", ".join(f"{scores[name]:.4f} {part}" for part, scores in parts)))
    return said
