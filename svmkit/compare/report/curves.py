"""The curves of a comparison: the history of each run, its end, and the style in which its solver is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from svmkit.compare.results import NO_MODEL, Results
from svmkit.tasks import task_named

# Okabe and Ito's colours without yellow and black, which cannot be seen on a light or on a dark page
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
DASHES = ("solid", "dash", "dot", "dashdot")  # 7 and 4 have no common factor: 28 solvers look different
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x")
_LINESTYLES = {"solid": "-", "dash": (0, (5, 2)), "dot": (0, (1, 1.4)), "dashdot": (0, (5, 1.5, 1, 1.5))}
_MARKERS = {"circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "x": "X"}
COLUMNS = ("seconds", "n_iter", "n_support", "gap", "accuracy")


class Style(NamedTuple):
    """The style in which a treatment is drawn, with Plotly's names of the dash and of the marker."""

    colour: str
    dash: str
    symbol: str

    @property
    def look(self) -> dict[str, Any]:
        """The style as keywords of matplotlib."""
        return {"color": self.colour, "linestyle": _LINESTYLES[self.dash], "marker": _MARKERS[self.symbol]}


class Curve(NamedTuple):
    """The history of one run: its set and treatment, its seed and split in words, and how it ended.

    `end` has the `COLUMNS` at the end, where the gap is that of the certificate, `columns` has them as the run went on,
    with the solver's own estimate of the gap: none for more than two classes, whose many problems follow each other,
    and for software that does not report its progress. `measure` is what "accuracy" means, R2 of quantities.
    """

    set: str
    treatment: str
    run: str
    status: str
    end: dict[str, float | None]
    measure: str
    columns: dict[str, list[float | None]]

    @property
    def ends(self) -> dict[str, list[float | None]]:
        """The end as columns of length 1."""
        return {name: [value] for name, value in self.end.items()}


def style(index: int) -> Style:
    """Return the style of the treatment with this index."""
    return Style(COLOURS[index % 7], DASHES[index % 4], SYMBOLS[index % 5])


def curves(results: Results) -> list[Curve]:
    """Return the curves of all runs that have a model, in the order of the records."""
    return [_curve(record) for record in results.records if record["status"] not in NO_MODEL]


def floor(values: Sequence[float | None]) -> float | None:
    """Return the place of values <= 0 on a log axis, a third of the least positive value; None without such values."""
    positive = [value for value in values if value is not None and value > 0]
    return min(positive) / 3.0 if positive and any(v is not None and v <= 0 for v in values) else None


def _curve(record: dict[str, Any]) -> Curve:
    history, is_r2 = record.get("history") or {}, task_named(record.get("task")).has_targets
    if is_r2 and "score" in history:
        history = history | {"accuracy": history["score"]}
    size = min((len(history.get(name, ())) for name in COLUMNS), default=0)
    binary = len(record.get("classes") or ()) <= 2
    columns = {name: [finite(v) for v in history[name][:size]] for name in COLUMNS} if size and binary else {}
    ends = ("fit_s", "n_iter", "n_support", "gap", "test_r2" if is_r2 else "test_accuracy")
    end = {name: finite(record.get(key)) for name, key in zip(COLUMNS, ends, strict=True)}
    run = f"seed {record['seed']}" if record.get("split") is None else f"split {record['split']}, seed {record['seed']}"
    return Curve(record["set"], treatment(record), run, record["status"], end, "R2" if is_r2 else "accuracy", columns)


def treatment(record: dict[str, Any]) -> str:
    """Return the solver of a record, with its stop rule where there are several (`Row.treatment`)."""
    return f"{record['label']} {record['stop']}" if record.get("stop") else str(record["label"])


def finite(value: Any) -> Any:
    """Return the value; None if it is missing or not finite."""
    return value if value is not None and math.isfinite(value) else None
