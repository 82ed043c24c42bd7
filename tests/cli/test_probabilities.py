"""Probabilities on the command line: train --calibrate, predict --proba, evaluate, and what is refused."""

import numpy as np
import pytest
from sklearn import metrics
from support.cli import people
from support.problems import write

from svmkit.data import load
from svmkit.model.model import SVMModel

pytestmark = pytest.mark.usefixtures("alone")


@pytest.mark.parametrize(("data", "kind"), [("breast_cancer", "sigmoid"), ("iris", "isotonic")])
def test_from_training_to_evaluation(data, kind, svmkit, train):
    found = train(data, "--calibrate", kind, "--scale", "standard", "--test-size", 0.3, "--out", "m.model")
    told = found["calibration"]
    assert (told["kind"], told["folds"]) == (kind, 5) and told["seconds"] > 0.0
    assert 0.0 < told["train"]["log_loss"] < 0.2 and 0.0 < told["test"]["brier_score"] < 0.2
    rows, model = load(data), SVMModel.load("m.model")
    chances = model.predict_proba(rows.X)
    evaluated = svmkit("evaluate", "m.model", data, "--json", "--plot", "m.png").json
    assert evaluated["log_loss"] == pytest.approx(metrics.log_loss(rows.y, chances))
    hits = rows.y[:, None] == model.classes
    squares = np.square(chances - hits).sum(axis=1).mean()
    assert evaluated["brier_score"] == pytest.approx(squares if len(model.classes) > 2 else squares / 2)
    predictions = len(rows.y) * (3 if len(model.classes) == 3 else 1)
    assert sum(entry["rows"] for entry in evaluated["reliability"]) == predictions
    assert load_picture("m.png").shape[1] > 1500
    shares = np.tile(hits.mean(axis=0), (len(rows.y), 1))
    assert evaluated["base_log_loss"] == pytest.approx(metrics.log_loss(rows.y, shares))
    squares = np.square(shares - hits).sum(axis=1).mean()
    assert evaluated["base_brier_score"] == pytest.approx(squares if len(model.classes) > 2 else squares / 2)
    said = svmkit("evaluate", "m.model", data).out
    assert f"{evaluated['log_loss']:.4f} (base rate {evaluated['base_log_loss']:.4f})" in said
    assert f" {evaluated['brier_score']:.4f} (base rate {evaluated['base_brier_score']:.4f})" in said


def load_picture(path):
    from matplotlib.image import imread

    return imread(path)


def test_predict_proba(svmkit, train):
    train(people("people.csv"), "--calibrate", "sigmoid", "--out", "m.model")
    model, rows = SVMModel.load("m.model"), load("people.csv", encoding=SVMModel.load("m.model").encoding)
    done = svmkit("predict", "m.model", "people.csv", "--proba")
    lines = np.array([line.split("\t") for line in done.out.splitlines()], dtype=float)
    np.testing.assert_array_equal(lines, model.predict_proba(rows.X))
    assert "no, yes, in this order" in done.err
    found = svmkit("predict", "m.model", "people.csv", "--proba", "--json").json
    assert found["classes"] == ["no", "yes"] and found["probabilities"] == lines.tolist()
    labels = svmkit("predict", "m.model", "people.csv", "--json").json["labels"]
    assert labels == [["no", "yes"][k] for k in lines.argmax(axis=1)]


def test_a_model_without_them_has_none(svmkit, train, refused):
    found = train("iris", "--out", "m.model")
    assert found["calibration"] is None
    refused(["no probabilities", "--calibrate sigmoid"], "predict", "m.model", "iris", "--proba")
    refused(["--decision or --proba"], "predict", "m.model", "iris", "--proba", "--decision")
    evaluated = svmkit("evaluate", "m.model", "iris", "--json").json
    assert evaluated["log_loss"] is evaluated["brier_score"] is evaluated["reliability"] is None


@pytest.mark.parametrize("name", ["neg_log_loss", "neg_brier_score"])
def test_metrics_of_probabilities(name, train, refused):
    found = train("iris", "--calibrate", "sigmoid", "--metric", name, "--test-size", 0.3)
    part = {"neg_log_loss": "log_loss", "neg_brier_score": "brier_score"}[name]
    assert found["metric"]["test"] == -found["calibration"]["test"][part] < 0.0
    refused([name, "needs probabilities", "--calibrate"], "train", "iris", "--metric", name, "--no-track")
    refused([name, "needs probabilities"], "tune", "iris", "--metric", name, "--no-track")


def test_what_is_refused(refused):
    refused(["'platt' is not known", "sigmoid, isotonic"], "train", "iris", "--calibrate", "platt", "--no-track")
    refused(["stream", "--calibrate"], "train", "-", "--solver", "sgd", "--calibrate", "sigmoid", "--no-track")
    refused(["quantities", "--calibrate"], "train", "iris", "--task", "regress", "--calibrate", "sigmoid")
    few = write("few.svm", "".join(f"{1 + (k > 8)} 1:{k}\n" for k in range(12)))
    refused(["class 2 has 3", "5 samples of each class"], "train", few, "--calibrate", "sigmoid", "--no-track")


def test_class_weights_and_a_calibration(svmkit, train):
    """The rare class is never the more probable one, which is no fault that other class weights could correct."""
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.05).astype(int)
    table = "".join(f"{label} 1:{label + 2.0 * z:.3f}\n" for label, z in zip(y, rng.normal(size=600), strict=True))
    args = (write("rare.svm", table), "--class-weight", "balanced", "--calibrate", "sigmoid", "--out", "m.model")
    told = train(*args)["calibration"]["train"]
    assert told["log_loss"] < told["base_log_loss"] < 0.3
    done = svmkit("evaluate", "m.model", "rare.svm")
    assert "class 1 is never predicted: what helps is your own threshold on predict --proba" in done.err


def test_the_best_model_of_a_search_is_calibrated(svmkit):
    args = ("--calibrate", "sigmoid", "--grid", "C=1,10", "--no-track", "--json", "--out", "m.model")
    found = svmkit("tune", "iris", *args).json
    assert found["n_candidates"] == 2 and SVMModel.load("m.model").calibration.kind == "sigmoid"
