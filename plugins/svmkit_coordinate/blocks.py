"""Passes of `dcd` over rows on disk, and in memory once the points that take part fit there.

A pass over a file visits blocks of consecutive rows, several randomly drawn blocks at a time, all of whose points are
shuffled. Visiting blocks one by one (Yu, Hsieh, Chang, Lin 2012) needs ten to a hundred times as many passes, even if
each block is visited several times while it is in memory: points of different blocks then never take turns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from svmkit.problems.risks.coordinate_descent import Pass
from svmkit.problems.risks.design import CSR
from svmkit.problems.risks.linear_risk import LinearDual
from svmkit.runtime import mapping
from svmkit_coordinate.passes import passes

PARTS = 4  # divisor of the memory: a part for the visited blocks, one for the next ones; two for the points in memory
LEAST = 1 << 16  # bytes of a block
TOGETHER = 16  # blocks of a visit; with ten, as many passes are needed as if all points were shuffled


class Blocks:
    """The blocks of consecutive rows of a problem on disk, whose first rows and m are `ends` (n + 1,)."""

    def __init__(self, problem: LinearDual) -> None:
        self.problem = problem
        self.rows, budget = problem.design.rows, problem.design.budget
        self.ends = mapping.window_ends(self.rows, max(budget // (PARTS * TOGETHER), LEAST))
        sizes = self.rows.indptr if isinstance(self.rows, CSR) else np.arange(problem.m + 1)
        self._bytes = np.diff(sizes) * (mapping.size_of(self.rows) / max(int(sizes[-1]), 1))  # of each row
        self._most = 2 * budget / PARTS
        self._held = np.empty(0, dtype=np.int64)  # the rows in memory, ascending
        self._copy: Any = None

    @classmethod
    def make(cls, problem: LinearDual) -> Blocks | None:
        """Return the blocks of a problem whose rows are mapped to a file and exceed its memory, else None."""
        rows = problem.design.rows
        return cls(problem) if mapping.is_mapped(rows) and mapping.size_of(rows) > problem.gram.budget else None

    def passes(self, order, n, beta, v, thresholds, shrinking, rng, limits):
        """Make passes as `svmkit_coordinate.passes.passes` does, with room and most in `limits`.

        A pass over the file is the only one of its call.

        Parameters
        ----------
        order, n, beta, v, thresholds, shrinking
            As for `svmkit_coordinate.passes.passes`.
        rng : Generator or None
            The source of random orders; None keeps the order of the rows.
        limits : tuple of int
            `room` and `most` of `svmkit_coordinate.passes.passes`, for passes in memory.
        """
        if self._bytes[order[:n]].sum() <= self._most:
            return self._pass_in_memory(order, n, beta, (v, thresholds, shrinking, rng, limits))
        self._held, self._copy = np.empty(0, dtype=np.int64), None
        order[:n].sort()
        cuts, n_blocks = np.searchsorted(order[:n], self.ends), len(self.ends) - 1
        blocks = np.arange(n_blocks) if rng is None else rng.permutation(n_blocks)
        visits = np.split(blocks, np.arange(TOGETHER, n_blocks, TOGETHER))
        kept, totals, top, low = [], np.zeros(4), -np.inf, np.inf
        for visit, following in zip(visits, [*visits[1:], ()], strict=True):
            self._advise(mapping.fetch, following)
            part = np.concatenate([order[cuts[b] : cuts[b + 1]] for b in visit])
            if part.size:
                how = v, thresholds.copy(), shrinking, rng, (0, 1)
                done, _, looks, gain, born = self._pass(self.rows, slice(None), part, part.size, beta, how)
                top, low = max(top, done.top), min(low, done.low)
                totals += looks, gain, done.gap, born
                kept.append(part[: done.n])
            self._advise(mapping.release, visit)
        stay, (looks, gain, gap, born) = np.concatenate(kept), totals.tolist()
        order[: stay.size] = stay
        if shrinking:
            thresholds[:] = top if top > 0.0 else np.inf, low if low < 0.0 else -np.inf
        return Pass(stay.size, gain, gap, top, low, int(born)), 1, int(looks), gain, int(born)

    def _pass_in_memory(self, order, n, beta, how):
        """Make passes over a copy of the rows order[:n]."""
        if not np.isin(order[:n], self._held, assume_unique=True).all():
            self._held = np.sort(order[:n])
            self._copy = self._copy_rows(self._held)
        held, own = self._held, np.searchsorted(self._held, order[:n])
        weights = beta[held]
        made = self._pass(self._copy, held, own, n, weights, how)
        beta[held] = weights
        order[:n] = held[own]
        return made

    def _pass(self, rows, held, order, n, beta, how):
        points, bias, (v, thresholds, shrinking, rng, limits) = self.problem.points, self.problem.design.bias, how
        seed = np.uint64(0 if rng is None else rng.integers(1, 2**63))
        given = order, n, beta, v, thresholds, shrinking, seed, *limits, points.below
        return passes(rows, bias, points.rows[held], *given)

    def _advise(self, advice, visit) -> None:
        for b in visit:
            advice(self.rows, int(self.ends[b]), int(self.ends[b + 1]))

    def _copy_rows(self, at: np.ndarray) -> Any:
        """Return some rows in memory, read window by window."""
        if not isinstance(self.rows, CSR):
            out = np.empty((len(at), self.rows.shape[1]), self.rows.dtype)
            for lo, hi in mapping.windows(self.rows):
                first, last = np.searchsorted(at, (lo, hi))
                out[first:last] = self.rows[at[first:last]]
            return out
        starts, counts = self.rows.indptr[at], np.diff(self.rows.indptr)[at]
        indptr = np.append(0, np.cumsum(counts)).astype(self.rows.indptr.dtype)
        data, indices = np.empty(indptr[-1], self.rows.data.dtype), np.empty(indptr[-1], self.rows.indices.dtype)
        for lo, hi in mapping.windows(self.rows):
            first, last = np.searchsorted(at, (lo, hi))
            within = np.arange(indptr[first], indptr[last]) - np.repeat(indptr[first:last], counts[first:last])
            entries = np.repeat(starts[first:last], counts[first:last]) + within
            data[indptr[first] : indptr[last]] = self.rows.data[entries]
            indices[indptr[first] : indptr[last]] = self.rows.indices[entries]
        return CSR(data, indices, indptr)
