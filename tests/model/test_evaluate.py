"""Scores of a model's predictions from Python, beside scikit-learn's and those of the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

from svmkit import SVMClassifier, SVMModel, SVMRanker, SVMRegressor, fit
from svmkit.data import Ranks
from svmkit.errors import InputError

RNG = np.random.default_rng(3)
X = RNG.normal(size=(80, 3))
NOISY = X[:, 0] + 0.5 * RNG.normal(size=80)
TABLE = pd.DataFrame({"size": X[:, 0], "kind": np.where(X[:, 1] > 0.0, "x", "y"), "other": X[:, 2]})


def test_classes_of_a_table_are_scored_as_scikit_learn_does():
    y = pd.Series(np.where(NOISY > 0.0, "up", "down"))
    model = SVMClassifier(calibration="sigmoid", cv=3).fit(TABLE[:50], y[:50]).model_
    found, held = model.evaluate(TABLE[50:], y[50:]), y[50:]
    assert found["test_accuracy"] == metrics.accuracy_score(held, model.predict(TABLE[50:]))
    assert found["roc_auc"] == pytest.approx(metrics.roc_auc_score(held == "up", model.decision_function(TABLE[50:])))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(held, model.predict_proba(TABLE[50:])))


@pytest.mark.parametrize("learnt", [int, float, str])
def test_labels_that_are_numbers_are_those_of_the_same_text(learnt):
    y = (NOISY > 0.0).astype(int) + 1
    model = SVMClassifier().fit(X[:50], y[:50].astype(learnt)).model_
    told = [model.evaluate(X[50:], y[50:].astype(given)) for given in (int, float, str)]
    with_other = model.evaluate(X[50:], np.append(y[50:-1].astype(str), "x"))
    for found in told:
        found.pop("predict_s")
        assert found["test_accuracy"] > 0.7 and found == told[0] and not found["unknown_labels"]
    assert with_other["unknown_labels"] == ["x"] and with_other["test_accuracy"] > 0.6


def test_quantities_are_scored_as_scikit_learn_does():
    model = SVMRegressor().fit(X[:50], NOISY[:50]).model_
    found, predicted = model.evaluate(X[50:], NOISY[50:].tolist()), model.predict(X[50:])
    assert found["test_r2"] == pytest.approx(metrics.r2_score(NOISY[50:], predicted))
    assert found["test_mae"] == pytest.approx(metrics.mean_absolute_error(NOISY[50:], predicted))


def test_groups_of_a_ranking_are_kept_apart():
    groups = np.arange(80) % 4
    model = SVMRanker().fit(X, Ranks(NOISY, groups)).model_
    alone, all_in_one = model.evaluate(X, Ranks(NOISY, groups)), model.evaluate(X, NOISY)
    assert (alone["groups"], alone["pairs"]) == (4, 4 * 190) and all_in_one["pairs"] == 80 * 79 // 2


def test_the_command_line_says_the_same(svmkit, tmp_path):
    TABLE.assign(label=np.where(NOISY > 0.0, "up", "down")).to_csv(tmp_path / "t.csv", index=False)
    svmkit("train", tmp_path / "t.csv", "--no-track", "--out", tmp_path / "m")
    told = svmkit("evaluate", tmp_path / "m", tmp_path / "t.csv", "--json").json
    found = SVMModel.load(tmp_path / "m").evaluate(TABLE, np.where(NOISY > 0.0, "up", "down"))
    assert found.keys() <= told.keys()
    assert {key: told[key] for key in found if key != "predict_s"} == json.loads(
        json.dumps({key: value for key, value in found.items() if key != "predict_s"})
    )


BINARY = (NOISY > 0.0).astype(int)
LABELS = np.column_stack([BINARY, X[:, 1] > 0.0]).astype(int)
TEXT = np.where(NOISY > 0.0, "up", "down").astype(object)


@pytest.mark.parametrize(
    ("task", "y", "given", "words"),
    [
        ("regress", NOISY, NOISY[:5], "y has 5 targets, but X has 80 samples"),
        ("regress", NOISY, None, "the target y is None"),
        ("regress", NOISY, np.append(NOISY[:-1], np.nan), "NaN .a missing target. at row 80"),
        ("regress", NOISY, np.column_stack([NOISY, NOISY]), "y should be a 1d array"),
        ("classify", BINARY, None, "the target y is None"),
        ("classify", BINARY, np.where(BINARY, np.nan, 0.0), "y contains NaN at row"),
        ("classify", TEXT, np.append(TEXT[:-1], None), "a missing label. at row 80"),
        ("classify", BINARY, LABELS, "y should be a 1d array"),
        ("multilabel", LABELS, BINARY, "y must have a column for each of the 2 outputs"),
        ("multilabel", LABELS, np.where(LABELS, np.nan, 0.0), "NaN .a missing target. at row"),
        ("multilabel", LABELS, LABELS.astype(str), "y holds"),
    ],
)
def test_an_answer_is_needed_for_each_row(task, y, given, words):
    model = fit(X, y, task=task).model
    for judge in (model.evaluate, model.certify):
        with pytest.raises(InputError, match=words):
            judge(X, given)
    one = y[:, None] if y.ndim == 1 else y
    assert model.evaluate(X, one).keys() == model.evaluate(X, y).keys()
    assert model.certify(X, one) == model.certify(X, y)
