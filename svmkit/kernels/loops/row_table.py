"""The cached kernel rows in the form that compiled loops take."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class RowTable(NamedTuple):
    """The cached kernel rows in the form that compiled loops take. `row_loops.find` looks a row up.

    `slab` (slots, width) has a row in each slot, and `slot_of` (n_rows,) the slot of each row, -1 for one that is not
    cached. `used` (slots,) is the time at which a slot was last used, by the `clock` (1,), which counts uses; `guessed`
    (slots,) tells the rows that were computed on a guess and have not been asked for yet, and `uses` (1,) how many of
    them were asked for later, where older ones count less. If `slab` holds integers, `quantum` is the kernel value that
    an entry of 1 stands for; 0.0 if it holds the values themselves.
    """

    slab: np.ndarray
    slot_of: np.ndarray
    used: np.ndarray
    guessed: np.ndarray
    clock: np.ndarray
    uses: np.ndarray
    quantum: float
