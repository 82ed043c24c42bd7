"""Numbers, times, shares and sizes on the command line: how they may be written, and what is said of others."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("alone")


@pytest.mark.parametrize(
    ("options", "param", "value"),
    [
        (["--time-limit", "1m"], "time_limit", 60.0),
        (["--time-limit", "90"], "time_limit", 90.0),
        (["--max-iter", "1e5"], "max_iter", 100_000),
        (["-C", "5e-1"], "C", 0.5),
        (["--memory", "200MB"], "memory", "200MB"),
    ],
)
def test_ways_to_write_a_value(svmkit, options, param, value):
    done = svmkit("train", "iris", "--no-track", "--json", "--out", "m.svmkit", *options)
    assert done.code == 0, done.err
    from svmkit.model.model import SVMModel

    assert SVMModel.load("m.svmkit").about["params"][param] == value


def test_a_share_in_percent(svmkit):
    found = [json.loads(svmkit("train", "iris", "--no-track", "--json", "--test-size", share).out)
             for share in ("25%", "0.25")]  # fmt: skip
    assert found[0]["test_accuracy"] == found[1]["test_accuracy"] is not None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-C", "1,5"], "-C '1,5' is no number: write 1.5"),
        (["--tol", "1e-3x"], "--tol '1e-3x' is no number"),
        (["--max-iter", "1.5"], "--max-iter '1.5' is no whole number"),
        (["--max-iter", "nan"], "--max-iter 'nan' is no whole number"),
        (["--seed", "-1"], "--seed must be at least 0, not -1"),
        (["--time-limit", "soon"], "--time-limit 'soon' is no time: write it as 30s"),
        (["--time-limit", "0"], "--time-limit '0' is no time"),
        (["--test-size", "a quarter"], "--test-size 'a quarter' is no number"),
        (["--memory", "1"], "--memory 1 is a number of bytes: write --memory 1GB"),
    ],
)
def test_a_value_that_cannot_be_read_is_named_in_one_line(refused, options, words):
    refused([words], "train", "iris", "--no-track", *options)


def test_a_value_of_a_file_is_read_alike(svmkit, refused):
    with open("train.yaml", "w", encoding="utf-8") as file:
        file.write("time_limit: 2m\nC: 1,5\n")
    refused(
        ["train.yaml: C: -C '1,5' is no number: write 1.5"], "train", "iris", "--no-track", "--config", "train.yaml"
    )


def test_solvers_that_are_not_joined_by_commas(refused):
    refused(["libsvm is a solver and no data", "--solvers smo,libsvm"], "compare", "iris", "--solvers", "smo", "libsvm")


def test_a_column_whose_name_is_a_number_is_taken_by_its_name(svmkit):
    rows = [(k % 7, k % 5, f"{k}.5", "ab"[k % 2]) for k in range(30)]
    lines = [",".join(map(str, row)) for row in rows]
    Path("t.csv").write_text("\n".join(["1,2,price,4", *lines]) + "\n")
    given = ("--no-track", "--json", "--drop", 1)
    by_name = svmkit("train", "t.csv", "--label", "4", *given).json
    assert by_name["label"]["column"] == "4" and by_name["classes"] == ["a", "b"] and by_name["n_features"] == 2
    by_position = svmkit("train", "t.csv", "--label", "-1", *given).json
    assert by_position["label"]["column"] == "4"
    assert svmkit("train", "t.csv", "--label", "1", "--no-track", "--json").json["label"]["column"] == "1"
