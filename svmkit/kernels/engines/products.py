"""The engines for kernels with a `Form`, by products or by differences of rows, for dense and CSR storage."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.data.prepare.features import stored_entries
from svmkit.kernels.engines import few
from svmkit.kernels.engines.contract import ALL, PANEL, PANEL_BYTES, Engine, with_int32_indices
from svmkit.kernels.extent import (
    FAR,
    FARTHEST,
    LARGEST,
    NOWHERE,
    SMALLEST,
    Extent,
    fits_float32_rows,
    require_computable,
)
from svmkit.kernels.forms import Argument, Form, difference_error
from svmkit.kernels.functions import Kernel
from svmkit.kernels.loops.norms import square_norms
from svmkit.kernels.rounding import CANCELS, largest_value, value_error
from svmkit.runtime.mapping import windows
from svmkit.runtime.threads import spread

COPY_BYTES = 256 << 20  # size of the largest copy of a sparse X that is made for speed
LINE = 64  # bytes of a cache line
ADDED = 1e-13  # usual error of a value by products that columns which are not subtracted may add
MIXED = 16  # columns, and rows, from which on distances may be summed from differences and products
FULL = 64  # columns per stored entry of a row up to which rows are multiplied with their zeros
NEITHER = np.empty((0, 0, 0))  # no products of a tile's rows with other coefficients
PAYS = 0.8  # ratio of entries read by columns to entries read by rows at equal cost: reads by column are scattered


class _Products(Engine):
    """Base of the engines for kernels that are a function of x.z and the norms, or of the l1 distance.

    `origin` (d,) is subtracted from all vectors, empty for 0; `sq` (n,) has |x - origin|^2 of each row of X, and
    `reach` is the largest such norm of the vectors that are evaluated together. Values that sums and products would
    lose are computed from differences (`cancels`); `single` and `rough_single` say whether float32 suffices, and
    whether it does for values that are only summed.
    """

    symmetric = True

    def __init__(self, kernel: Kernel, X, extent: Extent | None) -> None:
        super().__init__(kernel, X, extent)
        assert kernel.form is not None
        self.form, self.scalars = kernel.form, kernel.scalars  # a property takes longer than a short row
        norms = None
        if extent is None:
            extent = Extent.measure(kernel, self.X)
            norms = extent.norms
        self.origin, self.sq = extent.origin, square_norms(self.X, extent.origin) if norms is None else norms
        # for rows that have not been read yet, the extent has only a bound
        self.reach = reach = max(extent.reach, float(self.sq.max(initial=0.0))) if norms is None else extent.reach
        require_computable(kernel, reach)
        exponent = self.scalars.gamma * self.form.distance(X.shape[1], reach)
        self.cancels = self.form.is_radial and self._summed_error() > CANCELS
        if self.cancels:
            self.origin = NOWHERE  # a difference is more exact with fewer roundings before it
        # |x|^2 + |z|^2 - 2 x.z loses the digits that float32 cannot hold next to |x|^2, and so does an l1 distance that
        # is summed up from |z|_1
        held = reach <= LARGEST and SMALLEST <= self.scalars.gamma <= LARGEST and fits_float32_rows(self.largest)
        fits = not self.cancels and held
        self.single = fits and not exponent > FAR
        self.rough_single = self.single or (fits and self.form.argument is Argument.SQUARE and not exponent > FARTHEST)

    def diag(self):
        if self.form.is_radial or self.origin.size or type(self.kernel).diag is not Kernel.diag:
            return super().diag()
        if self.form is Form.LINEAR:
            return self.sq
        with np.errstate(over="ignore"):  # the norms are already known
            return self.form.apply(self.sq.copy(), self.scalars)

    @cached_property
    def entries(self) -> int:
        """The largest number of entries of a row that take part in a sum."""
        if not sp.issparse(self.X):
            return self.X.shape[1]
        ends = self.X.indptr
        return int((ends[1:] - ends[:-1]).max(initial=0))

    @cached_property
    def error(self) -> float:
        if not self.cancels:
            return self._summed_error()
        own = difference_error(self.scalars, 2 * self.entries if sp.issparse(self.X) else self.entries)
        return own + (ADDED if self.form.argument is Argument.SQUARE and self.X.shape[1] >= MIXED else 0.0)

    @cached_property
    def _largest_entries(self) -> np.ndarray:
        """The largest |x_k| of each column (d,), in float64."""
        X, most = self.X, np.zeros(self.X.shape[1])
        for lo, hi in windows(X):
            part = abs(X[lo:hi]).max(axis=0)
            np.maximum(most, part.toarray().ravel() if sp.issparse(part) else part, out=most)
        return most

    def _columns_apart(self, Z: np.ndarray) -> np.ndarray | None:
        """Return the columns in which X and dense Z have to be subtracted; None if that saves no work.

        In all others |x|^2 + |z|^2 - 2 x.z is exact enough: gamma times the sum of their largest squares is small.
        Often only a few columns spoil the products, such as counts of bytes beside shares.
        """
        d = self.X.shape[1]
        if self.form.argument is not Argument.SQUARE or d < MIXED or min(self.n, len(Z)) < MIXED:
            return None
        if sp.issparse(self.X) and d > FULL * self.X.nnz / self.n:  # most entries of a product would be zeros
            return None
        with np.errstate(over="ignore"):
            most = np.square(np.maximum(self._largest_entries, np.abs(Z).max(axis=0)))
            order = np.argsort(most, kind="stable")
            sums = np.cumsum(most[order])
        n_light = bisect_right(sums, ADDED, key=lambda reach: value_error(self.kernel, d, reach))
        return np.sort(order[n_light:]) if d - n_light <= d // 4 else None

    @cached_property
    def largest(self) -> float:
        return largest_value(self.kernel, self.entries, self.reach)

    def _summed_error(self) -> float:
        """Return the bound on the error of values computed from sums and products."""
        # |x|_1 <= sqrt(entries) |x|
        l1 = float(np.sqrt(self.entries * self.reach)) if sp.issparse(self.X) else None
        return value_error(self.kernel, self.entries, self.reach, l1)

    def _precision(self, asked, rough: bool = False) -> np.dtype:
        """Return the precision in which to compute values that were requested in precision `asked`."""
        return np.dtype(asked if self.single or (rough and self.rough_single) else np.float64)

    def product(self, Z, coef, sel=ALL, dtype=np.float64):
        """Return K(X[sel], Z) @ coef, by compiled loops over one panel of Z at a time.

        Parameters
        ----------
        Z, coef, sel, dtype : ndarray or CSR, ndarray, ndarray or None, dtype or None
            As for `Engine.product`.
        """
        out = np.zeros((self._count(sel), coef.shape[1]))
        for here, panel in self._panels(Z, self._precision(dtype, rough=True)):
            weights = np.ascontiguousarray(coef[here], dtype=panel[0].dtype)
            self._add(panel, weights, sel, out, weights, NEITHER)
        return out

    def _short(self, Z, sel) -> bool:
        """Whether the values of these rows with Z are computed without compiled loops."""
        return False

    def self_product(self, idx, coef, dtype=np.float64):
        """Return K(X[idx], X[idx]) @ coef; a value serves both of its points unless rows are subtracted or values few.

        Parameters
        ----------
        idx, coef, dtype : ndarray of int, ndarray, dtype or None
            As for `Engine.self_product`.
        """
        Z = self.take(idx)
        if self.cancels or self._short(Z, idx):
            return super().self_product(idx, coef, dtype)
        from svmkit.kernels.loops import tiles

        out, computed = np.zeros(coef.shape), 0
        for here, panel in self._panels(Z, self._precision(dtype, rough=True)):
            rest, n = idx[here.start :], here.stop - here.start
            own = coef[here.start :].astype(panel[0].dtype)
            weights, own[:n] = own[:n].copy(), 0.0  # the panel's own points: all of their values are computed
            # summed in a fixed order, for any number of threads
            back = np.zeros((tiles.n_tiles(len(rest)), tiles.panel_width(n), coef.shape[1]))
            self._add(panel, weights, rest, out[here.start :], own, back)
            out[here] += back.sum(axis=0)[:n]
            computed += n * len(rest)
        return out, computed

    def _panels(self, Z, dtype: np.dtype) -> Iterator[tuple[slice, Any]]:
        """Yield slices of Z, a few rows at a time, with what `_add` needs, first their values."""
        raise NotImplementedError

    def _add(self, panel, weights, sel, out, own, back) -> None:
        """Add the products of one panel to `out` and `back`, as `dense_product` does."""
        raise NotImplementedError


def _arrays(X) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return data, indices and indptr of X as a CSR matrix."""
    X = with_int32_indices(X if sp.issparse(X) else sp.csr_array(X))
    return X.data, X.indices, X.indptr


