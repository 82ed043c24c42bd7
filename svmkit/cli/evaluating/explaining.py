"""The work of svmkit explain: contributions of columns, decisive vectors, nearest changes, and their presentation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from svmkit.cli.common import emit, load_for, load_model, note, rows
from svmkit.cli.options import Options
from svmkit.errors import InputError, SvmkitError
from svmkit.runtime.terminal import align, say

if TYPE_CHECKING:
    from svmkit.data import Dataset
    from svmkit.explain import Change, Explanation

FEW = 5  # rows up to which each is shown individually


def perform(options: Any) -> None:
    """Explain, and print or draw the result."""
    from svmkit.explain import permutation_importance

    if options.plot:
        from svmkit.cli.evaluating.report import require_drawable

        require_drawable(options.plot)
    if (options.fix or options.to or options.few) and not options.flip:
        raise InputError("--fix, --few and --to are about the change that --flip finds: give --flip, too")
    model = load_model(options.model, options.tracking_uri)
    data = load_for(model, options, labelled=options.shuffle is not None)
    background = data
    if options.background is not None:
        background = load_for(model, Options(**vars(options) | {"data": options.background}), labelled=False)
    model = model.widened(max(data.n_features, background.n_features))
    numbers = parse_rows(options.rows, data.n_samples if data.kept is None else len(data.kept))
    places, numbers = _places_of(numbers, data, options.rows)
    given: dict[str, Any] = {"seed": options.seed, "n_threads": options.threads}
    explanation = model.explain(
        data.X[places],
        background.X,
        n_background=options.backgrounds,
        nodes=options.nodes,
        rounds=options.rounds,
        **given,
    )
    at = None if options.of is None else explanation.number(options.of)
    result = describe(explanation, numbers, data, background, options, at)
    if options.shuffle is not None:
        found = permutation_importance(model, data.X, data.y, n_repeats=options.shuffle, **given)
        losses = {"mean": found.mean, "standard_error": found.error}
        by_column = {key: dict(zip(found.names, map(float, values), strict=True)) for key, values in losses.items()}
        result |= {"permutation": {"score": found.score, "repeats": options.shuffle, **by_column}}
    failure = draw(explanation, at, options.plot) if options.plot else None
    result["plot"] = None if failure else options.plot
    if options.json:
        emit(result)
    else:
        show(explanation, result, options, at)
    if failure:
        raise failure


def parse_rows(text: str | None, n: int) -> np.ndarray:
    """Return the rows, counted from 0, of a text such as "2,7-9", counted from 1, among n; None gives the first few."""
    if text in (None, "all"):
        return np.arange(n if text else min(n, FEW))
    numbers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part, re.ASCII)
        if match is None:
            raise InputError(f"--rows {text!r} is not known: give rows counted from 1, as 3, 1-5 or 2,7-9, or all")
        first, last = int(match[1]), int(match[2] or match[1])
        if not 1 <= first <= last <= n:
            raise InputError(f"--rows {part.strip()}: the data have the rows 1 to {n:,}")
        numbers += range(first - 1, last)
    return np.array(numbers)


def _places_of(numbers: np.ndarray, data: Dataset, text: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of file rows, counted from 0, among the rows that could be read, and these row numbers."""
    if data.kept is None:
        return numbers, numbers
    if text is None:  # the first few available ones
        numbers = np.flatnonzero(data.kept)[:FEW]
    known = numbers[data.kept[numbers]]
    if not len(known):
        raise InputError(f"--rows {text}: every one of these rows was skipped: correct their cells, or give other rows")
    if text not in (None, "all") and len(known) < len(numbers):
        skipped = ", ".join(str(number + 1) for number in numbers[~data.kept[numbers]][:FEW])
        note(f"{len(numbers) - len(known):,} of the rows of --rows were skipped: {skipped}")
    return np.cumsum(data.kept)[known] - 1, known


def describe(
    explanation: Explanation, numbers: np.ndarray, data: Dataset, background: Dataset, options: Any, at: int | None
) -> dict[str, Any]:
    """Return the result as plain values: the keys of `svmkit explain --json`.

    Parameters
    ----------
    explanation : Explanation
    numbers : ndarray of int, the rows of the data, counted from 0
    data, background : Dataset
    options : Options
    at : int or None, the requested decision
    """
    n_sizes = explanation.importance().reshape(len(explanation.names), -1)
    importance = {
        name: dict(zip(explanation.names, map(float, sizes), strict=True))
        for name, sizes in zip(explanation.functions, n_sizes.T, strict=True)
    }
    return {
        "model": options.model,
        "data": data.name,
        "n": len(numbers),
        "background": background.name,
        "n_background": explanation.background.shape[0],
        "columns": list(explanation.names),
        "functions": list(explanation.functions),
        "base": _by_function(explanation, explanation.base),
        "error": explanation.error,
        "nodes": explanation.nodes,
        "residual": explanation.residual,
        "importance": importance,
        "rows": [_describe_row(explanation, r, int(number) + 1, options, at) for r, number in enumerate(numbers)],
    }


