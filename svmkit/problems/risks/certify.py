"""P, D and bounds on their rounding errors for linear risks with the l2 penalty, in compiled sums over the samples."""

from __future__ import annotations

import math

import numpy as np

from svmkit.kernels.rounding import TINY, U
from svmkit.problems.bias import find_zero, select_bias
from svmkit.problems.risks.points import (
    Points,
    add_loss_errors,
    curvature_of,
    dual_sums,
    jumps_at,
    log_odds,
    side_toward,
    slope_of,
    sum_loss_errors,
    total_loss,
    twice_phi,
    weight_beyond,
)
from svmkit.problems.sums import exact_sum
from svmkit.runtime.compiling import njit
from svmkit.runtime.threads import spread

TILE, SAMPLE = 4096, 4.0  # samples that are summed together, and nanoseconds of one
ROUNDS, LEVEL = 60, 1e-14  # of the search for a bias, and the share of the sizes of its slopes that rounding may leave
ROUNDINGS = 8  # roundings of twice phi from its weight, at most: for an entropy


@njit(cache=True, nogil=True, error_model="numpy")
def sum_error(n, size):
    """Return `svmkit.problems.rounding.dot_error` of n products whose absolute values have the sum `size`."""
    return (n + 1) * (U * size + TINY) if size != 0.0 else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _square(w):
    """Return |w|^2, in a loop: numba's product of two arrays takes long to compile."""
    square = 0.0
    for k in range(w.size):
        square += w[k] * w[k]
    return square


@njit(cache=True, nogil=True, error_model="numpy")
def primal_error(rows, below, sq, w, h, of_bias, l2):
    """Return a bound on the rounding error of 1/2 l2 |w|^2 + the losses at h.

    Parameters
    ----------
    rows, below
        The `Points` of m samples.
    sq, w, h : ndarray of float64, shape (m,), (width,) and (m,)
        Squared norms of the samples, bias included, the weights and their decision values.
    of_bias : ndarray of float64, shape (m,) or (0,)
        Bounds on the errors of the residuals due to a free bias; of length 0 without one.
    l2 : float
        The share of 1/2 |w|^2 in P.
    """
    largest, square = 0.0, 0.0
    for k in range(w.size):
        largest = max(largest, abs(w[k]))
    for k in range(w.size):
        square += (w[k] / largest) ** 2 if largest > 0.0 else 0.0
    norm = largest * np.sqrt(square)  # |w|, also where |w|^2 overflows
    length = (w.size + 2) * U * norm
    of_square = sum_error(w.size, l2 * norm * norm) if l2 > 0.0 else 0.0
    error, carried, total = np.empty(min(h.size, TILE)), 0.0, 0.0
    for lo in range(0, h.size, TILE):
        n = min(h.size - lo, TILE)
        for i in range(n):
            off = of_bias[lo + i] if of_bias.size else 0.0
            error[i] = (length * np.sqrt(sq[lo + i]) + off) * (1.0 + 4.0 * U)
        carried, total = add_loss_errors(rows, below, h, error[:n], U, lo, carried, total)
    return of_square + sum_loss_errors(h.size, U, carried, total)


