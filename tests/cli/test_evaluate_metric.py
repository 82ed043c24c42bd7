"""`svmkit evaluate --metric`: a metric besides the measures of every evaluation, beside scikit-learn's."""

import numpy as np
import pytest
from sklearn import metrics
from support.cli import lopsided, svmlight
from support.problems import write

from svmkit.data import load
from svmkit.model.model import SVMModel

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def measured(svmkit):
    """measured(name, ...) -> the key `metric` of `svmkit evaluate --metric`."""
    return lambda name, *args: svmkit("evaluate", "m.model", *args, "--metric", name, "--json").json["metric"]


def test_two_classes(train, measured, svmkit):
    path = lopsided()
    train(path, "--solver", "smo", "--class-weight", "balanced", "--calibrate", "sigmoid", "--out", "m.model")
    data, model = load(path), SVMModel.load("m.model")
    predicted = model.predict(data.X)
    assert measured("matthews_corrcoef", path) == {
        "name": "matthews_corrcoef",
        "positive": None,
        "reason": None,
        "test": pytest.approx(metrics.matthews_corrcoef(data.y, predicted)),
    }
    found = measured("f1", path)
    assert (found["positive"], found["reason"]) == ("leave", "class leave is the rarer one")
    assert found["test"] == pytest.approx(metrics.f1_score(data.y, predicted, pos_label="leave"))
    leaves, decision = data.y == "leave", model.decision_function(data.X)
    assert measured("roc_auc", path)["test"] == pytest.approx(metrics.roc_auc_score(leaves, -decision))
    loss = metrics.log_loss(data.y, model.predict_proba(data.X))
    assert measured("neg_log_loss", path)["test"] == pytest.approx(-loss)
    assert (
        f"matthews corrcoef  {metrics.matthews_corrcoef(data.y, predicted):.4f}\n"
        in svmkit("evaluate", "m.model", path, "--metric", "matthews_corrcoef").out
    )
    assert "(class leave)" in svmkit("evaluate", "m.model", path, "--metric", "precision").out


def test_predictions_by_a_threshold(train, measured):
    path = lopsided()
    train(path, "--solver", "smo", "--out", "m.model")
    data, model = load(path), SVMModel.load("m.model")
    taken = np.where(-model.decision_function(data.X) > -0.5, "leave", "stay")
    found = measured("f1", path, "--threshold", "-0.5")["test"]
    assert found == pytest.approx(metrics.f1_score(data.y, taken, pos_label="leave"))
    assert found != measured("f1", path)["test"]


def test_many_classes(train, measured):
    train("iris", "--solver", "smo", "--out", "m.model")
    data, model = load("iris"), SVMModel.load("m.model")
    predicted = model.predict(data.X)
    assert model.evaluate(data.X, data.y, metric="f1_macro")["metric"] == measured("f1_macro", "iris")
    assert measured("f1_macro", "iris")["test"] == pytest.approx(metrics.f1_score(data.y, predicted, average="macro"))


def test_rows_of_one_class_and_unknown_labels(train, measured, svmkit):
    train(svmlight(), "--out", "m.model")
    one = write("one.svm", "1 1:0.5\n1 2:0.5\n")
    assert measured("roc_auc", one)["test"] is None
    lines = svmkit("evaluate", "m.model", one, "--metric", "roc_auc").out.splitlines()
    assert ["roc", "auc", "not", "defined"] in [line.split() for line in lines]
    other = write("other.svm", "".join(f"{(1, -1, 7)[i % 3]} 1:{i % 5 - 2} 2:1\n" for i in range(30)))
    data, model = load(other, n_features=3), SVMModel.load("m.model")
    accuracy = float((model.predict(data.X) == data.y).mean())
    assert measured("accuracy", other)["test"] == pytest.approx(accuracy) and accuracy < 1.0


@pytest.mark.slow
def test_quantities_orders_and_outliers(train, measured):
    train("diabetes", "--kernel", "linear", "--out", "m.model")
    data, model = load("diabetes"), SVMModel.load("m.model")
    predicted = model.predict(data.X)
    error = metrics.median_absolute_error(data.y, predicted)
    assert measured("neg_median_absolute_error", "diabetes")["test"] == pytest.approx(-error)
    assert measured("rmse", "diabetes")["test"] == pytest.approx(-metrics.root_mean_squared_error(data.y, predicted))
    train("diabetes", "--task", "rank", "--out", "m.model", "--kernel", "linear", "--max-epochs", "3")
    assert measured("kendall_tau", "diabetes")["name"] == "kendall_tau"
    train(svmlight(), "--task", "outliers", "--out", "m.model")
    data, model = load(svmlight()), SVMModel.load("m.model")
    found = measured("f1_macro", svmlight())["test"]
    assert found == pytest.approx(metrics.f1_score(data.y, model.predict(data.X), average="macro"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nonsense", ["'nonsense' is not known", "f1_macro"]),
        ("f1_macr", ["'f1_macr' is not known", "did you mean f1_macro"]),
        ("r2", ["measures quantities, not classes"]),
        ("neg_log_loss", ["needs probabilities", "--calibrate"]),
        ("ndcg", ["'ndcg' is not known"]),
    ],
)
def test_metrics_of_something_else_are_refused(train, refused, name, words):
    train("iris", "--solver", "smo", "--out", "m.model")
    refused(words, "evaluate", "m.model", "iris", "--metric", name)


@pytest.mark.slow
def test_levels_have_their_own_loss(train, measured, refused):
    how = ["--loss", "quantile", "-o", "tau=0.1,0.5,0.9", "--kernel", "linear"]
    train("diabetes", *how, "--out", "m.model")
    data, model = load("diabetes"), SVMModel.load("m.model")
    columns = model.predict(data.X)
    losses = [metrics.mean_pinball_loss(data.y, columns[:, k], alpha=tau) for k, tau in enumerate((0.1, 0.5, 0.9))]
    assert measured("pinball", "diabetes")["test"] == pytest.approx(-np.mean(losses))
    refused(["does not measure levels"], "evaluate", "m.model", "diabetes", "--metric", "r2")
