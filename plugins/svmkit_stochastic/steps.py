"""The parts of a step, in compiled code: the time and its rate, w as a scaled vector, the mean of the iterates.

In the form lambda/2 |w|^2 + mean of (C_i / mean C) loss_i, with lambda = 1 / sum C and n samples, the step eta_t of all
methods here is eta (n / (t + t0))^power mean C: a step multiplies w by 1 - `rate` / n and adds `rate` C_i times
minus the slope of the loss. Pegasos and SGD have power 1 and eta 1, which is the step 1 / (lambda (t + t0)).

The number of samples n in a stream is not known. Then n, and with it lambda = 1 / sum C, refer to the arrivals so far,
so that the result of a sequence does not depend on its division into blocks; and t0 = 1 / (lambda eta0) comes from eta0
= 1 / (bend |x|^2), with the mean of |x|^2 over the arrivals so far: a step moves the margin of its sample by about 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import overload

from svmkit.problems.risks.points import OPTIONS, LogisticSide, find_side, weight_beyond
from svmkit.runtime.compiling import njit

LATE = 3.0  # polynomial-decay averaging: weights of the iterates grow like k^3 (Shamir, Zhang 2013, section 4)
TINY, HUGE = 1e-6, 1e9  # bounds of the factors, which are multiplied out beyond them

CLOCK = np.dtype(
    [
        *((name, np.float64) for name in ("t", "t0", "n", "total", "eta", "power", "unit")),
        # streams: arrivals, the sums of C and of C |x|^2 over them, and the curvature of the loss (0: no t0)
        *((name, np.float64) for name in ("seen", "cost", "load", "bend")),
        # w = scale v, its squared norm if a solver needs it; the mean of k iterates is (a + share v) / parts
        *((name, np.float64) for name in ("scale", "norm", "k", "late", "share", "parts")),
        ("stream", np.bool_),
    ]
)
"""The time of a solve. t: arrivals, where a mini-batch counts its samples; n, total: samples and the sum of their C;
unit: the mean loss of w = 0;
late: Shamir and Zhang's eta, 0 for the plain mean, -1 for none; the other fields as above."""


class Samples(NamedTuple):
    """The samples in the form of the compiled loops."""

    rows: object  # `Design.rows` of X
    bias: float  # value of the last column, 0 for no bias
    points: np.ndarray  # `Points` of the loss
    below: tuple[int, ...] | None
    C: np.ndarray  # (m,): costs
    sq: np.ndarray  # (m,): squared norms of the rows


class Weights(NamedTuple):
    """A vector (width,), or (m,) for coefficients of the samples, as scale v, and its mean as (a + share v) / parts."""

    v: np.ndarray
    a: np.ndarray
    now: np.ndarray  # CLOCK (1,): the time, with scale, share and parts

    @property
    def point(self) -> np.ndarray:
        """The mean of the iterates if there is one, otherwise the last iterate."""
        now = self.now[0]
        return (self.a + now["share"] * self.v) / now["parts"] if now["k"] > 0.0 else now["scale"] * self.v


@njit(cache=True)
def arrive(now, cost, square):
    """Count the arrival of a sample with C_i = cost and |x_i|^2 = square."""
    now.t += 1.0
    if now.stream:
        now.n += 1.0
        now.seen += 1.0
        now.cost += cost
        now.load += cost * square
        now.total = now.n * now.cost / now.seen
        now.t0 = now.bend * now.n * now.load / now.seen


@njit(cache=True)
def rate(now):
    """Return eta_t / mean C, once the samples of the step have arrived."""
    ratio = now.n / (now.t + now.t0)
    return now.eta * (ratio if now.power == 1.0 else ratio**now.power)


@njit(cache=True, error_model="numpy")
def toward(points, below, i, h, rate, square):
    """Return -rate times the derivative of loss_i by h, for a sample of squared norm `square`.

    The derivative of a loss that grows quadratically has no bound: a step that would carry its sample beyond the point
    where its loss vanishes ends there; otherwise early steps, and steps of exceptionally large samples, would overflow.
    """
    e = points[i, 0] - h
    side = find_side(points, below, i, 0.0, e)
    return side.sign * _push_beyond(side.sign * e - side.epsilon, rate, square, side)


def _push_beyond(slack, rate, square, side):
    if slack <= 0.0:
        return 0.0
    most = rate * side.bound
    if side.ridge == 0.0:
        return most
    return min(slack * (rate / side.ridge) if rate * square < side.ridge else slack / square, most)


def _push_logistic(slack, rate, square, side):
    return rate * weight_beyond(slack, side)


@overload(_push_beyond, jit_options=OPTIONS)
def _select_push(slack, rate, square, side):
    return _push_logistic if side.instance_class is LogisticSide else _push_beyond


@njit(cache=True)
def shrink(w, factor):
    """Multiply w by `factor` in O(1); v is touched for a factor of 0, and now and then to multiply factors out."""
    now = w.now[0]
    if factor <= 0.0:
        _gather(w)
        w.v[:] = 0.0
        now.scale, now.norm = 1.0, 0.0
        return
    now.scale *= factor
    now.norm *= factor * factor
    if now.scale < TINY:
        _gather(w)
        w.v[:] *= now.scale
        now.scale = 1.0


@njit(cache=True)
def average(w):
    """Include the new iterate in the mean, with weight (1 + late) / (k + late)."""
    now = w.now[0]
    if now.late < 0.0:
        return
    now.k += 1.0
    if now.k == 1.0:
        now.share, now.parts = now.scale, 1.0
        return
    weight = (1.0 + now.late) / (now.k + now.late)
    now.parts /= 1.0 - weight
    now.share += weight * now.parts * now.scale
    if now.parts > HUGE:
        _gather(w)


@njit(cache=True)
def _gather(w):
    """Write the mean into a alone: as a difference of growing numbers it would lose its digits."""
    now = w.now[0]
    if now.k > 0.0:
        w.a[:] = (w.a + now.share * w.v) / now.parts
        now.share, now.parts = 0.0, 1.0
