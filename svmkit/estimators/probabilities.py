"""Probabilities of a classifier, which has them with a calibration only."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmkit.errors import InputError
from svmkit.estimators.base import OnlyWhere, features_to_predict
from svmkit.model.model import SVMModel


class NoProbabilities(InputError, AttributeError):
    """A classifier has no calibration."""


class OnlyCalibrated(OnlyWhere):
    """A method that only classifiers with a calibration have; the error says how to get one."""

    def require(self, estimator: Any) -> None:
        if estimator.calibration is None:
            raise NoProbabilities(
                f"no {self.method.__name__} without a calibration: {type(estimator).__name__}(calibration='sigmoid') "
                "has one, and CalibratedClassifierCV(SVMClassifier(), ensemble=False) fits another"
            )


class Probabilities:
    """The methods of a classifier that predict probabilities."""

    calibration: str | None
    model_: SVMModel
    n_threads: int | None

    @OnlyCalibrated
    def predict_proba(self, X) -> np.ndarray:
        """Predict the probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of `classes_`; rows sum to 1, and their largest entries are the labels that `predict`
            returns.

        Raises
        ------
        InputError
            Training was interrupted before there was a calibration.
        """
        X = features_to_predict(self, X)
        return self.model_.predict_proba(X, n_threads=self.n_threads)

    @OnlyCalibrated
    def predict_log_proba(self, X) -> np.ndarray:
        """Predict the logarithms of `predict_proba` (n_samples, n_classes)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
