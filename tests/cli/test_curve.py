"""svmkit curve: learning curves on the command line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from svmkit.cli.comparing.learning import _cell

pytestmark = pytest.mark.usefixtures("alone", "cells_here")


@pytest.mark.slow
def test_a_curve_is_shown_drawn_kept_and_continued(svmkit):
    ask = ["curve", "breast_cancer", "--solver", "smo,fcfw", "--rows", "40,100,300", "--repeat", "2"]
    done = svmkit(*ask, "--out", "c.jsonl", "--plot", "c.png")
    assert done.code == 0 and done.err.count("converged") == 12
    assert done.out.count("smo: time grows as rows^") == 1 and done.out.count("fcfw: time grows as rows^") == 1
    assert "picture  c.png" in done.out and Path("c.png").stat().st_size > 10_000
    assert [line.split()[0] for line in done.out.splitlines()[1:7]] == ["40", "40", "100", "100", "300", "300"]
    again = svmkit(*ask, "--out", "c.jsonl", "--json")
    found = json.loads(again.out)
    assert again.code == 0 and "12 of 12 fits were finished before" in again.err
    assert len(found["fits"]) == 12 and [g["solver"] for g in found["growth"]] == ["smo", "fcfw"]
    assert {fit["n_samples"] for fit in found["fits"]} == {40, 100, 300} and found["is_whole"]


@pytest.mark.parametrize(
    "args, message",
    [
        (["--rows", "ten"], "give whole numbers joined by commas"),
        (["--rows", "1000000"], "cannot be trained on: breast_cancer has"),
        (["--plot", "c.txt"], "ends with .png, .svg, .pdf"),
        (["--solver", "smoo"], "smoo"),
        (["--test-size", "2"], "between 0 and 1"),
        (["--out", "no/such/c.jsonl"], "no/such"),
    ],
)
def test_bad_options_cost_one_line(svmkit, args, message):
    done = svmkit("curve", *args)
    assert done.code == 2 and message in done.err and done.err.count("\n") == 1 and done.out == ""


def test_one_value_has_no_spread():
    assert "±" not in _cell("test_accuracy", pd.Series([0.5])) and "±" in _cell("test_accuracy", pd.Series([0.5, 0.7]))
    assert _cell("test_accuracy", pd.Series([], dtype=float)) == ""


def test_all_sizes_are_measured_by_the_metric_that_all_rows_call_for(svmkit):
    """Small samples with a tenth of the rare class had no metric, and the column was called accuracy."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 2)), np.arange(600) % 12 == 0
    pd.DataFrame({"a": X[:, 0] + 2 * y, "b": X[:, 1], "y": np.where(y, "yes", "no")}).to_csv("rare.csv", index=False)
    done = svmkit("curve", "rare.csv", "--solver", "smo", "--rows", "30,60,300", "--repeat", "3", "--json")
    fits = json.loads(done.out)["fits"]
    assert len(fits) == 9 and {fit["metric"]["name"] for fit in fits} == {"balanced_accuracy"}
    assert all(fit["test_metric"] == fit["test_scores"]["balanced_accuracy"] for fit in fits)
