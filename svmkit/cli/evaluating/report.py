"""The report of an evaluation, and its picture: one function for each kind of evaluation that has one."""

from __future__ import annotations

from functools import singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from svmkit.cli.common import rows
from svmkit.errors import InputError, SvmkitError
from svmkit.plotting import COLOURS, draw_band, draw_reliability
from svmkit.runtime import files
from svmkit.runtime.packages import require_installed
from svmkit.runtime.terminal import say
from svmkit.scoring.evaluations.base import Evaluation
from svmkit.scoring.evaluations.classes import ClassEvaluation
from svmkit.scoring.evaluations.labels import LabelEvaluation
from svmkit.scoring.evaluations.quantities import LevelEvaluation, QuantityEvaluation
from svmkit.scoring.operating import gain_curve
from svmkit.scoring.quantities import LevelScores
from svmkit.scoring.wording import format_measure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NUMBERED = 20  # classes up to which the entries of the matrix are written
NAMED = 40  # classes up to which each is named at the axes; for more, about `NUMBERED` are named
DOTS = 20_000  # predicted quantities up to which a picture shows each; for more, a random part


def show(evaluated: Evaluation, result: dict[str, Any], further: list[tuple[str, str]]) -> None:
    """Print the result of `svmkit evaluate`, with additional rows.

    Parameters
    ----------
    evaluated, result : Evaluation, dict
        The evaluation, and the result of the command.
    further : list of tuple of str
        Names and texts.
    """
    n_support = result["n_support"]
    support = "not known: the model holds weights of the columns" if n_support is None else f"{n_support:,} vectors"
    ending = (support, f"{result['predict_s']:.2f} s", result["plot"])
    data = ("data", f"{result['data']}: {result['n_test']:,} rows")
    rows([data, *evaluated.rows(result), *further, *zip(("support", "time", "picture"), ending, strict=True)])
    if tables := evaluated.tables(result):
        say(*tables)


def require_drawable(path: str) -> None:
    """Raise InputError unless matplotlib supports the ending of the name and the file is writable."""
    require_installed("pictures", "matplotlib")
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    if Path(path).suffix.lower().removeprefix(".") not in known:
        raise InputError(f"cannot draw {path}: the name has to end in .png, .svg or .pdf")
    files.require_writable(path)


