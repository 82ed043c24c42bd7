"""Machines: how the arrays of a model make decision functions, and how decisions determine classes.

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

from svmkit.data.prepare.features import as_features, is_sparse
from svmkit.kernels.engines import Engine, few
from svmkit.kernels.engines.choice import is_free
from svmkit.kernels.functions import Kernel
from svmkit.model.one_vs_one import (
    class_pairs,
    class_slices,
    coefficient_row,
    coefficients_by_column,
    columns_of,
    pair_classes,
    scores,
    sum_margins,
    trained_columns,
)

VALUES = 1 << 22  # kernel values, or entries of matrices to solve, at a time
DENSE = 0.1  # share of coefficients above 0 from which on the product of dense matrices is as fast
DIGITS = 2.0**13 + 1.0  # leaves 40 binary digits of probabilities: later digits are rounding errors
LEAST = np.finfo(np.float64).tiny  # the least probability of a class against another one
SMALL = 1e-9  # probability below which a linear system has lost digits
SWEEPS = 10
FEW = 1 << 18  # coefficients times rows up to which one product with zeros is faster than one for each class


@dataclass(frozen=True, eq=False)
class Machine(ABC):
    """The decision functions of a model. The attributes are those of `SVMModel`. Decisions restricted to the `trained`
    ones, (n_samples, len(trained)), are called known.
    """

    vectors: Any
    n_support: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray

    @cached_property
    @abstractmethod
    def trained(self) -> np.ndarray:
        """The numbers of the decisions that were trained, ascending: int64; the others favour no class."""

    @property
    @abstractmethod
    def coefficients(self) -> np.ndarray:
        """The coefficient of each vector in each decision function, (n_sv, n_decisions), zeros included."""

    @property
    @abstractmethod
    def weights(self) -> np.ndarray:
        """The weights of the columns in each decision function, (n_decisions, width), for the linear kernel."""

    @property
    def known_coefficients(self) -> np.ndarray:
        """The coefficient of each vector in the known decisions, (n_sv, len(trained)), zeros included."""
        every = self.coefficients
        return every if len(self.trained) == every.shape[1] else every[:, self.trained]

    @property
    def known_intercept(self) -> np.ndarray:
        """The intercepts of the known decisions, (len(trained),)."""
        return self.intercept if len(self.trained) == len(self.intercept) else self.intercept[self.trained]

    @property
    def class_coefficients(self) -> np.ndarray:
        """The coefficient of each vector in the functions for each class or output, (n_sv, n_functions): the decisions,
        but with class pairs the mean of a class's margins against all others.
        """
        return self.coefficients

    @property
    def class_weights(self) -> np.ndarray:
        """The weights of the columns in the functions of `class_coefficients`, (n_functions, width)."""
        return self.weights

    def class_decisions(self, decision: np.ndarray) -> np.ndarray:
        """Return the functions of `class_coefficients`, (n_samples, n_functions), from all decisions."""
        return decision

    @abstractmethod
    def decide(self, engine: Engine) -> np.ndarray:
        """Return the known decisions of the engine's rows."""

    def decide_few(self, kernel: Kernel, X: Any) -> np.ndarray | None:
        """Return the known decisions of few rows without an engine, since creating one takes longer; all of them are
        finite. None if an engine is needed, or if input has to be refused.

        Parameters
        ----------
        kernel : Kernel, resolved
        X : object, the rows as given: an array, or a CSR matrix, is used if it has the vectors' columns
        """
        shape: tuple[int, ...] = getattr(X, "shape", ())
        if len(shape) != 2 or self.vectors.shape[1:] != shape[1:]:
            return None
        n, d = shape
        if not (is_free(X) and few.has_product(kernel, n, self.vectors.shape[0], d, len(self.intercept))):
            return None
        rows = _dense_rows(X)
        if rows is None:
            return None
        known = few.product(kernel, rows, _as_float64(self.vectors), self.known_coefficients)
        if known is None:
            return None
        known += self.known_intercept
        return known if np.isfinite(known).all() else None

    @abstractmethod
    def scores(self, known: np.ndarray) -> np.ndarray:
        """Return the scores (n_samples, n_classes) of known decisions; the largest one names the class."""

    @abstractmethod
    def log_probabilities(self, odds: np.ndarray) -> np.ndarray:
        """Return logarithms of probabilities (n_samples, n_classes) from the logarithms of odds of known decisions."""

    def codes(self, known: np.ndarray) -> np.ndarray:
        """Return the classes of known decisions, as codes (n_samples,)."""
        return self.scores(known).argmax(axis=1)

    def _spread(self, known: np.ndarray, other: float) -> np.ndarray:
        """Return an array of all decisions, with the same number for all that were not trained."""
        if len(self.trained) == len(self.intercept):
            return known
        out = np.full((len(known), len(self.intercept)), other)
        out[:, self.trained] = known
        return out


