"""Stochastic gradient descent with a diagonal quasi-Newton scaling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmkit.problems.risks.design import CSR
from svmkit.problems.risks.linear_risk import LinearRisk
from svmkit.problems.risks.points import derivative
from svmkit.runtime.compiling import njit
from svmkit.solver.sampler import Draws
from svmkit_stochastic.columns import column, span, value
from svmkit_stochastic.linear_state import LinearState, LinearStochastic, calibrate, score, take_sample
from svmkit_stochastic.steps import arrive, average, toward
from svmkit_stochastic.stochastic import require

SPARE = 8.0  # steps on all columns cost at most 1 / SPARE of the steps on the columns of the samples


class ScaledState(LinearState):
    """State of `sgdqn`: B (width,), the diagonal of the scaling matrix, `skip`, the samples between two steps on the
    penalty, and `left` (2,), the samples until the next one and whether the next sample updates B.
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
    j gets all of it, bend / B_jj, or, if along = x_i'B x_i > 0, its share bend x_ij^2 / along.
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


@njit(cache=True)
def _walk(x, order, skip, clip, parts, w, B, left):
    now, points, below = w.now[0], x.points, x.below
    lam, r = 1.0 / now.total, now.n / now.total
    for k in range(order.size):
        i = take_sample(x, order, k)
        arrive(now, x.C[i], x.sq[i])
        h = score(x, i, w.v)
        slope, along, e = derivative(points, below, i, points[i, 0] - h), 0.0, 0.0
        if slope != 0.0:
            along = size(x, i, B)
            e = toward(points, below, i, h, r, along)
            scaled_push(x, i, e, w, B)  # w' = w - B loss'
        if left[1] > 0:  # r_j = [g(w') - g(w)]_j / (w' - w)_j, which is lambda where the loss is flat
            change = slope - derivative(points, below, i, points[i, 0] - score(x, i, w.v))
            bend = r * change / e if e != 0.0 else 0.0
            rescale(x, i, B, skip, lam, clip * lam, bend, along if parts else 0.0)  # B_jj /= 1 + skip B_jj r_j
            left[1] = 0
        left[0] -= 1
        if left[0] <= 0:
            left[0], left[1] = skip, 1
            for j in range(B.size):
                move(w, j, -skip * lam * B[j] * w.v[j])  # w -= skip lambda B w
        average(w)


@dataclass(frozen=True)
class SGDQN(LinearStochastic):
    """SGD-QN (Bordes, Bottou, Gallinari 2009), as corrected by Bordes, Bottou, Gallinari, Chang, Smith in 2010.

    Each column has its own step B_jj, learned from changes of the gradient; a step on the penalty and an update of B
    follow every `skip` samples. 1 / B_jj begins at 1 / eta0, calibrated as in `SGD`, and grows by r_j per sample, where
    r_j lies between lambda and clip lambda. SGD-QN does not learn from streams, since skip and the first B are computed
    from all samples. The other parameters are those of `Stochastic`; the papers do not average iterates.

    Parameters
    ----------
    skip : int, default=0
        Samples between two steps on the penalty; 0 stands for 8 width / (non-zero values a row).
    clip : float, default=10000.0
        Upper bound of r_j / lambda, >= 1; the paper's is 100.
    curvature : str, default="column"
        "step" for the paper's r_j, the curvature of the loss along the whole step, "column" for the column's share.

    Raises
    ------
    InputError
        If a parameter is not one of these values.
    """

    name = "sgdqn"
    paper = "Bordes et al. 2009, 2010"

    skip: int = 0
    clip: float = 1e4
    curvature: str = "column"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(isinstance(self.skip, int) and self.skip >= 0, "skip must be a whole number >= 0", self.skip)
        require(1.0 <= self.clip < np.inf, "clip must be a finite number >= 1", self.clip)
        require(self.curvature in ("column", "step"), "curvature must be column or step", self.curvature)

    def init(self, problem: LinearRisk, start: np.ndarray | None, draws: Draws) -> ScaledState:
        """Return the state at `start` or at w = 0, with t0 calibrated and B = 1 / (lambda t0).

        Parameters
        ----------
        problem, start, draws : LinearRisk, ndarray or None, Draws
            As for `Solver.init`.
        """
        state = ScaledState(problem, start, draws, self.average, self.skip)
        calibrate(self, state)
        state.begin()
        return state

    def walk(self, state: ScaledState, order: np.ndarray) -> None:
        how = state.skip, self.clip, self.curvature == "column"
        _walk(state.samples, order, *how, state.w, state.B, state.left)
