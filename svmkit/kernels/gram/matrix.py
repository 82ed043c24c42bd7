"""A symmetric matrix A behind the interface of Gram, given as an array or as a function of its rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.engines.contract import ALL, PANEL, Engine
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.kernels.gram.gram import Gram
from svmkit.kernels.gram.row_cache import RowCache
from svmkit.kernels.gram.semidefinite import Definiteness

RowFunction = Callable[[np.ndarray], np.ndarray]
"""Takes row numbers idx, shape (q,), and returns these rows of A, shape (q, m)."""


class MatrixEngine(Engine):
    """Base of the engines over a symmetric matrix A with this diagonal, for which `Z` holds row numbers."""

    panel = 1  # rows come in any groups
    error = 0.0  # the given values are exact

    def __init__(self, diag: np.ndarray) -> None:
        self.kernel: Kernel = Precomputed()
        self.n, self._diag = len(diag), diag
        self.asked = 0  # rows of A that were requested from the row function so far

    @property
    def X(self) -> np.ndarray:
        """The whole matrix."""
        return self.block(np.arange(self.n), np.empty((self.n, self.n)))

    @abstractmethod
    def row(self, i: int) -> np.ndarray:
        """Return row i of A, shape (n,). It is valid until three further rows have been requested."""

    @abstractmethod
    def panels(self, Z: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield positions `at` (q,) in Z with their rows A[Z[at]] (q, n) until all of Z are served, in any order."""

    def take(self, idx: np.ndarray) -> np.ndarray:
        return np.asarray(idx)

    def diag(self) -> np.ndarray:
        return self._diag

    @property
    def largest(self) -> float:
        """The largest diagonal value, since A is positive semidefinite."""
        return float(np.abs(self._diag).max(initial=0.0))

    def block(self, Z, out, sel=ALL, rough=False):
        """Write A[Z[b], sel[a]] to out[b, a].

        Parameters
        ----------
        Z, out, sel, rough : ndarray or CSR, ndarray, ndarray or None, bool
            As for `Engine.block`.
        """
        for at, values in self.panels(Z):
            out[at] = values[:, sel] if sel.size else values
        return out

    def product(self, Z, coef, sel=ALL, dtype=np.float64):
        """Return A[sel, Z] @ coef, in float64 whatever `dtype` is.

        Parameters
        ----------
        Z, coef, sel, dtype : ndarray or CSR, ndarray, ndarray or None, dtype or None
            As for `Engine.product`.
        """
        out = np.zeros((sel.size or self.n, coef.shape[1]))
        for at, values in self.panels(Z):
            chosen = values[:, sel] if sel.size else values
            out += chosen.T.astype(np.float64, copy=False) @ coef[at]
        return out