class DenseEngine(_Products):
    """The engine for a dense X."""

    name, storages = "dense", ("dense",)

    def __init__(self, kernel: Kernel, X: np.ndarray, extent: Extent | None = None) -> None:
        super().__init__(kernel, np.ascontiguousarray(X), extent)

    def _panels(self, Z, dtype):
        """Yield slices of Z with these rows, dense and less the origin, and their squared norms."""
        for lo in range(0, Z.shape[0], PANEL):
            here = slice(lo, min(Z.shape[0], lo + PANEL))
            part = Z[here].toarray() if sp.issparse(Z) else Z[here]
            part = np.ascontiguousarray(part - self.origin if self.origin.size else part, dtype=dtype)
            yield here, (part, square_norms(part).astype(dtype))

    def _short(self, Z, sel) -> bool:
        return self.few and self._count(sel) * Z.shape[0] * max(self.X.shape[1], few.EXP) <= few.PRODUCTS

    def _is_plain(self, Z, sel) -> bool:
        """Whether numpy multiplies these rows by Z: weights of a linear model, which need no kernel function."""
        plain = self.form is Form.LINEAR and Z.shape[0] <= few.WEIGHTS and self.X.size <= few.ENTRIES
        return plain and self._count(sel) * Z.shape[0] * self.X.shape[1] <= few.PRODUCTS

    @cached_property
    def few(self) -> bool:
        """Whether short work is done by numpy."""
        small = self.n <= few.ROWS and self.X.size <= few.ENTRIES
        return small and not self.cancels and self.form.argument is not Argument.L1

    @cached_property
    def _moved(self) -> np.ndarray:
        """The rows of X less the origin, in float64."""
        return self.X - self.origin if self.origin.size else np.asarray(self.X, dtype=np.float64)

    def _values(self, part, norms, sel) -> np.ndarray:
        """Return the values of these rows with a panel of float64 and its squared norms by numpy, shape (q, n_rows)."""
        rows, sq = (self._moved[sel], self.sq[sel]) if sel.size else (self._moved, self.sq)
        return few.values(rows, sq, part, norms, self.form, self.scalars)

    def block(self, Z, out, sel=ALL, rough=False):
        """Write kernel values to `out`: by numpy if they are few, by differences if products cancel, else by tiles.

        Parameters
        ----------
        Z, out, sel, rough : ndarray or CSR, ndarray, ndarray or None, bool
            As for `Engine.block`.
        """
        if self._short(Z, sel):
            step = max(1, few.CHUNK // out.shape[1])
            with np.errstate(all="ignore"):
                for here, (part, norms) in self._panels(Z, np.dtype(np.float64)):
                    values = out[here]
                    for lo in range(0, len(part), step):
                        values[lo : lo + step] = self._values(part[lo : lo + step], norms[lo : lo + step], sel)
            return out
        from svmkit.kernels.loops import differences, tiles

        (m, d), scalars, origin = (out.shape[1], self.X.shape[1]), self.scalars, self.origin
        for here, (part, sq) in self._panels(Z, self._precision(out.dtype, rough)):
            if self.cancels:
                differences.block(self.X, sel, part, scalars, out[here])
                continue
            deep = tiles.is_deep(d, len(part), self.form)
            work = tiles.tile_work(d * tiles.DENSE, (len(part), 1), self.form)
            rest = *scalars, deep, out[here]
            spread(tiles.dense_block, tiles.n_tiles(m), work, self.X, origin, self.sq, sel, part, sq, *rest)
        return out

    def square(self, at, out):
        if not self._short(at, at):
            return super().square(at, out)
        every = len(at) == self.n
        rows, sq = (self._moved, self.sq) if every else (self._moved[at], self.sq[at])
        step = max(1, few.CHUNK // len(rows))
        with np.errstate(all="ignore"):
            for lo in range(0, len(rows), step):  # the values on one side of the diagonal are those on the other
                here, rest = slice(lo, lo + step), slice(lo + step, None)
                out[here, lo:] = few.values(rows[lo:], sq[lo:], rows[here], sq[here], self.form, self.scalars)
                out[rest, here] = out[here, rest].T
        return out

    def product(self, Z, coef, sel=ALL, dtype=np.float64):
        """Return K(X[sel], Z) @ coef, by numpy where there are few values or few weights of a linear model.

        Parameters
        ----------
        Z, coef, sel, dtype : ndarray or CSR, ndarray, ndarray or None, dtype or None
            As for `Engine.product`.
        """
        if not (self._short(Z, sel) or self._is_plain(Z, sel)):
            return super().product(Z, coef, sel, dtype)
        out = np.zeros((self._count(sel), coef.shape[1]))
        with np.errstate(all="ignore"):  # the caller refuses decisions that are not finite
            for here, (part, norms) in self._panels(Z, np.dtype(np.float64)):
                out += self._values(part, norms, sel).T @ coef[here]
        return out

    def _add(self, panel, weights, sel, out, own, back):
        from svmkit.kernels.loops import differences, tiles

        if self.cancels:  # without `back`, see `self_product`
            columns = self._columns_apart(panel[0])
            if columns is None:
                differences.product(self.X, sel, panel[0], weights, self.scalars, out)
            else:
                differences.mixed_product(self.X, sel, panel[0], columns, weights, self.scalars, out)
            return
        (Z, sq), q = panel, len(panel[0])
        work = tiles.tile_work(self.X.shape[1] * tiles.DENSE, weights.shape, self.form)
        by_feature = Z[:0]
        if not tiles.is_deep(self.X.shape[1], q, self.form):
            width = tiles.panel_width(q)
            by_feature = tiles.panel_of(Z, width)
            sq, weights = tiles.pad_rows(sq, width), tiles.pad_rows(weights, width)
        rows, rest = (self.X, self.origin, self.sq, sel), (*self.scalars, out, own, back)
        spread(tiles.dense_product, tiles.n_tiles(len(out)), work, *rows, Z, by_feature, sq, weights, *rest)


class CSREngine(_Products):
    """The engine for an X in CSR storage."""

    name, storages = "csr", ("csr",)
    batch = 32  # a panel of 32 costs as much as four to six single rows, because it shares the gathers

    def __init__(self, kernel: Kernel, X, extent: Extent | None = None) -> None:
        super().__init__(kernel, X, extent and extent.around_zero())
        self.panel = min(max(PANEL_BYTES // (8 * max(X.shape[1], 1)), 1), PANEL)

    def _panels(self, Z, dtype):
        """Yield slices of Z with their dense panel (d, width), |z|^2 and, where it counts, |z|_1; 0 beyond the rows."""
        from svmkit.kernels.loops import tile_dots, tiles

        Z = with_int32_indices(Z)
        sparse, step, square = sp.issparse(Z), self.panel, square_norms(Z).astype(dtype)
        for lo in range(0, Z.shape[0], step):
            hi = min(Z.shape[0], lo + step)
            n, width = hi - lo, tiles.panel_width(hi - lo)
            size = self.X.shape[1] * width * dtype.itemsize
            raw, squares = np.zeros(size + LINE, np.uint8), np.zeros(width, dtype)
            begin = -raw.ctypes.data % LINE  # a cache line: a wide load across two of them costs twice
            panel, squares[:n] = raw[begin : begin + size].view(dtype).reshape(-1, width), square[lo:hi]
            if sparse:
                tile_dots.csr_to_panel(Z.data, Z.indices, Z.indptr, np.arange(lo, hi), panel)
            else:
                panel[:, :n] = Z[lo:hi].T
            l1 = np.abs(panel).sum(axis=0) if self.form.argument is Argument.L1 else np.zeros(width, dtype)
            yield slice(lo, hi), (panel, squares, l1)

    @cached_property
    def columns(self) -> Any:
        """A copy of X by columns, if a single kernel row is computed faster from them; else None. By columns, only the
        entries of X in the columns of z are read: sum_c count_c^2 / n of them on average.
        """
        X, counts = self.X, stored_entries(self.X)
        size = X.nnz * (X.data.itemsize + X.indices.itemsize)
        pays = size <= COPY_BYTES and float(counts @ (counts / self.n)) < PAYS * X.nnz
        return X.tocsc() if pays else None

    def block(self, Z, out, sel=ALL, rough=False):
        """Write kernel values to `out`: by differences if products cancel, by column for one sparse row, or by tiles.

        Parameters
        ----------
        Z, out, sel, rough : ndarray or CSR, ndarray, ndarray or None, bool
            As for `Engine.block`.
        """
        from svmkit.kernels.loops import differences, tiles

        X = self.X
        if self.cancels:
            differences.block(_arrays(X), sel, _arrays(Z), self.scalars, out)
            return out
        single = Z.shape[0] == 1 and sel.size == 0 and sp.issparse(Z)
        if single and self.form.argument is not Argument.L1 and self.columns is not None:
            C, sq_z = self.columns, square_norms(Z).astype(self._precision(out.dtype))
            step = max(tiles.TILE, (self.n + tiles.STRETCHES - 1) // tiles.STRETCHES)
            work, n = self._tile_work((1, 1)) * step / tiles.TILE, (self.n + step - 1) // step
            columns = C.data, C.indices, C.indptr, self.sq
            spread(tiles.csc_row, n, work, step, *columns, Z.indices, Z.data, sq_z, *self.scalars, out)
            return out
        rows = X.data, X.indices, X.indptr, self.sq, sel
        for here, panel in self._panels(Z, self._precision(out.dtype, rough)):
            work = self._tile_work((panel[0].shape[1], 1))
            spread(tiles.csr_block, tiles.n_tiles(out.shape[1]), work, *rows, *panel, *self.scalars, out[here])
        return out

    def _tile_work(self, shape: tuple[int, int]) -> float:
        """Return the nanoseconds of a tile of rows, as `tiles.tile_work` does."""
        from svmkit.kernels.loops import tiles

        return tiles.tile_work(self.X.data.size / self.n * tiles.SPARSE, shape, self.form)

    def product(self, Z, coef, sel=ALL, dtype=np.float64):
        """Return K(X[sel], Z) @ coef, by differences of rows where products of them would cancel.

        Parameters
        ----------
        Z, coef, sel, dtype : ndarray or CSR, ndarray, ndarray or None, dtype or None
            As for `Engine.product`.
        """
        if not self.cancels:
            return super().product(Z, coef, sel, dtype)
        from svmkit.kernels.loops import differences

        out, X = np.zeros((self._count(sel), coef.shape[1])), _arrays(self.X)
        for lo in range(0, Z.shape[0], self.panel):
            weights = np.ascontiguousarray(coef[lo : lo + self.panel], dtype=np.float64)
            part = Z[lo : lo + self.panel]
            dense = part.toarray() if sp.issparse(part) else part
            columns = self._columns_apart(dense)
            if columns is None:
                differences.product(X, sel, _arrays(part), weights, self.scalars, out)
            else:
                differences.mixed_product(X, sel, dense, columns, weights, self.scalars, out)
        return out

    def _add(self, panel, weights, sel, out, own, back):
        from svmkit.kernels.loops import tiles

        weights, X = tiles.pad_rows(weights, len(panel[1])), self.X
        rest = weights, *self.scalars, out, own, back
        rows = X.data, X.indices, X.indptr, self.sq, sel
        spread(tiles.csr_product, tiles.n_tiles(len(out)), self._tile_work(weights.shape), *rows, *panel, *rest)
