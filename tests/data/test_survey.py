"""`survey`: what a table's columns are taken for, also where training would refuse them; and labels as classes."""

import json

import numpy as np
import pytest
from support.problems import write
from support.refusals import refused

from svmkit.data import Dataset, Reading, load
from svmkit.data.classes import with_labels_like, with_task
from svmkit.data.survey import survey

pytestmark = pytest.mark.usefixtures("alone")

RNG = np.random.default_rng(0)


def labelled(y) -> Dataset:
    return Dataset(np.zeros((len(y), 1)), np.asarray(y), "some")


# --- labels as classes


@pytest.mark.parametrize(
    "y",
    [
        [-1, 1],
        np.arange(300) % 10,
        np.arange(20_000) % 26 + 1,  # letter
        np.arange(6412) % 105 + 1,  # sector
        np.arange(300) % 50,
        np.arange(10).astype(float),
        ["a", "b", "c"],
        [f"w{i % 40}" for i in range(120)],
    ],
    ids=len,
)
def test_classes(y):
    data = labelled(y)
    for task in (None, "classify"):
        found = with_task(data, task)
        assert found.y is data.y and found.task == "classify" and found.notes == ()


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.arange(300) % 51, "the label looks like a quantity (51 values in 300 rows), taken for the target"),
        (np.arange(6000) % 2558, "2,558 values in 6,000 rows"),
        ([0.5, 1.0, 1.5, 0.5], "looks like a quantity (3 values such as 0.5)"),
        (np.arange(30), "30 values in 30 rows"),
    ],
)
def test_quantities(y, words):
    data = labelled(y)
    found = with_task(data, None)
    assert found.task == "regress" and found.y.dtype == np.float64 and found.y.tolist() == data.y.tolist()
    assert len(found.notes) == 1 and words in found.notes[0] and "--task classify" in found.notes[0]
    assert with_task(data, "regress").notes == ()
    as_classes = with_task(data, "classify")
    assert as_classes.y.tolist() == [str(v) if isinstance(v, float) else v for v in data.y.tolist()]
    assert as_classes.task == "classify"


@pytest.mark.parametrize(
    ("y", "task", "match"),
    [
        ([f"n{i}" for i in range(30)], None, "30 of them in one row only, too many for classes: .*--label COL"),
        (["a", "b", "a"], "regress", "some: the label holds text \\('a'\\), and regression needs numbers"),
        ([2, 2, 2], "regress", "some: the label is 2 in all 3 rows: there is nothing to learn"),
        ([1.0, np.nan, 2.0], "regress", "some: the label is nan in row 2: drop that row"),
        ([1.5, np.inf, 2.0], "regress", "some: the label is inf in row 2"),
    ],
)
def test_labels_that_cannot_be_learnt(y, task, match):
    refused(match, with_task, labelled(y), task)


def test_test_labels_are_what_training_labels_are():
    quantities, classes = with_task(labelled([1, 2, 3]), "regress"), with_task(labelled([0.5, 1.5, 0.5]), "classify")
    assert with_labels_like(labelled([7, 7]), quantities).y.dtype == np.float64
    assert with_labels_like(labelled([0.5, 2.5]), classes).y.tolist() == ["0.5", "2.5"]
    refused("regression needs numbers", with_labels_like, labelled(["a", "b"]), quantities)


# --- survey


def test_a_survey_never_fails_on_what_training_refuses(churn_csv):
    about = survey(churn_csv, Reading(charset="latin-1"))
    json.dumps(about)
    assert "--decimal , reads them" in about["refusal"]
    assert about["classes"] == {"0": 5724, "1": 276} and about["n_samples"] == 6000
    kinds = {column["column"]: column["kind"] for column in about["columns"]}
    assert kinds["customer"] == kinds["age"] == "number" and kinds["name"] == kinds["income"] == "text"
    assert kinds["since"] == "date" and kinds["app"] == "flag" and kinds["plan"] == "categories"
    assert "churned" not in kinds and about["label"]["column"] == "churned"
    remarks = {column["column"]: column["remark"] for column in about["columns"]}
    assert "looks like an ID" in remarks["customer"] and "--categorical name" in remarks["name"]
    assert "--decimal" in remarks["income"] and remarks["age"] is None


