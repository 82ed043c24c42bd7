"""`svmkit train` with every solver: the kernel it gets, the problem it solves, its losses, what it reports."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC
from support.cli import clouds, svmlight
from support.problems import write

from svmkit import plugins
from svmkit.cli.extending.plugins import facts

pytestmark = pytest.mark.usefixtures("alone")

ROWS = plugins.working("solver")
LINEAR = [row.name for row in ROWS if facts(row)["kernels"] == "linear"]


@pytest.mark.parametrize("name", [row.name for row in ROWS])
@pytest.mark.slow
def test_every_solver_just_works(svmkit, name):
    """By its name alone, with a result in which every number is one."""
    solver = plugins.build("solver", name)
    done = svmkit("train", svmlight(), "--solver", name, "--tol", "1e-2", "--no-track", "--json")
    result = done.json
    assert "NaN" not in done.out and result["solver"] == name
    assert result["kernel"]["name"] == ("linear" if name in LINEAR else "rbf")
    assert result["problem"] == ("LinearDual" if name == "dcd" else facts(_row(name))["problem"][-1])
    assert result["status"] in ("converged", "max_iter") and result["train_accuracy"] > 0.9
    assert result["objective"] > 0 and 0 < result["n_support"] <= 60
    assert (result["gap"] is None) == (result["dual_objective"] is None)
    assert result["params"].get("loss", solver.losses[0]) in (solver.losses[0], "auto")
    text = svmkit("train", "clouds.svm", "--solver", name, "--tol", "1e-2", "--no-track").out
    assert "nan" not in text.lower() and result["problem"] in text


def _row(name):
    return next(row for row in ROWS if row.name == name)


def takes_both(row):
    return {"hinge", "squared_hinge"} <= set(row.plugin.loss_names("classify")) and "loss" in row.options


@pytest.mark.parametrize("name", [row.name for row in ROWS if takes_both(row)])
def test_losses(train, name):
    path = svmlight(spread=2.0)
    ends = {}
    for loss in ("hinge", "squared_hinge"):
        result = train(path, "--solver", name, "--kernel", "linear", "-o", f"loss={loss}")
        assert result["params"]["loss"] == loss and result["kernel"]["name"] == "linear"
        ends[loss] = result["objective"]
    assert ends["hinge"] != pytest.approx(ends["squared_hinge"], rel=0.05)


def test_an_explicit_kernel_counts(train):
    assert train(svmlight(), "--kernel", "linear", "--solver", "libsvm")["kernel"]["name"] == "linear"
    assert train("clouds.svm", "--kernel", "poly", "--degree", "2")["kernel"]["name"] == "poly"
    write("c.yaml", "solver: dcd\n")
    assert train("clouds.svm", "--config", "c.yaml")["kernel"] == {"name": "linear", "params": {}}


def test_problems_of_pegasos(train):
    results = [train(svmlight(), "--solver", "pegasos", "--kernel", kernel) for kernel in ("linear", "rbf")]
    assert [result["problem"] for result in results] == ["LinearRisk", "KernelRisk"]


def test_libsvm_is_svc(train):
    X, y = clouds(60, spread=2.0)
    np.savez("clouds.npz", X=X, y=y)
    theirs = SVC(C=3.0, gamma=0.25).fit(X, y)
    ours = train("clouds.npz", "--solver", "libsvm", "-C", "3", "--gamma", "0.25", "--out", "m.model")
    assert ours["n_support"] == len(theirs.support_) and ours["n_iter"] == theirs.n_iter_[0]
    assert ours["train_accuracy"] == theirs.score(X, y)
    assert train("clouds.npz", "--solver", "libsvm", "-C", "3", "--gamma", "0.25", "--stop", "kkt:1e-3")[
        "n_iter"
    ] == ours["n_iter"]  # fmt: skip


def test_liblinear_is_linear_svc(train, svmkit):
    X, y = clouds(60, spread=2.0)
    np.savez("clouds.npz", X=X, y=y)
    theirs = LinearSVC(loss="squared_hinge", tol=1e-6).fit(X, y)
    train("clouds.npz", "--solver", "liblinear", "-o", "loss=squared_hinge", "-o", "eps=1e-6", "--out", "m.model")
    margins = svmkit("predict", "m.model", "clouds.npz", "--decision").out.split()
    np.testing.assert_allclose(np.array(margins, dtype=float), theirs.decision_function(X), atol=1e-4)


def test_kkt_is_libsvms_eps(train):
    loose, tight = (
        train(svmlight(spread=2.0), "--solver", "smo", "--stop", f"kkt:{eps}", "-C", "10") for eps in ("1e-1", "1e-5")
    )
    assert loose["status"] == tight["status"] == "converged"
    assert loose["n_iter"] < tight["n_iter"] and loose["gap"] > tight["gap"]


def test_rows_that_have_a_part(train, svmkit):
    result = train(svmlight(spread=2.0), "--solver", "dcd", "--out", "m.model")
    assert 3 < result["n_support"] <= 60 and result["kernel_values"] == 0
    lines = dict(
        line.split("  ", 1) for line in svmkit("train", "clouds.svm", "--solver", "dcd", "--no-track").out.splitlines()
    )
    assert lines["support"].split()[0] == str(result["n_support"]) and "part in the weights" in lines["support"]
    assert "kernel values" not in lines["time"]
    assert svmkit("evaluate", "m.model", "clouds.svm", "--json").json["test_accuracy"] == result["train_accuracy"]


def test_the_tolerance_of_a_run_is_not_that_of_other_software(train):
    params = train(svmlight(), "--solver", "libsvm", "--tol", "0.01", "-o", "eps=0.5")["params"]
    assert (params["tol"], params["eps"]) == (0.01, 0.5)


@pytest.mark.parametrize("solver", ["libsvm", "smo", "swap2o"])
def test_a_precomputed_matrix_from_a_file(train, solver):
    X, y = clouds()
    np.savez("square.npz", X=X @ X.T, y=y)
    np.savez("plain.npz", X=X, y=y)
    given = train("square.npz", "--kernel", "precomputed", "--solver", solver)
    linear = train("plain.npz", "--kernel", "linear", "--solver", solver)
    assert given["status"] == "converged"
    assert given["dual_objective"] == pytest.approx(linear["dual_objective"], rel=2e-3)


@pytest.mark.parametrize("solver", ["libsvm", "smo", "swap2o"])
def test_a_precomputed_matrix_that_is_none(refused, solver):
    X, y = clouds()
    K = X @ X.T
    K[3, 5] += 1.0
    np.savez("skew.npz", X=K, y=y)
    np.savez("oblong.npz", X=(X @ X.T)[:, :50], y=y)
    train = ("train", "--no-track", "--kernel", "precomputed", "--solver", solver)
    refused(["symmetric", "row 4, column 6", "row 6, column 4"], *train, "skew.npz")
    refused(["square", "60 x 50"], *train, "oblong.npz")


@pytest.mark.slow
def test_a_run_of_other_software_is_tracked(svmkit):
    import sqlite3

    done = svmkit("train", svmlight(), "--solver", "liblinear", "--experiment", "mine", "--json")
    with sqlite3.connect("mlflow.db") as store:
        run = (done.json["run_id"],)
        params = dict(store.execute("SELECT key, value FROM params WHERE run_uuid = ?", run))
        values = [value for (value,) in store.execute("SELECT value FROM metrics WHERE run_uuid = ?", run)]
    found = (params["solver"], params["kernel"], params["formulation"], params["tol"])
    assert found == ("liblinear", "linear", "hinge, regularised bias", "0.001")
    assert "loss" not in params  # as by default; the tag svmkit.options has it
    assert values and all(value is not None and np.isfinite(value) for value in values)
