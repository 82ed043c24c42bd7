"""Attributes that a fitted classifier reads from its model."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmkit.model.model import SVMModel


class ModelAttributes:
    """The attributes of scikit-learn's SVC and LinearSVC, as far as the model has them; AttributeError otherwise."""

    model_: SVMModel
    _weights_only: bool

    def _vectors(self, name: str) -> SVMModel:
        """Return the model, for its attribute `name`; raise AttributeError before `fit` and for a model of weights."""
        model = getattr(self, "model_", None)
        if model is None or self._weights_only:
            why = "it is not fitted" if model is None else f"solver {model.about['solver']} leaves weights, in coef_"
            raise AttributeError(f"no {name}: {why}")
        return model

    @property
    def support_vectors_(self) -> Any:
        """The support vectors (n_sv, n_features), dense or CSR; for a precomputed kernel their row numbers."""
        return self._vectors("support_vectors_").vectors

    @property
    def n_support_(self) -> np.ndarray:
        """The number of support vectors of each class, (n_classes,)."""
        return self._vectors("n_support_").n_support

    @property
    def dual_coef_(self) -> np.ndarray:
        """The coefficients of the vectors, (n_classes - 1, n_sv) in scikit-learn's order, or (n_classes, n_sv)."""
        return self._vectors("dual_coef_").coef

    @property
    def coef_(self) -> np.ndarray:
        """The weights of the columns for each decision (n_decisions, n_features), with the linear kernel."""
        model = getattr(self, "model_", None)
        if model is None or model.kernel.name != "linear":
            why = "it is not fitted" if model is None else f"that needs the linear kernel, not {model.kernel.name}"
            raise AttributeError(f"no coef_: {why}")
        return model.weights
