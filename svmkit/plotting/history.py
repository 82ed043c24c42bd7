"""Plots of the history of solves."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from svmkit.errors import InputError, SvmkitWarning
from svmkit.plotting.style import COLOURS, STYLES, new_axes
from svmkit.solver.history import History

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

WORDS = {
    "n_iter": "iterations",
    "seconds": "seconds",
    "objective": "objective, as the solver states it",
    "gap": "relative gap, estimated while solving",
    "n_support": "support vectors",
    "kernel_values": "kernel values computed",
    "accuracy": "accuracy on the validation set",
}
"""The labels of a history's columns on an axis."""

_MANY = 8  # number of names above which the legend moves outside, and of class pairs above which lines are thin


@dataclass(frozen=True)
class _Run:
    """The histories of a solve, a DataFrame for each class pair, and facts about the model for a label."""

    frames: list[pd.DataFrame]
    about: Mapping[str, Any]


def plot_history(
    items: Any,
    *,
    x: str = "seconds",
    y: str = "gap",
    ax: Axes | None = None,
    labels: str | Sequence[str] | None = None,
) -> Axes:
    """Plot the history of solves, with a colour and a line style for each solve.

    Parameters
    ----------
    items : fitted SVMClassifier or SVMOneClass, Fit, Solution, History or its DataFrame; list or {label: item} of them
        The solves. For a model with several class pairs, the curves of all pairs have the same style.
    x, y : {"n_iter", "seconds", "objective", "gap", "n_support", "kernel_values", "accuracy"}
        Columns of the history. Axes are logarithmic, except for accuracy and for an objective that is not positive
        everywhere. Missing values are left out, and on a logarithmic axis also values that are not positive.
    ax : matplotlib Axes, default=None
        The axes to draw on; by default those of a new figure that pyplot does not manage, so that
        `ax.figure.savefig("gap.png")` saves it.
    labels : str or sequence of str, default=None
        Names for the legend, one for each item. By default the keys, or else the names of the solvers, with C if names
        are equal.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        If there is no item, an item has no history, a column is unknown, the number of labels is wrong, or there is
        nothing to draw.

    Warns
    -----
    SvmkitWarning
        An item is left out because it has no point with both values.

    Examples
    --------
    >>> from svmkit import SVMClassifier, plot_history
    >>> X, y = [[0, 0], [0, 1], [2, 0], [2, 1]], ["a", "a", "b", "b"]
    >>> axes = plot_history(SVMClassifier("fcsmo").fit(X, y))
    >>> type(axes).__name__
    'Axes'
    """
    for name, column in (("x", x), ("y", y)):
        if column not in WORDS:
            raise InputError(f"{name} must be one of {', '.join(WORDS)}, not {column!r}")
    runs, names = _label_axes(items, labels)
    logarithmic = {column for column in (x, y) if _is_logarithmic(column, runs)}
    curves = {name: _curves(run, x, y, logarithmic) for name, run in zip(names, runs, strict=True)}
    empty = [name for name, points in curves.items() if not points]
    why = " (fit with validation=(X, y) to measure accuracy)" if "accuracy" in (x, y) else ""
    if len(empty) == len(curves):
        raise InputError(f"nothing to draw: no point has both {x} and {y}{why}")
    if empty:
        warnings.warn(f"left out, no point has both {x} and {y}{why}: {', '.join(empty)}", SvmkitWarning, stacklevel=2)
    ax = new_axes() if ax is None else ax
    drawn = len(ax.get_legend_handles_labels()[1])  # drawn by an earlier call
    for k, (name, points) in enumerate(curves.items(), drawn):
        style: dict[str, Any] = {"color": COLOURS[k % len(COLOURS)], "linestyle": STYLES[k % len(STYLES)]}
        style["linewidth"] = 1.6 if len(points) <= _MANY else 0.8
        for part, (across, up) in enumerate(points):
            marker = "o" if len(across) == 1 else ""
            ax.plot(across, up, label=None if part else name, marker=marker, **style)
    _dress(ax, x, y, logarithmic)
    return ax


