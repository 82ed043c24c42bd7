"""`train --conformal`, `predict --sets` and the coverage in `evaluate`."""

from pathlib import Path

import numpy as np
import pytest
from support.cli import lopsided

from svmkit.cli.evaluating.reporting.spread import wilson
from svmkit.data import load
from svmkit.model.model import SVMModel

pytestmark = pytest.mark.usefixtures("alone")


def test_sets_of_classes(svmkit):
    path = lopsided()
    done = svmkit("train", path, "--solver", "smo", "--conformal", 0.2, "--out", "m.model", "--no-track")
    assert done.code == 0 and "hold the truth of 80% of new rows, by 100 held-out rows" in done.out
    lines = svmkit("predict", "m.model", path, "--sets").out.splitlines()
    sets, data, model = (
        svmkit("predict", "m.model", path, "--sets", "--json").json,
        load(path),
        SVMModel.load("m.model"),
    )
    held = model.predict_sets(data.X)
    assert len(lines) == 400 and lines == [",".join(labels) for labels in sets["sets"]] and sets["alpha"] == 0.2
    assert [len(labels) for labels in sets["sets"]] == held.sum(axis=1).tolist()
    found = svmkit("evaluate", "m.model", path, "--json").json["sets"]
    truth = held[np.arange(400), np.searchsorted(model.classes, data.y)]
    assert found["coverage"] == pytest.approx(truth.mean()) and found["mean_size"] == pytest.approx(held.sum(1).mean())
    assert found["coverage_by_class"]["leave"] == pytest.approx(truth[data.y == "leave"].mean())
    assert "(80% promised), least of class" in svmkit("evaluate", "m.model", path).out
    plain = svmkit("train", path, "--solver", "smo", "--out", "p.model", "--no-track", "--json").json
    assert "conformal" not in plain and "sets" not in svmkit("evaluate", "p.model", path, "--json").json


def test_shares_are_told_in_the_digits_that_were_asked_for(svmkit):
    path = lopsided()
    for more in ((), ("--conformal-folds", 3)):
        done = svmkit("train", path, "--conformal", 0.025, *more, "--out", "m.model", "--no-track", "--force")
        assert "hold the truth of 97.5% of new rows" in done.out
        promised = "97.5% asked for" if more else "97.5% promised"
        assert f"({promised}" in svmkit("evaluate", "m.model", path).out
    levels = ("--loss", "quantile", "-o", "tau=0.01,0.5,0.995")
    assert "0.01 and 0.995 (98.5% expected)" in svmkit("train", "diabetes", *levels, "--no-track").out


def test_intervals_and_outliers(svmkit):
    args = ("--conformal", "10%", "--no-track", "--json")
    done = svmkit("train", "diabetes", "--task", "regress", "--out", "m.model", *args)
    assert done.json["conformal"] == {"alpha": 0.1, "by": None, "rows": 110}
    assert svmkit("predict", "m.model", "diabetes", "--sets", "--alpha", "10%", "--out", "sets.csv").code == 0
    low, high = np.loadtxt("sets.csv", delimiter=",").T
    y = load("diabetes").y
    found = svmkit("evaluate", "m.model", "diabetes", "--json").json["sets"]
    assert found["coverage"] == pytest.approx(((low <= y) & (y <= high)).mean(), abs=1e-9) and found["coverage"] > 0.85
    assert found["mean_size"] == pytest.approx((high - low).mean()) and found["coverage_by_class"] is None
    rng = np.random.default_rng(0)
    Path("n.csv").write_text("a,b\n" + "".join(f"{a:.4f},{b:.4f}\n" for a, b in rng.normal(size=(200, 2))))
    assert svmkit("train", "n.csv", "--task", "outliers", "--out", "o.model", *args).code == 0
    lines = svmkit("predict", "o.model", "n.csv", "--sets").out.split()
    assert set(lines) == {"-1", "1"} and 0.8 < lines.count("1") / 200 < 1.0


def test_coverage_is_of_the_normal_rows_and_not_defined_without_any(svmkit):
    draws = np.random.default_rng(0).normal(size=(300, 2))
    for name, rows, label in (("normal", draws, 1), ("outliers", 6.0 + draws[:30], -1)):
        Path(f"{name}.csv").write_text("a,b,label\n" + "".join(f"{a:.4f},{b:.4f},{label}\n" for a, b in rows))
    Path("both.csv").write_text(Path("normal.csv").read_text() + Path("outliers.csv").read_text().partition("\n")[2])
    task = ("--task", "outliers", "--conformal", 0.1, "--no-track")
    assert svmkit("train", "normal.csv", *task, "--out", "m.model").code == 0
    coverage = {}
    for name, n in (("normal", 300), ("both", 300), ("outliers", 0)):
        done = svmkit("report", "m.model", f"{name}.csv", "--out", "r.html", "--json").json
        found = done["evaluation"]["sets"]
        coverage[name] = found["coverage"]
        assert set(found["coverage_by_class"]) == {"normal": {"1"}, "both": {"-1", "1"}, "outliers": {"-1"}}[name]
        measured = [one for one in done["measures"] if one["key"] == "sets"]
        assert [tuple(one["interval"]) for one in measured] == ([wilson(coverage[name] * n, n)] if n else [])
    assert 0.8 < coverage["normal"] == coverage["both"] and coverage["outliers"] is None
    assert "not defined: there are no rows that are normal" in svmkit("evaluate", "m.model", "outliers.csv").out