@njit(cache=True, nogil=True, error_model="numpy")
def dual_error(rows, below, sq, beta, v, of_image, length):
    """Return a bound on the rounding error of D.

    With a free bias, if the weights do not sum to 0, D moves by their sum times the bias of the optimum, where some
    residual is within the kinks from above and one from below.

    Parameters
    ----------
    rows, below
        The `Points` of m samples.
    sq, beta, v : ndarray of float64, shape (m,), (m,) and (width,)
        Squared norms of the samples, bias included, the dual weights and their `Penalty.image`, from scratch.
    of_image, length : float
        How much the image moves with an error of X'beta, and for a free bias a bound on |w| of the optimum; NaN
        otherwise.
    """
    m, pulls, rewards, bends, curves = beta.size, 0.0, 0.0, 0.0, 0.0
    balance, total, farthest, widest, up, down = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(m):
        side = side_toward(rows, below, i, beta[i])
        size = abs(beta[i])
        pulls += size * np.sqrt(sq[i])
        rewards += size * abs(rows[i, 0])
        bends += size * side.epsilon
        curves += abs(twice_phi(size, side))
        balance += beta[i]
        total += size
        other = side_toward(rows, below, i, -beta[i])
        farthest = max(farthest, abs(rows[i, 0]) + max(side.epsilon, other.epsilon))
        if side.sign > 0.0:
            up += side.bound
        else:
            down += side.bound
        widest = max(widest, sq[i])
    square = _square(v)
    of_v = of_image * sum_error(m, pulls)  # bounds the norm of the error
    sums = sum_error(m, rewards) + sum_error(m, bends) + sum_error(v.size, square)
    sums += sum_error(m + ROUNDINGS, curves)
    if length == length:
        largest = farthest + log_odds(below, up, down) + length * np.sqrt(widest)
        sums += (abs(balance) + sum_error(m, total)) * largest + U * rewards
    return np.sqrt(square) * of_v + of_v * of_v + sums


@njit(cache=True, nogil=True, error_model="numpy")
def certify(rows, below, sq, beta, w, h, of_bias, is_free):
    """Return P, D and bounds on their errors for dual weights beta (m,); h (m,) becomes the gradient of the dual.

    Parameters
    ----------
    rows, below, sq, beta, w, h, of_bias
        As for `primal_error` and `dual_error`, where w = v, without an entry of a free bias, has the decision values h.
    is_free : bool
        Whether the bias is free.
    """
    proven = prove(rows, below, sq, beta, w, w, h, of_bias, is_free)
    fill_gradient(rows, below, beta, h, 0.0, h)
    return proven


@njit(cache=True, nogil=True, error_model="numpy")
def fill_gradient(rows, below, beta, h, bias, gradient):
    """Fill the gradient (m,), which may be h, of the dual at beta (m,), whose decision values are h (m,) and a bias."""
    for i in range(h.size):
        side = side_toward(rows, below, i, beta[i])
        gradient[i] = side.sign * slope_of(abs(beta[i]), side) - (rows[i, 0] - (h[i] + bias))


@njit(cache=True, nogil=True, error_model="numpy")
def prove(rows, below, sq, beta, v, w, h, of_bias, is_free):
    """Return P of weights w (width,) with the decision values h (m,), D of dual weights beta (m,) with v (width,) =
    X'beta, both without an entry of a free bias, and bounds on their errors.

    Parameters
    ----------
    rows, below, sq, beta, v, w, h, of_bias
        As for `primal_error` and `dual_error`.
    is_free : bool
        Whether the bias is free.
    """
    primal = 0.5 * _square(w) + total_loss(rows, below, h)
    linear, ridged = dual_sums(rows, below, beta)
    of_primal = primal_error(rows, below, sq, w, h, of_bias, 1.0)
    of_dual = dual_error(rows, below, sq, beta, v, 1.0, np.sqrt(2.0 * max(primal, 0.0)) if is_free else np.nan)
    return primal, linear - 0.5 * (_square(v) + ridged), of_primal, of_dual


