"""A threshold for a cost: chosen out of folds, kept in the model, by `evaluate` and `predict`."""

from pathlib import Path

import numpy as np
import pytest
from support.cli import lopsided

from svmkit import InputError, SVMClassifier
from svmkit.data import load
from svmkit.model.model import SVMModel
from svmkit.scoring.operating import Cost, Points, gain_curve

pytestmark = pytest.mark.usefixtures("alone")


@pytest.mark.parametrize("seed", range(5))
def test_the_hull_has_the_best_threshold_of_every_cost(seed):
    """Against all thresholds, by brute force."""
    rng = np.random.default_rng(seed)
    positive = rng.random(200) < 0.3
    decision, weights = np.round(rng.normal(size=200) + positive, 1), rng.integers(1, 4, 200).astype(float)
    points = Points.from_decisions(decision, positive, weights)
    edges = np.concatenate([[-np.inf, np.inf], 0.5 * (np.unique(decision)[1:] + np.unique(decision)[:-1])])

    def price(threshold, cost):
        taken = decision > threshold
        return cost.fn * weights[positive & ~taken].sum() + cost.fp * weights[taken & ~positive].sum()

    for cost in (Cost(1, 1), Cost(50, 1), Cost(1, 7), Cost(0, 1), Cost(1, 0), Cost(3.3, 1.7)):
        assert price(points.best(cost), cost) == pytest.approx(min(price(edge, cost) for edge in edges))
    again = Points.from_plain(points.plain())
    assert all(np.array_equal(one, other) for one, other in zip(points, again, strict=True))
    assert len(points.threshold) < 40


def test_the_threshold_is_that_of_the_folds_and_lowers_the_cost(svmkit):
    path = lopsided()
    assert (
        svmkit("train", path, "--solver", "smo", "--calibrate", "sigmoid", "--out", "m.model", "--no-track").code == 0
    )
    args = ("evaluate", "m.model", path, "--cost", "fn=50,fp=1")
    plain, best = (svmkit(*args, *more, "--json").json for more in ((), ("--threshold", "best")))
    model, data = SVMModel.load("m.model"), load(path)
    assert model.about["operating"]["positive"] == "leave" and model.about["operating"]["folds"] == 5
    threshold = Points.from_plain(model.about["operating"]).best(Cost(50, 1))
    predicted = np.where(-model.decision_function(data.X) > threshold, "leave", "stay")
    missed, wrong = ((data.y == "leave") & (predicted == "stay")), ((data.y == "stay") & (predicted == "leave"))
    assert best["cost"]["threshold"] == pytest.approx(threshold)
    assert best["cost"]["per_row"] == pytest.approx(50 * missed.mean() + wrong.mean())
    assert best["cost"]["per_row_by_labels"] == plain["cost"]["per_row"] > best["cost"]["per_row"]
    assert (best["cost"]["per_row_of_none"], best["cost"]["per_row_of_all"]) == pytest.approx((2.5, 0.95))
    assert best["test_accuracy"] == pytest.approx((predicted == data.y).mean())
    assert best["confusion"]["matrix"][0][1] == missed.sum() and best["roc_auc"] == plain["roc_auc"]
    assert svmkit("predict", "m.model", path, "--cost", "fn=50,fp=1").out.split() == predicted.tolist()
    assert " a row (labels " in svmkit(*args, "--threshold", "best").out
    by_hand = svmkit("evaluate", "m.model", path, "--threshold", threshold, "--json").json
    assert by_hand["confusion"] == best["confusion"] and by_hand["cost"] == {
        "positive": "leave",
        "threshold": threshold,
    }
    assert "cost" not in svmkit("evaluate", "m.model", path, "--json").json


def test_the_test_rows_choose_nothing(svmkit, train):
    """The threshold is the same for other test rows."""
    path = lopsided()
    train(path, "--solver", "smo", "--calibrate", "sigmoid", "--out", "m.model")
    Path("few.csv").write_text("\n".join(Path(path).read_text().splitlines()[:40]) + "\n")
    found = [
        svmkit("evaluate", "m.model", name, "--cost", "fn=9,fp=1", "--threshold", "best", "--json").json["cost"]
        for name in (path, "few.csv")
    ]
    assert found[0]["threshold"] == found[1]["threshold"]


@pytest.mark.parametrize("text", ["fn=-1,fp=1", "fn=1", "fn=a,fp=1", "fn=0,fp=0", "fn=inf,fp=1", "fn=nan,fp=1", "1"])
def test_a_cost_that_cannot_be(refused, train, text):
    train("breast_cancer", "--solver", "smo", "--out", "m.model")
    refused(["--cost"], "evaluate", "m.model", "breast_cancer", "--cost", text)


