"""The rule by which a version takes an alias from another: a comparable test metric that is not lower."""

from __future__ import annotations

from typing import Any

from svmkit.scoring.metric import MAE, R2, RMSE, format_value, title

_ERRORS = {RMSE: "test_rmse", MAE: "test_mae"}  # greater is better: a metric is minus the error


def metric_of(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """Return the metric for comparing two versions: the candidate's own if both were measured by it; else the one that
    every tested version has, accuracy, or R2 for a candidate that regresses.
    """
    own = ours.get("metric")
    if own and None not in (value_of(ours, own), value_of(theirs, own)):
        return own
    return "accuracy" if ours.get("test_rmse") is None else R2


def value_of(lineage: dict[str, Any], metric: str) -> float | None:
    """Return the metric of a version on its test set; None if it is unknown."""
    if metric in ("accuracy", "balanced_accuracy", R2):
        return lineage.get(f"test_{metric}")
    if metric in _ERRORS:
        error = lineage.get(_ERRORS[metric])
        return None if error is None else -error
    return lineage.get("test_metric") if lineage.get("metric") == metric else None


def objection(ours: dict[str, Any], theirs: dict[str, Any], we: str, they: str, metric: str = "accuracy") -> str | None:
    """Return why a candidate must not replace the version that has the alias; None if it may.

    Parameters
    ----------
    ours, theirs : dict of str to object, the lineage of the candidate and of that version
    we, they : str, the names of the two in the message
    metric : str, the metric of the comparison
    """
    mine, other = value_of(ours, metric), value_of(theirs, metric)
    name = f"test {title(metric)}"
    if mine is None or other is None:
        unknown = " and ".join(which for which, its in ((we, mine), (they, other)) if its is None)
        how = "" if metric in ("accuracy", "balanced_accuracy", R2, *_ERRORS) else f"--metric {metric} and "
        return f"the {name} of {unknown} is not known (train with {how}--test or --test-size)"
    differs = _difference(ours, theirs)
    if differs:
        values = f"its {name} {format_value(metric, mine)} and the {format_value(metric, other)} of {they}"
        return f"{values} are of different test sets: {differs}"
    sides = ours.get("positive"), theirs.get("positive")
    if metric == ours.get("metric") == theirs.get("metric") and sides[0] != sides[1]:
        return f"its {name} is of class {sides[0]} and that of {they} is of class {sides[1]}"
    if mine < other:
        digits = 2 if format_value(metric, mine) != format_value(metric, other) else 6
        below, above = (format_value(metric, value, digits) for value in (mine, other))
        return f"its {name} {below} is below the {above} of {they}"
    return None


def _difference(ours: dict[str, Any], theirs: dict[str, Any]) -> str | None:
    """The difference of the two test sets: of their contents when both are known, else of names and rows."""
    mine, other = ours.get("test_sha256"), theirs.get("test_sha256")
    if mine and other and mine == other:
        return None
    names = ours.get("test_data"), theirs.get("test_data")
    rows = ours.get("n_test"), theirs.get("n_test")
    sets = [
        f"{name or 'unnamed'} ({n if n is not None else 'unknown'} rows)" for name, n in zip(names, rows, strict=True)
    ]
    if names[0] != names[1] or rows[0] != rows[1]:
        return " and ".join(sets)
    if mine and other:
        return f"{sets[0]} of other contents (SHA-256 {mine[:12]} and {other[:12]})"
    return None if names[0] and rows[0] else "which ones is not known"
