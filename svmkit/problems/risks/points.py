"""The terms of a loss as compiled loops read them, one row of numbers a sample: values, derivatives, sums over samples.

A sample whose weight may have one sign only, as with every margin loss, takes fewer numbers and a shorter code path:
the loops are compiled separately for the others, since numba drops branches on an argument that is None. Logistic
losses have their own kind of `Side`, for which the functions of a side are compiled separately.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from svmkit.kernels.rounding import TINY as LEAST_ERROR
from svmkit.losses.terms import LogisticTerms, Terms
from svmkit.problems.sums import exact_sum, sigmoid, softplus
from svmkit.runtime.compiling import njit
from svmkit.runtime.threads import spread

FILL = 4.0  # nanoseconds of a row of numbers
TINY = 1e-200  # curvature of a row of zeros
TOGETHER = 1 << 16  # samples whose rows are filled together, to limit temporary memory
LOGISTIC = (True,)  # `Points.below` of logistic losses: a tuple of another type than those of columns
OPTIONS: Any = {"error_model": "numpy"}


class Points(NamedTuple):
    """The terms of m samples for loops, which are compiled for each of the four kinds of `below`."""

    # float64 (m, 4), (m, 5) or (m, 9). With one sign of a sample's weight and no kinks: target, ridge, 1 / curvature of
    # the dual, and the bound that is not 0, with its sign. With two signs: target, and ridge, 1 / curvature, bound and
    # kink of weights >= 0, then those of weights <= 0 unless they are the same; here bounds are >= 0.
    rows: np.ndarray
    # None where a sample's weight has one sign; else () or (5,), the column at which the numbers of weights <= 0 begin
    # if they have their own; LOGISTIC, with the rows of one sign, if the losses are logistic
    below: tuple[int, ...] | None

    def bounds(self, here: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and the upper bounds of the weights of some samples."""
        rows = self.rows[here]
        if self.below is None or self.below is LOGISTIC:
            return np.minimum(rows[:, 3], 0.0), np.maximum(rows[:, 3], 0.0)
        return -rows[:, 7 if self.below else 3], rows[:, 3]


class Side(NamedTuple):
    """The terms of a sample on one side of beta = 0, where `sign` is 1.0 or -1.0, for the size of its weight."""

    sign: float
    ridge: float
    inverse: float
    bound: float
    epsilon: float


class LogisticSide(NamedTuple):
    """The terms of a sample with a logistic loss; its `epsilon` is 0."""

    sign: float
    bound: float
    epsilon: float


def make_points(terms: Terms, sq: np.ndarray, sigma: float = 1.0) -> Points:
    """Return the terms as compiled loops read them, for samples of squared norms sq (m,), bias included, times `sigma`,
    as for `coordinate_pass`.
    """
    if isinstance(terms, LogisticTerms):
        rows = np.zeros((len(sq), 4))
        rows[:, 0], rows[:, 2], rows[:, 3] = terms.target, 1.0 / np.maximum(sigma * sq, TINY), terms.bound
        return Points(rows, LOGISTIC)
    if _has_one_side(terms.lower, terms.upper, terms.kink_up, terms.kink_down):
        rows = np.empty((len(sq), 4))
        given = terms.target, terms.lower, terms.upper, terms.ridge_up, terms.ridge_down, sq, float(sigma)
        spread(_fill_one_side, len(sq), FILL, *given, rows)
        return Points(rows, None)
    pairs = zip(_above(terms), _below(terms), strict=True)
    below = () if all(one is other or (one == other).all() for one, other in pairs) else (5,)
    rows = np.empty((len(sq), 9 if below else 5))
    for lo in range(0, len(sq), TOGETHER):
        part = Terms(*(values[lo : lo + TOGETHER] for values in terms))
        sides = [_above(part), _below(part)][: 2 if below else 1]
        _fill_rows(rows[lo : lo + TOGETHER], part, sides, sigma * sq[lo : lo + TOGETHER])
    return Points(rows, below)


