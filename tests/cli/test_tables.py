"""`train`, `tune`, `compare` and `datasets info` on tables as people have them."""

import json

import pytest
from support.churn import write_churn
from support.problems import write

pytestmark = pytest.mark.usefixtures("alone")

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


@pytest.mark.parametrize("command", [("train",), ("tune", "--grid", "C=1,2")])
def test_a_quantity_is_no_class_unless_one_insists(refused, svmkit, command):
    write("t.csv", QUANTITY)
    name, *rest = command
    refused(["t: label column 'price' (given) looks like a quantity (400 values in 400 rows)", "--task classify"],
            name, "t.csv", "--label", "price", "--no-track", *rest)  # fmt: skip
    refused(["--task 'regress' is not known; there is: classify"], name, "t.csv", "--task", "regress", *rest)
    write("s.svm", "".join(f"{i / 4} 1:{i}\n" for i in range(1, 40)))
    refused(["s: the label looks like a quantity"], name, "s.svm", "--no-track", *rest)


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


def test_datasets_info_of_many_classes_lists_a_few(svmkit):
    out = svmkit("datasets", "info", write("t.csv", QUANTITY), "--label", "price").out
    assert "and 380 more" in out and "looks like a quantity" in out


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
