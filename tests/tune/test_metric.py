"""The metric of a search: its default for a rare class, the values of scikit-learn, and what is refused."""

import math

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score
from support.cli import lopsided
from support.problems import overlapping

from svmkit import SVMClassifier, tune
from svmkit.data import load
from svmkit.errors import InputError

pytestmark = pytest.mark.usefixtures("alone")

# gamma = 1000 knows each row alone and predicts the largest class
GRID = ("--grid", "C=0.5,50", "--grid", "gamma=0.1,1000", "--cv", 4, "--solver", "smo", "--no-track")


@pytest.fixture
def search(svmkit):
    """search(...) -> the Result of `svmkit tune` on a set with a rare class."""
    return lambda *args: svmkit("tune", lopsided(shift=1.0), *GRID, *args)


def test_the_majority_model_is_not_the_best_by_default(search):
    done = search("--json")
    assert "the metric is balanced accuracy, since class leave has 5.0% of the rows" in done.err
    found = done.json
    assert found["metric"] == {
        "name": "balanced_accuracy", "positive": None, "reason": "class leave has 5.0% of the rows",
    }  # fmt: skip
    majority = [c for c in found["candidates"] if c["mean_accuracy"] == 0.95 and c["mean_score"] == 0.5]
    assert majority and found["best"]["mean_score"] > 0.5
    scores = [c["mean_score"] for c in found["candidates"]]
    assert scores == sorted(scores, reverse=True)
    assert found["refit"]["train_scores"]["never_predicted"] == []


@pytest.mark.slow
def test_accuracy_can_be_asked_for(search):
    done = search("--metric", "accuracy", "--json")
    assert done.json["metric"]["name"] == "accuracy" and "the metric is" not in done.err
    assert all(c["mean_score"] == c["mean_accuracy"] for c in done.json["candidates"])
    assert done.json["best"]["mean_accuracy"] >= 0.95


def test_weights_of_classes_ask_for_balanced_accuracy(svmkit):
    done = svmkit("tune", "iris", "--class-weight", "balanced", "--grid", "C=1,10", "--cv", 2, "--no-track", "--json")
    assert done.json["metric"]["name"] == "balanced_accuracy" and "classes have weights" in done.err


def test_the_metric_is_named_where_the_candidates_are(search):
    done = search("--metric", "f1", "--plot", "p.png")
    assert "the metric is f1 of class leave, the rarer one" in done.err
    assert ", by f1" in done.out.splitlines()[0]
    assert done.out.splitlines()[1].split() == ["C", "gamma", "f1", "accuracy", "support", "fit"]


@pytest.mark.parametrize("name", ["balanced_accuracy", "roc_auc", "average_precision", "f1", "matthews_corrcoef"])
def test_values_are_those_of_cross_validation(name):
    X, y = overlapping(150)
    y = np.where(y > 0, 1, 0)
    found = tune.search(X, y, grid={"C": [0.1, 10.0]}, kernel="rbf", cv=3, metric=name, seed=1, stop=None)
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    for c in found.candidates:
        expected = cross_val_score(SVMClassifier(C=c.C), X, y, cv=folds, scoring=name)
        assert c.mean_score == pytest.approx(expected.mean(), abs=0.02), "a row or two"
        assert 0.0 <= c.mean_accuracy <= 1.0
    assert found.metric.name == name and found.best.mean_score == max(c.mean_score for c in found.candidates)


@pytest.mark.parametrize("name", ["average_precision", "f1_macro", "balanced_accuracy"])
def test_many_classes_and_halving(name):
    data = load("iris")
    found = tune.search(data.X, data.y, grid={"C": [0.01, 1.0, 10.0]}, cv=3, metric=name, search="halving")
    assert found.best.mean_score > 0.9 and not any(math.isnan(c.mean_score) for c in found.candidates)


def test_search_refuses_what_it_cannot_take():
    data = load("iris")
    with pytest.raises(InputError, match="f1_macro or f1_weighted"):
        tune.search(data.X, data.y, grid={"C": [1.0]}, metric="f1")


def test_names_are_refused_before_any_data_is_read(refused):
    refused(["f1_marco", "did you mean f1_macro"], "tune", "nowhere.csv", "--metric", "f1_marco")
    refused(["neg_log_loss", "probabilities"], "tune", "nowhere.csv", "--metric", "neg_log_loss")
    refused(["f1", "there are 3", "f1_macro"], "tune", "iris", "--metric", "f1", "--no-track")
