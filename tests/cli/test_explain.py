"""`svmkit explain`: contributions, vectors, changes and shuffled columns on the command line."""

from pathlib import Path

import numpy as np
import pytest
from support.cli import people, svmlight

from svmkit.data import load
from svmkit.model.model import SVMModel

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def explain(svmkit):
    """explain(...) -> the JSON of `svmkit explain`."""
    return lambda *args: svmkit("explain", *args, "--json").json


def test_a_table_is_explained_by_its_columns(train, explain):
    path = people("people.csv")
    train(path, "--label", "answer", "--scale", "standard", "--out", "m.model")
    found, model = explain("m.model", path, "--rows", "2,4-5"), SVMModel.load("m.model")
    data = load(path, encoding=model.encoding)
    right = model.explain(data.X[[1, 3, 4]], data.X)
    assert found["columns"] == ["age", "city", "score"] and [row["row"] for row in found["rows"]] == [2, 4, 5]
    for r, row in enumerate(found["rows"]):
        (by_column,) = row["contributions"].values()
        assert list(by_column.values()) == pytest.approx(right.values[r].tolist())
        name = found["functions"][0]
        assert sum(by_column.values()) + found["base"][name] == pytest.approx(row["decision"][name])
        assert row["predicted"] == right.predicted[r] and isinstance(row["cells"]["city"], str)
        assert row["vectors"][0].keys() >= {"label", "cells", "similarity", "weight", "term"}
    assert found["importance"][name] == pytest.approx(dict(zip(right.names, right.importance(), strict=True)))
    assert found["error"] == 0.0 and found["residual"] < 1e-9 and found["nodes"] == 2


def test_many_classes_and_all_rows(train, explain, svmkit):
    train("iris", "--out", "m.model")
    found = explain("m.model", "iris", "--rows", "all", "--shuffle", "2", "--backgrounds", "20")
    assert found["n"] == 150 and found["n_background"] == 20
    assert found["functions"] == ["setosa", "versicolor", "virginica"]
    assert found["permutation"]["score"] > 0.9 and len(found["permutation"]["mean"]) == 4
    done = svmkit("explain", "m.model", "iris", "--rows", "all", "--of", "virginica", "--shuffle", "2")
    lines = [line.split() for line in done.out.splitlines()]
    assert any(line[:2] == ["column", "mean"] and "virginica" in line for line in lines)
    assert not any(line[:2] == ["row", "1:"] for line in lines)


def test_few_rows_are_shown_by_themselves(train, svmkit):
    train("breast_cancer", "--scale", "standard", "--calibrate", "sigmoid", "--out", "m.model")
    given = ("--rows", "1", "--flip", "--few", "--fix", "column 3,column 4", "--top", "4")
    done = svmkit("explain", "m.model", "breast_cancer", *given)
    assert done.code == 0 and "row 1: malignant" in done.out and "exact, 15 nodes" in done.out
    for words in (
        "probability of malignant",
        "vectors that decided",
        "26 other columns",
        "benign instead, at a distance",
    ):
        assert words in done.out


def test_a_change_is_certified(train, explain):
    train("breast_cancer", "--scale", "standard", "--out", "m.model")
    found = explain("m.model", "breast_cancer", "--rows", "1-2", "--flip", "--fix", "column 21", "--to", "benign")
    data, model = load("breast_cancer"), SVMModel.load("m.model")
    for r, row in enumerate(found["rows"]):
        changed, change = data.X[r].copy(), row["change"]
        for name, (old, new) in change["cells"].items():
            j = int(name.split()[1]) - 1
            assert changed[j] == old and j != 20
            changed[j] = new
        assert model.predict(changed[None])[0] == change["after"] == "benign" != change["before"]
        assert np.linalg.norm((changed - data.X[r]) / model.scaling.scale) == pytest.approx(change["distance"])


