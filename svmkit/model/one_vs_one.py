"""One-versus-one: the order of the class pairs, the layout of their coefficients, and the votes of their decisions.

Classes are numbered 0 to n_classes - 1 in sorted order, and the class pairs (a, b), a < b, are numbered as
`class_pairs` lists them: (0, 1), (0, 2), ..., (1, 2), ... A positive decision means the second class b if there are two
classes, as in scikit-learn's binary convention, and the first class a if there are more.

A model keeps the coefficients of its vectors as (n_classes - 1, n_sv), as LIBSVM and scikit-learn do: each column
belongs to a vector of some class, and each row to one of the other classes, in order (`coefficient_row`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

LARGEST = 2**15 - 1  # number of 16 bits
FEW = 16  # classes up to which votes are counted by a dense product: scipy has more overhead for a sparse one


def class_pairs(n_classes: int) -> list[tuple[int, int]]:
    """Return the class pairs (a, b), a < b, in the order of the columns of decisions."""
    return [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]


@lru_cache(maxsize=4)
def pair_classes(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the second class of each class pair, in the order of `class_pairs`; do not write to them."""
    return np.triu_indices(n_classes, 1)


def signed_pair(a: int, b: int, n_classes: int) -> tuple[int, int]:
    """Return the classes of the pair a < b that are +1 and -1, in this order."""
    return (b, a) if n_classes == 2 else (a, b)


def signs(codes: np.ndarray, a: int, b: int, n_classes: int) -> np.ndarray:
    """Return +1.0 or -1.0 for each sample of a class pair.

    Parameters
    ----------
    codes : ndarray of shape (n,), int, their classes, a or b
    a, b : int, the class pair, a < b
    n_classes : int, on which the signs depend
    """
    plus, _ = signed_pair(a, b, n_classes)
    return np.where(codes == plus, 1.0, -1.0)


def pair_column(a: Any, b: Any, n_classes: int) -> Any:
    """Return the number of the class pair a < b, which is its column of decisions; for arrays, the numbers of all
    pairs.
    """
    return a * (2 * n_classes - a - 1) // 2 + b - a - 1


def columns_of(c: int, n_classes: int) -> np.ndarray:
    """Return the columns of decisions in which class c takes part, in the order of its rows of coefficients."""
    below = np.arange(c)
    first = pair_column(c, c + 1, n_classes)
    return np.concatenate([pair_column(below, c, n_classes), np.arange(first, first + n_classes - 1 - c)])


def coefficient_row(own: Any, other: Any) -> Any:
    """Return the row of the coefficients of vectors of the class `own` against the class `other`."""
    return other - (own < other)


def class_slices(n_support: np.ndarray) -> list[slice]:
    """Return the places of the vectors of each class in a model that has n_support (n_classes,) of each."""
    ends = np.cumsum(n_support)
    return [slice(end - n, end) for end, n in zip(ends.tolist(), n_support.tolist(), strict=True)]


