"""Models of outliers in the tracker and the registry: `svmkit train --task outliers` with a run, `--register`."""

import json

import mlflow
import numpy as np
import pytest
from support.problems import write

pytestmark = [pytest.mark.usefixtures("alone"), pytest.mark.slow]


@pytest.fixture
def files():
    rng = np.random.default_rng(0)
    normal, odd = rng.normal(size=(80, 2)), rng.uniform(-9, 9, size=(20, 2))
    write("normal.csv", "a,b\n" + "".join(f"{a:.4f},{b:.4f}\n" for a, b in normal))
    rows = [(*row, 1) for row in normal[:40]] + [(*row, -1) for row in odd]
    write("both.csv", "a,b,label\n" + "".join(f"{a:.4f},{b:.4f},{label}\n" for a, b, label in rows))


def test_a_run_and_a_version(svmkit, files):
    args = ("train", "normal.csv", "--task", "outliers", "--nu", "0.2", "--register", "odd", "--json")
    found = svmkit(*args, "--test", "both.csv").json
    assert found["model"] == "models:/odd/1"
    run = mlflow.tracking.MlflowClient("sqlite:///mlflow.db").get_run(found["run_id"])
    assert run.info.status == "FINISHED"
    params, metrics = run.data.params, run.data.metrics
    assert (params["task"], params["nu"], params["formulation"]) == ("outliers", "0.2", "one class, hinge")
    assert "C" not in params and params["choice"].startswith("smo")
    names = {"final/objective": "objective", "final/dual_objective": "dual_objective", "final/gap": "gap",
             "train/outliers": "train_outliers", "test/outliers": "test_outliers", "test/accuracy": "test_accuracy",
             "model/n_support": "n_support", "model/offset": "offset"}  # fmt: skip
    assert {name: metrics[name] for name in names} == {name: found[key] for name, key in names.items()}

    version = svmkit("models", "show", "odd", "--json").json["versions"][0]
    assert version["run_id"] == found["run_id"] and version["test_accuracy"] == found["test_accuracy"]
    assert version["test_outliers"] == found["test_outliers"] and version["params"]["nu"] == 0.2
    assert f"{found['train_outliers']:.2%} of the rows" in svmkit("models", "show", "odd").out
    labels = svmkit("predict", "models:/odd/1", "both.csv", "--json").json
    assert json.dumps(labels).count("-1") == round(60 * found["test_outliers"])

    svmkit(*args)  # without a test set
    version = svmkit("models", "show", "odd", "--json").json["versions"][0]
    assert version["version"] == 2 and version["test_accuracy"] is None and version["test_outliers"] is None
    assert "not tested" in svmkit("models", "show", "odd").out


def test_a_store_that_fails_leaves_the_model(svmkit, files):
    write("file", "")
    args = ("--register", "odd", "--tracking-uri", "sqlite:///file/x.db")
    done = svmkit("train", "normal.csv", "--task", "outliers", *args)
    assert done.code == 0 and "svmkit models register odd.svmkit --name odd" in done.err
    assert svmkit("predict", "odd.svmkit", "both.csv").code == 0
