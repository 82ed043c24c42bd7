"""The points whose gradient a solve keeps: all of them, or a working set that grows by one point at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from svmkit.problems.simplex import SimplexQP
from svmkit_frank_wolfe.iterate.working_set import WorkingRows

NONE = np.empty(0)  # the linear term c = 0


class TrackedPoints:
    """The tracked points of a problem, with their labels, diagonal entries and kernel rows.

    A point is named in two ways: by its row of the problem's X, or by its position among the tracked points.

    Parameters
    ----------
    problem : SimplexQP
        The problem whose points are tracked.
    idx : ndarray of shape (n,) or None
        Rows of the problem's X, in the order in which they are tracked. None tracks all of them in their own order.

    Attributes
    ----------
    everything : bool
        Whether all points are tracked.
    n : int
        Number of tracked points.
    room : int
        Capacity of arrays over the tracked points; the arrays are enlarged when n reaches it.
    working : WorkingRows or None
        Kernel rows among the tracked points, None when all points are tracked and the Gram serves the rows.
    position : ndarray of shape (m,)
        Position of each point of the problem among the tracked points, -1 for a point that is not tracked; empty when
        all points are tracked.
    y, diag, ridge : ndarray of shape (n,)
        Label, A_ii and the ridge on the diagonal of each tracked point, as views.
    linear : ndarray of shape (n,) or (0,)
        Entry of the problem's linear term c for each tracked point; empty for c = 0.
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
        """Let the public views end at the last tracked point."""
        self.y, self.diag, self.ridge, self.linear = (values[: self.n] for values in self._about)

    def _set(self, p: int, point: int) -> None:
        """Write the entries of `point` at position p."""
        for values, source in zip(self._about, self._sources(), strict=True):
            if values.size:
                values[p] = source[point]
        self.position[point] = p

    def row(self, p: int, likely: Callable[[], np.ndarray] | None = None) -> np.ndarray:
        """Return the kernel values of one tracked point with all tracked points.

        Parameters
        ----------
        p : int
            Position of the point.
        likely : callable, default=None
            As for `Gram.row`, which serves the row when all points are tracked; otherwise it is ignored.

        Returns
        -------
        ndarray of shape (n,), of the Gram's dtype
            k(x_p, x_r) for all tracked r, without labels, bias and ridge. It must not be written to.
        """
        if self.working is None:
            return self.problem.gram.row(p, likely)
        return self.working.row(p)

    def append(self, point: int, row: np.ndarray | None = None) -> int:
        """Track one more point, which is possible unless all points are tracked.

        Parameters
        ----------
        point : int
            Row of the problem's X, not tracked yet.
        row : ndarray of shape (n,), default=None
            Kernel values of the point with the tracked points; None computes them.

        Returns
        -------
        int
            Position of the point.
        """
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
        """Track another point in place of a tracked one.

        Parameters
        ----------
        p : int
            Position of the point that is no longer tracked.
        point : int
            Row of the problem's X, not tracked yet.
        row : ndarray of shape (n,)
            Kernel values of `point` with the tracked points before the exchange.
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
