"""The report of an evaluation: tables for a reader, whole for few classes and the worst for many, and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from svmkit.cli.common import align, rows
from svmkit.cli.evaluating.evaluation import Evaluation, LabelEvaluation, QuantityEvaluation, RankEvaluation
from svmkit.cli.evaluating.quality import (
    base_rate,
    describe_pairs,
    in_digits,
    label_rows,
    largest,
    level_rows,
    mean_of_targets,
)
from svmkit.errors import InputError, SvmkitError
from svmkit.plotting import COLOURS, draw_band, draw_reliability
from svmkit.runtime import files
from svmkit.runtime.terminal import say
from svmkit.scoring.metric import title as in_words
from svmkit.scoring.quantities import LevelScores
from svmkit.scoring.ranks import NAMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WHOLE = 12  # classes up to which tables are whole
MOST = 10  # classes and confusions that are shown of more
NUMBERED = 20  # classes up to which the entries of the matrix are written
NAMED = 40  # classes up to which each has its name at the axes; of more, about `NUMBERED` have
DOTS = 20_000  # predicted quantities of which a picture shows each; of more, a random part


def show(result: dict[str, Any]) -> None:
    """Print the result of `svmkit evaluate`."""
    of_quantities, of_orders = "mean_rmse" in result, "concordance" in result
    if of_orders:
        measures = [("orders", describe_pairs(result))]
        for key in NAMES:
            words = in_words(key) + (f"@{result['ndcg_at']}" if key == "ndcg" else "")
            measures.append((words, in_digits("{:.4f}", result[key])))
    elif of_quantities:
        measures = [
            ("R2", in_digits("{:.4f}", result["test_r2"])),
            ("RMSE", f"{result['test_rmse']:.6g} ({mean_of_targets(result)})"),
            ("MAE", f"{result['test_mae']:.6g}"),
            ("largest error", f"{result['largest_error']:.6g}"),
            ("bias", f"{result['bias']:.6g} (mean of predicted - true)"),
        ]
        measures = level_rows({"": result}, result["non_crossing"]) if "levels" in result else measures
    elif "labels" in result:
        measures = label_rows(result | {"accuracy": result["test_accuracy"]})
    else:
        positive = result["positive"]
        against = " (mean of each class against the rest)" if positive is None else f" (class {positive})"
        measures = [
            ("accuracy", f"{result['test_accuracy']:.2%} ({largest(result)})"),
            ("balanced accuracy", f"{result['balanced_accuracy']:.2%}"),
        ]
        for title, key in (("ROC AUC", "roc_auc"), ("average precision", "average_precision")):
            area = "not defined: rows of one class only" if result[key] is None else f"{result[key]:.4f}{against}"
            measures.append((title, area))
        if result["log_loss"] is not None:
            for title, key in (("log loss", "log_loss"), ("Brier score", "brier_score")):
                measures.append((title, f"{result[key]:.4f} ({base_rate(result, key)})"))
    ending = (f"{result['n_support']:,} vectors", f"{result['predict_s']:.2f} s", result["plot"])
    data = ("data", f"{result['data']}: {result['n_test']:,} rows")
    rows([data, *measures, *zip(("support", "time", "picture"), ending, strict=True)])
    if result["confusion"] is not None:
        say("", *by_class(result), "", *confusion(**result["confusion"]))


def by_class(result: dict[str, Any]) -> list[str]:
    """Return lines with precision, recall, F1 and rows of each class; of many, those of the lowest F1."""
    names = result["confusion"]["labels"]
    title = "class"
    if len(names) > WHOLE:
        present = [name for name in names if result["rows"][name]]
        names = sorted(present, key=lambda name: (result["f1"][name] or 0.0, name))[:MOST]
        title = f"worst of {len(result['rows'])} classes"
    lines = [[title, "precision", "recall", "F1", "rows"]]
    for name in names:
        shares = [result[key].get(name) for key in ("precision", "recall", "f1")]
        cells = ["-" if share is None else f"{share:.2%}" for share in shares]
        lines.append([name, *cells, f"{result['rows'][name]:,}"])
    return align(lines, left=[0])


def confusion(labels: list[str], matrix: list[list[int]]) -> list[str]:
    """Return the confusion matrix as lines, true classes down and predictions across; of many, the largest entries."""
    if len(labels) <= WHOLE:
        head = ["true \\ predicted", *labels]
        body = [[name, *(f"{n:,}" for n in line)] for name, line in zip(labels, matrix, strict=True)]
        return align([head, *body], left=[0])
    entries = ((n, i, j, sum(line)) for i, line in enumerate(matrix) for j, n in enumerate(line))
    wrong = [(n, labels[i], labels[j], of) for n, i, j, of in entries if n and i != j]
    wrong.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    if not wrong:
        return ["no row was confused"]
    lines = [["most often confused", "taken for", "rows", "of"]]
    lines += [[true, taken, f"{n:,}", f"{of:,}"] for n, true, taken, of in wrong[:MOST]]
    return align(lines, left=[0])


def require_drawable(path: str) -> None:
    """Raise InputError unless matplotlib knows the ending of the name and the file can be written."""
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    if Path(path).suffix.lower().removeprefix(".") not in known:
        raise InputError(f"cannot draw {path}: the name has to end in .png, .svg or .pdf")
    files.require_writable(path)


def draw(
    evaluated: Evaluation | QuantityEvaluation | RankEvaluation | LabelEvaluation, path: str
) -> SvmkitError | None:
    """Write the picture; return the error if that fails, since the numbers are to be shown all the same."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if isinstance(evaluated, RankEvaluation):
        raise InputError("there is no picture of orders: leave --plot out")
    figure = Figure(layout="constrained")  # which pyplot does not manage
    FigureCanvasAgg(figure)
    if isinstance(evaluated, QuantityEvaluation) and evaluated.model.levels:
        _draw_levels(figure, evaluated)
    elif isinstance(evaluated, QuantityEvaluation):
        _draw_quantities(figure, evaluated)
    elif isinstance(evaluated, LabelEvaluation):
        _draw_labels(figure, evaluated)
    else:
        _draw_classes(figure, evaluated)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        return SvmkitError(f"cannot write {path}: {error.strerror or error}; the numbers are whole without it")
    return None


