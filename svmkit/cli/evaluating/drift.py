"""`--drift TRAIN` of evaluate and predict: how far rows are from the training rows of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from svmkit.cli.common import load_for
from svmkit.cli.options import Options
from svmkit.data.prepare.features import is_sparse
from svmkit.errors import InputError
from svmkit.explain.players import Players
from svmkit.explain.subject import decide, function_names
from svmkit.runtime.terminal import align
from svmkit.scoring.drift import Shift, compare_categories, compare_numbers

if TYPE_CHECKING:
    from svmkit.data import Dataset
    from svmkit.model.model import SVMModel

SHOWN = 10  # columns shown in a table
WIDE = 10_000  # columns up to which each is compared


def measure_drift(model: SVMModel, data: Dataset, options: Any) -> dict[str, Any] | None:
    """Return the drift of the rows of DATA from those of --drift as plain values; None without that option.

    Parameters
    ----------
    model, data, options : SVMModel, Dataset, Options
        The model, widened to the columns of the data, the rows, and the options of the command.
    """
    if options.drift is None:
        return None
    train = load_for(model, Options(**vars(options) | {"data": options.drift}), labelled=False)
    if train.n_features > data.n_features:
        raise InputError(f"--drift {options.drift} has columns that {options.data} lacks: give the training file")
    if model.kernel.name == "precomputed" or data.n_features > WIDE:
        raise InputError(f"--drift compares up to {WIDE:,} columns, and no kernel matrices: leave it out")
    then, now = (_widen(each.X, data.n_features) for each in (train, data))
    players = Players.derive(model.preprocessing, model.n_features)
    columns, outside = {}, np.zeros(data.n_samples, dtype=np.bool_)
    for player, name in enumerate(players.names):
        columns[name], beyond = _compare(then, now, players, player)
        outside |= beyond
    decisions = (decide(model, each.X, options.threads) for each in (train, data))
    by_function = zip(function_names(model), *(each.T for each in decisions), strict=True)
    return {
        "against": train.name,
        "n_then": train.n_samples,
        "outside": float(outside.mean()),
        "decisions": {name: compare_numbers(one, other).plain() for name, one, other in by_function},
        "columns": {name: shift.plain() for name, shift in columns.items()},
        "moved": [name for name, shift in columns.items() if shift.moved],
    }


def _widen(X: Any, n_features: int) -> np.ndarray:
    dense = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
    return np.pad(dense, ((0, 0), (0, n_features - dense.shape[1])))


def _compare(then: np.ndarray, now: np.ndarray, players: Players, player: int) -> tuple[Shift, np.ndarray]:
    """Return how far a column has moved, and which new rows are outside the range of training."""
    at = players.features(player)
    if not players.is_category(player):
        old, new = then[:, at[0]], now[:, at[0]]
        with np.errstate(all="ignore"):
            beyond = (new < np.fmin.reduce(old)) | (new > np.fmax.reduce(old))
        return compare_numbers(old, new), beyond
    old, new = (np.where(each[:, at].any(axis=1), each[:, at].argmax(axis=1), len(at)) for each in (then, now))
    return compare_categories(old, new, len(at)), (new == len(at)) & bool((old < len(at)).all())


def drift_rows(found: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Return the report rows for the result of `measure_drift`."""
    if found is None:
        return []
    moved, of = found["moved"], len(found["columns"])
    decisions = max(found["decisions"].values(), key=lambda shift: shift["psi"])
    ks = "" if decisions["ks"] is None else f"KS {decisions['ks']:.3f}, "
    named = f": {', '.join(moved[:5])}{' and others' if len(moved) > 5 else ''}" if moved else ""
    return [
        ("drift", f"{len(moved):,} of {of:,} columns have moved from {found['against']}{named}"),
        ("decisions", f"{ks}PSI {decisions['psi']:.3f}{', moved' if decisions['moved'] else ''}"),
        ("outside", f"{found['outside']:.2%} of the rows have a column beyond its range or categories in training"),
    ]


def drift_table(found: dict[str, Any]) -> list[str]:
    """Return lines about the columns that have moved most."""
    columns = sorted(found["columns"].items(), key=lambda item: -item[1]["psi"])
    lines = [["column", "KS", "PSI", "by chance", "beyond", ""]]
    for name, shift in columns[:SHOWN]:
        ks = "-" if shift["ks"] is None else f"{shift['ks']:.3f}"
        cells = [f"{shift['psi']:.3f}", f"{shift['noise']:.3f}", f"{shift['beyond']:.1%}"]
        lines.append([name, ks, *cells, "moved" if shift["moved"] else ""])
    left = len(columns) - SHOWN
    return ["", *align(lines, left=[0, 5]), *([f"and {left:,} other columns"] if left > 0 else [])]
