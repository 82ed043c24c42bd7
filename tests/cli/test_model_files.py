"""Model files on disk: what --out replaces is kept, and `svmkit show` says what is in a file."""

import json
import os
from pathlib import Path

import pytest
from support.cli import people, svmlight

from svmkit.data import load
from svmkit.model.model import SVMModel

pytestmark = pytest.mark.usefixtures("alone")
QUICK = ("iris", "--solver", "smo", "--no-track")


def models():
    return sorted(name for name in os.listdir() if ".svmkit" in name or ".bak" in name)


def test_a_model_that_is_replaced_is_kept(svmkit):
    first = svmkit("train", *QUICK, "--out", "m.svmkit")
    assert "kept" not in first.err and models() == ["m.svmkit"]
    old = Path("m.svmkit").read_bytes()
    second = svmkit("train", *QUICK, "-C", "5", "--test-size", "0.3", "--out", "m.svmkit")
    assert second.err.count("\n") == 1 and "the old file is kept as m.svmkit.bak (--force" in second.err
    assert Path("m.svmkit.bak").read_bytes() == old  # a run with a test set writes the model twice
    assert SVMModel.load("m.svmkit").about["C"] == 5.0 and models() == ["m.svmkit", "m.svmkit.bak"]


def test_by_force_nothing_is_kept(svmkit):
    Path("m.svmkit").write_text("no model, but somebody's")
    assert svmkit("train", *QUICK, "--out", "m.svmkit", "--force").err == ""
    assert models() == ["m.svmkit"] and SVMModel.load("m.svmkit")


def test_training_that_starts_at_the_model_keeps_it(svmkit):
    svmkit("train", *QUICK, "--out", "m.svmkit")
    old = Path("m.svmkit").read_bytes()
    done = svmkit("train", *QUICK, "-C", "2", "--out", "m.svmkit", "--resume")
    assert done.code == 0 and Path("m.svmkit.bak").read_bytes() == old


def test_the_best_model_of_a_search_keeps_the_old_one_too(svmkit):
    Path("m.svmkit").write_text("old")
    search = ("tune", *QUICK, "--grid", "C=1,2", "--gamma", "0.1", "--cv", "2", "--out", "m.svmkit")
    assert svmkit(*search).code == 0 and Path("m.svmkit.bak").read_text() == "old"
    assert svmkit(*search, "--force").code == 0 and Path("m.svmkit.bak").read_text() == "old"


def test_an_old_model_that_cannot_be_kept_is_not_replaced(svmkit, tmp_path_factory, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("elsewhere")))
    Path("m.svmkit").write_text("old")
    Path("m.svmkit.bak").mkdir()
    done = svmkit("train", *QUICK, "--out", "m.svmkit")
    assert done.code == 1 and "cannot keep m.svmkit as m.svmkit.bak" in done.err and "the model is in" in done.err
    assert Path("m.svmkit").read_text() == "old"


def test_force_needs_a_file(refused):
    refused(["--force needs --out"], "train", *QUICK, "--force")


def test_the_same_rows_to_train_and_test_on_earn_one_line(svmkit):
    data = svmlight()
    Path("copy.svm").write_bytes(Path(data).read_bytes())
    for test in (data, "copy.svm"):
        done = svmkit("train", data, "--test", test, "--solver", "smo", "--no-track")
        assert done.code == 0 and done.err.count("\n") == 1
        assert f"--test {test} has the rows of {data}" in done.err
    assert svmkit("train", data, "--test", svmlight("other.svm", seed=1), "--solver", "smo", "--no-track").err == ""


# --- svmkit show


def test_show_a_model_of_a_table(svmkit):
    data = people("people.csv")
    svmkit(
        "train", data, "--solver", "smo", "--gamma", "0.1", "--test-size", "0.25", "--no-track", "--out", "m.svmkit",
        "--scale", "minmax",
    )  # fmt: skip
    model = SVMModel.load("m.svmkit")
    found = svmkit("show", "m.svmkit", "--json").json
    assert found["model"] == "m.svmkit" and found["kernel"] == {"name": "rbf", "params": {"gamma": 0.1}}
    assert found["classes"] == ["no", "yes"] and sum(found["n_support"].values()) == found["vectors"]["n"]
    assert found["vectors"]["n"] == model.vectors.shape[0] and found["n_features"] == model.n_features
    assert [column["name"] for column in found["columns"]] == ["age", "city", "score"]
    assert found["columns"][1]["categories"] == ["berlin", "oslo", "rome"]
    assert found["label"] == "answer" and found["about"]["data"] == "people"
    assert found["about"]["test_accuracy"] == model.about["test_accuracy"]
    lines = dict(line.split("  ", 1) for line in svmkit("show", "m.svmkit").out.splitlines())
    assert lines["kernel"].strip() == "rbf (gamma=0.1)" and lines["solver"].strip() == "smo"
    assert lines["columns"].strip() == "3: age, city, score" and lines["label"].strip() == "answer"
    assert "C=1" in lines["params"] and len(lines["data sha256"].strip()) == 64


@pytest.mark.slow
def test_show_a_sparse_model_of_many_classes(svmkit):
    rows = [f"{k % 20} {k % 20 + 1}:1 {30 + k % 7}:0.5" for k in range(80)]
    Path("many.svm").write_text("\n".join(rows) + "\n")
    svmkit("train", "many.svm", "--solver", "smo", "--no-track", "--out", "m.svmkit")
    out = svmkit("show", "m.svmkit").out
    assert "sparse, float64" in out and "columns" not in out and "20 with their vectors: 0 (" in out
    assert "and 8 more" in out and all(len(line) < 400 for line in out.splitlines())


def test_what_a_file_says_does_not_steer_the_terminal(svmkit):
    data = load("iris")
    from svmkit import SVMClassifier

    model = SVMClassifier("smo").fit(data.X, data.y).model_
    model.about["note\n"] = "\x1b[2Jgone\n"
    model.save("m.svmkit")
    out = svmkit("show", "m.svmkit").out
    assert "\x1b" not in out and "\\x1b[2Jgone" in out
    assert json.loads(svmkit("show", "m.svmkit", "--json").out)["about"]["note\n"] == "\x1b[2Jgone\n"


def test_show_of_what_is_no_model(refused):
    Path("data.svm").write_text("1 1:1\n")
    refused(["data.svm is not a svmkit model file"], "show", "data.svm")
    refused(["not there"], "show", "missing.svmkit")
    refused(["no store"], "show", "models:/none@champion")
    assert os.listdir() == ["data.svm"]
