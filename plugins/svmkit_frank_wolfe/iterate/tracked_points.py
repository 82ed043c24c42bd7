"""The points whose gradient a solve keeps: all of them, or a working set that grows by one point at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from svmkit.problems.simplex import SimplexQP
from svmkit_frank_wolfe.iterate.working_set import WorkingRows

NONE = np.empty(0)  # the linear term c = 0


class TrackedPoints:
    """The tracked points of a problem, with their labels, diagonal entries and kernel rows.

    A point has two names: its row of the problem's X, and its `position` (m,) among the `n` tracked points, which is -1
    for a point that is not tracked. `idx` (n,) are the rows of X in the order in which they are tracked; None tracks
    all of them in their own order, and then `position` is empty and the Gram serves the kernel rows. `y`, `diag` and
    `ridge` (n,) are views of the label, A_ii and the ridge of each tracked point, `linear` is (n,), or empty for c = 0.
    """

    def __init__(self, problem: SimplexQP, idx: np.ndarray | None) -> None:
        self.problem = problem
        self.everything = idx is None
        self.working = None if idx is None else WorkingRows(problem.gram, idx)
        self.n = problem.m if idx is None else len(idx)
        self.room = self.n if idx is None else 2 * self.n + 64
        self._describe()

    @property
    def idx(self) -> np.ndarray | None:
        """Rows of the problem's X that are tracked, by position; None when all of them are tracked in their order."""
        return None if self.working is None else self.working.idx

    @property
    def where(self) -> np.ndarray | slice:
        """Index that selects the entries of the tracked points from an array over all points."""
        return slice(None) if self.working is None else self.working.idx

    def _sources(self) -> tuple[np.ndarray, ...]:
        """Return the arrays over all points of the problem: y, diag, ridge and the linear term."""
        p = self.problem
        return p.y, p.diag, p.ridge, NONE if p.linear_term is None else p.linear_term

    def _describe(self) -> None:
        """Copy the entries of every tracked point into arrays with room to grow; share the arrays of all points."""
        about, idx = self._sources(), self.idx
        self.position = np.full(0 if idx is None else self.problem.m, -1, dtype=np.int64)
        if idx is not None:
            self.position[idx] = np.arange(self.n)
            spare = np.zeros(self.room - self.n)
            about = tuple(np.append(values[idx], spare) if values.size else values for values in about)
        self._about = about
        self._bind()

    def _bind(self) -> None:
        """End the public views at the last tracked point."""
        self.y, self.diag, self.ridge, self.linear = (values[: self.n] for values in self._about)

    def _set(self, p: int, point: int) -> None:
        """Write the entries of `point` at position p."""
        for values, source in zip(self._about, self._sources(), strict=True):
            if values.size:
                values[p] = source[point]
        self.position[point] = p

    def row(self, p: int, likely: Callable[[], np.ndarray] | None = None) -> np.ndarray:
        """Return k(x_p, x_r) (n,) for all tracked r, of the Gram's dtype, without labels, bias and ridge; it must not
        be written to. `likely` is as for `Gram.row`, which serves the row when all points are tracked.
        """
        if self.working is None:
            return self.problem.gram.row(p, likely)
        return self.working.row(p)

    def append(self, point: int, row: np.ndarray | None = None) -> int:
        """Track one more row of X, unless all are tracked; `row` (n,) are its values with the tracked points."""
        assert self.working is not None
        p = self.n
        if p == self.room:
            self.room = 2 * p
            self._about = tuple(np.pad(values, (0, p)) if values.size else values for values in self._about)
        self.working.append(point, row)
        self.n = p + 1
        self._set(p, point)
        self._bind()
        return p

    def replace(self, p: int, point: int, row: np.ndarray) -> None:
        """Track the row `point` of X at position p, in place of another one.

        Parameters
        ----------
        p, point, row : int, int, ndarray
            The position, the row of X, not tracked yet, and its kernel values (n,) with the points tracked before the
            exchange.
        """
        assert self.working is not None
        self.position[self.working.idx[p]] = -1
        self.working.replace(p, point, row)
        self._set(p, point)

    def renew(self, problem: SimplexQP) -> None:
        """Switch to a problem whose first n rows are the tracked points, and keep their kernel rows."""
        assert self.working is not None
        self.problem = problem
        self.working.rebind(problem.gram)
        self._describe()
