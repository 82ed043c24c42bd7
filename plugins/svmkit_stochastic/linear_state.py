"""The state of linear problems, and the calibration of the first step on a sample."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from svmkit.losses.base import Family
from svmkit.losses.terms import LogisticTerms
from svmkit.problems.base import Problem
from svmkit.problems.risks.design import AHEAD, fetch_row, row_add, row_dot
from svmkit.problems.risks.linear_risk import LinearRisk, LinearTubeRisk
from svmkit.problems.risks.points import total_loss
from svmkit.runtime.compiling import njit
from svmkit.solver.requirements import Requires
from svmkit.solver.sampler import Draws
from svmkit_stochastic.steps import Samples, Weights
from svmkit_stochastic.stochastic import State, Stochastic

SOON = int(AHEAD)  # signed, like the positions that it is added to
SAMPLE = 10_000  # rows of X on which the first step is calibrated
TRIALS = 50  # step sizes that the calibration tries in each direction
STEEPEST = 0.25  # the largest curvature of the logistic loss
TINIEST = 1e-300  # step sizes below it, and above its inverse, are not tried


@dataclass(frozen=True)
class LinearStochastic(Stochastic):
    """Base of the solvers of linear problems only."""

    problem: ClassVar[type[Problem]] = LinearRisk
    regression: ClassVar[type[Problem] | None] = LinearTubeRisk
    losses: ClassVar[tuple[str | Family, ...]] = (*Stochastic.losses, Family.LOGISTIC)
    requires: ClassVar[tuple[Requires, ...]] = (Requires.LINEAR_KERNEL,)

    def details(self, state: LinearState) -> dict[str, float]:
        return state.details


class LinearState(State):
    """State of a solve of a linear problem, whose iterate is w (width,); `eta0` is nan before the calibration."""

    def __init__(
        self, problem: LinearRisk, start: np.ndarray | None, draws: Draws, *, average: str = "none", batch: int = 1
    ) -> None:
        super().__init__(problem, draws, batch)
        self.average, self.eta0 = average, np.nan
        v = np.zeros(problem.design.width) if start is None else start.copy()
        self.w = Weights(v, np.zeros(v.size), self.clock(start, average))
        self.w.now[0]["norm"] = v @ v

    def bind(self, problem: LinearRisk, draws: Draws) -> None:
        super().bind(problem, draws)
        d = problem.design
        self.samples = Samples(d.rows, d.bias, *problem.points, self.C, d.sq)

    @property
    def details(self) -> dict[str, float]:
        return {"eta0": self.eta0}

    def trial(self, eta0: float) -> LinearState:
        """Return another state at 0 whose steps all have the size eta0."""
        tried = LinearState(self.problem, None, self.draws, average=self.average)
        tried.w.now[0]["power"], tried.w.now[0]["eta"] = 0.0, eta0 / self.C.mean()
        return tried

    @property
    def members(self) -> np.ndarray:
        return self.waiting

    def renew(self, problem: LinearRisk, draws: Draws) -> None:
        """Continue on another problem; the weights of new columns begin at 0."""
        more = problem.design.d - self.problem.design.d
        self.bind(problem, draws)
        self.waiting = np.arange(self.waiting.size)
        if more:
            at = problem.design.d - more  # before the bias
            self.w = self.w._replace(v=np.insert(self.w.v, at, [0.0] * more), a=np.insert(self.w.a, at, [0.0] * more))


def calibrate(solver: Stochastic, state: LinearState) -> None:
    """Set the state's eta0 and t0 = 1 / (lambda eta0); on a stream the arrivals set t0.

    eta0 is the constant step with which one pass over a sample, from 0, ends at the lowest objective on that sample
    (Bottou's determineEta0). Bottou takes the last iterate on 1000 rows, which varies; here the mean is used if the
    solver takes one, on more rows.
    """
    p, now, x = state.problem, state.w.now[0], state.samples
    now["bend"] = _curvature(p)
    if now["stream"]:
        return
    sample = state.draws.rng.permutation(p.m)[:SAMPLE]
    C, points = x.C[sample], x.points[sample]

    def ending(eta0: float) -> float:
        """Return lambda P on the sample after a pass with steps eta0; inf for an overflow."""
        tried = state.trial(eta0)
        tried.samples = x._replace(sq=np.zeros(p.m))  # no step is shortened, so that steps that are too long show
        solver.walk(tried, sample)
        with np.errstate(all="ignore"):
            w = tried.w.point
            loss = total_loss(points, x.below, scores(x, sample, w)) / C.sum()
            value = float(p.lam * p.penalty.value(w) + loss)
        return value if np.isfinite(value) else np.inf

    # a step of this size moves no margin by more than 1, and no prediction by more than the mean loss of w = 0
    gentle = x.C.mean() / min(max(now["bend"] * float((C * x.sq[sample]).max()), 1e-300), 1e300)
    state.eta0 = _lowest(ending, gentle, state.draws.over)
    now["t0"] = now["total"] / state.eta0


def _curvature(p: LinearRisk) -> float:
    """Return the largest curvature of a loss of C = 1, or, if that is less, its slope over the mean loss of w = 0."""
    t = p.terms
    if isinstance(t, LogisticTerms):
        return STEEPEST
    with np.errstate(divide="ignore"):
        sides = (
            np.minimum(1.0 / (ridge * p.C), bound / (p.C * p.unit))
            for ridge, bound in ((t.ridge_up, t.upper), (t.ridge_down, -t.lower))
        )
        return float(max(side.max() for side in sides))


def _lowest(value: Callable[[float], float], x: float, over: Callable[[], bool]) -> float:
    """Return argmin of `value` over x 2^k, in each direction until it has risen twice in a row, or `over`."""
    tried = {x: value(x)}
    for factor in (2.0, 0.5):
        at, risen = x, 0
        for _ in range(TRIALS):
            at *= factor
            if risen == 2 or over() or not TINIEST < at < 1.0 / TINIEST:
                break
            tried[at] = value(at)
            risen = risen + 1 if tried[at] > min(tried.values()) or tried[at] == math.inf else 0
    return min(tried, key=tried.__getitem__)


@njit(cache=True, inline="always")
def take_sample(x, order, k):
    """Return order[k], and prefetch a row of X that comes a little later."""
    if k + SOON < order.size:
        fetch_row(x.rows, order[k + SOON])
        fetch_row(x.points, order[k + SOON])
    return order[k]


@njit(cache=True)
def score(x, i, v):
    """Return x_i'v, the bias column included."""
    s = row_dot(x.rows, i, v)
    return s + x.bias * v[v.size - 1] if x.bias != 0.0 else s


@njit(cache=True)
def push(x, i, e, w):
    """Add scale e x_i to w and keep the mean as it is."""
    if e == 0.0:
        return
    share = w.now[0].share
    row_add(x.rows, i, e, w.v)
    if x.bias != 0.0:
        w.v[w.v.size - 1] += e * x.bias
    if share != 0.0:
        row_add(x.rows, i, -share * e, w.a)
        if x.bias != 0.0:
            w.a[w.a.size - 1] -= share * e * x.bias


@njit(cache=True)
def scores(x, order, v):
    """Return x_i'v for the samples in `order`."""
    out = np.empty(order.size)
    for k in range(order.size):
        out[k] = score(x, order[k], v)
    return out
