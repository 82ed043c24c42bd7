"""CompleteGram: a class pair all of whose kernel rows fit in memory, computed by compiled loops when they need them.

Everyday sets are of this kind. A solver whose steps run in compiled code then never returns to Python for a kernel row,
and certificates are computed from the rows already available.
"""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.kernels.engines.choice import engine_for
from svmkit.kernels.engines.contract import ALL, Engine
from svmkit.kernels.engines.products import DenseEngine
from svmkit.kernels.forms import Argument
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.kernels.gram.gram import Gram
from svmkit.kernels.gram.semidefinite import Definiteness, examine
from svmkit.kernels.loops import complete_rows
from svmkit.kernels.loops.complete_rows import FromDense, FromMatrix, Slab, combine, mirror
from svmkit.kernels.loops.given import gather
from svmkit.kernels.loops.row_table import RowTable
from svmkit.kernels.rounding import U

PART = 4  # divisor of the memory for kernel rows: what a class pair may take
OF_ALL = 2  # the same for the matrix of all samples
LARGEST = 8000  # samples of a class pair: steps on more of them are worth the threads and the blocks of other engines
WIDE = 100  # entries of a row from which on all values are computed at once: matrix products are then much faster
WIDER = 3  # factor of it for more than two classes, whose pairs need parts of the rows and use all threads anyway
PANEL = 256  # kernel rows of the matrix that are computed together
MIRRORED = 16  # entries of a row from which on it is faster to copy a value than to compute it
BETWEEN = 0.1  # density from which on sparse rows are stored as dense ones
ROUNDED = 16  # unit roundoffs of the largest kernel value by which a given matrix may differ from its symmetric part
COPY = 1 << 26  # entries of a dense copy of sparse samples, at most


def has_room(n: int, memory: int) -> bool:
    """Return whether the kernel rows of n samples may be kept within the memory for kernel rows, in bytes."""
    return n <= LARGEST and 8 * n * n <= memory // PART


def _serves_as_matrix(engine: Engine) -> bool:
    """Return whether compiled loops take a given kernel matrix directly: symmetric but for rounding, not read-only."""
    X = engine.X
    if not (isinstance(X, np.ndarray) and X.dtype == np.float64 and X.flags.c_contiguous and X.flags.behaved):
        return False
    return engine.error <= ROUNDED * U * engine.largest


