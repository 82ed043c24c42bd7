"""Gram: the kernel values of one X on demand, never an m x m matrix; rows kept in an LRU cache of a stated size."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import numpy as np

from svmkit.engine import ALL, Engine, engine_for
from svmkit.errors import InputError
from svmkit.kernels import Kernel

WORTH = 0.15  # a batch of 32 sparse rows costs as much as four to six single ones; a use saves one
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def parse_bytes(size: str | int | float) -> int:
    """Bytes in `size`: a number of bytes, or text such as "200MB" or "1.5 GiB" (powers of 1024)."""
    text = str(size).strip().lower().removesuffix("ib").removesuffix("b").strip()
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS and text[-1:] else (text, "")
    try:
        value = float(number) * _UNITS[unit]
        if not 0 < value < float("inf"):
            raise ValueError
    except (ValueError, KeyError):
        raise InputError(f"memory={size!r} is not a size: write 200MB, 1GB or a number of bytes") from None
    return int(value)


class RowCache:
    """Rows of length m by index, least recently used first out, in one slab that is allocated once.

    `landing` (up to `batch`, m) is a part of the slab into which rows are computed together.
    """

    def __init__(self, m: int, budget: int, dtype, batch: int) -> None:
        width = m * np.dtype(dtype).itemsize
        # two rows are in use at a time; np.empty takes no memory before a slot is written
        rows = int(min(m + min(batch, m), max(5, budget // max(width, 1))))
        # an eighth at most: rows that are guessed must not push out those in use
        self.slots = rows - max(1, min(batch, rows // 8))
        self.slab = np.empty((rows, m), dtype)
        self.landing = self.slab[self.slots :]
        self._slot_of: OrderedDict[int, int] = OrderedDict()
        self._unused: set[int] = set()  # guessed rows that nobody has asked for yet
        self._guesses = self._uses = 100.0  # how many were guessed and used, lately
        self._declined = 0

    def get(self, i: int) -> np.ndarray | None:
        slot = self._slot_of.get(i)
        if slot is None:
            return None
        self._slot_of.move_to_end(i)
        if i in self._unused:
            self._unused.remove(i)
            self._uses += 1.0
        return self.slab[slot]

    def guess(self, likely: np.ndarray, i: int) -> list[int]:
        """Which of the `likely` rows to compute along with row i: a batch, or none while hardly any were of use."""
        room = len(self.landing) - 1
        if self._uses < WORTH * self._guesses:
            self._declined += 1
            if self._declined % 32:  # but look again from time to time
                return []
        rows = [r for r in likely.tolist() if r != i and r not in self._slot_of][:room]
        self._unused.update(rows)
        self._guesses, self._uses = 0.99 * self._guesses + len(rows), 0.99 * self._uses
        return rows

    def reserve(self, i: int) -> np.ndarray:
        """The slab row that will hold row i from now on; the caller fills it."""
        if len(self._slot_of) < self.slots:
            slot = len(self._slot_of)
        else:
            gone, slot = self._slot_of.popitem(last=False)
            self._unused.discard(gone)
        self._slot_of[i] = slot
        return self.slab[slot]


class Gram:
    """Kernel matrix of X (m, d), computed when asked for.

    Parameters
    ----------
    kernel : Kernel, resolved (no "scale" left in it)
    X : ndarray (m, d) or CSR, float32 or float64; neither copied to dense nor to float64
    memory : bytes or text; budget of the row cache, default 1 GB. At least five rows are kept.
    dtype : float32 or float64 rows; default float64 when all m x m of them fit a quarter of the budget, where
        precision costs nothing, else float32 (half the memory, twice the speed). Products are always float64.
    engine : what computes the values, default the one for this kernel and storage

    `kernel_values` counts every value computed; a row served from the cache counts nothing.
    """

    def __init__(
        self, kernel: Kernel, X, *, memory: str | int = "1GB", dtype=None, engine: Engine | None = None
    ) -> None:
        self.engine = engine or engine_for(kernel, X)
        self.kernel, self.m = kernel, self.engine.n
        self.budget = parse_bytes(memory)
        if dtype is None:
            dtype = np.float64 if 32 * self.m * self.m <= self.budget else np.float32
        self.dtype = np.dtype(dtype)
        self.diag = self.engine.diag()
        self.kernel_values = 0
        self._cache: RowCache | None = None
        self._product: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None  # idx, coef and the last of all rows

    def promote(self) -> bool:
        """Go over to float64 rows; False if they are float64 already. Cached rows are dropped."""
        if self.dtype == np.float64:
            return False
        self.dtype, self._cache = np.dtype(np.float64), None
        return True

    def row(self, i: int, likely: Callable[[], np.ndarray] | None = None) -> np.ndarray:
        """k(x_i, x_r) for all r: (m,) in `dtype`; valid until three further rows have been asked for.

        `likely` names rows that will probably be asked for next, likeliest first. Where the engine computes many
        rows for little more than the price of one, a miss brings them into the cache as well.
        """
        if self._cache is None:
            self._cache = RowCache(self.m, self.budget, self.dtype, self.engine.batch)
        row = self._cache.get(i)
        if row is None:
            row = self._miss(self._cache, i, likely)
        return row

    def _miss(self, cache: RowCache, i: int, likely: Callable[[], np.ndarray] | None) -> np.ndarray:
        wanted = [i]
        if likely is not None and len(cache.landing) > 1:
            wanted = [*cache.guess(likely(), i), i]
        idx = np.array(wanted)
        values = self.engine.block(self.engine.take(idx), cache.landing[: len(idx)])
        values[np.arange(len(idx)), idx] = self.diag[idx]
        self.kernel_values += values.size
        for r, row in zip(wanted, values, strict=True):
            kept = cache.reserve(r)
            kept[:] = row
        return kept

    def block(self, I: np.ndarray, J: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """k(x_i, x_j) for i in I, j in J: (len(I), len(J)), float64, or of `out`'s type and in it."""
        self.kernel_values += len(I) * len(J)
        values = np.empty((len(I), len(J))) if out is None else out
        if len(I) == 0 or len(J) == 0:
            return values
        self.engine.block(self.engine.take(I), values, J)
        for a, i in enumerate(I):  # row by row: all comparisons at once would take a quarter of the values' memory
            values[a, i == J] = self.diag[i]
        return values

    def matvec(self, coef: np.ndarray, idx: np.ndarray, at: np.ndarray = ALL) -> np.ndarray:
        """K[at, idx] @ coef in float64 for coef (len(idx),) or (len(idx), p); empty `at`: all m rows.

        Values are not stored; the last product of all rows is, for a solve that starts where another one was
        certified. Returns shape (len(at),) or (len(at), p).
        """
        if at.size == 0 and self._product is not None:
            known, weights, product = self._product
            if np.array_equal(idx, known) and coef.shape == weights.shape and _equal(coef, weights):
                return product.copy()
        rows = at.size or self.m
        self.kernel_values += rows * len(idx)
        if len(idx) == 0:
            return np.zeros((rows, *coef.shape[1:]))
        product = self.engine.product(self.engine.take(idx), coef.reshape(len(idx), -1), at)
        product = product.reshape(rows, *coef.shape[1:])
        if at.size == 0:
            self._product = idx.copy(), coef.copy(), product.copy()
        return product


def _equal(coef: np.ndarray, weights: np.ndarray) -> bool:
    """Whether the two differ by no more than the rounding of a sum of their products."""
    return bool((np.abs(coef - weights) <= 1e-15 * np.abs(weights)).all())
