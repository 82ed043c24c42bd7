"""Bounds on rounding: how far a computed float64 kernel value can be from the exact one, and how large a value can be.

A sum of n products in float64, in any order and with fused operations or without, is off by at most about n u times the
sum of their absolute values (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). The bounds below add
up such terms through the formulas of `svmkit.kernels.loops.arithmetic`. They hold for all data; one that overflows is
inf.
"""

from __future__ import annotations

import math

import numpy as np

from svmkit.kernels.forms import Form
from svmkit.kernels.functions import Kernel

U = 2.0**-53  # unit roundoff of float64
TINY = 2.0**-1074  # what underflow can cost a product
EXP = 5 * U  # relative error of exp(-gamma t) with the rounding of gamma t, where t has none
TANH = 8 * U
MEMO = 10 * U  # relative difference of coefficients that `Gram.matvec` takes for equal


def value_error(kernel: Kernel, n: int, reach: float, l1: float | None = None) -> float:
    """Return a bound on |computed - exact| for float64 values of a kernel that has a `Form`.

    Parameters
    ----------
    kernel : Kernel
        The kernel, resolved.
    n : int
        The largest number of entries of a vector that take part in its sums: d if dense, the stored ones if sparse.
    reach : float
        Largest |x|^2 of the vectors, as computed in float64.
    l1 : float, optional
        Largest |x|_1 of the vectors, for a Laplacian kernel whose distances are summed up from |z|_1; by default its
        distances are sums of |x - z|, whose error is relative to the distance.

    Returns
    -------
    float
        The bound, which may be inf.
    """
    form, gamma, _, degree = kernel.scalars
    reach = _above(n, reach)
    dots = (n + 1) * U * reach + n * TINY
    if form == Form.LINEAR:
        return dots
    if form == Form.RBF:  # the errors of 2 x.z and of two norms, two roundings of their sum, four of x less an origin
        return min(1.0, gamma * (2 * (2 * n + 8) * U * reach + 4 * n * TINY) + EXP)
    if form == Form.LAPLACIAN:
        return (
            difference_error(kernel, n) if l1 is None else min(1.0, gamma * (4 * (2 * n + 4) * U * l1 + n * TINY) + EXP)
        )
    base = _base(kernel, reach)
    shift = gamma * dots + 2 * U * base
    if form == Form.SIGMOID:
        return min(2.0, shift + TANH)
    with np.errstate(all="ignore"):
        high = np.float64(base + shift)
        error = degree * high ** (degree - 1) * shift + degree * (U * high**degree + TINY)
    return math.inf if np.isnan(error) else float(error)


def difference_error(kernel: Kernel, n: int) -> float:
    """Return the bound of `value_error` for a kernel of x - z whose distances are sums over n differences.

    A distance t is off by at most (n + 3) u t, wherever the data lie, and t exp(-t) <= 1/e.
    """
    off = (n + 3) * U
    return min(1.0, off / (math.e * (1.0 - off)) + kernel.scalars[1] * n * TINY + EXP)


def largest_value(kernel: Kernel, n: int, reach: float) -> float:
    """Return a bound on |k(x, z)| for a kernel that has a `Form`, given as for `value_error`; it may be inf."""
    form, _, _, degree = kernel.scalars
    reach = _above(n, reach)
    if form == Form.LINEAR:
        return reach
    if form == Form.POLY:
        with np.errstate(all="ignore"):
            return float(np.float64(_base(kernel, reach)) ** degree * (1.0 + 4 * U) + TINY)
    return 1.0


def _above(n: int, reach: float) -> float:
    """Return a bound on the exact |x|^2 that was computed as `reach`; it also covers the products of two roundings."""
    return reach * (1.0 + 4 * (n + 4) * U) + n * TINY


def _base(kernel: Kernel, reach: float) -> float:
    """Return a bound on |gamma x.z + coef0|."""
    _, gamma, coef0, _ = kernel.scalars
    return (gamma * reach + abs(coef0)) * (1.0 + 4 * U) + TINY


def product_error(value: float, largest: float, panel: int, n: int, size: float) -> float:
    """Return a bound on the error of a sum of n products of a kernel value and a coefficient.

    Parameters
    ----------
    value : float
        A bound on the error of a kernel value.
    largest : float
        A bound on the absolute value of a kernel value.
    panel : int
        Number of products that are summed together before their sum is added to the sums of the panels before.
    n : int
        Number of products.
    size : float
        Sum of the absolute values of the coefficients.

    Returns
    -------
    float
        The bound, which may be inf; 0.0 if all coefficients are zero. It covers coefficients that `Gram.matvec` takes
        for equal to those of its last product.
    """
    if size == 0.0:
        return 0.0
    steps = panel + -(-n // panel)
    of_sum = ((n if n < steps else steps) + 4) * U + MEMO  # relative to the sum of the absolute values
    return (value + of_sum * (largest + value)) * size + n * TINY
