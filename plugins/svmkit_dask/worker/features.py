"""The features of a part as a problem sees them: scaled, as wide as those of all parts, with the engines of kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.kernels.engines import Engine, engine_for, with_int32_indices
from svmkit.kernels.extent import Extent
from svmkit.kernels.functions import Kernel
from svmkit_dask.parts.part import Part


class Space(NamedTuple):
    """Where all parts of a set of data lie, and the kernel on it."""

    kernel: Kernel  # the kernel, resolved on all parts
    extent: Extent  # that of the samples of all parts
    width: int  # the number of columns after preprocessing
    preprocessing: Preprocessing | None = None  # the scaling, learnt from all parts

    def features(self, X):
        """Return rows as they were read, scaled and as wide as the space."""
        if X.shape[1] < self.width and sp.issparse(X):
            X = sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], self.width))
        if self.preprocessing is not None:
            X = self.preprocessing.apply(X)
        return with_int32_indices(X)


class Features:
    """The features of one part in a space, block by block; those of a part in memory are kept as they are used."""

    def __init__(self, part: Part, space: Space) -> None:
        self.part, self.space = part, space
        self._kept: list[tuple[int, Engine]] | None = None

    def engines(self) -> Iterator[tuple[int, Engine]]:
        """Yield the first row of each block and the engine of its rows, in order."""
        if self._kept is not None:
            yield from self._kept
            return
        kept = []
        for first, X in self.part.blocks():
            engine = engine_for(self.space.kernel, self.space.features(X), self.space.extent)
            if self.part.is_in_memory:
                kept.append((first, engine))
            yield first, engine
        if self.part.is_in_memory:
            self._kept = kept

    def take(self, rows: np.ndarray):
        """Return some rows of the part, int64 in any order, as the problem sees them."""
        return self.space.features(self.part.take(rows))

    def product(self, at: np.ndarray, Z, coef: np.ndarray, dtype=np.float64) -> tuple[np.ndarray, int]:
        """Return K(X[at], Z) @ coef for the rows `at`, ascending, shape (len(at),), and the number of values computed.

        Parameters
        ----------
        at : ndarray of int64, shape (n,)
            The rows of the part that take part in the problem.
        Z : ndarray or CSR of shape (q, width)
            Vectors, as `take` returns them.
        coef : ndarray of float64, shape (q,)
            Their coefficients.
        dtype : {float64, float32}, default=float64
            As for `Engine.product`.
        """
        out = np.zeros(len(at))
        if len(coef):
            for here, engine, sel in self._cut(at):
                out[here] = engine.product(Z, coef[:, None], sel, dtype)[:, 0]
        return out, len(at) * len(coef)

    def diag(self, at: np.ndarray) -> np.ndarray:
        """Return k(x, x) of the rows `at`, float64 (n,)."""
        out = np.empty(len(at))
        for here, engine, sel in self._cut(at):
            out[here] = engine.diag()[sel]
        return out

    def bounds(self) -> tuple[float, float, int]:
        """Return what `svmkit.problems.box_sums.Bounds` asks of the engines: value, largest and panel of any block."""
        kept = [(engine.error, engine.largest, engine.panel) for _, engine in self.engines()]
        error, largest, panel = zip(*kept, strict=True) if kept else ((0.0,), (0.0,), (1,))
        return max(error), max(largest), max(panel)

    def _cut(self, at: np.ndarray) -> Iterator[tuple[slice, Engine, np.ndarray]]:
        """Yield, for each block with rows of `at`, their positions in `at`, the engine, and the rows within the block.

        An engine takes an empty selection for all of its rows.
        """
        for first, engine in self.engines():
            lo, hi = np.searchsorted(at, [first, first + engine.n])
            if hi > lo:
                yield slice(lo, hi), engine, at[lo:hi] - first
