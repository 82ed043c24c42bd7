"""What predictions of quantities are worth, beside scikit-learn, and the metrics that may be named."""

import math

import numpy as np
import pytest
from sklearn import metrics
from sklearn.metrics import get_scorer, get_scorer_names

from svmkit.errors import InputError
from svmkit.losses.residual import Quantile
from svmkit.scoring.metric import Metric, require_metric
from svmkit.scoring.quantities import LevelMetric, LevelScores, QuantityMetric, QuantityScores
from svmkit.tasks import task_named

RNG = np.random.default_rng(0)
TARGETS = RNG.gamma(2.0, 3.0, 50)
PREDICTED = TARGETS * RNG.uniform(0.5, 1.6, 50)


def test_the_measures_are_those_of_scikit_learn():
    found = QuantityScores.from_predictions(PREDICTED, TARGETS)
    assert found.n_samples == 50 and found.accuracy is None and found.beats_mean
    assert found.r2 == pytest.approx(metrics.r2_score(TARGETS, PREDICTED), rel=1e-12)
    assert found.rmse == pytest.approx(metrics.root_mean_squared_error(TARGETS, PREDICTED), rel=1e-12)
    assert found.mae == pytest.approx(metrics.mean_absolute_error(TARGETS, PREDICTED), rel=1e-12)
    mean = QuantityScores.from_predictions(np.full(50, TARGETS.mean()), TARGETS)
    assert mean.r2 == pytest.approx(0.0, abs=1e-12) and mean.rmse == pytest.approx(found.spread, rel=1e-12)
    assert found.summary() == {"r2": found.r2, "rmse": found.rmse, "mae": found.mae, "mean_rmse": found.spread}


def test_targets_that_are_all_the_same_have_no_r2():
    found = QuantityScores.from_predictions(np.array([0.1, 0.3, 0.1]), np.full(3, 0.1))
    assert math.isnan(found.r2) and found.spread == 0.0 and found.rmse == pytest.approx(0.2 / math.sqrt(3))
    assert not QuantityScores.from_predictions(-TARGETS, TARGETS).beats_mean


@pytest.mark.parametrize("name", [name for name in get_scorer_names()])
def test_every_scorer_measures_classes_or_quantities(name):
    is_regression = "regression" in getattr(get_scorer(name)._score_func, "__module__", "")
    if not is_regression:
        with pytest.raises(InputError):
            QuantityMetric.from_scorer(name)
        return
    found, want = QuantityMetric.from_scorer(name), get_scorer(name)
    value = want._sign * want._score_func(TARGETS, PREDICTED, **want._kwargs)
    assert found.value(found.codes(TARGETS), PREDICTED) == pytest.approx(value, rel=1e-12)
    assert not found.needs_decisions and not found.is_share and "%" not in found.format(value)
    with pytest.raises(InputError, match=f"metric {name} measures quantities, not classes"):
        Metric.from_name(name, np.array([0, 1]), np.array([5, 5]))


@pytest.mark.parametrize(
    ("short", "name"), [("rmse", "neg_root_mean_squared_error"), ("mae", "neg_mean_absolute_error"), ("R2", "r2")]
)
def test_short_names(short, name):
    assert require_metric(short) == QuantityMetric.from_scorer(short).name == name


def test_a_metric_that_is_not_defined_for_some_targets_is_nan():
    found = QuantityMetric.from_scorer("neg_mean_squared_log_error")
    assert (
        math.isnan(found.value(TARGETS, PREDICTED - 10.0))
        and found.score_predictions(PREDICTED - 10.0, TARGETS) is None
    )


def test_the_metric_of_some_labels():
    none = np.empty(0)
    quantities, classes = (task_named(task).evaluation.metric for task in ("regress", "classify"))
    assert quantities(None, none, none).name == "r2" and quantities(None, none, none).note is None
    assert classes(None, np.array([0, 1]), np.array([0, 0, 1, 1])).name == "accuracy"
    with pytest.raises(InputError, match="accuracy measures classes, not quantities: give one of r2"):
        quantities("accuracy", none, none)
    with pytest.raises(InputError, match="r2 measures quantities"):
        classes("r2", np.array([0, 1]), np.array([0, 0, 1, 1]))


def test_levels_are_paired_from_the_outside_in():
    """Each level and each interval by its definition, of five levels and of four."""
    rng, every = np.random.default_rng(1), (0.05, 0.25, 0.5, 0.8, 0.9)
    for taus in (every, every[:4]):
        predicted = np.quantile(TARGETS, taus) + 0.1 * rng.normal(size=(50, len(taus)))
        found = LevelScores.from_levels([Quantile(tau) for tau in taus], predicted, TARGETS)
        assert [level.tau for level in found.levels] == list(taus)
        for level, h in zip(found.levels, predicted.T, strict=True):
            assert level.loss == pytest.approx(metrics.mean_pinball_loss(TARGETS, h, alpha=level.tau))
            assert level.coverage == np.mean(h >= TARGETS)
        pairs = [(0, 4), (1, 3)] if len(taus) == 5 else [(0, 3), (1, 2)]
        assert [(i.lower, i.upper) for i in found.intervals] == [(taus[low], taus[high]) for low, high in pairs]
        for interval, (low, high) in zip(found.intervals, pairs, strict=True):
            assert interval.nominal == pytest.approx(taus[high] - taus[low])
            assert interval.coverage == np.mean((predicted[:, low] < TARGETS) & (predicted[:, high] >= TARGETS))
        middle = QuantityScores.from_predictions(predicted[:, taus.index(0.5)], TARGETS)
        assert (found.r2, found.rmse, found.mae) == (middle.r2, middle.rmse, middle.mae)
        assert found.mean_loss == pytest.approx(np.mean([level.loss for level in found.levels]))
        metric = LevelMetric.from_losses([Quantile(tau) for tau in taus])
        assert metric.value(TARGETS, predicted) == metric.score_counts(found) == pytest.approx(-found.mean_loss)
        assert metric.name == "neg_mean_pinball_loss" and len(metric.classes) == 0


def test_levels_are_compared_with_the_best_constants():
    taus = (0.2, 0.6)
    constants = [
        LevelScores.from_levels([Quantile(tau)], np.zeros((50, 1)), TARGETS).levels[0].constant for tau in taus
    ]
    for tau, constant in zip(taus, constants, strict=True):
        best = metrics.mean_pinball_loss(TARGETS, np.full(50, np.quantile(TARGETS, tau)), alpha=tau)
        assert constant == pytest.approx(best, rel=1e-3)
    level = LevelScores.from_levels([Quantile(tau) for tau in taus], np.column_stack([TARGETS, TARGETS]), TARGETS)
    assert level.beats_mean and level.mean_loss == 0.0
    shifted = LevelScores.from_levels(
        [Quantile(tau) for tau in taus], np.column_stack([TARGETS, TARGETS]) + 100.0, TARGETS
    )
    assert not shifted.beats_mean
