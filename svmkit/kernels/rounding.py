"""Bounds on rounding: how far a computed float64 kernel value can be from the exact one, and how large a value can be.

A sum of n products in float64, in any order and with fused operations or without, is off by at most about n u times the
sum of their absolute values (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). The bounds of each
`svmkit.kernels.forms.Form` add up such terms through its formula. They hold for all data; one that overflows is inf.
"""

from __future__ import annotations

from svmkit.kernels.forms import TINY, U
from svmkit.kernels.functions import Kernel

CANCELS = 1e-10  # error of a value above which it is computed from differences, which takes two to three times as long
MEMO = 10 * U  # relative difference of coefficients that `Gram.matvec` takes for equal


def value_error(kernel: Kernel, n: int, reach: float, l1: float | None = None) -> float:
    """Return a bound on |computed - exact| for float64 values of a kernel that has a `Form`; it may be inf. Distances
    are sums of |x - z|, whose error is relative to the distance, unless `l1` is given.

    Parameters
    ----------
    kernel : Kernel, resolved
    n : int, the most entries of a vector that take part in its sums: d if dense, the stored ones if sparse
    reach : float, the largest |x|^2 of the vectors, as computed in float64
    l1 : float, their largest |x|_1, for a Laplacian kernel whose distances are summed up from |z|_1
    """
    assert kernel.form is not None
    return kernel.form.error(kernel.scalars, n, _above(n, reach), l1)


def largest_value(kernel: Kernel, n: int, reach: float) -> float:
    """Return a bound on |k(x, z)| for a kernel that has a `Form`, given as for `value_error`; it may be inf."""
    assert kernel.form is not None
    return kernel.form.largest(kernel.scalars, _above(n, reach))


def _above(n: int, reach: float) -> float:
    """Return a bound on the exact |x|^2 that was computed as `reach`; it also covers the products of two roundings."""
    return reach * (1.0 + 4 * (n + 4) * U) + n * TINY


def product_error(value: float, largest: float, panel: int, n: int, size: float) -> float:
    """Return a bound on the error of a sum of n products of a kernel value and a coefficient; it may be inf. It covers
    coefficients that `Gram.matvec` takes for equal to those of its last product.

    Parameters
    ----------
    value, largest : float, bounds on the error and on the absolute value of a kernel value
    panel : int, how many products are summed before their sum is added to those of the panels before
    n : int, the number of all products
    size : float, the sum of the absolute values of the coefficients
    """
    if size == 0.0:
        return 0.0
    steps = panel + -(-n // panel)
    of_sum = ((n if n < steps else steps) + 4) * U + MEMO  # relative to the sum of the absolute values
    return (value + of_sum * (largest + value)) * size + n * TINY