def _above(terms: Terms) -> tuple[np.ndarray, ...]:
    return terms.ridge_up, terms.upper, terms.kink_up


def _below(terms: Terms) -> tuple[np.ndarray, ...]:
    return terms.ridge_down, -terms.lower, terms.kink_down


@njit(cache=True, nogil=True)
def _has_one_side(lower, upper, kink_up, kink_down):
    """Return whether each sample's weight may have one sign only, on the side of which there is no kink."""
    for i in range(lower.size):
        up = upper[i] > 0.0
        if (up and lower[i] < 0.0) or (kink_up[i] if up else kink_down[i]) != 0.0:
            return False
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_one_side(first, last, target, lower, upper, ridge_up, ridge_down, sq, sigma, rows):
    for i in range(first, last):
        up = upper[i] > 0.0
        ridge = ridge_up[i] if up else ridge_down[i]
        rows[i, 0], rows[i, 1] = target[i], ridge
        rows[i, 2] = 1.0 / max(sigma * sq[i] + ridge, TINY)
        rows[i, 3] = upper[i] if up else lower[i]


def make_two_sided(terms: Terms) -> Points:
    """Return the terms in the form with the numbers of both sides, whatever the loss, with ridge for the curvature; a
    logistic loss has one form.
    """
    if isinstance(terms, LogisticTerms):
        return make_points(terms, np.zeros(len(terms.target)))
    sides = _above(terms), _below(terms)
    return Points(_fill_rows(np.empty((len(terms.target), 9)), terms, sides, 0.0), (5,))


def _fill_rows(rows: np.ndarray, terms: Terms, sides: Iterable[tuple], sq: np.ndarray | float) -> np.ndarray:
    """Write the numbers of each sample, for the given sides, to rows; return them."""
    rows[:, 0] = terms.target
    for k, (ridge, *rest) in zip((1, 5), sides, strict=False):
        rows[:, k], rows[:, k + 1] = ridge, 1.0 / np.maximum(sq + ridge, TINY)
        for column, values in enumerate(rest, k + 2):
            rows[:, column] = values
    return rows


@njit(cache=True, error_model="numpy")
def find_side(rows, below, i, held, e):
    """Return the side on which the weight `held` of sample i lies, or its residual e while the weight is 0."""
    return _side(rows, below, i, (e if held == 0.0 else held) > 0.0)


@njit(cache=True, error_model="numpy")
def opposite_side(rows, below, i, side):
    """Return the other side of sample i, whose weight may have two signs."""
    return _side(rows, below, i, side.sign < 0.0)


def _side(rows, below, i, up):
    """Return a side of sample i, whose weight may have two signs, without a branch, since it would not be predictable.
    With one sign there is one side.
    """
    k = np.uintp(1 if up or len(below) == 0 else 5)  # `len` is known when this is compiled
    return Side(1.0 if up else -1.0, rows[i, k], rows[i, k + 1], rows[i, k + 2], rows[i, k + 3])


def _only_side(rows, below, i, up):
    return Side(np.copysign(1.0, rows[i, 3]), rows[i, 1], rows[i, 2], abs(rows[i, 3]), 0.0)


def _logistic_side(rows, below, i, up):
    return LogisticSide(np.copysign(1.0, rows[i, 3]), abs(rows[i, 3]), 0.0)


@overload(_side, jit_options=OPTIONS)
def _select_side(rows, below, i, up):
    if not isinstance(below, types.BaseTuple):
        return _only_side
    return _logistic_side if is_logistic_kind(below) else _side


def is_logistic_kind(below: Any) -> bool:
    """Return whether the type of `Points.below` is that of logistic losses."""
    return isinstance(below, types.UniTuple) and isinstance(below.dtype, types.Boolean)


