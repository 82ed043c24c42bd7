"""Kernel rows among a growing set of points, for solvers that use a part of the data."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import OrderedDict

import numpy as np

from svmkit.kernels.gram import Gram
from svmkit.runtime.compiling import njit

KEPT = 3  # rows kept with any budget: an iteration uses two, and the next iteration one of these again
LATE = 64  # columns written together at most: this touches one page of memory a row instead of 64


class WorkingRows:
    """Kernel rows among points `idx` (n,) of a Gram: a square matrix while it fits the budget, then the recent rows."""

    def __init__(self, gram: Gram, idx: np.ndarray) -> None:
        self.gram, self.n = gram, len(idx)
        self._idx = np.empty(2 * self.n + 64, dtype=np.int64)
        self._idx[: self.n] = idx
        self._keep()

    def _keep(self) -> None:
        side, dtype = math.isqrt(self.gram.budget // self.gram.dtype.itemsize), self.gram.dtype
        self._kept: _Rows = _Square(side, self.n, dtype) if side > self.n else _Recent(dtype)

    @property
    def idx(self) -> np.ndarray:
        """The points (n,), a view."""
        return self._idx[: self.n]

    def append(self, point: int, row: np.ndarray | None = None) -> int:
        """Add a point and return its position; `row` (n,) are its values with the points before it, if known."""
        if row is None:
            row = self.gram.block(np.array([point]), self.idx)[0]
        p = self.n
        if p == len(self._idx):
            self._idx = np.concatenate([self._idx, np.empty_like(self._idx)])
        self._idx[p] = point
        self.n = p + 1
        if not self._kept.append(self.gram, self.n, row, self.gram.diag[point]):
            self._kept = _Recent(self.gram.dtype)
            self._kept.append(self.gram, self.n, row, self.gram.diag[point])
        return p

    def row(self, p: int) -> np.ndarray:
        """Return the values (n,) of the p-th point with all points, in the Gram's dtype; valid for one more call."""
        if self._kept.dtype != self.gram.dtype:
            self._keep()
        return self._kept.row(self.gram, self.idx, p)

    def replace(self, p: int, point: int, row: np.ndarray) -> None:
        """Replace a point by another one.

        Parameters
        ----------
        p, point, row : int, int, ndarray
            The position, the new point, and its values (n,) with the earlier points.
        """
        self._idx[p] = point
        self._kept.replace(self.n, p, row, self.gram.diag[point])

    def rebind(self, gram: Gram) -> None:
        """Switch to a Gram whose first n points are the same points; the stored values stay."""
        self.gram = gram
        self._idx[: self.n] = np.arange(self.n)


class _Rows(ABC):
    """Rows of kernel values among the points of a set, each of which has a position."""

    dtype: np.dtype

    @abstractmethod
    def append(self, gram: Gram, n: int, row: np.ndarray, diag: float) -> bool:
        """Add the values of the last appended point; return False if there is no room.

        Parameters
        ----------
        gram, n : Gram, int
            The source of the values, and the size of the set, including the appended point.
        row, diag : ndarray of shape (n - 1,), float
            Its values with the points before it, and with itself.
        """

    @abstractmethod
    def row(self, gram: Gram, idx: np.ndarray, p: int) -> np.ndarray:
        """Return the values (n,) of the point at a position with all points; missing values are computed.

        Parameters
        ----------
        gram, idx, p : Gram, ndarray of shape (n,), int
            The source of the values, the points of the set, and the position.
        """

    @abstractmethod
    def replace(self, n: int, p: int, row: np.ndarray, diag: float) -> None:
        """Take in the values of another point at a position.

        Parameters
        ----------
        n, p : int
            The size of the set, and the position.
        row, diag : ndarray of shape (n,), float
            The values of the new point with the earlier points, and with itself.
        """


