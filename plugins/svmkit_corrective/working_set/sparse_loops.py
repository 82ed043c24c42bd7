"""The compiled loops of `SparseSquare`: rows that keep only values above a threshold, for sums and for SMO."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import overload

from svmkit.runtime.compiling import njit
from svmkit.solver.smo.box import extremes
from svmkit.solver.smo.rows import OPTIONS, follow, is_kind, locate, release, row_at

PARTS = 16  # ranges of stored rows that are read side by side; a fixed number, so that threads change nothing


class SparseRows(NamedTuple):
    """Kernel rows of some of the m points, of which only large values are stored."""

    starts: np.ndarray  # int64 (n + 1,): where the entries of each row begin, and the end of the last row
    indices: np.ndarray  # int32 (room,): the points whose values are stored
    values: np.ndarray  # float32 (room,)
    slot_of: np.ndarray  # int32 (m,): the row of each point, -1 for points without one
    scratch: np.ndarray  # zeros (n,), into which SMO's loop has a row written, by slots, and cleared again


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


@overload(locate, jit_options=OPTIONS)
def _locate(rows, i):
    return (lambda rows, i: i) if is_kind(rows, SparseRows) else None


@overload(row_at, jit_options=OPTIONS)
def _row_at(rows, slot):
    if not is_kind(rows, SparseRows):
        return None

    def scatter(rows, slot):
        _add(rows, slot, 1.0, rows.scratch)
        return rows.scratch

    return scatter


@overload(release, jit_options=OPTIONS)
def _release(rows, slot):
    return (lambda rows, slot: _clear(rows, slot, rows.scratch)) if is_kind(rows, SparseRows) else None


@overload(follow, jit_options=OPTIONS)
def _follow(box, rows, a, b, t, kinks):
    if not is_kind(rows, SparseRows):
        return None

    def add(box, rows, a, b, t, kinks):
        """`follow` for `SparseRows`.

        Parameters
        ----------
        box, rows, a, b, t, kinks
            As for `follow`.
        """
        _add(rows, a, t, box.v)
        _add(rows, b, -t, box.v)
        return extremes(box.v, box.side, kinks)

    return add
