"""A plot of the learnt column weights of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from svmkit.errors import InputError
from svmkit.plotting.style import COLOURS, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST = 32  # letters of the name of a column, at most


def plot_relevance(model: Any, *, ax: Axes | None = None, most: int = 20) -> Axes:
    """Plot which columns matter to a model trained with `relevance="learned"`: a bar for the weight of each.

    Parameters
    ----------
    model : fitted SVMClassifier or SVMRegressor, Fit or SVMModel
        The model.
    ax : matplotlib Axes, default=None
        The axes to draw on; by default those of a new figure that pyplot does not manage, so that
        `ax.figure.savefig(...)` writes it.
    most : int, default=20
        The number of columns shown: those with the largest weights.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        The model was trained without `relevance="learned"`.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import SVMRegressor, plot_relevance
    >>> X = np.random.default_rng(0).normal(size=(90, 2))
    >>> model = SVMRegressor(relevance="learned").fit(X, X[:, 0] ** 2)
    >>> ax = plot_relevance(model)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['column 1', 'column 2']
    """
    model = getattr(model, "model_", getattr(model, "model", model))
    about = getattr(model, "about", {})
    if "relevance" not in about:
        raise InputError("the model has no learnt relevance: train it with relevance='learned' (--relevance learned)")
    weights = np.ones(model.width) if model.relevance is None else model.relevance
    order = np.argsort(-weights, kind="stable")[:most]
    names = model.preprocessing.feature_names(model.n_features)
    shown = [name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…" for name in (names[j] for j in order)]
    if ax is None:
        ax = new_axes()
        ax.figure.set_size_inches(6.4, max(2.0, 0.9 + 0.27 * len(order)))  # type: ignore[union-attr]
    at = np.arange(len(order))
    ax.barh(at, weights[order], color=COLOURS[0], height=0.7)
    ax.set_yticks(at, shown)
    ax.invert_yaxis()
    rest = f" ({len(order)} of {model.width:,} columns)" if len(order) < model.width else ""
    ax.set(xlim=(0.0, 1.02), xlabel=f"weight of the scaled column, of the largest{rest}")
    if not about["relevance"]["round"]:
        ax.set_title("learnt weights were not better: all columns alike", fontsize="medium")
    ax.grid(True, axis="x", color="0.88", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
