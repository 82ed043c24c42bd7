"""The metric of a comparison: names and refusals, its default, the positive class, and values of scikit-learn."""

import math

import numpy as np
import pytest
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score, f1_score, get_scorer_names

from svmkit.errors import InputError
from svmkit.kernels.functions import Linear
from svmkit.model.model import SVMModel
from svmkit.scoring.label_scores import LabelMetric
from svmkit.scoring.metric import Metric, measures_quantities, require_metric

TWO, ROWS = np.array(["no", "yes"]), np.array([30, 10])


def stump(classes):
    """A linear model of one column for two classes, or of as many columns as class pairs."""
    k, pairs = len(classes), len(classes) * (len(classes) - 1) // 2
    vectors, coef = np.eye(k), np.zeros((k - 1, k))
    for c in range(k):  # each pair decides by the difference of its two columns
        coef[:, c] = -1.0 if k == 2 and c == 0 else 1.0
        for other in range(k):
            if other != c and k > 2:
                coef[other - (c < other), c] = 1.0 if c < other else -1.0
    return SVMModel(Linear(), np.array(classes), vectors, np.ones(k, dtype=int), coef, np.zeros(pairs), k)


def test_the_default_is_accuracy_unless_it_would_mislead():
    def named(counts, weight=None):
        found = Metric.from_name(None, np.arange(len(counts)), np.array(counts), weight)
        return found.name, found.note

    assert named([90, 10]) == named([50, 30, 20]) == ("accuracy", None)
    name, note = named([91, 9])
    assert name == "balanced_accuracy" and "class 1 has 9.0% of the rows" in note and "--metric" in note
    assert named([5, 50, 45])[0] == "balanced_accuracy"
    name, note = named([50, 50], "balanced")
    assert name == "balanced_accuracy" and "classes have weights" in note
    assert Metric.from_name("accuracy", TWO, np.array([99, 1])).name == "accuracy"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("f1_marco", "did you mean f1_macro"),
        ("acuracy", "did you mean accuracy"),
        ("zzz", "there are accuracy, balanced_accuracy, f1"),
        ("neg_log_loss", "needs probabilities: .*the folds of a search have none"),
        ("roc_auc_ovr", "needs probabilities: give roc_auc"),
        ("f1_samples", "cannot be computed for one label a row"),
    ],
)
def test_refused_by_name(name, words):
    with pytest.raises(InputError, match=words) as caught:
        require_metric(name)
    assert "\n" not in str(caught.value)


def test_a_model_with_probabilities_is_told_which_of_their_metrics_are_measured():
    with pytest.raises(InputError, match="give neg_log_loss or neg_brier_score") as caught:
        require_metric("roc_auc_ovr", probabilities=True)
    assert "--calibrate" not in str(caught.value)
    assert require_metric("neg_log_loss", probabilities=True) == "neg_log_loss"


def test_a_hyphen_is_an_underscore():
    assert require_metric("balanced-accuracy") == "balanced_accuracy"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("f1", "f1_macro or f1_weighted"),
        ("jaccard", "jaccard_macro"),
        ("roc_auc", "of two classes, and there are 3"),
    ],
)
def test_a_metric_of_two_classes_names_its_variant_for_many(name, words):
    with pytest.raises(InputError, match=words):
        Metric.from_name(name, np.array(["a", "b", "c"]), np.ones(3))


def test_the_positive_class():
    assert Metric.from_name("f1", TWO, ROWS).positive == "yes"
    assert Metric.from_name("f1", TWO, ROWS).note == "the metric is f1 of class yes, the rarer one"
    assert Metric.from_name("f1", TWO, ROWS[::-1]).positive == "no"
    assert Metric.from_name("average_precision", np.array([1, 2]), ROWS[::-1]).positive == "1"
    for usual in ([0, 1], [-1, 1], [False, True]):  # the convention, also where the other class is rarer
        found = Metric.from_name("f1", np.array(usual), ROWS[::-1])
        assert found.positive == str(np.array(usual)[1]) and found.note is None
    for alike in ("roc_auc", "balanced_accuracy", "f1_macro", "matthews_corrcoef"):
        assert Metric.from_name(alike, TWO, ROWS).positive is None


@pytest.mark.parametrize("name", ["average_precision", "roc_auc", "f1", "recall"])
def test_decisions_of_a_rarer_first_class_with_ties(name):
    rng = np.random.default_rng(4)
    model, X = stump(["no", "yes"]), np.round(2.0 * rng.normal(size=(60, 2)))  # so that many decisions are equal
    decision = model.decision_function(X)
    labels = TWO[(decision + rng.normal(size=60) > -1.0).astype(int)]
    rows = np.array([(labels == label).sum() for label in TWO])
    assert rows[0] < rows[1] and len(np.unique(decision)) < 20
    theirs = {
        "average_precision": metrics.average_precision_score(labels == "no", -decision),
        "roc_auc": metrics.roc_auc_score(labels == "no", -decision),
        "f1": metrics.f1_score(labels, model.predict(X), pos_label="no"),
        "recall": metrics.recall_score(labels, model.predict(X), pos_label="no"),
    }[name]
    assert Metric.from_name(name, TWO, rows).score_model(model, X, labels) == pytest.approx(theirs, rel=1e-12)
    assert Metric.from_name("f1", TWO, np.array([20, 20])).positive == "yes"  # of equal classes the second one


