"""Gram: the kernel values of one X on demand, never an m x m matrix; rows kept in an LRU cache of a stated size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.engine import ALL, Engine, engine_for
from svmkit.kernels.functions import Kernel
from svmkit.kernels.row_cache import Likely, RowCache, RowTable

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

    def row(self, i: int, likely: Likely | None = None) -> np.ndarray:
        """k(x_i, x_r) for all r: (m,) in `dtype`; valid until three further rows have been asked for.

        `likely` names rows that will probably be asked for next, likeliest first. Where the engine computes many
        rows for little more than the price of one, a miss brings them into the cache as well.
        """
        return self._kept().row(i, self._compute, likely)

    def bring(self, idx: np.ndarray) -> None:
        """See to it that the rows idx, distinct, are cached: at most half as many as `row_table` has room for."""
        self._kept().bring(idx, self._compute)

    @property
    def row_table(self) -> RowTable:
        """What is cached, for compiled loops; a row that is missing there comes with `row`, which may push out others.

        It is another one after `promote` and after `restricted`.
        """
        return self._kept().table

    def _kept(self) -> RowCache:
        if self._cache is None:
            self._cache = RowCache(self.m, self.budget, self.dtype, self.engine.batch)
        return self._cache

    def _compute(self, idx: np.ndarray, out: np.ndarray) -> None:
        self.engine.block(self.engine.take(idx), out)
        for a, i in enumerate(idx.tolist()):
            out[a, i] = self.diag[i]
        self.kernel_values += out.size

    def restricted(self, at: np.ndarray) -> RestrictedGram:
        """Rows among the points `at` only, ascending, in the memory of the cache; those of other points are dropped.

        To be given back with `RestrictedGram.close`; until then the Gram's own rows would take memory of their own.
        """
        cache, self._cache = self._kept(), None
        return RestrictedGram(self, cache, at)

    def block(self, I: np.ndarray, J: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """k(x_i, x_j) for i in I, j in J: (len(I), len(J)), float64, or of `out`'s type and in it."""
        self.kernel_values += len(I) * len(J)
        values = np.empty((len(I), len(J))) if out is None else out
        if len(I) == 0 or len(J) == 0:
            return values
        self.engine.block(self.engine.take(I), values, J)
        shared = np.flatnonzero(np.isin(J, I))
        for a, i in enumerate(I if len(shared) else ()):
            values[a, shared[J[shared] == i]] = self.diag[i]
        return values

    def matvec(self, coef: np.ndarray, idx: np.ndarray, at: np.ndarray = ALL, dtype=np.float64) -> np.ndarray:
        """K[at, idx] @ coef for coef (len(idx),) or (len(idx), p); empty `at`: all m rows.

        Values are not stored; the last float64 product of all rows is, for a solve that starts where another one was
        certified. Returns float64 (len(at),) or (len(at), p), of values taken in `dtype` (see `Engine.product`).
        """
        exact = at.size == 0 and dtype == np.float64
        if exact and self._product is not None:
            known, weights, product = self._product
            if np.array_equal(idx, known) and coef.shape == weights.shape and _equal(coef, weights):
                return product.copy()
        rows = at.size or self.m
        self.kernel_values += rows * len(idx)
        if len(idx) == 0:
            return np.zeros((rows, *coef.shape[1:]))
        product = self.engine.product(self.engine.take(idx), coef.reshape(len(idx), -1), at, dtype)
        product = product.reshape(rows, *coef.shape[1:])
        if exact:
            self._product = idx.copy(), coef.copy(), product.copy()
        return product

    @contextmanager
    def unnoticed(self) -> Iterator[None]:
        """Products inside are neither counted nor remembered: for whoever looks at a solve from outside."""
        before = self.kernel_values, self._product
        try:
            yield
        finally:
            self.kernel_values, self._product = before


class RestrictedGram:
    """Rows of a Gram among some of its points, numbered from 0: shorter, and more of them fit the budget.

    at (n,) : these points, ascending
    """

    def __init__(self, gram: Gram, cache: RowCache, at: np.ndarray) -> None:
        self.gram, self._cache, self.at = gram, cache, at
        cache.restrict(at)

    def row(self, p: int, likely: Likely | None = None) -> np.ndarray:
        """Values of the p-th point with all n: (n,), as `Gram.row`."""
        return self._cache.row(p, self._compute, likely)

    def bring(self, idx: np.ndarray) -> None:
        """See to it that these rows are cached, as `Gram.bring`."""
        self._cache.bring(idx, self._compute)

    def _compute(self, idx: np.ndarray, out: np.ndarray) -> None:
        self.gram.block(self.at[idx], self.at, out)

    @property
    def row_table(self) -> RowTable:
        """What is cached, as `Gram.row_table`."""
        return self._cache.table

    def restrict(self, among: np.ndarray) -> None:
        """From now on those of the n points only, ascending."""
        self.at = self.at[among]
        self._cache.restrict(among)

    def close(self) -> None:
        """Give the memory back to the Gram, without the kernel rows; not if the Gram has gone over to float64 rows."""
        if self._cache.slab.dtype == self.gram.dtype:
            self._cache.widen(self.gram.m)
            self.gram._cache = self._cache


def _equal(coef: np.ndarray, weights: np.ndarray) -> bool:
    """Whether the two differ by no more than the rounding of a sum of their products."""
    return bool((np.abs(coef - weights) <= 1e-15 * np.abs(weights)).all())