class ArrayMatrix(MatrixEngine):
    """The engine over a dense symmetric array in memory, which is never copied as a whole."""

    def __init__(self, A: np.ndarray) -> None:
        super().__init__(A.diagonal().astype(np.float64))
        self.A = A if A.flags.c_contiguous else A.T  # the same matrix, with contiguous rows

    def row(self, i: int) -> np.ndarray:
        return self.A[i]

    def panels(self, Z: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for lo in range(0, len(Z), PANEL):
            at = np.arange(lo, min(len(Z), lo + PANEL))
            yield at, self.A[Z[at]]


class CachedMatrix(MatrixEngine):
    """The engine over a row function. One cache of rows, of `budget` bytes, serves single rows, blocks and products.

    `rows` is called with distinct row numbers, with many at a time if many rows are needed. Every row is checked: its
    shape, finite values, agreement with the diagonal and with the row before it, and A_ii - 2 A_ij + A_jj >= 0; a row
    that fails raises InputError. At least five float64 rows are kept.
    """

    def __init__(self, rows: RowFunction, diag: np.ndarray, budget: int) -> None:
        super().__init__(diag)
        self._rows = rows
        self._cache = RowCache(self.n, budget, np.float64, self.batch)
        self._panel = int(np.clip(budget // (64 * self.n), 1, PANEL))  # an eighth of the budget
        self._last = -1

    def row(self, i: int) -> np.ndarray:
        row = self._cache.get(i)
        if row is None:
            self._bring(np.array([i]), keep=True)
            row = self._cache.get(i)
            assert row is not None
        return row

    def panels(self, Z: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        missing = []
        for b, i in enumerate(Z.tolist()):
            row = self._cache.get(i)
            if row is None:
                missing.append(b)
            else:
                yield np.array([b]), row[None]
        at = np.array(missing, dtype=np.int64)
        keep = len(at) <= self._cache.slots // 2  # more would evict the most used rows
        for lo in range(0, len(at), self._panel):
            here = at[lo : lo + self._panel]
            idx, place = np.unique(Z[here], return_inverse=True)
            values = self._bring(idx, keep)
            yield here, values if len(idx) == len(here) and (idx == Z[here]).all() else values[place]

    def _bring(self, idx: np.ndarray, keep: bool) -> np.ndarray:
        """Request the rows idx from the row function, check them and return them, shape (q, n)."""
        values = self._rows(idx)
        values = np.asarray(values.toarray() if hasattr(values, "toarray") else values)
        if values.shape != (len(idx), self.n):
            raise InputError(
                f"the function of A's rows returned shape {values.shape} for {len(idx)} row numbers; "
                f"it has to return ({len(idx)}, {self.n})"
            )
        precision = values.dtype if values.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        values = values.astype(np.float64, copy=False)
        self.asked += len(idx)
        self._require_sound(idx, values, float(np.sqrt(np.finfo(precision).eps)))
        if keep:
            for i, row in zip(idx.tolist(), values, strict=True):
                self._cache.reserve(i)[:] = row
        return values

    def _require_sound(self, idx: np.ndarray, values: np.ndarray, tolerance: float) -> None:
        size = max(np.abs(values).max(), np.abs(self._diag[idx]).max())  # NaN and infinity survive
        if not np.isfinite(size):
            i, j = np.argwhere(~np.isfinite(values))[0]
            raise InputError(f"A[{idx[i]}, {j}] is {values[i, j]}: rows of A must be finite")
        slack = tolerance * size
        i = int(np.abs(values[np.arange(len(idx)), idx] - self._diag[idx]).argmax())
        own, given = values[i, idx[i]], self._diag[idx[i]]
        if abs(own - given) > slack:
            raise InputError(f"A[{idx[i]}, {idx[i]}] is {own:g} in its row and {given:g} in diag: diag is not A's own")
        require_mirrored((values[:, idx], values[:, idx].T), (idx, idx), slack)
        before = self._cache.get(self._last)
        if before is not None:
            last = np.array([self._last])
            require_mirrored((values[:, last], before[idx, None]), (idx, last), slack)
        self._last = int(idx[-1])
        for i, row in zip(idx.tolist(), values, strict=True):
            require_curvature(self._diag[i] + self._diag - 2.0 * row, f"e_{i} -", slack)


class MatrixGram(Gram):
    """A Gram over a MatrixEngine, whose cache is the only row cache; `budget` is for what solvers keep in addition."""

    engine: MatrixEngine

    def __init__(self, engine: MatrixEngine, budget: int) -> None:
        super().__init__(engine.kernel, None, memory=budget, dtype=np.float64, engine=engine)

    @property
    def definiteness(self) -> Definiteness:
        """A counts as positive semidefinite: its curvature is checked as its rows arrive."""
        return Definiteness()

    def row(self, i: int, likely: Callable[[], np.ndarray] | None = None) -> np.ndarray:
        """Return A[i], shape (m,). `likely` is ignored: rows are requested only when they are needed."""
        before = self.engine.asked
        row = self.engine.row(i)
        self.kernel_values += self.m * (self.engine.asked - before)
        return row


def require_mirrored(both: tuple[np.ndarray, np.ndarray], at: tuple[np.ndarray, np.ndarray], slack: float) -> None:
    """Raise InputError unless A[I][:, J] and A[J][:, I]' agree, of `at` = I, J, up to the rounding error of a value."""
    (values, mirrored), (I, J) = both, at
    difference = np.abs(values - mirrored)
    a, b = np.unravel_index(int(difference.argmax()), difference.shape)
    if difference[a, b] > slack:
        i, j = I[a], J[b]
        raise InputError(f"A is not symmetric: A[{i}, {j}] is {values[a, b]:g} and A[{j}, {i}] is {mirrored[a, b]:g}")


def require_curvature(curvature: np.ndarray, origin: str, slack: float) -> None:
    """Raise InputError when x'A x < 0 for an x = `origin` e_j of sum zero, since no certificate exists then.
    `curvature` (m,) has x'A x for each j, and `slack` is the rounding error of a value of A.
    """
    j = int(curvature.argmin())
    if curvature[j] < -4.0 * slack:
        raise InputError(
            f"A is not positive semidefinite: x'A x = {curvature[j]:g} for x = {origin} e_{j}, so no minimum can be "
            "certified: give a matrix that is"
        )
