"""Probabilities of registered models: a parameter of the prediction, in the signature."""

import mlflow
import numpy as np
import pytest
from support.model import IRIS, NAMES, trained
from svmkit_registry import packing

from svmkit.errors import InputError


@pytest.mark.parametrize("calibration", ["sigmoid", None])
def test_a_parameter_asks_for_probabilities(calibration, tmp_path):
    X, y = IRIS
    model = trained(X, NAMES[y], calibration=calibration)
    packing.write_folder(tmp_path / "model", model, X)
    served = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    assert served.metadata.signature.params.to_dict()[0]["name"] == "proba"
    np.testing.assert_array_equal(served.predict(X), model.predict(X))
    np.testing.assert_array_equal(served.predict(X, params={"proba": False}), model.predict(X))
    if calibration:
        np.testing.assert_allclose(served.predict(X, params={"proba": True}), model.predict_proba(X), atol=1e-12)
    else:
        with pytest.raises(InputError, match="no probabilities"):
            served.predict(X, params={"proba": True})


def test_a_parameter_asks_for_sets(tmp_path):
    X, y = IRIS
    model = trained(X, NAMES[y], conformal=0.1)
    packing.write_folder(tmp_path / "model", model, X)
    served = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    assert [each["name"] for each in served.metadata.signature.params.to_dict()] == ["proba", "sets"]
    np.testing.assert_array_equal(served.predict(X, params={"sets": True}), model.predict_sets(X))
    with pytest.raises(InputError, match="not both"):
        served.predict(X, params={"sets": True, "proba": True})
