"""Where the vectors of a kernel lie: how far from the origin, and which origin is best.

|x|^2 + |z|^2 - 2 x.z is off by a multiple of |x|^2, however close x and z are to each other. Data far from the origin
(timestamps, metres on a map) therefore get another origin, their mean, which changes no value of a kernel of x - z.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError
from svmkit.kernels.forms import Argument
from svmkit.kernels.functions import Kernel
from svmkit.kernels.loops.norms import CHUNK, square_norms
from svmkit.runtime.mapping import examination_of, examine

FAR = 16.0  # gamma |x|^2 above which float32 dot products would make kernel values wrong by more than about 1e-5
FARTHEST = 128.0  # the same for values that are only summed: errors of up to 5e-4 of a value, mostly 1e-5
WORTH = 4.0  # how many times smaller the mean has to make |x|^2: the origin is subtracted from each tile of rows
NOWHERE = np.empty(0)  # the origin of most data, 0
SMALLEST, LARGEST = 1e-30, 1e30  # numbers beyond them may leave the range of float32
SLOWEST = 1e-290  # a smaller gamma could make a value > 0 of a squared distance that overflows


@dataclass(frozen=True, eq=False)
class Extent:
    """An origin (d,), empty for 0, and how far vectors lie from it: `reach` is the largest |x - origin|^2.

    `norms` are |x - origin|^2 of all rows of the measured X, if they are known.
    """

    origin: np.ndarray
    reach: float
    norms: np.ndarray | None = None

    @classmethod
    def measure(cls, kernel: Kernel, X, rows: np.ndarray | None = None) -> Extent:
        """Return the extent of rows of X, around their mean if X is dense and the kernel profits from it.

        Parameters
        ----------
        kernel : Kernel
            Resolved. One without a `Form` does not use the extent, and gets an empty one.
        X : ndarray or CSR of shape (n, d)
            The rows, not copied as a whole.
        rows : ndarray of int, default=None
            The rows of X that take part; None is all.
        """
        if kernel.form is None:
            return cls(NOWHERE, 0.0)
        if rows is not None:
            examine(X)
        if (unread := examination_of(X)) is not None:  # whose norms are bounded by their type until they are read
            return cls(NOWHERE, X.shape[1] * float(np.finfo(X.dtype).max) ** 2, unread.norms)
        n, step = X.shape[0] if rows is None else len(rows), max(1, CHUNK // max(X.shape[1], 1))

        def parts() -> Iterator[slice]:
            return (slice(lo, min(n, lo + step)) for lo in range(0, n, step))

        def extent_from(origin: np.ndarray) -> Extent:
            if rows is None or sp.issparse(X):
                norms = square_norms(X, origin)
                return cls(origin, float((norms if rows is None else norms[rows]).max(initial=0.0)), norms)
            return cls(origin, max(float(square_norms(X[rows[part]], origin).max()) for part in parts()))

        extent = extent_from(NOWHERE)
        moves = kernel.form.argument is Argument.SQUARE and not sp.issparse(X)
        if not moves or kernel.scalars.gamma * extent.reach <= FAR:
            return extent
        mean = np.zeros(X.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):
            for part in parts():
                mean += X[part if rows is None else rows[part]].sum(axis=0, dtype=np.float64) / n
        if not np.isfinite(mean).all():
            return extent
        around = extent_from(mean)
        return around if around.reach * WORTH < extent.reach else extent

    def around_zero(self) -> Extent:
        """Return an extent of the same vectors with origin 0, for sparse rows, which only stay sparse there."""
        if not self.origin.size:
            return self
        farthest = math.sqrt(self.reach) + float(np.linalg.norm(self.origin))
        return Extent(NOWHERE, farthest * farthest)  # a power would raise OverflowError instead of being inf


def fits_float32_rows(largest: float) -> bool:
    """Return whether float32 can hold kernel values up to `largest` with as many digits as numbers near 1."""
    return SMALLEST <= largest <= LARGEST


def is_computable(kernel: Kernel, reach: float) -> bool:
    """Return whether float64 can hold the numbers that values of the kernel are computed from.

    Parameters
    ----------
    kernel : Kernel, resolved, with a `Form`
    reach : float, the largest |x|^2 of the vectors
    """
    assert kernel.form is not None
    _, gamma, coef0, _ = kernel.scalars
    if kernel.form.is_radial:
        return gamma >= SLOWEST or math.isfinite(4.0 * reach)
    return math.isfinite(reach) and math.isfinite(gamma * reach + coef0)


def require_computable(kernel: Kernel, reach: float) -> None:
    """Raise InputError unless `is_computable`."""
    if not is_computable(kernel, reach):
        raise InputError(
            f"float64 cannot hold the numbers that the {kernel.name} kernel is computed from: |x|^2 is up to "
            f"{reach:.3g}; scale the columns (scale=standard, or divide X)"
        )


def require_finite_values(kernel: Kernel, largest: float) -> None:
    """Raise InputError unless `largest`, a bound on |k(x, z)|, is finite."""
    if not math.isfinite(largest):
        raise InputError(
            f"values of the {kernel.name} kernel go beyond float64 on these data: scale the columns (scale=standard, "
            "or divide X)" + (kernel.form.advice if kernel.form is not None else "")
        )
