"""`train`, `tune`, `compare` and `datasets info` on tables as people have them."""

import json
from pathlib import Path

import pandas as pd
import pytest
from support.churn import write_churn
from support.problems import write

pytestmark = pytest.mark.usefixtures("alone", "cells_here")

READ = ("--decimal", ",", "--encoding", "latin-1", "--drop", "customer,name", "--drop", "last_order,age,income,visits")
QUANTITY = "a,price,y\n" + "".join(f"{i % 7},{i * 3 % 997},{i % 2}\n" for i in range(400))


@pytest.fixture
def churned():
    return str(write_churn("churn.csv", 300))


def test_a_model_of_an_export_reads_later_files_without_options(svmkit, churned):
    done = svmkit("train", churned, *READ, "--scale", "standard", "--no-track", "--out", "m.svmkit", "--json")
    assert done.json["label"] == {"column": "churned", "position": 15, "chosen": "last column"}
    assert done.json["n_features"] == 21
    assert "svmkit: churn: label column 'churned' (last column)\n" in done.err
    assert "svmkit: churn: column 'since' taken for dates: days since 1970-01-01\n" in done.err
    scored = svmkit("evaluate", "m.svmkit", churned, "--json").json
    assert scored["n_test"] == 300 and scored["test_accuracy"] == done.json["train_accuracy"]
    assert len(svmkit("predict", "m.svmkit", churned).out.splitlines()) == 300


def test_the_label_is_in_the_report(svmkit):
    write("t.csv", "a,b\n1,x\n2,y\n1.5,x\n2.5,y\n")
    done = svmkit("train", "t.csv", "--no-track")
    assert "2 classes, label column 'b' (last column)\n" in done.out and "label column 'b' (last column)" in done.err
    done = svmkit("train", "t.csv", "--no-track", "--label", "b")
    assert "2 classes, label column 'b' (given)\n" in done.out and "label column" not in done.err
    done = svmkit("tune", "t.csv", "--no-track", "--cv", "2", "--grid", "C=1,2", "--label", "b")
    assert "label column 'b' (given)\n" in done.out
    found = svmkit("tune", "t.csv", "--no-track", "--cv", "2", "--grid", "C=1,2", "--json").json
    assert found["refit"]["label"]["column"] == "b"


def test_booleans_are_predicted_as_booleans_and_are_the_same_classes_as_0_and_1(svmkit):
    rows = [(i, i % 3 != 0) for i in range(-12, 12)]
    write("b.csv", "a,y\n" + "".join(f"{(2 * y - 1) * 5 + i / 9},{y}\n" for i, y in rows))
    write("n.csv", "a,y\n" + "".join(f"{(2 * y - 1) * 5 + i / 9},{int(y)}\n" for i, y in rows))
    pd.read_csv("b.csv").to_parquet("b.parquet")
    for name, classes in (("b.csv", [False, True]), ("b.parquet", [False, True]), ("n.csv", [0, 1])):
        done = svmkit("train", name, "--no-track", "--out", "m.svmkit", "--force", "--json").json
        assert done["classes"] == classes and done["train_accuracy"] == 1.0
        said = svmkit("predict", "m.svmkit", name).out.splitlines()
        assert said == [str(classes[y]) for _, y in rows]
        for other in ("b.csv", "b.parquet", "n.csv"):
            assert svmkit("evaluate", "m.svmkit", other, "--json").json["test_accuracy"] == 1.0
    svmkit("train", "b.csv", "--no-track", "--out", "m.svmkit", "--force")
    svmkit("predict", "m.svmkit", "b.csv", "--out", "p.parquet")
    assert pd.read_parquet("p.parquet")["prediction"].tolist() == [y for _, y in rows]
    assert svmkit("train", "b.csv", "--task", "regress", "--no-track", "--json").json["train_r2"] > 0.9


@pytest.mark.parametrize("command", [("train",), ("tune", "--grid", "C=1,2")])
def test_what_cannot_be_learnt_is_refused(refused, svmkit, command):
    write("t.csv", "a,b,c,y\n" + "".join(f"{i},{'xyz'[i % 3]},7,{i % 2}\n" for i in range(40)))
    name, *rest = command
    rest += ["--no-track"]
    refused(["--task 'learn' is not known; there are: classify, regress"], name, "t.csv", "--task", "learn", *rest)
    refused(["t: label column 'b' (given) holds text ('x')", "regression needs numbers"],
            name, "t.csv", "--label", "b", "--task", "regress", *rest)  # fmt: skip
    refused(["label column 'c' (given) is 7 in all 40 rows", "nothing to learn"],
            name, "t.csv", "--label", "c", "--task", "regress", *rest)  # fmt: skip
    write("s.svm", "nan 1:1\n1.5 1:2\n2.5 1:3\n")
    refused(["s.svm"], name, "s.svm", "--task", "regress", *rest)
    refused(["--epsilon must be a finite number >= 0, not -1"], name, "t.csv", "--epsilon", "-1", *rest)
    refused(["--epsilon is for quantities"], name, "t.csv", "--epsilon", "0.5", *rest)
    refused(["--epsilon is for quantities"], name, "t.csv", "--epsilon", "0.5", "--task", "classify", *rest)
    refused(["--class-weight is for classes"], name, "t.csv", "--class-weight", "balanced", "--task", "regress", *rest)
    refused(["metric r2 measures quantities, not classes"], name, "t.csv", "--metric", "r2", *rest)
    refused(
        ["metric f1 measures classes, not quantities"], name, "diabetes", "--metric", "f1", "--task", "regress", *rest
    )


