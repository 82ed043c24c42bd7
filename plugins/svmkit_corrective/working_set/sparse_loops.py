"""The compiled loops of `SparseSquare`: rows that keep only values above a threshold, their products, and SMO steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit.runtime.compiling import njit
from svmkit.solver.smo.box import extremes, violation_of
from svmkit.solver.smo.steps import TAU, kinked_step, second_order, step

PARTS = 16  # ranges of stored rows that are read side by side; a fixed number, so that threads change nothing


class SparseRows(NamedTuple):
    """Kernel rows of some of the m points, of which only large values are stored.

    Attributes
    ----------
    starts : ndarray of int64, shape (n + 1,)
        Where the entries of each row begin, and where those of the last row end.
    indices : ndarray of int32, shape (room,)
        The points whose values are stored.
    values : ndarray of float32, shape (room,)
        The kernel values.
    slot_of : ndarray of int32, shape (m,)
        The row of each point, -1 for points without one.
    """

    starts: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    slot_of: np.ndarray


@njit(nogil=True, cache=True)
def count_large(first, last, block, least, counts):
    """Set counts[b] to the number of values of block[b] whose size exceeds `least`."""
    for b in range(first, last):
        n = 0
        for value in block[b]:
            n += abs(value) > least
        counts[b] = n


@njit(nogil=True, cache=True)
def pack_large(first, last, block, least, points, place, indices, values):
    """Write the values of block[b] whose size exceeds `least`, and their points, from place[b] on."""
    for b in range(first, last):
        n, row = place[b], block[b]
        for a in range(row.size):
            if abs(row[a]) > least:
                indices[n], values[n] = points[a], row[a]
                n += 1


@njit(inline="always")
def _part(rows, part):
    """Return the first and the last row of a part of the stored rows."""
    n = rows.starts.size - 1
    return part * n // PARTS, (part + 1) * n // PARTS


@njit(nogil=True, cache=True)
def count_turned(first, last, rows, rank_of, counts):
    """Set counts[t, r] to the number of entries at the point of rank r in part t of the rows."""
    for t in range(first, last):
        lo, hi = _part(rows, t)
        for p in range(rows.starts[lo], rows.starts[hi]):
            r = rank_of[np.uintp(rows.indices[p])]
            if r >= 0:
                counts[t, r] += 1


@njit(nogil=True, cache=True)
def pack_turned(first, last, rows, rank_of, idx, place):
    """Write the entries at the point of rank r in part t of the rows from place[t, r] on, as entries of its own row."""
    indices, values = rows.indices, rows.values
    for t in range(first, last):
        lo, hi = _part(rows, t)
        for s in range(lo, hi):
            for p in range(rows.starts[s], rows.starts[s + 1]):
                r = rank_of[np.uintp(indices[p])]
                if r >= 0:
                    n = place[t, r]
                    indices[n], values[n] = idx[s], values[p]
                    place[t, r] = n + 1


@njit(nogil=True, cache=True)
def add_rows(rows, slots, weights, out):
    """Add each of these rows times its weight to out (m,)."""
    for b in range(slots.size):
        for p in range(rows.starts[slots[b]], rows.starts[slots[b] + 1]):
            out[np.uintp(rows.indices[p])] += weights[b] * rows.values[p]


@njit(inline="always")
def _add(rows, i, t, out):
    """Add t times row i to out (n,), which has an entry for each slot."""
    for p in range(rows.starts[i], rows.starts[i + 1]):
        slot = rows.slot_of[np.uintp(rows.indices[p])]
        if slot >= 0:
            out[slot] += t * rows.values[p]


@njit(inline="always")
def _clear(rows, i, out):
    """Set out (n,) to 0 where row i has entries."""
    for p in range(rows.starts[i], rows.starts[i + 1]):
        slot = rows.slot_of[np.uintp(rows.indices[p])]
        if slot >= 0:
            out[slot] = 0.0


@njit(nogil=True, cache=True)
def take_sparse_steps(box, rows, i, k, second, most, target, kink=None):
    """Run SMO as `smo.steps.take_steps` does, with the same arguments and results, on `SparseRows`."""
    v, side, diag, ridge = box.v, box.side, box.diag, box.ridge
    steps, change, row = 0, 0.0, np.zeros(v.size)
    while steps < most and i >= 0 and k >= 0 and violation_of(v, side, i, k, kink) > target:
        _add(rows, i, 1.0, row)
        partner = second_order(v, side, diag, row, i, 1.0, TAU, kink) if second else k
        partner = partner if partner >= 0 else k
        k_ik = row[partner]
        _clear(rows, i, row)
        if kink is None:
            t, fell = step(box, i, partner, k_ik, TAU)
        else:
            t, fell = kinked_step(box, i, partner, k_ik, TAU, kink)
        steps += 1
        change += fell
        if t == 0.0 or t == np.inf:
            break
        _add(rows, i, t, v)
        _add(rows, partner, -t, v)
        v[i] += t * ridge[i]
        v[partner] -= t * ridge[partner]
        i, k = extremes(v, side, kink)
    return steps, i, k, change, -1