def pair_coefficients(coef: np.ndarray, owner: np.ndarray, a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the vectors of one class pair, ascending, and their coefficients in its decision.

    Parameters
    ----------
    coef : ndarray of shape (n_classes - 1, n_sv), of a model
    owner : ndarray of shape (n_sv,), int, the class of each vector
    a, b : int, the class pair, a < b
    """
    at = np.flatnonzero((owner == a) | (owner == b))
    rows = np.where(owner[at] == a, coefficient_row(a, b), coefficient_row(b, a))
    return at, coef[rows, at]


def coefficients_by_column(coef: np.ndarray, n_support: np.ndarray) -> np.ndarray:
    """Return the coefficient of each vector in each column of decisions, (n_sv, n_pairs), zeros included."""
    n_classes = len(n_support)
    of_class = _columns_of_each(n_classes)[np.arange(n_classes).repeat(n_support)]
    columns = np.zeros((len(of_class), n_classes * (n_classes - 1) // 2))
    columns[np.arange(len(of_class))[:, None], of_class] = coef.T
    return columns


@lru_cache(maxsize=4)
def _columns_of_each(n_classes: int) -> np.ndarray:
    """Return `columns_of` each class, (n_classes, n_classes - 1); do not write to them."""
    return np.array([columns_of(c, n_classes) for c in range(n_classes)])


def order_by_class(codes: np.ndarray) -> np.ndarray:
    """Return the places of samples with these codes >= 0, sorted by class and then by place."""
    # numpy sorts 16-bit integers by radix, in a third of the time
    few = len(codes) and codes.max() <= LARGEST
    return (codes.astype(np.int16) if few else codes).argsort(kind="stable")


def union_support(at: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows, sorted by class and then by row, and the place of each row among them, else -1."""
    place = np.full(len(codes), -1, dtype=np.int64)
    place[at] = 0
    (support,) = (place == 0).nonzero()
    support = support[order_by_class(codes[support])]
    place[support] = np.arange(len(support))
    return support, place


def merge_support(
    rows: Sequence[np.ndarray], values: Sequence[np.ndarray], codes: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Merge the support vectors of all class pairs into those of one model: its support, n_support and coef.

    Parameters
    ----------
    rows : sequence of ndarray of int, the support vectors of each class pair among the rows of the data
    values : sequence of ndarray of float64, their coefficients
    codes : ndarray of shape (n,), int, the class of each row of the data
    n_classes : int
    """
    if n_classes == 2:
        order = np.lexsort((rows[0], codes[rows[0]]))
        support = rows[0][order]
        return support, np.bincount(codes[support], minlength=2), values[0][None, order]
    sizes, at = [len(of_pair) for of_pair in rows], np.concatenate(list(rows))
    support, place = union_support(at, codes)
    coef = np.zeros((n_classes - 1, len(support)))
    a, b = (classes.repeat(sizes) for classes in pair_classes(n_classes))
    own = np.where(codes[at] == a, b - 1, a)  # as `coefficient_row` of a < b
    coef[own, place[at]] = np.concatenate(list(values))
    return support, np.bincount(codes[support], minlength=n_classes), coef


def weight_coefficients(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n_support (n_classes,) and coef (n_classes - 1, n_pairs) of a linear model, whose vectors are weights. The
    vector of the pair (a, b), a < b, counts as a vector of class a, with the coefficient 1 against class b.
    """
    a, b = pair_classes(n_classes)
    coef = np.zeros((n_classes - 1, len(a)))
    coef[coefficient_row(a, b), np.arange(len(a))] = 1.0
    return np.bincount(a, minlength=n_classes), coef


def vote_signs(n_classes: int) -> np.ndarray:
    """Return the class that each decision votes for among more than two classes, (n_pairs, n_classes): 1.0 for the
    class of a positive decision, -1.0 for the other one of the class pair, else 0.0.
    """
    a, b = pair_classes(n_classes)
    sides = np.zeros((len(a), n_classes))
    sides[np.arange(len(a)), a], sides[np.arange(len(a)), b] = 1.0, -1.0
    return sides


def scores(decision: np.ndarray, n_classes: int, columns: np.ndarray | None = None) -> np.ndarray:
    """Return the votes (n_samples, n_classes) for each of more than two classes, with a fraction that breaks ties.

    `columns` are the class pairs of `decision` (n_samples, len(columns)), ascending, if untrained ones are left out;
    these vote for neither class. The sum of the margins for the class, squashed into (-1/3, 1/3), is added to its
    votes, so that margins decide only between equal votes. A decision of exactly 0 is a vote for the second class, as
    in LIBSVM.
    """
    sides, most = _sides(n_classes), n_classes - 1.0
    if columns is not None and len(columns) < sides.shape[1]:
        sides = sides[:, columns]
        most = abs(sides).sum(axis=1)[:, None]
    margins = sides @ decision.T
    won_less_lost = sides @ np.where(decision.T > 0.0, 1.0, -1.0)
    votes = 0.5 * (won_less_lost + most)
    return (votes + margins / (3.0 * (np.abs(margins) + 1.0))).T


def sum_margins(decision: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the sum of the margins (n_samples, n_classes) for each class over all of its pairs."""
    return (_sides(n_classes) @ decision.T).T


@lru_cache(maxsize=4)
def _sides(n_classes: int) -> Any:
    """Return `vote_signs`, transposed (n_classes, n_pairs), as a sparse matrix if there are many of them."""
    if n_classes <= FEW:
        return np.ascontiguousarray(vote_signs(n_classes).T)
    columns = [columns_of(c, n_classes) for c in range(n_classes)]
    lost = np.arange(n_classes)[:, None] > np.arange(n_classes - 1)  # a class is the second one of its first pairs
    ends = (n_classes - 1) * np.arange(n_classes + 1)
    shape = (n_classes, n_classes * (n_classes - 1) // 2)
    return sp.csr_array((np.where(lost, -1.0, 1.0).ravel(), np.concatenate(columns), ends), shape=shape)


def trained_columns(coef: np.ndarray, n_support: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """Return the class pairs of a model, ascending, whose decisions are not 0 everywhere, i.e. the trained ones."""
    trained, n_classes = intercept != 0.0, len(n_support)
    if trained.all():
        return np.arange(len(intercept))
    for c, at in enumerate(class_slices(n_support)):
        trained[columns_of(c, n_classes)] |= coef[:, at].any(axis=1)
    return np.flatnonzero(trained)