class _Square(_Rows):
    """All rows. A point's values with the points before it are written at once, its column a batch later.

    The whole budget is laid out from the start, since the system allocates memory only when it is written.
    """

    def __init__(self, side: int, n: int, dtype: np.dtype) -> None:
        self._side, self.dtype = min(side, 1 << 17), dtype
        self._K = np.empty((self._side, self._side), dtype)
        self._known = np.zeros(self._side, dtype=bool)
        self._even = n  # number of columns that every row has

    def append(self, gram: Gram, n: int, row: np.ndarray, diag: float) -> bool:
        """Write the row of the last appended point; False if the table is full.

        Parameters
        ----------
        gram, n, row, diag : Gram, int, ndarray, float
            As for `_Rows.append`.
        """
        p = n - 1
        if p == self._side:
            return False
        self._K[p, :p], self._K[p, p], self._known[p] = row, diag, True
        if n - self._even >= LATE:
            _mirror(self._K, self._even, n)
            self._even = n
        return True

    def row(self, gram: Gram, idx: np.ndarray, p: int) -> np.ndarray:
        """Return a row of the table, computed whole if it is missing, and completed from the rows of later points.

        Parameters
        ----------
        gram, idx, p : Gram, ndarray, int
            As for `_Rows.row`.
        """
        n, K = len(idx), self._K
        if not self._known[p]:
            gram.block(idx[p : p + 1], idx, K[p : p + 1, :n])
            self._known[p] = True
        late = max(self._even, p + 1)
        K[p, late:n] = K[late:n, p]
        return K[p, :n]

    def replace(self, n: int, p: int, row: np.ndarray, diag: float) -> None:
        """Write the row and the column of the new point at a position.

        Parameters
        ----------
        n, p, row, diag : int, int, ndarray, float
            As for `_Rows.replace`.
        """
        self._K[p, :n] = self._K[:n, p] = row
        self._K[p, p], self._known[p] = diag, True


class _Recent(_Rows):
    """The recently used rows, each as long as the set was at that time; a row is extended when it is used again."""

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype
        # position -> (values, how many are filled)
        self._rows: OrderedDict[int, tuple[np.ndarray, int]] = OrderedDict()
        self._bytes = 0

    def append(self, gram: Gram, n: int, row: np.ndarray, diag: float) -> bool:
        """Keep the row of the last appended point, and drop the oldest rows beyond the budget; always True.

        Parameters
        ----------
        gram, n, row, diag : Gram, int, ndarray, float
            As for `_Rows.append`.
        """
        p = n - 1
        values = self._room(n)
        values[:p], values[p] = row, diag
        self._keep(gram, p, values, n)
        return True

    def row(self, gram: Gram, idx: np.ndarray, p: int) -> np.ndarray:
        """Return a row, extended by the values of the points that have been appended since it was used.

        Parameters
        ----------
        gram, idx, p : Gram, ndarray, int
            As for `_Rows.row`.
        """
        n = len(idx)
        values, filled = self._rows.pop(p, (None, 0))
        if values is None:
            values = self._room(n)
        else:
            self._bytes -= values.nbytes
            if len(values) < n:
                longer = self._room(n)
                longer[:filled] = values[:filled]
                values = longer
        if filled < n:
            gram.block(idx[p : p + 1], idx[filled:], values[None, filled:n])
        self._keep(gram, p, values, n)
        return values[:n]

    def replace(self, n: int, p: int, row: np.ndarray, diag: float) -> None:
        """Write the new point's values to the stored rows; its own row is stored only if there is room.

        Parameters
        ----------
        n, p, row, diag : int, int, ndarray, float
            As for `_Rows.replace`.
        """
        for q, (values, filled) in self._rows.items():
            if filled > p:
                values[p] = row[q]
        if p in self._rows:
            values, _ = self._rows[p]
            if len(values) < n:
                self._bytes -= self._rows.pop(p)[0].nbytes
                return
            values[:n], values[p] = row, diag
            self._rows[p] = values, n

    def _room(self, n: int) -> np.ndarray:
        return np.empty(n + n // 4 + 64, self.dtype)

    def _keep(self, gram: Gram, p: int, values: np.ndarray, filled: int) -> None:
        self._rows[p] = values, filled
        self._bytes += values.nbytes
        while self._bytes > gram.budget and len(self._rows) > KEPT:
            _, (gone, _) = self._rows.popitem(last=False)
            self._bytes -= gone.nbytes


@njit(cache=True)
def _mirror(K, start, stop):
    """Set K[p, q] = K[q, p] for p < q and start <= q < stop."""
    for p in range(stop):
        for q in range(max(start, p + 1), stop):
            K[p, q] = K[q, p]