def _describe_row(explanation: Explanation, r: int, number: int, options: Any, at: int | None) -> dict[str, Any]:
    """Return the facts about a row as plain values."""
    from svmkit.explain.subject import has_vectors

    cells = explanation.players.cells(explanation.row(r))[0]
    values = explanation.by_function[r]
    about = {
        "row": number,
        "predicted": _plain(explanation.predicted[r]),
        "decision": _by_function(explanation, explanation.decision[r]),
        "cells": dict(zip(explanation.names, map(_plain, cells), strict=True)),
        "contributions": {
            name: dict(zip(explanation.names, map(float, column), strict=True))
            for name, column in zip(explanation.functions, values.T, strict=True)
        },
    }
    if explanation.standard_error is not None:
        errors = explanation.standard_error[r].reshape(len(explanation.names), -1)
        about["standard_errors"] = {
            name: dict(zip(explanation.names, map(float, column), strict=True))
            for name, column in zip(explanation.functions, errors.T, strict=True)
        }
    if explanation.probability is not None and explanation.slope is not None:
        about |= {"probability": float(explanation.probability[r]), "slope": float(explanation.slope[r])}
    if options.vectors and has_vectors(explanation.model):
        found = explanation.vectors(r, most=options.vectors, function=at)
        about["vectors"] = [
            vector._asdict() | {"cells": dict(zip(explanation.names, map(_plain, vector.cells), strict=True))}
            for vector in found
        ]
    if options.flip:
        fixed = [name for part in options.fix for name in part.split(",")]
        about["change"] = _describe_change(explanation.change(r, fix=fixed, to=options.to, few=options.few))
    return about


def _describe_change(change: Change | None) -> dict[str, Any] | None:
    if change is None:
        return None
    return {
        "before": _plain(change.before),
        "after": _plain(change.after),
        "distance": change.distance,
        "bound": change.bound,
        "cells": {name: [_plain(old), _plain(new)] for name, (old, new) in change.cells.items()},
    }


def _by_function(explanation: Explanation, values: np.ndarray) -> dict[str, float]:
    return dict(zip(explanation.functions, map(float, values), strict=True))


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def show(explanation: Explanation, result: dict[str, Any], options: Any, at: int | None) -> None:
    """Print the result: what was explained, the columns that matter, and individual rows if there are few.

    Parameters
    ----------
    explanation : Explanation
    result : dict, the result of `describe`
    options : Options
    at : int or None, the requested decision
    """
    exact = f"exact, {explanation.nodes} nodes" if explanation.nodes else "exact"
    if explanation.standard_error is not None:
        exact = f"sampled, with standard errors of at most {explanation.error:.2g} (--rounds)"
    elif explanation.error:
        exact = f"{explanation.nodes} nodes, which leave an error of {explanation.error:.1e} at most"
    one = " (a single row: values say how a row differs from it)" if result["n_background"] == 1 else ""
    rows(
        [
            ("data", f"{result['data']}: {result['n']:,} rows explained"),
            ("background", f"{result['background']}: {result['n_background']:,} rows{one}"),
            ("values", f"{exact}; sums are off by {explanation.residual:.1e}"),
            ("picture", result["plot"]),
        ]
    )
    if result["n"] <= FEW:
        for r, row in enumerate(result["rows"]):
            say("", *_row_lines(explanation, r, row, options, at))
    if result["n"] > 1:
        say("", *_importance_lines(explanation, result, options.top, at))
    if options.flip and result["n"] > FEW:
        note(f"changes of more than {FEW} rows are in --json alone")


