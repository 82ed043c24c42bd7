"""SVMModel: plain arrays and a kernel, which predict classes or quantities."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from svmkit.data import Encoding
from svmkit.data.prepare.features import pad_or_refuse_columns
from svmkit.data.prepare.imputing import Imputing
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.data.prepare.scaling import Scaling
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.model import file
from svmkit.model.calibration import Calibration
from svmkit.model.one_vs_one import (
    class_pairs,
    class_slices,
    coefficient_row,
    predicted_codes,
    scores,
)
from svmkit.model.probabilities import HasProbabilities
from svmkit.runtime import threads


@dataclass(frozen=True)
class SVMModel(HasProbabilities):
    """A trained model as plain arrays: a classifier, for two classes or more, or a regressor.

    The decision function of each class pair is h(x) = sum_i coef_i k(x_i, x) + intercept. A positive decision speaks
    for `classes[1]` where there are two classes, as in scikit-learn, and for the first class of the pair where there
    are more. Where each class has a decision function instead (`has_class_scores`), the largest one names the class. In
    regression there is one function h, whose values are the predictions.

    Attributes
    ----------
    kernel : Kernel
        The kernel, with numbers for all of its parameters.
    classes : ndarray of shape (n_classes,)
        The labels in sorted order, numbers or text; none in regression.
    vectors : ndarray or csr_array of shape (n_sv, width), float32 or float64
        The support vectors, preprocessed, sorted by class. For a precomputed kernel their row numbers (n_sv,).
    n_support : ndarray of shape (n_classes,), int
        The number of support vectors of each class; (1,) in regression.
    coef : ndarray of shape (n_classes - 1, n_sv), float64
        The coefficients of each vector against the other classes, in the layout of LIBSVM and scikit-learn: a vector
        of class a has its coefficient against class b in row b - 1 for a < b, and in row b for b < a. With a decision
        for each class (n_classes, n_sv), in regression (1, n_sv).
    intercept : ndarray of shape (n_pairs,), float64
        The intercept of each class pair, in the order (0, 1), (0, 2), ..., (1, 2), ...; (n_classes,) with a
        decision for each class, (1,) in regression.
    n_features : int
        The number of columns of X.
    preprocessing : Preprocessing, default=Preprocessing()
        What happens before the kernel: how the columns of a table became X, then imputing and scaling of X, which have
        `width` columns as their result: `n_features`, and one more for each column whose holes are told apart.
    about : dict, default={}
        Plain values that are saved with the model, such as the solver, C and the certified gap.
    task : {"classify", "regress", "outliers"}, default="classify"
        What the model predicts: classes, quantities, or -1 for outliers and 1 for all others.
    multiclass : {"ovo", "ovr", "crammer_singer"}, default="ovo"
        The decisions of more than two classes: one for each class pair, for each class against the rest, or for each
        class in the machine of Crammer and Singer.
    calibration : Calibration, default=None
        What turns decisions into probabilities; labels are then the classes of the highest probability.
    """

    kernel: Kernel
    classes: np.ndarray
    vectors: Any
    n_support: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    n_features: int
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    about: dict[str, Any] = field(default_factory=dict)
    task: str = "classify"
    multiclass: str = "ovo"
    calibration: Calibration | None = None

    @property
    def encoding(self) -> Encoding | None:
        """How the columns of a table became X; None for other data."""
        return self.preprocessing.encoding

    @property
    def imputing(self) -> Imputing | None:
        """How holes of X are filled; None for a model that refuses them."""
        return self.preprocessing.imputing

    @property
    def scaling(self) -> Scaling | None:
        """How X is scaled once its holes are filled; None for no scaling."""
        return self.preprocessing.scaling

    @property
    def width(self) -> int:
        """The number of columns of preprocessed X."""
        return self.preprocessing.width(self.n_features)

    @property
    def weights(self) -> np.ndarray:
        """Weights of the columns, (n_decisions, width): decisions are X @ weights.T + intercept on the preprocessed X.

        Raises
        ------
        InputError
            The kernel is not linear.
        """
        if self.kernel.name != "linear":
            raise InputError(f"only a model with the linear kernel has weights of the columns, not {self.kernel.name}")
        at = class_slices(self.n_support)

        def part(own: int, other: int) -> np.ndarray:
            return self.coef[coefficient_row(own, other), at[own]] @ self.vectors[at[own]]

        if self.regresses or self.has_class_scores:
            return np.asarray(self.coef @ self.vectors, dtype=np.float64).reshape(len(self.intercept), -1)
        weights = [part(a, b) + part(b, a) for a, b in class_pairs(len(self.classes))]
        return np.array([np.asarray(w, dtype=np.float64).ravel() for w in weights])

    def widened(self, n_features: int) -> SVMModel:
        """Return the model for samples with more features, which were 0 in all training samples.

        It has the decisions of a model that was trained on these samples with columns of zeros: new features count in
        distances, and their weight is 0. Scaling leaves them unchanged.

        Parameters
        ----------
        n_features : int
            The number of columns of X, at least that of training.

        Raises
        ------
        InputError
            The model has more features, belongs to a table, imputes, or has a precomputed kernel.
        """
        if n_features == self.n_features:
            return self
        if n_features < self.n_features or self.encoding is not None or isinstance(self.kernel, Precomputed):
            raise InputError(f"a model of {self.n_features} features cannot be used for {n_features}")
        vectors = pad_or_refuse_columns(self.vectors, n_features, pad=True)
        steps = self.preprocessing.widened(n_features)
        return replace(self, vectors=vectors, preprocessing=steps, n_features=n_features)

    def predict(self, X, *, n_threads: int | None = None) -> np.ndarray:
        """Predict labels or quantities.

        Among more than two classes votes of the class pairs decide, and equal votes by the sum of margins; or the
        largest decision does, where each class has one.

        With a calibration, labels are the classes of the highest probability. It needs less memory than `labels` of all
        decisions, which are held for a part of the rows at a time.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `decision_function`.
        n_threads : int or None, default=None
            The number of threads; None uses all.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels, of the type of `classes`; in regression float64.

        Raises
        ------
        InputError
            X has another number of columns, values that are missing or infinite, or too large for the kernel.
        """
        if self.regresses:
            return self.decision_function(X, n_threads=n_threads)
        X, columns = self._checked(X), self.trained_pairs
        codes = np.empty(X.shape[0], dtype=np.int64)
        with threads.using(n_threads):
            for rows in self._parts(X, len(columns)):
                decision = self._decide(X, rows)
                if self.calibration is not None:
                    codes[rows] = self._probabilities(decision).argmax(axis=1)
                elif self.has_one_function:
                    codes[rows] = predicted_codes(decision[:, 0], 2)
                elif self.has_class_scores:
                    codes[rows] = columns[decision.argmax(axis=1)]
                else:
                    codes[rows] = scores(decision, len(self.classes), columns).argmax(axis=1)
        return self.classes[codes]

    def labels(self, decision: np.ndarray) -> np.ndarray:
        """Return the labels (n_samples,) that the decisions of `decision_function` stand for; quantities themselves."""
        if self.regresses:
            return decision
        if self.calibration is not None:
            return self.classes[self.probabilities(decision).argmax(axis=1)]
        decides_by_sign = self.has_one_function
        return self.classes[predicted_codes(decision, 2) if decides_by_sign else self.scores(decision).argmax(axis=1)]

    def save(self, path: str | os.PathLike) -> None:
        """Write the model to a file, atomically.

        Parameters
        ----------
        path : str or path
            The file; an existing one is replaced.

        Raises
        ------
        InputError
            The kernel is not registered by name, or the file cannot be written.
        """
        file.save_model(path, vars(self))

    @classmethod
    def load(cls, path: str | os.PathLike) -> SVMModel:
        """Read a model that `save` wrote.

        Raises
        ------
        InputError
            The file is not a model, it is damaged, or its kernel is not installed.
        """
        return cls(**file.load_model(path))

    @classmethod
    def from_sklearn(cls, estimator: Any) -> SVMModel:
        """Return the model of a fitted estimator of scikit-learn, without training.

        Parameters
        ----------
        estimator : SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR or Pipeline
            A fitted estimator, or a pipeline that ends with one and has a StandardScaler, MinMaxScaler or MaxAbsScaler
            in front of it. The probabilities of `SVC(probability=True)` become the calibration.

        Raises
        ------
        InputError
            The estimator is not fitted, another one, or has a callable kernel.
        """
        from svmkit.model.scikit_learn import from_sklearn  # here: few models come from there

        return cls(**from_sklearn(estimator))
