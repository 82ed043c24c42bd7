"""The reasons for the decisions of a model: columns that matter, and three rows explained."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from svmkit.cli.common import labels_of
from svmkit.data import Dataset
from svmkit.errors import InputError
from svmkit.explain.shapley import has_factors
from svmkit.scoring.evaluations.base import Evaluation
from svmkit.scoring.evaluations.classes import ClassEvaluation
from svmkit.scoring.evaluations.quantities import LevelEvaluation, QuantityEvaluation

ROWS, BACKGROUND = 200, 100  # explained rows, and background rows with which they are compared
SHUFFLED, REPEATS = 1000, 5
WORK = 1 << 31  # terms of an explanation, or of permutations, at most
LEAST = 20  # the fewest rows for which columns are described
TOP = 5  # columns shown for a row


def give_reasons(evaluated: Evaluation, model: Any, data: Dataset, seed: int, n_threads: int | None) -> dict[str, Any]:
    """Return the contributions of columns: `importance`, `examples`, and `missing`, the reason if there are none; for
    sampled values the largest `standard_error`.

    Parameters
    ----------
    evaluated, model, data : Evaluation, SVMModel, Dataset
        The evaluation, and the evaluated model and data.
    seed, n_threads : int, int or None
        The random seed, and the number of threads.
    """
    picked = pick_rows(evaluated)
    found: dict[str, Any] = {"importance": [], "examples": [], "missing": None, "n_explained": 0, "n_shuffled": 0}
    found["standard_error"] = None
    size = max(model.n_features, 1) * max(model.vectors.shape[0], 1)
    sampled = 1 if has_factors(model.kernel) else 4 * max(model.n_features, 1)  # walks in two orders, both ways
    n_rows = min(ROWS, data.n_samples, WORK // (size * sampled * BACKGROUND))
    if n_rows < min(LEAST, data.n_samples):
        return found | {"missing": "the columns and vectors are too many for a report: svmkit explain takes its time"}
    drawn = np.random.default_rng(seed).permutation(data.n_samples)[:n_rows]
    places = np.concatenate([np.array(list(picked.values()), dtype=np.int64), drawn])
    try:
        explanation = model.explain(data.X[places], data.X, n_background=BACKGROUND, seed=seed, n_threads=n_threads)
    except InputError as error:
        return found | {"missing": str(error)}
    sizes = np.abs(explanation.by_function[len(picked) :]).mean(axis=(0, 2))
    losses = _shuffle(model, data, size, seed, n_threads)
    for j in np.argsort(-sizes, kind="stable"):
        name = explanation.names[j]
        loss, deviation = losses["by_column"].get(name, (None, None))
        found["importance"].append({"column": name, "contribution": float(sizes[j]), "loss": loss, "error": deviation})
    numbers = np.arange(data.n_samples) if data.kept is None else np.flatnonzero(data.kept)  # rows of the file
    found["examples"] = [
        _describe(evaluated, explanation, k, kind, at) | {"row": int(numbers[at]) + 1}
        for k, (kind, at) in enumerate(picked.items())
    ]
    spread = None if explanation.standard_error is None else float(explanation.error)
    return found | {"n_explained": int(n_rows), "n_shuffled": losses["rows"], "standard_error": spread}


def _shuffle(model: Any, data: Dataset, size: int, seed: int, n_threads: int | None) -> dict[str, Any]:
    """Return the losses of shuffled columns with their standard errors, by name, and the rows; empty if impossible."""
    from svmkit.explain import permutation_importance

    n_rows = min(SHUFFLED, data.n_samples, WORK // (size * REPEATS))
    if n_rows < min(LEAST, data.n_samples):
        return {"by_column": {}, "rows": 0}
    some = np.sort(np.random.default_rng(seed).permutation(data.n_samples)[:n_rows])
    try:
        found = permutation_importance(
            model, data.X[some], labels_of(data)[some], n_repeats=REPEATS, seed=seed, n_threads=n_threads
        )
    except (InputError, TypeError):  # a ranker, whose truth is not given by row
        return {"by_column": {}, "rows": 0}
    pairs = zip(found.mean.tolist(), found.error.tolist(), strict=True)
    return {"by_column": dict(zip(found.names, pairs, strict=True)), "rows": int(n_rows)}


@singledispatch
def pick_rows(evaluated: Evaluation) -> dict[str, int]:
    """Return three rows by their kinds of example; empty for a kind of evaluation without such rows."""
    return {}


@pick_rows.register
def _pick_classes(evaluated: ClassEvaluation) -> dict[str, int]:
    """Return the right row of median margin, the wrong one of largest margin, and another one of smallest margin."""
    scores, likely = evaluated.decision.reshape(len(evaluated.truth), -1), evaluated.probabilities
    if likely is not None and len(likely.codes) == len(scores):  # then the labels have the highest probability
        scores = likely.probabilities
    if scores.shape[1] == 1:
        margin = np.abs(scores[:, 0])
    else:
        top = np.partition(scores, -2, axis=1)
        margin = top[:, -1] - top[:, -2]
    order = np.argsort(margin, kind="stable")
    is_right = (evaluated.truth == evaluated.predicted)[order]
    right, wrong = order[is_right], order[~is_right]
    picked = {}
    if len(right):
        picked["right"] = int(right[len(right) // 2])
    if len(wrong):
        picked["wrong"] = int(wrong[-1])
    close = [row for row in order[:3].tolist() if row not in picked.values()]
    return picked | ({"close to the boundary": close[0]} if close else {})


@pick_rows.register
def _pick_quantities(evaluated: QuantityEvaluation) -> dict[str, int]:
    """Return the rows of the smallest, the median and the largest error."""
    errors = np.abs(evaluated.errors).reshape(len(evaluated.targets), -1).max(axis=1)
    order = np.argsort(errors, kind="stable")
    places = {"smallest error": order[0], "usual error": order[len(order) // 2], "largest error": order[-1]}
    seen: list[int] = []
    return {kind: seen[-1] for kind, at in places.items() if at not in seen and not seen.append(int(at))}  # type: ignore[func-returns-value]


def _describe(evaluated: Any, explanation: Any, k: int, kind: str, row: int) -> dict[str, Any]:
    """Return an explained row as plain values."""
    at = explanation.function_of(k)
    if isinstance(evaluated, LevelEvaluation):
        at = evaluated.middle
    elif isinstance(evaluated, QuantityEvaluation) and evaluated.targets.ndim == 2:  # the output with the largest error
        at = int(np.abs(evaluated.errors[row]).argmax())
    values, cells = explanation.by_function[k, :, at], explanation.players.cells(explanation.row(k))[0]
    order = np.argsort(-np.abs(values), kind="stable")
    truth = evaluated.labels[evaluated.truth[row]] if isinstance(evaluated, ClassEvaluation) else evaluated.targets[row]
    plain = lambda value: value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    shown = [
        {"column": explanation.names[j], "value": plain(cells[j]), "contribution": float(values[j])}
        for j in order[:TOP]
    ]
    rest = order[TOP:]
    probability = None if explanation.probability is None else float(explanation.probability[k])
    return {
        "kind": kind,
        "truth": plain(truth),
        "predicted": plain(explanation.predicted[k]),
        "decision_for": explanation.functions[at],
        "decision": float(explanation.decision[k, at]),
        "base": float(explanation.base[at]),
        "probability": probability,
        "columns": shown,
        "n_others": len(rest),
        "others": float(values[rest].sum()),
    }
