"""The decision functions of all problems joined into the arrays of one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from svmkit.model.one_vs_one import merge_support, weight_coefficients
from svmkit.model.one_vs_rest import merge_rest
from svmkit.problems.base import ClassDecisions, DecisionFunction


class Joined(NamedTuple):
    """The arrays of a model.

    Attributes
    ----------
    support : ndarray of shape (n_support,), int
        The rows of the data that are support vectors of at least one problem, sorted by class.
    weights : ndarray of shape (n_sv, width), float64, or None
        The vectors of a model that has weights of the columns; None where `support` are its vectors.
    n_support, coef, intercept : ndarray
        As in `SVMModel`.
    """

    support: np.ndarray
    weights: np.ndarray | None
    n_support: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray


def joined(
    decisions: Sequence[DecisionFunction], codes: np.ndarray, n_classes: int, width: int, *, class_pairs: bool
) -> Joined:
    """Join decision functions, each over rows of the data.

    Parameters
    ----------
    decisions : sequence of DecisionFunction
        One for each problem, in order, with `rows`.
    codes : ndarray of shape (n,), int
        The class of each row of the data.
    n_classes : int
        The number of classes; 0 in regression.
    width : int
        The number of columns of the data.
    class_pairs : bool
        Whether the problems are those of the class pairs, otherwise of the classes, or one problem.
    """
    if isinstance(decisions[0], ClassDecisions):
        return _of_classes(decisions[0], codes, n_classes)
    rows, values = [d.rows for d in decisions if d.rows is not None], [d.coef for d in decisions]
    merged = (
        merge_support(rows, values, codes, n_classes)
        if class_pairs
        else merge_rest(rows, values, codes, max(n_classes, 1))
    )
    support, n_support, coef = merged
    intercept = np.array([d.intercept for d in decisions])
    weights = [d.w for d in decisions if d.w is not None]
    if len(weights) < len(decisions):
        return Joined(support, None, n_support, coef, intercept)
    vectors = np.zeros((len(weights), width))
    for row, w in zip(vectors, weights, strict=True):
        row[: len(w)] = w  # a stream may have grown columns that this problem has not seen
    n_support, coef = weight_coefficients(n_classes) if class_pairs else _own_weights(len(decisions))
    coef[:, [k for k, w in enumerate(weights) if not len(w)]] = 0.0
    return Joined(support, vectors, n_support, coef, intercept)


def _own_weights(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n_support (k,) and coef (k, k) of a model whose vectors are the weights of its k decisions."""
    return np.ones(k, dtype=np.int64), np.eye(k)


def _of_classes(found: ClassDecisions, codes: np.ndarray, n_classes: int) -> Joined:
    """Return the arrays of a machine of all classes; of two classes the difference of their decisions."""
    assert found.w is not None and found.rows is not None
    support = found.rows[np.argsort(codes[found.rows], kind="stable")]
    if n_classes > 2:
        return Joined(support, found.w, *_own_weights(n_classes), found.intercepts)
    n_support, coef = weight_coefficients(2)
    return Joined(support, found.w[1:] - found.w[:1], n_support, coef, found.intercepts[1:] - found.intercepts[:1])
