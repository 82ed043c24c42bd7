"""One decision for each class: the layout of the coefficients of one-versus-rest, and the class that decisions name.

A model of k > 2 classes has k decisions then, and the label is that of the largest one. Its coefficients are (k, n_sv):
row c belongs to the decision of class c. The machine of Crammer and Singer has the same layout. Of two classes one
decision is enough, in the layout of `svmkit.model.one_vs_one`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.kernels.engines import Engine

MODES = "ovo", "ovr", "crammer_singer"
"""How a classifier of more than two classes is made of decision functions."""


DENSE = 0.1  # share of coefficients above 0 from which on the product of dense matrices is as fast
VALUES = 1 << 22  # kernel values that are held at a time


def merge_rest(
    rows: Sequence[np.ndarray], values: Sequence[np.ndarray], codes: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Merge the support vectors of the decisions of all classes into those of one model.

    Parameters
    ----------
    rows : sequence of ndarray, int
        The rows of the data that are support vectors, one array for each class.
    values : sequence of ndarray, float64
        Their coefficients, arrays of the same lengths.
    codes : ndarray of shape (n,), int
        The class of each row of the data.
    n_classes : int
        The number of classes.

    Returns
    -------
    support : ndarray of shape (n_sv,), int
        The rows that are a support vector of any decision, sorted by class and then by row.
    n_support : ndarray of shape (n_classes,), int
        The number of support vectors of each class.
    coef : ndarray of shape (n_classes, n_sv), float64
        Their coefficients.
    """
    place = np.full(len(codes), -1, dtype=np.int64)
    for at in rows:
        place[at] = 0
    support = np.flatnonzero(place == 0)
    support = support[np.argsort(codes[support], kind="stable")]
    place[support] = np.arange(len(support))
    coef = np.zeros((n_classes, len(support)))
    for row, at, of_class in zip(coef, rows, values, strict=True):
        row[place[at]] = of_class
    return support, np.bincount(codes[support], minlength=n_classes), coef


def trained_classes(coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """Return the classes, ascending, whose decisions are not 0 everywhere: those that were trained.

    Parameters
    ----------
    coef : ndarray of shape (n_classes, n_sv)
        The coefficients of a model.
    intercept : ndarray of shape (n_classes,)
        The intercepts.
    """
    found = np.flatnonzero((intercept != 0.0) | coef.any(axis=1))
    return found if len(found) else np.arange(len(intercept))  # some class has to be named


def class_scores(decision: np.ndarray, trained: np.ndarray) -> np.ndarray:
    """Return the decisions, those of classes that were not trained below all others.

    Parameters
    ----------
    decision : ndarray of shape (n_samples, n_classes)
        The decisions of all classes.
    trained : ndarray of int
        The classes that were trained, at least one.
    """
    if len(trained) == decision.shape[1]:
        return decision
    out = np.repeat(decision[:, trained].min(axis=1, keepdims=True) - 1.0, decision.shape[1], axis=1)
    out[:, trained] = decision[:, trained]
    return out


def sparse_coefficients(coef: np.ndarray) -> sp.csc_array | None:
    """Return coefficients (k, n_sv) as a sparse matrix; None if many of them are not 0.

    Of many classes each has few support vectors of its own among the vectors of all.
    """
    if coef.size < VALUES // 64 or np.count_nonzero(coef) > DENSE * coef.size:
        return None
    return sp.csc_array(coef)


def sparse_product(engine: Engine, vectors: Any, coef: sp.csc_array) -> np.ndarray:
    """Return K(X, vectors) @ coef.T (n, k) for the rows of an engine, with few kernel values held at a time.

    Parameters
    ----------
    engine : Engine
        Of n rows of X.
    vectors : ndarray or CSR of shape (n_sv, width)
        The support vectors; for a precomputed kernel their row numbers (n_sv,).
    coef : csc_array of shape (k, n_sv), float64
        The coefficients.
    """
    out, n_sv = np.zeros((coef.shape[0], engine.n)), coef.shape[1]
    step = max(VALUES // max(engine.n, 1), 1)
    for lo in range(0, n_sv, step):
        hi = min(lo + step, n_sv)
        out += coef[:, lo:hi] @ engine.block(vectors[lo:hi], np.empty((hi - lo, engine.n)))
    return out.T
