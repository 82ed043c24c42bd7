"""The names and formats of measures in all reports."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

WORST = 6  # labels whose F1 is shown


def largest(scores: dict[str, Any]) -> str:
    """Return how good the prediction of the largest class alone would be, in words."""
    return f"largest class {scores['majority_share']:.2%}"


def base_rate(scores: dict[str, Any], name: str) -> str:
    """Return the score of probabilities that are the shares of the classes, the same for each row, in words."""
    return f"base rate {scores[f'base_{name}']:.4f}"


def format_measure(shown: str, value: float | None) -> str:
    """Return a measure in digits, or a note that it is not defined."""
    return "not defined" if value is None or math.isnan(value) else shown.format(value)


def mean_of_targets(scores: dict[str, Any]) -> str:
    """Return how large the error of predicting the mean of the targets would be, in words."""
    return f"predicting the mean of the targets: {scores['mean_rmse']:.6g}"


def label_rows(scores: Mapping[str, Any], part: str = "") -> list[tuple[str, str]]:
    """Return rows about several labels: the share of rows and of labels that are right, and F1 of the labels.

    Parameters
    ----------
    scores : mapping, what `LabelScores.summary` returns, and the accuracy
    part : str, "train", "test" or ""
    """
    f1 = sorted((of["f1"] or 0.0, of["label"], of["rows"]) for of in scores["labels"])
    shown = [f"{label} {value:.4f} ({rows:,} rows)" for value, label, rows in f1]
    worst = ", ".join(shown if len(shown) <= WORST else shown[:WORST])
    micro = format_measure("{:.4f}", scores["f1_micro"])
    title = "labels" if len(shown) <= WORST else f"worst of {len(shown)} labels"
    return [
        (
            "accuracy",
            f"{scores['accuracy']:.2%} of the rows all right, {scores['right']:.2%} of the labels {part}".rstrip(),
        ),
        ("F1", f"{micro} over all; {title}: {worst}"),
    ]


def level_rows(parts: Mapping[str, Any], sorts: bool) -> list[tuple[str, str]]:
    """Return rows about the levels of a model: the loss and the coverage of each, and how often they cross.

    Parameters
    ----------
    parts : mapping of str to dict, of "train", "test" or "" to what `LevelScores.summary` returns
    sorts : bool, whether the model sorts its predictions
    """

    def label(name: str, text: str) -> str:
        return f"{text} {name}".rstrip()

    first = next(iter(parts.values()))
    said = [("mean loss", ", ".join(label(name, f"{scores['mean_loss']:.6g}") for name, scores in parts.items()))]
    for k, level in enumerate(first["levels"]):
        each = (label(name, f"{scores['levels'][k]['loss']:.6g}") for name, scores in parts.items())
        below = (label(name, f"{scores['levels'][k]['coverage']:.2%}") for name, scores in parts.items())
        said.append((f"tau={level['tau']:g}", f"loss {', '.join(each)}; {', '.join(below)} of the targets are below"))
    for k, interval in enumerate(first["intervals"]):
        shares = ", ".join(label(name, f"{scores['intervals'][k]['coverage']:.2%}") for name, scores in parts.items())
        ends = f"{interval['lower']:g} and {interval['upper']:g}"
        said.append(("" if k else "coverage", f"{shares} between {ends} ({100.0 * interval['nominal']:.6g}% expected)"))
    crossed = ", ".join(label(name, f"{scores['crossings']:,} rows") for name, scores in parts.items())
    return [*said, ("crossings", f"{crossed}, sorted in predictions" if sorts else crossed)]


def describe_pairs(scores: dict[str, Any]) -> str:
    """Return how many pairs are compared in how many groups, in words."""
    return f"{scores['pairs']:,} pairs in {scores['groups']:,} group" + ("" if scores["groups"] == 1 else "s")
