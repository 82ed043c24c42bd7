"""SVMModel: plain arrays and a kernel, which predict for two classes or more."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.data import Encoding
from svmkit.data.features import as_features, pad_or_refuse_columns, require_finite
from svmkit.data.imputing import Imputing
from svmkit.data.preprocessing import Preprocessing
from svmkit.data.scaling import Scaling
from svmkit.errors import InputError
from svmkit.kernels.engine import Engine
from svmkit.kernels.engines import engine_for
from svmkit.kernels.extent import Extent
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.model import file
from svmkit.model.one_vs_one import (
    class_pairs,
    class_slices,
    coefficient_row,
    coefficients_by_column,
    columns_of,
    predicted_codes,
    scores,
    trained_columns,
)
from svmkit.runtime import threads

ROWS = 16384, 256  # most and fewest rows of X that are predicted at a time
FEW = 1 << 18  # coefficients times rows up to which one product with zeros is faster than one for each class
PART_BYTES = 32 << 20  # most bytes of these rows, and of their decisions, above the fewest rows


@dataclass(frozen=True)
class SVMModel:
    """A trained classifier as plain arrays, for two classes or by one-versus-one for more.

    The decision function of each class pair is h(x) = sum_i coef_i k(x_i, x) + intercept. A positive decision speaks
    for `classes[1]` where there are two classes, as in scikit-learn, and for the first class of the pair where there
    are more.

    Attributes
    ----------
    kernel : Kernel
        The kernel, with numbers for all of its parameters.
    classes : ndarray of shape (n_classes,)
        The labels in sorted order, numbers or text.
    vectors : ndarray or csr_array of shape (n_sv, width), float32 or float64
        The support vectors, preprocessed, sorted by class. For a precomputed kernel their row numbers (n_sv,).
    n_support : ndarray of shape (n_classes,), int
        The number of support vectors of each class.
    coef : ndarray of shape (n_classes - 1, n_sv), float64
        The coefficients of each vector against the other classes, in the layout of LIBSVM and scikit-learn: a vector
        of class a has its coefficient against class b in row b - 1 for a < b, and in row b for b < a.
    intercept : ndarray of shape (n_pairs,), float64
        The intercept of each class pair, in the order (0, 1), (0, 2), ..., (1, 2), ...
    n_features : int
        The number of columns of X.
    preprocessing : Preprocessing, default=Preprocessing()
        What happens before the kernel: how the columns of a table became X, then imputing and scaling of X, which have
        `width` columns as their result: `n_features`, and one more for each column whose holes are told apart.
    about : dict, default={}
        Plain values that are saved with the model, such as the solver, C and the certified gap.
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
        """Weights of the columns, (n_pairs, width): decisions are X @ weights.T + intercept on the preprocessed X.

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

    @cached_property
    def trained_pairs(self) -> np.ndarray:
        """The numbers of the class pairs that were trained, ascending: int64; the others vote for neither class."""
        if len(self.classes) == 2:
            return np.zeros(1, dtype=np.int64)
        return trained_columns(self.coef, self.n_support, self.intercept)

    @cached_property
    def _extent(self) -> Extent:
        return Extent.of(self.kernel, self.vectors)

    @cached_property
    def _by_column(self) -> np.ndarray:
        """The coefficients of the vectors in the decisions of `trained_pairs`, (n_sv, n_columns), zeros included."""
        return coefficients_by_column(self.coef, self.n_support)[:, self.trained_pairs]

    @cached_property
    def _terms(self) -> list[tuple[slice, np.ndarray, np.ndarray]]:
        """For each class with vectors: where they stand, their rows of `coef`, and the decisions that those add to.

        Decisions are numbered among those of `trained_pairs`.
        """
        place = np.full(len(self.intercept), -1)
        place[self.trained_pairs] = np.arange(len(self.trained_pairs))
        terms = []
        for c, at in enumerate(class_slices(self.n_support)):
            to = place[columns_of(c, len(self.classes))]
            asked = np.flatnonzero(to >= 0)
            if at.start < at.stop and len(asked):
                terms.append((at, asked, to[asked]))
        return terms

    def scores(self, decision: np.ndarray) -> np.ndarray:
        """Return the votes (n_samples, n_classes) for more than two classes, with a fraction that breaks ties.

        Parameters
        ----------
        decision : ndarray of shape (n_samples, n_pairs)
            The decisions of `decision_function`.
        """
        columns = self.trained_pairs
        return scores(decision[:, columns], len(self.classes), columns)

    def decision_function(self, X, *, n_threads: int | None = None) -> np.ndarray:
        """Compute the decisions, at margins of -1 and +1.

        Kernel values are computed in float64, shared by all class pairs and never stored: besides X and the result,
        memory is needed for a part of the rows only, whatever their number and the number of vectors.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), float32 or float64
            The samples; NaN is a hole for a model that imputes. For a precomputed kernel, their kernel values with all
            training samples.
        n_threads : int or None, default=None
            The number of threads; None uses all.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_pairs), float64
            The decisions. For two classes, > 0 means `classes[1]`.

        Raises
        ------
        InputError
            X has another number of columns, values that are missing or infinite, or too large for the kernel.
        """
        X = self._checked(X)
        out = np.zeros((X.shape[0], len(self.intercept)))
        with threads.using(n_threads):
            for rows in self._parts(X, len(self.intercept)):
                out[rows, self.trained_pairs] = self._decide(X, rows)
        return out[:, 0] if len(self.classes) == 2 else out

    def _checked(self, X):
        X = as_features(X)
        X = pad_or_refuse_columns(X, self.n_features, name="SVMModel", pad=False)
        require_finite(X, holes=self.preprocessing.takes_holes)
        return X

    def _parts(self, X, n_columns: int) -> list[slice]:
        """Return the parts of X that are predicted together, such that they and their decisions take little memory."""
        n = X.shape[0]
        entries = 2 * X.nnz // n if sp.issparse(X) and not self.preprocessing.moves_zeros else X.shape[1]
        step = max(min(PART_BYTES // (8 * max(entries, n_columns, 1)), ROWS[0]), ROWS[1])
        return [slice(lo, min(lo + step, n)) for lo in range(0, n, step)]

    def _decide(self, X, rows: slice) -> np.ndarray:
        """Return the decisions of the trained pairs for some rows of X (n_rows, n_columns); all of them are finite."""
        X = self.preprocessing.apply(X[rows])
        out = self._sums(engine_for(self.kernel, X, self._extent))
        sound = np.isfinite(out)
        if not sound.all():
            row = rows.start + int(np.argmin(sound.all(axis=1))) + 1
            raise InputError(
                f"the decision of row {row} of X is not finite: values of the {self.kernel.name} kernel go beyond "
                "float64 there; scale the columns, in training and here"
            )
        return out

    def _sums(self, engine: Engine) -> np.ndarray:
        """Return the decisions of the engine's rows; the kernel values of a class serve all of its class pairs."""
        if len(self.classes) == 2:
            return engine.product(self.vectors, self.coef.T) + self.intercept
        if engine.n * len(self.intercept) * self.coef.shape[1] <= FEW:
            return engine.product(self.vectors, self._by_column) + self.intercept[self.trained_pairs]
        # a row for each class pair: they come in any order
        out = np.repeat(self.intercept[self.trained_pairs, None], engine.n, 1)
        for at, asked, to in self._terms:
            out[to] += engine.product(self.vectors[at], self.coef[asked, at].T).T
        return out.T

    def predict(self, X, *, n_threads: int | None = None) -> np.ndarray:
        """Predict labels; among more than two classes by votes, equal votes by the sum of margins.

        It needs less memory than `labels` of all decisions, which are held for a part of the rows at a time.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `decision_function`.
        n_threads : int or None, default=None
            The number of threads; None uses all.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels, of the type of `classes`.

        Raises
        ------
        InputError
            X has another number of columns, values that are missing or infinite, or too large for the kernel.
        """
        X, columns = self._checked(X), self.trained_pairs
        codes = np.empty(X.shape[0], dtype=np.int64)
        with threads.using(n_threads):
            for rows in self._parts(X, len(columns)):
                decision = self._decide(X, rows)
                if len(self.classes) == 2:
                    codes[rows] = predicted_codes(decision[:, 0], 2)
                else:
                    codes[rows] = scores(decision, len(self.classes), columns).argmax(axis=1)
        return self.classes[codes]

    def labels(self, decision: np.ndarray) -> np.ndarray:
        """Return the labels (n_samples,) that the decisions of `decision_function` stand for."""
        decides_by_sign = len(self.classes) == 2
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