def test_each_value_is_a_class_if_one_insists(train):
    write("t.csv", "a,y\n" + "".join(f"{i},{(i % 3) / 2}\n" for i in range(30)))
    found = train("t.csv", "--test", "t.csv", "--task", "classify", "--out", "m.svmkit")
    assert found["classes"] == ["0.0", "0.5", "1.0"] and found["test_accuracy"] == found["train_accuracy"] > 0.3


def test_evaluating_classes_that_are_numbers_with_a_fraction(train, svmkit):
    write("t.csv", "a,y\n" + "".join(f"{i % 3},{(i % 3) / 2}\n" for i in range(30)))
    train("t.csv", "--task", "classify", "--out", "m.svmkit")
    assert svmkit("evaluate", "m.svmkit", "t.csv", "--json").json["test_accuracy"] == 1.0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("iris", "--drop", "a"), ["iris: --drop: for CSV"]),
        (("iris", "--decimal", ",", "--only", "b"), ["--decimal, --only"]),
        (("churn.csv", "--decimal", "x"), ["--decimal 'x'"]),
        (("churn.csv", "--encoding", "x"), ["--encoding 'x' is no character encoding"]),
        (("churn.csv", "--encoding", "latin-1", "--drop", "nme"), ["no column 'nme'", "did you mean name"]),
        (("churn.csv", "--drop", "a", "--only", "b"), ["--drop or --only, not both"]),
        (("-", "--drop", "a"), ["leave --drop out"]),
        (("-", "--encoding", "utf-8"), ["leave --encoding out"]),
    ],
)
def test_options_that_cannot_be(refused, churned, args, words):
    refused(words, "train", *args, "--no-track", *(["--solver", "sfw"] if args[0] == "-" else []))


def test_options_in_a_file(svmkit, churned):
    write("o.yaml", "decimal: ','\nencoding: latin-1\ndrop: customer,name\nonly: []\n")
    done = svmkit("train", churned, "--no-track", "--config", "o.yaml")
    assert done.code == 2 and "holes in 4 columns" in done.err
    write("o.yaml", "decimal: ','\nencoding: latin-1\nonly: [since, calls, plan]\n")
    assert svmkit("train", churned, "--no-track", "--json", "--config", "o.yaml").json["n_features"] == 5


def test_datasets_info(svmkit, churned):
    out = svmkit("datasets", "info", churned, "--encoding", "latin-1", "--label", "churned").out
    assert "label       churned (given)" in out and "0: 286 (95.3%), 1: 14 (4.7%)" in out
    lines = {line.split()[0]: line for line in out.splitlines() if line}
    assert "looks like an ID: --drop customer" in lines["customer"] and " date " in lines["since"]
    assert "flag" in lines["app"] and "too many texts" in lines["name"]
    assert "train would refuse this: churn.csv: columns 'income', 'balance' hold numbers with a decimal comma" in out
    about = svmkit("datasets", "info", churned, *READ, "--json").json
    assert about["refusal"] is None and len(about["columns"]) == 9 and about["n_features"] == 21


def test_columns_without_names_are_known_by_the_ones_that_are_shown(svmkit):
    Path("t.csv").write_text("".join(f"{7 * i},{i % 5},{'ab'[i % 2]}\n" for i in range(40)))
    shown = svmkit("datasets", "info", "t.csv").out
    assert "column3 (last column)" in shown and "column1  number" in shown
    about = svmkit("datasets", "info", "t.csv", "--label", "column3", "--drop", "column1", "--json").json
    assert about["n_features"] == 1 and set(about["classes"]) == {"a", "b"}


def test_datasets_info_of_a_single_class(svmkit):
    out = svmkit("datasets", "info", write("t.csv", "a,kind\n1,yes\n2,yes\n"), "--label", "kind").out
    assert (
        "classes     yes: 2 (100.0%)" in out and "train would refuse this: y has only one class ('yes' in all 2" in out
    )


def test_datasets_info_of_a_quantity(svmkit):
    out = svmkit("datasets", "info", write("t.csv", QUANTITY), "--label", "price").out
    assert "target      a quantity: 400 values from 0 to" in out and "classes" not in out


@pytest.mark.slow
def test_compare_reads_tables(svmkit, churned):
    done = svmkit("compare", churned, "--solvers", "smo", *READ, "--no-track", "--json")
    assert done.code == 0 and "label column 'churned' (last column)" in done.err, done.err
    write(
        "s.yaml", json.dumps({"data": {"churn.csv": {"drop": ["customer", "name"], "only": "since"}}, "solvers": "smo"})
    )
    assert "not both" in svmkit("compare", "--spec", "s.yaml", "--no-track").err
    done = svmkit("compare", churned, "--solvers", "smo", "--spec", "s.yaml", "--decimal", ",")
    assert done.code == 2 and "--decimal" in done.err