def smooth_bias(points: Points, h: np.ndarray) -> float:
    """Return the best bias for decision values h (m,) by Newton's method within an interval, on all threads; NaN if it
    is not found or not unique, or if a loss without a ridge takes part, so that slopes jump.
    """
    sums = np.empty((-(-h.size // TILE), 4))
    low, high, b = -np.inf, np.inf, 0.0
    for _ in range(ROUNDS):
        spread(_sum_slopes, len(sums), SAMPLE * TILE, *points, h, b, sums)
        slope, rate, size, jumps = sums.sum(axis=0).tolist()
        if jumps or not rate > 0.0:
            return math.nan
        if abs(slope) <= LEVEL * size:
            return b
        low, high = (b, high) if slope > 0.0 else (low, b)
        after = b + slope / rate
        if not low < after < high:
            after = 0.5 * (low + high)
        if after in (b, low, high) or not math.isfinite(after):
            return b if math.isfinite(after) else math.nan
        b = after
    return math.nan


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz", "reassoc"})
def _sum_slopes(first, last, rows, below, h, b, sums):
    """Sum over tiles of samples the slopes of the losses at a bias, their derivatives, their sizes, and the jumps."""
    for tile in range(first, last):
        slope, rate, total, jumps = 0.0, 0.0, 0.0, 0.0
        for i in range(tile * TILE, min(h.size, tile * TILE + TILE)):
            e = rows[i, 0] - h[i] - b
            side = side_toward(rows, below, i, e)
            size = weight_beyond(side.sign * e - side.epsilon, side)
            slope += side.sign * size
            rate += curvature_of(size, side)
            total += size
            jumps += jumps_at(side)
        sums[tile, 0], sums[tile, 1], sums[tile, 2], sums[tile, 3] = slope, rate, total, jumps


@njit(cache=True, nogil=True, error_model="numpy")
def best_bias(rows, h):
    """Return the best bias for decision values h (m,), as `svmkit.problems.bias.best_bias`, from two-sided terms
    (`make_two_sided`); NaN if it is not found, or if some losses jump and others bend.
    """
    ramps, n, jumps = np.empty((3, 2 * h.size)), 0, 0
    for i in range(h.size):
        for k in (1, 5):
            if rows[i, k + 2] > 0.0:
                sign = 1.0 if k == 1 else -1.0
                ramps[0, n] = rows[i, 0] - h[i] - sign * rows[i, k + 3]
                ramps[1, n] = sign / rows[i, k]
                ramps[2, n] = rows[i, k + 2]
                jumps += rows[i, k] == 0.0
                n += 1
    anchors, rates, bounds = ramps[0, :n], ramps[1, :n], ramps[2, :n]
    if jumps == 0:
        return find_zero(anchors, rates, bounds, 0.0)
    if jumps < n:
        return np.nan
    for k in range(n):
        rates[k] = np.copysign(1.0, rates[k])
    return select_bias(rates, anchors, bounds, 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def restrain(rows, beta, is_free):
    """Clip dual weights beta (m,) to the bounds of the two-sided terms, in place, and `balance` them if the bias is
    free.
    """
    for i in range(beta.size):
        beta[i] = min(max(beta[i], -rows[i, 7]), rows[i, 3])
    if is_free:
        balance(beta, beta)


@njit(cache=True, nogil=True, error_model="numpy")
def add_exactly(h, number, errors):
    """Add a number to h (m,) in place, and the sizes of the rounding errors of that to errors (m,)."""
    for i in range(h.size):
        h[i], error = exact_sum(h[i], number)
        errors[i] += abs(error)


@njit(cache=True, nogil=True, error_model="numpy")
def side_factors(beta):
    """Return the factors, one of which is 1, of dual weights beta (m,) above 0 and below at which all sum to 0."""
    up, down = 0.0, 0.0
    for i in range(beta.size):
        up += max(beta[i], 0.0)
        down -= min(beta[i], 0.0)
    least = min(up, down)
    return least / up if up > 0.0 else 1.0, least / down if down > 0.0 else 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def balance(beta, out):
    """Write dual weights beta (m,) to out (m,), which may be beta, and return it; weights of the sign with the larger
    sum shrink until all sum to 0.
    """
    of_up, of_down = side_factors(beta)
    return scale_sides(beta, of_up, of_down, out)


@njit(cache=True, nogil=True, error_model="numpy")
def scale_sides(beta, of_up, of_down, out):
    """Write dual weights beta (m,) times the factor of their sign to out (m,), which may be beta, and return it."""
    for i in range(beta.size):
        out[i] = beta[i] * (of_up if beta[i] > 0.0 else of_down)
    return out
