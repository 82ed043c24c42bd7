"""A plot of a model's decisions: regions and margins over two features, or a curve with its tube over one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from svmkit.errors import InputError
from svmkit.plotting.band import draw_band
from svmkit.plotting.style import COLOURS, new_axes
from svmkit.tasks import task_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from svmkit.model.model import SVMModel

MARKERS = "os^DvP*"
MARGIN = 0.08  # share of the range of a feature, on both sides of the samples
_CURVE = 400  # points of the curve of a regression


@dataclass(frozen=True)
class _Subject:
    """A model, and the steps before it."""

    model: SVMModel
    before: Callable[[Any], Any]  # turns X into what the model takes: the steps of a pipeline before its estimator
    support: np.ndarray | None  # the training rows that are support vectors, if only the estimator knows them


def plot_decision(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    ax: Axes | None = None,
    resolution: int = 200,
    show_support: bool = True,
) -> Axes:
    """Plot the decisions of a model, with samples: two features of a classifier or an outlier detector, or one feature
    of a regression.

    Regions have the colours of the predicted classes. The boundary is a solid line; margins, at decisions of -1 and +1
    of a binary classifier, are dashed. Support vectors among the samples are circled. A regression is a curve with its
    tube, within which errors cost nothing; several quantiles are the band between them.

    Parameters
    ----------
    model : fitted estimator, pipeline that ends with one, search over them, Fit or SVMModel
        The model. Fitted SVMs of scikit-learn are accepted, too.
    X : array-like, DataFrame or sparse matrix of shape (n_samples, 2); (n_samples, 1) for a regression
        The samples, in the form of the training samples. The columns of a DataFrame name the axes.
    y : array-like of shape (n_samples,), default=None
        The labels or targets of the samples; None shows samples without them, but a regression needs them.
    ax : matplotlib Axes, default=None
        The axes to draw on; by default those of a new figure that pyplot does not manage, so that
        `ax.figure.savefig("decision.png")` saves it.
    resolution : int, default=200
        The points of the grid along each feature.
    show_support : bool, default=True
        Whether support vectors are circled.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        X has another number of features, the model has no decisions, or y does not fit.

    Examples
    --------
    >>> from svmkit import SVMClassifier, plot_decision
    >>> X, y = [[0, 0], [0, 1], [2, 0], [2, 1]], ["a", "a", "b", "b"]
    >>> ax = plot_decision(SVMClassifier("smo").fit(X, y), X, y, resolution=20)
    >>> ax.get_xlabel()
    'feature 0'
    """
    subject = _subject(model)
    task = subject.model.task
    values, names = _values(X, 1 if task_named(task).has_targets else 2, task)
    labels = None if y is None else np.asarray(y).ravel()
    if labels is not None and len(labels) != len(values):
        raise InputError(f"y has {len(labels)} labels for {len(values)} rows of X: give one for each")
    if resolution < 2:
        raise InputError(f"resolution must be at least 2, not {resolution}")
    ax = new_axes() if ax is None else ax
    like: Callable[[np.ndarray], Any] = lambda points: points
    if hasattr(X, "columns"):  # a pipeline may choose columns by name
        from pandas import DataFrame

        like = partial(DataFrame, columns=X.columns)
    if task_named(task).has_targets:
        if labels is None:
            raise InputError("a regression is drawn with its targets: give y")
        heights = labels.astype(np.float64)
        _draw_curve(ax, subject, values[:, 0], heights, like)
        ax.set(xlabel=names[0], ylabel="target")
    else:
        _draw_regions(ax, subject, values, like, resolution)
        _draw_samples(ax, subject.model, values, labels)
        ax.set(xlabel=names[0], ylabel=names[1])
        heights = values[:, 1]
    if show_support:
        rows = _support_rows(subject, X)
        look: dict[str, Any] = {"facecolors": "none", "edgecolors": "black", "linewidths": 0.9, "zorder": 4}
        if rows.any():
            ax.scatter(values[rows, 0], heights[rows], s=62, label="support vectors", **look)
    ax.spines[["top", "right"]].set_visible(False)
    if ax.get_legend_handles_labels()[1]:
        ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return ax


def _subject(item: Any) -> _Subject:
    """Return the model of an estimator, a pipeline, a fit, or itself."""
    from svmkit.model.model import SVMModel

    before: Callable[[Any], Any] = lambda X: X
    item = getattr(item, "best_estimator_", item)
    if hasattr(item, "steps") and hasattr(item, "named_steps"):
        if len(item.steps) > 1:
            before = item[:-1].transform
        item = item[-1]
    if isinstance(item, SVMModel):
        return _Subject(item, before, None)
    model = getattr(item, "model_", getattr(item, "model", None))
    if isinstance(model, SVMModel):
        return _Subject(model, before, getattr(item, "support_", getattr(item, "support", None)))
    if type(item).__module__.startswith("sklearn.svm"):
        return _Subject(SVMModel.from_sklearn(item), before, getattr(item, "support_", None))
    why = "; call fit first" if hasattr(item, "fit") else ""
    raise InputError(f"{type(item).__name__} has no model to draw{why}: give a fitted SVMClassifier or an SVMModel")


def _values(X: Any, width: int, task: str) -> tuple[np.ndarray, list[str]]:
    """Return X as a dense array, and the names of its features."""
    names = [str(name) for name in getattr(X, "columns", ())]
    values = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    what = {"regress": "a regression", "outliers": "a detector of outliers"}.get(task, "a classifier")
    if values.ndim != 2 or values.shape[1] != width:
        shape = f"{values.shape[1]} features" if values.ndim == 2 else f"the shape {values.shape}"
        few = "feature" if width == 1 else "features"
        raise InputError(f"X has {shape}: {what} is drawn over {width} {few}; train one on the columns to look at")
    if not len(values) or not np.isfinite(values).all():
        raise InputError("X has no rows, or values that are not finite: nothing can be drawn there")
    return values, names or [f"feature {k}" for k in range(width)]


def _range(values: np.ndarray) -> tuple[float, float]:
    """Return the limits of an axis around values."""
    low, high = float(values.min()), float(values.max())
    room = MARGIN * (high - low) or 1.0
    return low - room, high + room


def _draw_regions(ax: Axes, subject: _Subject, values: np.ndarray, like: Callable, resolution: int) -> None:
    """Draw the regions of the classes, the boundary between them, and the margins of two classes."""
    model = subject.model
    across, up = (np.linspace(*_range(column), resolution) for column in values.T)
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    points = subject.before(like(grid))
    decision = model.decision_function(points)
    codes = np.searchsorted(model.classes, model.labels(decision)).reshape(resolution, resolution)
    n_classes = len(model.classes)
    shades = [COLOURS[k % len(COLOURS)] for k in range(n_classes)]
    levels = np.arange(n_classes + 1) - 0.5
    ax.contourf(across, up, codes, levels=levels, colors=shades, alpha=0.22, zorder=0)
    line: dict[str, Any] = {"colors": "black", "zorder": 2}
    if decision.ndim > 1:
        ax.contour(across, up, codes, levels=levels[1:-1], linewidths=1.0, **line)
    else:
        height = decision if model.calibration is None else model.log_odds(decision)
        ax.contour(across, up, height.reshape(codes.shape), levels=[0.0], linewidths=1.4, **line)
        if task_named(model.task).has_classes:
            margins = decision.reshape(codes.shape)
            ax.contour(across, up, margins, levels=[-1.0, 1.0], linewidths=1.0, linestyles="--", **line)
            ax.plot([], [], "--", color="black", linewidth=1.0, label="margins")
    ax.plot([], [], "-", color="black", linewidth=1.4, label="boundary")
    ax.set(xlim=_range(values[:, 0]), ylim=_range(values[:, 1]))


def _draw_samples(ax: Axes, model: SVMModel, values: np.ndarray, labels: np.ndarray | None) -> None:
    """Draw the samples, with a colour and a marker for each class."""
    if labels is None:
        ax.scatter(values[:, 0], values[:, 1], s=16, color="0.25", linewidths=0, zorder=3, label="samples")
        return
    known = np.isin(labels.astype(str), model.classes.astype(str))
    if not known.all():
        raise InputError(
            f"y has the label {str(labels[~known][0])!r}, which the model does not know: it has "
            f"{', '.join(map(str, model.classes[:20]))}"
        )
    words = {"-1": "outlier", "1": "inlier"} if not task_named(model.task).is_supervised else {}
    for k, name in enumerate(model.classes):
        rows = labels.astype(str) == str(name)
        if rows.any():
            look: dict[str, Any] = {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[k % len(MARKERS)]}
            label = words.get(str(name), str(name))
            across, up = values[rows].T
            ax.scatter(across, up, s=24, edgecolors="white", linewidths=0.4, zorder=3, label=label, **look)


def _draw_curve(ax: Axes, subject: _Subject, x: np.ndarray, y: np.ndarray, like: Callable) -> None:
    """Draw the samples, and the curve of a regression with its tube, or the band between its levels."""
    across = np.linspace(*_range(x), _CURVE)
    curve = subject.model.predict(subject.before(like(across[:, None])))
    epsilon, levels = subject.model.about.get("epsilon"), subject.model.levels
    if levels:
        draw_band(ax, across, curve, [loss.params["tau"] for loss in levels])
    elif epsilon:
        ax.fill_between(across, curve - epsilon, curve + epsilon, color=COLOURS[0], alpha=0.18, linewidth=0, zorder=0)
        ax.plot([], [], color=COLOURS[0], alpha=0.18, linewidth=8, label=f"tube, epsilon = {epsilon:.3g}")
    for column, name in zip(curve.reshape(len(across), -1).T, subject.model.outputs or ("prediction",), strict=True):
        if not levels:
            ax.plot(across, column, color=COLOURS[0], linewidth=1.8, zorder=2, label=name)
    ax.scatter(x, y, s=16, color=COLOURS[1], edgecolors="white", linewidths=0.4, zorder=3, label="samples")
    ax.set_xlim(_range(x))


def _support_rows(subject: _Subject, X: Any) -> np.ndarray:
    """Return which rows of X are support vectors: rows that, after preprocessing, are among the model's vectors."""
    from svmkit.data.prepare.features import as_features

    model = subject.model
    dense = lambda A: np.asarray(A.toarray() if hasattr(A, "toarray") else A)
    rows = dense(model.preprocessing.apply(as_features(subject.before(X))))
    vectors = dense(model.vectors)
    if not model.holds_weights:
        known = {row.tobytes() for row in np.ascontiguousarray(vectors.astype(np.float32))}
        return np.array([row.tobytes() in known for row in np.ascontiguousarray(rows.astype(np.float32))], dtype=bool)
    marked, support = np.zeros(len(rows), dtype=bool), subject.support
    if support is not None and len(support) and support.max() < len(rows):  # a model of weights has no vectors
        marked[support] = True
    return marked
