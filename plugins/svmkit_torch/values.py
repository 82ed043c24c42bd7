"""Kernel values on a device: the rows of X, and blocks and products of kernel values that stay there.

float64 values have the error bounds of `svmkit.kernels.forms`, since each is computed in the order that they assume:
sums of products in any order, |x|^2 + |z|^2 - 2 x.z less an origin, powers by products. float32 is for iterations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import torch

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
from svmkit.kernels.forms import LAPLACIAN, LINEAR, POLY, RBF, SIGMOID, Argument, Scalars, UnknownForm, difference_error
from svmkit.kernels.functions import Kernel
from svmkit.kernels.rounding import largest_value, value_error
from svmkit_torch.arithmetic import plain_arithmetic
from svmkit_torch.memory import Tiles
from svmkit_torch.rows import Part, SparseRows, Taken, Vectors, rows_on

CANCELS = 1e-10  # error of a float64 value above which distances are sums of differences
TWICE = 16  # bytes of a number of a vector in few columns: two of float64
PANEL = 1024  # rows whose products are summed before they are added to the earlier sums


def _power(t: torch.Tensor, degree: int) -> torch.Tensor:
    """Return t^degree by products: degree - 1 roundings at most, on every device."""
    power, square = None, t
    while degree:
        if degree & 1:
            power = square if power is None else power * square
        degree >>= 1
        if degree:
            square = square * square
    assert power is not None
    return power


def apply_form(t: torch.Tensor, scalars: Scalars) -> torch.Tensor:
    """Return the function of a kernel at arguments t, which it may overwrite.

    Parameters
    ----------
    t : tensor of float32 or float64
        x.z, |x - z|^2 or |x - z|_1, as the form says.
    scalars : Scalars
        The parameters of the kernel, with the number of its form.
    """
    match scalars.form:
        case form if form == LINEAR:
            return t
        case form if form in (RBF, LAPLACIAN):
            return t.mul_(-scalars.gamma).exp_()
        case form if form == POLY:
            return _power(t.mul_(scalars.gamma).add_(scalars.coef0), scalars.degree)
        case form if form == SIGMOID:
            return t.mul_(scalars.gamma).add_(scalars.coef0).tanh_()
    raise UnknownForm(scalars.form)


def values(kernel: Kernel, Z: torch.Tensor, sq_z: torch.Tensor, rows: Any, sq: torch.Tensor) -> torch.Tensor:
    """Return k(Z[b], rows[a]) at [b, a] from dot products, in the precision of Z, shape (q, n).

    Parameters
    ----------
    kernel : Kernel
        One with a form of x.z or |x - z|^2, resolved.
    Z : tensor of shape (q, d)
        Vectors less the origin.
    sq_z : tensor of shape (q,)
        Their |z|^2.
    rows : tensor of shape (n, d), dense or sparse CSR
        Vectors less the origin, of the type of Z.
    sq : tensor of shape (n,)
        Their |x|^2.
    """
    form = kernel.form
    assert form is not None
    dots = Z @ rows.T if rows.layout == torch.strided else (rows @ Z.T).T
    if form.argument is Argument.SQUARE:
        dots.mul_(-2.0).add_(sq[None, :]).add_(sq_z[:, None]).clamp_(min=0.0)
    elif form.argument is not Argument.DOT:
        raise UnknownForm(form.argument)
    return apply_form(dots, kernel.scalars)


def difference_values(
    kernel: Kernel, Z: torch.Tensor, rows: torch.Tensor, rest: torch.Tensor | None = None
) -> torch.Tensor:
    """Return k(Z[b], rows[a]) at [b, a] of a kernel of x - z from true differences, in the precision of Z.

    Parameters
    ----------
    kernel : Kernel
        One with a form of |x - z|^2 or |x - z|_1, resolved.
    Z, rows : tensor of shapes (q, d) and (n, d)
        Vectors, dense.
    rest : tensor of shape (n,), optional
        The sums of squares, or of absolute values, of the rows over columns in which no vector of Z has entries.
    """
    assert kernel.form is not None
    square = kernel.form.argument is Argument.SQUARE
    exact = "donot_use_mm_for_euclid_dist"
    t = torch.cdist(Z[None], rows[None], p=2.0 if square else 1.0, compute_mode=exact)[0]
    t = t.mul_(t) if square else t
    return apply_form(t if rest is None else t.add_(rest[None, :]), kernel.scalars)


class DeviceRows:
    """The rows of one X on a device, for one kernel with a form; blocks and products of kernel values stay there.

    Parameters
    ----------
    kernel : Kernel
        The kernel, resolved.
    X : ndarray, CSR or tensor of shape (n, d), float32 or float64
        The samples. A tensor on the device is not copied.
    device : torch.device or str
        Where the rows are kept and values are computed.
    extent : Extent, optional
        The extent of the vectors that take part; by default that of X.

    Attributes
    ----------
    kernel, n, d, device
        The kernel, the number of rows and of columns, and the device.
    rows
        X on the device.
    origin : tensor of float64, shape (d,) or (0,)
        What is subtracted from all rows; empty for nothing.
    sq : tensor of float64, shape (n,)
        |x - origin|^2 of each row.
    single, rough_single : bool
        Whether float32 does for values, and for values that are only summed up; elsewhere float64 is used.
    error, largest : float
        Bounds on the error of a float64 value and on the size of a value.
    panel : int
        Most products that are summed before their sum is added to those before.
    tiles : Tiles
        The memory that the arrays of a tile may take.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from svmkit.kernels import RBF
    >>> from svmkit_torch.values import DeviceRows
    >>> rows = DeviceRows(RBF(1.0), np.array([[0.0], [1.0], [9.0]]), "cpu")
    >>> rows.block(torch.tensor([0]), torch.tensor([0, 1]), torch.float64).numpy().round(4).tolist()
    [[1.0, 0.3679]]
    """

    panel = PANEL

    def __init__(self, kernel: Kernel, X: Any, device: torch.device | str, extent: Extent | None = None) -> None:
        assert kernel.form is not None
        self.kernel, self.form, self.scalars = kernel, kernel.form, kernel.scalars
        self.device = torch.device(device)
        self.tiles = Tiles(self.device)
        self.rows = rows_on(X, self.device)
        self.n, self.d = self.rows.n, self.rows.d
        with plain_arithmetic(self.device):
            self._place(extent)

    def _place(self, extent: Extent | None) -> None:
        """Choose the origin, and decide which values float32 does for, as `svmkit.kernels.engines.products` does."""
        if extent is None:
            extent = self._measure()
        elif self.rows.sparse:
            extent = extent.around_zero()
        self.origin = torch.as_tensor(extent.origin, dtype=torch.float64, device=self.device)
        self.sq = self._norms(self.origin)
        self.reach = max(extent.reach, float(self.sq.max()) if self.n else 0.0)
        require_computable(self.kernel, self.reach)
        l1 = self.form.argument is Argument.L1
        self.cancels = l1 or (self.form.is_radial and self._summed_error() > CANCELS)
        if self.cancels:
            self.origin = torch.as_tensor(NOWHERE, dtype=torch.float64, device=self.device)
        exponent = self.scalars.gamma * self.form.distance(self.d, self.reach)
        held = self.reach <= LARGEST and SMALLEST <= self.scalars.gamma <= LARGEST and fits_float32_rows(self.largest)
        fits = held and (l1 or not self.cancels)
        self.single = fits and not exponent > FAR
        square = self.form.argument is Argument.SQUARE
        self.rough_single = self.single or (fits and square and not exponent > FARTHEST)

    def _measure(self) -> Extent:
        """Return the extent of X, as `Extent.measure` does."""
        norms = self._norms(torch.empty(0, dtype=torch.float64, device=self.device))
        extent = Extent(NOWHERE, float(norms.max()) if self.n else 0.0)
        moves = self.form.argument is Argument.SQUARE and not self.rows.sparse
        if not moves or self.scalars.gamma * extent.reach <= FAR:
            return extent
        mean = torch.zeros(self.d, dtype=torch.float64, device=self.device)

        def add(here: slice) -> None:
            mean.add_(self.rows.dense(here, torch.float64).sum(dim=0) / self.n)

        self.tiles.run(self.n, self._bytes(torch.float64), add)
        if not bool(mean.isfinite().all()):
            return extent
        around = Extent(mean.cpu().numpy(), float(self._norms(mean).max()))
        return around if around.reach * 4.0 < extent.reach else extent

    def _norms(self, origin: torch.Tensor) -> torch.Tensor:
        """Return |x - origin|^2 of all rows in float64."""
        norms = torch.empty(self.n, dtype=torch.float64, device=self.device)

        def measure(here: slice) -> None:
            norms[here] = self.rows.norms(here, origin)

        self.tiles.run(self.n, self._bytes(torch.float64), measure)
        return norms

    def _summed_error(self) -> float:
        """Return the bound on the error of values that are computed from sums and products."""
        return value_error(self.kernel, self.rows.entries, self.reach)

    @cached_property
    def error(self) -> float:
        """A bound on |computed - exact| of a float64 value."""
        if not self.cancels:
            return self._summed_error()
        entries = min(self.d, 2 * self.rows.entries) if self.rows.sparse else self.d
        return difference_error(self.scalars, entries + 4)  # a root, its square, and the sum of two parts

    @cached_property
    def largest(self) -> float:
        """A bound on |k(x, z)|."""
        return largest_value(self.kernel, self.rows.entries, self.reach)

    def diagonal(self, at: torch.Tensor) -> torch.Tensor:
        """Return k(x, x) of the rows `at` in float64."""
        if self.form.is_radial:
            return torch.ones(len(at), dtype=torch.float64, device=at.device)
        return apply_form(self.sq[at], self.scalars)  # of x.z, for which nothing is subtracted from x

    def precision(self, dtype: torch.dtype, rough: bool = False) -> torch.dtype:
        """Return the precision in which values requested in `dtype`, or only for sums, are computed."""
        return dtype if self.single or (rough and self.rough_single) else torch.float64

    def select(self, idx: Any) -> Taken:
        """Return the rows `idx`, numbers of rows of X, for this object or another one on the device."""
        return Taken(self.rows, torch.as_tensor(np.asarray(idx, dtype=np.int64), device=self.device))

    def vectors(self, Z: Any) -> Vectors:
        """Return slices of Z less the origin on demand: rows of X, as from `select`, or an array, a CSR matrix, a
        tensor.
        """
        return Vectors(Z, self.device, self.origin, self.rows.scarce)

    def places(self, sel: np.ndarray) -> torch.Tensor | None:
        """Return numbers of rows as a tensor on the device; None for an empty array, which stands for all."""
        return torch.as_tensor(sel, device=self.device) if sel.size else None

    def block(
        self,
        idx: torch.Tensor,
        at: torch.Tensor,
        dtype: torch.dtype = torch.float32,
        rough: bool = False,
        out: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return k(x_i, x_j) for i in `idx` and j in `at` on the device, shape (len(idx), len(at)).

        Parameters
        ----------
        idx, at : tensor of int64
            Rows of X.
        dtype : {torch.float32, torch.float64}, default=float32
            Type of the values. They are computed in float64 where float32 would be off by more than about 1e-5.
        rough : bool, default=False
            Whether float32 values may be off by up to 5e-4, which only a sum can bear.
        out : tensor of shape (len(idx), len(at)), optional
            Where the values go.
        """
        if out is None:
            out = torch.empty((len(idx), len(at)), dtype=dtype, device=self.device)
        self._write(self.vectors(Taken(self.rows, idx)), out, at, rough)
        return out

    def write_block(self, Z: Vectors, out: np.ndarray, at: torch.Tensor | None, rough: bool) -> None:
        """Write the values of vectors with rows of X to an array of the host.

        Parameters
        ----------
        Z, at : Vectors, tensor of int64 or None
            The vectors, and numbers of rows of X; all for None.
        out : ndarray of shape (len(Z), len(at)), float32 or float64
            The array.
        rough : bool
            As for `block`.
        """
        self._write(Z, torch.as_tensor(out), at, rough)

    def _write(self, Z: Vectors, out: torch.Tensor, at: torch.Tensor | None, rough: bool) -> None:
        kept = self.precision(out.dtype, rough)

        def write(panel: slice) -> None:
            self.fill(Z.part(panel, kept), at, lambda here, values: out[panel, here].copy_(values))

        with plain_arithmetic(self.device):
            self.panels(Z.n, write)

    def product(
        self, idx: torch.Tensor, coef: torch.Tensor, at: torch.Tensor | None = None, dtype=torch.float64
    ) -> torch.Tensor:
        """Return K[at, idx] @ coef on the device in float64, shape (len(at), p), without storing the kernel values.

        Parameters
        ----------
        idx : tensor of int64, shape (q,)
            Rows of X that have coefficients.
        coef : tensor of float64, shape (q, p)
            Coefficients.
        at : tensor of int64, optional
            Rows of the result; all by default.
        dtype : {torch.float64, torch.float32}, default=float64
            Precision of the values and of their sums over a panel.
        """
        return self.product_with(self.vectors(Taken(self.rows, idx)), coef, at, dtype)

    def product_with(self, Z: Vectors, coef, at: torch.Tensor | None, dtype: torch.dtype) -> torch.Tensor:
        """Return K(X[at], Z) @ coef as `product` does.

        Parameters
        ----------
        Z : Vectors
            The vectors.
        coef, at, dtype : tensor of float64 (len(Z), p), tensor of int64 or None, torch.dtype
            As for `product`.
        """
        out = torch.zeros((self.n if at is None else len(at), coef.shape[1]), dtype=torch.float64, device=self.device)
        kept = self.precision(dtype, rough=True)
        with plain_arithmetic(self.device):
            for lo in range(0, Z.n, self.panel):
                self._add_panel(Z, lo, coef[lo : lo + self.panel].to(kept), at, out)
        return out

    def host_product(self, Z: Vectors, coef: np.ndarray, at: torch.Tensor | None, dtype: np.dtype) -> np.ndarray:
        """Return `product_with` on the host.

        Parameters
        ----------
        Z, at, dtype : Vectors, tensor of int64 or None, numpy.dtype
            As for `product_with`.
        coef : ndarray of shape (len(Z), p)
            Coefficients on the host.
        """
        weights = torch.as_tensor(np.ascontiguousarray(coef, dtype=np.float64), device=self.device)
        return self.product_with(Z, weights, at, getattr(torch, dtype.name)).cpu().numpy()

    def _add_panel(self, Z: Vectors, lo: int, weights: torch.Tensor, at: torch.Tensor | None, out) -> None:
        """Add the products with the vectors from `lo` on, one for each weight, to `out`.

        If the device has room for a part of them only, their sum is formed before it is added: the bound on rounding
        assumes that `panel` products are summed together.
        """
        q = len(weights)
        whole = self.tiles.size(self._bytes_of_vector) >= q
        sums = out if whole else torch.zeros_like(out)

        def add(part: slice) -> None:
            vectors, coef = Z.part(slice(lo + part.start, lo + part.stop), weights.dtype), weights[part]
            self.fill(vectors, at, lambda here, values: sums[here].add_(values.T @ coef))

        self.panels(q, add)
        if not whole:
            out.add_(sums)

    @property
    def _bytes_of_vector(self) -> int:
        if not isinstance(self.rows, SparseRows) or not self.rows.scarce:
            return 4 * self._bytes(torch.float64)
        # the columns that many vectors have grow with their number
        most = max(1, math.isqrt(self.tiles.budget // (TWICE * self.rows.mean)))
        return TWICE * min(self.d, most * self.rows.mean)

    def panels(self, q: int, use: Callable[[slice], object]) -> None:
        """Call `use` with slices of q vectors, which are dense while they are used: at most `PANEL`."""
        self.tiles.run(q, self._bytes_of_vector, use, self.panel)

    def fill(self, Z: Part, at: torch.Tensor | None, use: Callable[[slice, torch.Tensor], object]) -> None:
        """Call `use` with each slice of `at` and the values of Z with these rows of X, in the type of Z.

        Parameters
        ----------
        Z : Part
            Vectors (q, d).
        at : tensor of int64, optional
            Rows of X; all by default.
        use : callable
            use(here, values) gets values (q, rows of the slice).
        """
        with plain_arithmetic(self.device):
            n, width = self.n if at is None else len(at), Z.values.shape[1] if self.cancels else self.rows.width
            each = self._bytes(Z.values.dtype, len(Z.values), width)
            self.tiles.run(n, each, lambda here: use(here, self._values(Z, here if at is None else at[here])))

    def _values(self, Z: Part, at: Any) -> torch.Tensor:
        dtype = Z.values.dtype
        if self.cancels and Z.places is not None:
            assert isinstance(self.rows, SparseRows)
            rows, rest = self.rows.split(at, Z, self.form.argument is Argument.SQUARE)
            return difference_values(self.kernel, Z.values[:, :-1], rows, rest)
        if self.cancels:
            return difference_values(self.kernel, Z.values, self.rows.dense(at, dtype))
        rows = self.rows.product_rows(at, dtype, self.origin, Z)
        return values(self.kernel, Z.values, Z.sq, rows, self.sq[at].to(dtype))

    def _bytes(self, dtype: torch.dtype, q: int = 0, width: int | None = None) -> int:
        """Return the bytes of the arrays that values of one row with q vectors take, for rows of this width."""
        return dtype.itemsize * (2 * q + 2 * (self.rows.width if width is None else width) + 4)
