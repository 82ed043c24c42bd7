"""What predicted quantities are worth on labelled data: the measures, the lines for a reader and the picture."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from svmkit.cli.common import rows
from svmkit.cli.evaluating import quality
from svmkit.cli.evaluating.evaluation_picture import new_figure, save
from svmkit.data import Dataset
from svmkit.data.classes import targets_of
from svmkit.errors import SvmkitError
from svmkit.model.model import SVMModel
from svmkit.plotting import COLOURS
from svmkit.scoring.quantities import QuantityScores

OF_CLASSES = (
    *("test_accuracy", "majority", "majority_share", "balanced_accuracy", "recall", "precision", "f1", "rows"),
    *("never_predicted", "unknown_labels", "positive", "roc_auc", "average_precision", "confusion"),
)
"""The keys of `svmkit evaluate --json` that are about classes, null for quantities."""
DOTS = 20_000  # points of which a picture shows each; of more, a random part


@dataclass(frozen=True)
class QuantityEvaluation:
    """Predicted quantities beside the targets.

    Attributes
    ----------
    model : SVMModel
        The model.
    data : str
        The name of the data.
    targets, predicted : ndarray of shape (n_samples,), float64
        The true quantities and the predictions.
    seconds : float, default=0.0
        The time of the prediction.
    """

    model: SVMModel
    data: str
    targets: np.ndarray
    predicted: np.ndarray
    seconds: float = 0.0

    @classmethod
    def from_model(cls, model: SVMModel, test: Dataset, n_threads: int | None) -> QuantityEvaluation:
        """Predict the targets of some rows, beside the true ones.

        Parameters
        ----------
        model : SVMModel
            The model.
        test : Dataset
            The rows.
        n_threads : int or None
            The number of threads; None uses all.

        Raises
        ------
        InputError
            The data have no labels, or text.
        """
        began = time.perf_counter()
        predicted = model.predict(test.X, n_threads=n_threads)
        return cls(model, test.name, targets_of(test), predicted, time.perf_counter() - began)

    @cached_property
    def scores(self) -> QuantityScores:
        """R2, RMSE and MAE."""
        return QuantityScores.from_predictions(self.predicted, self.targets)

    @property
    def notes(self) -> list[str]:
        """What has to be said: why the model may be no use."""
        doubt = quality.doubt(self.model, train=None, test=self.scores, status=str(self.model.about.get("status", "")))
        return [doubt] if doubt else []

    def result(self, model: str) -> dict[str, Any]:
        """Return the keys and values of `svmkit evaluate --json`; `model` is the model as the command names it."""
        scores, errors = self.scores, self.predicted - self.targets
        return {
            "model": model,
            "data": self.data,
            "task": self.model.task,
            "n_test": scores.n_samples,
            **dict.fromkeys(OF_CLASSES),
            "test_r2": scores.r2,
            "test_rmse": scores.rmse,
            "test_mae": scores.mae,
            "mean_rmse": scores.spread,
            "bias": float(errors.mean()),
            "largest_error": float(np.abs(errors).max()),
            "warning": next(iter(self.notes), None),
            "n_support": int(self.model.n_support.sum()),
            "predict_s": self.seconds,
        }


def draw(evaluated: QuantityEvaluation, path: str) -> SvmkitError | None:
    """Draw predictions over targets, and residuals; return the error if the file cannot be written."""
    figure = new_figure((11.0, 4.8))
    left, right = figure.subplots(1, 2)
    some = np.arange(len(evaluated.targets))
    if len(some) > DOTS:
        some = np.sort(np.random.default_rng(0).choice(len(some), DOTS, replace=False))
    targets, predicted = evaluated.targets[some], evaluated.predicted[some]
    dots: dict[str, Any] = {"s": 14, "alpha": 0.5, "color": COLOURS[0], "edgecolors": "none", "rasterized": True}
    left.scatter(targets, predicted, **dots)
    ends = [min(targets.min(), predicted.min()), max(targets.max(), predicted.max())]
    left.plot(ends, ends, "--", color="0.4", linewidth=1, label="exact")
    left.set(title="predicted over true", xlabel="true", ylabel="predicted")
    right.scatter(predicted, targets - predicted, **dots)
    right.axhline(0.0, linestyle="--", color="0.4", linewidth=1)
    _shade_tube(left, right, ends, evaluated.model.about.get("epsilon"))
    right.set(title="residuals", xlabel="predicted", ylabel="true - predicted")
    for axes in (left, right):
        axes.title.set_fontsize(10)
        axes.grid(alpha=0.3)
    left.legend(loc="best", fontsize=8)
    scores = evaluated.scores
    r2 = quality.in_digits("{:.3f}", scores.r2)
    errors = f"RMSE {scores.rmse:.4g}, MAE {scores.mae:.4g}, {scores.n_samples:,} rows"
    figure.suptitle(f"{evaluated.data}: R2 {r2}, {errors}", fontsize=11)
    return save(figure, path)


def _shade_tube(left: Any, right: Any, ends: list[float], epsilon: Any) -> None:
    """Shade the tube within which errors cost nothing in training, if the model tells of it."""
    if not isinstance(epsilon, int | float) or epsilon <= 0.0:
        return
    look: dict[str, Any] = {"color": COLOURS[1], "alpha": 0.15, "linewidth": 0}
    low, high = (np.array(ends) + side * epsilon for side in (-1.0, 1.0))
    left.fill_between(ends, low, high, label=f"the tube, epsilon={epsilon:g}", **look)
    right.axhspan(-epsilon, epsilon, **look)


def show(result: dict[str, Any]) -> None:
    """Print the result of `QuantityEvaluation.result`."""
    rows(
        [
            ("data", f"{result['data']}: {result['n_test']:,} rows"),
            ("R2", quality.in_digits("{:.4f}", result["test_r2"])),
            ("RMSE", f"{result['test_rmse']:.6g} ({quality.mean_of_targets(result)})"),
            ("MAE", f"{result['test_mae']:.6g}"),
            ("largest error", f"{result['largest_error']:.6g}"),
            ("bias", f"{result['bias']:.6g} (mean of predicted - true)"),
            ("support", f"{result['n_support']:,} vectors"),
            ("time", f"{result['predict_s']:.2f} s"),
            ("picture", result["plot"]),
        ]
    )
