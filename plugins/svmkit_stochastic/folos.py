"""Forward-backward splitting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from svmkit.problems.risks.linear_risk import LinearRisk
from svmkit.runtime.compiling import njit
from svmkit.solver.sampler import Draws
from svmkit_stochastic.columns import column, soften, span
from svmkit_stochastic.linear_state import LinearState, LinearStochastic, calibrate, push, score, take_sample
from svmkit_stochastic.steps import arrive, average, rate, shrink, toward
from svmkit_stochastic.stochastic import Streaming, require


@njit(cache=True)
def _walk_l2(x, order, w):
    now = w.now[0]
    for k in range(order.size):
        i = take_sample(x, order, k)
        arrive(now, x.C[i], x.sq[i])
        r = rate(now)
        e = toward(x.points, x.below, i, now.scale * score(x, i, w.v), r, x.sq[i])
        push(x, i, e / now.scale, w)  # forward: w -= eta_t loss'
        shrink(w, 1.0 / (1.0 + r / now.n))  # backward: argmin 1/2 |w - .|^2 + eta_t lambda/2 |w|^2
        average(w)


@njit(cache=True)
def _walk_l1(x, order, w):
    now, v = w.now[0], w.v
    done, total = np.zeros(v.size), 0.0  # the part of total that each column has had: it is made up for when needed
    for k in range(order.size):
        i = take_sample(x, order, k)
        arrive(now, x.C[i], x.sq[i])
        r = rate(now)
        lo, hi = span(x.rows, i)
        for place in range(lo, hi):
            soften(v, done, column(x.rows, place), total)
        if x.bias != 0.0:
            soften(v, done, v.size - 1, total)
        push(x, i, toward(x.points, x.below, i, score(x, i, v), r, x.sq[i]), w)  # forward
        total += r / now.n  # backward: argmin 1/2 |w - .|^2 + eta_t lambda |w|_1
    for j in range(v.size):
        soften(v, done, j, total)


@dataclass(frozen=True)
class FOLOS(Streaming, LinearStochastic):
    """Forward-backward splitting (Duchi, Singer 2009, equations 2 and 3; the lazy l1 step is their section 6).

    A step on the loss alone is followed by the exact step on the penalty, so that weights become exactly 0 with l1.
    Steps are 1 / (lambda (t + t0)) with l2 and eta0 / sqrt(1 + t / n) with l1, calibrated as in `SGD`. An iteration is
    an epoch. The other parameters are those of `Stochastic`; with l1 the solution is always the last iterate, since the
    entries of a mean are rarely 0.

    Parameters
    ----------
    penalty : str, default="l2"
        "l2" or "l1".

    Raises
    ------
    InputError
        If `penalty` is neither.
    """

    name = "folos"
    terms: ClassVar[tuple[str, ...]] = ("loss", "bias", "penalty")
    paper = "Duchi, Singer 2009"

    penalty: str = "l2"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.penalty in ("l2", "l1"), "penalty must be l2 or l1", self.penalty)

    def init(self, problem: LinearRisk, start: np.ndarray | None, draws: Draws) -> LinearState:
        """Return the state at `start` or at w = 0, with a calibrated step size.

        With the l1 penalty, iterates are not averaged, so that zeros stay exact.

        Parameters
        ----------
        problem, start, draws : LinearRisk, ndarray or None, Draws
            As for `Solver.init`.
        """
        state = LinearState(problem, start, draws, average="none" if self.penalty == "l1" else self.average)
        calibrate(self, state)
        if self.penalty == "l1" and draws.before is None:
            state.w.now[["t0", "power", "eta"]] = problem.m, 0.5, state.eta0 / problem.C.mean()
        return state

    def walk(self, state: LinearState, order: np.ndarray) -> None:
        (_walk_l1 if self.penalty == "l1" else _walk_l2)(state.samples, order, state.w)
