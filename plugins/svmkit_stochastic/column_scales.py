"""Gradient steps with a scale for each column, and how `sgdqn` learns the scales from two gradients."""

from __future__ import annotations

import numpy as np

from svmkit.problems.risks.design import CSR
from svmkit.problems.risks.linear_risk import LinearRisk
from svmkit.runtime.compiling import njit
from svmkit.solver.sampler import Draws
from svmkit_stochastic.columns import column, span, value
from svmkit_stochastic.linear_state import LinearState

SPARE = 8.0  # steps on all columns cost at most 1 / SPARE of the steps on the columns of the samples


class ScaledState(LinearState):
    """State of `sgdqn`.

    Attributes
    ----------
    B : ndarray of shape (width,)
        Diagonal of the scaling matrix.
    skip : int
        Samples between two steps on the penalty.
    left : ndarray of shape (2,)
        Samples until the next step on the penalty, and whether the next sample updates B.
    """

    def __init__(self, problem: LinearRisk, start: np.ndarray | None, draws: Draws, average: str, skip: int) -> None:
        super().__init__(problem, start, draws, average=average)
        X, width = problem.design.rows, problem.design.width
        filled = np.count_nonzero(X.data if isinstance(X, CSR) else X)
        self.skip = skip or round(SPARE * width * problem.m / max(filled, 1))
        self.left = np.array([self.skip, 0])
        self.B = np.zeros(width)

    def begin(self) -> None:
        """Set B = 1 / (lambda t0), and with a start as if t samples had changed B by the penalty alone."""
        now = self.w.now[0]
        self.B[:] = now["total"] / (now["t0"] + now["t"])

    @property
    def details(self) -> dict[str, float]:
        return super().details | {"skip": self.skip}

    def trial(self, eta0: float) -> ScaledState:
        tried = ScaledState(self.problem, None, self.draws, self.average, self.skip)
        tried.B[:] = eta0
        return tried


@njit(cache=True)
def size(x, i, B):
    """Return x_i'B x_i."""
    X, last = x.rows, B.size - 1
    s = B[last] * x.bias * x.bias
    lo, hi = span(X, i)
    for k in range(lo, hi):
        s += B[column(X, k)] * value(X, i, k) ** 2
    return s


@njit(cache=True)
def scaled_push(x, i, e, w, B):
    """Add e B x_i to w."""
    X, last = x.rows, B.size - 1
    lo, hi = span(X, i)
    for k in range(lo, hi):
        move(w, column(X, k), e * B[column(X, k)] * value(X, i, k))
    if x.bias != 0.0:
        move(w, last, e * B[last] * x.bias)


@njit(cache=True)
def move(w, j, step):
    """Add `step` to w_j and keep the mean as it is; the scale of w is 1."""
    w.v[j] += step
    w.a[j] -= w.now[0].share * step


@njit(cache=True)
def rescale(x, i, B, skip, low, high, bend, along):
    """Add skip r_j to 1 / B_jj, where r_j = low if x_ij = 0 and otherwise low + the curvature of column j, up to high.

    `bend` is the curvature of the loss along the step B x_i: the change of its derivative over the step length. Column
    j is given all of it, bend / B_jj, or, where along = x_i'B x_i > 0, its share bend x_ij^2 / along.
    """
    X, last = x.rows, B.size - 1
    lo, hi = span(X, i)
    if bend > 0.0:
        for k in range(lo, hi):
            if value(X, i, k) != 0.0:
                _bend(B, column(X, k), skip, high - low, bend, along, value(X, i, k))
        if x.bias != 0.0:
            _bend(B, last, skip, high - low, bend, along, x.bias)
    for j in range(B.size):
        B[j] /= 1.0 + skip * B[j] * low


@njit(cache=True)
def _bend(B, j, skip, most, bend, along, value):
    r = bend * value**2 / along if along > 0.0 else bend / B[j]
    B[j] /= 1.0 + skip * B[j] * min(r, most)
