"""Plots of explanations: which columns matter, their contributions to the decision of a row, and their dependence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from svmkit.errors import InputError
from svmkit.plotting.style import COLOURS, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from svmkit.explain import Explanation

LONGEST = 34  # letters of a name, at most
FOR, AGAINST = COLOURS[1], COLOURS[0]  # contributions > 0 and < 0
DOTS = 20_000  # rows up to which each is a dot
JITTER = 0.18  # share of the distance between categories


def plot_importance(
    explanation: Explanation, *, function: str | int | None = None, most: int = 15, ax: Axes | None = None
) -> Axes:
    """Plot which columns matter: the mean magnitude of the contributions of each over the rows.

    Parameters
    ----------
    explanation : Explanation
        The result of `SVMModel.explain`.
    function : str or int, default=None
        One of several decisions; None is the mean over all.
    most : int, default=15
        The number of columns shown: those that matter most.
    ax : matplotlib Axes, default=None
        The axes to draw on; by default those of a new figure that pyplot does not manage, so that
        `ax.figure.savefig(...)` writes it.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import fit
    >>> from svmkit.plotting import plot_importance
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> ax = plot_importance(fit(X, ["a", "a", "b", "b"]).model.explain(X))
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['column 1', 'column 2']
    """
    values = np.abs(explanation.by_function).mean(axis=0)
    single = len(explanation.functions) == 1
    chosen = 0 if single else None if function is None else explanation.number(function)
    sizes = values.mean(axis=1) if chosen is None else values[:, chosen]
    order = np.argsort(-sizes, kind="stable")[:most]
    ax = _axes_of(ax, len(order))
    at = np.arange(len(order))
    ax.barh(at, sizes[order], color=COLOURS[0], height=0.7)
    ax.set_yticks(at, [_shorten(explanation.names[j]) for j in order])
    ax.invert_yaxis()
    of = "all decisions" if chosen is None else _describe(explanation, chosen)
    rest = f", {len(order)} of {len(sizes):,} columns" if len(order) < len(sizes) else ""
    ax.set_xlabel(f"mean |contribution| to {of}{rest}")
    return _finish(ax)


def plot_contributions(
    explanation: Explanation,
    row: int = 0,
    *,
    function: str | int | None = None,
    most: int = 12,
    ax: Axes | None = None,
) -> Axes:
    """Plot the contribution of each column to the decision of a row, from the mean of the background to the decision.

    Parameters
    ----------
    explanation : Explanation
        The result of `SVMModel.explain`.
    row : int, default=0
        The index of the row among the explained ones.
    function : str or int, default=None
        One of several decisions; None is that of the predicted class.
    most : int, default=12
        The number of columns shown, the largest contributions; the others form one bar.
    ax : matplotlib Axes, default=None
        As for `plot_importance`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import fit
    >>> from svmkit.plotting import plot_contributions
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> ax = plot_contributions(fit(X, ["a", "a", "b", "b"]).model.explain(X), row=3)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['column 1 = 2', 'column 2 = 1']
    """
    explanation.row(row)  # raises an error for an invalid row
    at = explanation.function_of(row) if function is None else explanation.number(function)
    values = explanation.by_function[row, :, at]
    order = np.argsort(-np.abs(values), kind="stable")
    order, left = (order, order[:0]) if len(order) <= most else (order[: most - 1], order[most - 1 :])
    cells = explanation.players.cells(explanation.row(row))[0]
    names = [f"{_shorten(explanation.names[j])} = {_cell(cells[j])}" for j in order]
    steps = [*values[order], *([values[left].sum()] if len(left) else [])]
    names += [f"{len(left):,} other columns"] if len(left) else []
    ends = float(explanation.base[at]) + np.concatenate([[0.0], np.cumsum(steps)])
    ax = _axes_of(ax, len(steps))
    for k, step in enumerate(steps):
        ax.barh(k, step, left=ends[k], color=FOR if step > 0.0 else AGAINST, height=0.7)
        ax.plot([ends[k + 1]] * 2, [k - 0.35, min(k + 1.35, len(steps) - 0.65)], color="0.4", linewidth=0.8)
        side = "left" if step > 0.0 else "right"
        gap = 4 if step > 0.0 else -4
        look: dict[str, Any] = {"textcoords": "offset points", "ha": side, "va": "center", "fontsize": 8}
        ax.annotate(f"{step:+.3g}", (ends[k + 1], k), (gap, 0), **look)
    ax.axvline(ends[0], color="0.5", linewidth=0.8, linestyle=":")
    ax.set_yticks(range(len(steps)), names)
    ax.invert_yaxis()
    room = 0.16 * (float(ends.max() - ends.min()) or 1.0)  # for the numbers beside the bars
    ax.set_xlim(float(ends.min()) - room, float(ends.max()) + room)
    predicted = explanation.predicted[row]
    said = f"{predicted:.4g}" if isinstance(predicted, float | np.floating) else str(predicted)
    probable = "" if explanation.probability is None else f", probability {explanation.probability[row]:.3f}"
    ax.set_title(
        f"mean {ends[0]:.3g}, decision {ends[-1]:.3g}: {said if np.ndim(predicted) == 0 else 'several'}{probable}",
        fontsize="medium",
    )
    ax.set_xlabel(f"{_describe(explanation, at)}, from the mean of the background")
    return _finish(ax)


def plot_dependence(
    explanation: Explanation, column: str, *, function: str | int | None = None, ax: Axes | None = None
) -> Axes:
    """Plot how the contribution of a column depends on its value, a dot for each row.

    Parameters
    ----------
    explanation : Explanation
        The result of `SVMModel.explain`, with about ten rows or more.
    column : str
        The name of the column.
    function : str or int, default=None
        One of several decisions; None is the first.
    ax : matplotlib Axes, default=None
        As for `plot_importance`.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        No column has this name, or it has several features other than categories.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import fit
    >>> from svmkit.plotting import plot_dependence
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> ax = plot_dependence(fit(X, ["a", "a", "b", "b"]).model.explain(X), "column 1")
    >>> ax.get_xlabel()
    'column 1'
    """
    player = explanation.players.number(column)
    at = explanation.number(0 if function is None else function)
    across, values = explanation.cells()[:, player], explanation.by_function[:, player, at]
    if any(isinstance(cell, tuple) for cell in across):
        raise InputError(f"{column!r} has several numbers in a row: draw it with explanation.values yourself")
    speaks = explanation.decision[:, at] > 0.0
    if len(values) > DOTS:
        some = np.random.default_rng(0).choice(len(values), DOTS, replace=False)
        across, values, speaks = across[some], values[some], speaks[some]
    ax = _axes_of(ax, 12)
    texts = any(isinstance(cell, str) for cell in across)
    if texts:
        known = sorted({str(cell) for cell in across if cell is not None})
        names = known + (["(none)"] if any(cell is None for cell in across) else [])
        place = np.array([len(known) if cell is None else known.index(str(cell)) for cell in across], dtype=np.float64)
        place += np.random.default_rng(0).uniform(-JITTER, JITTER, len(place))
        long = len(names) > 4 or sum(map(len, names)) > 40
        turned: dict[str, Any] = {"rotation": 45, "ha": "right"} if long else {}
        ax.set_xticks(range(len(names)), [_shorten(name) for name in names], **turned)
    else:
        place = np.array([np.nan if cell is None else cell for cell in across], dtype=np.float64)
    look: dict[str, Any] = {"s": 16, "alpha": 0.7, "linewidths": 0, "rasterized": len(values) > 2000}
    sides: list[tuple[Any, str, str | None]] = [(slice(None), AGAINST, None)]
    if not explanation.model.regresses:
        name = explanation.functions[at]
        sides = [(speaks, FOR, f"decision for {name}"), (~speaks, AGAINST, "decision against it")]
    for rows, colour, label in sides:
        ax.scatter(place[rows], values[rows], color=colour, label=label, **look)
    if len(sides) > 1:
        ax.legend(fontsize=8, frameon=False)
    ax.axhline(0.0, color="0.5", linewidth=0.8, linestyle=":")
    ax.set(xlabel=_shorten(column), ylabel=f"contribution to {_describe(explanation, at)}")
    return _finish(ax, grid="y")


def _axes_of(ax: Axes | None, n: int) -> Axes:
    """Return the axes to draw on, new ones with the height for n bars."""
    if ax is not None:
        return ax
    ax = new_axes()
    ax.figure.set_size_inches(6.8, max(2.2, 1.1 + 0.29 * n))  # type: ignore[union-attr]
    return ax


def _finish(ax: Axes, grid: str = "x") -> Axes:
    ax.grid(True, axis=grid, color="0.9", linewidth=0.8)  # type: ignore[arg-type]
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _describe(explanation: Explanation, function: int) -> str:
    """Return in words what a decision is about."""
    name = explanation.functions[function]
    return "the prediction" if name == "prediction" else f"the decision for {name}"


def _shorten(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _cell(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_cell, value[:3])) + (", …)" if len(value) > 3 else ")")
    return f"{value:.4g}" if isinstance(value, float) else _shorten(str(value))
