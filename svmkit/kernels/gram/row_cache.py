"""A cache of kernel rows within a byte budget, with LRU eviction; compiled loops can read it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.loops.row_table import RowTable

FEWEST = 5  # rows that are kept with any budget: two are in use at a time
MIB = 1 << 20
SPARE = 100 * MIB  # bytes by which these rows may exceed a small budget
WORTH = 0.25  # a batch of 32 sparse rows costs as much as four to seven single ones; a use saves one

Likely = Callable[[], np.ndarray]
"""Returns the indices of kernel rows that will probably be asked for next, likeliest first. Called on a cache miss."""
Compute = Callable[[np.ndarray, np.ndarray], None]
"""compute(idx, out) writes the kernel rows idx, shape (q,), to out, shape (q, width)."""


def has_room(m: int, budget: int, dtype) -> bool:
    """Return whether a budget in bytes has room for the fewest rows of m values that a cache keeps."""
    return FEWEST * m * np.dtype(dtype).itemsize <= max(budget, SPARE)


class RowCache:
    """A cache of kernel rows of length m in one slab, which is allocated once. The least recently used row is evicted
    first.

    The budget is in bytes; five rows are kept with any budget, and InputError is raised if these take more than 100 MB.
    `batch` rows are worth computing together: they are computed in `landing`, a part of the slab, before they move to
    their slots. `table` has the cached rows, and is replaced by `restrict` and `widen`; `slots` is the number of rows
    that fit.
    """

    def __init__(self, m: int, budget: int, dtype, batch: int) -> None:
        width = m * np.dtype(dtype).itemsize
        if not has_room(m, budget, dtype):
            raise InputError(
                f"memory of {budget / MIB:.0f} MB is too little for {m:,} samples: "
                f"give at least {math.ceil(FEWEST * width / MIB)}MB, which {FEWEST} kernel rows take"
            )
        # np.empty takes no memory before a slot is written
        rows = int(min(m + min(batch, m), max(FEWEST, budget // max(width, 1))))
        self._lay_out(np.empty(rows * m, dtype), m, batch)

    def _lay_out(self, memory: np.ndarray, m: int, batch: int) -> None:
        """Start with an empty cache of as many rows of length m as `memory` holds."""
        self._memory, self.m, self._batch = memory, m, batch
        rows = min(m + min(batch, m), len(memory) // max(m, 1))
        # an eighth at most: guessed rows must not displace rows that are in use
        self.slots = rows - max(1, min(batch, rows // 8))
        self.slab = memory[: rows * m].reshape(rows, m)
        self.landing = self.slab[self.slots :]
        slots = self.slots
        self.table = RowTable(
            slab=self.slab[:slots],
            slot_of=np.full(m, -1, dtype=np.int64),
            used=np.zeros(slots, dtype=np.int64),
            guessed=np.zeros(slots, dtype=np.bool_),
            clock=np.zeros(1, dtype=np.int64),
            uses=np.full(1, 100.0),
            quantum=0.0,
        )
        self._row_in = np.full(slots, -1, dtype=np.int64)
        self._filled = 0  # the slots below this one hold a row
        self._oldest: list[tuple[int, int]] = []  # (slot, when used), oldest last
        self._guesses = 100.0  # number of guessed rows; older guesses count less
        self._declined = 0

    def get(self, i: int) -> np.ndarray | None:
        """Return row i, or None if it is not cached. The row counts as used now."""
        slot = int(self.table.slot_of[i])
        if slot < 0:
            return None
        self._touch(slot)
        if self.table.guessed[slot]:
            self.table.guessed[slot] = False
            self.table.uses[0] += 1.0
        return self.slab[slot]

    def row(self, i: int, compute: Compute, likely: Likely | None = None) -> np.ndarray:
        """Return row i (m,), which is valid until three more rows have been requested.

        Parameters
        ----------
        i : int
        compute : Compute, what is called if the row is not cached
        likely : Likely, names rows that are computed along with row i if it is missing
        """
        row = self.get(i)
        if row is not None:
            return row
        guesses = self._guess(likely(), i) if likely is not None and len(self.landing) > 1 else []
        self._compute([*guesses, i], compute)
        self.table.guessed[self.table.slot_of[guesses]] = True
        return self.slab[self.table.slot_of[i]]

    def bring(self, idx: np.ndarray, compute: Compute) -> None:
        """Ensure that the distinct rows `idx`, at most half as many as there are slots, are cached, a batch at once."""
        missing = [i for i in idx.tolist() if self.get(i) is None]
        for lo in range(0, len(missing), len(self.landing)):
            self._compute(missing[lo : lo + len(self.landing)], compute)

    def _compute(self, wanted: list[int], compute: Compute) -> None:
        values = self.landing[: len(wanted)]
        compute(np.array(wanted), values)
        for i, row in zip(wanted, values, strict=True):
            self.reserve(i)[:] = row

    def _guess(self, likely: np.ndarray, i: int) -> list[int]:
        """Return which of the `likely` rows to compute along with row i: a batch, or none while guesses rarely help."""
        uses = self.table.uses
        if uses[0] < WORTH * self._guesses:
            self._declined += 1
            if self._declined % 32:  # but guess again from time to time
                return []
        likely = likely[(self.table.slot_of[likely] < 0) & (likely != i)]
        guesses = likely[: len(self.landing) - 1].tolist()
        self._guesses, uses[0] = 0.99 * self._guesses + len(guesses), 0.99 * uses[0]
        return guesses

    def reserve(self, i: int) -> np.ndarray:
        """Return the part of the slab that holds row i from now on, shape (m,). The caller fills it."""
        if self._filled < self.slots:
            slot = self._filled
            self._filled += 1
        else:
            slot = self._evict()
        self.table.slot_of[i], self._row_in[slot] = slot, i
        self._touch(slot)
        return self.slab[slot]

    def restrict(self, among: np.ndarray) -> None:
        """Restrict the matrix to rows and columns `among`, ascending, then numbered from 0, so that more rows fit."""
        from svmkit.kernels.loops.row_loops import gather

        slot_of, used = self.table.slot_of[among], self.table.used
        kept = np.flatnonzero(slot_of >= 0)
        kept = kept[np.argsort(slot_of[kept])]  # in memory order, so that no row is overwritten before it is read
        slots, clock = slot_of[kept], self.table.clock[0]
        gather(self._memory, self.m, slots, among)
        self._lay_out(self._memory, len(among), self._batch)
        n = self._filled = len(kept)
        self.table.slot_of[kept], self._row_in[:n] = np.arange(n), kept
        self.table.used[:n], self.table.clock[0] = used[slots], clock

    def widen(self, m: int) -> None:
        """Empty the cache and use its memory for rows of length m, which it has held before."""
        self._lay_out(self._memory, m, self._batch)

    def _touch(self, slot: int) -> None:
        self.table.clock[0] += 1
        self.table.used[slot] = self.table.clock[0]

    def _evict(self) -> int:
        """Empty the least recently used slot and return it. The oldest eighth is sorted at a time."""
        used = self.table.used
        while True:
            while self._oldest:
                slot, when = self._oldest.pop()
                if used[slot] == when:
                    self.table.slot_of[self._row_in[slot]] = -1
                    self.table.guessed[slot] = False
                    return slot
            share = max(1, self.slots // 8)
            oldest = np.argpartition(used, share - 1)[:share]
            oldest = oldest[np.argsort(-used[oldest])]
            self._oldest = list(zip(oldest.tolist(), used[oldest].tolist(), strict=True))
