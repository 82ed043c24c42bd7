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