def _row_lines(explanation: Explanation, r: int, row: dict[str, Any], options: Any, at: int | None) -> list[str]:
    """Return a row in words: its decision, the largest contributions, the vectors and the change."""
    own = explanation.function_of(r) if at is None else at
    name = explanation.functions[own]
    predicted = row["predicted"]
    said = f"{predicted:.6g}" if isinstance(predicted, float) else str(predicted)
    title = f"row {row['row']}: {said}"
    if name != "prediction":
        title += f"; decision for {name} {row['decision'][name]:.4g}, in the mean {explanation.base[own]:.4g}"
    else:
        title += f", in the mean {explanation.base[own]:.6g}"
    lines = [title]
    if "slope" in row:
        lines.append(
            f"probability of {name} {row['probability']:.4g}, which a unit of the decision moves by {row['slope']:.3g}"
        )
    values = explanation.by_function[r, :, own]
    order = np.argsort(-np.abs(values), kind="stable")
    cells = [[explanation.names[j], cell_text(row["cells"][explanation.names[j]]), f"{values[j]:+.4g}"] for j in order]
    shown, left = cells[: options.top], order[options.top :]
    rest = [[f"{len(left):,} other columns", "", f"{values[left].sum():+.4g}"]] if len(left) else []
    lines += ["  " + line for line in align([["column", "value", "contribution"], *shown, *rest], left=[0, 1])]
    if row.get("vectors"):
        lines += ["  " + line for line in _vector_lines(explanation, order, row["vectors"])]
    if "change" in row:
        lines += ["  " + line for line in _change_lines(row["change"], options)]
    return lines


def _vector_lines(explanation: Explanation, order: np.ndarray, vectors: list[dict[str, Any]]) -> list[str]:
    """Return lines about the decisive support vectors, with the columns that matter most for the row."""
    names = [explanation.names[j] for j in order[:3]]
    lines = [["vectors that decided", "similarity", "term", *names]]
    for vector in vectors:
        label = vector["label"] or f"vector {vector['place'] + 1}"
        cells = [cell_text(vector["cells"][name]) for name in names]
        lines.append([label, f"{vector['similarity']:.3g}", f"{vector['term']:+.3g}", *cells])
    return align(lines, left=[0])


def _change_lines(change: dict[str, Any] | None, options: Any) -> list[str]:
    """Return lines of the nearest change."""
    top = options.top
    if change is None:
        label = "another label" if options.to is None else f"the label {options.to}"
        given = ", given the values that --fix keeps," if options.fix else ""
        return [f"no change was found: no row of the background and no support vector{given} has {label}"]
    proved = f"; none within {change['bound']:.3g}" if change["bound"] else ""
    lines = [f"{change['after']} instead, at a distance of {change['distance']:.3g}{proved}:"]
    cells = [[f"  {name}", cell_text(old), "->", cell_text(new, 12)] for name, (old, new) in change["cells"].items()]
    more = (
        [f"  and {len(cells) - top:,} other columns (--json has all, --few changes fewer)"] if len(cells) > top else []
    )
    return lines + align(cells[:top], left=[0]) + more


def _importance_lines(explanation: Explanation, result: dict[str, Any], top: int, at: int | None) -> list[str]:
    """Return lines about the columns that matter over all rows."""
    sizes = np.abs(explanation.by_function).mean(axis=0)
    means = sizes.mean(axis=1) if at is None else sizes[:, at]
    shuffled = result.get("permutation")
    of = f"decision for {explanation.functions[at]}" if at is not None and len(explanation.functions) > 1 else ""
    head = ["column", "mean |contribution|" + (f" to the {of}" if of else "")]
    lines = [head + (["loss if shuffled", "+-"] if shuffled else [])]
    for j in np.argsort(-means, kind="stable")[:top]:
        name = explanation.names[j]
        line = [name, f"{means[j]:.4g}"]
        if shuffled:
            error = shuffled["standard_error"][name]
            line += [f"{shuffled['mean'][name]:.4f}", "" if np.isnan(error) else f"{error:.4f}"]
        lines.append(line)
    left = len(means) - top
    return align(lines, left=[0]) + ([f"and {left:,} other columns"] if left > 0 else [])


def cell_text(value: Any, digits: int = 6) -> str:
    """Return a cell of a table as text."""
    if value is None:
        return "none"
    if isinstance(value, list | tuple):
        return "(" + ", ".join(cell_text(entry) for entry in value) + ")"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def draw(explanation: Explanation, at: int | None, path: str) -> SvmkitError | None:
    """Write the picture: the first row, or for several rows the columns that matter and the effect of the first of
    them; return the error if that fails, since the numbers are shown in any case.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from svmkit.plotting import plot_contributions, plot_dependence, plot_importance

    several = len(explanation.values) > 1
    figure = Figure(layout="constrained", figsize=(18.0 if several else 7.0, 4.6))
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 3 if several else 1, squeeze=False)[0]
    plot_contributions(explanation, 0, function=at, ax=axes[0])
    if several:
        plot_importance(explanation, function=at, ax=axes[1])
        first = explanation.function_of(0) if at is None else at
        sizes = np.abs(explanation.by_function[:, :, first]).mean(axis=0)
        plot_dependence(explanation, explanation.names[int(sizes.argmax())], function=first, ax=axes[2])
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        return SvmkitError(f"cannot write {path}: {error.strerror or error}; the numbers are whole without it")
    return None
