"""Passes over the rows of a linear problem that store nothing per row: sums for P, D, gradient and Hessian.

A row is read once for its decision value, its loss and the derivatives, and its terms of all sums, block by block, so
that a pass takes about as long as reading X. Sums are formed over parts of the rows that do not depend on the number of
threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from svmkit.problems.risks.design import Design, row_add, row_dot
from svmkit.problems.risks.points import (
    Points,
    Side,
    curvature_of,
    loss_beyond,
    one_loss,
    side_toward,
    twice_phi,
    weight_beyond,
)
from svmkit.runtime.compiling import njit
from svmkit.runtime.threads import spread

FEW = 40  # columns, the bias included, up to which these passes are faster than passes that keep decision values
BLOCK = 128  # rows whose values are kept for the Hessian: they stay in the cache
PARTS = 64  # of the rows, whose sums are added at the end
LEAST = 2048  # rows of a part
FAST = {"contract", "nsz", "reassoc"}
ENTRY, PRODUCT, SAMPLE = 0.5, 0.2, 8.0  # nanoseconds of an entry of X, of a product in the Hessian, and of a row beyond


NONE = np.empty(0)


class Curve(NamedTuple):
    """The smoothing of losses with kinks, as in `svmkit_newton.proximal`: the shares (m,) of a width of 1, the width,
    and the centre (m,).
    """

    shares: np.ndarray
    width: float
    centre: np.ndarray


class SideSums(NamedTuple):
    """Sums over the dual weights of one sign."""

    total: float  # of the weights
    linear: float  # target'beta less the kinks
    ridged: float  # of ridge beta^2, or twice the entropies
    image: np.ndarray  # float64 (width,): X'beta


class Look(NamedTuple):
    """The terms of some rows in P, D, gradient and Hessian at some weights."""

    loss: float  # the losses, smoothed where they have kinks
    exact: float  # the losses themselves
    support: int  # dual weights that are not 0
    up: SideSums
    down: SideSums
    curved: np.ndarray  # X'DX (width, width), of which the upper triangle counts, or nothing


def look(
    design: Design,
    points: Points,
    w: np.ndarray,
    curve: Curve | None = None,
    *,
    beta: np.ndarray = NONE,
    curvature: np.ndarray = NONE,
    is_curved: bool = True,
    behind: Callable[[int, int, np.ndarray], None] | None = None,
) -> Look:
    """Return the sums over all rows at weights (width,).

    Parameters
    ----------
    design, points, w : Design, Points, ndarray of shape (width,)
        X with its bias column, the terms of the losses without smoothing, and the weights.
    curve : Curve, default=None
        The smoothing of losses with kinks; None if there are none.
    beta, curvature : ndarray of float64, shape (m,), default=NONE
        Receive the first and second derivatives of the (smoothed) losses; the first ones are the dual weights.
    is_curved : bool, default=True
        Whether the Hessian is wanted.
    behind : callable, optional
        Called with the ends of each processed range of rows and their second derivatives, which are kept only for this
        call, while rows on disk are still in memory.
    """
    looks = []
    for lo, hi in design.windows():
        here = slice(lo, hi)
        rows = design.part(lo, hi), design.bias, w, points.rows[here], points.below, *_bent(curve, here)
        bent = curvature[here] if behind is None else np.empty(hi - lo)
        looks.append(_look_at(design, rows, beta[here], bent, is_curved))
        if behind is not None:
            behind(lo, hi, bent)
    return join(looks)


def _look_at(design: Design, rows: tuple, beta: np.ndarray, curvature: np.ndarray, is_curved: bool) -> Look:
    """Return the sums over some rows, given as `_look` takes them."""
    m, width = len(rows[3]), design.width
    n = _part_count(m, width)
    sums, images = np.zeros((n, 2, 5)), np.zeros((n, 2, width))
    hessians = np.zeros((n, width, width) if is_curved else (n, 0, 0))
    work = (3.0 * ENTRY * design.entries / design.m + SAMPLE + PRODUCT * is_curved * width**2) * m / n
    spread(_look, n, work, *rows, beta, curvature, sums, images, hessians)
    (*of_up, loss), (*of_down, exact) = sums.sum(axis=0).tolist()
    both = images.sum(axis=0)
    if width > design.d:
        both[:, -1] = design.bias * of_up[1], design.bias * of_down[1]
    up, down = SideSums(*of_up[1:], both[0]), SideSums(*of_down[1:], both[1])
    support = int(of_up[0] + of_down[0])
    return Look(loss, exact if rows[5] is not None else loss, support, up, down, hessians.sum(axis=0))


def join(looks: Sequence[Look]) -> Look:
    """Return the sums over all rows from the sums over one part or more."""
    if len(looks) == 1:
        return looks[0]
    loss, exact, support, ups, downs, curved = zip(*looks, strict=True)
    up, down = (SideSums(*map(sum, zip(*sides, strict=True))) for sides in (ups, downs))
    return Look(math.fsum(loss), math.fsum(exact), sum(support), up, down, sum(curved))


def slopes_along(
    design: Design, points: Points, w: np.ndarray, s: np.ndarray, steps: np.ndarray, curve: Curve | None = None
) -> np.ndarray:
    """Return the derivatives of the summed losses by the step along a direction s (width,), at w + some steps s.

    Parameters
    ----------
    design, points, w, s, steps, curve : Design, Points, ndarray, ndarray, ndarray, Curve or None
        As for `look`, with steps (k,).
    """
    total = np.zeros(len(steps))
    for lo, hi in design.windows():
        here, sums = slice(lo, hi), np.zeros((_part_count(hi - lo, design.width), len(steps)))
        work = (2.0 * ENTRY * design.entries / design.m + SAMPLE * len(steps)) * (hi - lo) / len(sums)
        given = design.part(lo, hi), design.bias, w, s, steps, points.rows[here], points.below, *_bent(curve, here)
        spread(_slopes, len(sums), work, *given, sums)
        total += sums.sum(axis=0)
    return total


def total_loss(design: Design, points: Points, w: np.ndarray) -> float:
    """Return the summed losses at weights (width,)."""
    total = []
    for lo, hi in design.windows():
        sums = np.zeros(_part_count(hi - lo, design.width))
        work = (ENTRY * design.entries / design.m + SAMPLE) * (hi - lo) / len(sums)
        given = design.part(lo, hi), design.bias, w, points.rows[lo:hi], points.below
        spread(_losses, len(sums), work, *given, sums)
        total.append(float(sums.sum()))
    return math.fsum(total)


def _part_count(m: int, width: int) -> int:
    return int(np.clip(m // min(LEAST, LEAST * FEW // width + 1), 1, PARTS))


def _bent(curve: Curve | None, here: slice) -> tuple[Any, float, Any]:
    return (None, 0.0, None) if curve is None else (curve.shares[here], curve.width, curve.centre[here])


def _put_row(X, i, a, block, k):
    """Write a x_i to column k of a block, in compiled code.

    Parameters
    ----------
    X, i, a : ndarray of shape (m, d) or CSR, int, float
        The samples, the number of one, and its factor.
    block, k : ndarray of shape (width, BLOCK), int
        The block, whose last row may be that of the bias, and the column.
    """
    raise TypeError("_put_row is for compiled code")


@overload(_put_row)
def _put(X, i, a, block, k):
    if isinstance(X, types.Array):

        def dense(X, i, a, block, k):
            """Do what `_put_row` does for dense rows.

            Parameters
            ----------
            X, i, a, block, k
                As for `_put_row`.
            """
            for c in range(X.shape[1]):
                block[c, k] = a * X[i, c]

        return dense

    def sparse(X, i, a, block, k):
        """Do what `_put_row` does for rows in CSR storage.

        Parameters
        ----------
        X, i, a, block, k
            As for `_put_row`.
        """
        for c in range(block.shape[0]):
            block[c, k] = 0.0
        for at in range(np.uintp(X.indptr[i]), np.uintp(X.indptr[i + np.uintp(1)])):
            block[np.uintp(X.indices[at]), k] = a * X.data[at]

    return sparse


@njit(error_model="numpy", inline="always")
def _bend(side, width, shares, i):
    if shares is None:
        return side
    return Side(side.sign, side.ridge + width * shares[i], side.inverse, side.bound, side.epsilon)


@njit(error_model="numpy", inline="always")
def _residual(rows, i, h, shares, width, centre):
    e = rows[i, 0] - h
    if shares is not None:
        e += width * shares[i] * centre[i]
    return e


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _look(first, last, X, bias, w, rows, below, shares, width, centre, beta, curvatures, sums, images, hessians):
    n, m, wide = sums.shape[0], rows.shape[0], hessians.shape[1]
    share = (m + n - 1) // n
    block = np.empty((wide, BLOCK))
    for p in range(first, last):
        loss, exact, H = 0.0, 0.0, hessians[p]
        for lo in range(p * share, min(m, p * share + share), BLOCK):
            kept = 0
            for k in range(lo, min(m, p * share + share, lo + BLOCK)):
                i = np.uintp(k)
                h = row_dot(X, i, w)
                if bias != 0.0:
                    h += bias * w[w.size - 1]
                e = _residual(rows, i, h, shares, width, centre)
                side = _bend(side_toward(rows, below, i, e), width, shares, i)
                beyond = side.sign * e - side.epsilon
                size = weight_beyond(beyond, side)
                curvature = curvature_of(size, side)
                loss += loss_beyond(beyond, side)
                if shares is not None:
                    exact += one_loss(rows, below, i, rows[i, 0] - h)
                b = side.sign * size
                if beta.size:
                    beta[i] = b
                if curvatures.size:
                    curvatures[i] = curvature
                if size > 0.0:
                    own, at = side_toward(rows, below, i, b), np.uintp(side.sign < 0.0)
                    of_side = sums[p, at]
                    of_side[0] += 1.0
                    of_side[1] += b
                    of_side[2] += (rows[i, 0] - own.sign * own.epsilon) * b
                    of_side[3] += twice_phi(size, own)
                    row_add(X, i, b, images[p, at])
                if wide and curvature > 0.0:
                    root = np.sqrt(curvature)
                    _put_row(X, i, root, block, kept)
                    if bias != 0.0:
                        block[wide - 1, kept] = bias * root
                    kept += 1
            _add_products(block, kept, H)
        sums[p, 0, 4], sums[p, 1, 4] = loss, exact


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _add_products(block, kept, H):
    """Add the products of all pairs of the first columns of the block (width, BLOCK) to the upper part of H, four rows
    with one at a time; below the diagonal there is more.
    """
    width = H.shape[0]
    whole = width // 4 * 4
    for b in range(width):
        for a in range(0, min(b + 1, whole), 4):
            one = two = three = four = 0.0
            for k in range(kept):
                value = block[b, k]
                one += value * block[a, k]
                two += value * block[a + 1, k]
                three += value * block[a + 2, k]
                four += value * block[a + 3, k]
            H[a, b] += one
            H[a + 1, b] += two
            H[a + 2, b] += three
            H[a + 3, b] += four
        for a in range(whole, b + 1):
            total = 0.0
            for k in range(kept):
                total += block[b, k] * block[a, k]
            H[a, b] += total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _slopes(first, last, X, bias, w, s, steps, rows, below, shares, width, centre, sums):
    n, m = sums.shape[0], rows.shape[0]
    share = (m + n - 1) // n
    for p in range(first, last):
        for k in range(p * share, min(m, p * share + share)):
            i = np.uintp(k)
            h, change = row_dot(X, i, w), row_dot(X, i, s)
            if bias != 0.0:
                h += bias * w[w.size - 1]
                change += bias * s[s.size - 1]
            begin = _residual(rows, i, h, shares, width, centre)
            for j in range(steps.size):
                e = begin - steps[j] * change
                side = _bend(side_toward(rows, below, i, e), width, shares, i)
                sums[p, j] -= side.sign * weight_beyond(side.sign * e - side.epsilon, side) * change


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _losses(first, last, X, bias, w, rows, below, sums):
    n, m = sums.size, rows.shape[0]
    share = (m + n - 1) // n
    for p in range(first, last):
        for k in range(p * share, min(m, p * share + share)):
            i = np.uintp(k)
            h = row_dot(X, i, w)
            if bias != 0.0:
                h += bias * w[w.size - 1]
            sums[p] += one_loss(rows, below, i, rows[i, 0] - h)
