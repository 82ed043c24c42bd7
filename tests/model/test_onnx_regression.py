"""ONNX export of regression: one output, the values of `SVMModel.predict`."""

import json

import numpy as np
import pytest

from svmkit import fit, kernels
from svmkit.data import load
from svmkit.model.onnx import export as onnx_export
from svmkit.solver.stopping import Iterations

onnx = pytest.importorskip("onnx", reason="needs onnx (extra `test`)")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime (extra `test`)")

DATA = load("diabetes")
X, Y = 20.0 * DATA.X[:120], DATA.y[:120]
KERNELS = [kernels.Linear(), kernels.RBF(0.05), kernels.Poly(0.1, 2, 1.0), kernels.Laplacian(0.1)]


def value_of(path, rows, dtype="float64"):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert [output.name for output in session.get_outputs()] == ["value"]
    return session.run(None, {"X": np.asarray(rows, dtype=dtype)})[0]


@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.slow
def test_values_are_those_of_the_model(kernel, scale, tmp_path):
    model = fit(X, Y, task="regress", kernel=kernel, C=10.0, scale=scale, solver="smo", stop=Iterations(300)).model
    written = onnx_export.write(model, tmp_path / "m.onnx")
    found, ours = value_of(written.path, X), model.predict(X)
    assert found.shape == ours.shape and found.dtype == np.float64
    assert np.abs(found - ours).max() <= 1e-9 * np.abs(ours).max()
    single = value_of(onnx_export.write(model, tmp_path / "m.onnx", "float32").path, X, "float32")
    assert np.abs(single - ours).max() <= 1e-4 * np.abs(ours).max()
    assert value_of(written.path, X[:1], "float32").shape == (1,)


def test_weights_and_holes(tmp_path):
    holed = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = fit(
        holed, Y, task="regress", kernel=kernels.Linear(), solver="dcd", impute="indicator", scale="standard"
    ).model
    found = value_of(onnx_export.write(model, tmp_path / "m.onnx").path, holed)
    assert np.abs(found - model.predict(holed)).max() <= 1e-9 * np.abs(found).max()


def test_the_file_says_what_it_is(svmkit, train, alone):
    train("diabetes", "--solver", "smo", "--out", "m.model")
    told = svmkit("export", "m.model", "--onnx", "m.onnx", "--json").json
    assert told["outputs"] == ["value"] and told["inputs"] == ["X"]
    said = {entry.key: entry.value for entry in onnx.load("m.onnx").metadata_props}
    assert said["task"] == "regress" and "classes" not in said and json.loads(said["about"])["epsilon"] == 0.1
