"""Segments, the kernel values of one point with all points of one class: a pool of them and their copies to blocks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from svmkit.kernels.engines.contract import Engine

PARTIAL = 64  # values that are summed in their own precision before they are added in float64
CHUNK = 8 << 20  # bytes by which the pool grows at a time


class Vectors:
    """Some points of a class: their numbers and, on demand, their rows of X."""

    def __init__(self, engine: Engine, points: np.ndarray) -> None:
        self.engine, self.points = engine, points
        self._values: Any = None

    def values(self, lo: int = 0, hi: int | None = None):
        """Return the points from lo to hi as the engine takes them."""
        if self._values is None:
            self._values = self.engine.take(self.points)
        return self._values if lo == 0 and hi in (None, len(self.points)) else self._values[lo:hi]


class Columns(NamedTuple):
    """The points of a class whose values are requested, and the columns of the block for these values."""

    of: np.ndarray  # the numbers of the points; empty for all
    width: int  # how many points there are
    first: int
    at: np.ndarray  # their columns; empty for `first` and those that follow it

    def parts(self, step: int) -> list[Columns]:
        """Return the columns in parts of at most `step`."""
        if self.width <= step:
            return [self]
        of = self.of if self.of.size else np.arange(self.width)
        each = [slice(lo, min(lo + step, self.width)) for lo in range(0, self.width, step)]
        return [Columns(of[s], s.stop - s.start, self.first + s.start, self.at[s]) for s in each]

    def copy(self, source: tuple[np.ndarray, np.ndarray], target: tuple[np.ndarray, np.ndarray]) -> None:
        """Copy segments (n_segments, n), those in slots (q,), to rows (q,) of a block: `source` and `target`."""
        (segments, slots), (out, rows) = source, target
        if len(rows) == 1 and not self.of.size and not self.at.size:
            out[rows[0], self.first : self.first + self.width] = segments[slots[0]]
        else:
            from svmkit.kernels.loops.row_loops import copy_segments

            copy_segments(segments, slots, self.of, out, rows, self.first, self.at)


class Pool:
    """The segments of all classes, in at most `memory` bytes. No segment is evicted to make room. The class pairs come
    class by class, so that a class is needed again only after all others, and a pool with LRU eviction would have lost
    it by then. Instead a class is released after its last pair, and the segments of later classes take its room.
    """

    def __init__(self, memory: int) -> None:
        self.memory = self.room = memory
        self._segments: dict[tuple[int, np.dtype], Segments] = {}

    def segments(self, key: tuple[int, np.dtype], n: int) -> Segments:
        """Return the segments of a class of n points, and of a type: separate ones, so that values do not mix."""
        if key not in self._segments:
            self._segments[key] = Segments(self, n, key[1])
        return self._segments[key]

    def release(self, c: int) -> None:
        """Drop the segments of class c."""
        for key in [key for key in self._segments if key[0] == c]:
            self.room += sum(chunk.nbytes for chunk in self._segments.pop(key).chunks)


class Segments:
    """Kernel values of points of one class with all n points of the class, in chunks."""

    def __init__(self, pool: Pool, n: int, dtype: np.dtype) -> None:
        self.place = np.full(n, -1, dtype=np.int64)  # of each point's segment, counted over all chunks; -1 for none
        self.chunks: list[np.ndarray] = []
        self._pool, self._n, self._dtype = pool, n, dtype
        self._rows = int(np.clip(min(CHUNK, pool.memory // 8) // (n * dtype.itemsize), 1, n))  # of a chunk
        self._filled = 0

    def free(self) -> bool:
        """Return whether there is room for one more segment, after adding a chunk if necessary."""
        if self._filled == len(self.chunks) * self._rows:
            size = self._rows * self._n * self._dtype.itemsize
            if size > self._pool.room:
                return False
            self._pool.room -= size
            self.chunks.append(np.empty((self._rows, self._n), self._dtype))
        return True

    def fill(self, vectors: Vectors) -> int:
        """Compute the segments of these distinct, missing points while there is room, and return their number."""
        done = 0
        while done < len(vectors.points) and self.free():
            lo = self._filled % self._rows
            q = min(self._rows - lo, len(vectors.points) - done)
            vectors.engine.block(vectors.values(done, done + q), self.chunks[-1][lo : lo + q])
            self.place[vectors.points[done : done + q]] = np.arange(self._filled, self._filled + q)
            self._filled, done = self._filled + q, done + q
        return done

    def copy(self, points: np.ndarray, to: tuple[Columns, np.ndarray, np.ndarray]) -> None:
        """Copy values of points (q,) that have a segment with those of columns to a block and its rows (q,)."""
        columns, out, rows = to
        chunks, slots = np.divmod(self.place[points], self._rows)
        for k in np.unique(chunks) if len(self.chunks) > 1 else range(len(self.chunks)):
            here = chunks == k
            columns.copy((self.chunks[k], slots[here]), (out, rows[here]))

    def product(self, points: np.ndarray, coef: np.ndarray, of: np.ndarray) -> np.ndarray:
        """Return values of points with all of the class, or with points `of`, times coefficients: float64, (n, p).

        Parameters
        ----------
        points : ndarray of int64, shape (q,), points that have a segment
        coef : ndarray of shape (q, p), their coefficients
        of : ndarray of int64, shape (n,), points of the result; empty for all of the class
        """
        out = np.zeros((of.size or self._n, coef.shape[1]))
        chunks, slots = np.divmod(self.place[points], self._rows)
        order, weights = np.argsort(chunks, kind="stable"), coef.astype(self._dtype)
        ends = np.flatnonzero(np.diff(chunks[order])) + 1
        for here in np.split(order, ends) if len(order) else ():
            chunk = self.chunks[chunks[here[0]]]
            for lo in range(0, len(here), PARTIAL):
                some = here[lo : lo + PARTIAL]
                values = chunk[slots[some]] if of.size == 0 else chunk[np.ix_(slots[some], of)]
                out += values.T @ weights[some]
        return out
