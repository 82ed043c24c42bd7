"""Machines: how the arrays of a model make decision functions, and what their decisions say of the classes.

A machine has one function, one for each class pair (`svmkit.model.one_vs_one`), or one for each class
(`svmkit.model.one_vs_rest`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.kernels.engines import Engine
from svmkit.model.coupling import couple, normalise
from svmkit.model.one_vs_one import (
    class_pairs,
    class_slices,
    coefficient_row,
    coefficients_by_column,
    columns_of,
    scores,
    trained_columns,
)
from svmkit.model.one_vs_rest import class_scores, sparse_coefficients, sparse_product, trained_classes

FEW = 1 << 18  # coefficients times rows up to which one product with zeros is faster than one for each class


@dataclass(frozen=True, eq=False)
class Machine(ABC):
    """The decision functions of a model. The attributes are those of `SVMModel`.

    Decisions of which only `trained` ones are given, (n_samples, len(trained)), are called known.
    """

    vectors: Any
    n_support: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray

    @cached_property
    @abstractmethod
    def trained(self) -> np.ndarray:
        """The numbers of the decisions that were trained, ascending: int64; the others speak for no class."""

    @property
    @abstractmethod
    def coefficients(self) -> np.ndarray:
        """The coefficient of each vector in each decision function, (n_sv, n_decisions), zeros included."""

    @property
    @abstractmethod
    def weights(self) -> np.ndarray:
        """The weights of the columns in each decision function, (n_decisions, width), for the linear kernel."""

    @abstractmethod
    def decide(self, engine: Engine) -> np.ndarray:
        """Return the known decisions of the engine's rows."""

    @abstractmethod
    def scores(self, known: np.ndarray) -> np.ndarray:
        """Return the scores (n_samples, n_classes) of known decisions; the largest one names the class."""

    @abstractmethod
    def probabilities(self, positive: np.ndarray) -> np.ndarray:
        """Return the probabilities (n_samples, n_classes) for those of the positive sides of known decisions."""

    def codes(self, known: np.ndarray) -> np.ndarray:
        """Return the class that known decisions name, as codes (n_samples,)."""
        return self.scores(known).argmax(axis=1)

    def _spread(self, known: np.ndarray, other: float) -> np.ndarray:
        """Return an array of all decisions, with the same number for all that were not trained."""
        if len(self.trained) == len(self.intercept):
            return known
        out = np.full((len(known), len(self.intercept)), other)
        out[:, self.trained] = known
        return out


class OneFunction(Machine):
    """One decision function: of a regression, of outliers or of two classes, where decisions > 0 name the second."""

    @cached_property
    def trained(self) -> np.ndarray:
        return np.zeros(1, dtype=np.int64)

    @property
    def coefficients(self) -> np.ndarray:
        return self.coef.T

    @property
    def weights(self) -> np.ndarray:
        first, *others = (self.coef[0, at] @ self.vectors[at] for at in class_slices(self.n_support))
        return np.asarray(sum(others, first), dtype=np.float64).reshape(1, -1)

    def decide(self, engine: Engine) -> np.ndarray:
        return engine.product(self.vectors, self.coef.T) + self.intercept

    def scores(self, known: np.ndarray) -> np.ndarray:
        return np.concatenate([-known, known], axis=1)

    def codes(self, known: np.ndarray) -> np.ndarray:
        return (known[:, 0] > 0).astype(np.int64)

    def probabilities(self, positive: np.ndarray) -> np.ndarray:
        return np.concatenate([1.0 - positive, positive], axis=1)


class ClassFunctions(Machine):
    """A decision function for each of more than two classes; the largest decision names the class."""

    @cached_property
    def trained(self) -> np.ndarray:
        return trained_classes(self.coef, self.intercept)

    @property
    def coefficients(self) -> np.ndarray:
        return self.coef.T

    @property
    def weights(self) -> np.ndarray:
        return np.asarray(self.coef @ self.vectors, dtype=np.float64).reshape(len(self.intercept), -1)

    @cached_property
    def _sparse(self) -> sp.csc_array | None:
        """The coefficients of the trained classes as a sparse matrix; None where it would save little."""
        return sparse_coefficients(self.coef[self.trained])

    def decide(self, engine: Engine) -> np.ndarray:
        if self._sparse is not None:
            sums = sparse_product(engine, self.vectors, self._sparse)
        else:
            sums = engine.product(self.vectors, self.coef[self.trained].T)
        return sums + self.intercept[self.trained]

    def scores(self, known: np.ndarray) -> np.ndarray:
        return class_scores(self._spread(known, 0.0), self.trained)

    def codes(self, known: np.ndarray) -> np.ndarray:
        return self.trained[known.argmax(axis=1)]

    def probabilities(self, positive: np.ndarray) -> np.ndarray:
        return normalise(self._spread(positive, 0.0))


class ClassPairs(Machine):
    """A decision function for each pair of more than two classes, which vote."""

    @cached_property
    def trained(self) -> np.ndarray:
        return trained_columns(self.coef, self.n_support, self.intercept)

    @property
    def coefficients(self) -> np.ndarray:
        return coefficients_by_column(self.coef, self.n_support)

    @property
    def weights(self) -> np.ndarray:
        at = class_slices(self.n_support)

        def part(own: int, other: int) -> np.ndarray:
            return self.coef[coefficient_row(own, other), at[own]] @ self.vectors[at[own]]

        weights = [part(a, b) + part(b, a) for a, b in class_pairs(len(self.n_support))]
        return np.array([np.asarray(w, dtype=np.float64).ravel() for w in weights])

    @cached_property
    def _known(self) -> np.ndarray:
        """The coefficients of the vectors in the known decisions, (n_sv, len(trained)), zeros included."""
        return self.coefficients[:, self.trained]

    @cached_property
    def _terms(self) -> list[tuple[slice, np.ndarray, np.ndarray]]:
        """For each class with vectors: where they stand, their rows of `coef`, and the known decisions they add to."""
        place = np.full(len(self.intercept), -1)
        place[self.trained] = np.arange(len(self.trained))
        terms = []
        for c, at in enumerate(class_slices(self.n_support)):
            to = place[columns_of(c, len(self.n_support))]
            rows = np.flatnonzero(to >= 0)
            if at.start < at.stop and len(rows):
                terms.append((at, rows, to[rows]))
        return terms

    def decide(self, engine: Engine) -> np.ndarray:
        """Return the known decisions; the kernel values of a class serve all of its class pairs."""
        if engine.n * len(self.intercept) * self.coef.shape[1] <= FEW:
            return engine.product(self.vectors, self._known) + self.intercept[self.trained]
        # a row for each class pair: they come in any order
        out = np.repeat(self.intercept[self.trained, None], engine.n, 1)
        for at, rows, to in self._terms:
            out[to] += engine.product(self.vectors[at], self.coef[rows, at].T).T
        return out.T

    def scores(self, known: np.ndarray) -> np.ndarray:
        return scores(known, len(self.n_support), self.trained)

    def probabilities(self, positive: np.ndarray) -> np.ndarray:
        return couple(self._spread(positive, 0.5), len(self.n_support))
