"""Test accuracy or R2, and another metric, as the model grew: the points of a history at which it was measured."""

from __future__ import annotations

from typing import Any

from svmkit.scoring.metric import format_value, title
from svmkit.training.result import Fit

LINES = 8
KEPT = ("n_iter", "seconds", "n_support", "objective", "accuracy")


def points(fitted: Fit) -> list[dict[str, Any]] | None:
    """Return the measured points of a binary problem; None for more than two classes or without measurements."""
    if len(fitted.solutions) != 1:
        return None
    measured = [p for p in fitted.solutions[0].history if p.is_measured]
    rows = [{key: getattr(p, key) for key in KEPT} for p in measured]
    for point, p in zip(rows, measured, strict=True):
        point |= {} if p.score is None else {"score": p.score}
    return rows or None


def lines(curve: list[dict[str, Any]], metric: str = "accuracy") -> list[str]:
    """Format the measurements at about 1, 2, 5, 10, 20, ... support vectors and at the end, in at most `LINES` lines.

    A metric other than accuracy stands before it; of quantities it stands alone.
    """
    last = curve[-1]
    sizes = [digit * 10**power for power in range(10) for digit in (1, 2, 5)]
    near = [min(curve, key=lambda p: abs(p["n_support"] - size)) for size in sizes if size < last["n_support"]]
    shown = list({p["n_support"]: p for p in near if p["n_support"] < last["n_support"]}.values())
    if len(shown) > LINES - 1:  # spread evenly, the smallest and the largest among them
        shown = [shown[round(k * (len(shown) - 1) / (LINES - 2))] for k in range(LINES - 1)]
    width = len(f"{last['n_support']:,}")

    def describe(p: dict[str, Any]) -> str:
        if p.get("score") is None:
            return f"{p['accuracy']:.2%} test"
        if p["accuracy"] is None:
            return f"{format_value(metric, p['score'])} test {title(metric)}"
        return f"{format_value(metric, p['score'])} test {title(metric)}, {p['accuracy']:.2%} accuracy"

    return [f"{p['n_support']:>{width},} vectors  {describe(p)}" for p in [*shown, last]]
