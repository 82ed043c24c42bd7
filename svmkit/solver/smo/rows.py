"""Kernel rows as the loop of SMO reads them: one function per operation, with a version for each kind of storage.

The functions here answer for a `svmkit.kernels.loops.row_table.RowTable`. Another kind of storage is a NamedTuple with
an `numba.extending.overload` of `locate` and of `row_at`; one whose rows are not stored whole has a field `scratch`,
into which `row_at` writes a row, and overloads of `release` and `follow`.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import overload

from svmkit.kernels.loops.row_loops import find
from svmkit.kernels.loops.row_table import RowTable
from svmkit.solver.smo.box import OPTIONS as OPTIONS
from svmkit.solver.smo.box import move

# no reference to an array is counted, which would cost an atomic step each: the arguments keep the arrays
UNCOUNTED: Any = {**OPTIONS, "_nrt": False}


def is_kind(rows: Any, kind: type) -> bool:
    """Return whether numba's type of some rows is this NamedTuple."""
    return isinstance(rows, types.BaseNamedTuple) and getattr(rows, "instance_class", None) is kind


def has_scratch(rows: Any) -> bool:
    """Return whether numba's type of some rows is one without whole stored rows."""
    return "scratch" in rows.fields


def quantum_of(rows):
    """Return the kernel value of an entry 1 in a row of integers; 0.0 for rows of kernel values."""
    return rows.quantum


@overload(quantum_of, jit_options=OPTIONS)
def _quantum_of(rows):
    return (lambda rows: rows.quantum) if is_kind(rows, RowTable) else lambda rows: 0.0


def locate(rows, i):
    """Return the slot of row i, or -1 if the row is missing."""
    return find(rows, i)


@overload(locate, jit_options=OPTIONS)
def _locate(rows, i):
    return (lambda rows, i: find(rows, i)) if is_kind(rows, RowTable) else None


def row_at(rows, slot):
    """Return the row in a slot as an array (n,), which may be shared by all rows until it is released."""
    return rows.slab[slot]


@overload(row_at, jit_options=OPTIONS)
def _row_at(rows, slot):
    return (lambda rows, slot: rows.slab[slot]) if is_kind(rows, RowTable) else None


def release(rows, slot):
    """Give back the array that `row_at` returned for the slot."""


@overload(release, jit_options=OPTIONS)
def _release(rows, slot):
    return None if has_scratch(rows) else lambda rows, slot: None


def follow(box, rows, a, b, t, kinks):
    """Add t (row in slot a - row in slot b) to v, and return the maximal violating pair.

    Parameters
    ----------
    box, rows, a, b, t, kinks
        As for `svmkit.solver.smo.steps.take_steps`, the slots, and the length of the step.
    """
    return move(box.v, box.side, row_at(rows, a), row_at(rows, b), t, kinks)


@overload(follow, jit_options=OPTIONS)
def _follow(box, rows, a, b, t, kinks):
    if has_scratch(rows) or is_kind(rows, RowTable):
        return None
    return lambda box, rows, a, b, t, kinks: move(box.v, box.side, row_at(rows, a), row_at(rows, b), t, kinks)


@overload(follow, jit_options=UNCOUNTED)
def _follow_in_table(box, rows, a, b, t, kinks):
    if not is_kind(rows, RowTable):
        return None
    return lambda box, rows, a, b, t, kinks: move(box.v, box.side, rows.slab[a], rows.slab[b], t, kinks)
