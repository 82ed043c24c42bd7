"""The common form of all problems on a device: weights >= 0 with signs, bounds, ridges, a linear term and an equality.

A weight that may have either sign counts as two. A regularised bias b is an additional point with k(x, .) = 0, the
ridge 1 and a free sign: with it the weights sum to 0, and its weight is -b, which costs b^2 / 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from svmkit.errors import InputError
from svmkit.problems.base import Problem
from svmkit.problems.dual import DualQP
from svmkit.problems.nu_dual import NuQP
from svmkit.problems.simplex import SimplexQP, SquaredHinge

BIAS = -1  # the number of the point for a regularised bias


class Form(NamedTuple):
    """min 1/2 (y a)'K (y a) + linear'a + 1/2 sum ridge a^2, 0 <= a <= upper, y'a = balance: arrays of shape (G, n).

    Attributes
    ----------
    sample : ndarray of int64
        The sample of each weight; `BIAS` for the bias.
    y, upper, start : ndarray of float64
        Signs, finite bounds, and a feasible point.
    linear, ridge : ndarray of float64, or None
        The linear term and ridges; None for -1 and 0, as for the hinge.
    balance : ndarray of float64, shape (G,)
        The sum of the signed weights of each part.
    make_point : callable
        Returns the point of the problem for weights (G, n).
    """

    sample: np.ndarray
    y: np.ndarray
    upper: np.ndarray
    start: np.ndarray
    linear: np.ndarray | None
    ridge: np.ndarray | None
    balance: np.ndarray
    make_point: Callable[[np.ndarray], np.ndarray]

    def sum_by_sample(self, a: np.ndarray, m: int) -> np.ndarray:
        """Return the signed weight of each of the m samples for weights a (G, n)."""
        real = self.sample != BIAS
        return np.bincount(self.sample[real], weights=(self.y * a)[real], minlength=m)


def hinge_form(y: np.ndarray, C: np.ndarray) -> Form:
    """Return the form of C-SVC with the hinge and a free bias, for labels and costs (m,)."""
    return Form(
        np.arange(len(y))[None], y[None], C[None], np.zeros((1, len(y))), None, None, np.zeros(1), lambda a: a[0]
    )


def form_of(problem: Problem) -> Form:
    """Return the form of a problem; raise InputError if it has none, as with logistic losses.

    Parameters
    ----------
    problem : Problem
        The problem.
    """
    if isinstance(problem, NuQP):
        return _nu_form(problem)
    if isinstance(problem, DualQP) and not problem.is_logistic:
        return _dual_form(problem)
    if isinstance(problem, SquaredHinge) and problem.bias == 1.0:
        return _squared_hinge_form(problem)
    if type(problem) is SimplexQP and not problem.bias and (problem.y > 0.0).all():
        return _simplex_form(problem)
    raise InputError(f"{problem.name} is not solved on a device: leave out device")


def _dual_form(problem: DualQP) -> Form:
    m, first = problem.m, problem.first_point()
    width = np.broadcast_to(np.asarray(problem.width, dtype=np.float64), (m,))
    up, down = np.flatnonzero(problem.upper > 0.0), np.flatnonzero(problem.lower < 0.0)
    above = problem.signs, problem.upper, problem.origin + width, problem.ridge, np.maximum(first, 0.0)
    below = -problem.signs, -problem.lower, width - problem.origin, problem.ridge_down, np.maximum(-first, 0.0)
    columns = [np.concatenate([one[up], other[down]]) for one, other in zip(above, below, strict=True)]

    def make_point(a: np.ndarray) -> np.ndarray:
        point = np.zeros(m)
        point[up] = a[0, : len(up)]
        point[down] -= a[0, len(up) : len(up) + len(down)]
        return point

    return _join(np.concatenate([up, down]), columns, problem.total, bool(problem.bias), make_point)


def _squared_hinge_form(problem: SquaredHinge) -> Form:
    """Return the dual in beta, where alpha = beta / sum(beta)."""
    m = problem.m
    columns = [problem.y, np.full(m, np.inf), np.full(m, -1.0), problem.ridge, np.zeros(m)]

    def make_point(a: np.ndarray) -> np.ndarray:
        total = a[0, :m].sum()
        return a[0, :m] / total if total > 0.0 else np.full(m, 1.0 / m)

    return _join(np.arange(m), columns, 0.0, True, make_point)


def _simplex_form(problem: SimplexQP) -> Form:
    m, c = problem.m, problem.linear_term
    columns = [np.ones(m), np.ones(m), np.zeros(m) if c is None else c, problem.ridge, np.full(m, 1.0 / m)]
    return _join(np.arange(m), columns, 1.0, False, lambda a: a[0] / a[0].sum())


def _nu_form(problem: NuQP) -> Form:
    m, first, one = problem.m, problem.first_point(), np.ones(problem.m)
    return Form(
        sample=np.tile(np.arange(m), (2, 1)),
        y=np.stack([one, -one]),
        upper=np.stack([problem.over, problem.under]),
        start=np.stack(problem.parts(first)),
        linear=np.stack([problem.origin, -problem.origin]),
        ridge=np.zeros((2, m)),
        balance=problem.half * np.array([1.0, -1.0]),
        make_point=lambda a: a[0] - a[1],
    )


def _join(sample: np.ndarray, columns: list[Any], total: float, biased: bool, make_point: Any) -> Form:
    """Return a form with one part, including the point of the bias, and finite bounds that no optimum exceeds.

    `columns` are signs, upper bounds, linear term, ridges and the start. A weight without a bound is limited by its
    ridge and the most that all other weights can gain.
    """
    if biased:
        sample = np.append(sample, [BIAS, BIAS])
        added = [1.0, -1.0], [np.inf] * 2, [0.0] * 2, [1.0] * 2, [0.0] * 2
        columns = [np.append(values, more) for values, more in zip(columns, added, strict=True)]
    y, upper, linear, ridge, start = columns
    free = np.isinf(upper)
    if free.any():
        falls = np.maximum(-linear, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = np.where(free, 0.5 * falls * falls / np.where(ridge > 0.0, ridge, 1.0), falls * upper).sum()
            most = (falls + np.sqrt(falls * falls + 2.0 * ridge * gain)) / ridge
        upper = np.where(free, most * (1.0 + 1e-6) + np.finfo(np.float64).tiny, upper)
    arrays = [np.ascontiguousarray(values, dtype=np.float64)[None] for values in (y, upper, start, linear, ridge)]
    return Form(sample[None], *arrays, np.array([total]), make_point)
