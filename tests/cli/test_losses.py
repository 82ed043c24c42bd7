"""`--loss NAME` with its options, refusals that name what fits, and a loss of one's own in a file."""

import json
import shlex
from pathlib import Path

import pytest
from support.plugin import unloaded  # noqa: F401  a fixture

pytestmark = pytest.mark.usefixtures("alone", "cells_here", "unloaded")


def test_a_quantile_leaves_its_share_below(svmkit):
    given = ("--loss", "quantile", "-o", "tau=0.9", "--solver", "fcsmo", "-C", "10", "--scale", "standard")
    found = svmkit("train", "diabetes", *given, "--no-track", "--json").json
    assert found["params"]["loss"] == "quantile" and found["params"]["tau"] == 0.9
    assert found["status"] == "converged" and 0.0 <= found["gap"] <= 1e-3


def test_the_same_as_the_option_of_the_solver(svmkit):
    given = ("train", "breast_cancer", "--solver", "smol2", "--no-track", "--json")
    new, old = (svmkit(*given, *more).json for more in (("--loss", "squared_hinge"), ("-o", "loss=squared_hinge")))
    assert new["objective"] == old["objective"] and new["params"] == old["params"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("iris", "--loss", "nope"), ["--loss 'nope' is not known", "huber"]),
        (("iris", "--loss", "huber", "--solver", "smo"), ["huber is for regression", "smoothed_hinge"]),
        (("diabetes", "--loss", "huber", "--solver", "swap"), ["swap", "huber", "fcsmo"]),
        (("diabetes", "--loss", "quantile", "-o", "tau=2"), ["tau must be", "0 < tau < 1"]),
        (("diabetes", "--loss", "huber", "-o", "delta=0"), ["delta must be", "> 0"]),
        (("diabetes", "--loss", "huber", "-o", "tau=0.5"), ["no option 'tau'", "delta", "quantile"]),
        (("iris", "--loss", "hinge", "-o", "loss=hinge"), ["--loss or -o loss"]),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(refused, args, words):
    refused(words, "train", *args, "--no-track")


@pytest.mark.parametrize("command", [("compare", "--solvers", "smo,fcsmo", "--no-track"), ("curve", "--solver", "smo")])
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--loss", "nope"), ["loss='nope' is not known", "huber"]),
        (("--loss", "huber", "--task", "classify"), ["huber is for regression", "smoothed_hinge"]),
        (("--loss", "quantile", "-o", "tau=2"), ["tau must be", "0 < tau < 1"]),
        (("--loss", "huber", "-o", "delta=0"), ["delta must be", "> 0"]),
        (("--loss", "huber", "-o", "tau=0.5"), ["no option 'tau'", "delta", "quantile"]),
        (("-o", "tau=0.5"), ["-o tau=0.5", "SOLVER.KEY=VALUE"]),
    ],
)
def test_what_does_not_fit_is_refused_before_a_cell_runs(refused, command, args, words):
    name, *own = command
    refused(words, name, "diabetes", *own, *args)


def test_a_loss_that_a_solver_does_not_take_names_those_that_do(refused):
    refused(["swap", "huber", "fcsmo"], "compare", "diabetes", "--solvers", "swap", "--loss", "huber", "--no-track")


@pytest.mark.slow
def test_a_comparison_and_a_curve_with_a_loss(svmkit):
    given = ("diabetes", "--loss", "quantile", "-o", "tau=0.9", "--scale", "standard", "--json")
    trained = svmkit("train", *given, "--solver", "fcsmo", "--no-track").json
    (cell,) = map(json.loads, svmkit("compare", *given, "--solvers", "fcsmo", "--no-track").out.splitlines())
    assert cell["objective"] == trained["objective"]
    fits = svmkit("curve", *given, "--solver", "fcsmo", "--rows", "50", "--repeat", "1").json["fits"]
    assert [fit["formulation"] for fit in fits] == [cell["formulation"]] and "0.9" in cell["formulation"]


@pytest.mark.slow
def test_a_loss_of_ones_own(svmkit):
    step = svmkit("new", "loss", "two_widths", "--json").json["next"][0]
    found = svmkit(*shlex.split(step)[1:], "-o", "above=5", "--no-track", "--json").json
    assert found["params"]["loss"] == "two_widths" and found["params"]["above"] == 5.0 and found["gap"] <= 1e-3
    assert Path("test_two_widths.py").exists()
    assert svmkit("check", "--plugin", "two_widths.py", "--json").json["passed"]


@pytest.mark.parametrize("more", [(), ("--loss", "huber", "-o", "delta=2")])
@pytest.mark.slow
def test_a_search_refits_what_the_label_is(svmkit, more):
    grid = ("--solver", "smo", "--grid", "C=1,10", "--cv", "2", "--scale", "standard")
    refit = svmkit("tune", "diabetes", *grid, *more, "--no-track", "--json").json["refit"]
    assert (refit["task"], refit["problem"], refit["classes"]) == ("regress", "TubeQP", [])
    assert refit["gap"] <= 1e-3 and refit["params"].get("delta") == (2.0 if more else None)
