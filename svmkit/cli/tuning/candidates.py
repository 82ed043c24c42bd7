"""The candidates of a search as lines for a reader, as rows of JSON and as scalars for the tracker."""

from __future__ import annotations

import math
from typing import Any

from svmkit import tune
from svmkit.scoring.metric import Metric

SCORES = ("mean_accuracy", "std_accuracy", "mean_score", "std_score")


def table(result: tune.Result, most: int) -> list[str]:
    """Return the best candidates as lines of aligned columns, best first."""
    names = list(result.best.params)
    halved = len({c.n_rows for c in result.candidates}) > 1
    metric = result.metric
    other = [] if metric.name == "accuracy" or math.isnan(result.best.mean_accuracy) else ["accuracy"]
    head = ["", *names, metric.title, *other, *(["rows"] if halved else []), "support", "fit"]
    lines = [head]
    for k, c in enumerate(c for c in result.candidates[:most] if not c.failed):
        spread = f"{100 * c.std_score:.2f}" if metric.is_share else f"{c.std_score:.4f}"
        score = [f"{metric.format(c.mean_score)} ± {spread}", *(f"{c.mean_accuracy:.2%}" for _ in other)]
        rest = [*([f"{c.n_rows:,}"] if halved else []), f"{c.n_support:,.0f}", f"{c.fit_s:.2f} s"]
        lines.append([str(k + 1), *(text(c.params[name]) for name in names), *score, *rest])
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def row(c: tune.Candidate, search: str) -> dict[str, Any]:
    number = {key: None if c.failed else getattr(c, key) for key in SCORES}
    row: dict[str, Any] = {"params": c.params, **number}
    if search == "halving":
        row["n_resources"] = c.n_rows
    return row | {"fit_s": None if c.failed else c.fit_s} | ({"reason": c.reason} if c.reason else {})


def numbers(c: tune.Candidate, metric: Metric) -> dict[str, float]:
    """Return the numbers that are logged for a candidate, by the names of `tracking.METRICS`, or the full names."""
    values = {key: getattr(c, key) for key in ("mean_accuracy", "std_accuracy", "fit_s", "n_support", "n_rows")}
    if metric.name != "accuracy":
        values |= {f"cv/mean_{metric.name}": c.mean_score, f"cv/std_{metric.name}": c.std_score}
    return values


def text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def progress_line(at: tune.Progress, metric: Metric) -> str:
    """Return the progress of the search in words."""
    if at.fits == 0:
        return "searching (the first run compiles)"
    best = "" if math.isnan(at.best) else f"  best so far {metric.format(at.best)}"
    if at.of is None:
        return f"{at.fits:,} fits{best}"
    left = at.seconds / at.fits * (at.of - at.fits)
    return f"{at.fits:,} of {at.of:,} fits{best}  about {left:,.0f} s left"