@njit(cache=True, error_model="numpy")
def side_toward(rows, below, i, e):
    """Return the side of sample i toward e, without a branch: for unpredictable signs."""
    return _side(rows, below, i, e > 0.0)


def loss_beyond(slack, side):
    """Return the loss on a side at a slack of any sign, which is the residual beyond the kink."""
    beyond = max(slack, 0.0)
    if side.ridge == 0.0:
        return side.bound * beyond
    most = side.ridge * side.bound
    return 0.5 * beyond * beyond / side.ridge if beyond <= most else side.bound * (beyond - 0.5 * most)


def excess_of(slack, held, side):
    """Return loss - held slack + phi(held) >= 0, a sample's part of P - D, for the size `held` of its weight."""
    if side.ridge == 0.0:
        return side.bound * max(slack, 0.0) - held * slack
    beyond, most = min(slack, 0.0), side.ridge * side.bound
    if slack > most:
        return (side.bound - held) * (slack - most + 0.5 * side.ridge * (side.bound - held))
    return 0.5 * (side.ridge * held - slack + beyond) ** 2 / side.ridge - held * beyond


def weight_beyond(slack, side):
    """Return the size of the dual weight that a slack suggests, which is the derivative of the loss on its side."""
    beyond = max(slack, 0.0)
    if side.ridge > 0.0:
        return min(beyond / side.ridge, side.bound)
    return side.bound if beyond > 0.0 else 0.0


def curvature_of(held, side):
    """Return the second derivative of the loss on a side where `weight_beyond` is `held`; 0 where that jumps."""
    return 1.0 / side.ridge if 0.0 < held < side.bound and side.ridge > 0.0 else 0.0


def jumps_at(side):
    """Return whether the derivative of the loss jumps on a side."""
    return side.ridge == 0.0 and side.bound > 0.0


def twice_phi(held, side):
    """Return 2 phi, without the kink, of a weight of the size `held`."""
    return side.ridge * held * held


def slope_of(held, side):
    """Return the derivative of phi, without the kink, at a weight of the size `held`; infinite at an entropy's ends."""
    return side.ridge * held


def phi_and_slope(held, side):
    """Return `twice_phi` and `slope_of` of a weight, of an entropy from the same logarithms."""
    return twice_phi(held, side), slope_of(held, side)


def log_odds(below, up, down):
    """Return how far the best bias for decisions of 0 may lie beyond the targets if the bounds of both signs have the
    sums `up` and `down`: for logistic losses, the logarithm of their ratio.
    """
    return 0.0


def least_rate(below, size, stride):
    """Return the least rate to assume for a sum of slopes of absolute sum `size` while no interval brackets its zero,
    so that Newton's step is at most `stride`. Logistic losses need it, since their slopes flatten out and steps would
    be far too long; piecewise linear slopes do not.
    """
    return 0.0


def _logistic_loss(slack, side):
    return side.bound * softplus(slack, math.exp(-abs(slack)))


def _logistic_excess(slack, held, side):
    return max(loss_beyond(slack, side) - held * slack + 0.5 * twice_phi(held, side), 0.0)


def _logistic_weight(slack, side):
    return side.bound * sigmoid(slack, math.exp(-abs(slack)))


def _logistic_curvature(held, side):
    return held * (side.bound - held) / side.bound if side.bound > 0.0 else 0.0


def _twice_entropy(held, side):
    less = min(held, side.bound - held)
    if less <= 0.0:
        return 0.0
    share = less / side.bound
    return 2.0 * (less * math.log(share) + (side.bound - less) * math.log1p(-share))


def _never_jumps(side):
    return False


def _logistic_slope(held, side):
    return math.log(held / (side.bound - held))


def _entropy_and_slope(held, side):
    rest = side.bound - held
    less = min(held, rest)
    if less <= 0.0:
        return 0.0, -np.inf if held <= 0.0 else np.inf
    of_less, of_more = math.log(less / side.bound), math.log1p(-less / side.bound)
    slope = of_less - of_more if held <= rest else of_more - of_less
    return 2.0 * (less * of_less + (side.bound - less) * of_more), slope


