"""X on a device, dense or CSR: some of its rows as a tensor of one precision, less an origin."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch

from svmkit.data.prepare.device_arrays import source_of

SCARCE = 0.05  # share of stored entries below which a product with CSR is faster than with a dense tile


class Rows(ABC):
    """Rows (n, d) on a device; `entries` is the largest number of entries in a row, and `sparse` says whether they are
    CSR.
    """

    sparse: bool = False
    scarce: bool = False  # whether products are computed from the stored entries

    def __init__(self, n: int, d: int, device: torch.device) -> None:
        self.n, self.d, self.device = n, d, device

    @property
    def width(self) -> int:
        """The numbers per row in a product."""
        return self.d

    @property
    @abstractmethod
    def entries(self) -> int:
        """The largest number of entries of a row that take part in a sum."""

    @abstractmethod
    def dense(self, at: Any, dtype: torch.dtype, origin: torch.Tensor | None = None) -> torch.Tensor:
        """Return some rows as a dense tensor.

        Parameters
        ----------
        at : slice or tensor of int64
            The rows.
        dtype : torch.dtype
            Type of the result.
        origin : tensor of float64, shape (d,) or (0,), optional
            The vector that is subtracted, in float64, if rows are dense.
        """

    @abstractmethod
    def largest(self) -> float:
        """Return the largest absolute value."""

    def product_rows(self, at: Any, dtype: torch.dtype, origin: torch.Tensor, part: Part | None = None) -> torch.Tensor:
        """Return some rows as `dense` does, or as a sparse CSR tensor if products with it are faster.

        Parameters
        ----------
        at, dtype, origin : object
            As for `dense`.
        part : Part, optional
            The vectors in the product; if they are scarce, the rows are restricted to their columns.
        """
        return self.dense(at, dtype, origin)

    def norms(self, at: Any, origin: torch.Tensor) -> torch.Tensor:
        """Return |x - origin|^2 of the rows `at` in float64."""
        rows = self.dense(at, torch.float64, origin)
        return torch.linalg.vecdot(rows, rows)


class DenseRows(Rows):
    """Rows of a dense tensor X (n, d), which is not copied."""

    def __init__(self, X: torch.Tensor) -> None:
        super().__init__(*X.shape, X.device)
        self.X = X

    @property
    def entries(self) -> int:
        return self.d

    def largest(self):
        return _largest(self.X)

    def dense(self, at, dtype, origin=None):
        """Return some rows, less the origin.

        Parameters
        ----------
        at, dtype, origin
            As for `Rows.dense`.
        """
        rows = self.X[at]
        if origin is not None and origin.numel():
            rows = rows.to(torch.float64) - origin
        return rows.to(dtype)


class SparseRows(Rows):
    """Rows of a CSR matrix: pointers and column numbers, and the values of both precisions once they are needed."""

    sparse = True

    def __init__(self, shape: tuple[int, int], pointers, columns, entries: torch.Tensor) -> None:
        super().__init__(*shape, entries.device)
        self.pointers, self.columns, self._entries = pointers, columns, {entries.dtype: entries}
        self._given = entries
        self.counts = pointers[1:] - pointers[:-1]

    @cached_property
    def entries(self) -> int:
        return int(self.counts.max()) if self.n else 0

    def largest(self):
        return _largest(self._given)

    @property
    def mean(self) -> int:
        """The mean number of entries in a row, at least 1."""
        return max(1, len(self.columns) // max(1, self.n))

    @property
    def width(self) -> int:
        return min(self.d, 4 * self.mean) if self.scarce else self.d

    @cached_property
    def scarce(self) -> bool:  # type: ignore[override]
        able = self.device.type in ("cpu", "cuda", "xpu")
        return able and len(self.columns) < SCARCE * self.n * self.d

    def _entries_in(self, dtype: torch.dtype) -> torch.Tensor:
        if dtype not in self._entries:
            self._entries[dtype] = self._given.to(dtype)
        return self._entries[dtype]

    def _positions(self, at: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the positions of the entries of rows `at`, and the pointers of a CSR matrix of these rows."""
        counts = self.counts[at]
        pointers = torch.zeros(len(at) + 1, dtype=torch.int64, device=self.device)
        torch.cumsum(counts, 0, out=pointers[1:])
        shift = torch.repeat_interleave(self.pointers[:-1][at] - pointers[:-1], counts)
        return torch.arange(len(shift), device=self.device) + shift, pointers

    def csr(self, at, dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return pointers, column numbers and values of the rows `at`."""
        if isinstance(at, slice):
            lo, hi, _ = at.indices(self.n)
            pointers = self.pointers[lo : hi + 1] - self.pointers[lo]
            here = slice(int(self.pointers[lo]), int(self.pointers[hi]))
        else:
            here, pointers = self._positions(at)
        return pointers, self.columns[here], self._entries_in(dtype)[here]

    def dense(self, at, dtype, origin=None):
        """Return some rows as a dense tensor, from which no origin is subtracted.

        Parameters
        ----------
        at, dtype, origin
            As for `Rows.dense`.
        """
        pointers, columns, entries = self.csr(at, dtype)
        n = len(pointers) - 1
        row = torch.repeat_interleave(torch.arange(n, device=self.device), pointers[1:] - pointers[:-1])
        rows = torch.zeros((n, self.d), dtype=dtype, device=self.device)
        rows[row, columns] = entries
        return rows

    def product_rows(self, at, dtype, origin, part=None):
        """Return some rows as a sparse CSR tensor if few entries are stored (`scarce`), else as a dense one.

        Parameters
        ----------
        at, dtype, origin, part
            As for `Rows.product_rows`.
        """
        if not self.scarce:
            return self.dense(at, dtype)
        pointers, columns, entries = self.csr(at, dtype)
        shape = (len(pointers) - 1, self.d)
        if part is not None and part.places is not None:
            columns, shape = part.places[columns], (shape[0], part.values.shape[1])
        return torch.sparse_csr_tensor(pointers, columns, entries, shape, check_invariants=False)

    def split(self, at, part: Part, square: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """Return some rows in the columns of vectors, dense, and the sums of their entries in other columns, (n,).

        Parameters
        ----------
        at : slice or tensor of int64
            The rows.
        part : Part
            The vectors, which have `places`.
        square : bool
            Whether squares are summed, rather than absolute values.
        """
        assert part.places is not None
        pointers, columns, entries = self.csr(at, part.values.dtype)
        counts, q = pointers[1:] - pointers[:-1], part.values.shape[1]
        row, column = (
            torch.repeat_interleave(torch.arange(len(counts), device=self.device), counts),
            part.places[columns],
        )
        rows = torch.zeros((len(counts), q), dtype=entries.dtype, device=self.device)
        rows[row, column] = entries
        rest = torch.where(column == q - 1, entries.square() if square else entries.abs(), 0.0)
        sums = torch.segment_reduce(rest, "sum", lengths=counts, unsafe=True, initial=0.0)
        return rows[:, :-1], sums

    def norms(self, at, origin):
        pointers, _, entries = self.csr(at, torch.float64)
        counts = pointers[1:] - pointers[:-1]
        return torch.segment_reduce(entries.square(), "sum", lengths=counts, unsafe=True, initial=0.0)


def _largest(values: torch.Tensor) -> float:
    return float(torch.stack(values.aminmax()).abs().max()) if values.numel() else 0.0


def rows_on(X: Any, device: torch.device) -> Rows:
    """Return the rows of X on a device; a tensor that is already there is not copied.

    Parameters
    ----------
    X : ndarray, CSR or tensor of shape (n, d), float32 or float64
        The samples.
    device : torch.device
        The device.
    """
    source = source_of(X)  # the array of a device, which is not copied there again
    if source is not None:
        X = source if isinstance(source, torch.Tensor) else torch.from_dlpack(source)
    if isinstance(X, torch.Tensor):
        return DenseRows(X.detach().to(device))
    if not sp.issparse(X):
        return DenseRows(torch.as_tensor(np.ascontiguousarray(X), device=device))
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    index = [torch.as_tensor(part.astype(np.int64, copy=False), device=device) for part in (X.indptr, X.indices)]
    return SparseRows(X.shape, *index, torch.as_tensor(X.data, device=device))


class Taken:
    """Some rows on a device, `idx` (q,), for any engine there; slices have this class, too."""

    def __init__(self, rows: Rows, idx: torch.Tensor) -> None:
        self.rows, self.idx, self.shape = rows, idx, (len(idx), rows.d)

    def __getitem__(self, some: slice) -> Taken:
        return Taken(self.rows, self.idx[some])


class Part(NamedTuple):
    """Some vectors on a device.

    Attributes
    ----------
    values : tensor of shape (q, width)
        The vectors less the origin, dense: all d columns, or the columns with entries and one of zeros.
    sq : tensor of shape (q,)
        Their |z|^2.
    places : tensor of int64, shape (d,), or None
        The place of each of the d columns among those of `values`, the last one for a column without entries; None for
        all.
    """

    values: torch.Tensor
    sq: torch.Tensor
    places: torch.Tensor | None = None


class Vectors:
    """The `n` vectors passed to an engine on a device, dense or CSR, on the host or as rows of a device.

    Parameters
    ----------
    Z : Taken, ndarray, CSR or tensor of shape (n, d)
        The vectors.
    device : torch.device
        The device.
    origin : tensor of float64, shape (d,) or (0,)
        The vector that is subtracted from them.
    scarce : bool, default=False
        Whether sparse vectors are made dense only in the columns with entries.
    """

    def __init__(self, Z: Any, device: torch.device, origin: torch.Tensor, scarce: bool = False) -> None:
        self.Z, self.n, self.device, self.origin, self.scarce = Z, Z.shape[0], device, origin, scarce

    def part(self, here: slice, dtype: torch.dtype) -> Part:
        """Return the vectors of a slice, of this type."""
        if self.scarce and isinstance(self.Z, Taken) and isinstance(self.Z.rows, SparseRows):
            return _pack_columns(*self.Z.rows.csr(self.Z.idx[here], dtype), self.Z.rows.d)
        if self.scarce and sp.issparse(self.Z):
            Z = rows_on(self.Z[here], self.device)
            assert isinstance(Z, SparseRows)
            return _pack_columns(*Z.csr(slice(None), dtype), Z.d)
        if isinstance(self.Z, Taken):
            part = self.Z.rows.dense(self.Z.idx[here], dtype, self.origin).to(self.device)
        else:
            part = self.Z[here]
            part = torch.as_tensor(part.toarray() if sp.issparse(part) else part, device=self.device)
            part = DenseRows(part).dense(slice(None), dtype, self.origin)
        return Part(part, torch.linalg.vecdot(part, part))


def _pack_columns(pointers: torch.Tensor, columns: torch.Tensor, entries: torch.Tensor, d: int) -> Part:
    """Return the rows of a CSR matrix of d columns, dense in the columns that have entries."""
    used, place = columns.unique(return_inverse=True)
    counts, device = pointers[1:] - pointers[:-1], entries.device
    values = torch.zeros((len(counts), len(used) + 1), dtype=entries.dtype, device=device)
    values[torch.repeat_interleave(torch.arange(len(counts), device=device), counts), place] = entries
    places = torch.full((d,), len(used), device=device)
    places[used] = torch.arange(len(used), device=device)
    return Part(values, torch.linalg.vecdot(values, values), places)


def _warn_nobody() -> None:
    """Silence torch's one-time warnings about read-only arrays and about sparse CSR tensors."""
    only_read = np.zeros(1)
    only_read.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.as_tensor(only_read)
        torch.sparse_csr_tensor(torch.tensor([0, 1]), torch.tensor([0]), torch.tensor([1.0]), (1, 1))


_warn_nobody()
