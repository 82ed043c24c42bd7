"""The loader that mlflow.pyfunc.load_model calls for a model of svmkit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from mlflow.exceptions import MlflowException

from svmkit.errors import InputError
from svmkit.model.model import SVMModel
from svmkit_registry.packing import PROBA, SETS


class Refused(MlflowException, InputError):
    """An InputError that a scoring server answers with status 400 and one line; other errors show a traceback."""


class Predictor:
    """An SVMModel with mlflow's interface predict(model_input, params)."""

    def __init__(self, model: SVMModel) -> None:
        self.model = model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> np.ndarray:
        """Predict labels (n,), probabilities (n, n_classes) if `params` is {"proba": True}, or the sets of
        `SVMModel.predict_sets` if it is {"sets": True}; raise Refused for bad input. A DataFrame with all columns of
        the training table is matched by name, its text encoded as in training; any other, an ndarray, a CSR matrix or a
        list is taken in order.
        """
        wanted = params or {}
        try:
            if wanted.get(PROBA) and wanted.get(SETS):
                raise InputError("give proba or sets, not both")
            if wanted.get(SETS):
                return self.model.predict_sets(model_input)
            return self.model.predict_proba(model_input) if wanted.get(PROBA) else self.model.predict(model_input)
        except InputError as error:
            raise Refused.invalid_parameter_value(str(error)) from error

    def get_raw_model(self) -> SVMModel:
        """The model itself, for its decision_function and other methods."""
        return self.model


def _load_pyfunc(data_path: str) -> Predictor:
    """The predictor for a model file, or for a folder with a model.svmkit; InputError for any other path."""
    path = Path(data_path)
    return Predictor(SVMModel.load(path / "model.svmkit" if path.is_dir() else path))