def _logistic_odds(below, up, down):
    return abs(math.log(up / down))


def _logistic_rate(below, size, stride):
    return size / stride


def _is_logistic(side: Any) -> bool:
    return side.instance_class is LogisticSide


@overload(loss_beyond, jit_options=OPTIONS)
def _select_loss(slack, side):
    return _logistic_loss if _is_logistic(side) else loss_beyond


@overload(excess_of, jit_options=OPTIONS)
def _select_excess(slack, held, side):
    return _logistic_excess if _is_logistic(side) else excess_of


@overload(weight_beyond, jit_options=OPTIONS)
def _select_weight(slack, side):
    return _logistic_weight if _is_logistic(side) else weight_beyond


@overload(curvature_of, jit_options=OPTIONS)
def _select_curvature(held, side):
    return _logistic_curvature if _is_logistic(side) else curvature_of


@overload(jumps_at, jit_options=OPTIONS)
def _select_jumps(side):
    return _never_jumps if _is_logistic(side) else jumps_at


@overload(twice_phi, jit_options=OPTIONS)
def _select_phi(held, side):
    return _twice_entropy if _is_logistic(side) else twice_phi


@overload(slope_of, jit_options=OPTIONS)
def _select_slope(held, side):
    return _logistic_slope if _is_logistic(side) else slope_of


@overload(phi_and_slope, jit_options=OPTIONS)
def _select_both(held, side):
    return _entropy_and_slope if _is_logistic(side) else phi_and_slope


@overload(log_odds, jit_options=OPTIONS)
def _select_odds(below, up, down):
    return _logistic_odds if is_logistic_kind(below) else log_odds


@overload(least_rate, jit_options=OPTIONS)
def _select_rate(below, size, stride):
    return _logistic_rate if is_logistic_kind(below) else least_rate


@njit(cache=True, error_model="numpy")
def derivative(rows, below, i, e):
    """Return the derivative of the loss of sample i at the residual e: the dual weight that e suggests."""
    side = side_toward(rows, below, i, e)
    return side.sign * weight_beyond(side.sign * e - side.epsilon, side)


@njit(cache=True, error_model="numpy")
def total_loss(rows, below, h):
    """Return the sum of the losses of decision values h (m,); the first arguments are those of `Points`."""
    total = 0.0
    for i in range(h.size):
        total += one_loss(rows, below, i, rows[i, 0] - h[i])
    return total


@njit(cache=True, error_model="numpy")
def one_loss(rows, below, i, e):
    """Return the loss of sample i at the residual e."""
    side = side_toward(rows, below, i, e)
    return loss_beyond(side.sign * e - side.epsilon, side)


@njit(cache=True, error_model="numpy")
def fill_derivatives(rows, below, h, out):
    """Write the derivatives of the losses by their residuals, for decision values h (m,), to `out` (m,)."""
    for i in range(h.size):
        out[i] = derivative(rows, below, i, rows[i, 0] - h[i])


@njit(cache=True, nogil=True, error_model="numpy")
def sum_derivatives(rows, below, h, share, beta, curvature, first, last):
    """Write the first and second derivatives of the losses by their residuals at h to beta and `curvature`, all (m,),
    for the samples first to last - 1.

    Return sums over these samples: the losses and, without a `share`, what `dual_sums` returns of beta and how many of
    its entries are not 0. With a `share`, a loss in its linear part has this share of the curvature of the parabola
    through its minimum that touches it there, so that a column has a curvature wherever it has a slope.
    """
    loss, linear, ridged, support = 0.0, 0.0, 0.0, 0.0
    for i in range(first, last):
        e = rows[i, 0] - h[i]
        side = side_toward(rows, below, i, e)
        beyond = side.sign * e - side.epsilon
        size = weight_beyond(beyond, side)
        loss += loss_beyond(beyond, side)
        beta[i] = side.sign * size
        curvature[i] = curvature_of(size, side)
        if share is None:
            linear += (rows[i, 0] - side.sign * side.epsilon) * beta[i]
            ridged += twice_phi(size, side)
            support += size > 0.0
        elif curvature[i] == 0.0 and beyond > 0.0:
            curvature[i] = share * size / beyond
    return loss, linear, ridged, support


