"""Forward-backward splitting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from svmkit.risk import LinearRisk
from svmkit.sampler import Draws
from svmkit_stochastic.base import require
from svmkit_stochastic.columns import column, soften, span
from svmkit_stochastic.linear import LinearState, LinearStochastic, at, calibrate, push, score
from svmkit_stochastic.steps import arrive, average, pull, rate, shrink


@njit(cache=True)
def _walk_l2(x, order, squared, w):
    now = w.now[0]
    for k in range(order.size):
        i = at(x, order, k)
        arrive(now, x.C[i], x.sq[i])
        r = rate(now)
        e = pull(squared, x.y[i] * now.scale * score(x, i, w.v), r * x.C[i], x.sq[i])
        if e > 0.0:
            push(x, i, e * x.y[i] / now.scale, w)  # forward: w -= eta_t loss'
        shrink(w, 1.0 / (1.0 + r / now.n))  # backward: argmin 1/2 |w - .|^2 + eta_t lambda/2 |w|^2
        average(w)


@njit(cache=True)
def _walk_l1(x, order, squared, w):
    now, v = w.now[0], w.v
    done = np.zeros(v.size)  # how much of total each column has had: it has time until it is looked at
    total = 0.0
    for k in range(order.size):
        i = at(x, order, k)
        arrive(now, x.C[i], x.sq[i])
        r = rate(now)
        lo, hi = span(x.rows, i)
        for place in range(lo, hi):
            soften(v, done, column(x.rows, place), total)
        if x.bias != 0.0:
            soften(v, done, v.size - 1, total)
        push(x, i, x.y[i] * pull(squared, x.y[i] * score(x, i, v), r * x.C[i], x.sq[i]), w)  # forward
        total += r / now.n  # backward: argmin 1/2 |w - .|^2 + eta_t lambda |w|_1
    for j in range(v.size):
        soften(v, done, j, total)


@dataclass(frozen=True)
class FOLOS(LinearStochastic):
    """Forward-backward splitting (Duchi, Singer 2009, equations 2, 3 and section 6 for the lazy l1 step).

    A step on the loss alone, then the exact step on the penalty: with l1 weights become exactly 0. Steps are
    1 / (lambda (t + t0)) with l2, and with l1 eta0 / sqrt(1 + t / n); both are calibrated as sgd's are.

    loss, bias, average : as sgd's, but with l1 always the last iterate, for means are hardly ever 0; penalty : l2 or l1
    """

    name = "folos"
    terms: ClassVar[tuple[str, ...]] = ("loss", "bias", "penalty")
    paper = "Duchi, Singer 2009"

    penalty: str = "l2"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.penalty in ("l2", "l1"), "penalty", self.penalty, "l2 or l1")

    def init(self, problem: LinearRisk, start: np.ndarray | None, draws: Draws) -> LinearState:
        state = LinearState(problem, start, draws, average="none" if self.penalty == "l1" else self.average)
        eta0, now = calibrate(self, state), state.w.now[0]
        if self.penalty == "l1" and not now["stream"]:
            now["t0"], now["power"], now["eta"] = now["n"], 0.5, eta0 / problem.C.mean()
        return state

    def walk(self, state: LinearState, order: np.ndarray) -> None:
        walk = _walk_l1 if self.penalty == "l1" else _walk_l2
        walk(state.samples, order, self.squared, state.w)
