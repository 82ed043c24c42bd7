"""The compiled loops on stored kernel rows: a look-up in a `RowTable`, columns of some rows, copies of segments."""

from __future__ import annotations

import numpy as np

from svmkit.kernels.loops.row_table import RowTable
from svmkit.runtime.compiling import njit


@njit(cache=True)
def in_order(slab, n, quantum):
    """Return a `RowTable` of the first n rows of `slab` in which no row is missing: row i is in slot i."""
    stamps, guessed = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    return RowTable(slab, np.arange(n), stamps, guessed, np.zeros(1, dtype=np.int64), np.zeros(1), quantum)


@njit(cache=True)
def find(table, i):
    """Return the slot of row i, or -1 if the row is not cached. The row counts as used now."""
    slot = table.slot_of[i]
    if slot >= 0:
        table.clock[0] += 1
        table.used[slot] = table.clock[0]
        if table.guessed[slot]:
            table.guessed[slot] = False
            table.uses[0] += 1.0
    return slot


@njit(cache=True)
def gather(memory, m, slots, among):
    """Copy the columns `among` of the rows in `slots` to the start of the memory, row after row; both ascending."""
    n = 0
    for slot in slots:
        for column in among:
            memory[n] = memory[slot * m + column]
            n += 1


@njit(cache=True)
def copy_segments(segments, slots, of, out, rows, first, at):
    """Set out[rows[b], first + j], or column at[j], to segments[slots[b], of[j]]; an empty `of` means all."""
    width = of.size if of.size else segments.shape[1]
    for b in range(rows.size):
        source, target = segments[slots[b]], out[rows[b]]
        if at.size:
            for j in range(width):
                target[at[j]] = source[of[j] if of.size else j]
        elif of.size:
            for j in range(width):
                target[first + j] = source[of[j]]
        else:
            target[first : first + width] = source
