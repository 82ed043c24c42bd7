"""A comparison on quantities: R2, RMSE and MAE in its tables, its report and its tests, beside sets of classes."""

import json
from pathlib import Path

import pytest
from support.report import made

from svmkit.cli.comparing.comparison_table import print_tables
from svmkit.compare.plan.spec import read
from svmkit.compare.report import html, stats, words
from svmkit.errors import InputError

pytestmark = pytest.mark.usefixtures("alone", "cells_here")

HELD_OUT = ("--scale", "standard", "-C", "30", "--splits", "2", "--no-track")


def quantities(cell, record):
    """The record of a cell on quantities; the first solver is better on each set."""
    r2 = {"fw": 0.6, "smo": 0.5}.get(cell.solver, 0.4) + 0.01 * cell.seed
    history = record["history"] | {"accuracy": [None] * len(record["history"]["seconds"])}
    history["score"] = [r2 - 0.1] * len(history["seconds"])
    measured = {"test_r2": r2, "test_rmse": 50.0 * (1.0 - r2), "test_mae": 40.0 * (1.0 - r2)}
    return record | {"task": "regress", "classes": [], "test_accuracy": None, "history": history} | measured


@pytest.mark.slow
def test_tables_and_tests_have_the_measures(capsys):
    results = made(sets=("a", "b", "c", "d"), seeds=2, change=quantities)
    assert [row.treatment for row in results.best("a", "test_r2")] == ["fw"]
    assert [row.treatment for row in results.best("a", "test_rmse")] == ["fw"]
    table = words.describe_set(results, "a")
    assert any(head.startswith("R2") for head in table.heads) and {"RMSE", "MAE"} <= set(table.heads)
    assert not any("accuracy" in head for head in table.heads)
    tested = {test.metric: test for test in stats.over_sets(results)}
    assert "test_accuracy" not in tested and tested["test_r2"].friedman.ranks.argmin() == 0
    assert tested["test_mae"].friedman.ranks.argmin() == 0
    assert "Highest R2: fw on 4 sets." in words.summary(results)
    print_tables(results)
    assert "RMSE" in capsys.readouterr().out


@pytest.mark.slow
def test_the_report_draws_r2():
    data = html.chart_data(made(change=quantities))
    first = data["sets"][0]
    assert first["measure"] == "R2" and all(run["end"]["accuracy"] is not None for run in first["runs"])
    drawn = [value for run in first["runs"] for value in run["columns"]["accuracy"]]
    assert drawn and all(0.2 < value < 0.6 for value in drawn)
    assert html.chart_data(made())["sets"][0]["measure"] == "accuracy"
    assert "R2 over time" in html.render(made(change=quantities))


def test_what_a_spec_may_say():
    spec = read({"data": {"diabetes": {"epsilon": 5, "test": 0.3}}, "solvers": ["smo"], "metrics": ["r2", "rmse"]})
    assert spec.metrics == ("test_r2", "test_rmse") and spec.cells()[0].settings["data"]["epsilon"] == 5.0
    assert "epsilon" not in read({"data": ["iris"], "solvers": ["smo"]}).cells()[0].settings["data"]
    with pytest.raises(InputError, match="epsilon must be a finite number >= 0"):
        read({"data": {"diabetes": {"epsilon": -1}}, "solvers": ["smo"]})
    with pytest.raises(InputError, match="has no test split and R2 is asked for"):
        read({"data": ["diabetes"], "solvers": ["smo"], "metrics": ["r2"]})


@pytest.mark.slow
def test_solvers_on_quantities_and_on_classes(svmkit):
    done = svmkit("compare", "diabetes", "iris", "--solvers", "smo,smol2", *HELD_OUT, "--report", "r.html")
    assert done.code == 0 and "R2, 2 splits" in done.out and "accuracy, 2 splits" in done.out, done.err
    assert "taken for the target of a regression" in done.out and "R2 0." in done.err
    records = [json.loads(line) for line in Path("svmkit-compare.jsonl").read_text().splitlines()]
    of = {(r["set"], r["label"], r["split"]): r for r in records}
    found = of["diabetes", "smo", 0]
    assert found["task"] == "regress" and found["test_accuracy"] is None and found["test_r2"] > 0.3
    assert found["metric"]["name"] == "r2" and any(value is not None for value in found["history"]["score"])
    assert of["iris", "smo", 0]["test_r2"] is None and "score" not in of["iris", "smo", 0]["history"]
    again = svmkit("compare", "diabetes", "iris", "--solvers", "smo,smol2", *HELD_OUT)
    assert "8 of 8 cells were finished before" in again.err


@pytest.mark.slow
def test_a_loss_of_the_command_line_and_a_solver_that_does_not_take_it(svmkit):
    args = ("diabetes", "--loss", "quantile", "-o", "tau=0.9", "--scale", "standard", "--solvers")
    done = svmkit("compare", *args, "smo,fcsmo", "--test-size", 0.3, "--tol", 1e-5, "--no-track", "--json")
    smo, fcsmo = (json.loads(line) for line in done.out.splitlines())
    swap = svmkit("compare", *args, "smo,swap", "--no-track")
    assert (swap.code, swap.out) == (2, "") and "swap does not take loss=quantile" in swap.err
    assert smo["formulation"] == fcsmo["formulation"] == "quantile tau=0.9, free bias"
    assert smo["objective"] == pytest.approx(fcsmo["objective"], rel=3e-5) and smo["params"]["tau"] == 0.9
    refused = svmkit("compare", *args, "smo", "--loss", "hubr", "--no-track")
    assert (refused.code, refused.out) == (2, "") and "did you mean huber" in refused.err
