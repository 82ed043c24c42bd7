"""Models of quantities in the registry: as MLflow's python functions, and promoted by their errors."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from support.problems import write
from svmkit_registry import loader

from svmkit import SVMOneClass
from svmkit.data import load
from svmkit.model.model import SVMModel

pytestmark = [pytest.mark.usefixtures("alone"), pytest.mark.slow]

SMO = ("--solver", "smo", "--scale", "standard", "--test-size", "0.3")


def described(folder):
    """What the folder of a registered model says of its inputs and outputs."""
    import mlflow.pyfunc

    model = mlflow.pyfunc.load_model(str(folder))
    return model, json.loads(json.dumps(model.metadata.signature.to_dict()))


def test_quantities_are_served_and_promoted(svmkit, tmp_path):
    first = svmkit("train", "diabetes", *SMO, "-C", "30", "--register", "progress", "--out", "m.model", "--json").json
    svmkit("train", "diabetes", *SMO, "-C", "0.01", "--register", "progress")
    assert svmkit("models", "promote", "progress", "1", "champion").code == 0
    done = svmkit("models", "promote", "progress", "2", "champion")
    assert done.code == 1 and "its test R2" in done.err and f"is below the {first['test_r2']:.4f}" in done.err
    out = svmkit("models", "show", "progress").out
    assert f"test R2       {first['test_r2']:.4f} on 133 rows of diabetes" in out and "test RMSE" in out
    assert "R2 0." in svmkit("models", "list").out or "R2 -0." in svmkit("models", "list").out
    version = svmkit("models", "show", "progress", "--json").json["versions"][-1]
    assert version["test_rmse"] == first["test_rmse"] and version["test_accuracy"] is None
    values = svmkit("predict", "models:/progress@champion", "diabetes", "--json").json["values"]
    assert values == svmkit("predict", "m.model", "diabetes", "--json").json["values"]


@pytest.mark.parametrize("table", [False, True])
def test_the_signature_and_the_values(train, tmp_path, table):
    from svmkit_registry.packing import write_folder

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "town": np.array(["oslo", "rome"])[np.arange(60) % 2]})
    frame["price"] = 3.0 * frame["a"] + (frame["town"] == "rome")
    write("t.csv", frame.to_csv(index=False))
    train("t.csv" if table else "diabetes", "--solver", "smo", "--out", "m.model")
    model = SVMModel.load("m.model")
    rows = load("t.csv", encoding=model.encoding).X if table else load("diabetes").X
    write_folder(tmp_path / "folder", model, rows[:5])
    served, signature = described(tmp_path / "folder")
    (output,) = json.loads(signature["outputs"])
    assert output["tensor-spec"]["dtype"] == "float64" and output["tensor-spec"]["shape"] == [-1]
    given = frame[["a", "town"]] if table else rows
    np.testing.assert_allclose(served.predict(given), model.predict(rows), rtol=1e-12)


def test_outliers_are_served(tmp_path):
    from svmkit_registry.packing import write_folder

    X = np.random.default_rng(0).normal(size=(80, 3))
    estimator = SVMOneClass(nu=0.1, gamma=0.3).fit(X)
    write_folder(tmp_path / "folder", estimator.model_, X[:5])
    served, signature = described(tmp_path / "folder")
    assert json.loads(signature["outputs"])[0]["tensor-spec"]["dtype"] == "int64"
    assert np.array_equal(served.predict(X), estimator.predict(X))
    assert np.array_equal(loader._load_pyfunc(str(tmp_path / "folder" / "data")).predict(X), estimator.predict(X))
