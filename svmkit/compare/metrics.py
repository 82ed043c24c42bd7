"""The metrics of a comparison: one row each, in the order of the tables."""

from __future__ import annotations

import math
from typing import NamedTuple


class Metric(NamedTuple):
    """How a metric is shown."""

    title: str
    mean: str = ",.0f"  # format of a mean
    spread: str = ""  # format of a standard deviation; "" if none is shown
    digits: int = 0  # values are equal as shown if this number of significant digits is,
    decimals: int = 0  # or if `digits` is 0 this number of decimals
    higher: bool = False  # whether larger values are better


BY_NAME = {
    "fit_s": Metric("time", ".3g", ".2g"),
    "gap": Metric("gap", ".1e", digits=2),
    "suboptimality": Metric("suboptimality", ".1e", digits=2),
    "objective": Metric("objective", ".7g", digits=7),
    "n_iter": Metric("iterations"),
    "kernel_values": Metric("kernel values"),
    "n_support": Metric("support", spread=",.0f"),
    "test_accuracy": Metric("accuracy", ".2%", ".2%", decimals=4, higher=True),
    "test_r2": Metric("R2", ".4f", ".4f", decimals=4, higher=True),
    "test_rmse": Metric("RMSE", ".5g", ".2g", digits=5),
    "test_mae": Metric("MAE", ".5g", ".2g", digits=5),
    "test_log_loss": Metric("log loss", ".4f", ".4f", decimals=4),
    "test_brier_score": Metric("Brier score", ".4f", ".4f", decimals=4),
    "test_metric": Metric("metric", ".4f", ".4f", decimals=4, higher=True),
    "test_coverage": Metric("coverage", ".2%", ".2%", decimals=4),  # of the outermost two of several levels
    "train_outliers": Metric("outliers", ".2%", ".2%", decimals=4),
    "test_outliers": Metric("test outliers", ".2%", ".2%", decimals=4),
}
METRICS = tuple(BY_NAME)
TITLES = {name: metric.title for name, metric in BY_NAME.items()}
HIGHER = tuple(name for name, metric in BY_NAME.items() if metric.higher)  # all others are better when smaller
SCORES = ("test_log_loss", "test_brier_score")
"""The metrics of probabilities."""
BASE = tuple(name.replace("test_", "test_base_") for name in SCORES)
"""Those of the base rate: the shares of the classes among the test rows as the probabilities of each row."""
TESTED = ("test_accuracy", "test_r2", "test_rmse", "test_mae", *SCORES, "test_metric")
"""The metrics of predictions against labels of test rows, whose spread is over the splits."""


def as_shown(metric: str, value: float) -> float:
    """Return a value as the tables show it: values that look equal are ties."""
    how = BY_NAME[metric]
    if how.digits:
        return float(f"{value:.{how.digits}g}")
    return round(value, decimals(value) if metric == "fit_s" else how.decimals)


def decimals(seconds: float) -> int:
    """Return the number of decimals for three significant digits of a time, four at most."""
    return max(0, min(4, 2 - math.floor(math.log10(seconds)))) if seconds > 0 else 4
