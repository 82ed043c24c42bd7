"""The compiled arithmetic of a kernel value: exp, conversions, and the scalar function on a tile of dot products.

numba's cache watches only the file of the calling loop: clear __pycache__ after an edit of this file.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import lower_builtin, overload, type_callable

from svmkit.kernels.forms import LAPLACIAN, LINEAR, POLY, RBF, SIGMOID
from svmkit.kernels.loops.vectors import widest
from svmkit.runtime.compiling import njit


def fast_exp(x):
    """Return exp(x) for x <= 0 in the precision of x, with a relative error below 2e-7 (float32) or 4e-16 (float64)."""
    return np.exp(x)


def _exp32(x):
    # Cody-Waite reduction and Cephes' degree-5 polynomial; plain arithmetic only, so that LLVM vectorises it. The power
    # of 2 is added to the exponent of the polynomial's value, which is large enough at the end of the range.
    x = max(x, np.float32(-87.0))
    t = x * np.float32(1.44269504088896341) + np.float32(12582912.0)  # its last bits are the nearest whole number
    k = t - np.float32(12582912.0)
    r = x - k * np.float32(0.693359375) + k * np.float32(2.12194440e-4)
    p = np.float32(1.9875691500e-4)
    p = p * r + np.float32(1.3981999507e-3)
    p = p * r + np.float32(8.3334519073e-3)
    p = p * r + np.float32(4.1665795894e-2)
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    p = p * r * r + r + np.float32(1.0)
    bits = np.float32(p).view(np.int32) + np.int32(np.float32(t).view(np.int32) << np.int32(23))
    return np.int32(bits).view(np.float32)


def _exp64(x):
    # the same with a Taylor polynomial of degree 13: |r| <= ln(2)/2 leaves 4e-18
    x = max(x, -708.0)
    t = x * 1.4426950408889634 + 6755399441055744.0
    k = t - 6755399441055744.0
    r = x - k * 6.93145751953125e-1 - k * 1.42860682030941723212e-6
    p = 1.6059043836821613e-10
    p = p * r + 2.08767569878681e-09
    p = p * r + 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 1.984126984126984e-04
    p = p * r + 1.388888888888889e-03
    p = p * r + 8.333333333333333e-03
    p = p * r + 4.1666666666666664e-02
    p = p * r + 1.6666666666666666e-01
    p = p * r + 0.5
    p = p * r * r + r + 1.0
    bits = np.float64(p).view(np.int64) + np.int64(np.float64(t).view(np.int64) << np.int64(52))
    return np.int64(bits).view(np.float64)


@overload(fast_exp, inline="always")
def _fast_exp(x):
    return _exp32 if x == types.float32 else _exp64


def as_type_of(x, like):
    """Return x in the array's dtype, since a float64 constant would turn a float32 loop into a float64 loop."""
    return like.dtype.type(x)


# typed and lowered by hand: a conversion in the caller's own code, which takes no time to compile
@type_callable(as_type_of)
def _as_type_of(context):
    return lambda x, like: like.dtype if isinstance(like, types.Array) else None


@lower_builtin(as_type_of, types.Any, types.Array)
def _lower_as_type_of(context, builder, signature, args):
    return context.cast(builder, args[0], signature.args[0], signature.return_type)


def cast_like(tile, like):
    """Return the tile in the array's dtype, without a copy if it has that dtype."""
    return tile if tile.dtype == like.dtype else tile.astype(like.dtype)


@overload(cast_like, inline="always")
def _cast_like_compiled(tile, like):
    if tile.dtype == like.dtype:
        return lambda tile, like: tile
    dtype = like.dtype
    return lambda tile, like: tile.astype(dtype)


@njit(inline="always")
def _power(base, degree):
    result = base
    for _ in range(degree - 1):
        result *= base
    return result


@njit(cache=True)
def epilogue(dots, sq_rows, sq_panel, form, gamma, coef0, degree, out):
    """Set out[a, b] to the kernel value of dots[a, b], as `evaluate` does; `out` may be `dots`."""
    if dots.ctypes.data != out.ctypes.data:
        for a in range(dots.shape[0]):
            for b in range(dots.shape[1]):
                out[a, b] = dots[a, b]
    evaluate(out, sq_rows, sq_panel, form, gamma, coef0, degree)


@njit(fastmath={"contract", "nsz", "arcp"}, cache=True, error_model="numpy")
def evaluate(dots, sq_rows, sq_panel, form, gamma, coef0, degree):
    """Set dots[a, b] to its kernel value, in its precision; rows on axis 0, panel on axis 1. With an array of their own
    for the values, LLVM would not use vectors where the two are the same.
    """
    widest()
    n, q = dots.shape
    zero, two = as_type_of(0.0, dots), as_type_of(2.0, dots)
    gamma, coef0 = as_type_of(gamma, dots), as_type_of(coef0, dots)
    for a in range(n):
        if form == RBF:
            sq_row = as_type_of(sq_rows[a], dots)
            for b in range(q):
                dots[a, b] = fast_exp(-gamma * max(zero, sq_row + as_type_of(sq_panel[b], dots) - two * dots[a, b]))
        elif form == LAPLACIAN:
            for b in range(q):
                dots[a, b] = fast_exp(-gamma * max(zero, dots[a, b]))
        elif form == POLY:
            for b in range(q):
                dots[a, b] = _power(gamma * dots[a, b] + coef0, degree)
        elif form == SIGMOID:
            for b in range(q):
                dots[a, b] = np.tanh(gamma * dots[a, b] + coef0)
        elif form != LINEAR:  # `tile_work` has raised: an error that could be raised here would slow the caller down
            for b in range(q):
                dots[a, b] = np.nan
