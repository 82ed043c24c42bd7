"""The compiled loops of `svmkit.kernels.gram.complete`: kernel rows of a class pair, computed on demand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from svmkit.kernels.forms import LINEAR, POLY, RBF, SIGMOID
from svmkit.kernels.loops.arithmetic import _exp64
from svmkit.runtime.compiling import njit
from svmkit.runtime.threads import spread

exp64 = njit(inline="always")(_exp64)
SQUARE = 32  # rows and columns that are copied together
COPY = 2.0  # nanoseconds to copy a value


class FromMatrix(NamedTuple):
    """The rows of a class pair as parts of the rows of a matrix K (m, m) of all samples, sorted by class."""

    K: np.ndarray
    a: int  # the first sample of each of the two classes, and their number
    n_a: int
    b: int
    n_b: int


class FromDense(NamedTuple):
    """The rows of a class pair, computed from dense samples, sorted by class; a, n_a, b, n_b as in `FromMatrix`."""

    # (d' * m,): the columns of X less the origin one after the other, and columns of 0 that make d' a multiple of 8
    T: np.ndarray
    sq: np.ndarray  # (m,): |x|^2 and k(x, x) of each sample
    diag: np.ndarray
    form: int  # as in `Scalars`, with those below
    gamma: float
    coef0: float
    degree: int
    a: int
    n_a: int
    b: int
    n_b: int


class Slab(NamedTuple):
    """The kernel rows (n, n) of n samples in the order in which they were computed."""

    rows: np.ndarray
    slot_of: np.ndarray  # -1 for missing rows
    done: np.ndarray  # (2,): the number of rows in the slab, and of kernel values that were computed for them


def _compute(source, i, out):
    """Write kernel row i of the class pair to out (n,), and return how many kernel values were computed."""
    raise NotImplementedError("compiled code only")


# no reference to an array is counted, which would cost an atomic step each: `slab` keeps all of them
@overload(_compute, jit_options={"fastmath": {"contract", "nsz"}, "no_cfunc_wrapper": True, "_nrt": False})  # type: ignore[typeddict-unknown-key]
def _compute_compiled(source, i, out):
    if isinstance(source, types.BaseNamedTuple) and source.instance_class is FromMatrix:  # type: ignore[attr-defined]
        return _gather_row
    return _compute_row


def _gather_row(source, i, out):
    row = source.K[source.a + i if i < source.n_a else source.b + i - source.n_a]
    part, values = out[: source.n_a], row[source.a : source.a + source.n_a]
    for _ in range(2):
        for j in range(part.size):
            part[j] = values[j]
        part, values = out[source.n_a :], row[source.b : source.b + source.n_b]
    return 0


def _compute_row(source, i, out):
    at = source.a + i if i < source.n_a else source.b + i - source.n_a
    T, m, form, gamma, coef0 = source.T, source.sq.size, source.form, source.gamma, source.coef0
    lo, part = source.a, out[: source.n_a]
    for _ in range(2):
        n = part.size
        for j in range(n):
            part[j] = 0.0
        for f in range(0, T.size, 8 * m):  # so many at once since each sum is loaded and stored once for them
            f1, f2, f3, f4, f5, f6, f7 = f + m, f + 2 * m, f + 3 * m, f + 4 * m, f + 5 * m, f + 6 * m, f + 7 * m
            x0, x1, x2, x3, x4, x5, x6, x7 = (
                T[f + at],
                T[f1 + at],
                T[f2 + at],
                T[f3 + at],
                T[f4 + at],
                T[f5 + at],
                T[f6 + at],
                T[f7 + at],
            )
            z0, z1, z2 = T[f + lo : f + lo + n], T[f1 + lo : f1 + lo + n], T[f2 + lo : f2 + lo + n]
            z3, z4, z5 = T[f3 + lo : f3 + lo + n], T[f4 + lo : f4 + lo + n], T[f5 + lo : f5 + lo + n]
            z6, z7 = T[f6 + lo : f6 + lo + n], T[f7 + lo : f7 + lo + n]
            for j in range(n):
                total = part[j] + x0 * z0[j] + x1 * z1[j] + x2 * z2[j] + x3 * z3[j]
                part[j] = total + x4 * z4[j] + x5 * z5[j] + x6 * z6[j] + x7 * z7[j]
        if form == RBF:  # as `evaluate`, without its other precision and kernels
            sq_at, sq = source.sq[at], source.sq[lo : lo + n]
            for j in range(n):
                square = sq_at + sq[j] - 2.0 * part[j]
                part[j] = exp64(-gamma * (square if square > 0.0 else 0.0))
        elif form == POLY:
            for j in range(n):
                base = gamma * part[j] + coef0
                value = base
                for _ in range(source.degree - 1):
                    value *= base
                part[j] = value
        elif form == SIGMOID:
            for j in range(n):
                part[j] = np.tanh(gamma * part[j] + coef0)
        elif form != LINEAR:
            raise ValueError("an unknown form of kernel")
        lo, part = source.b, out[source.n_a :]
    out[i] = source.diag[at]
    return out.size


@njit(inline="always")
def kernel_row(source, slab, i):
    """Return kernel row i (n,), computed if it is missing."""
    slot = slab.slot_of[i]
    if slot < 0:
        slot = slab.done[0]
        slab.done[1] += _compute(source, i, slab.rows[slot])
        slab.slot_of[i] = slot
        slab.done[0] = slot + 1
    return slab.rows[slot]


def mirror(K, lo, hi):
    """Set the values below the rows lo to hi of a symmetric matrix from those to the right of them, on all threads.

    Threads matter even more if the memory is new: the first write to a page takes time.
    """
    spread(_mirror, -(-(len(K) - hi) // SQUARE), COPY * SQUARE * (hi - lo), K, lo, hi)


@njit(nogil=True, cache=True)
def _mirror(first, last, K, lo, hi):
    for top in range(hi + first * SQUARE, min(K.shape[0], hi + last * SQUARE), SQUARE):
        end_row = min(K.shape[0], top + SQUARE)
        for left in range(lo, hi, SQUARE):
            end = min(hi, left + SQUARE)
            for i in range(top, end_row):
                for j in range(left, end):
                    K[i, j] = K[j, i]


@njit(nogil=True, cache=True)
def fill(source, slab, idx):
    """Compute the missing ones of the kernel rows `idx`."""
    for i in idx:
        kernel_row(source, slab, i)


@njit(nogil=True, cache=True)
def combine(slab, idx, coef, out):
    """Set out (n,) to the sum of the kernel rows `idx`, which are there, each times its coefficient, in this order."""
    for j in range(out.size):
        out[j] = 0.0
    for p in range(idx.size):
        row, weight = slab.rows[slab.slot_of[idx[p]]], coef[p]
        for j in range(out.size):
            out[j] += weight * row[j]


def source_of_pair(source, where):
    """Return the same source for another class pair, whose `where` (4,) holds a, n_a, b, n_b."""
    raise NotImplementedError("compiled code only")


@overload(source_of_pair)
def _source_of_pair_compiled(source, where):
    if source.instance_class is FromMatrix:
        return lambda source, where: FromMatrix(source.K, where[0], where[1], where[2], where[3])

    def from_dense(source, where):
        form, gamma, coef0, degree = source.form, source.gamma, source.coef0, source.degree
        a, n_a, b, n_b = where[0], where[1], where[2], where[3]
        return FromDense(source.T, source.sq, source.diag, form, gamma, coef0, degree, a, n_a, b, n_b)

    return from_dense
