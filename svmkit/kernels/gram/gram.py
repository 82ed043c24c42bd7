"""Gram: kernel values of one X on demand, never the whole m x m matrix. A cache of stated size keeps kernel rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.engines.choice import engine_for
from svmkit.kernels.engines.contract import ALL, PANEL, Engine
from svmkit.kernels.extent import Extent, fits_float32_rows, require_finite_values
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram.row_cache import Likely, RowCache, has_room
from svmkit.kernels.gram.semidefinite import Definiteness, examine
from svmkit.kernels.loops.row_table import RowTable
from svmkit.kernels.rounding import product_error

SYMMETRIC = 0.1  # share of all points from which on it pays to compute a value once for both of two points
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def parse_bytes(size: str | int | float) -> int:
    """Return the number of bytes that `size` means.

    Parameters
    ----------
    size : str, int or float
        A number of bytes, or text such as "200MB" or "1.5 GiB", in powers of 1024.

    Returns
    -------
    int

    Raises
    ------
    InputError
        If `size` is not a positive, finite size.

    Examples
    --------
    >>> from svmkit.kernels import parse_bytes
    >>> parse_bytes("1.5GB"), parse_bytes(1000)
    (1610612736, 1000)
    """
    value = _parse(str(size))
    if value is None:
        raise InputError(f"memory={size!r} is not a size: write 200MB, 1GB or a number of bytes")
    return value


@lru_cache  # a small fit asks five times
def _parse(size: str) -> int | None:
    text = size.strip().lower().removesuffix("ib").removesuffix("b").strip()
    number, unit = (text[:-1], text[-1]) if text and text[-1] in _UNITS else (text, "")
    try:
        value = float(number) * _UNITS[unit]
    except (ValueError, KeyError):
        return None
    return int(value) if 0 < value < float("inf") else None


class Gram:
    """The kernel matrix of X (m, d), whose values are computed on demand.

    Parameters
    ----------
    kernel : Kernel
        The kernel, resolved: every parameter is a number.
    X : ndarray of shape (m, d) or CSR, float32 or float64
        The samples. X is copied neither to a dense array nor to float64.
    memory : str or int, default="1GB"
        Budget of the row cache, in bytes or as for `parse_bytes`. At least five kernel rows are kept.
    dtype : {float32, float64}, optional
        Type of the kernel rows. By default float64 if all m x m values fit into a quarter of the budget, else float32,
        which takes half the memory and half the time. Values out of its range are always float64. Products are float64.
    engine : Engine, optional
        Computes the values; by default the engine for this kernel and this storage of X.
    extent : Extent, optional
        The extent of the vectors that take part, if X is a part of them; by default that of X.

    Attributes
    ----------
    m : int
        Number of samples.
    diag : ndarray of float64, shape (m,)
        k(x, x) of each sample.
    kernel_values : int
        Number of kernel values computed so far. A row from the cache counts nothing.
    budget : int
        Budget of the row cache in bytes.

    Raises
    ------
    InputError
        If `memory` is not a size, or a kernel value is beyond float64.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import Gram
    >>> from svmkit.kernels import Linear
    >>> gram = Gram(Linear(), np.array([[1.0, 0.0], [1.0, 1.0]]))
    >>> gram.diag.tolist(), gram.row(1).tolist()
    ([1.0, 2.0], [1.0, 2.0])
    """

    def __init__(
        self,
        kernel: Kernel,
        X,
        *,
        memory: str | int = "1GB",
        dtype=None,
        engine: Engine | None = None,
        extent: Extent | None = None,
    ) -> None:
        self.engine = engine or engine_for(kernel, X, extent)
        self.kernel, self.m = kernel, self.engine.n
        self.budget = parse_bytes(memory)
        self.engine.limit_memory(self.budget)
        self.diag = self.engine.diag()
        largest = self.engine.largest
        require_finite_values(kernel, largest)
        if dtype is None or not fits_float32_rows(largest):
            dtype = np.float32 if 32 * self.m * self.m > self.budget and fits_float32_rows(largest) else np.float64
        self.dtype = np.dtype(dtype)
        self.kernel_values = 0
        self._cache: RowCache | None = None
        self._kept: np.ndarray | None = None
        self._product: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None  # the last idx, coef and result

    @cached_property
    def definiteness(self) -> Definiteness:
        """The known definiteness of the kernel matrix, which is examined on first access."""
        with self.pause_counting():
            return examine(self.engine, self.diag, self.budget)

    def prove_definiteness(self) -> None:
        """Examine as much of the kernel matrix as the budget allows, where a fit would examine a sample."""
        with self.pause_counting():
            self.definiteness = examine(self.engine, self.diag, self.budget, proof=True)

    def promote(self) -> bool:
        """Change to float64 kernel rows and drop the cached ones.

        Return False if they are float64 already, or if the budget has no room for float64 rows.
        """
        if self.dtype == np.float64 or not has_room(self.m, self.budget, np.float64):
            return False
        self.dtype, self._cache = np.dtype(np.float64), None
        return True

    def row(self, i: int, likely: Likely | None = None) -> np.ndarray:
        """Return kernel row i, k(x_i, x_r) for all r. It is valid until three further rows have been requested.

        Parameters
        ----------
        i : int
            Index of the sample.
        likely : callable, optional
            Returns the indices of rows that will probably be requested next, likeliest first. If row i is missing and
            the engine computes many rows for little more than the price of one, these rows are cached as well.

        Returns
        -------
        ndarray of shape (m,), of the Gram's dtype
            A view of the cache: do not write to it.
        """
        return self._row_cache().row(i, self._compute, likely)

    def bring(self, idx: np.ndarray) -> None:
        """Ensure that the kernel rows `idx` are cached: distinct ones, at most half as many as the cache has slots."""
        self._row_cache().bring(idx, self._compute)

    @property
    def row_table(self) -> RowTable:
        """The cached kernel rows for compiled loops. `row` adds a missing row and may evict others.

        After `promote` or `restriction` the table is a new one.
        """
        return self._row_cache().table

    def _row_cache(self) -> RowCache:
        if self._cache is None:
            self._cache = RowCache(self.m, self.budget, self.dtype, self.engine.batch)
        return self._cache

    def _compute(self, idx: np.ndarray, out: np.ndarray) -> None:
        self.engine.block(self.engine.take(idx), out)
        for a, i in enumerate(idx.tolist()):
            out[a, i] = self.diag[i]
        self.kernel_values += out.size

    def restriction(self, at: np.ndarray) -> RestrictedGram:
        """Lend the memory of the cache to kernel rows among some of the samples.

        Parameters
        ----------
        at : ndarray of int, shape (n,)
            The samples, ascending. Cached rows of other samples are dropped.

        Returns
        -------
        RestrictedGram
            `RestrictedGram.close` gives the memory back. Until then, rows of this Gram would take additional memory.
        """
        cache, self._cache = self._row_cache(), None
        return RestrictedGram(self, cache, at)

    def block(self, I: np.ndarray, J: np.ndarray, out: np.ndarray | None = None, *, rough: bool = False) -> np.ndarray:
        """Return k(x_i, x_j) for i in I and j in J.

        Parameters
        ----------
        I, J : ndarray of int
            Indices of samples.
        out : ndarray of shape (len(I), len(J)), optional
            Array for the values, float32 or float64.
        rough : bool, default=False
            Whether float32 values may have errors of up to 5e-4, as in `matvec` with float32.

        Returns
        -------
        ndarray of shape (len(I), len(J))
            `out` if it is given, else a float64 array.
        """
        self.kernel_values += len(I) * len(J)
        values = np.empty((len(I), len(J))) if out is None else out
        if len(I) == 0 or len(J) == 0:
            return values
        is_square = I is J and bool((I[1:] > I[:-1]).all())
        if is_square and self.engine.symmetric and not rough:
            self.engine.square(I, values)
        else:
            self.engine.block(self.engine.take(I), values, J, rough)
        if is_square:
            np.fill_diagonal(values, self.diag[I])
            return values
        if bool((I[1:] > I[:-1]).all()) and bool((J[1:] > J[:-1]).all()):
            b = np.minimum(np.searchsorted(J, I), len(J) - 1)
            (a,) = (J[b] == I).nonzero()
            values[a, b[a]] = self.diag[I[a]]
            return values
        shared = np.flatnonzero(np.isin(J, I))
        a, b = _equal_pairs(I, J[shared])
        values[a, shared[b]] = self.diag[I[a]]
        return values

    def keep(self) -> np.ndarray:
        """Return all kernel values, float64 (m, m) and read-only, one row for each sample.

        They are kept if they take at most a quarter of the budget. `matvec` then multiplies them and computes no
        values.
        """
        if self._kept is not None:
            return self._kept
        every = np.arange(self.m)
        values = self.block(every, every)
        values.flags.writeable = False
        if 4 * values.nbytes <= self.budget:
            self._kept = values
        return values

    def matvec(self, coef: np.ndarray, idx: np.ndarray, at: np.ndarray = ALL, dtype=np.float64) -> np.ndarray:
        """Return K[at, idx] @ coef without storing the kernel values.

        Parameters
        ----------
        coef : ndarray of shape (len(idx),) or (len(idx), p)
            Coefficients.
        idx : ndarray of int
            Samples that have coefficients.
        at : ndarray of int, optional
            Samples of the result; all m by default.
        dtype : {float64, float32}, default=float64
            Precision of the kernel values, as for `Engine.product`.

        Returns
        -------
        ndarray of float64, shape (len(at),) or (len(at), p)

        Notes
        -----
        The last float64 product of all rows is remembered, for a solve that starts where another one was certified.
        """
        exact = at.size == 0 and dtype == np.float64
        if exact and self._product is not None:
            known, weights, product = self._product
            same = np.array_equal(idx, known) and coef.shape == weights.shape
            if same and (np.abs(coef - weights) <= 1e-15 * np.abs(weights)).all():  # they differ by rounding only
                return product.copy()
        rows = at.size or self.m
        if len(idx) == 0:
            return np.zeros((rows, *coef.shape[1:]))
        product = self._product_with(idx, coef.reshape(len(idx), -1), at, dtype).reshape(rows, *coef.shape[1:])
        if exact:
            self._product = idx.copy(), coef.copy(), product.copy()
        return product

    def _product_with(self, idx: np.ndarray, coef: np.ndarray, at: np.ndarray, dtype) -> np.ndarray:
        """Return K[at, idx] @ coef for coef (n, p); among many points, a value is computed once for both points."""
        if self._kept is not None:
            return _multiply(self._kept, idx, coef, at)
        if not self.engine.symmetric or at.size or len(idx) < max(SYMMETRIC * self.m, 2 * PANEL):
            self.kernel_values += (at.size or self.m) * len(idx)
            return self.engine.product(self.engine.take(idx), coef, at, dtype)
        product, outside = np.empty((self.m, coef.shape[1])), np.ones(self.m, dtype=bool)
        outside[idx] = False
        rest = np.flatnonzero(outside)
        product[idx], computed = self.engine.self_product(idx, coef, dtype)
        if rest.size:
            product[rest] = self.engine.product(self.engine.take(idx), coef, rest, dtype)
        self.kernel_values += computed + rest.size * len(idx)
        return product

    def product_error(self, coef: np.ndarray) -> float:
        """Return a bound on the error of every number that `matvec` returns for these coefficients.

        Parameters
        ----------
        coef : ndarray of float64, shape (n,)
            Coefficients; zeros may be left out.

        Returns
        -------
        float
            A bound on |computed - exact|, the error of the kernel values and of their sum. It may be inf.
        """
        engine = self.engine
        with np.errstate(over="ignore"):
            size = float(np.abs(coef).sum())
        # some sums go by panels of the engine, others by PANEL: whichever adds more, one after the other
        panels = {engine.panel, PANEL}
        return max(product_error(engine.error, engine.largest, panel, len(coef), size) for panel in panels)

    @contextmanager
    def pause_counting(self) -> Iterator[None]:
        """Neither count nor remember the products inside the block, for observers of a solve."""
        before = self.kernel_values, self._product
        try:
            yield
        finally:
            self.kernel_values, self._product = before


def _multiply(K: np.ndarray, idx: np.ndarray, coef: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return K[idx, at]' coef for coef (n, p), summed by panels as `Gram.product_error` assumes."""
    out = np.zeros((at.size or len(K), coef.shape[1]))
    if at.size == 0 and 2 * len(idx) > len(K) and bool((idx[1:] > idx[:-1]).all()):
        weights = np.zeros((len(K), coef.shape[1]))  # a product with 0 is exact, and no row is copied
        weights[idx] = coef
        for lo in range(0, len(idx), PANEL):
            here = slice(idx[lo], idx[min(lo + PANEL, len(idx)) - 1] + 1)
            out += K[here].T @ weights[here]
        return out
    for lo in range(0, len(idx), PANEL):
        here = slice(lo, lo + PANEL)
        rows = K[idx[here]]
        out += (rows[:, at] if at.size else rows).T @ coef[here]
    return out


