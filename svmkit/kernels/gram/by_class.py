"""Kernel values shared by the class pairs of one-versus-one: values within a class are computed once for all pairs.

With k classes, the kernel values of a point with its own class occur in k - 1 class pairs, those with another class in
one. The unit is therefore the segment: the values of one point with the points of one class. An engine for each class
computes segments, a pool keeps the segments of points with their own class, and the engine of a class pair puts two
segments side by side, the points of its first class before those of its second.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from svmkit.kernels.engines.choice import engine_for
from svmkit.kernels.engines.contract import ALL, Engine
from svmkit.kernels.extent import Extent
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram.class_rows import CHUNK, Columns, Pool, Segments, Vectors
from svmkit.kernels.gram.gram import Gram

POOLED = 0.5  # the pool's share of the memory for kernel rows; the row cache of a class pair gets the rest
TOGETHER = 128  # points whose segments are computed together if the pool has no room
FIRST = np.zeros(1, dtype=np.int64)
WHOLE = 0.5  # share of a class from which on a segment is computed completely, so that it can be kept
SMALL = 1 << 19  # up to so many values, all those of two classes, or of one class with itself, are computed at once


class SharedKernel:
    """Kernel values of X (n, d), grouped by class; the kernel is resolved and not precomputed. `members` has the rows
    of X of each class, ascending, which are copied when values of the class are first requested. `memory` is the memory
    for kernel rows in bytes, for the pool and the row cache of one class pair together.
    """

    def __init__(self, kernel: Kernel, X, members: list[np.ndarray], memory: int) -> None:
        self.kernel, self.X, self.members, self.memory = kernel, X, members, memory
        self.pool = Pool(int(POOLED * memory))
        self._engines: dict[int, Engine] = {}

    def gram(self, a: int, b: int) -> SharedGram:
        """Return the Gram of classes a < b. Classes below a count as finished, and their values are dropped."""
        for c in [c for c in self._engines if c < a]:
            del self._engines[c]
            self.pool.release(c)
        return SharedGram(self, a, b)

    @cached_property
    def diag(self) -> np.ndarray:
        """k(x, x) of each row of X: float64, shape (n,)."""
        return self.kernel.diag(self.X)

    @cached_property
    def extent(self) -> Extent:
        """The extent of the rows of all classes, since rows of any two classes are evaluated together."""
        return Extent.measure(self.kernel, self.X, np.sort(np.concatenate(self.members)))

    def engine(self, c: int) -> Engine:
        """Return the engine of class c."""
        if c not in self._engines:
            self._engines[c] = engine_for(self.kernel, self.X[self.members[c]], self.extent)
        return self._engines[c]


class SharedGram(Gram):
    """The Gram of two classes of a SharedKernel. `kernel_values` counts only the values that are computed for it. Its
    kernel rows have the type that a Gram with all of the memory would choose.
    """

    engine: ClassPairEngine

    def __init__(self, shared: SharedKernel, a: int, b: int) -> None:
        engine, memory = ClassPairEngine(shared, a, b), shared.memory
        left = max(1, memory - shared.pool.memory - engine.between)
        dtype = np.float64 if 32 * engine.n**2 <= memory else np.float32
        super().__init__(shared.kernel, None, memory=left, dtype=dtype, engine=engine)

    @property
    def kernel_values(self) -> int:
        return self._asked - self.engine.spared

    @kernel_values.setter
    def kernel_values(self, value: int) -> None:
        self._asked = value + self.engine.spared


class ClassPairEngine(Engine):
    """The engine of the points of two classes, those of class a before those of class b. `Z` holds numbers of points.
    `spared` is the number of requested values that were known already, minus the values computed without a request, and
    `between` the size in bytes of the table that keeps values of class a with class b.
    """

    def __init__(self, shared: SharedKernel, a: int, b: int) -> None:
        self.kernel, self.spared = shared.kernel, 0
        self._shared, self._codes = shared, (a, b)
        self._sizes = (len(shared.members[a]), len(shared.members[b]))
        self._starts, self.n = (0, self._sizes[0]), sum(self._sizes)
        values = self._sizes[0] * self._sizes[1]  # kept in float32 and float64, of a with b and of b with a
        self.between = 24 * values if values <= SMALL and 24 * values <= shared.memory // 8 else 0
        self.batch, self.panel = shared.engine(a).batch, shared.engine(a).panel
        self._tables: dict[np.dtype, tuple[np.ndarray, np.ndarray]] = {}

    @property
    def error(self) -> float:
        return max(self._engine(0).error, self._engine(1).error)

    @property
    def largest(self) -> float:
        return max(self._engine(0).largest, self._engine(1).largest)

    @property
    def rows(self) -> np.ndarray:
        """Numbers of the two classes' points in X, shape (n,)."""
        return np.concatenate([self._shared.members[c] for c in self._codes])

    @cached_property
    def X(self):
        """The samples of the two classes, for problems that need no kernel values."""
        return self._shared.X[self.rows]

    def take(self, idx: np.ndarray) -> np.ndarray:
        return np.asarray(idx)

    def diag(self) -> np.ndarray:
        return self._shared.diag[self.rows]

    def block(self, Z, out, sel=ALL, rough=False):
        """Write kernel values to `out`, within a class from the shared segments that are kept.

        Parameters
        ----------
        Z, out, sel, rough : ndarray or CSR, ndarray, ndarray or None, bool
            As for `Engine.block`.
        """
        columns = self._columns(0, sel), self._columns(1, sel)
        for side, (rows, points) in self._sides(Z):
            vectors = Vectors(self._engine(side), points)
            if columns[side].width:
                self._write_own(side, vectors, columns[side], out, rows)
            if columns[1 - side].width:
                self._across(side, vectors, columns[1 - side], out, rows)
        return out

    def product(self, Z, coef, sel=ALL, dtype=np.float64):
        """Return K[sel, Z] @ coef, by classes; float32 values within a class from shared segments that are kept.

        Parameters
        ----------
        Z, coef, sel, dtype : ndarray or CSR, ndarray, ndarray or None, dtype or None
            As for `Engine.product`.
        """
        out = np.zeros((sel.size or self.n, coef.shape[1]))
        for source, (rows, points) in self._sides(Z):
            vectors, weights = Vectors(self._engine(source), points), coef[rows]
            for side in (0, 1):
                to = self._columns(side, sel)
                if to.width:
                    at = to.at if to.at.size else slice(to.first, to.first + to.width)
                    if side == source and dtype == np.float32:
                        out[at] += self._product_within(side, vectors, weights, to)
                    else:
                        out[at] += self._engine(side).product(vectors.values(), weights, to.of, dtype)
        return out

    def _engine(self, side: int) -> Engine:
        return self._shared.engine(self._codes[side])

    def _sides(self, idx: np.ndarray) -> list[tuple[int, tuple[np.ndarray, np.ndarray]]]:
        """Return (side, (positions in idx, numbers within the class)) for each class that has points in idx."""
        if len(idx) == 1:
            side = int(idx[0] >= self._sizes[0])
            return [(side, (FIRST, idx - self._starts[side]))]
        late = idx >= self._sizes[0]
        by_side = [np.flatnonzero(~late), np.flatnonzero(late)]
        return [(side, (at, idx[at] - self._starts[side])) for side, at in enumerate(by_side) if len(at)]

    def _columns(self, side: int, sel: np.ndarray) -> Columns:
        if sel.size == 0:
            return Columns(ALL, self._sizes[side], self._starts[side], ALL)
        at, of = dict(self._sides(sel)).get(side, (ALL, ALL))
        if len(at) == 0:
            return Columns(ALL, 0, 0, ALL)
        together = at[-1] - at[0] + 1 == len(at)
        return Columns(of, len(of), int(at[0]), ALL if together else at)

    def _write_own(self, side: int, vectors: Vectors, columns: Columns, out: np.ndarray, rows: np.ndarray) -> None:
        """Write values of points with their own class: complete segments for the pool, copies of the known ones."""
        kept, there = self._segments(side, vectors, columns, out.dtype)
        points = vectors.points
        if there.all():
            kept.copy(points, (columns, out, rows))
        elif not there.any():
            self._compute(side, vectors, columns, out, rows)
        else:
            kept.copy(points[there], (columns, out, rows[there]))
            self._compute(side, Vectors(vectors.engine, points[~there]), columns, out, rows[~there])

    def _product_within(self, side: int, vectors: Vectors, coef: np.ndarray, columns: Columns) -> np.ndarray:
        """Return the float32 values of points with their own class times coef (points, p): (width of columns, p)."""
        kept, there = self._segments(side, vectors, columns, np.dtype(np.float32))
        product = kept.product(vectors.points[there], coef[there], columns.of)
        if not there.all():
            rest = vectors.engine.take(vectors.points[~there])
            product += vectors.engine.product(rest, coef[~there], columns.of, np.float32)
        return product

    def _segments(self, side: int, vectors: Vectors, columns: Columns, dtype: np.dtype) -> tuple[Segments, np.ndarray]:
        """Return the pool's segments of a class after filling them, and which of the points are in them."""
        points, n = vectors.points, self._sizes[side]
        kept = self._shared.pool.segments((self._codes[side], dtype), n)
        there = kept.place[points] >= 0
        if not there.all() and columns.width >= WHOLE * n and kept.free():
            fresh = vectors
            if n * n <= SMALL:
                fresh = Vectors(vectors.engine, np.flatnonzero(kept.place < 0))
            elif len(points) > 1:
                fresh = Vectors(vectors.engine, np.unique(points[~there]))
            self.spared -= n * kept.fill(fresh)
            there = kept.place[points] >= 0
        self.spared += int(there.sum()) * columns.width
        return kept, there

    def _across(self, side: int, vectors: Vectors, columns: Columns, out: np.ndarray, rows: np.ndarray) -> None:
        """Write values of points with the other class, which are kept with the class pair if both are small."""
        if not self.between:
            self._compute(1 - side, vectors, columns, out, rows)
            return
        if out.dtype not in self._tables:
            values = np.empty(self._sizes, out.dtype)
            self._engine(1).block(self._engine(0).take(np.arange(self._sizes[0])), values)
            self._tables[out.dtype] = values, np.ascontiguousarray(values.T)
            self.spared -= values.size
        columns.copy((self._tables[out.dtype][side], vectors.points), (out, rows))
        self.spared += len(rows) * columns.width

    def _compute(self, side: int, vectors: Vectors, columns: Columns, out: np.ndarray, rows: np.ndarray) -> None:
        """Write values of points of any class with one class without keeping them."""
        engine, most = self._engine(side), min(TOGETHER, len(rows))
        if len(out) == 1 and not columns.at.size:
            engine.block(vectors.values(), out[:, columns.first : columns.first + columns.width], columns.of)
            return
        for top in range(0, len(rows), most):
            here = rows[top : top + most]
            values = vectors.values(top, top + len(here))
            for part in columns.parts(CHUNK // (most * out.itemsize)):
                block = engine.block(values, np.empty((len(here), part.width), out.dtype), part.of)
                part._replace(of=ALL).copy((block, np.arange(len(here))), (out, here))