def test_remarks_say_what_is_done_with_a_column_and_the_option_that_changes_it(tmp_path):
    rows = [f"{k}%,{k + 1000:05d},{'Bonn' if k else 'bonn'},{'Kiel' if k else 'Kile'},{k % 2}" for k in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["rate,zip,city,town,y", *rows]) + "\n")
    remarks = {column["column"]: column["remark"] for column in survey(tmp_path / "t.csv", Reading())["columns"]}
    assert remarks == {
        "rate": "read without its unit (0%): --categorical rate keeps the texts",
        "zip": "looks like an ID: --drop zip; leading zeros (01000), codes perhaps: --categorical zip keeps them",
        "city": "differ by case or blanks only ('Bonn' 59, 'bonn' 1): --tidy city joins them",
        "town": "misspelt perhaps ('Kile' 1, beside 'Kiel' 59)",
    }


def test_a_remark_about_a_slip_leaves_out_the_file_and_the_column(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,label\n" + "".join(f"{k},{k % 2}\n" for k in range(40)) + "oops,1\n")
    [remark] = [column["remark"] for column in survey(path, Reading())["columns"]]
    assert remark.startswith("is numbers but for text") and "oops" in remark and str(path) not in remark


def test_a_survey_counts_values_holes_and_ranges(churn_csv):
    about = survey(churn_csv, Reading("churned", ",", "latin-1", drop="name,customer"))
    columns = {column["column"]: column for column in about["columns"]}
    assert columns["age"]["range"] == [18, 89] and columns["age"]["holes"] == 117
    assert columns["since"]["range"] == ["2011-06-09", "2026-06-30"] and columns["since"]["holes"] == 0
    assert list(columns["plan"]["most"]) == ["premium", "plus", "basic"] and columns["plan"]["distinct"] == 3
    assert about["n_features"] == 25 and not about["sparse"] and "686 holes" in about["refusal"]
    assert survey(churn_csv, Reading("churned", ",", "latin-1", only="since,plan,calls"))["refusal"] is None


def test_one_hole_is_no_value(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,label\nx,1.5,0\n,,1\ny,2.5,0\nx,3.5,1\n")
    for column, distinct in zip(survey(path, Reading())["columns"], (2, 3), strict=True):
        assert (column["holes"], column["distinct"]) == (1, distinct)


def test_a_survey_of_a_label_that_is_a_quantity(churn_csv):
    about = survey(churn_csv, Reading("income", ",", "latin-1", only="since,calls"))
    assert "'income' has no label ('')" in about["refusal"] and sum(about["classes"].values()) == 6000 - 310
    about = survey(churn_csv, Reading("balance", ",", "latin-1", only="since,calls"))
    assert about["task"] == "regress" and about["refusal"] is None and about["target"]["distinct"] == 5860
    low, high = about["target"]["range"]
    assert low < about["target"]["mean"] < high


@pytest.mark.parametrize(
    ("text", "kinds", "words"),
    [
        ("a,b,y\n,1,0\n,2,1\n", ["empty", "number"], None),
        ("a,y\n,0\n,1\n", ["empty"], "all others are empty"),
        ("a,y\n5,0\n5,1\n", ["number"], None),
        ("a,y\n1/2/2024,0\n3/4/2024,1\n", ["date"], "day or the month"),
        ("a,y\n" + "1,0\n2,1\n" * 30 + "x,0\n", ["text"], "numbers but for text"),
        ("a,y\nx,\ny,\n", ["categories"], "has no label"),
        ("a,y\r\n2024-01-01 06:00,0\r\n,1\r\n", ["date"], "1 hole in 1 column: a 1"),
    ],
)
def test_a_survey_of_odd_tables(text, kinds, words):
    about = survey(write("t.csv", text))
    assert [column["kind"] for column in about["columns"]] == kinds
    assert (about["refusal"] is None) if words is None else words in about["refusal"]
    json.dumps(about)


def test_a_survey_of_other_data_has_no_columns():
    about = survey("iris")
    assert {key: about[key] for key in load("iris").describe()} == load("iris").describe()
    assert about["columns"] is None and about["label"] is None and about["refusal"] is None
    assert about["task"] == "classify" and about["target"] is None
    write("t.svm", "".join(f"{i / 3} 1:{i}\n" for i in range(1, 9)))
    about = survey("t.svm")
    assert about["task"] == "regress" and about["refusal"] is None and about["target"]["range"] == [1 / 3, 8 / 3]
    refused("t.csv.*no rows below", survey, write("t.csv", "a,b,y\n"))
    refused("two columns are called 'a'", survey, write("t.csv", "a,a,y\n1,2,0\n"))
