"""Sums over all samples of what the terms of a loss say of decision values and of dual weights, compiled."""

from __future__ import annotations

from svmkit.kernels.rounding import TINY
from svmkit.problems.risks.points import derivative, loss_beyond, side_toward
from svmkit.runtime.compiling import njit


@njit(cache=True, error_model="numpy")
def total_loss(rows, two_sided, h):
    """Return the sum of the losses of decision values h (m,); the first arguments are those of `Points`."""
    total = 0.0
    for i in range(h.size):
        total += one_loss(rows, two_sided, i, rows[i, 0] - h[i])
    return total


@njit(cache=True, error_model="numpy")
def one_loss(rows, two_sided, i, e):
    """Return the loss of sample i at the residual e."""
    side = side_toward(rows, two_sided, i, e)
    return loss_beyond(side.sign * e - side.kink, side)


@njit(cache=True, error_model="numpy")
def fill_derivatives(rows, two_sided, h, out):
    """Write the derivatives of the losses by their residuals, for decision values h (m,), to `out` (m,)."""
    for i in range(h.size):
        out[i] = derivative(rows, two_sided, i, rows[i, 0] - h[i])


@njit(cache=True, error_model="numpy")
def total_loss_error(rows, two_sided, h, error, roundoff):
    """Return a bound on the error of `total_loss` for decision values h (m,) with errors of at most `error` (m,)."""
    carried, total = 0.0, 0.0
    for i in range(h.size):
        e, kink = rows[i, 0] - h[i], side_toward(rows, two_sided, i, rows[i, 0] - h[i]).kink
        off = error[i] + 2.0 * roundoff * (abs(rows[i, 0]) + abs(h[i]) + kink)
        total += one_loss(rows, two_sided, i, e)
        carried += off * max(derivative(rows, two_sided, i, e + off), -derivative(rows, two_sided, i, e - off))
    return carried + (h.size + 1) * (4.0 * roundoff * total + TINY if total > 0.0 else 0.0)


@njit(cache=True, error_model="numpy")
def dual_sums(rows, two_sided, beta):
    """Return the part of D that grows along beta (m,) like a line, target'beta less the kinks, and sum ridge beta^2."""
    linear, ridged = 0.0, 0.0
    for i in range(beta.size):
        side = side_toward(rows, two_sided, i, beta[i])
        linear += (rows[i, 0] - side.sign * side.kink) * beta[i]
        ridged += side.ridge * beta[i] * beta[i]
    return linear, ridged
