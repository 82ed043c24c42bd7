"""The picture of an evaluation: confusion matrix, of two classes ROC and precision-recall curves, and reliability."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from svmkit.cli.evaluating.evaluation import Evaluation
from svmkit.errors import InputError, SvmkitError
from svmkit.plotting import COLOURS, draw_reliability
from svmkit.runtime import files
from svmkit.scoring.probability_scores import Reliability

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NUMBERED = 20  # classes up to which the entries of the matrix are written
NAMED = 40  # classes up to which each has its name at the axes; of more, about `NUMBERED` have


def require_drawable(path: str) -> None:
    """Check that matplotlib can write such a file.

    Raises
    ------
    InputError
        The ending of the name is no format that matplotlib knows, or the file cannot be written.
    """
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    if Path(path).suffix.lower().removeprefix(".") not in known:
        raise InputError(f"cannot draw {path}: the name has to end in .png, .svg or .pdf")
    files.require_writable(path)


def new_figure(size: tuple[float, float]) -> Figure:
    """Return a figure that pyplot does not manage, `size` in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: str) -> SvmkitError | None:
    """Write a picture; return the error if that fails, since the numbers are to be shown all the same."""
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        return SvmkitError(f"cannot write {path}: {error.strerror or error}; the numbers are whole without it")
    return None


def draw(evaluated: Evaluation, path: str) -> SvmkitError | None:
    """Write the picture of an evaluation; return the error if that fails."""
    positive, decision = evaluated.one_against_rest()
    curves = positive.ndim == 1 and positive.any() and not positive.all()
    reliability, n_curves = evaluated.reliability(), 2 if curves else 0
    width, height = (14.0, 4.4) if curves else _size(len(evaluated.labels))
    more = 0 if reliability is None else 1
    figure = new_figure((width + more * max(4.6, height), height))
    axes = figure.subplots(1, 1 + n_curves + more, squeeze=False)[0]
    _confusion(axes[0], evaluated)
    if curves:
        _curves(axes[1], axes[2], evaluated, positive, decision)
    if reliability is not None:
        _reliability(axes[-1], evaluated, reliability)
    scores = evaluated.scores
    figure.suptitle(f"{evaluated.data}: {scores.accuracy:.2%} accuracy, {scores.n_samples:,} rows", fontsize=11)
    return save(figure, path)


def _size(n_classes: int) -> tuple[float, float]:
    side = min(5.0 + 0.25 * max(n_classes - 4, 0), 14.0)
    return side + 0.8, side


def _confusion(axes: Any, evaluated: Evaluation) -> None:
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
    at = evaluated.labels.index(str(evaluated.positive))
    chosen = evaluated.predicted == at
    right_ones = chosen & (evaluated.truth == at)
    hit = right_ones.sum() / max(positive.sum(), 1)
    false = (chosen & ~right_ones).sum() / max((~positive).sum(), 1)
    star = {"marker": "*", "markersize": 14, "linestyle": "", "color": COLOURS[1], "zorder": 5, "label": "the model"}
    left.plot([false], [hit], **star)
    if chosen.any():
        right.plot([hit], [right_ones.sum() / chosen.sum()], **star)
    left.set(
        title=f"ROC, class {evaluated.positive}", xlabel="false positive rate", ylabel="recall (true positive rate)"
    )
    right.set(title=f"precision and recall, class {evaluated.positive}", xlabel="recall", ylabel="precision")
    for axes in (left, right):
        axes.title.set_fontsize(10)
        axes.grid(alpha=0.3)
        axes.legend(loc="best", fontsize=8)


def _reliability(axes: Any, evaluated: Evaluation, reliability: Reliability) -> None:
    """Draw how often what was predicted came true, with the range of chance."""
    assert evaluated.probabilities is not None
    look = {"fmt": "o", "color": COLOURS[0], "capsize": 3, "markersize": 5, "label": "observed, 95%"}
    draw_reliability(axes, [(reliability, look)])
    scores = evaluated.probabilities
    title = f"class {evaluated.positive}" if evaluated.positive is not None else "each class"
    axes.set_title(f"reliability, {title}: log loss {scores.log_loss:.4f}, Brier {scores.brier_score:.4f}", fontsize=10)
    axes.legend(loc="upper left", fontsize=8)