def _draw_classes(figure: Figure, evaluated: Evaluation) -> None:
    positive, decision = evaluated.one_against_rest()
    curves = positive.ndim == 1 and bool(positive.any()) and not positive.all()
    reliability, n_classes = evaluated.reliability(), len(evaluated.labels)
    height = 4.4 if curves else min(5.0 + 0.25 * max(n_classes - 4, 0), 14.0)
    width = 14.0 if curves else height + 0.8
    more = 0 if reliability is None else 1
    figure.set_size_inches(width + more * max(4.6, height), height)
    axes = figure.subplots(1, 1 + 2 * curves + more, squeeze=False)[0]
    _matrix(axes[0], evaluated)
    if curves:
        _curves(axes[1], axes[2], evaluated, positive, decision)
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


def _matrix(axes: Any, evaluated: Evaluation) -> None:
    """Draw the matrix in shares of the true class, so that a rare class is as visible as a frequent one."""
    from matplotlib.colors import PowerNorm
    from sklearn.metrics import ConfusionMatrixDisplay

    counts, labels = evaluated.confusion(), evaluated.labels
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    numbered = len(labels) <= NUMBERED
    shown = ConfusionMatrixDisplay(shares, display_labels=labels)
    shown.plot(ax=axes, cmap="Blues", include_values=numbered, values_format=".2f", colorbar=not numbered)
    # many classes: the square root, or the few rows of a confusion would hardly be seen
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


def _curves(left: Any, right: Any, evaluated: Evaluation, positive: np.ndarray, decision: np.ndarray) -> None:
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


def _draw_quantities(figure: Figure, evaluated: QuantityEvaluation) -> None:
    """Draw predictions over targets, and residuals, with the tube if the model tells of it."""
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
    figure.suptitle(f"{evaluated.data}: R2 {in_digits('{:.3f}', scores.r2)}, {errors}", fontsize=11)


def _draw_levels(figure: Figure, evaluated: QuantityEvaluation) -> None:
    """Draw the band between levels, and how much it covers: over the only feature, or over the rows, sorted by the
    level nearest to the median.
    """
    figure.set_size_inches(11.0, 4.8)
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1.0))
    taus, column = [loss.params["tau"] for loss in evaluated.model.levels], evaluated.column
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


def _draw_labels(figure: Figure, evaluated: LabelEvaluation) -> None:
    """Draw how many rows have each label, and F1 of it, the most frequent labels first."""
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