def _equal_pairs(I: np.ndarray, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the places a and b, int (n,), of all pairs of equal numbers I[a] and J[b]."""
    order = np.argsort(I, kind="stable")
    ascending = I[order]
    first = np.searchsorted(ascending, J)
    counts = np.searchsorted(ascending, J, side="right") - first
    b = np.repeat(np.arange(len(J)), counts)
    rank = np.arange(len(b)) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[np.repeat(first, counts) + rank], b


class RestrictedGram:
    """Kernel rows of a Gram among some of its samples, numbered from 0. They are shorter, so that more of them fit.

    Made by `Gram.restriction`; `at` (n,) has the samples, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import Gram, Linear
    >>> gram = Gram(Linear(), np.eye(3))
    >>> gram.restriction(np.array([0, 2])).row(0).tolist()
    [1.0, 0.0]
    """

    def __init__(self, gram: Gram, cache: RowCache, at: np.ndarray) -> None:
        self.gram, self._cache, self.at = gram, cache, at
        cache.restrict(at)

    def row(self, p: int, likely: Likely | None = None) -> np.ndarray:
        """Return the kernel values of the p-th sample with all n samples, shape (n,), as `Gram.row` does."""
        return self._cache.row(p, self._compute, likely)

    def bring(self, idx: np.ndarray) -> None:
        """Ensure that these kernel rows are cached, as `Gram.bring` does."""
        self._cache.bring(idx, self._compute)

    def _compute(self, idx: np.ndarray, out: np.ndarray) -> None:
        self.gram.block(self.at[idx], self.at, out)

    @property
    def row_table(self) -> RowTable:
        """The cached kernel rows for compiled loops, as `Gram.row_table`."""
        return self._cache.table

    def restrict(self, among: np.ndarray) -> None:
        """Keep only some of the n samples: positions `among`, ascending."""
        self.at = self.at[among]
        self._cache.restrict(among)

    def close(self) -> None:
        """Give the memory back to the Gram without the kernel rows, unless the Gram has changed to float64 rows."""
        if self._cache.slab.dtype == self.gram.dtype:
            self._cache.widen(self.gram.m)
            self.gram._cache = self._cache
