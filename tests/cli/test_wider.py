"""svmlight files with features that the training file does not have: they count as zeros there, with one line."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC
from support.cli import people

from svmkit.data import load
from svmkit.data.prepare.features import pad_or_refuse_columns
from svmkit.model.model import SVMModel

pytestmark = pytest.mark.usefixtures("alone", "cells_here")
LINE = "features beyond the 3 of training in"


def svm(name, rows, columns, seed, extra=()):
    """A sparse file; `extra` are (row, text) that are put behind rows."""
    rng, more = np.random.default_rng(seed), dict(extra)
    lines = []
    for k in range(rows):
        values = rng.normal(size=columns) + (1 if k % 2 else -1)
        kept = [f"{j + 1}:{v:.4f}" for j, v in enumerate(values) if rng.random() < 0.8]
        lines.append(" ".join(["+1" if k % 2 else "-1", *kept, *([more[k]] if k in more else [])]))
    Path(name).write_text("\n".join(lines) + "\n")
    return name


@pytest.fixture
def files():
    train = svm("train.svm", 60, 3, 0)
    return train, svm("wide.svm", 20, 3, 1, [(2, "4:1.5 7:-2"), (5, "7:1"), (9, "9:0")])


def test_a_model_predicts_rows_with_new_features(svmkit, files):
    train, wide = files
    assert svmkit("train", train, "--solver", "smo", "--gamma", "0.3", "--no-track", "--out", "m").code == 0
    done = svmkit("predict", "m", wide, "--decision")
    assert done.err.count("\n") == 1
    assert f"2 {LINE} 3 entries of 2 rows: they count as zeros in training; --strict refuses" in done.err
    X, y = load(train).X, load(train).y
    test = load(wide).X
    assert test.shape[1] == 9
    theirs = SVC(gamma=0.3, tol=1e-10).fit(np.pad(np.asarray(X), ((0, 0), (0, 6))), y)
    found = np.array([float(line) for line in done.out.split()])
    exact = SVMModel.load("m")
    wider = pad_or_refuse_columns(np.asarray(exact.vectors), 9, pad=True)
    dense = test.toarray() if hasattr(test, "toarray") else test
    values = np.exp(-0.3 * ((dense[:, None, :] - wider[None, :, :]) ** 2).sum(axis=2))
    np.testing.assert_allclose(found, values @ exact.coef[0] + exact.intercept[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found, theirs.decision_function(dense), rtol=0, atol=0.02)


def test_evaluate_and_train_agree(svmkit, files):
    train, wide = files
    trained = svmkit("train", train, "--solver", "smo", "--test", wide, "--no-track", "--json", "--out", "m")
    assert f"2 {LINE} 3 entries" in trained.err and trained.json["n_features"] == 3
    plain = svmkit("train", train, "--solver", "smo", "--no-track", "--json").json
    same = ("kernel", "objective", "dual_objective", "n_iter", "n_support", "train_accuracy")
    assert [plain[key] for key in same] == [trained.json[key] for key in same]
    found = svmkit("evaluate", "m", wide, "--json")
    assert found.json["test_accuracy"] == trained.json["test_accuracy"] and f"2 {LINE}" in found.err


@pytest.mark.parametrize("solver", ["swap2o", "dcd"])
def test_a_curve_ends_at_the_accuracy_of_the_model(svmkit, files, solver):
    train, wide = files
    found = svmkit("train", train, "--solver", solver, "--test", wide, "--curve", "--no-track", "--json").json
    assert found["curve"][-1]["accuracy"] == pytest.approx(found["test_accuracy"])


def test_strict_refuses(svmkit, refused, files):
    train, wide = files
    svmkit("train", train, "--solver", "smo", "--no-track", "--out", "m")
    words = ["wide.svm", "9 features", "3 are expected"]
    refused(words, "evaluate", "m", wide, "--strict")
    refused(words, "predict", "m", wide, "--strict")
    refused(words, "train", train, "--test", wide, "--strict", "--no-track")
    refused(words, "tune", train, "--test", wide, "--strict", "--no-track")


def test_new_features_without_a_value_are_none(svmkit, files):
    train, _ = files
    svmkit("train", train, "--solver", "smo", "--no-track", "--out", "m")
    done = svmkit("evaluate", "m", svm("zeros.svm", 10, 3, 2, [(1, "5:0")]))
    assert (done.code, done.err) == (0, "")


def test_columns_of_tables_stay_matched_by_name(svmkit, refused, files):
    people("people.csv")
    svmkit("train", "people.csv", "--solver", "smo", "--no-track", "--out", "m")
    refused(["wide.svm", "9 features", "5 are expected"], "evaluate", "m", files[1])
    Path("more.csv").write_text(Path("people.csv").read_text().replace("age,", "older,"))
    refused(["age"], "evaluate", "m", "more.csv")


@pytest.mark.slow
def test_a_comparison_says_it_once_below_the_table(svmkit, files):
    train, wide = files
    args = ("compare", train, "--test", wide, "--solvers", "smo,swap2o", "--no-track", "--threads", "1")
    done = svmkit(*args)
    assert done.code == 0 and done.out.count(f"2 {LINE} 3 entries") == 1
    records = [json.loads(line) for line in svmkit(*args, "--json").out.splitlines()]
    assert {record["n_features"] for record in records} == {3}
    alone = svmkit("train", train, "--test", wide, "--solver", "smo", "--no-track", "--json").json
    assert records[0]["test_accuracy"] == alone["test_accuracy"]
    strict = svmkit(*args, "--strict", "--fresh")
    assert (strict.code, strict.out) == (2, "") and "9 features, but 3 are expected" in strict.err
