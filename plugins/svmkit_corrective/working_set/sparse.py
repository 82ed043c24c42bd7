"""The kernel rows of a working set if nearly all values are negligible: only the others are stored."""

from __future__ import annotations

import numpy as np

from svmkit.kernels.gram import Gram
from svmkit.runtime.threads import spread
from svmkit_corrective.working_set.sparse_loops import (
    PARTS,
    SparseRows,
    add_rows,
    count_large,
    count_turned,
    pack_large,
    pack_turned,
)
from svmkit_corrective.working_set.square import ROOM, Square

LEAST = 2.0**-16  # share of k(x, x) below which a value is left out: in a square of 16 bits it would be rounded to 0
DENSE = 0.1  # share of larger values from which on a square is faster
SPARE = 0.5  # share of the room that rows of all points may take, estimated from a sample
SAMPLE, EACH = 1088, 17  # points of the sample: the values of every 17th of them with the others are computed
ENTRY = 8  # bytes of an index and a value
BATCH = 256  # rows whose values are computed together
BLOCK = 1 / 16  # share of the budget for the values of a batch
WORK = 300_000_000  # kernel values that one growth may compute
COUNTED, PACKED = 0.3, 1.0  # nanoseconds to compare a value, and to read an entry and perhaps write it


class SparseSquare:
    """Kernel rows of the points of a working set, which keep only values above a threshold, with all m points.

    It replaces a `Square` without labels and bias, within the budget of the Gram. A value of two points is computed
    once, when the first of them joins. Points never leave. `full` says whether there was no room for the rows of
    joining points, `lossy` whether large changes of weights may have lost parts of a gradient.
    """

    def __init__(self, gram: Gram) -> None:
        self.gram, self.full, self.lossy = gram, False, True
        self.least = LEAST * float(np.abs(gram.diag).max())
        self.idx = np.empty(0, dtype=np.int64)
        self.drift = np.inf
        self.most, self.at_once = gram.m, max(1, WORK // gram.m)
        room = min(_room(gram), gram.m * gram.m)
        self._starts = np.zeros(gram.m + 1, dtype=np.int64)
        self._indices, self._values = np.empty(room, np.int32), np.empty(room, np.float32)
        self._slot_of = np.full(gram.m, -1, dtype=np.int32)

    @classmethod
    def fitting(cls, gram: Gram) -> SparseSquare | None:
        """Return an empty one if, by a sample of kernel values, the rows of all points are sparse and fit."""
        if not (gram.kernel.normalised and gram.dtype == np.float32):
            return None
        m, size = gram.m, min(gram.m, SAMPLE)
        some, apart = np.linspace(0, m - 1, size).astype(np.int64), np.arange(size) % EACH == 0
        values = np.empty((np.count_nonzero(apart), np.count_nonzero(~apart)), np.float32)
        gram.block(some[apart], some[~apart], values, rough=True)
        share = np.count_nonzero(np.abs(values) > LEAST * np.abs(gram.diag).max()) / max(values.size, 1)
        return cls(gram) if share <= DENSE and share * m * m + m <= SPARE * _room(gram) else None

    @property
    def rows(self) -> SparseRows:
        """The rows in the form that `take_steps` takes."""
        n = len(self.idx)
        return SparseRows(self._starts[: n + 1], self._indices, self._values, self._slot_of, np.zeros(n))

    def make_finer(self) -> Square:
        """Return an empty square, which omits no values."""
        return Square(self.gram)

    def limits(self, drift: float) -> bool:
        """Return whether omitted values limit a solve whose gradient was off by `drift` at the last check.

        It does if the error of the gradient has not become much smaller than at the check before.
        """
        before, self.drift = self.drift, drift
        return drift > 0.25 * before

    def product(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
        """Return K[:, points] @ weights without the omitted values; None if a point is not in the set."""
        slots = self._slot_of[points]
        if (slots < 0).any():
            return None
        out = np.zeros(self.gram.m)
        add_rows(self.rows, slots, weights, out)
        return out

    def append(self, points: np.ndarray) -> None:
        """Add these points, which must be new, in the next slots, as far as there is room."""
        gram, n, rows = self.gram, len(self.idx), self.rows
        rank_of = np.full(gram.m, -1, dtype=np.int32)
        rank_of[points] = np.arange(len(points))
        counts = np.zeros((PARTS, len(points)), dtype=np.int64)
        work = PACKED * rows.starts[-1] / PARTS
        spread(count_turned, PARTS, work, rows, rank_of, counts)
        joined = self._compute(points, counts.sum(axis=0))
        rank_of[points[joined:]] = -1
        place = self._starts[n : n + joined] + np.cumsum(counts[:, :joined], axis=0) - counts[:, :joined]
        spread(pack_turned, PARTS, work, rows, rank_of, self.idx, place)
        self.idx = np.append(self.idx, points[:joined])
        self._slot_of[points[:joined]] = np.arange(n, n + joined)
        self.full = joined < len(points)

    def _compute(self, points: np.ndarray, before: np.ndarray) -> int:
        """Store the values of new points with all points outside, each row after `before` known entries.

        Return the number of points for whose rows there was room.
        """
        gram, n = self.gram, len(self.idx)
        others = np.flatnonzero(self._slot_of < 0)  # the new points among them
        size = int(np.clip(BLOCK * gram.budget // (4 * len(others)), 1, BATCH))
        landing = np.empty(min(size, len(points)) * len(others), np.float32)
        for lo in range(0, len(points), size):
            hi = min(len(points), lo + size)
            block, counts = landing[: (hi - lo) * len(others)].reshape(hi - lo, -1), np.empty(hi - lo, dtype=np.int64)
            gram.block(points[lo:hi], others, block, rough=True)
            spread(count_large, hi - lo, COUNTED * len(others), block, self.least, counts)
            ends = self._starts[n + lo] + np.cumsum(before[lo:hi] + counts)
            if ends[-1] > len(self._indices):
                return lo
            self._starts[n + lo + 1 : n + hi + 1] = ends
            given = others, ends - counts, self._indices, self._values
            spread(pack_large, hi - lo, PACKED * len(others), block, self.least, *given)
        return len(points)


def _room(gram: Gram) -> int:
    """Return the number of entries that the budget has room for."""
    return int(ROOM * gram.budget) // ENTRY
