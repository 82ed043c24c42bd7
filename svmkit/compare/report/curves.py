"""The lines of a comparison: what a run found as it went, how it ended, and how its solver is drawn everywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from svmkit.compare.results import NO_MODEL, Results

# Okabe and Ito's colours without yellow and black, which one of a light and a dark page would swallow
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
DASHES = ("solid", "dash", "dot", "dashdot")  # 7 and 4 have no common factor: 28 solvers look different
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x")
COLUMNS = ("seconds", "n_iter", "n_support", "gap", "accuracy")


@dataclass(frozen=True)
class Style:
    """How a treatment is drawn: its colour, and plotly's names for its dash and its marker."""

    colour: str
    dash: str
    symbol: str


@dataclass(frozen=True)
class Curve:
    """One run: `columns` of equal length (None where unknown) as it went, and the same at its `end`.

    The gap of the columns is the solver's own estimate, that of the end is the certificate. Columns are empty for more
    than two classes, whose many problems follow each other, and for software that does not tell.
    """

    set: str
    treatment: str
    seed: int
    status: str
    end: dict[str, float | None]
    columns: dict[str, list[float | None]] = field(default_factory=dict)


def style(index: int) -> Style:
    """Of the treatment with this index."""
    return Style(COLOURS[index % 7], DASHES[index % 4], SYMBOLS[index % 5])


def curves(results: Results) -> list[Curve]:
    """Of all runs that have a model, in the order of the records."""
    return [_curve(record) for record in results.records if record["status"] not in NO_MODEL]


def floor(values: Sequence[float | None]) -> float | None:
    """Where a logarithmic axis draws values of zero and below: at a third of the least positive; None when none is."""
    positive = [value for value in values if value is not None and value > 0]
    return min(positive) / 3.0 if positive and any(v is not None and v <= 0 for v in values) else None


def _curve(record: dict[str, Any]) -> Curve:
    history = record.get("history") or {}
    size = min((len(history.get(name, ())) for name in COLUMNS), default=0)
    binary = len(record.get("classes") or ()) <= 2
    columns = {name: [finite(v) for v in history[name][:size]] for name in COLUMNS} if size and binary else {}
    end = {
        "seconds": finite(record.get("fit_s")),
        "n_iter": finite(record.get("n_iter")),
        "n_support": finite(record.get("n_support")),
        "gap": finite(record.get("gap")),
        "accuracy": finite(record.get("test_accuracy")),
    }
    treatment = f"{record['label']} {record['stop']}" if record.get("stop") else record["label"]
    return Curve(record["set"], treatment, record["seed"], record["status"], end, columns)


def finite(value: Any) -> Any:
    """A plain number, None for one that is missing or not finite."""
    return value if value is not None and math.isfinite(value) else None
