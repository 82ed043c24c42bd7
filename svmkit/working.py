"""Kernel rows among a growing set of points: what solvers keep that look at a part of the data."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from svmkit.gram import Gram

KEPT = 3  # rows that stay whatever the budget: an iteration uses two, and the next one of them again


class WorkingRows:
    """Kernel rows among points of a Gram, each as long as the set was when it was asked for, and extended later.

    gram : Gram whose budget and dtype hold for the cache; idx : (n,) its rows, in the order of the set
    """

    def __init__(self, gram: Gram, idx: np.ndarray) -> None:
        self.gram, self.n = gram, len(idx)
        self._idx = np.empty(2 * self.n + 64, dtype=np.int64)
        self._idx[: self.n] = idx
        self._rows: OrderedDict[int, tuple[np.ndarray, int]] = OrderedDict()  # position -> (values, how many hold)
        self._bytes = 0

    @property
    def idx(self) -> np.ndarray:
        """The points (n,), a view."""
        return self._idx[: self.n]

    def append(self, point: int, row: np.ndarray | None = None) -> int:
        """Add a point; `row` (n,) are its values with the points before it, if known. Returns its position."""
        p = self.n
        if p == len(self._idx):
            self._idx = np.concatenate([self._idx, np.empty_like(self._idx)])
        self._idx[p] = point
        self.n = p + 1
        if row is not None:
            values = self._room(p)
            values[:p], values[p] = row, self.gram.diag[point]
            self._keep(p, values, p + 1)
        return p

    def replace(self, p: int, point: int, row: np.ndarray) -> None:
        """`point` takes the place of the p-th one; row (n,) are its values with the points that were there."""
        self._idx[p] = point
        for q, (values, filled) in self._rows.items():
            if filled > p:
                values[p] = row[q]
        if p in self._rows:
            values, _ = self._rows[p]
            values[: self.n] = row
            values[p] = self.gram.diag[point]
            self._rows[p] = values, self.n

    def row(self, p: int) -> np.ndarray:
        """Values of the p-th point with all n: (n,) in the Gram's dtype, valid until the next but one call."""
        values, filled = self._rows.pop(p, (None, 0))
        if values is not None:
            self._bytes -= values.nbytes
        if values is None or values.dtype != self.gram.dtype:
            values, filled = self._room(p), 0
        elif len(values) < self.n:
            longer = self._room(p)
            longer[:filled] = values[:filled]
            values = longer
        if filled < self.n:
            self.gram.block(self.idx[p : p + 1], self.idx[filled:], values[None, filled : self.n])
        self._keep(p, values, self.n)
        return values[: self.n]

    def rebind(self, gram: Gram) -> None:
        """The same points are the first n rows of another Gram from now on; what is cached stays."""
        self.gram = gram
        self._idx[: self.n] = np.arange(self.n)

    def _room(self, p: int) -> np.ndarray:
        return np.empty(self.n + self.n // 4 + 64, self.gram.dtype)

    def _keep(self, p: int, values: np.ndarray, filled: int) -> None:
        self._rows[p] = values, filled
        self._bytes += values.nbytes
        while self._bytes > self.gram.budget and len(self._rows) > KEPT:
            _, (gone, _) = self._rows.popitem(last=False)
            self._bytes -= gone.nbytes