def draw(evaluated: Evaluation, path: str) -> SvmkitError | None:
    """Write the picture; return the error if that fails, since the numbers are shown in any case."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")  # not managed by pyplot
    FigureCanvasAgg(figure)
    draw_on(evaluated, figure)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        return SvmkitError(f"cannot write {path}: {error.strerror or error}; the numbers are whole without it")
    return None


@singledispatch
def draw_on(evaluated: Evaluation, figure: Figure) -> None:
    """Draw the picture of an evaluation; raise InputError if its kind has none."""
    raise InputError(f"there is no picture of {evaluated.what}: leave --plot out")


@draw_on.register(ClassEvaluation)
def _draw_classes(evaluated: ClassEvaluation, figure: Figure) -> None:
    positive, decision = evaluated.one_against_rest()
    curves = positive.ndim == 1 and bool(positive.any()) and not positive.all()
    reliability, n_classes = evaluated.reliability(), len(evaluated.labels)
    height = 4.4 if curves else min(5.0 + 0.25 * max(n_classes - 4, 0), 14.0)
    width = 18.4 if curves else height + 0.8
    more = 0 if reliability is None else 1
    figure.set_size_inches(width + more * max(4.6, height), height)
    axes = figure.subplots(1, 1 + 3 * curves + more, squeeze=False)[0]
    _matrix(axes[0], evaluated)
    if curves:
        _curves(axes[1], axes[2], evaluated, positive, decision)
        draw_gain(axes[3], evaluated)
    if reliability is not None and evaluated.probabilities is not None:
        errors = evaluated.probabilities.log_loss, evaluated.probabilities.brier_score
        look = {"fmt": "o", "color": COLOURS[0], "capsize": 3, "markersize": 5, "label": "observed, 95%"}
        draw_reliability(axes[-1], [(reliability, look)])
        title = f"class {evaluated.positive}" if evaluated.positive is not None else "each class"
        of = ", ".join(f"{name} {value:.4f}" for name, value in zip(("log loss", "Brier"), errors, strict=True))
        axes[-1].set_title(f"reliability, {title}: {of}", fontsize=10)
        axes[-1].legend(loc="upper left", fontsize=8)
    scores = evaluated.scores
    figure.suptitle(f"{evaluated.data}: {scores.accuracy:.2%} accuracy, {scores.n_samples:,} rows", fontsize=11)


def _matrix(axes: Any, evaluated: ClassEvaluation) -> None:
    """Draw the matrix in shares of the true class, so that a rare class is as visible as a frequent one."""
    from matplotlib.colors import PowerNorm
    from sklearn.metrics import ConfusionMatrixDisplay

    counts, labels = evaluated.confusion(), evaluated.labels
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    numbered = len(labels) <= NUMBERED
    shown = ConfusionMatrixDisplay(shares, display_labels=labels)
    shown.plot(ax=axes, cmap="Blues", include_values=numbered, values_format=".2f", colorbar=not numbered)
    # many classes: the square root, or the few rows of a confusion would be hardly visible
    shown.im_.set_norm(PowerNorm(1.0 if numbered else 0.5, 0.0, 1.0))
    if numbered:
        for (i, j), text in np.ndenumerate(shown.text_):
            text.set_text(f"{counts[i, j]:,}" if len(labels) > 4 else f"{counts[i, j]:,}\n{shares[i, j]:.1%}")
            text.set_color("white" if shares[i, j] > 0.5 else "black")
            text.set_fontsize(10 if len(labels) <= 8 else 7)
    if len(labels) > NAMED:
        at = range(0, len(labels), -(-len(labels) // NUMBERED))
        axes.set_xticks(at, [labels[k] for k in at], rotation=90)
        axes.set_yticks(at, [labels[k] for k in at])
    elif len(labels) > 4 or max(map(len, labels)) > 6:
        axes.tick_params(axis="x", rotation=90 if len(labels) > 4 else 30)
    axes.set_title("confusion matrix, shade: share of the true class", fontsize=10)
    axes.set_xlabel("predicted class")
    axes.set_ylabel("true class")


def _curves(left: Any, right: Any, evaluated: ClassEvaluation, positive: np.ndarray, decision: np.ndarray) -> None:
    from sklearn.metrics import PrecisionRecallDisplay, RocCurveDisplay

    areas, prevalence = evaluated.areas(), positive.mean()
    roc = RocCurveDisplay.from_predictions(positive, decision, ax=left)
    roc.line_.set(color=COLOURS[0], label=f"ROC (area {areas['roc_auc']:.3f})")
    left.plot([0, 1], [0, 1], "--", color="0.5", linewidth=1, label="chance (area 0.5)")
    curve = PrecisionRecallDisplay.from_predictions(positive, decision, ax=right)
    curve.line_.set(color=COLOURS[0], label=f"precision (average {areas['average_precision']:.3f})")
    right.plot([0, 1], [prevalence, prevalence], "--", color="0.5", linewidth=1, label=f"chance ({prevalence:.3f})")
    labels = evaluated.labels
    known = np.isin(evaluated.truth, [k for k, label in enumerate(labels) if label not in evaluated.unknown])
    chosen = evaluated.predicted[known] == labels.index(str(evaluated.positive))
    hit, false = chosen[positive].mean(), chosen[~positive].mean()
    star = {"marker": "*", "markersize": 14, "linestyle": "", "color": COLOURS[1], "zorder": 5, "label": "the model"}
    left.plot([false], [hit], **star)
    if chosen.any():
        right.plot([hit], [positive[chosen].mean()], **star)
    left.set(
        title=f"ROC, class {evaluated.positive}", xlabel="false positive rate", ylabel="recall (true positive rate)"
    )
    right.set(title=f"precision and recall, class {evaluated.positive}", xlabel="recall", ylabel="precision")
    for axes in (left, right):
        axes.title.set_fontsize(10)
        axes.grid(alpha=0.3)
        axes.legend(loc="best", fontsize=8)


def draw_gain(axes: Any, evaluated: ClassEvaluation) -> None:
    """Draw which share of the positive rows is found by taking rows in the order of their decisions, of two classes."""
    positive, decision = evaluated.one_against_rest()
    taken, found = gain_curve(positive, decision)
    prevalence, tenth = float(positive.mean()), float(np.interp(0.1, taken, found))
    axes.plot(taken, found, color=COLOURS[0], label=f"the model (first tenth: {tenth:.1%})")
    axes.plot([0.0, prevalence, 1.0], [0.0, 1.0, 1.0], ":", color="0.3", linewidth=1, label="a perfect order")
    axes.plot([0, 1], [0, 1], "--", color="0.5", linewidth=1, label="chance")
    about = {"xlabel": "share of the rows, by falling decision", "ylabel": "share of the class that is found"}
    axes.set(title=f"gain, class {evaluated.positive}", **about)
    axes.title.set_fontsize(10)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize=8)


@draw_on.register(QuantityEvaluation)
def _draw_quantities(evaluated: QuantityEvaluation, figure: Figure) -> None:
    """Draw predictions over targets, and residuals, with the tube if the model has one."""
    figure.set_size_inches(11.0, 4.8)
    left, right = figure.subplots(1, 2)
    some = np.arange(len(evaluated.targets))
    if len(some) > DOTS:
        some = np.sort(np.random.default_rng(0).choice(len(some), DOTS, replace=False))
    targets, predicted = evaluated.targets[some], evaluated.predicted[some]
    dots: dict[str, Any] = {"s": 14, "alpha": 0.5, "color": COLOURS[0], "edgecolors": "none", "rasterized": True}
    columns = list(zip(targets.reshape(len(some), -1).T, predicted.reshape(len(some), -1).T, strict=True))
    for k, (column, of_column) in enumerate(columns):
        named = {"label": evaluated.model.outputs[k]} if evaluated.model.outputs else {}
        look_of = dots | {"color": COLOURS[k % len(COLOURS)]} | named
        left.scatter(column, of_column, **look_of)
        right.scatter(of_column, column - of_column, **look_of)
    ends = [min(targets.min(), predicted.min()), max(targets.max(), predicted.max())]
    left.plot(ends, ends, "--", color="0.4", linewidth=1, label="exact")
    left.set(title="predicted over true", xlabel="true", ylabel="predicted")
    right.axhline(0.0, linestyle="--", color="0.4", linewidth=1)
    tube = evaluated.model.about.get("epsilon")
    if isinstance(tube, int | float) and tube > 0.0:  # within which errors cost nothing in training
        look: dict[str, Any] = {"color": COLOURS[1], "alpha": 0.15, "linewidth": 0}
        low, high = (np.array(ends) + side * tube for side in (-1.0, 1.0))
        left.fill_between(ends, low, high, label=f"the tube, epsilon={tube:g}", **look)
        right.axhspan(-tube, tube, **look)
    right.set(title="residuals", xlabel="predicted", ylabel="true - predicted")
    for axes in (left, right):
        axes.title.set_fontsize(10)
        axes.grid(alpha=0.3)
    left.legend(loc="best", fontsize=8)
    scores = evaluated.scores
    errors = f"RMSE {scores.rmse:.4g}, MAE {scores.mae:.4g}, {scores.n_samples:,} rows"
    figure.suptitle(f"{evaluated.data}: R2 {format_measure('{:.3f}', scores.r2)}, {errors}", fontsize=11)


@draw_on.register(LevelEvaluation)
def _draw_levels(evaluated: LevelEvaluation, figure: Figure) -> None:
    """Draw the band between levels and its coverage: over the only feature, or over the rows, sorted by the level
    nearest to the median.
    """
    figure.set_size_inches(11.0, 4.8)
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1.0))
    taus, column = evaluated.taus, evaluated.column
    order = np.argsort(evaluated.predicted[:, evaluated.middle] if column is None else column, kind="stable")
    if len(order) > DOTS:
        order = order[np.linspace(0, len(order) - 1, DOTS).round().astype(int)]
    across = np.arange(len(order)) if column is None else column[order]
    draw_band(left, across, evaluated.predicted[order], taus, edges=column is not None)
    dots: dict[str, Any] = {"s": 10, "alpha": 0.6, "color": COLOURS[1], "edgecolors": "none", "rasterized": True}
    left.scatter(across, evaluated.targets[order], label="true", zorder=3, **dots)
    title = f"predictions in ascending order of tau={taus[evaluated.middle]:g}" if column is None else "predictions"
    left.set(title=title, xlabel="rows" if column is None else "feature", ylabel="target")
    left.legend(loc="best", fontsize=8)
    scores = evaluated.scores
    assert isinstance(scores, LevelScores)
    right.plot([0, 1], [0, 1], "--", color="0.5", linewidth=1, label="exact")
    right.plot(taus, [level.coverage for level in scores.levels], "o-", color=COLOURS[0], label="observed")
    right.set(
        title="coverage of each level", xlabel="tau", ylabel="share of the targets below", xlim=(0, 1), ylim=(0, 1)
    )
    right.legend(loc="best", fontsize=8)
    for axes in (left, right):
        axes.title.set_fontsize(10)
        axes.grid(alpha=0.3)
    crossed = f"{scores.crossings:,} of {scores.n_samples:,} rows cross" + ", sorted" * evaluated.model.non_crossing
    figure.suptitle(f"{evaluated.data}: mean loss {scores.mean_loss:.4g}, {crossed}", fontsize=11)


@draw_on.register(LabelEvaluation)
def _draw_labels(evaluated: LabelEvaluation, figure: Figure) -> None:
    """Draw the number of rows and F1 of each label, the most frequent labels first."""
    scores = evaluated.scores
    order = np.argsort(-scores.rows, kind="stable")[:NAMED]
    figure.set_size_inches(11.0, max(3.0, 0.3 * len(order) + 1.2))
    left, right = figure.subplots(1, 2, sharey=True)
    places, names = np.arange(len(order)), [scores.names[k] for k in order]
    left.barh(places - 0.2, scores.rows[order], 0.4, color=COLOURS[0], label="rows that have it")
    left.barh(places + 0.2, scores.predicted[order], 0.4, color=COLOURS[1], label="rows for which it is predicted")
    left.set_yticks(places, names)
    left.invert_yaxis()
    left.set(title="labels", xlabel="rows")
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2, fontsize=8, frameon=False)
    right.barh(places, np.nan_to_num(scores.f1[order]), 0.5, color=COLOURS[0])
    right.set(title="F1 of each label", xlabel="F1", xlim=(0.0, 1.0))
    for axes in (left, right):
        axes.title.set_fontsize(10)
        axes.grid(alpha=0.3, axis="x")
    figure.suptitle(f"{evaluated.data}: {scores.accuracy:.2%} of {scores.n_samples:,} rows all right", fontsize=11)
