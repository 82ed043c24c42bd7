"""Stochastic gradient descent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmkit.problems.risks.linear_risk import LinearRisk
from svmkit.runtime.compiling import njit
from svmkit.solver.sampler import Draws
from svmkit_stochastic.linear_state import LinearState, LinearStochastic, calibrate, push, score, take_sample
from svmkit_stochastic.steps import arrive, average, rate, shrink, toward
from svmkit_stochastic.stochastic import Streaming


@njit(cache=True)
def _walk(x, order, w):
    now = w.now[0]
    for k in range(order.size):
        i = take_sample(x, order, k)
        arrive(now, x.C[i], x.sq[i])
        r = rate(now)  # eta_t = 1 / (lambda (t + t0))
        e = toward(x.points, x.below, i, now.scale * score(x, i, w.v), r, x.sq[i])
        shrink(w, 1.0 - r / now.n)  # w -= eta_t lambda w
        push(x, i, e / now.scale, w)  # w -= eta_t loss'(y w'x) y x
        average(w)


@dataclass(frozen=True)
class SGD(Streaming, LinearStochastic):
    """Stochastic gradient descent, SVM-SGD (Bottou 2010), with averaging (Polyak, Juditsky 1992; Xu 2011: ASGD).

    Step t has the size 1 / (lambda (t + t0)) with t0 calibrated on a sample. An iteration is an epoch in a fresh order.
    The parameters are those of `Stochastic`.
    """

    name = "sgd"
    paper = "Bottou 2010"

    def init(self, problem: LinearRisk, start: np.ndarray | None, draws: Draws) -> LinearState:
        """Return the state at `start` or at w = 0, with t0 calibrated on a sample.

        Parameters
        ----------
        problem, start, draws : LinearRisk, ndarray or None, Draws
            As for `Solver.init`.
        """
        state = LinearState(problem, start, draws, average=self.average)
        calibrate(self, state)
        return state

    def walk(self, state: LinearState, order: np.ndarray) -> None:
        _walk(state.samples, order, state.w)