class OneFunction(Machine):
    """One decision function: for regression, outliers or two classes, where decisions > 0 mean the second class."""

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

    def log_probabilities(self, odds: np.ndarray) -> np.ndarray:
        return -np.logaddexp(0.0, np.concatenate([odds, -odds], axis=1))


class ClassFunctions(Machine):
    """A decision function for each of more than two classes; the largest decision determines the class."""

    @cached_property
    def trained(self) -> np.ndarray:
        trained = np.flatnonzero((self.intercept != 0.0) | self.coef.any(axis=1))
        return trained if len(trained) else np.arange(len(self.intercept))  # some class has to be predicted

    @property
    def coefficients(self) -> np.ndarray:
        return self.coef.T

    @property
    def weights(self) -> np.ndarray:
        return np.asarray(self.coef @ self.vectors, dtype=np.float64).reshape(len(self.intercept), -1)

    @cached_property
    def _sparse(self) -> sp.csc_array | None:
        """The coefficients of the trained classes as a sparse matrix; None if it would save little. With many classes,
        each has few support vectors of its own among the vectors of all.
        """
        coef = self.coef[self.trained]
        is_dense = coef.size < VALUES // 64 or np.count_nonzero(coef) > DENSE * coef.size
        return None if is_dense else sp.csc_array(coef)

    def decide(self, engine: Engine) -> np.ndarray:
        coef = self._sparse
        if coef is None:
            return engine.product(self.vectors, self.known_coefficients) + self.known_intercept
        sums, n_sv = np.zeros((coef.shape[0], engine.n)), coef.shape[1]
        step = max(VALUES // max(engine.n, 1), 1)
        for lo in range(0, n_sv, step):
            hi = min(lo + step, n_sv)
            sums += coef[:, lo:hi] @ engine.block(self.vectors[lo:hi], np.empty((hi - lo, engine.n)))
        return sums.T + self.known_intercept

    def scores(self, known: np.ndarray) -> np.ndarray:
        """Return the decisions, with those of untrained classes below all others."""
        if len(self.trained) == len(self.intercept):
            return known
        out = np.repeat(known.min(axis=1, keepdims=True) - 1.0, len(self.intercept), axis=1)
        out[:, self.trained] = known
        return out

    def codes(self, known: np.ndarray) -> np.ndarray:
        return self.trained[known.argmax(axis=1)]

    def log_probabilities(self, odds: np.ndarray) -> np.ndarray:
        return normalise(self._spread(-np.logaddexp(0.0, -odds), -np.inf))


class LogProbabilities(ClassFunctions):
    """The functions of multinomial logistic regression: logarithms of probabilities up to their sum."""

    def log_probabilities(self, odds: np.ndarray) -> np.ndarray:
        return normalise(self._spread(odds, -np.inf))


class Outputs(ClassFunctions):
    """A decision function for each of several independent outputs."""

    @cached_property
    def trained(self) -> np.ndarray:
        return np.arange(len(self.intercept))

    def log_probabilities(self, odds: np.ndarray) -> np.ndarray:
        """Return the logarithms of each label's probability; labels are independent."""
        return -np.logaddexp(0.0, -odds)


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

    @property
    def class_coefficients(self) -> np.ndarray:
        n_classes = len(self.n_support)
        owner = np.repeat(np.arange(n_classes), self.n_support)
        out, each = np.zeros((len(owner), n_classes)), np.arange(len(owner))
        for row, coef in enumerate(self.coef):
            other = row + (row >= owner)
            margins = np.where(owner < other, coef, -coef) / (n_classes - 1)  # a decision favours the lower class
            out[each, owner] += margins
            out[each, other] -= margins
        return out

    @property
    def class_weights(self) -> np.ndarray:
        return self.class_decisions(self.weights.T).T

    def class_decisions(self, decision: np.ndarray) -> np.ndarray:
        return sum_margins(decision, len(self.n_support)) / (len(self.n_support) - 1)

    @cached_property
    def known_coefficients(self) -> np.ndarray:
        return super().known_coefficients

    @cached_property
    def _terms(self) -> list[tuple[slice, np.ndarray, np.ndarray]]:
        """For each class with vectors: their places, their rows of `coef`, and the known decisions they add to."""
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
            return engine.product(self.vectors, self.known_coefficients) + self.known_intercept
        # a row for each class pair: they come in any order
        out = np.repeat(self.intercept[self.trained, None], engine.n, 1)
        for at, rows, to in self._terms:
            out[to] += engine.product(self.vectors[at], self.coef[rows, at].T).T
        return out.T

    def scores(self, known: np.ndarray) -> np.ndarray:
        return scores(known, len(self.n_support), self.trained)

    def log_probabilities(self, odds: np.ndarray) -> np.ndarray:
        from scipy.special import expit

        odds = self._spread(odds, 0.0)
        return np.log(np.maximum(couple(expit(odds), len(self.n_support), expit(-odds)), LEAST))


def _dense_rows(X: Any) -> np.ndarray | None:
    """Return rows as an array of float64; None for another type. Sparse matrices are checked."""
    if type(X) is np.ndarray:
        return _as_float64(X) if X.dtype in (np.float64, np.float32) else None
    return _as_float64(as_features(X)) if is_sparse(X) and X.format == "csr" else None


def _as_float64(A: Any) -> np.ndarray:
    return np.asarray(A if isinstance(A, np.ndarray) else A.toarray(), dtype=np.float64)


def couple(pairwise: np.ndarray, n_classes: int, against: np.ndarray | None = None) -> np.ndarray:
    """Return the probabilities of more than two classes that best agree with those of all class pairs.

    `pairwise` (n_samples, n_pairs) has the probability of the first class of each pair against the second, `against`
    that of the second, by default 1 - pairwise; the result (n_samples, n_classes) has numbers >= 0 whose rows sum to 1,
    up to 1e-12. With r_ij the probability of class i against class j, the
    probabilities p minimise sum_{i<j} (r_ji p_i - r_ij p_j)^2 = p'Qp over sum p = 1 (Wu, Lin, Weng 2004, second method,
    equation 14). The optimality conditions Qp = -b e give (Q + ee')p = (1 - b) e, so that p is the normalised solution
    of one linear system. Q + ee' is positive definite, and well conditioned even where r_ij is 0 or 1, for which the
    paper's own system is singular. Small p get their digits from the conditions themselves, (Qp)_t = p'Qp, written as
    p_t sum_j r_jt^2 = p'Qp + sum_j r_jt r_tj p_j, where no term is negative.
    """
    against = 1.0 - pairwise if against is None else against
    out = np.empty((len(pairwise), n_classes))
    first, second = pair_classes(n_classes)
    every = np.arange(n_classes)
    step = max(1, VALUES // (n_classes * n_classes))
    for lo in range(0, len(pairwise), step):
        at = slice(lo, lo + step)
        r = np.zeros((len(pairwise[at]), n_classes, n_classes))
        r[:, first, second], r[:, second, first] = np.maximum(pairwise[at], LEAST), np.maximum(against[at], LEAST)
        Q = 1.0 - r * r.transpose(0, 2, 1)
        Q[:, every, every] = 1.0 + np.square(r).sum(axis=1)
        p = np.linalg.solve(Q, np.ones((len(r), n_classes, 1)))[:, :, 0]
        np.maximum(p, 0.0, out=p)  # a probability of 0 may round to a negative number
        out[at] = p / p.sum(axis=1, keepdims=True)
        small = np.flatnonzero((out[at] < SMALL).any(axis=1))
        if len(small):
            out[lo + small] = _with_small_ones(out[lo + small], r[small])
    return out


def _with_small_ones(p: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return the probabilities p (n_samples, n_classes) of `couple`, with the digits of values below `SMALL`
    restored.
    """
    lost = r.transpose(0, 2, 1)  # r_jt at [t, j]
    for _ in range(SWEEPS):
        apart = lost * p[:, :, None] - r * p[:, None, :]
        least = 0.5 * np.square(apart).sum(axis=(1, 2))[:, None]
        own = least + np.einsum("ntj,nj->nt", lost * r, p)
        p = np.where(p < SMALL, own / np.maximum(np.square(lost).sum(axis=2), LEAST), p)
    return p


def normalise(logs: np.ndarray) -> np.ndarray:
    """Return logarithms of probabilities of each class against the rest (n_samples, n_classes), less that of their sum;
    without any, all classes are alike."""
    most = logs.max(axis=1, keepdims=True)
    logs = np.subtract(logs, most, out=np.zeros_like(logs), where=most > -np.inf)
    return logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))


def round_probabilities(p: np.ndarray) -> np.ndarray:
    """Return probabilities to 40 binary digits (Veltkamp 1968): what only rounding tells apart becomes a tie, and
    whatever differs has two logarithms."""
    more = DIGITS * p
    return more - (more - p)
