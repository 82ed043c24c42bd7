"""Files of predictions that can be joined, and files that are written in another way than that of training."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from svmkit.model.model import SVMModel

pytestmark = pytest.mark.usefixtures("alone")


def customers(rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": [f"{i:05d}" for i in range(rows)],
            "age": rng.integers(18, 80, rows).astype(object),
            "city": rng.choice(["Bonn", "Kiel", "Rom"], rows),
            "since": pd.date_range("2020-01-13", periods=rows).strftime("%d.%m.%Y"),
            "score": rng.normal(size=rows).round(3),
        }
    )
    return frame.assign(churned=np.where(frame["age"] > 50, "yes", "no"))


@pytest.fixture
def model(train):
    customers().to_csv("train.csv", index=False)
    train("train.csv", "--drop", "id", "--impute", "median", "--scale", "standard", "--out", "m.svmkit")
    new = customers().drop(columns="churned").iloc[:8]
    new.to_csv("new.csv", index=False)
    return new


def expected(frame) -> list[str]:
    return SVMModel.load("m.svmkit").predict(frame).tolist()


def read(path: str) -> list[list[str]]:
    with open(path, newline="") as file:
        return list(csv.reader(file))


def test_columns_are_kept_as_they_stand(svmkit, model):
    labels = expected(model)
    assert svmkit("predict", "m.svmkit", "new.csv", "--keep", "id", "--out", "p.csv").code == 0
    assert read("p.csv") == [["id", "prediction"], *map(list, zip(model["id"], labels, strict=True))]
    to_stdout = svmkit("predict", "m.svmkit", "new.csv", "--keep", "id", "--out", "-").out
    assert to_stdout == svmkit("predict", "m.svmkit", "new.csv", "--keep", "id").out == Path("p.csv").read_text()
    assert svmkit("predict", "m.svmkit", "new.csv", "--out", "-").out.split() == labels
    assert svmkit("predict", "m.svmkit", "new.csv", "--append", "--out", "all.csv").code == 0
    rows = [[*fields, label] for fields, label in zip(read("new.csv")[1:], labels, strict=True)]
    assert read("all.csv") == [[*model.columns, "prediction"], *rows]
    done = svmkit("predict", "m.svmkit", "all.csv", "--append", "--out", "again.csv")
    assert read("again.csv")[0][-2:] == ["prediction", "prediction (svmkit)"] and "'prediction (svmkit)'" in done.err


def test_headers_and_parquet(svmkit, model):
    assert svmkit("predict", "m.svmkit", "new.csv", "--decision", "--out", "p.tsv").code == 0
    lines = Path("p.tsv").read_text().split()
    assert lines[0] == "decision" and float(lines[1]) == SVMModel.load("m.svmkit").decision_function(model)[0]
    assert svmkit("predict", "m.svmkit", "new.csv", "--append", "--out", "p.parquet").code == 0
    frame = pd.read_parquet("p.parquet")
    assert frame["prediction"].tolist() == expected(model) and frame["id"].tolist() == model["id"].tolist()
    assert svmkit("predict", "m.svmkit", "p.parquet", "--keep", "id", "--out", "q.csv").code == 0
    assert [row[0] for row in read("q.csv")[1:]] == model["id"].tolist()


@pytest.mark.slow
def test_names_of_classes_and_pairs(svmkit, train):
    pd.DataFrame(
        {"x": np.arange(30) // 10 + np.linspace(0, 0.1, 30), "kind": list("a" * 10 + "b" * 10 + "c" * 10)}
    ).to_csv("t.csv", index=False)
    train("t.csv", "--label", "kind", "--loss", "logistic", "--kernel", "linear", "--out", "m.svmkit")
    assert svmkit("predict", "m.svmkit", "t.csv", "--proba", "--keep", "kind", "--out", "p.csv").code == 0
    rows = read("p.csv")
    assert rows[0] == ["kind", "a", "b", "c"] and abs(sum(map(float, rows[1][1:])) - 1.0) < 1e-9
    assert svmkit("predict", "m.svmkit", "t.csv", "--decision", "--out", "p.csv").code == 0
    assert read("p.csv")[0] == ["a vs b", "a vs c", "b vs c"]


def test_a_cell_that_cannot_be_read(svmkit, model, refused):
    model.loc[2, "age"] = "unknown"
    model.to_csv("new.csv", index=False)
    refused(["new.csv:4", "'age'", "'unknown'", "--on-error"], "predict", "m.svmkit", "new.csv")
    hole = expected(model.assign(age=model["age"].replace("unknown", np.nan)))
    done = svmkit("predict", "m.svmkit", "new.csv", "--on-error", "impute")
    assert done.out.split() == hole and "1 cell cannot be read, filled as holes are: first new.csv:4" in done.err
    assert svmkit("predict", "m.svmkit", "new.csv", "--na", "none,unknown").out.split() == hole
    done = svmkit("predict", "m.svmkit", "new.csv", "--on-error", "skip", "--keep", "id", "--out", "p.csv")
    assert "1 of 8 rows are skipped: first new.csv:4, column 'age' ('unknown')" in done.err
    rows = read("p.csv")[1:]
    assert [row[0] for row in rows] == model["id"].tolist() and rows[2][1] == ""
    assert [row[1] for row in rows if row[1]] == hole[:2] + hole[3:]
    assert svmkit("predict", "m.svmkit", "new.csv", "--on-error", "skip").out.split()[2] == '""'
    answer = svmkit("predict", "m.svmkit", "new.csv", "--on-error", "skip", "--json").json
    assert answer["labels"] == [*hole[:2], None, *hole[3:]] and answer["n"] == 7
    labelled = customers().iloc[:8].assign(age=model["age"])
    labelled.to_csv("test.csv", index=False)
    refused(["test.csv:4"], "evaluate", "m.svmkit", "test.csv")
    assert svmkit("evaluate", "m.svmkit", "test.csv", "--on-error", "skip", "--json").json["n_test"] == 7
    assert svmkit("evaluate", "m.svmkit", "test.csv", "--na", "unknown", "--json").json["n_test"] == 8


def test_a_model_that_does_not_impute(svmkit, train, refused):
    customers().to_csv("train.csv", index=False)
    train("train.csv", "--drop", "id", "--out", "m.svmkit")
    customers().iloc[:4].assign(score=[1.0, np.nan, 2.0, 3.0]).to_csv("new.csv", index=False)
    refused(
        ["--on-error impute is for a model that fills holes"], "predict", "m.svmkit", "new.csv", "--on-error", "impute"
    )
    done = svmkit("predict", "m.svmkit", "new.csv", "--on-error", "skip")
    assert done.out.split()[1] == '""' and "first a hole in new.csv:3" in done.err
    customers().iloc[:4].assign(score="x").to_csv("new.csv", index=False)
    refused(["no row can be read"], "predict", "m.svmkit", "new.csv", "--on-error", "skip")


def test_a_file_that_is_written_in_another_way(svmkit, model, refused):
    labels = expected(model)
    model.to_csv("new.csv", index=False, sep=";", decimal=",", encoding="utf-16")
    assert svmkit("predict", "m.svmkit", "new.csv", "--decimal", ",", "--encoding", "utf-16").out.split() == labels
    iso = pd.to_datetime(model["since"], format="%d.%m.%Y")
    model.assign(since=iso.dt.strftime("%Y-%m-%d")).to_csv("new.csv", index=False)
    assert svmkit("predict", "m.svmkit", "new.csv").out.split() == labels
    assert expected(model.assign(since=iso)) == expected(model.assign(since=iso.dt.date)) == labels
    less = model.drop(columns="score")
    less.to_csv("new.csv", index=False)
    refused(["lacks column 'score'", "--allow-missing"], "predict", "m.svmkit", "new.csv")
    done = svmkit("predict", "m.svmkit", "new.csv", "--allow-missing")
    assert done.out.split() == expected(model.assign(score=np.nan))
    assert "column 'score' is missing, taken as holes in all rows" in done.err


def test_what_a_model_remembers(svmkit, train):
    frame = customers()
    frame.loc[frame.index % 7 == 0, "score"] = -999
    frame.loc[frame.index % 9 == 0, "age"] = "unknown"
    frame.to_csv("train.csv", index=False)
    frame.assign(age=pd.to_numeric(frame["age"], errors="coerce")).to_parquet("train.parquet")
    given = "--na", "unknown,-999", "--drop", "id", "--impute", "median"
    train("train.csv", *given, "--out", "m.svmkit")
    model = SVMModel.load("m.svmkit")
    assert model.encoding.na == ("unknown", "-999") and model.imputing.statistics[-1] > -2.0
    labels = svmkit("predict", "m.svmkit", "train.csv").out
    assert svmkit("predict", "m.svmkit", "train.parquet").out == labels
    holed = frame.replace({"age": {"unknown": np.nan}, "score": {-999: np.nan}})
    assert model.predict(holed).tolist() == labels.split()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--keep", "nix"), "has no column 'nix'"),
        (("--keep", "id", "--append"), "--keep or --append, not both"),
        (("--json", "--out", "-"), "--json and --out - both write to standard output"),
        (("--json", "--keep", "id"), "--json has no columns of DATA"),
        (("--on-error", "some"), "--on-error 'some' is not known; there are: stop, skip, impute"),
        (("--decision", "--proba"), "--decision or --proba, not both"),
        (("--out", "july.XLSX"), "--out july.XLSX: workbooks are not written; write a .csv"),
    ],
)
def test_options_that_cannot_be(refused, model, args, words):
    refused([words], "predict", "m.svmkit", "new.csv", *args)


def test_columns_of_what_is_no_table(refused, train):
    train("iris", "--out", "m.svmkit")
    refused(["--keep is for one CSV, TSV or Parquet file"], "predict", "m.svmkit", "iris", "--keep", "id")
    refused(["--on-error", "for CSV, TSV and Parquet only"], "predict", "m.svmkit", "iris", "--on-error", "skip")


def test_formulas_are_told_of(svmkit, model):
    model.assign(id="=cmd()").to_csv("new.csv", index=False)
    done = svmkit("predict", "m.svmkit", "new.csv", "--keep", "id", "--out", "p.csv")
    assert "the cell '=cmd()' looks like a formula" in done.err and read("p.csv")[1][0] == "=cmd()"


@pytest.mark.parametrize("option", [("--keep", "city"), ("--append",)], ids=lambda option: option[0])
def test_columns_are_kept_in_the_encoding_of_training(train, svmkit, option):
    frame = customers().replace({"city": {"Rom": "Köln"}})
    frame.to_csv("train.csv", index=False, encoding="cp1252")
    train("train.csv", "--drop", "id", "--encoding", "cp1252", "--out", "m.svmkit")
    frame.drop(columns="churned").to_csv("new.csv", index=False, encoding="cp1252")
    done = svmkit("predict", "m.svmkit", "new.csv", *option, "--out", "p.csv")
    assert done.code == 0, done.err
    assert pd.read_csv("p.csv")["city"].tolist() == frame["city"].tolist()
