"""Many linear problems of one data set, which compiled code solves and certifies in one call, and its results."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Parts(NamedTuple):
    """Problems of two classes, of one class against the rest, or one of regression, with the linear kernel and the l2
    penalty.

    Attributes
    ----------
    X : ndarray of float64, shape (n, d)
        All samples of the data: the one form for which the code is compiled.
    sq : ndarray of float64, shape (n,)
        Their squared norms, without a bias.
    above, under : ndarray of float64, shape (n, 9)
        The terms of the losses, as `make_two_sided` returns them, of each sample with label +1.0 and with -1.0; in
        regression the first ones are those of the targets, as they count from `origin`.
    origin, of_targets : float, ndarray of float64, shape (n,) or (0,)
        The origin of the targets, and the rounding errors of the shift; 0.0 and none for classes.
    codes, used : ndarray of int64, shape (n,) and (n_used,)
        The class of each sample, 0 in regression, and the samples that take part, ascending.
    members, first : ndarray of int64, shape (n_used,) and (n_classes + 1,)
        The same samples sorted by class, and where each class begins.
    where : ndarray of int64, shape (n_parts, 2)
        The classes of each problem; -1 as the second one stands for the rest.
    signs : ndarray of float64, shape (n_parts,)
        The label of the first class, 1.0 or -1.0.
    bias : float
        The value of the bias column; NaN if the bias is free.
    gap : float
        The relative gap at which a problem ends.
    """

    X: np.ndarray
    sq: np.ndarray
    above: np.ndarray
    under: np.ndarray
    origin: float
    of_targets: np.ndarray
    codes: np.ndarray
    used: np.ndarray
    members: np.ndarray
    first: np.ndarray
    where: np.ndarray
    signs: np.ndarray
    bias: float
    gap: float


class Answers(NamedTuple):
    """The results of problems, each certified from scratch, whose `sizes` have the sum `total`.

    Attributes
    ----------
    start : ndarray of int64, shape (n_parts,)
        Where the values of each problem begin in the arrays of shape (total,).
    rows, beta, gradient : ndarray of shape (total,)
        The samples of each problem, ascending, int64, its point, and the gradient there.
    w, bias : ndarray of float64, shape (n_parts, d) and (n_parts,)
        The weights of the columns and the intercepts.
    values : ndarray of float64, shape (n_parts, 4)
        P, D and bounds on their rounding errors, as `svmkit.problems.risks.certify.certify` returns them; NaN where the
        problem was not solved.
    steps : ndarray of int64, shape (n_parts,)
        Iterations.
    trail : ndarray of float64, shape (n_parts, most, 5)
        What `StepInfo.trail` holds of each iteration.
    """

    start: np.ndarray
    rows: np.ndarray
    beta: np.ndarray
    gradient: np.ndarray
    w: np.ndarray
    bias: np.ndarray
    values: np.ndarray
    steps: np.ndarray
    trail: np.ndarray

    @classmethod
    def empty(cls, sizes: np.ndarray, d: int, most: int) -> Answers:
        """Return room for the results of problems.

        Parameters
        ----------
        sizes : ndarray of int64, shape (n_parts,)
            The number of samples of each problem.
        d, most : int
            The number of columns, and of iterations at most.
        """
        n, total = len(sizes), int(sizes.sum())
        rows, values = np.empty(total, dtype=np.int64), np.empty((n, 4))
        values.fill(np.nan)
        steps, trail = np.zeros(n, dtype=np.int64), np.empty((n, most, 5))
        start = sizes.cumsum() - sizes
        return cls(start, rows, np.empty(total), np.empty(total), np.empty((n, d)), np.empty(n), values, steps, trail)


class SolvesMany(NamedTuple):
    """Compiled code that solves many linear problems of one data set.

    Attributes
    ----------
    is_small : callable
        is_small(m, width) returns whether a problem of m samples is small enough; width includes the bias column.
    work : callable
        work(m, width) returns roughly how many nanoseconds such a problem takes.
    most : int
        The largest number of iterations.
    solve : callable
        solve(first, last, parts, answers) solves some of `Parts`; it is for `svmkit.runtime.threads.spread`.
    """

    is_small: Callable[[int, int], bool]
    work: Callable[[int, int], float]
    most: int
    solve: Callable[[int, int, Parts, Answers], None]