def test_what_does_not_go_together(refused, train):
    train("breast_cancer", "--solver", "smo", "--out", "m.model")
    train("iris", "--solver", "smo", "--calibrate", "sigmoid", "--out", "i.model")
    refused(["--thresholds"], "evaluate", "m.model", "breast_cancer", "--cost", "fn=2,fp=1", "--threshold", "best")
    refused(["--cost fn=50,fp=1"], "evaluate", "m.model", "breast_cancer", "--threshold", "best")
    refused(["number or best"], "evaluate", "m.model", "breast_cancer", "--threshold", "low")
    refused(["for two classes"], "evaluate", "i.model", "iris", "--cost", "fn=2,fp=1")
    refused(["two classes"], "predict", "i.model", "iris", "--cost", "fn=2,fp=1")
    refused(["one of them"], "predict", "m.model", "breast_cancer", "--cost", "fn=2,fp=1", "--proba")


def test_in_python():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.2).astype(int)
    X = rng.normal(size=(300, 2)) + y[:, None]
    model = SVMClassifier("smo", calibration="sigmoid").fit(X, y).model_
    caught = [model.predict_for_cost(X, fn=fn, fp=1).sum() for fn in (0.1, 1, 10, 1000)]
    assert caught == sorted(caught) and caught[0] < caught[-1]
    with pytest.raises(InputError, match="costs are finite numbers >= 0"):
        model.predict_for_cost(X, fn=-1, fp=1)


def test_thresholds_without_a_calibration_are_those_with_one(svmkit):
    path, args = lopsided(), ("--solver", "smo", "--no-track")
    svmkit("train", path, *args, "--calibrate", "sigmoid", "--out", "c.model")
    assert svmkit("train", path, *args, "--thresholds", "--out", "t.model").code == 0
    svmkit("train", path, *args, "--out", "p.model")
    calibrated, with_thresholds, plain = (SVMModel.load(f"{name}.model") for name in "ctp")
    assert with_thresholds.about["operating"] == calibrated.about["operating"] and with_thresholds.calibration is None
    X = load(path).X
    np.testing.assert_array_equal(with_thresholds.predict(X), plain.predict(X))
    by_cost = with_thresholds.predict_for_cost(X, fn=50, fp=1)
    np.testing.assert_array_equal(by_cost, calibrated.predict_for_cost(X, fn=50, fp=1))
    with pytest.raises(InputError, match="thresholds are for two classes, and there are 3"):
        SVMClassifier("smo", thresholds=True).fit([[0.0], [1.0], [2.0]] * 5, [0, 1, 2] * 5)


def test_gain_is_the_share_that_a_sorted_list_finds(svmkit):
    path = lopsided()
    svmkit("train", path, "--solver", "smo", "--no-track", "--out", "m.model")
    found, model, data = svmkit("evaluate", "m.model", path, "--json").json, SVMModel.load("m.model"), load(path)
    order = np.argsort(model.decision_function(data.X))  # "leave" is the first class
    leaves = (data.y == "leave")[order]
    for share in (0.05, 0.1, 0.2, 0.5):
        assert found["gain"][f"{share:g}"] == pytest.approx(leaves[: round(400 * share)].sum() / 20)
    assert "of class leave are in the tenth of the rows" in svmkit("evaluate", "m.model", path).out
    taken, of = gain_curve(np.array([True, False, True, False]), np.zeros(4))  # equal decisions say nothing
    assert taken.tolist() == of.tolist() == [0.0, 1.0]
    Path("one.csv").write_text("\n".join(line for line in Path(path).read_text().splitlines() if "leave" not in line))
    assert svmkit("evaluate", "m.model", "one.csv", "--json").json["gain"] is None


def test_rows_that_say_nothing_of_costs_or_probabilities(svmkit, refused):
    path = lopsided()
    svmkit("train", path, "--solver", "smo", "--calibrate", "sigmoid", "--no-track", "--out", "m.model")
    lines = Path(path).read_text().splitlines()
    Path("other.csv").write_text("\n".join(line.replace("leave", "gone").replace("stay", "there") for line in lines))
    found = svmkit("evaluate", "m.model", "other.csv", "--json").json
    assert set(found["unknown_labels"]) == {"gone", "there"} and sum(found["rows"].values()) == 400
    assert all(isinstance(n, int) for n in found["rows"].values())
    refused(
        ["no row of other has a label that the model knows"], "evaluate", "m.model", "other.csv", "--cost", "fn=2,fp=1"
    )
    Path("one.csv").write_text("\n".join(line for line in lines if "leave" not in line))
    assert "(base rate 0.0000)" in svmkit("evaluate", "m.model", "one.csv").out
