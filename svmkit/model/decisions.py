"""The decisions of a model: sums of kernel values, for a part of the rows at a time."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.data.prepare.features import as_features, pad_or_refuse_columns, require_finite
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.errors import InputError
from svmkit.kernels.engines import Engine, engine_for
from svmkit.kernels.extent import Extent
from svmkit.kernels.functions import Kernel
from svmkit.model.one_vs_one import class_slices, coefficients_by_column, columns_of, scores, trained_columns
from svmkit.model.one_vs_rest import class_scores, sparse_coefficients, sparse_product, trained_classes
from svmkit.runtime import threads

ROWS = 16384, 256  # most and fewest rows of X that are predicted at a time
FEW = 1 << 18  # coefficients times rows up to which one product with zeros is faster than one for each class
PART_BYTES = 32 << 20  # most bytes of these rows, and of their decisions, above the fewest rows


class Decides:
    """The part of an `SVMModel` that computes decisions; the attributes are explained there."""

    kernel: Kernel
    classes: np.ndarray
    vectors: Any
    n_support: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    n_features: int
    preprocessing: Preprocessing
    task: str
    multiclass: str

    @property
    def has_class_scores(self) -> bool:
        """Whether each of more than two classes has a decision function, the largest of which names the class."""
        return self.multiclass != "ovo" and len(self.intercept) > 1

    @property
    def regresses(self) -> bool:
        """Whether the predictions are quantities."""
        return self.task == "regress"

    @property
    def has_one_function(self) -> bool:
        """Whether one decision function predicts: in regression, for two classes, and for outliers."""
        return len(self.intercept) == 1

    @cached_property
    def trained_pairs(self) -> np.ndarray:
        """The numbers of the decisions that were trained, ascending: int64; the others speak for no class."""
        if self.has_one_function:
            return np.zeros(1, dtype=np.int64)
        if self.has_class_scores:
            return trained_classes(self.coef, self.intercept)
        return trained_columns(self.coef, self.n_support, self.intercept)

    @cached_property
    def _extent(self) -> Extent:
        return Extent.of(self.kernel, self.vectors)

    @cached_property
    def _by_column(self) -> np.ndarray:
        """The coefficients of the vectors in the decisions of `trained_pairs`, (n_sv, n_columns), zeros included."""
        return coefficients_by_column(self.coef, self.n_support)[:, self.trained_pairs]

    @cached_property
    def _few_coefficients(self) -> sp.csc_array | None:
        """The coefficients of the trained classes as a sparse matrix; None where it would save little."""
        return sparse_coefficients(self.coef[self.trained_pairs])

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
        """Return the scores (n_samples, n_classes) of more than two classes.

        They are the votes of the class pairs with a fraction that breaks ties, or the decisions of the classes.

        Parameters
        ----------
        decision : ndarray of shape (n_samples, n_pairs) or (n_samples, n_classes)
            The decisions of `decision_function`.
        """
        columns = self.trained_pairs
        if self.has_class_scores:
            return class_scores(decision, columns)
        return scores(decision[:, columns], len(self.classes), columns)

    def decision_function(self, X, *, n_threads: int | None = None) -> np.ndarray:
        """Compute the decisions, at margins of -1 and +1; in regression the predictions.

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
        ndarray of shape (n_samples,) for two classes and in regression, else (n_samples, n_decisions), float64
            The decisions, one for each class pair or class. For two classes, > 0 means `classes[1]`.

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
        return out[:, 0] if self.has_one_function else out

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
        if self.has_one_function:
            return engine.product(self.vectors, self.coef.T) + self.intercept
        if self.has_class_scores:
            trained = self.trained_pairs
            coef = self._few_coefficients
            if coef is not None:
                return sparse_product(engine, self.vectors, coef) + self.intercept[trained]
            return engine.product(self.vectors, self.coef[trained].T) + self.intercept[trained]
        if engine.n * len(self.intercept) * self.coef.shape[1] <= FEW:
            return engine.product(self.vectors, self._by_column) + self.intercept[self.trained_pairs]
        # a row for each class pair: they come in any order
        out = np.repeat(self.intercept[self.trained_pairs, None], engine.n, 1)
        for at, asked, to in self._terms:
            out[to] += engine.product(self.vectors[at], self.coef[asked, at].T).T
        return out.T
