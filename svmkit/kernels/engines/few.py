"""Kernel values of few dense rows by numpy, since the loops of `tiles` take seconds to compile before their first use.

Values are float64 and computed in the same steps as in `tiles`, so that the bounds of `rounding` hold for them. A
product of very few rows with very few vectors is computed without an engine, since creating one takes longer
(`product`).
"""

from __future__ import annotations

import numpy as np

from svmkit.kernels.extent import FAR, is_computable
from svmkit.kernels.forms import Argument, Form, Scalars, UnknownForm
from svmkit.kernels.functions import Kernel
from svmkit.kernels.loops.norms import square_norms
from svmkit.kernels.rounding import CANCELS, value_error

ROWS = 1024  # most rows of an engine that uses numpy: all of its values take 10 ms
ENTRIES = 1 << 20  # most numbers in these rows
PRODUCTS = 1 << 23  # most multiplications of a call, half a millisecond; compiled loops are faster beyond
WEIGHTS = 64  # most vectors of weights that are multiplied by any number of rows, as long as their ENTRIES are few
CHUNK = 12_000  # values of a pass, within 100 kB: larger arrays come from the system, page by page, and miss the cache
EXP = 64  # multiplications that take as long as the rest of a value
ALONE = 1 << 18, 1 << 13  # multiplications, and numbers in the factors, up to which BLAS uses no further thread


def values(rows: np.ndarray, sq_rows: np.ndarray, Z: np.ndarray, sq_z: np.ndarray, form: Form, scalars: Scalars):
    """Return k(rows[a], Z[b]) at [b, a], shape (q, n), for a kernel of x.z or of |x - z|^2.

    Parameters
    ----------
    rows, Z : ndarray of float64, shapes (n, d) and (q, d), the vectors less the engine's origin
    sq_rows, sq_z : ndarray of float64, shapes (n,) and (q,), their |x|^2
    form, scalars : Form, Scalars, those of the kernel

    Notes
    -----
    As in the compiled loops, values beyond the range of float64 become infinite or nan, and the caller looks for them:
    call it where numpy ignores floating-point errors.
    """
    is_square = form.argument is Argument.SQUARE
    dots = (-2.0 * Z if is_square else Z) @ rows.T  # twice a number is exact
    if is_square:
        dots += sq_z[:, None] + sq_rows
        np.maximum(dots, 0.0, out=dots)
    elif form.argument is not Argument.DOT:
        raise UnknownForm(form.argument)
    return form.apply(dots, scalars)


def has_product(kernel: Kernel, n: int, q: int, d: int, p: int) -> bool:
    """Return whether `product` takes so many rows and vectors.

    Parameters
    ----------
    kernel : Kernel, resolved
    n, q, d : int, the numbers of rows, of vectors and of their columns
    p : int, the number of coefficients of each vector
    """
    if kernel.form is None or kernel.form.argument is Argument.L1:
        return False
    (work, stored), wide = ALONE, d if d > p else p
    return 0 < n * q * max(wide, EXP) <= work and (n + q) * wide <= stored


def product(kernel: Kernel, X: np.ndarray, Z: np.ndarray, coef: np.ndarray) -> np.ndarray | None:
    """Return K(X, Z) @ coef, as an engine would; None where an engine would move the origin, take differences, or
    refuse the numbers, NaN and infinity among them.

    Parameters
    ----------
    kernel : Kernel, resolved
    X, Z : ndarray of float64, shapes (n, d) and (q, d), the rows and the vectors
    coef : ndarray of float64, shape (q, p), such that `has_product`
    """
    form, scalars = kernel.form, kernel.scalars
    assert form is not None
    with np.errstate(all="ignore"):
        sq_x, sq_z = square_norms(X), square_norms(Z)
        reach = float(np.maximum(np.maximum.reduce(sq_x), np.maximum.reduce(sq_z)))
        sound = is_computable(kernel, reach)
        if form.is_radial:
            near = scalars.gamma * reach <= FAR  # not of NaN
            sound = sound and near and value_error(kernel, X.shape[1], reach) <= CANCELS
        return values(X, sq_x, Z, sq_z, form, scalars).T @ coef if sound else None