def _label_axes(items: Any, labels: str | Sequence[str] | None) -> tuple[list[_Run], list[str]]:
    """Return the items as runs, and distinct names for the legend."""
    keys: list[str] | None = None
    if isinstance(items, Mapping):
        keys, items = [str(key) for key in items], list(items.values())
    elif isinstance(items, str | History) or not isinstance(items, Iterable) or hasattr(items, "columns"):
        items = [items]
    runs = [_run(item) for item in items]
    if not runs:
        raise InputError("nothing to draw: give a fitted model, a history, or a list or dict of them")
    if labels is not None:
        keys = [labels] if isinstance(labels, str) else [str(label) for label in labels]
        if len(keys) != len(runs):
            raise InputError(f"labels must be one for each of the {len(runs)} items, not {len(keys)}")
    if not keys:  # the solvers, with C if their names are equal
        solvers = [str(run.about.get("solver", "solve")) for run in runs]
        weights = [f", C = {run.about['C']:.3g}" if "C" in run.about else "" for run in runs]
        named = zip(solvers, weights, strict=True)
        keys = [solver + weight if solvers.count(solver) > 1 else solver for solver, weight in named]
    return runs, _distinct(keys)


def _run(item: Any) -> _Run:
    if isinstance(item, History):
        return _Run([item.to_frame()], {})
    if hasattr(item, "columns") and hasattr(item, "to_numpy"):  # a DataFrame, without importing pandas
        missing = [name for name in WORDS if name not in item.columns]
        if missing:
            raise InputError(f"the DataFrame is no history: it lacks {', '.join(missing)}; see History.to_frame")
        return _Run([item], {})
    model = getattr(item, "model_", getattr(item, "model", None))
    if hasattr(item, "solutions"):
        histories = [solution.history for solution in item.solutions]
    else:
        single = getattr(item, "history_", getattr(item, "history", None))
        histories = [single] if isinstance(single, History) else list(single) if isinstance(single, list) else []
    if not histories or not all(isinstance(history, History) for history in histories):
        what = f"{type(item).__name__} has no history{'; call fit first' if hasattr(item, 'fit') else ''}"
        raise InputError(f"{what}: give a fitted SVMClassifier or SVMOneClass, a Fit or a History")
    return _Run([history.to_frame() for history in histories], getattr(model, "about", {}))


def _distinct(names: list[str]) -> list[str]:
    """Return the names, with a number for each repetition."""
    distinct: list[str] = []
    for name in names:
        numbered = (f"{name} ({k})" for k in range(2, len(names) + 2))
        distinct.append(name if name not in distinct else next(n for n in numbered if n not in distinct))
    return distinct


def _is_logarithmic(column: str, runs: list[_Run]) -> bool:
    if column != "objective":
        return column != "accuracy"
    values = np.concatenate([_values(frame, column) for run in runs for frame in run.frames])
    return bool(np.all(values[np.isfinite(values)] > 0))


def _values(frame: pd.DataFrame, column: str) -> np.ndarray:
    try:
        return frame[column].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise InputError(f"column {column} of the DataFrame is not numeric") from None


def _curves(run: _Run, x: str, y: str, logarithmic: set[str]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the points to draw for each class pair that has any."""
    points = []
    for frame in run.frames:
        values = {column: _values(frame, column) for column in (x, y)}
        usable = np.ones(len(frame), dtype=bool)
        for column, numbers in values.items():
            usable &= np.isfinite(numbers) & ((numbers > 0) | (column not in logarithmic))
        if usable.any():
            points.append((values[x][usable], values[y][usable]))
    return points


def _between_powers(axis: Axis, value: float, place: int | None) -> str:
    """Return the label of a tick between powers of ten, "" if the axis spans more than a decade."""
    low, high = sorted(axis.get_view_interval())
    digit = round(value / 10.0 ** math.floor(math.log10(value)))
    return f"{value:g}" if high <= 10.0 * low and digit in (2, 3, 5, 7) else ""


def _dress(ax: Axes, x: str, y: str, logarithmic: set[str]) -> None:
    """Set scales, labels, grid and legend of the axes."""
    ax.set_xscale("log" if x in logarithmic else "linear")
    ax.set_yscale("log" if y in logarithmic else "linear")
    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_scale() == "log":
            axis.set_minor_formatter(partial(_between_powers, axis))
    ax.set_xlabel(WORDS[x])
    ax.set_ylabel(WORDS[y])
    ax.grid(True, which="major", color="0.88", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    n_curves = len(ax.get_legend_handles_labels()[1])
    place: dict[str, Any] = {"loc": "best"}
    if n_curves > _MANY:
        place = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "ncols": -(-n_curves // 16), "fontsize": "small"}
    ax.legend(**place, frameon=False, handlelength=3.2)
