"""A gradient step scaled column by column, and how sgdqn learns the scale from two gradients."""

from __future__ import annotations

import numpy as np
from numba import njit

from svmkit.problems.design import CSR
from svmkit.problems.linear_risk import LinearRisk
from svmkit.solver.sampler import Draws
from svmkit_stochastic.columns import column, span, value
from svmkit_stochastic.linear import LinearState
from svmkit_stochastic.steps import pull

SPARE = 8.0  # what is done for all columns costs at most 1 / SPARE of what is done for those of the samples


class ScaledState(LinearState):
    """B (width,), diagonal; left (2,) : samples until the penalty's next step, and whether B is due; skip : between."""

    def __init__(self, problem: LinearRisk, start: np.ndarray | None, draws: Draws, average: str, skip: int) -> None:
        super().__init__(problem, start, draws, average=average)
        X, width = problem.design.rows, problem.design.width
        filled = np.count_nonzero(X.data if isinstance(X, CSR) else X)
        self.skip = skip or round(SPARE * width * problem.m / max(filled, 1))
        self.left = np.array([self.skip, 0])
        self.B = np.zeros(width)

    def begin(self) -> None:
        """B = 1 / (lambda t0), and later, from a start, as if only the penalty had been learned from."""
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
    """x_i'B x_i."""
    X, last = x.rows, B.size - 1
    s = B[last] * x.bias * x.bias
    lo, hi = span(X, i)
    for k in range(lo, hi):
        s += B[column(X, k)] * value(X, i, k) ** 2
    return s


@njit(cache=True)
def scaled_push(x, i, e, w, B):
    """w += e B x_i."""
    X, last = x.rows, B.size - 1
    lo, hi = span(X, i)
    for k in range(lo, hi):
        move(w, column(X, k), e * B[column(X, k)] * value(X, i, k))
    if x.bias != 0.0:
        move(w, last, e * B[last] * x.bias)


@njit(cache=True)
def move(w, j, step):
    """w_j += step, and nothing to the mean; w as it is, with scale 1."""
    w.v[j] += step
    w.a[j] -= w.now[0].share * step


@njit(cache=True)
def change(squared, s, before, after, e):
    """By how much s times the loss's derivative changed between two margins, over e, the length of the step."""
    return (pull(squared, before, s, 0.0) - pull(squared, after, s, 0.0)) / e if e > 0.0 else 0.0


@njit(cache=True)
def rescale(x, i, B, skip, low, high, bend, along):
    """1 / B_jj += skip r_j, r_j = low where x_ij = 0 and elsewhere low + the curvature bend, at most high.

    bend is that of the loss along the step B x_i: by how much its derivative changed, over the length of the step.
    Column j is given all of it, bend / B_jj, or, where along = x_i'B x_i > 0, its part, bend x_ij^2 / along.
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
