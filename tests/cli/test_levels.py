"""Several quantiles at once on the command line: report, `evaluate` and its picture, `predict`, `tune`, refusals."""

import json

import numpy as np
import pytest
from scipy.stats import expectile, norm
from sklearn.metrics import mean_pinball_loss

from svmkit import SVMModel
from svmkit.errors import InputError
from svmkit.losses import Expectile, Quantile
from svmkit.scoring.quantities import LevelScores, least_constant
from svmkit.training.settings import Settings, resolve

pytestmark = pytest.mark.usefixtures("alone", "cells_here")

TAUS = (0.1, 0.5, 0.9)
GIVEN = ("wave.csv", "--label", "t", "--task", "regress", "--loss", "quantile", "-o", "tau=0.1,0.5,0.9", "-C", "10")


@pytest.fixture
def wave():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 4.0, 240)
    t = np.sin(2.0 * x) + (0.1 + 0.2 * x) * rng.normal(size=240)
    np.savetxt("wave.csv", np.c_[x, t], delimiter=",", header="x,t", comments="", fmt="%.6f")
    return x[:, None], t


@pytest.mark.slow
def test_a_model_of_three_levels_is_reported_evaluated_drawn_and_predicts_three_columns(svmkit, wave):
    X, t = wave
    found = svmkit("train", *GIVEN, "--no-track", "--out", "wave.model", "--non-crossing", "--json").json
    assert found["status"] == "converged" and found["gap"] <= 1e-3 and found["params"]["tau"] == list(TAUS)
    model = SVMModel.load("wave.model")
    assert model.non_crossing and model.levels == Quantile(TAUS).levels
    predicted = model.predict(X)
    scores, losses = (
        found["train_scores"],
        [loss.value(t, h).mean() for loss, h in zip(model.levels, predicted.T, strict=True)],
    )
    assert [level["loss"] for level in scores["levels"]] == pytest.approx(losses, rel=1e-4)  # of rounded features
    assert found["metric"]["name"] == "neg_mean_pinball_loss"
    assert found["metric"]["train"] == pytest.approx(-np.mean(losses), rel=1e-4)
    evaluated = svmkit("evaluate", "wave.model", "wave.csv", "--plot", "wave.png", "--json").json
    assert evaluated["levels"] == scores["levels"] and evaluated["crossings"] == scores["crossings"]
    assert [level["coverage"] for level in evaluated["levels"]] == pytest.approx(TAUS, abs=0.02)
    assert evaluated["intervals"][0]["coverage"] == pytest.approx(0.8, abs=0.03)
    text = svmkit("evaluate", "wave.model", "wave.csv").out
    assert "between 0.1 and 0.9 (80% expected)" in text and "sorted in predictions" in text
    lines = svmkit("predict", "wave.model", "wave.csv").out.splitlines()
    assert np.array([line.split(",") for line in lines], dtype=float) == pytest.approx(predicted, abs=1e-4)
    assert "tau=0.1, tau=0.5, tau=0.9" in svmkit("predict", "wave.model", "wave.csv").err


def test_tune_ranks_by_the_mean_loss_of_the_levels(svmkit, wave):
    given = tuple(value for value in GIVEN if value not in ("-C", "10"))
    tuned = svmkit("tune", *given, "--grid", "C=0.01,10", "--gamma", "1", "--cv", "3", "--no-track", "--json").json
    assert tuned["metric"]["name"] == "neg_mean_pinball_loss" and tuned["best"]["params"]["C"] == 10.0
    assert -0.2 < tuned["best"]["mean_score"] < 0.0


def test_the_curve_on_held_out_rows_is_that_of_each_level(svmkit, wave):
    found = svmkit("train", *GIVEN, "--test-size", "0.3", "--curve", "--no-track", "--json").json
    assert found["test_scores"]["levels"][0]["tau"] == 0.1


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("-o", "tau=0.9,0.5"), ["tau must ascend", "0.9 is before 0.5"]),
        (("-o", "tau=0.5,0.5"), ["tau=0.5 is given twice"]),
        (("-o", "tau=0.5,2"), ["0 < tau < 1, not '2'"]),
        (("-o", "tau=0.1,0.9", "--metric", "r2"), ["metric r2 does not measure levels", "neg_mean_pinball_loss"]),
        (("-o", "tau=0.5", "--non-crossing"), ["non_crossing sorts the predictions of several levels"]),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(refused, wave, args, words):
    given = ("wave.csv", "--label", "t", "--task", "regress", "--loss", "quantile", *args)
    refused(words, "train", *given, "--no-track")


def test_a_stream_learns_one_label(refused):
    given = ("--solver", "sgd", "--kernel", "linear", "--task", "multilabel", "--no-track")
    refused(["a stream learns one label a row"], "train", "-", *given)


@pytest.mark.parametrize(
    ("task", "loss", "words"),
    [
        ("regress", Quantile(TAUS), "a cluster learns one level"),
        ("multilabel", None, "a cluster learns one label a row"),
    ],
)
def test_a_cluster_learns_one_output(task, loss, words):
    from svmkit_dask.driver.data import ScatteredData

    method = resolve(Settings(solver="dfcsmo", kernel="rbf", loss=loss), task)
    with pytest.raises(InputError, match=words):
        ScatteredData(None, [], method)


def test_the_pinball_metric_needs_levels(refused, wave):
    refused(
        ["measures the levels of a loss"],
        "train",
        "wave.csv",
        "--label",
        "t",
        "--task",
        "regress",
        "--metric",
        "pinball",
    )


def test_crossings_are_counted_before_predictions_are_sorted():
    targets = np.array([0.0, 1.0, 2.0])
    decision = np.array([[0.0, 1.0, 2.0], [3.0, 2.0, 1.0], [2.0, 2.0, 2.0]])
    scores = LevelScores.from_levels(Quantile(TAUS).levels, np.sort(decision, axis=1), targets, decision)
    assert scores.crossings == 1 and [level.coverage for level in scores.levels] == [2 / 3 + 1 / 3, 1.0, 1.0]
    assert scores.intervals[0].nominal == pytest.approx(0.8) and scores.intervals[0].coverage == 0.0


@pytest.mark.parametrize("n", [1, 500, 501])
@pytest.mark.parametrize("far", [0.0, 1e9])
def test_the_best_constant_is_the_quantile_or_the_expectile(n, far):
    targets = np.append(norm.rvs(size=n, random_state=0), far)
    for loss in Quantile(TAUS).levels:
        best = mean_pinball_loss(
            targets, np.full(n + 1, np.quantile(targets, loss.tau, method="inverted_cdf")), alpha=loss.tau
        )
        assert least_constant(loss, targets) == pytest.approx(best, rel=1e-9)
    for loss in Expectile(TAUS).levels:
        best = loss.value(targets, np.full(n + 1, expectile(targets, loss.tau))).mean()
        assert least_constant(loss, targets) == pytest.approx(best, rel=1e-9)


@pytest.mark.slow
def test_compare_has_the_mean_loss_and_the_coverage_of_the_test_rows(svmkit, wave):
    given = tuple(value for value in GIVEN if value != "wave.csv")
    done = svmkit("compare", "wave.csv", *given, "--solvers", "smo,fcsmo", "--test-size", "0.3", "--no-track", "--json")
    for run in map(json.loads, done.out.splitlines()):
        assert run["formulation"] == "quantile tau=0.1,0.5,0.9, free bias" and run["gap"] <= 1e-3
        assert run["metric"]["name"] == "neg_mean_pinball_loss" and -0.3 < run["test_metric"] < 0.0
        assert 0.6 <= run["test_coverage"] <= 0.95
