"""The cached kernel rows in the form that compiled loops take."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class RowTable(NamedTuple):
    """The cached kernel rows in the form that compiled loops take. `row_loops.find` looks a row up.

    Attributes
    ----------
    slab : ndarray of shape (slots, width)
        The kernel rows, one in each slot.
    slot_of : ndarray of int64, shape (n_rows,)
        Slot of each kernel row, -1 if the row is not cached.
    used : ndarray of int64, shape (slots,)
        Time at which each slot was last used, by `clock`.
    guessed : ndarray of bool, shape (slots,)
        Whether the row in a slot was computed on a guess and has not been asked for yet.
    clock : ndarray of int64, shape (1,)
        Number of uses so far.
    uses : ndarray of float64, shape (1,)
        How many guessed rows were asked for later; older ones count less.
    grain : float
        The kernel value that an entry of 1 stands for, if `slab` holds integers; 0.0 if it holds the values themselves.
    """

    slab: np.ndarray
    slot_of: np.ndarray
    used: np.ndarray
    guessed: np.ndarray
    clock: np.ndarray
    uses: np.ndarray
    grain: float
