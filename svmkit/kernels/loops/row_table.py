"""The cached kernel rows in the form that compiled loops take."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class RowTable(NamedTuple):
    """The cached kernel rows in the form that compiled loops take. `row_loops.find` looks a row up."""

    slab: np.ndarray  # (slots, width): a row in each slot
    slot_of: np.ndarray  # (n_rows,): the slot of each row, -1 for one that is not cached
    used: np.ndarray  # (slots,): the time at which a slot was last used, by the clock
    guessed: np.ndarray  # (slots,): whether a row was computed on a guess and has not been requested yet
    clock: np.ndarray  # (1,): counts uses
    uses: np.ndarray  # (1,): how many guessed rows were requested later; older ones count less
    quantum: float  # the kernel value that an entry of 1 of a slab of integers stands for; 0.0 if it holds the values
