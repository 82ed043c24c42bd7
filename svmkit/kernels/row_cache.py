"""Rows of a matrix by index under a byte budget, least recently used out first, open to compiled loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

WORTH = 0.25  # a batch of 32 sparse rows costs as much as four to seven single ones; a use saves one

Likely = Callable[[], np.ndarray]
"""Names rows that will probably be asked for next, likeliest first; called when a row is missing."""
Compute = Callable[[np.ndarray, np.ndarray], None]
"""compute(idx (q,), out (q, width)): write the rows idx into out."""


class Rows(NamedTuple):
    """What is cached, as compiled loops take it: look rows up with `find`, never by hand.

    slab (slots, width) : the rows; slot_of : where row i is, -1 for nowhere; used : when a slot was, by the clock;
    guessed : slots that nobody has asked for yet; uses : how many of those were asked for after all, lately
    grain : of rows that hold whole numbers, what one is worth; 0 where they hold the values themselves
    """

    slab: np.ndarray
    slot_of: np.ndarray
    used: np.ndarray
    guessed: np.ndarray
    clock: np.ndarray
    uses: np.ndarray
    grain: float


@njit(cache=True)
def in_order(slab, n, grain):
    """The first n rows of a slab as `Rows` of which none is missing: row i is in slot i."""
    stamps, guessed = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    return Rows(slab, np.arange(n), stamps, guessed, np.zeros(1, dtype=np.int64), np.zeros(1), grain)


@njit(cache=True)
def find(rows, i):
    """Slot of row i, which counts as used now, or -1 when it is not cached."""
    slot = rows.slot_of[i]
    if slot >= 0:
        rows.clock[0] += 1
        rows.used[slot] = rows.clock[0]
        if rows.guessed[slot]:
            rows.guessed[slot] = False
            rows.uses[0] += 1.0
    return slot


class RowCache:
    """Rows of length m by index, least recently used first out, in one slab that is allocated once.

    `landing` (up to `batch`, m) is a part of the slab into which rows are computed together.

    Parameters
    ----------
    m : number of rows and length of each; budget : bytes, at least five rows are kept; dtype : of the rows
    batch : how many rows are worth computing together
    """

    def __init__(self, m: int, budget: int, dtype, batch: int) -> None:
        width = m * np.dtype(dtype).itemsize
        # two rows are in use at a time; np.empty takes no memory before a slot is written
        rows = int(min(m + min(batch, m), max(5, budget // max(width, 1))))
        self._lay_out(np.empty(rows * m, dtype), m, batch)

    def _lay_out(self, memory: np.ndarray, m: int, batch: int) -> None:
        """No row is cached; `memory` holds as many as it can."""
        self._memory, self.m, self._batch = memory, m, batch
        rows = min(m + min(batch, m), len(memory) // max(m, 1))
        # an eighth at most: rows that are guessed must not push out those in use
        self.slots = rows - max(1, min(batch, rows // 8))
        self.slab = memory[: rows * m].reshape(rows, m)
        self.landing = self.slab[self.slots :]
        slots = self.slots
        self.rows = Rows(
            slab=self.slab[:slots],
            slot_of=np.full(m, -1, dtype=np.int64),
            used=np.zeros(slots, dtype=np.int64),
            guessed=np.zeros(slots, dtype=np.bool_),
            clock=np.zeros(1, dtype=np.int64),
            uses=np.full(1, 100.0),
            grain=0.0,
        )
        self._row_in = np.full(slots, -1, dtype=np.int64)
        self._filled = 0  # slots below are taken
        self._oldest: list[tuple[int, int]] = []  # (slot, when used), oldest last
        self._guesses = 100.0  # how many were made, lately
        self._declined = 0

    def get(self, i: int) -> np.ndarray | None:
        """Row i, which counts as used now, or None when it is not cached."""
        slot = int(self.rows.slot_of[i])
        if slot < 0:
            return None
        self._touch(slot)
        if self.rows.guessed[slot]:
            self.rows.guessed[slot] = False
            self.rows.uses[0] += 1.0
        return self.slab[slot]

    def row(self, i: int, compute: Compute, likely: Likely | None = None) -> np.ndarray:
        """Row i, computed if need be, some of the likely ones along with it; valid until three more are asked for."""
        row = self.get(i)
        return self._bring(i, compute, likely) if row is None else row

    def _bring(self, i: int, compute: Compute, likely: Likely | None) -> np.ndarray:
        guesses = self._guess(likely(), i) if likely is not None and len(self.landing) > 1 else []
        self._compute([*guesses, i], compute)
        self.rows.guessed[self.rows.slot_of[guesses]] = True
        return self.slab[self.rows.slot_of[i]]

    def bring(self, idx: np.ndarray, compute: Compute) -> None:
        """See to it that the rows idx are cached: distinct ones, at most half as many as there are slots."""
        missing = [i for i in idx.tolist() if self.get(i) is None]
        for lo in range(0, len(missing), len(self.landing)):
            self._compute(missing[lo : lo + len(self.landing)], compute)

    def _compute(self, wanted: list[int], compute: Compute) -> None:
        values = self.landing[: len(wanted)]
        compute(np.array(wanted), values)
        for i, row in zip(wanted, values, strict=True):
            self.reserve(i)[:] = row

    def _guess(self, likely: np.ndarray, i: int) -> list[int]:
        """Which of the `likely` rows to compute along with row i: a batch, or none while hardly any were of use."""
        uses = self.rows.uses
        if uses[0] < WORTH * self._guesses:
            self._declined += 1
            if self._declined % 32:  # but look again from time to time
                return []
        likely = likely[(self.rows.slot_of[likely] < 0) & (likely != i)]
        found = likely[: len(self.landing) - 1].tolist()
        self._guesses, uses[0] = 0.99 * self._guesses + len(found), 0.99 * uses[0]
        return found

    def reserve(self, i: int) -> np.ndarray:
        """The slab row that will hold row i from now on; the caller fills it."""
        if self._filled < self.slots:
            slot = self._filled
            self._filled += 1
        else:
            slot = self._evict()
        self.rows.slot_of[i], self._row_in[slot] = slot, i
        self._touch(slot)
        return self.slab[slot]

    def restrict(self, among: np.ndarray) -> None:
        """Keep the rows and columns `among` (n,), ascending, from now on numbered from 0; more of them may fit."""
        slot_of, used = self.rows.slot_of[among], self.rows.used
        kept = np.flatnonzero(slot_of >= 0)
        kept = kept[np.argsort(slot_of[kept])]  # in the order of memory: none is overwritten before it is read
        slots, clock = slot_of[kept], self.rows.clock[0]
        _gather(self._memory, self.m, slots, among)
        self._lay_out(self._memory, len(among), self._batch)
        n = self._filled = len(kept)
        self.rows.slot_of[kept], self._row_in[:n] = np.arange(n), kept
        self.rows.used[:n], self.rows.clock[0] = used[slots], clock

    def widen(self, m: int) -> None:
        """Start anew with rows of length m in the same memory, which has held such rows before."""
        self._lay_out(self._memory, m, self._batch)

    def _touch(self, slot: int) -> None:
        self.rows.clock[0] += 1
        self.rows.used[slot] = self.rows.clock[0]

    def _evict(self) -> int:
        """Empty the slot that was used least recently. The oldest eighth is sorted at a time."""
        used = self.rows.used
        while True:
            while self._oldest:
                slot, when = self._oldest.pop()
                if used[slot] == when:
                    self.rows.slot_of[self._row_in[slot]] = -1
                    self.rows.guessed[slot] = False
                    return slot
            share = max(1, self.slots // 8)
            oldest = np.argpartition(used, share - 1)[:share]
            oldest = oldest[np.argsort(-used[oldest])]
            self._oldest = list(zip(oldest.tolist(), used[oldest].tolist(), strict=True))


@njit(cache=True)
def _gather(memory, m, slots, among):
    """The columns `among` of these rows of length m, one after another from the start of the memory; all ascending."""
    n = 0
    for slot in slots:
        for column in among:
            memory[n] = memory[slot * m + column]
            n += 1
