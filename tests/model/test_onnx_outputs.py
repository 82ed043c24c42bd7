"""ONNX graphs of several outputs: levels, targets and labels, beside the model's own predictions."""

import numpy as np
import pytest

from svmkit import SVMClassifier, SVMRegressor

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
T = X @ rng.normal(size=(3, 2)) + 0.5 * rng.normal(size=(80, 2))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize(
    ("machine", "y", "name"),
    [
        (SVMRegressor(loss="quantile", tau=[0.4, 0.5, 0.6], C=100.0), T[:, 0], "value"),
        (SVMRegressor(loss="quantile", tau=[0.4, 0.5, 0.6], C=100.0, non_crossing=True), T[:, 0], "value"),
        (SVMRegressor(), T, "value"),
        (SVMClassifier(), (T > 0).astype(int), "label"),
    ],
)
def test_the_graph_predicts_what_the_model_does(tmp_path, machine, y, name, kernel):
    from svmkit.model.onnx.export import write

    model = machine.set_params(kernel=kernel).fit(X, y).model_
    write(model, tmp_path / "model.onnx")
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    (found,) = session.run([name], {"X": X})
    assert found.shape == model.predict(X).shape and found == pytest.approx(model.predict(X), abs=1e-9)