def test_what_is_promised_in_a_report_is_what_is_guaranteed(svmkit):
    assert (
        svmkit("train", "iris", "--conformal", 0.1, "--conformal-folds", 3, "--out", "m.model", "--no-track").code == 0
    )
    done = svmkit("report", "m.model", "iris", "--out", "r.html", "--json").json
    guaranteed = done["evaluation"]["sets"]["guaranteed"]
    assert guaranteed < 0.9 and done["measures"][-1]["better"] == f"at least {guaranteed:.4g}"


@pytest.mark.parametrize(("folds", "held"), [([], 38), (["--conformal-folds", 3], 0)])
def test_a_report_says_how_many_rows_were_held_out(svmkit, folds, held):
    svmkit("train", "iris", "--conformal", 0.2, *folds, "--out", "m.model", "--no-track")
    done = svmkit("report", "m.model", "iris", "--card", "m.md", "--json").json
    assert done["training"]["held_out"] == held
    words = " ".join(Path("m.md").read_text().split())
    assert (
        (f"{held} of which were held out" in words) == (f"all training rows but the {held} that" in words) == (held > 0)
    )


def test_what_is_refused(refused):
    refused(["--conformal", "rank"], "train", "q.svm", "--task", "rank", "--conformal", 0.1, "--no-track")
    refused(["conformal=2"], "train", "iris", "--conformal", 2, "--no-track")
    refused(["conformal_by"], "train", "diabetes", "--task", "regress", "--conformal", 0.1, "--conformal-by", "class")


def test_a_model_without_sets_is_refused(train, refused):
    train("iris", "--solver", "smo", "--out", "m.model")
    refused(["has no sets"], "predict", "m.model", "iris", "--sets")
    refused(["one of them"], "predict", "m.model", "iris", "--sets", "--proba")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--keep", "a"], "--sets writes a line a row without columns"),
        (["--append"], "--sets writes a line a row without columns"),
        (["--on-error", "skip"], "--sets has a line for each row"),
        (["--out", "s.parquet"], "s.parquet should end in .csv"),
        (["--json", "--out", "-"], "both write to standard output"),
    ],
)
def test_ways_in_which_sets_are_not_written(svmkit, refused, options, words):
    svmkit("train", "iris", "--conformal", 0.2, "--out", "m.model", "--no-track")
    refused([words], "predict", "m.model", "iris", "--sets", *options)
    assert not Path("s.parquet").exists() and not Path("-").exists()
    lines = svmkit("predict", "m.model", "iris", "--sets", "--out", "-").out.splitlines()
    assert len(lines) == 150 and not Path("-").exists()


def test_sets_of_another_alpha(svmkit):
    svmkit("train", "iris", "--conformal", 0.2, "--out", "m.model", "--no-track")
    found = svmkit("predict", "m.model", "iris", "--sets", "--alpha", 0.1, "--json").json
    model, data = SVMModel.load("m.model"), load("iris")
    sizes = [len(labels) for labels in found["sets"]]
    assert found["alpha"] == 0.1 and sizes == model.predict_sets(data.X, alpha=0.1).sum(axis=1).tolist()
    assert "give --sets, too" in svmkit("predict", "m.model", "iris", "--alpha", 0.1).err
    assert "alpha=2.0 must be a number in (0, 1)" in svmkit("predict", "m.model", "iris", "--sets", "--alpha", 2).err


def test_sets_of_folds(svmkit):
    args = ("--conformal", 0.2, "--conformal-folds", 4, "--no-track")
    done = svmkit("train", lopsided(), "--solver", "smo", *args, "--out", "m.model")
    assert done.code == 0 and "hold the truth of 80% of new rows, of 58% for certain, by models of 4 folds" in done.out
    said, found = (svmkit("evaluate", "m.model", lopsided(), *flag) for flag in ([], ["--json"]))
    assert "(80% asked for, 58% guaranteed)" in said.out
    assert found.json["sets"]["guaranteed"] == pytest.approx(SVMModel.load("m.model").conformal.promise())
    sets = svmkit("predict", "m.model", lopsided(), "--sets").out.splitlines()
    assert len(sets) == 400 and {*",".join(sets).split(",")} <= {"", "leave", "stay"}


def test_a_line_says_that_groups_are_not_held_out_whole(svmkit):
    rows = [f"{k % 13},{k // 3},{'ab'[k % 13 > 6]}" for k in range(120)]
    Path("g.csv").write_text("\n".join(["x,who,label", *rows]) + "\n")
    given = ("g.csv", "--groups", "who", "--no-track")
    assert "holds out rows and not whole groups" in svmkit("train", *given, "--conformal", 0.1).err
    assert "whole groups" not in svmkit("train", *given).err
