"""The loader that mlflow.pyfunc.load_model calls for a model of svmkit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from mlflow.exceptions import MlflowException

from svmkit.data import Encoding
from svmkit.errors import InputError
from svmkit.model.model import SVMModel
from svmkit_registry.packing import PROBA


class Refused(MlflowException, InputError):
    """An InputError that a scoring server answers with status 400 and one line; other errors show a traceback."""


class Predictor:
    """An SVMModel behind mlflow's predict(model_input, params)."""

    def __init__(self, model: SVMModel) -> None:
        self.model = model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> np.ndarray:
        """Predict labels (n,), or probabilities (n, n_classes) where `params` is {"proba": True}; raise Refused for bad
        input. A DataFrame that has all columns of the training table is taken by name, its text encoded as in training;
        any other, an ndarray, a CSR matrix or a list is taken in order.
        """
        proba = bool((params or {}).get(PROBA))
        try:
            if hasattr(model_input, "columns") and hasattr(model_input, "iloc"):
                model_input = self._features(model_input)
            return self.model.predict_proba(model_input) if proba else self.model.predict(model_input)
        except InputError as error:
            raise Refused.invalid_parameter_value(str(error)) from error

    def _features(self, frame: Any) -> Any:
        encoding = self.model.encoding
        if encoding is None or (positions := _positions(frame, encoding)) is None:
            kinds = {dtype.kind for dtype in frame.dtypes}
            return frame.to_numpy() if kinds == {"f"} else frame.to_numpy(dtype=np.float64, na_value=np.nan)
        from svmkit.data.tables import onehot
        from svmkit.data.tables.table import Table

        names = tuple(str(name) for name in frame.columns)
        holes = self.model.preprocessing.takes_holes
        plain = frame.set_axis(range(len(names)), axis=1).reset_index(drop=True)
        return onehot.apply(Table(Path("model_input"), plain, names, True, None), positions, encoding, holes=holes)

    def get_raw_model(self) -> SVMModel:
        """The model itself, for its decision_function and other methods."""
        return self.model


def _positions(frame: Any, encoding: Encoding) -> list[int] | None:
    """The positions of the encoding's columns in a DataFrame; None when its features are encoded already."""
    place = {str(name): i for i, name in enumerate(frame.columns)}
    lacking = [name for name in encoding.columns if name not in place]
    if not lacking:
        return [place[name] for name in encoding.columns]
    if len(lacking) == len(encoding.columns) or not encoding.header:
        if frame.shape[1] == len(encoding.columns):
            return list(range(frame.shape[1]))
        if frame.shape[1] == encoding.n_features:
            return None
    raise InputError(
        f"model_input lacks the columns {', '.join(map(repr, lacking[:8]))}, which the model was trained on: add them"
    )


def _load_pyfunc(data_path: str) -> Predictor:
    """The predictor for a model file, or for a folder with a model.svmkit; InputError for any other path."""
    path = Path(data_path)
    return Predictor(SVMModel.load(path / "model.svmkit" if path.is_dir() else path))
