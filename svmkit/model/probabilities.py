"""The probabilities of a model with a calibration."""

from __future__ import annotations

import numpy as np

from svmkit.errors import InputError
from svmkit.model import coupling
from svmkit.model.calibration import Calibration
from svmkit.model.decisions import Decides
from svmkit.runtime import threads

WITHOUT = "the model has no probabilities: train it with a calibration (svmkit train --calibrate sigmoid)"


class HasProbabilities(Decides):
    """The part of an `SVMModel` that computes probabilities; its attribute `calibration` is explained there."""

    calibration: Calibration | None

    def predict_proba(self, X, *, n_threads: int | None = None) -> np.ndarray:
        """Predict the probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `decision_function`.
        n_threads : int or None, default=None
            The number of threads; None uses all.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), float64
            A column for each of `classes`; rows sum to 1.

        Raises
        ------
        InputError
            The model has no calibration, or X cannot be used.
        """
        self.require_calibration()
        X = self._checked(X)
        out = np.empty((X.shape[0], len(self.classes)))
        with threads.using(n_threads):
            for rows in self._parts(X, len(self.intercept)):
                out[rows] = self._probabilities(self._decide(X, rows))
        return out

    def probabilities(self, decision: np.ndarray) -> np.ndarray:
        """Return the probabilities (n_samples, n_classes) that the decisions of `decision_function` stand for."""
        self.require_calibration()
        columns = self.trained_pairs
        return self._probabilities(decision[:, None] if decision.ndim == 1 else decision[:, columns])

    def log_odds(self, decision: np.ndarray) -> np.ndarray:
        """Return decisions that agree with the labels of a model with a calibration.

        Parameters
        ----------
        decision : ndarray of shape (n_samples,) for two classes, else (n_samples, n_pairs), float64
            The decisions of `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes), float64
            The logarithm of the odds of `classes[1]`, or of the probability of each class.
        """
        self.require_calibration()
        if self.has_one_function:
            assert self.calibration is not None
            return self.calibration.log_odds(decision[:, None])[:, 0]
        return np.log(np.maximum(self.probabilities(decision), np.finfo(np.float64).tiny))

    def require_calibration(self) -> None:
        """Raise InputError unless the model has probabilities."""
        if self.calibration is None:
            raise InputError(WITHOUT)

    def _probabilities(self, decision: np.ndarray) -> np.ndarray:
        """Return the probabilities behind the trained decisions; an untrained class pair says nothing."""
        assert self.calibration is not None
        columns = self.trained_pairs
        chances = self.calibration.chances(decision, columns)
        if len(columns) < len(self.intercept):
            known, nothing = chances, 0.0 if self.has_class_scores else 0.5
            chances = np.full((len(decision), len(self.intercept)), nothing)
            chances[:, columns] = known
        return coupling.of_classes(chances, len(self.classes), by_pairs=not self.has_class_scores)
