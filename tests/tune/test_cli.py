"""svmkit tune: results, what is saved and logged, and what is refused before any fit."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.cli import people, process, svmlight, wait_until_solving
from support.endless import ENDLESS
from support.problems import write

from svmkit.cli.tuning.search import describe_doubt
from svmkit.model.model import SVMModel
from svmkit.scoring.metric import Metric

pytestmark = pytest.mark.usefixtures("alone")

GRID = ("--grid", "C=0.1:10:log3", "--grid", "gamma=scale,0.1", "--cv", 3)


@pytest.fixture
def tune(svmkit):
    """tune(...) -> the JSON of an untracked `svmkit tune`."""
    return lambda *args: svmkit("tune", *args, "--no-track", "--json").json


def test_the_json(tune):
    found = tune(svmlight(), *GRID, "--out", "m.svmkit", "--plot", "p.png", "--seed", 4)
    assert list(found) == [
        "data", "solver", "kernel", "search", "cv", "metric", "n_candidates", "n_fits", "seconds", "interrupted",
        "best", "candidates", "plot", "model", "run_id", "refit",
    ]  # fmt: skip
    assert (found["data"], found["solver"], found["search"], found["cv"]) == ("clouds", "auto", "grid", 3)
    assert found["kernel"] == {"name": "rbf", "params": {}}
    assert (found["n_candidates"], found["n_fits"], found["interrupted"]) == (6, 18, False)
    assert (found["model"], found["plot"], found["run_id"]) == ("m.svmkit", "p.png", None)
    assert {(c["params"]["C"], c["params"]["gamma"]) for c in found["candidates"]} == {
        (C, gamma) for C in (0.1, 1.0, 10.0) for gamma in ("scale", 0.1)
    }
    accuracies = [c["mean_accuracy"] for c in found["candidates"]]
    assert accuracies == sorted(accuracies, reverse=True) and accuracies[0] > 0.8
    assert {key: found["candidates"][0][key] for key in found["best"]} == found["best"]
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")


def test_the_best_is_refitted_on_all_rows_and_saved(tune, train, svmkit):
    found = tune(svmlight(), *GRID, "--test-size", 0.25, "--out", "m.svmkit", "--tol", "1e-4")
    refit, best = found["refit"], found["best"]["params"]
    assert refit["params"]["C"] == best["C"] and refit["gap"] <= 1e-4 and refit["n_samples"] == 44
    again = train(svmlight(), "-C", best["C"], "--gamma", best["gamma"], "--test-size", 0.25, "--tol", "1e-4")
    for key in set(again) - {"fit_s", "model"}:
        assert refit[key] == again[key], key
    model = SVMModel.load("m.svmkit")
    assert model.about["C"] == best["C"] and model.about["data"] == "clouds" and model.about["gap"] == refit["gap"]
    assert svmkit("evaluate", "m.svmkit", svmlight(), "--json").code == 0


def test_the_hold_out_is_made_before_the_search(tune, monkeypatch):
    from svmkit import tune as package

    seen = []
    run = package.run
    monkeypatch.setattr(package, "run", lambda paths, X, y, **o: (seen.append(X.shape[0]), run(paths, X, y, **o))[1])
    assert tune(svmlight(), *GRID, "--test-size", 0.5)["refit"]["n_test"] == 30 and seen == [30]
    assert tune(svmlight(), *GRID, "--test", svmlight("t.svm", n=20))["refit"]["n_test"] == 20 and seen[-1] == 60


def test_text_labels_and_text_columns(tune, svmkit):
    found = tune(people("p.csv"), "--label", "answer", *GRID, "--scale", "standard", "--out", "m.svmkit")
    assert found["refit"]["classes"] == ["no", "yes"] and found["best"]["mean_accuracy"] > 0.8
    assert set(svmkit("predict", "m.svmkit", people("p.csv")).out.split()) == {"no", "yes"}


def test_three_classes_in_words(svmkit):
    done = svmkit("tune", "iris", "--solver", "smo", "--grid", "C=1,10", "--grid", "shrinking=true,false", "--no-track")
    lines = done.out.splitlines()
    assert done.code == 0 and lines[0].startswith("grid search over C, shrinking: 4 candidates, 5 folds, 20 fits in ")
    assert lines[1].split() == ["C", "shrinking", "accuracy", "support", "fit"]
    assert [line.split()[0] for line in lines[2:6]] == ["1", "2", "3", "4"]
    assert "certified relative duality gap" in done.out and "3 classes" in done.out
    assert len({line.index("%") for line in lines[2:6]}) == 1  # aligned


def test_no_more_than_ten_are_shown(svmkit):
    done = svmkit("tune", svmlight(), "--grid", "C=0.1:10:log12", "--cv", 2, "--no-track")
    assert done.out.splitlines()[11].split()[0] == "10" and done.out.splitlines()[12] == ""


def test_random_and_halving(tune):
    drawn = tune(svmlight(), "--grid", "C=0.1:1000", "--grid", "gamma=2^-5:2^1", "--search", "random", "--n-iter", 7)
    assert drawn["n_candidates"] == 7 and drawn["n_fits"] == 35
    assert len({c["params"]["gamma"] for c in drawn["candidates"]}) == 7
    halved = tune(svmlight(n=200), *GRID, "--search", "halving", "--factor", 2)
    rows = [c["n_resources"] for c in halved["candidates"]]
    assert rows == sorted(rows, reverse=True) and rows[0] > rows[-1] and halved["n_candidates"] == 6


def test_the_grids_when_none_is_given(tune):
    data = svmlight(n=24)
    found = tune(data, "--cv", 2, "--tol", "0.1")
    assert found["n_candidates"] == 110 and set(found["best"]["params"]) == {"C", "gamma"}
    assert tune(data, "--cv", 2, "--gamma", 0.5, "--tol", "0.1")["n_candidates"] == 11
    assert set(tune(data, "--cv", 2, "--solver", "dcd")["best"]["params"]) == {"C"}
    assert tune(data, "--cv", 2, "--search", "random", "--tol", "0.1")["n_candidates"] == 20


def test_C_where_it_is_not_searched(tune):
    found = tune(svmlight(), "--grid", "gamma=0.1,1", "-C", 3, "--cv", 3)
    assert found["refit"]["params"]["C"] == 3.0 and set(found["best"]["params"]) == {"gamma"}
    assert found["kernel"]["params"] == {}


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_kernel_values_that_overflow_fail_without_noise(jobs):
    data = svmlight(spread=100.0)
    values = ("--kernel", "poly", "--gamma", 0.01, "--grid", "degree=1,200")
    done = process("tune", data, "--solver", "smo", *values, "--cv", 3, "--jobs", jobs, "--no-track", "--json")
    first, last = done.json["candidates"]
    assert first["params"] == {"degree": 1} and first["mean_accuracy"] > 0.4
    assert last["params"] == {"degree": 200} and last["mean_accuracy"] is None
    assert "go beyond float64" in last["reason"] and "1 of 2 candidates failed" in done.err
    assert "RuntimeWarning" not in done.err


def test_a_failed_candidate_is_null_with_its_reason(tune, svmkit, monkeypatch):
    from svmkit.tune import estimator

    path_prepared = estimator.path_prepared

    def failing(data, Cs, *args, **options):
        if 10.0 in Cs and data.kernel.gamma == 0.1:
            raise FloatingPointError("too far")
        return path_prepared(data, Cs, *args, **options)

    monkeypatch.setattr(estimator, "path_prepared", failing)
    done = svmkit("tune", svmlight(), *GRID, "--no-track", "--json")
    last = done.json["candidates"][-1]
    assert last["params"] == {"C": 10.0, "gamma": 0.1} and last["mean_accuracy"] is None is last["std_accuracy"]
    assert last["reason"] == "FloatingPointError: too far"
    assert done.err.count("\n") == 2 and "1 of 6 candidates failed, the first: FloatingPointError" in done.err
    assert "svmkit: auto: smo for " in done.err

    monkeypatch.setattr(estimator, "path_prepared", lambda *a, **k: 1 / 0)
    done = svmkit("tune", svmlight(), *GRID, "--no-track", "--out", "m.svmkit")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1) and "every candidate failed" in done.err
    assert not Path("m.svmkit").exists()


def test_unconverged_candidates_are_noted(svmkit):
    done = svmkit("tune", svmlight(), *GRID, "--max-iter", 2, "--no-track")
    assert done.code == 0 and "6 of 6 candidates did not converge" in done.err


@pytest.mark.slow
def test_runs_in_mlflow(svmkit):
    from mlflow import MlflowClient

    found = svmkit("tune", svmlight(), *GRID, "--tracking-uri", "sqlite:///m.db", "--experiment", "e", "--json").json
    client = MlflowClient(f"sqlite:///{Path('m.db').absolute()}")
    parent = client.get_run(found["run_id"])
    assert parent.info.status == "FINISHED" and parent.data.params["grid"] == "C=0.1:10:log3 gamma=scale,0.1"
    assert not {"C", "gamma"} & set(parent.data.params)
    assert parent.data.params["search"] == "grid" and parent.data.params["n_candidates"] == "6"
    metrics = parent.data.metrics
    assert metrics["best/C"] == found["best"]["params"]["C"] and metrics["final/gap"] == found["refit"]["gap"]
    assert metrics["cv/mean_accuracy"] == found["best"]["mean_accuracy"] and "curve/gap" in metrics
    assert metrics["model/n_support"] == found["refit"]["n_support"] != metrics["cv/n_support"]  # that of the folds
    assert metrics["best/log10_C"] == pytest.approx(np.log10(metrics["best/C"])) and metrics["best/gamma"] > 0
    kept = {entry.path for entry in client.list_artifacts(parent.info.run_id)}
    assert kept >= {"accuracy.png", "candidates.json"} and parent.outputs.model_outputs
    table = client.download_artifacts(parent.info.run_id, "candidates.json", ".")
    assert json.loads(Path(table).read_text()) == found["candidates"]

    runs = client.search_runs([parent.info.experiment_id], f"tags.mlflow.parentRunId = '{parent.info.run_id}'")
    assert len(runs) == 6 and {run.info.status for run in runs} == {"FINISHED"}
    scores = {(float(r.data.params["C"]), r.info.run_name): r.data.metrics["cv/mean_accuracy"] for r in runs}
    for c in found["candidates"]:
        gamma = c["params"]["gamma"]
        assert scores[c["params"]["C"], f"C={c['params']['C']:g}, gamma={gamma}"] == c["mean_accuracy"]
    of_one = runs[0].data
    assert {"solver", "kernel", "log10_C", "gamma", "log10_gamma"} <= set(of_one.params)
    assert float(of_one.params["gamma"]) > 0 and {"cv/std_accuracy", "time/fit_s"} <= set(of_one.metrics)


@pytest.mark.slow
def test_options_that_were_searched_are_parameters_of_each_run(svmkit):
    from mlflow import MlflowClient

    grid = ("--solver", "smo", "--grid", "loss=hinge,squared_hinge", "--cv", 3)
    found = svmkit("tune", svmlight(), *grid, "--tracking-uri", "sqlite:///m.db", "--json").json
    client = MlflowClient(f"sqlite:///{Path('m.db').absolute()}")
    parent = client.get_run(found["run_id"])
    runs = client.search_runs([parent.info.experiment_id], f"tags.mlflow.parentRunId = '{found['run_id']}'")
    assert {run.data.params["loss"] for run in runs} == {"hinge", "squared_hinge"} and len(runs) == 2
    assert parent.data.params["C"] == "1.0" and "loss" not in parent.data.params


@pytest.mark.posix
@pytest.mark.slow
def test_an_interrupt_with_candidates_that_are_whole_keeps_the_best(svmkit, monkeypatch):
    from mlflow import MlflowClient

    from svmkit.tune import estimator

    path_prepared, calls = estimator.path_prepared, []

    def interrupted(*args, **options):
        calls.append(1)
        if len(calls) == at:
            os.kill(os.getpid(), signal.SIGINT)
            [ends] = options["callbacks"].on_begin(0, 1, "")
            while not ends(None):  # a fit is faster than the news of a signal
                time.sleep(0.01)
        return path_prepared(*args, **options)

    monkeypatch.setattr(estimator, "path_prepared", interrupted)
    client = MlflowClient(f"sqlite:///{Path('m.db').absolute()}")
    at = 5  # of two paths in three folds
    done = svmkit("tune", svmlight(), *GRID, "--tracking-uri", "sqlite:///m.db", "--out", "m.svmkit", "--json")
    assert "3 of 6 candidates are whole" in done.err
    assert done.json["interrupted"] and done.json["n_candidates"] == 3 and Path("m.svmkit").exists()
    run = client.get_run(done.json["run_id"])
    assert run.info.status == "FINISHED"
    calls.clear()
    at = 2
    done = svmkit("tune", svmlight(), *GRID, "--tracking-uri", "sqlite:///m.db", "--out", "n.svmkit")
    assert (done.code, done.out) == (1, "") and not Path("n.svmkit").exists()
    assert done.err == "svmkit: interrupted before a candidate was tried in all folds\n"
    assert client.search_runs([run.info.experiment_id], max_results=1)[0].info.status == "KILLED"


def test_a_store_that_fails_costs_one_warning(svmkit):
    write("blocked", "no folder")
    done = svmkit("tune", svmlight(), *GRID, "--tracking-uri", "sqlite:///blocked/m.db", "--json")
    assert done.json["run_id"] is None and done.err.count("MLflow") == 1


def test_progress_in_words():
    from svmkit.cli.tuning.search import progress_line
    from svmkit.scoring.metric import Metric
    from svmkit.tune import Progress

    metric = Metric("accuracy", np.array([0, 1]))
    assert progress_line(Progress(0, 30, 1.0, np.nan), metric).startswith("searching")
    assert progress_line(Progress(10, 30, 4.0, 0.875), metric) == "10 of 30 fits  best so far 87.50%  about 8 s left"
    assert progress_line(Progress(1000, None, 4.0, np.nan), metric) == "1,000 fits"


@pytest.mark.parametrize(
    "words, args",
    [
        (["--grid", "c", "it has C, gamma"], ["--grid", "c=1,2"]),
        (["'x'", "not a finite number"], ["--grid", "C=1,x"]),
        (["C", "-1", "> 0"], ["--grid", "C=-1,2"]),
        (["NAME=VALUES"], ["--grid", "C="]),
        (["step must not be 0"], ["--grid", "C=2^-5:2^15:0"]),
        (["for --search random"], ["--grid", "C=1:10"]),
        (["given twice"], ["--grid", "C=1", "--grid", "C=2"]),
        (["gamma is searched", "one of the two"], ["--grid", "gamma=1,2", "--gamma", "1"]),
        (["C is searched", "one of the two"], ["--grid", "C=1,2", "-C", "1"]),
        (["loss is searched"], ["--solver", "smo", "--grid", "loss=hinge", "-o", "loss=hinge"]),
        (["needs the linear kernel"], ["--solver", "dcd", "--kernel", "rbf"]),
        (["linear kernel has no gamma"], ["--solver", "dcd", "--grid", "gamma=1,2"]),
        (["cv=5", "class 1 has 3", "--cv 3"], ["--grid", "C=1,2"]),
        (["--cv", "2"], ["--cv", "1"]),
        (["there are: grid, random, halving"], ["--search", "bayes"]),
        (["--n-iter is for --search random"], ["--n-iter", "5"]),
        (["--factor is for --search halving"], ["--factor", "5"]),
        (["backend 'mpi'", "loky, threading, dask, ray"], ["--backend", "mpi"]),
        (["p.gif", ".png, .svg, .pdf"], ["--plot", "p.gif"]),
        (["cannot write no/p.png"], ["--plot", "no/p.png"]),
        (["nothing to draw"], ["--solver", "smo", "--grid", "loss=hinge,squared_hinge", "--plot", "p.png"]),
        (["cannot write no/m"], ["--out", "no/m"]),
        (["--test or --test-size"], ["--test", "few.svm", "--test-size", "0.5"]),
        (["--tol"], ["--tol", "0"]),
        (["--register needs the tracker"], ["--register", "x"]),
    ],
)
def test_refused_before_any_fit(refused, monkeypatch, words, args):
    from svmkit.tune import estimator

    monkeypatch.setattr(estimator, "path_prepared", lambda *a, **k: pytest.fail("a fit began"))
    write("few.svm", "".join(f"{1 if i < 3 else -1} 1:{i} 2:{i % 3}\n" for i in range(20)))
    refused(words, "tune", "few.svm", "--no-track", *args)


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_before_any_candidate_is_whole(jobs, signum):
    command = [sys.executable, "-m", "svmkit", "tune", *ENDLESS, "--jobs", str(jobs)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until_solving(child)
        child.send_signal(signum)
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
        child.communicate()
    assert (child.returncode, out) == (1, "")
    assert err.splitlines()[-1] == "svmkit: interrupted before a candidate was tried in all folds"
    assert "Traceback" not in err


@pytest.mark.slow
def test_the_best_model_is_registered(svmkit):
    store = ("--tracking-uri", "sqlite:///m.db")
    found = svmkit("tune", svmlight(), *GRID, *store, "--register", "best", "--json").json
    assert found["model"] == "models:/best/1"
    shown = svmkit("models", "show", "best", *store).out
    assert found["run_id"] in shown


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        ("converged", "give a smaller --tol"),
        ("time_limit", "the time limit ended its fit: give more time"),
        ("interrupted", "its fit was interrupted"),
        ("max_iter", "it did not converge: give it more steps"),
    ],
)
def test_a_refit_worse_than_its_folds_is_told_with_what_helps(status, remedy):
    best, metric = SimpleNamespace(mean_score=0.84, std_score=0.005), Metric("accuracy", np.array([0, 1]))
    line = describe_doubt(best, metric, {"status": status, "metric": {"train": 0.75}})
    assert line == (
        "the model has accuracy 75.00% on the rows that it was trained on, and 84.00% in the folds: "
        f"the search says nothing about it; {remedy}"
    )
    assert describe_doubt(best, metric, {"status": status, "metric": {"train": 0.83}}) is None
    assert describe_doubt(best, metric, {"status": status, "metric": {"train": None}}) is None
