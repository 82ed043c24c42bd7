"""Quantities on the command line: what a label is taken for, R2, RMSE and MAE, pictures, models."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error
from support.problems import write

from svmkit.cli.evaluating import report
from svmkit.data import load
from svmkit.data.splitting import fold, split
from svmkit.model.model import SVMModel

pytestmark = pytest.mark.usefixtures("alone")

SMO = ("--solver", "smo", "--scale", "standard", "-C", "30")
TAKEN = "diabetes: the label looks like a quantity (214 values in 442 rows), taken for the target of a regression"


@pytest.fixture
def regressed(train):
    return train("diabetes", *SMO, "--test-size", "0.3", "--out", "m.model", "--epsilon", "10")


def houses(rows=120):
    """A table whose last column is a price that follows from the others."""
    rng = np.random.default_rng(0)
    size, town = rng.uniform(40, 200, rows), rng.integers(0, 2, rows)
    price = 1.5 * size + 40.0 * town + rng.normal(0.0, 3.0, rows)
    lines = [f"{s:.1f},{('oslo', 'rome')[t]},{p:.2f}" for s, t, p in zip(size, town, price, strict=True)]
    return write("houses.csv", "size,town,price\n" + "\n".join(lines) + "\n")


def test_a_quantity_is_seen_and_said(svmkit):
    done = svmkit("train", "diabetes", *SMO, "--no-track", "--test-size", "0.3")
    assert done.code == 0 and TAKEN in done.err and "--task classify makes each value a class" in done.err
    lines = {line.split()[0]: line for line in done.out.splitlines()}
    assert "a quantity" in lines["data"] and "C=30, epsilon=0.1" in lines["solver"]
    assert "test (133 rows)" in lines["R2"] and "mean of the targets" in lines["RMSE"] and "test" in lines["MAE"]
    assert not {"accuracy", "balanced", "recall"} & lines.keys()
    assert TAKEN not in svmkit("train", "diabetes", *SMO, "--no-track", "--task", "regress").err


def test_the_measures_are_those_of_scikit_learn(regressed, svmkit):
    data = load("diabetes")
    train, test = split(data, 0.3, 0, stratify=False)
    model = SVMModel.load("m.model")
    assert model.task == "regress" and regressed["task"] == "regress" and regressed["classes"] == []
    for name, rows in (("train", train), ("test", test)):
        predicted = model.predict(rows.X)
        assert regressed[f"{name}_r2"] == pytest.approx(r2_score(rows.y, predicted), rel=1e-9)
        assert regressed[f"{name}_rmse"] == pytest.approx(root_mean_squared_error(rows.y, predicted), rel=1e-9)
        assert regressed[f"{name}_mae"] == pytest.approx(mean_absolute_error(rows.y, predicted), rel=1e-9)
        assert regressed[f"{name}_accuracy"] is None
        assert regressed[f"{name}_scores"]["mean_rmse"] == pytest.approx(rows.y.std(), rel=1e-9)
    assert regressed["test_r2"] > 0.4 and regressed["n_test"] == 133 and regressed["params"]["epsilon"] == 10.0
    assert regressed["metric"] == {
        "name": "r2", "positive": None, "reason": None, "train": regressed["train_r2"], "test": regressed["test_r2"],
    }  # fmt: skip


def test_another_metric(train, svmkit):
    found = train("diabetes", *SMO, "--metric", "neg_max_error")
    assert found["metric"]["name"] == "neg_max_error" and found["metric"]["train"] < -50.0
    out = svmkit("train", "diabetes", *SMO, "--no-track", "--metric", "neg_max_error").out
    assert "neg max error" in out
    assert train("diabetes", *SMO, "--metric", "rmse")["metric"]["name"] == "neg_root_mean_squared_error"


def test_evaluate_predict_and_show(regressed, svmkit):
    scored = svmkit("evaluate", "m.model", "diabetes", "--json").json
    predicted = np.array([float(line) for line in svmkit("predict", "m.model", "diabetes").out.splitlines()])
    y = load("diabetes").y
    assert scored["test_r2"] == pytest.approx(r2_score(y, predicted), rel=1e-9)
    assert scored["bias"] == pytest.approx((predicted - y).mean(), rel=1e-9) and scored["n_test"] == 442
    assert scored["largest_error"] == pytest.approx(np.abs(predicted - y).max(), rel=1e-9)
    assert scored["test_accuracy"] is scored["confusion"] is scored["roc_auc"] is None
    assert svmkit("predict", "m.model", "diabetes", "--json").json["values"] == predicted.tolist()
    out = svmkit("evaluate", "m.model", "diabetes").out
    assert "RMSE" in out and "(predicting the mean of the targets: " in out and "accuracy" not in out
    shown = svmkit("show", "m.model", "--json").json
    assert shown["task"] == "regress" and shown["n_support"] == {} and shown["about"]["epsilon"] == 10.0
    assert shown["about"]["test_r2"] == regressed["test_r2"] and shown["about"]["metric"] == "r2"
    out = svmkit("show", "m.model").out
    assert "regression" in out and "classes" not in out


@pytest.mark.parametrize(("name", "begins"), [("p.png", b"\x89PNG"), ("p.svg", b"<?xml")])
def test_the_picture(regressed, svmkit, name, begins):
    done = svmkit("evaluate", "m.model", "diabetes", "--plot", name)
    assert done.code == 0 and name in done.out and Path(name).read_bytes().startswith(begins)


def test_the_curve_is_of_r2(train, svmkit):
    found = train("diabetes", *SMO, "--test-size", "0.3", "--curve")
    last = found["curve"][-1]
    assert last["accuracy"] is None and last["score"] == pytest.approx(found["test_r2"], rel=1e-9)
    found = train("diabetes", *SMO, "--test-size", "0.3", "--curve", "--metric", "mae")
    assert found["curve"][-1]["score"] == pytest.approx(-found["test_mae"], rel=1e-9)
    out = svmkit("train", "diabetes", *SMO, "--test-size", "0.3", "--curve", "--no-track").out
    assert "test R2\n" in out


def test_a_table_with_text_columns(train, svmkit):
    name = houses()
    found = train(name, *SMO, "--out", "h.model", "--test", name)
    assert found["label"]["column"] == "price" and found["test_r2"] == found["train_r2"] > 0.9
    done = svmkit("train", name, *SMO, "--no-track")
    said = "svmkit: houses: label column 'price' (last column) looks like a quantity ("
    assert done.err.count("label column 'price'") == 1 and said in done.err and "--label COL" in done.err
    assert svmkit("evaluate", "h.model", name, "--json").json["test_r2"] == found["train_r2"]
    write("bare.csv", "size,town\n100,oslo\n50,rome\n")
    big, small = map(float, svmkit("predict", "h.model", "bare.csv").out.splitlines())
    assert big == pytest.approx(150.0, abs=15.0) and small == pytest.approx(115.0, abs=15.0)


def test_few_whole_numbers_are_classes_unless_one_insists(train):
    write("t.csv", "a,stars\n" + "".join(f"{i % 5 + 0.1 * (i % 3)},{i % 5 + 1}\n" for i in range(100)))
    assert train("t.csv")["classes"] == [1, 2, 3, 4, 5]
    found = train("t.csv", "--task", "regress", *SMO)
    assert found["task"] == "regress" and found["train_r2"] > 0.9 and found["train_accuracy"] is None


def test_a_model_that_is_no_use_says_so(train):
    found = train("diabetes", "--solver", "smo", "-C", "0.001")
    assert "mean of the targets predicts the training rows as well" in found["warning"]
    assert "--scale standard" in found["warning"] and "larger -C" in found["warning"]
    found = train("diabetes", "--solver", "smo", "--epsilon", "1000")
    assert "the tube of epsilon=1000 holds all targets" in found["warning"] and found["n_support"] == 0
    assert train("diabetes", *SMO)["warning"] is None


def test_evaluating_text_as_a_quantity_is_refused(regressed, refused):
    write("t.svm", "1.5 1:1\n")
    write("t.csv", ",".join(f"c{i}" for i in range(10)) + ",y\n" + ",".join(["0.1"] * 10) + ",a\n")
    refused(["t: label column", "holds text ('a')", "regression needs numbers"], "evaluate", "m.model", "t.csv")


def test_folds_of_quantities_are_not_stratified():
    data = load("diabetes")
    parts = [fold(data, k, 5, 0, stratify=False)[1] for k in range(5)]
    assert sorted(part.n_samples for part in parts) == [88, 88, 88, 89, 89]
    assert np.array_equal(np.sort(np.concatenate([part.y for part in parts])), np.sort(data.y))


def test_the_run_has_the_measures_and_the_curve(svmkit, monkeypatch):
    from svmkit.tracking import Tracker

    logged, curves, params = {}, [], {}

    class Recorder(Tracker):
        def start(self, name, given, tags, data=None, parent=None):
            params.update(given)

        def metrics(self, values):
            logged.update(values)

        def curve(self, points, prefix="curve/"):
            curves.extend(points)

    monkeypatch.setattr("svmkit.tracking.tracker", lambda *args: Recorder())
    done = svmkit("train", "diabetes", *SMO, "--test-size", "0.3", "--curve", "--epsilon", "5", "--json")
    found = done.json
    for name in ("r2", "rmse", "mae"):
        assert logged[f"test/{name}"] == found[f"test_{name}"] and logged[f"train/{name}"] == found[f"train_{name}"]
    assert logged["test/mean_rmse"] > logged["test/rmse"] and "test/accuracy" not in logged
    assert params["task"] == "regress" and params["epsilon"] == 5.0 and "epsilon-insensitive" in params["formulation"]
    assert curves[-1].score == pytest.approx(found["test_r2"], rel=1e-9) and curves[-1].accuracy is None


def test_json_has_no_nan(svmkit):
    write("one.csv", "a,y\n" + "".join(f"{i},{i / 3}\n" for i in range(40)))
    write("same.csv", "a,y\n1,2.5\n2,2.5\n")
    done = svmkit("train", "one.csv", *SMO, "--no-track", "--test", "same.csv", "--json")
    found = json.loads(done.out)
    assert found["test_r2"] is None and math.isfinite(found["test_rmse"])
    out = svmkit("train", "one.csv", *SMO, "--no-track", "--test", "same.csv").out
    assert "not defined test" in out


def test_a_limit_on_support_vectors_leaves_the_choice_to_solvers_that_regress(alone, svmkit):
    found = json.loads(svmkit("train", "diabetes", "-C", "100", "--max-support", "20", "--no-track", "--json").out)
    assert found["problem"] == "TubeQP" and 0 < found["n_support"] <= 20 and found["status"] == "max_support"


@pytest.mark.slow
def test_a_regularised_bias_far_from_the_targets_is_told(alone, svmkit):
    options = ("train", "diabetes", "--kernel", "linear", "--scale", "standard", "--no-track")
    assert "this problem regularises the bias" in svmkit(*options, "-o", "bias=1").err
    assert "this problem regularises the bias" in svmkit(*options, "--solver", "dcd").err
    assert "regularises the bias" not in svmkit(*options).err
    assert "regularises the bias" not in svmkit(*options, "--solver", "smo").err
    for nu in (("--nu", "0.5"), ("--nu", "0.5", "--solver", "smo")):
        assert "bias" not in svmkit(*options, *nu).err


def test_a_text_among_numbers_is_named_with_its_row(alone, refused, tmp_path):
    rows = [f"{i},{100 + 3 * i}" for i in range(60)]
    rows[5] = "5,n.a."
    (tmp_path / "t.csv").write_text("\n".join(["x,price", *rows]) + "\n")
    refused(["'n.a.' in row 6", "correct them"], "train", "t.csv", "--label", "price", "--task", "regress")
    refused(["'n.a.' in row 6", "--task classify"], "train", "t.csv", "--label", "price")


def test_a_picture_of_many_quantities_shows_each_at_most_once(monkeypatch):
    monkeypatch.setattr(report, "DOTS", 150)
    targets, figure = np.arange(200.0), Figure()
    model = SimpleNamespace(outputs=(), about={})
    scores = SimpleNamespace(rmse=1.0, mae=1.0, r2=0.5, n_samples=200)
    drawn = SimpleNamespace(targets=targets, predicted=targets + 1.0, model=model, scores=scores, data="many")
    report._draw_quantities(drawn, figure)
    shown = np.asarray(figure.axes[0].collections[0].get_offsets())
    assert len(shown) == len(np.unique(shown[:, 0])) == 150 and (shown[:, 1] == shown[:, 0] + 1.0).all()