def _steepest(rows, below, i, e, off):
    """Return a bound on the size of the derivative of the loss of sample i at residuals within `off` of e."""
    return max(derivative(rows, below, i, e + off), -derivative(rows, below, i, e - off))


def _logistic_steepest(rows, below, i, e, off):
    side = side_toward(rows, below, i, e)  # a sigmoid grows by exp(off) at most, which is below 1 + 2 off here
    return weight_beyond(side.sign * e, side) * (1.0 + 2.0 * off) if off <= 1.0 else side.bound


@overload(_steepest, jit_options=OPTIONS)
def _select_steepest(rows, below, i, e, off):
    return _logistic_steepest if is_logistic_kind(below) else _steepest


@njit(cache=True, error_model="numpy")
def total_loss_error(rows, below, h, error, roundoff):
    """Return a bound on the error of `total_loss` for decision values h (m,) with errors of at most `error` (m,).

    A difference that is exact, such as 1 - 0 - 1, has no error: near an optimum of 0 that is what proves it.
    """
    carried, total = add_loss_errors(rows, below, h, error, roundoff, 0, 0.0, 0.0)
    return sum_loss_errors(h.size, roundoff, carried, total)


@njit(cache=True, error_model="numpy")
def add_loss_errors(rows, below, h, error, roundoff, first, carried, total):
    """Return two sums with the terms of the samples from `first` on added, whose values h have these errors (n,): the
    errors of the losses, and the losses.
    """
    for k in range(error.size):
        i = first + k
        e, of_e = exact_sum(rows[i, 0], -h[i])
        side = side_toward(rows, below, i, e)
        _, of_slack = exact_sum(side.sign * e, -side.epsilon)
        off = error[k]
        if off > 0.0 or of_e != 0.0 or of_slack != 0.0:
            off += 2.0 * roundoff * (abs(rows[i, 0]) + abs(h[i]) + side.epsilon)
        total += one_loss(rows, below, i, e)
        carried += off * _steepest(rows, below, i, e, off)
    return carried, total


@njit(cache=True, error_model="numpy")
def sum_loss_errors(m, roundoff, carried, total):
    """Return the bound of `total_loss_error` on m losses from the sums of `add_loss_errors`."""
    return carried + (m + 1) * (4.0 * roundoff * total + LEAST_ERROR if total > 0.0 else 0.0)


@njit(cache=True, error_model="numpy")
def dual_sums(rows, below, beta):
    """Return the part of D that is linear along beta (m,), target'beta less the kinks, and twice the rest of phi: sum
    ridge beta^2, or twice the entropies.
    """
    linear, ridged = 0.0, 0.0
    for i in range(beta.size):
        side = side_toward(rows, below, i, beta[i])
        linear += (rows[i, 0] - side.sign * side.epsilon) * beta[i]
        ridged += twice_phi(abs(beta[i]), side)
    return linear, ridged


@njit(cache=True, error_model="numpy")
def dual_growth(rows, below, beta):
    """Return what `dual_sums` does, and the derivative of D without the penalty along beta (m,)."""
    linear, ridged, growth = 0.0, 0.0, 0.0
    for i in range(beta.size):
        if beta[i] != 0.0:
            side, size = side_toward(rows, below, i, beta[i]), abs(beta[i])
            reward = (rows[i, 0] - side.sign * side.epsilon) * beta[i]
            twice, slope = phi_and_slope(size, side)
            linear += reward
            ridged += twice
            growth += reward - size * slope
    return linear, ridged, growth
