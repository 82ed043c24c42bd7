"""The quality of predicted quantities: R2, RMSE and MAE, and the other scorers of regression of scikit-learn; for
several levels, such as quantiles, the loss and the coverage of each, and how often they cross.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from svmkit.errors import InputError
from svmkit.losses.base import Loss
from svmkit.scoring.metric import (
    MAE,
    OF_LEVELS,
    OF_QUANTITIES,
    R2,
    RMSE,
    Metric,
    measures_quantities,
    require_metric,
)

ERRORS = "r2", "rmse", "mae"
"""The measures of all predicted quantities."""
LEAST = 5e-5  # R2 of a model that beats the mean: smaller values are shown as 0.0000


@dataclass(frozen=True)
class QuantityScores:
    """The errors of predicted quantities; `rmse`, `mae` and `spread` are in units of the targets."""

    n_samples: int
    # 1 - sum (t - h)^2 / sum (t - mean t)^2 for targets t and predictions h: 1 is exact, 0 as good as the mean of these
    # targets; nan if all targets are the same
    r2: float
    rmse: float
    mae: float
    spread: float  # the RMSE of predicting the mean of these targets

    @classmethod
    def from_predictions(cls, predicted: np.ndarray, targets: np.ndarray) -> QuantityScores:
        """Compare predictions with targets, both (n_samples,) numbers; of several columns the means over them."""
        targets = np.asarray(targets, dtype=np.float64)
        if targets.ndim == 2:
            each = [cls.from_predictions(*columns) for columns in zip(predicted.T, targets.T, strict=True)]
            means = {
                name: float(np.mean([vars(one)[name] for one in each])) for name in ("r2", "rmse", "mae", "spread")
            }
            return cls(len(targets), **means)
        errors = targets - predicted
        with np.errstate(over="ignore", invalid="ignore"):
            squares, variance = float(np.mean(errors * errors)), float(targets.var())
        if targets.min() == targets.max():
            variance = 0.0  # without the rounding error of the mean
        r2 = 1.0 - squares / variance if variance > 0.0 else math.nan
        return cls(len(targets), r2, math.sqrt(squares), float(np.abs(errors).mean()), math.sqrt(variance))

    @property
    def accuracy(self) -> None:
        """None: quantities are not right or wrong."""
        return None

    @property
    def columns(self) -> dict[str, float]:
        """The measures that are columns of a table of several runs."""
        return {name: getattr(self, name) for name in ERRORS}

    @property
    def logged(self) -> dict[str, float]:
        """The further scalars of a run."""
        return {"mean_rmse": self.spread}

    @property
    def kept(self) -> dict[str, float]:
        """The test scores that a model keeps."""
        return {name: value for name in ERRORS if not math.isnan(value := getattr(self, name))}

    @property
    def baseline(self) -> str:
        """The prediction that a useful model beats, in words."""
        return "the mean of the targets"

    @property
    def beats_mean(self) -> bool:
        """Whether the predictions are better than the mean of the targets, or all targets are the same."""
        return not self.r2 <= LEAST

    def summary(self) -> dict[str, Any]:
        """Return the measures, as `svmkit train --json` prints them."""
        return {"r2": self.r2, "rmse": self.rmse, "mae": self.mae, "mean_rmse": self.spread}


class QuantityMetric(Metric):
    """A metric of predicted quantities; greater is better, so that errors are negative, as in scikit-learn."""

    @classmethod
    def from_scorer(cls, name: str | None = None) -> QuantityMetric:
        """Return the metric of a scorer, by default R2; raise InputError if there is none, or it measures classes."""
        name = R2 if name is None else require_metric(name)
        if not measures_quantities(name):
            raise InputError(f"metric {name} measures classes, not quantities: give one of {', '.join(OF_QUANTITIES)}")
        return cls(name, np.empty(0))

    @property
    def needs_decisions(self) -> bool:
        """False: predictions suffice."""
        return False

    def codes(self, labels: np.ndarray) -> np.ndarray:
        """Return targets (n_samples,) in the form of `value`."""
        return np.asarray(labels, dtype=np.float64)

    def score_counts(self, scores: QuantityScores) -> float | None:
        """Return the metric if it follows from scores that have been counted already; None otherwise."""
        return {R2: scores.r2, RMSE: -scores.rmse, MAE: -scores.mae}.get(self.name)

    def value(
        self, truth: np.ndarray, predicted: np.ndarray, decision: np.ndarray | None = None, rows: Any = None
    ) -> float:
        """Return the metric of predicted quantities; nan if it is not defined for them.

        Parameters
        ----------
        truth, predicted : ndarray of shape (n_samples,) or (n_samples, n_outputs), float64
            The targets, and the predictions.
        decision, rows : None
            Not used.
        """
        if self.name in OF_QUANTITIES:
            return self.score_counts(QuantityScores.from_predictions(predicted, truth))  # type: ignore[return-value]
        from sklearn.metrics import get_scorer

        scorer: Any = get_scorer(self.name)
        try:
            return float(scorer._sign * scorer._score_func(truth, predicted, **scorer._kwargs))
        except ValueError:  # such as for a logarithm of negative numbers
            return math.nan


class LevelScore(NamedTuple):
    """The scores of the predictions of one level."""

    tau: float
    loss: float  # the mean over the rows: for quantiles the pinball loss
    constant: float  # the mean loss of the best constant for these targets
    coverage: float  # the share of the rows whose target is at most the prediction


class Interval(NamedTuple):
    """How many targets lie between two levels."""

    lower: float  # the two tau, and the share of the rows that would lie between exact quantiles
    upper: float
    nominal: float
    coverage: float


@dataclass(frozen=True)
class LevelScores(QuantityScores):
    """The scores of several levels; R2, RMSE and MAE are for the level nearest to the median."""

    levels: tuple[LevelScore, ...] = ()
    intervals: tuple[Interval, ...] = ()  # from the outer ones to the inner ones
    crossings: int = 0  # rows in which a level lies above a later one before predictions are sorted

    @classmethod
    def from_levels(
        cls, losses: Sequence[Loss], predicted: np.ndarray, targets: np.ndarray, decision: np.ndarray | None = None
    ) -> LevelScores:
        """Compare predictions with targets.

        Parameters
        ----------
        losses : sequence of Loss, ascending levels, such as `SVMModel.levels`
        predicted : ndarray of shape (n_samples, n_levels)
        targets : ndarray of shape (n_samples,)
        decision : ndarray of shape (n_samples, n_levels), the predictions before they are sorted; None is `predicted`
        """
        targets = np.asarray(targets, dtype=np.float64)
        taus = np.array([loss.params["tau"] for loss in losses])
        middle = QuantityScores.from_predictions(predicted[:, int(np.argmin(np.abs(taus - 0.5)))], targets)
        levels = tuple(
            LevelScore(float(tau), _mean(loss, targets, h), least_constant(loss, targets), float((targets <= h).mean()))
            for tau, loss, h in zip(taus, losses, predicted.T, strict=True)
        )
        pairs = [(low, len(taus) - 1 - low) for low in range(len(taus) // 2)]
        inside = [(targets > predicted[:, low]) & (targets <= predicted[:, high]) for low, high in pairs]
        intervals = tuple(
            Interval(float(taus[low]), float(taus[high]), float(taus[high] - taus[low]), float(within.mean()))
            for (low, high), within in zip(pairs, inside, strict=True)
        )
        crossings = int((np.diff(predicted if decision is None else decision, axis=1) < 0.0).any(axis=1).sum())
        return cls(**vars(middle), levels=levels, intervals=intervals, crossings=crossings)

    @property
    def mean_loss(self) -> float:
        """The mean of the losses of all levels."""
        return float(np.mean([level.loss for level in self.levels]))

    @property
    def beats_mean(self) -> bool:
        constant = float(np.mean([level.constant for level in self.levels]))
        return self.mean_loss < (1.0 - LEAST) * constant or constant == 0.0

    @property
    def columns(self) -> dict[str, float]:
        inner = {"coverage": self.intervals[0].coverage} if self.intervals else {}
        return super().columns | inner

    @property
    def baseline(self) -> str:
        return "a constant for each level"

    def summary(self) -> dict[str, Any]:
        return super().summary() | {
            "mean_loss": self.mean_loss,
            "levels": [level._asdict() for level in self.levels],
            "intervals": [interval._asdict() for interval in self.intervals],
            "crossings": self.crossings,
        }


class LevelMetric(QuantityMetric):
    """Minus the mean loss of some levels, for quantiles the pinball loss; made by `from_losses`."""

    losses: tuple[Loss, ...] = ()

    @classmethod
    def from_losses(cls, losses: Sequence[Loss]) -> LevelMetric:
        """Return the metric of the losses of some levels."""
        metric = cls(metric_name(losses[0]), np.empty(0))
        object.__setattr__(metric, "losses", tuple(losses))
        return metric

    def score_counts(self, scores: QuantityScores) -> float | None:
        return -scores.mean_loss if isinstance(scores, LevelScores) else None

    def value(
        self, truth: np.ndarray, predicted: np.ndarray, decision: np.ndarray | None = None, rows: Any = None
    ) -> float:
        """Return minus the mean loss of predicted levels.

        Parameters
        ----------
        truth : ndarray of shape (n_samples,), float64
            The targets.
        predicted : ndarray of shape (n_samples, n_levels), float64
            The predictions of each level.
        decision, rows : None
            Not used.
        """
        columns = predicted.reshape(len(truth), -1).T
        return -float(np.mean([_mean(loss, truth, h) for loss, h in zip(self.losses, columns, strict=True)]))


def metric_of_levels(name: str | None, levels: Sequence[Loss] = ()) -> LevelMetric | None:
    """Return the metric of several levels, or of one level if requested by its name; None for other metrics.

    Raises InputError: the name belongs to other levels than these, or to levels if there are none.
    """
    if len(levels) > 1 or (name in OF_LEVELS and levels and "tau" in levels[0].params):
        own = metric_name(levels[0])
        if name not in (None, own):
            raise InputError(f"metric {name} does not measure levels of {levels[0].name}: leave it out, or give {own}")
        return LevelMetric.from_losses(levels)
    if name in OF_LEVELS:
        raise InputError(f"metric {name} measures the levels of a loss: give loss quantile or expectile")
    return None


def metric_name(loss: Loss) -> str:
    """Return the name of the metric of a loss of levels, in scikit-learn's style."""
    return f"neg_mean_{'pinball' if loss.name == 'quantile' else loss.name}_loss"


def least_constant(loss: Loss, targets: np.ndarray) -> float:
    """Return the mean loss of the best constant prediction: the best bias of a model whose weights are all zero."""
    from svmkit.problems.bias import best_bias  # here: it needs numba
    from svmkit.problems.sums import Record

    terms = loss.terms(targets, np.ones(len(targets)))
    return _mean(loss, targets, best_bias(Record.from_terms(terms), targets))


def _mean(loss: Loss, targets: np.ndarray, h: np.ndarray | float) -> float:
    return float(loss.value(targets, np.broadcast_to(h, targets.shape)).mean())
