"""A comparison of solvers on the one-class problem: fractions of outliers, and scores where labels are there."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import OneClassSVM
from support.report import made

from svmkit.cli.comparing.comparison_table import print_tables
from svmkit.compare import results_frame
from svmkit.compare.plan.sets import prepare
from svmkit.compare.plan.spec import read
from svmkit.compare.report import html, latex, words
from svmkit.errors import InputError

pytestmark = pytest.mark.usefixtures("alone", "cells_here")


def ring(path="ring.csv", n=120, labels=True):
    """Points around 0, each tenth of them far away; with labels 1, and -1 of what is far away."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    X[::10] *= 6.0
    lines = ["a,b,c" + ",label" * labels]
    lines += [",".join(f"{v:.6f}" for v in row) + ("," + ("1" if k % 10 else "-1")) * labels for k, row in enumerate(X)]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def looked_for(cell, record):
    share = 0.1 + 0.01 * cell.seed
    return record | {"task": "outliers", "classes": ["-1", "1"], "train_outliers": share, "test_outliers": share / 2}


def compared(svmkit, *args):
    done = svmkit("compare", *args, "--task", "outliers", "--no-track", "--json")
    return done, [json.loads(line) for line in done.out.splitlines()]


@pytest.mark.slow
def test_tables_and_the_report_have_the_fractions(capsys):
    results = made(seeds=3, change=looked_for)
    table = words.describe_set(results, "one")
    at = table.heads.index("outliers")
    assert table.rows[0][at].text == "11.00% ± 1.00%" and "test outliers" in table.heads
    assert not results.best("one", "train_outliers")
    print_tables(results)
    assert "test outliers" in capsys.readouterr().out
    assert "5.50% ± 0.50%" in html.render(results) and r"$11.00 \pm 1.00$" in latex.table(results)
    frame = results_frame(results)
    assert frame["train_outliers"].tolist()[0] == 0.1 and frame["test_outliers"].notna().all()


def test_data_have_labels_where_these_are_those_of_outliers():
    def sets(source, **entry):
        raw = {"data": {source: {"task": "outliers", "test": 0.25} | entry}, "solvers": ["smo"]}
        return prepare(read(raw).cells()[0].settings["data"])

    known = sets(ring())
    assert (known.train.task, known.train.n_features) == ("outliers", 3)
    assert set(known.test.y) == {-1, 1} and (known.test.y < 0).sum() == 3  # the share of each label is held out
    bare = sets(ring("bare.csv", labels=False))
    assert bare.train.y is None and bare.test.y is None and bare.train.X.shape == (90, 3)
    assert sets("iris").train.y is None and sets("diabetes").test.y is None
    assert set(sets("iris", positive="setosa").test.y) == {-1, 1}
    folds = read({"data": {"bare.csv": {"task": "outliers", "cv": 4}}, "solvers": ["smo"]}).cells()
    assert sum(prepare(cell.settings["data"]).test.n_samples for cell in folds) == 120


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"class_weight": "balanced"}, "class_weight is for classes"),
        ({"multiclass": "ovr"}, "is for classes"),
        ({"calibrate": "sigmoid"}, "calibration is for classes"),
        ({"nu": -1}, "data.iris.nu should be a finite number > 0"),
        ({"nu": 2, "loss": "hinge"}, "nu=2 is infeasible"),
        ({"metrics": ["test_outliers"]}, "no test split and test outliers is asked for"),
    ],
)
def test_what_is_refused(more, message):
    with pytest.raises(InputError, match=message):
        read({"data": ["iris"], "solvers": ["smo"], "task": "outliers"} | more)


@pytest.mark.slow
def test_each_nu_is_a_problem_and_solvers_of_one_objective_agree(svmkit):
    args = (ring(), "--solvers", "smo,fcsmo,fcfw,dcd", "--kernel", "rbf", "--gamma", "0.1", "--test-size", 0.25)
    wrong, _ = compared(svmkit, *args)
    assert wrong.code == 2 and "dcd needs the linear kernel" in wrong.err
    done, found = compared(
        svmkit, ring(), "--solvers", "smo,fcsmo,fcfw", *args[3:], "--nu", 0.15, "--nu", 0.35, "--tol", 1e-9
    )
    assert done.code == 0 and "Traceback" not in done.err, done.err
    by_name = {(record["set"], record["label"]): record for record in found}
    assert len(by_name) == 6
    X = prepare(read({"data": {"ring.csv": {"task": "outliers", "test": 0.25}}, "solvers": ["smo"]}).data["ring.csv"])
    for nu in (0.15, 0.35):
        smo, fcsmo, fcfw = (by_name[f"ring.csv nu={nu}", name] for name in ("smo", "fcsmo", "fcfw"))
        judge = OneClassSVM(nu=nu, gamma=0.1, tol=1e-8).fit(X.train.X)
        assert smo["objective"] == pytest.approx(fcsmo["objective"], rel=3e-9) and smo["problem"] == "OneClassQP"
        assert abs(smo["n_support"] - len(judge.support_)) <= 1
        # rounding errors say on which side of the boundary the few vectors on it are
        assert abs(smo["train_outliers"] - np.mean(judge.predict(X.train.X) < 0)) < 4 / 90
        assert abs(smo["test_outliers"] - np.mean(judge.predict(X.test.X) < 0)) <= 1 / 30
        assert (smo["formulation"], fcfw["formulation"]) == ("one class, hinge", "one class, squared hinge")
        assert smo["metric"]["name"] == "balanced_accuracy" and 0.5 < smo["test_metric"] <= 1
        assert smo["test_accuracy"] == pytest.approx(np.mean(judge.predict(X.test.X) == X.test.y), abs=0.05)


@pytest.mark.slow
def test_cells_without_labels_and_with_a_solver_of_another_problem(svmkit):
    done, found = compared(svmkit, ring("bare.csv", labels=False), "--solvers", "auto,dcd", "--test-size", 0.25)
    assert done.code == 1 and found[1]["status"] == "failed" and "SimplexQP: auto" in found[1]["reason"]
    assert found[0]["test_accuracy"] is None and found[0]["metric"] is None and 0 < found[0]["train_outliers"] < 0.3
    again = svmkit("compare", "bare.csv", "--solvers", "auto", "--task", "outliers", "--test-size", 0.25, "--no-track")
    assert "outliers" in again.out and "accuracy" not in again.out
    bare = ("bare.csv", "--solvers", "smo", "--task", "outliers", "--no-track")
    done = svmkit("compare", *bare, "--test", ring(), "--json")  # labels of the test rows alone suffice
    assert json.loads(done.out)["metric"]["name"] == "balanced_accuracy" and json.loads(done.out)["test_metric"] > 0.5
    wrong = svmkit("compare", *bare, "--test-size", 0.25, "--metric", "f1")
    assert wrong.code == 1 and "metric f1 needs labels" in wrong.out


@pytest.mark.slow
def test_a_run_of_mlflow_has_the_fractions(svmkit):
    from svmkit_registry import store

    done = svmkit("compare", ring(), "--solvers", "smo", "--task", "outliers", "--nu", 0.2, "--experiment", "far")
    assert done.code == 0, done.err
    client = store.open_client(store.tracking_uri())
    runs = client.search_runs([client.get_experiment_by_name("far").experiment_id])
    (run,) = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
    assert 0.1 < run.data.metrics["train/outliers"] <= 0.21 and run.data.params["nu"] == "0.2"
    assert run.data.params["task"] == "outliers" and run.data.params["formulation"] == "one class, hinge"