def test_a_background_of_its_own(train, explain, svmkit):
    train(svmlight(), "--out", "m.model")
    svmlight("one.svm", n=1, seed=4)
    found = explain("m.model", "clouds.svm", "--rows", "1", "--background", "one.svm")
    assert found["n_background"] == 1 and found["background"] == "one"
    done = svmkit("explain", "m.model", "clouds.svm", "--rows", "1", "--background", "one.svm")
    assert "a single row: values say how a row differs from it" in done.out


@pytest.mark.parametrize("rows", ["1", "1-40"])
@pytest.mark.parametrize("task", ["classify", "regress"])
def test_the_picture(train, svmkit, rows, task):
    data = "diabetes" if task == "regress" else "wine"
    train(data, "--task", task, "--scale", "standard", "--out", "m.model")
    done = svmkit("explain", "m.model", data, "--rows", rows, "--plot", "p.png")
    assert done.code == 0 and "p.png" in done.out and Path("p.png").read_bytes().startswith(b"\x89PNG")


def test_bad_calls(train, refused):
    train(svmlight(), "--out", "m.model")
    for words, given in {
        "the data have the rows 1 to 60": ["--rows", "61"],
        "--rows 'a' is not known": ["--rows", "a"],
        "there is no decision of 'x'": ["--of", "x"],
        "give --flip": ["--fix", "column 1"],
        "no column is called 'x'": ["--flip", "--fix", "x"],
        "has to end in .png, .svg or .pdf": ["--plot", "p.txt"],
    }.items():
        refused([words], "explain", "m.model", "clouds.svm", *given)
    train(svmlight(), "--kernel", "sigmoid", "--out", "s.model")
    refused(["rounds must be at least 2"], "explain", "s.model", "clouds.svm", "--rounds", 1)
    people("people.csv")
    refused(["people.csv"], "explain", "m.model", "people.csv")


def test_values_of_other_kernels_are_sampled(train, svmkit, explain):
    train(svmlight(), "--kernel", "sigmoid", "--out", "s.model")
    done, found = svmkit("explain", "s.model", "clouds.svm"), explain("s.model", "clouds.svm", "--rounds", 4)
    assert "sampled, with standard errors of at most" in done.out
    assert found["nodes"] == 0 and found["error"] > 0.0
    errors = [error for row in found["rows"] for each in row["standard_errors"].values() for error in each.values()]
    assert max(errors) == found["error"]


def test_rows_are_those_of_the_file_where_some_were_skipped(train, svmkit, explain):
    train(people("people.csv"), "--label", "answer", "--out", "m.model")
    lines = Path("people.csv").read_text().splitlines()
    Path("bad.csv").write_text("\n".join([lines[0], "unknown," + lines[1].split(",", 1)[1], *lines[1:]]) + "\n")
    assert "--on-error skip" in svmkit("explain", "m.model", "bad.csv").err
    whole, skipped = explain("m.model", "people.csv", "--rows", "2"), ("m.model", "bad.csv", "--on-error", "skip")
    found = explain(*skipped, "--rows", "3", "--background", "people.csv")
    assert found["rows"][0]["row"] == 3 and found["rows"][0]["cells"] == whole["rows"][0]["cells"]
    assert [row["row"] for row in explain(*skipped)["rows"]] == [2, 3, 4, 5, 6]
    done = svmkit("explain", *skipped, "--rows", "1-2")
    assert done.code == 0 and "1 of the rows of --rows were skipped: 1" in done.err and "row 2:" in done.out
    assert "every one of these rows was skipped" in svmkit("explain", *skipped, "--rows", "1").err


def test_what_fixed_columns_leave_is_said(train, svmkit):
    train(people("people.csv"), "--label", "answer", "--scale", "standard", "--out", "m.model")
    found = svmkit("explain", "m.model", "people.csv", "--rows", "1", "--flip", "--fix", "age,city,score")
    assert found.code == 2 and "all columns are fixed: leave one free" in found.err