def usable():
    names = []
    for name in get_scorer_names():
        try:
            names.append(require_metric(name))
        except InputError:
            continue
    return [name for name in names if not measures_quantities(name)]


@pytest.mark.filterwarnings("ignore:.*greater than or equal to 'n_classes'")  # top_k_accuracy of two classes is 1
@pytest.mark.parametrize("name", usable())
def test_every_scorer_has_the_value_of_scikit_learn(name):
    rng, classes = np.random.default_rng(0), np.array(["no", "yes"])
    model, X = stump(["no", "yes"]), rng.normal(size=(80, 2))
    labels = classes[(X[:, 1] - X[:, 0] + rng.normal(size=80) > 0.8).astype(int)]
    codes = (labels == "yes").astype(int)
    found = Metric.from_name(name, classes, np.bincount(codes))

    class Known(ClassifierMixin, BaseEstimator):
        classes_ = np.array([0, 1])

        def predict(self, X):
            return (model.predict(X) == "yes").astype(int)

        def decision_function(self, X):
            return model.decision_function(X)

    expected = metrics.get_scorer(name)(Known(), X, codes)
    assert found.score_model(model, X, labels) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["f1_macro", "balanced_accuracy", "average_precision", "recall_weighted"])
def test_many_classes_and_labels_of_other_kinds(name):
    rng, classes = np.random.default_rng(1), [1, 2, 10]
    model, X = stump(classes), rng.normal(size=(90, 3))
    truth = np.array(classes)[(X + rng.normal(size=X.shape)).argmax(axis=1)]
    found = Metric.from_name(name, np.array(classes), np.ones(3))
    predicted, votes = model.predict(X), model.scores(model.decision_function(X))
    expected = {
        "f1_macro": lambda: metrics.f1_score(truth, predicted, average="macro"),
        "balanced_accuracy": lambda: metrics.balanced_accuracy_score(truth, predicted),
        "average_precision": lambda: metrics.average_precision_score(truth, votes),
        "recall_weighted": lambda: metrics.recall_score(truth, predicted, average="weighted"),
    }[name]()
    assert found.score_model(model, X, truth) == pytest.approx(expected, rel=1e-12)
    assert found.score_model(model, X, truth.astype(float)) == found.score_model(model, X, truth.astype(str))


def test_a_model_that_has_not_seen_a_class():
    """As in a round of halving, whose few rows may lack a class."""
    metric = Metric.from_name("average_precision", np.array([1, 2, 10]), np.ones(3))
    X, truth = np.random.default_rng(2).normal(size=(30, 2)), np.repeat([1, 10], 15)
    value = metric.score_model(stump([1, 10]), X, truth)
    columns = metric.by_class(stump([1, 10]), stump([1, 10]).decision_function(X))
    assert columns.shape == (30, 3) and (columns[:, 1] < columns[:, [0, 2]].min(axis=1)).all()
    assert value is None or 0.0 <= value <= 1.0


def test_what_is_not_defined_is_none():
    X = np.random.default_rng(3).normal(size=(20, 2))
    metric = Metric.from_name("roc_auc", TWO, ROWS)
    assert metric.score_model(stump(["no", "yes"]), X, np.full(20, "no")) is None
    assert (
        Metric.from_name("f1", TWO, ROWS).score_model(
            stump(["no", "yes"]), X, np.array(["no", "yes", "other", "no"] * 5)
        )
        is None
    )
    assert metric.format(None) == metric.format(math.nan) == "not known" and metric.format(0.5) == "50.00%"
    assert Metric.from_name("matthews_corrcoef", TWO, ROWS).format(0.5) == "0.5000"


@pytest.mark.parametrize("name", ["accuracy", "f1_micro", "f1_macro", "f1_weighted"])
def test_metrics_of_several_labels_are_those_of_scikit_learn(name):
    rng = np.random.default_rng(0)
    truth = rng.random((80, 4)) < [0.05, 0.3, 0.6, 0.9]
    predicted = rng.random((80, 4)) < [0.5, 0.2, 0.7, 0.4]
    metric = LabelMetric.from_scorer(name)
    if name == "accuracy":
        expected = accuracy_score(truth, predicted)
    else:
        expected = f1_score(truth, predicted, average=name.removeprefix("f1_"))
    assert metric.value(metric.codes(truth.astype(int)), predicted) == pytest.approx(expected, rel=1e-12)
    none = np.zeros_like(truth)
    assert metric.value(truth, none) == (np.mean(~truth.any(axis=1)) if name == "accuracy" else 0.0)