class CompleteKernel:
    """Samples X (n, d) sorted by class, and the kernel rows of their class pairs; of a precomputed kernel X is (n, n).

    Parameters
    ----------
    kernel, X, members, memory : as for `SharedKernel`
    one : bool, whether one group of samples takes part in several problems: its values are computed at once if they fit
    known : CompleteKernel, of these samples and others, whose matrix contains this one, if there is one
    """

    def __init__(
        self,
        kernel: Kernel,
        X,
        members: list[np.ndarray],
        memory: int,
        *,
        one: bool = False,
        known: CompleteKernel | None = None,
    ) -> None:
        self.kernel, self.memory = kernel, memory
        sizes = np.array([len(rows) for rows in members])
        self.sizes, self.starts = sizes, sizes.cumsum() - sizes
        two = len(members) <= 2  # of one pair, and in regression, the samples stay in the order of the data
        order = np.sort(np.concatenate(members)) if two else np.concatenate(members)
        self.order, self.m = order, len(order)
        size = X.shape[0] * X.shape[1]
        if sp.issparse(X) and not isinstance(kernel, Precomputed) and BETWEEN * size < X.nnz and size <= COPY:
            X = X.toarray()  # whose rows are read much faster
        if not (two and self.m == X.shape[0]):
            X = kernel.take_rows(X, order) if isinstance(kernel, Precomputed) else X[order]
        self.engine: Any = engine_for(kernel, X)
        self.entries = X.nnz / max(self.m, 1) if sp.issparse(X) else X.shape[1]
        fits = 8 * self.m * self.m <= memory // OF_ALL
        products = kernel.form is not None and kernel.form.argument is not Argument.L1
        # whether loops can compute single rows; whether the values of all samples are computed at once, in one matrix
        self.by_row = products and isinstance(self.engine, DenseEngine) and not self.engine.cancels
        self.whole = fits and not (not one and self.by_row and self.entries < (WIDE if two else WIDER * WIDE))
        # whether values of the matrix are copied across its diagonal; those of a kernel without a form take longer
        self.mirrored = kernel.form is None or self.entries >= MIRRORED
        self.known = known if known is not None and self.whole and "matrix" in vars(known) else None
        self.lock = threading.Lock()

    def holds(self, n: int) -> bool:
        """Return whether all kernel rows of a class pair of n samples fit."""
        return has_room(n, self.memory) and (self.whole or self.by_row)

    def most_at_once(self, n: int) -> int:
        """Return how many class pairs of n samples may be trained at the same time, at least 1."""
        left = self.memory - (8 * self.m * self.m if self.whole else 0)
        return max(1, left // (8 * n * n))

    @property
    def error(self) -> float:
        """A bound on the error of each kernel value."""
        own = self.engine.error
        return own if self.known is None else max(own, self.known.error)

    @cached_property
    def diag(self) -> np.ndarray:
        """k(x, x) of each sample, in order: float64, shape (m,)."""
        return self.engine.diag()

    @cached_property
    def definiteness(self) -> Definiteness:
        """What is known about the matrix of all samples, and so of each part of it if it has no flaw."""
        return examine(self.engine, self.diag, self.memory)

    @cached_property
    def matrix(self) -> np.ndarray:
        """The kernel values of all samples: float64, shape (m, m)."""
        if self.known is not None:
            at = np.searchsorted(self.known.order, self.order, sorter=np.argsort(self.known.order))
            at = np.argsort(self.known.order)[at]
            return self.known.matrix[np.ix_(at, at)]
        if isinstance(self.kernel, Precomputed) and _serves_as_matrix(self.engine):
            return self.engine.X
        K, engine = np.empty((self.m, self.m)), self.engine
        every = np.arange(self.m)
        for lo in range(0, self.m, PANEL):
            hi = min(self.m, lo + PANEL)
            rows = engine.take(every[lo:hi])
            if not self.mirrored:
                engine.block(rows, K[lo:hi])
            else:  # the values on one side of the diagonal are those on the other
                engine.block(rows, K[lo:hi, lo:], every[lo:])
                mirror(K, lo, hi)
        np.fill_diagonal(K, self.diag)
        return K

    @staticmethod
    def prepare(gram: Gram) -> int:
        """Compute what all class pairs share, on all threads; return the number of kernel values computed."""
        assert isinstance(gram, CompleteGram)
        return int(gram.slab.done[1])

    @cached_property
    def columns(self) -> np.ndarray:
        """The columns of the samples less the origin, one after the other, as in `FromDense`."""
        X, origin = self.engine.X, self.engine.origin
        T = np.zeros((-(-X.shape[1] // 8) * 8, self.m))
        np.subtract(X.T, origin[:, None], out=T[: X.shape[1]]) if origin.size else np.copyto(T[: X.shape[1]], X.T)
        return T.ravel()

    def where(self, a: int, b: int) -> tuple[int, int, int, int]:
        """Return first sample and size of each of the classes a < b; if there is one class only, those of all
        samples.
        """
        if len(self.sizes) <= 2:
            return 0, self.m, 0, 0
        return int(self.starts[a]), int(self.sizes[a]), int(self.starts[b]), int(self.sizes[b])

    def places(self, pairs: np.ndarray) -> np.ndarray:
        """Return the result of `where`, int64 (n, 4), for each of n class pairs, int (n, 2)."""
        if len(self.sizes) <= 2:
            return np.tile(np.array([0, self.m, 0, 0], dtype=np.int64), (len(pairs), 1))
        return np.array([self.starts, self.sizes], dtype=np.int64).T[pairs].reshape(-1, 4)

    def source(self, where: tuple[int, int, int, int]) -> tuple[FromMatrix | FromDense, int]:
        """Return where the kernel rows of a class pair come from, and how many values have been computed for it."""
        if not self.whole:
            form, gamma, coef0, degree = self.kernel.scalars
            return FromDense(self.columns, self.engine.sq, self.diag, form, gamma, coef0, degree, *where), 0
        values = 0
        if "matrix" not in vars(self) and self.known is None:
            starts = np.arange(0, self.m, PANEL)
            lengths = self.m - starts if self.mirrored else self.m
            values = int((np.minimum(PANEL, self.m - starts) * lengths).sum())
        return FromMatrix(self.matrix, *where), values

    def gram(self, a: int, b: int) -> CompleteGram:
        """Return the Gram of the classes a < b: in the order of the data if there are no others, else a before b."""
        return CompleteGram(self, self.where(a, b))


class CompleteEngine(Engine):
    """The engine of a class pair, whose kernel rows are kept. `Z` holds numbers of its samples."""

    def __init__(self, shared: CompleteKernel, where: tuple[int, int, int, int]) -> None:
        self.kernel, self.shared, self.where = shared.kernel, shared, where
        self.n = self.panel = where[1] + where[3]

    @cached_property
    def _made(self) -> tuple[FromMatrix | FromDense, Slab]:
        n = self.n
        with self.shared.lock:
            source, values = self.shared.source(self.where)
        if n == self.shared.m and isinstance(source, FromMatrix):
            return source, Slab(source.K, np.arange(n), np.array([n, values]))
        return source, Slab(np.empty((n, n)), np.full(n, -1), np.array([0, values]))

    @property
    def source(self) -> FromMatrix | FromDense:
        """Where kernel rows come from."""
        return self._made[0]

    @property
    def slab(self) -> Slab:
        """The kernel rows."""
        return self._made[1]

    def _select(self, values: np.ndarray) -> np.ndarray:
        """Return the entries of the class pair among values of all samples, in order."""
        a, n_a, b, n_b = self.where
        return np.concatenate([values[a : a + n_a], values[b : b + n_b]]) if n_b else values[a : a + n_a]

    @property
    def error(self) -> float:
        return self.shared.error

    @property
    def largest(self) -> float:
        return self.shared.engine.largest

    @property
    def excess(self) -> float:
        return self.shared.engine.excess

    @cached_property
    def X(self):
        """The samples, for problems that need no kernel values."""
        return self.shared.engine.X[self._select(np.arange(self.shared.m))]

    @property
    def rows(self) -> np.ndarray:
        """The rows of the data, shape (n,)."""
        return self._select(self.shared.order)

    def take(self, idx):
        return np.asarray(idx)

    def diag(self) -> np.ndarray:
        return self._select(self.shared.diag)

    def fill(self, idx: np.ndarray) -> np.ndarray:
        """Return the slots of the kernel rows `idx`; missing rows are computed."""
        slots = self.slab.slot_of[idx]
        if (slots < 0).any():  # so that `fill` is compiled only if it is needed
            complete_rows.fill(self.source, self.slab, idx)
            slots = self.slab.slot_of[idx]
        return slots

    def block(self, Z, out, sel=ALL, rough=False):
        """Write values of the kernel rows of Z to `out`; missing rows are computed.

        Parameters
        ----------
        Z, out, sel, rough : ndarray or CSR, ndarray, ndarray or None, bool
            As for `Engine.block`.
        """
        slots = self.fill(Z)
        if sel.size:
            return gather(self.slab.rows, slots, sel, out)
        out[:] = self.slab.rows[slots]
        return out

    def square(self, at, out):
        if self.shared.whole or (self.slab.slot_of[at] >= 0).all():
            return super().square(at, out)
        of_all, engine = self._select(np.arange(self.shared.m))[at], self.shared.engine
        return engine.block(engine.take(of_all), out, of_all)  # rows of all samples would take longer

    def product(self, Z, coef, sel=ALL, dtype=np.float64):
        """Return K[sel, Z] @ coef from the kernel rows of Z, in float64 whatever `dtype` is.

        Parameters
        ----------
        Z, coef, sel, dtype : ndarray or CSR, ndarray, ndarray or None, dtype or None
            As for `Engine.product`.
        """
        self.fill(Z)
        out = np.empty((coef.shape[1], self.n))
        for column, sums in zip(np.ascontiguousarray(coef.T), out, strict=True):
            combine(self.slab, Z, column, sums)
        return out.T[sel] if sel.size else out.T


class CompleteGram(Gram):
    """The Gram of a class pair all of whose kernel rows fit in memory; each is computed once, when it is needed."""

    engine: CompleteEngine

    def __init__(self, shared: CompleteKernel, where: tuple[int, int, int, int]) -> None:
        engine = CompleteEngine(shared, where)
        super().__init__(shared.kernel, None, memory=shared.memory, dtype=np.float64, engine=engine)

    @cached_property
    def definiteness(self) -> Definiteness:
        shared = self.engine.shared
        if self.m < shared.m and self.kernel.semidefinite is None:  # one examination for all class pairs
            with shared.lock:
                found = shared.definiteness
            if found.flaw is None:
                return found
        return super().definiteness

    @property
    def slab(self) -> Slab:
        """The kernel rows."""
        return self.engine.slab

    @property
    def kernel_values(self) -> int:
        return int(self.slab.done[1]) if "_made" in vars(self.engine) else 0

    @kernel_values.setter
    def kernel_values(self, value: int) -> None:
        """Ignore the count of requested values: only computed rows count."""

    def matvec(self, coef, idx, at=ALL, dtype=np.float64):
        """Return K[at, idx] @ coef from the stored kernel rows.

        Parameters
        ----------
        coef, idx, at, dtype
            As for `Gram.matvec`.
        """
        if len(idx) == 0:
            return np.zeros((at.size or self.m, *coef.shape[1:]))
        product = self.engine.product(idx, coef.reshape(len(idx), -1), at, dtype)
        return product.reshape(len(product), *coef.shape[1:])

    def row(self, i: int, likely=None) -> np.ndarray:
        return self.slab.rows[self.engine.fill(np.array([i]))[0]]

    def bring(self, idx: np.ndarray) -> None:
        self.engine.fill(idx)

    def promote(self) -> bool:
        return False

    @property
    def row_table(self) -> RowTable:
        rows, slot_of, _ = self.slab
        unused = np.zeros(self.m, np.int64), np.zeros(self.m, np.bool_), np.zeros(1, np.int64), np.zeros(1)
        return RowTable(rows, slot_of, *unused, quantum=0.0)
