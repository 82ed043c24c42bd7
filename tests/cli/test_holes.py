"""Tables with holes, and scaling of tables, from the command line: train, tune, compare, evaluate, predict."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.cli import HOLED, PEOPLE, people, svmlight
from support.problems import write

from svmkit.compare.plan.spec import load_spec
from svmkit.data import load
from svmkit.data.splitting import split
from svmkit.model.model import SVMModel

pytestmark = pytest.mark.usefixtures("alone", "cells_here")

FAR = [(10_000.0 * i if i % 2 else "", "oslo", 1.0, ("no", "yes")[i // 2 % 2]) for i in range(16)]


def test_held_out_rows_have_no_part_in_the_statistics(train):
    people("people.csv", rows=HOLED + FAR)
    result = train("people.csv", "--impute", "median", "--test-size", "0.4", "--seed", "3", "--out", "m.model")
    data = load("people.csv", holes=True)
    kept, held = split(data, 0.4, 3)
    model = SVMModel.load("m.model")
    np.testing.assert_array_equal(model.imputing.statistics, np.nanmedian(kept.X, axis=0))
    assert (model.imputing.statistics != np.nanmedian(data.X, axis=0)).any()
    assert result["n_test"] == held.n_samples and model.about["params"]["impute"] == "median"
    assert result["n_features"] == model.n_features == 5


@pytest.mark.parametrize("kind", ["median", "most_frequent", "indicator"])
def test_a_model_of_a_table_with_holes_reads_tables_with_holes(train, svmkit, kind):
    train(
        people("people.csv", rows=HOLED), "--impute", kind, "--scale", "standard", "--out", "m.model", "--solver", "smo"
    )
    model, data = SVMModel.load("m.model"), load("people.csv", holes=True)
    truth = (model.predict(data.X) == data.y).mean()
    assert svmkit("evaluate", "m.model", "people.csv", "--json").json["test_accuracy"] == truth
    assert svmkit("predict", "m.model", "people.csv").out.split() == model.predict(data.X).tolist()
    one = load(people("one.csv", ("age", "city", "score"), [("", "oslo", "")]), encoding=model.encoding,
               labelled=False, holes=True)  # fmt: skip
    assert svmkit("predict", "m.model", "one.csv").out.split() == model.predict(one.X).tolist()


def test_holes_of_a_column_that_had_none_are_filled_too(train, svmkit):
    train(people("people.csv"), "--impute", "indicator", "--out", "m.model")
    assert SVMModel.load("m.model").width == 5
    middle = SVMModel.load("m.model").imputing.statistics
    people("new.csv", ("age", "city", "score"), [("", "rome", 3.0), (middle[0], "rome", 3.0)])
    first, second = svmkit("predict", "m.model", "new.csv", "--decision").out.split()
    assert first == second


def test_a_model_without_imputing_refuses_holes(train, refused, svmkit):
    train(people("whole.csv"), "--out", "m.model")
    people("holed.csv", rows=HOLED)
    for command in ("evaluate", "predict"):
        refused(["holed.csv:2", "17 holes in 2 columns"], command, "m.model", "holed.csv")
    for command in (("train",), ("tune", "--grid", "C=1,10")):
        refused(["holed.csv:2", "17 holes", "--impute"], command[0], "holed.csv", *command[1:], "--no-track")
    done = svmkit("compare", "holed.csv", "--solvers", "smo,swap", "--no-track", "--fresh")
    assert done.code == 2 and "17 holes" in done.err and "--impute" in done.err


def test_a_column_with_values_in_held_out_rows_only_is_named(refused):
    """A column without any value at all is left out by the reader."""
    held = split(load(people("people.csv", rows=[(i, *row[1:]) for i, row in enumerate(PEOPLE)])), 0.25, 0)[1].X[:, 0]
    people("empty.csv", rows=[(*row[:2], row[2] if i in held else "", row[3]) for i, row in enumerate(PEOPLE)])
    told, options = ["column 'score'", "no value in any training row"], ("--impute", "median", "--test-size", "0.25")
    for command in (("train",), ("tune", "--grid", "C=1,10")):
        refused(told, command[0], "empty.csv", *command[1:], *options, "--label", "answer", "--no-track")


def test_unknown_kinds_and_streams_are_refused(refused):
    for command in (("train",), ("tune",)):
        refused(["--impute", "'mean'", "median, most_frequent, indicator"], *command, "iris", "--impute", "mean")
    refused(["impute", "mean", "median"], "compare", "iris", "--solvers", "smo", "--impute", "mean")
    refused(["stream", "--impute"], "train", "-", "--solver", "sfw", "--impute", "median")


def test_tune_imputes(svmkit):
    people("people.csv", rows=HOLED)
    options = ("--grid", "C=1,10", "--cv", "3", "--impute", "indicator", "--scale", "standard", "--out", "m.model")
    found = svmkit("tune", "people.csv", *options, "--no-track", "--json").json
    assert not any(candidate.get("reason") for candidate in found["candidates"])
    assert SVMModel.load("m.model").imputing.holed.tolist() == [0, 4]


@pytest.mark.slow
def test_compare_imputes_from_options_and_from_a_spec(svmkit):
    people("people.csv", rows=HOLED)
    options = ("people.csv", "--solvers", "smo,swap", "--test-size", "0.3", "--impute", "indicator")
    spec = "data: {people: {source: people.csv, test: 0.3, impute: indicator}, whole: {source: iris, test: 0.3}}\n"
    write("c.yaml", f"{spec}solvers: [smo, swap]\nimpute: none\nscale: standard\n")
    found = []
    for given in ((*options, "--scale", "standard"), ("--spec", "c.yaml")):
        done = svmkit("compare", *given, "--no-track", "--json", "--fresh")
        cells = [json.loads(line) for line in done.out.splitlines()]
        assert {cell["status"] for cell in cells} == {"converged"}, done.err
        found.append([cell["objective"] for cell in cells if cell["set"].startswith("people")])
    assert len(found[0]) == 2 and found[0] == found[1]
    settings = [cell.settings["data"] for cell in load_spec("c.yaml").cells()]
    assert [data.get("impute") for data in settings] == ["indicator"] * 2 + [None] * 2
    assert all("impute" in data or data["source"] == "iris" for data in settings)


# --- scaling


def test_standard_scaling_of_a_table_with_text_leaves_its_categories_alone(train, svmkit):
    """The command of docs/docker.md."""
    people("today.csv")
    train("today.csv", "--scale", "standard", "--test-size", "0.2", "--out", "m.model")
    model, data = SVMModel.load("m.model"), load("today.csv")
    assert model.scaling.scale[1:4].tolist() == [1.0] * 3 and (model.scaling.scale[[0, 4]] != 1.0).all()
    shown = svmkit("evaluate", "m.model", "today.csv", "--json").json
    assert shown["test_accuracy"] == (model.predict(data.X) == data.y).mean()


@pytest.mark.slow
def test_standard_scaling_of_sparse_data_says_that_it_does_not_centre(svmkit):
    rng = np.random.default_rng(0)
    lines = []
    for i in range(80):
        at = np.sort(rng.choice(30, 4, replace=False))
        values = rng.normal(size=4) * 10 + 20 * (i % 2)
        lines.append(f"{i % 2} " + " ".join(f"{j + 1}:{v:.4g}" for j, v in zip(at, values, strict=True)))
    write("wide.svm", "\n".join(lines) + "\n")
    done = svmkit("train", "wide.svm", "--scale", "standard", "--no-track", "--out", "m.model")
    (line,) = [line for line in done.err.splitlines() if "centre" in line]
    assert line.startswith("svmkit: the data are sparse: --scale standard divides by the standard deviation")
    model = SVMModel.load("m.model")
    assert model.scaling.kind == "standard" and not model.scaling.center.any()
    X = load("wide.svm").X
    np.testing.assert_allclose(model.scaling.scale, np.std(X.toarray(), axis=0))
    np.testing.assert_allclose(model.decision_function(X.toarray()), model.decision_function(X), atol=1e-9)
    done = svmkit("compare", "wide.svm", "--solvers", "smo,swap", "--scale", "standard", "--no-track", "--json")
    assert all("not centre" in json.loads(line)["notes"][0] for line in done.out.splitlines())
    svmlight("dense.svm")
    assert "centre" not in svmkit("train", "dense.svm", "--scale", "standard", "--no-track").err
    assert Path("m.model").exists()
