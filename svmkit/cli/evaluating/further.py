"""svmkit evaluate --metric: a metric besides the measures of every evaluation."""

from __future__ import annotations

from typing import Any

from svmkit.scoring.evaluations.base import Evaluation


def measure(evaluated: Evaluation, name: str | None) -> tuple[dict[str, Any] | None, list[tuple[str, str]]]:
    """Return the key `metric` of `svmkit evaluate --json` and the row of the report; nothing if no metric is named.

    Parameters
    ----------
    evaluated : Evaluation
        The predictions and the truth.
    name : str or None
        As for `Evaluation.by_metric`.

    Raises
    ------
    InputError
        If no metric has this name, or it measures other predictions than these.
    """
    if name is None:
        return None, []
    metric, value = evaluated.by_metric(name)
    words = "not defined" if value is None else metric.format(value)
    about = f" (class {metric.positive})" if metric.positive else ""
    return metric.about() | {"test": value}, [(metric.title, words + about)]
