"""Stochastic gradient descent with a diagonal quasi-Newton scaling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmkit.problems.risks.linear_risk import LinearRisk
from svmkit.problems.risks.points import derivative
from svmkit.runtime.compiling import njit
from svmkit.solver.sampler import Draws
from svmkit_stochastic.column_scales import ScaledState, move, rescale, scaled_push, size
from svmkit_stochastic.linear_state import LinearStochastic, calibrate, score, take_sample
from svmkit_stochastic.steps import arrive, average, toward
from svmkit_stochastic.stochastic import require


@njit(cache=True)
def _walk(x, order, skip, clip, parts, w, B, left):
    now, points, two_sided = w.now[0], x.points, x.two_sided
    lam, r = 1.0 / now.total, now.n / now.total
    for k in range(order.size):
        i = take_sample(x, order, k)
        arrive(now, x.C[i], x.sq[i])
        h = score(x, i, w.v)
        slope, along, e = derivative(points, two_sided, i, points[i, 0] - h), 0.0, 0.0
        if slope != 0.0:
            along = size(x, i, B)
            e = toward(points, two_sided, i, h, r, along)
            scaled_push(x, i, e, w, B)  # w' = w - B loss'
        if left[1] > 0:  # r_j = [g(w') - g(w)]_j / (w' - w)_j, which is lambda where the loss is flat
            change = slope - derivative(points, two_sided, i, points[i, 0] - score(x, i, w.v))
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

    Each column has a step B_jj of its own, learned from changes of the gradient; a step on the penalty and an update of
    B follow every `skip` samples. 1 / B_jj begins at 1 / eta0, calibrated as by `SGD`, and grows by r_j a sample, where
    r_j lies between lambda and clip lambda. SGD-QN does not learn from streams, since skip and the first B are computed
    from all samples. The other parameters are those of `Stochastic`; the papers take no mean of the iterates.

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
        require(isinstance(self.skip, int) and self.skip >= 0, "skip", self.skip, "a whole number >= 0")
        require(1.0 <= self.clip < np.inf, "clip", self.clip, "a finite number >= 1")
        require(self.curvature in ("column", "step"), "curvature", self.curvature, "column or step")

    def init(self, problem: LinearRisk, start: np.ndarray | None, draws: Draws) -> ScaledState:
        state = ScaledState(problem, start, draws, self.average, self.skip)
        calibrate(self, state)
        state.begin()
        return state

    def walk(self, state: ScaledState, order: np.ndarray) -> None:
        how = state.skip, self.clip, self.curvature == "column"
        _walk(state.samples, order, *how, state.w, state.B, state.left)
