"""The compiled loops of `svmkit.kernels.complete`: kernel rows of a class pair, computed when they are needed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload

from svmkit.kernels.arithmetic import epilogue

SQUARE = 32  # rows and columns that are copied together


class FromMatrix(NamedTuple):
    """The rows of a class pair as parts of the rows of a matrix.

    Attributes
    ----------
    K : ndarray of float64, shape (m, m)
        Kernel values of all samples, sorted by class.
    a, n_a, b, n_b : int
        The first sample of each of the two classes and their number.
    """

    K: np.ndarray
    a: int
    n_a: int
    b: int
    n_b: int


class FromDense(NamedTuple):
    """The rows of a class pair, computed from dense samples.

    Attributes
    ----------
    T : ndarray of float64, shape (d, m)
        The columns of X less the origin, samples sorted by class.
    sq : ndarray of float64, shape (m,)
        |x|^2 of each sample.
    diag : ndarray of float64, shape (m,)
        k(x, x) of each sample.
    form, gamma, coef0, degree
        As `Kernel.scalars`.
    a, n_a, b, n_b : int
        As for `FromMatrix`.
    """

    T: np.ndarray
    sq: np.ndarray
    diag: np.ndarray
    form: int
    gamma: float
    coef0: float
    degree: int
    a: int
    n_a: int
    b: int
    n_b: int


class Slab(NamedTuple):
    """The kernel rows of n samples, of which some are there.

    Attributes
    ----------
    rows : ndarray of float64, shape (n, n)
        The rows in the order in which they were computed.
    slot_of : ndarray of int64, shape (n,)
        Where each row is; -1 if it is not there.
    done : ndarray of int64, shape (2,)
        Number of rows that are there, and of kernel values that were computed for them.
    """

    rows: np.ndarray
    slot_of: np.ndarray
    done: np.ndarray


def _compute(source, i, out):
    """Write kernel row i of the class pair to out (n,), and return how many kernel values were computed."""
    raise NotImplementedError("compiled code only")


@overload(_compute, inline="never")
def _compute_compiled(source, i, out):
    if isinstance(source, types.BaseNamedTuple) and source.instance_class is FromMatrix:  # type: ignore[attr-defined]
        return _gathered
    return _computed


def _gathered(source, i, out):
    row = source.K[source.a + i if i < source.n_a else source.b + i - source.n_a]
    out[: source.n_a] = row[source.a : source.a + source.n_a]
    out[source.n_a :] = row[source.b : source.b + source.n_b]
    return 0


def _computed(source, i, out):
    at = source.a + i if i < source.n_a else source.b + i - source.n_a
    _segment(source, at, source.a, out[: source.n_a])
    _segment(source, at, source.b, out[source.n_a :])
    out[i] = source.diag[at]
    return out.size


@njit(cache=True)
def _segment(source, at, lo, out):
    """Write the kernel values of the sample `at` with the samples from lo on."""
    if out.size == 0:
        return
    line = np.zeros((1, out.size))
    _dots(source.T, at, lo, line[0])
    sq = source.sq
    epilogue(
        line, sq[at : at + 1], sq[lo : lo + out.size], source.form, source.gamma, source.coef0, source.degree, line
    )
    for j in range(out.size):
        out[j] = line[0, j]


@njit(fastmath={"contract", "nsz"}, cache=True)
def _dots(T, at, lo, out):
    """Add the products of the column `at` of T with the columns from lo on."""
    f, d = 0, T.shape[0]
    while f + 4 <= d:
        p, q, r, s = T[f, at], T[f + 1, at], T[f + 2, at], T[f + 3, at]
        a, b = T[f, lo : lo + out.size], T[f + 1, lo : lo + out.size]
        c, e = T[f + 2, lo : lo + out.size], T[f + 3, lo : lo + out.size]
        for j in range(out.size):
            out[j] = out[j] + p * a[j] + q * b[j] + r * c[j] + s * e[j]
        f += 4
    while f < d:
        p, a = T[f, at], T[f, lo : lo + out.size]
        for j in range(out.size):
            out[j] += p * a[j]
        f += 1


@njit(cache=True)
def kernel_row(source, slab, i):
    """Return kernel row i (n,), which is computed if it is not there."""
    slot = slab.slot_of[i]
    if slot < 0:
        slot = slab.done[0]
        slab.done[1] += _compute(source, i, slab.rows[slot])
        slab.slot_of[i] = slot
        slab.done[0] = slot + 1
    return slab.rows[slot]


@njit(nogil=True, cache=True)
def mirror(K, lo, hi):
    """Set the values below the rows lo to hi of a symmetric matrix from those to the right of them."""
    for top in range(hi, K.shape[0], SQUARE):
        last = min(K.shape[0], top + SQUARE)
        for left in range(lo, hi, SQUARE):
            end = min(hi, left + SQUARE)
            for i in range(top, last):
                for j in range(left, end):
                    K[i, j] = K[j, i]


@njit(nogil=True, cache=True)
def fill(source, slab, idx):
    """Compute those of the kernel rows `idx` that are not there."""
    for i in idx:
        kernel_row(source, slab, i)


@njit(nogil=True, cache=True)
def combine(source, slab, idx, coef, out):
    """Set out (n,) to the sum of the kernel rows `idx`, each times its coefficient, in this order."""
    out[:] = 0.0
    for p in range(idx.size):
        row, weight = kernel_row(source, slab, idx[p]), coef[p]
        for j in range(out.size):
            out[j] += weight * row[j]


def of_pair(source, where):
    """Return the same source for another class pair, whose `where` (4,) holds a, n_a, b, n_b."""
    raise NotImplementedError("compiled code only")


@overload(of_pair)
def _of_pair_compiled(source, where):
    if source.instance_class is FromMatrix:
        return lambda source, where: FromMatrix(source.K, where[0], where[1], where[2], where[3])

    def from_dense(source, where):
        form, gamma, coef0, degree = source.form, source.gamma, source.coef0, source.degree
        a, n_a, b, n_b = where[0], where[1], where[2], where[3]
        return FromDense(source.T, source.sq, source.diag, form, gamma, coef0, degree, a, n_a, b, n_b)

    return from_dense
