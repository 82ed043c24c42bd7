"""The Hessian of a linear risk, I + X'D X with D the second derivatives of the losses: a matrix, or its products."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.linalg
from numba import types
from numba.extending import overload

from svmkit.problems.risks.design import CSR, ENTRY, Design, row_add, row_dot
from svmkit.runtime.compiling import njit
from svmkit.runtime.threads import spread

BLOCK = 131_072  # values of a block of rows in float64, for a product by BLAS: 1 MB
PRODUCT = 0.06  # nanoseconds of one product and sum by BLAS
PAIR = 1.0  # nanoseconds of a pair of values of a sparse row
SHARE = 0.1  # of the diagonal in the preconditioner
# parts of the mean fall of the quadratic model at which conjugate gradients end: in the first step, and at least
LOOSE, TIGHT = 0.1, 1e-15
EXACT = 1e-8  # part of the gradient that is a residual of rounding errors
TALL = 2048  # rows whose products are summed in float32
LARGEST_RIDGE = 1e6  # times the diagonal: what is added to a matrix that is indefinite by rounding
LARGEST = 1e30  # square norm of a row up to which its products in float32 do not overflow
ANEW = 0.9  # part of the rows with a second derivative above which, if so many change, all of them are added anew
LOWER = 0.5  # factor of that part from step to step, since loose steps never end where few samples are curved
MOST = 1000  # steps of conjugate gradients
ROOM = 16 << 20  # bytes that sums over parts of the rows may take in any case
TOGETHER = 1 << 18  # rows whose numbers are kept at a time


class Matrix:
    """The Hessian as a matrix (width, width), updated by the rows whose second derivative has changed."""

    each = 8  # rows of a sum for each column, at least

    def __init__(self, design: Design, penalty: np.ndarray) -> None:
        self.design, self.penalty = design, penalty
        self.fresh: bool | None = None  # whether all rows were added at once; None while there are none
        self.curvature = np.zeros(design.m)
        # the second derivatives (m,) that the matrix has once `add_rows` has had all rows
        self._wanted = self.curvature
        self.H = np.zeros((design.width, design.width))
        self.factor: np.ndarray | None = None
        self.pairs = False
        if isinstance(design.rows, CSR):
            of_pairs = 0.5 * PAIR * float(np.square(np.diff(design.rows.indptr).astype(np.float64) + 1.0).sum())
            self.pairs = of_pairs < PRODUCT * design.m * design.width**2

    def update(self, curvature: np.ndarray) -> None:
        """Let second derivatives (m,) be those of the matrix."""
        if self.begin(curvature):
            for first, last in self.design.windows():
                for lo in range(first, last, TOGETHER):
                    self.add_rows(lo, min(lo + TOGETHER, last))

    def begin(self, curvature: np.ndarray) -> bool:
        """Let second derivatives (m,) be those of the matrix once `add_rows` has had all rows; return if it has to."""
        n_changed, n_active = np.count_nonzero(curvature != self.curvature), np.count_nonzero(curvature)
        if self.fresh and not n_changed:
            return False
        self.fresh = self.fresh is None or not n_changed or 2 * n_changed > n_active
        if self.fresh:
            self.H[:] = 0.0
        self._wanted, self.factor = curvature, None
        return True

    def add_rows(self, lo: int, hi: int) -> None:
        """Add the changes by the rows lo to hi - 1. Which rows have changed is not kept: for all rows that takes much
        memory.
        """
        self._take(lo, hi, self._wanted[lo:hi])
        if hi == self.design.m:
            self._wanted = self.curvature  # so that no reference to the others is kept

    def _take(self, lo: int, hi: int, after: np.ndarray) -> None:
        """Let second derivatives (hi - lo,) be those of the rows lo to hi - 1."""
        before = self.curvature[lo:hi]
        if self.fresh:
            self._add(lo, hi, np.flatnonzero(after), after)
        else:
            difference = after - before
            self._add(lo, hi, np.flatnonzero(difference > 0.0), difference)
            self._add(lo, hi, np.flatnonzero(difference < 0.0), np.negative(difference, out=difference), -1.0)
        before[:] = after

    def forget(self) -> None:
        """Keep no second derivatives that belong to others."""

    def remember(self, curvature: np.ndarray) -> None:
        """Do nothing: none were forgotten."""

    def direction(
        self, g: np.ndarray, room: np.ndarray | None = None, enough: float = 0.0, value: float = np.inf
    ) -> tuple[np.ndarray, float]:
        """Return -H^-1 g (width,), and the passes over X that it took.

        Parameters
        ----------
        g, room, enough, value : ndarray, ndarray or None, float, float
            The gradient (width,), and the other arguments of `Products.direction`.
        """
        if self.factor is None:
            self.factor = self._factorise()
        return scipy.linalg.lapack.dpotrs(self.factor, -g, lower=1)[0], 0.0

    def _factorise(self) -> np.ndarray:
        """Return the lower Cholesky factor in Fortran order. If rounding has made the matrix indefinite, its diagonal
        is increased first; if that does not suffice, the factor is that of the diagonal alone.
        """
        ridge, at, diagonal = 0.0, np.arange(len(self.H)), np.abs(self.H.diagonal())
        while ridge < LARGEST_RIDGE and np.isfinite(diagonal).all():
            H = self.H.T.copy(order="F")
            H[at, at] += self.penalty + ridge * diagonal
            if not self.penalty[-1] and H[-1, -1] <= 0.0:
                H[-1, -1] = 1.0  # no loss has a second derivative: the bias is the best one already
            factor, failed = scipy.linalg.lapack.dpotrf(H, lower=1, clean=0, overwrite_a=1)
            if not failed and np.isfinite(factor[at, at]).all():  # of NaN it may say nothing
                return factor
            ridge = max(100.0 * ridge, 1e-15)
        sizes = np.where(np.isfinite(diagonal), diagonal, 0.0) + self.penalty
        return np.asfortranarray(np.diag(np.sqrt(np.where(sizes > 0.0, sizes, 1.0))))

    def _add(self, lo: int, hi: int, idx: np.ndarray, weights: np.ndarray, sign: float = 1.0) -> None:
        """Add sign sum_i weights_i x_i x_i' over the rows lo + idx (n,), which have weights (hi - lo,) >= 0."""
        if not idx.size:
            return
        parts = self._no_products(idx.size)
        self._add_to(parts, lo, hi, idx, weights)
        self.H += sign * parts.sum(axis=0)

    def _no_products(self, n: int) -> np.ndarray:
        """Return zeros (parts, width, width) to which products of n rows are added."""
        d = self.design
        return np.zeros((d.n_parts(n // (self.each * d.width), 8 * d.width**2, ROOM), d.width, d.width))

    def _add_to(self, parts: np.ndarray, lo: int, hi: int, idx: np.ndarray, weights: np.ndarray) -> None:
        """Add what `_add` does to parts of the sum (n, width, width)."""
        d, rows = self.design, self.design.part(lo, hi)
        if self.pairs:
            work = PAIR * (d.entries / d.m) ** 2 * idx.size / len(parts)
            spread(_add_pairs, len(parts), work, rows, d.bias, idx, weights, parts)
        else:
            self._add_products(rows, d.bias, idx, weights, parts)

    def _add_products(self, rows: Any, bias: float, idx: np.ndarray, weights: np.ndarray, parts: np.ndarray) -> None:
        """Add the rows idx (n,) of `rows` to the parts of their sum, as `_add` does."""
        work = PRODUCT * idx.size * self.design.width**2 / len(parts)
        spread(_add_blocks, len(parts), work, rows, bias, idx, weights, parts)


class Rough(Matrix):
    """The matrix of rows that are read once, for both their second derivatives and the matrix, with products in
    float32.

    Blocks of products are summed in float64. A direction has errors of about 1e-7 relative to the diagonal; a step that
    they spoil shows in the gradient, and `refine` begins anew with products in float64. Rows of all windows are added
    to the same sums, and few rows that have changed are gathered until they are a block.
    """

    each = 3  # a window has few rows, and the thread that reads the next ones takes time of one of the cores

    def __init__(self, design: Design, penalty: np.ndarray) -> None:
        super().__init__(design, penalty)
        self.single = not (self.pairs or self.overflows())  # as far as is known
        self.changed = 1.0  # share of the rows with a second derivative in which it has changed in the last pass
        self._parts = np.empty((0, 0, 0))  # of the sum over all rows, in a pass that has each of them added
        self._blocks: tuple[_Block, ...] = ()  # of rows whose second derivative has become larger, and smaller

    def overflows(self) -> bool:
        """Return whether products in float32 may overflow; norms that are not known yet are NaN."""
        return float(np.fmax.reduce(self.design.sq, initial=0.0)) > LARGEST

    def begin_pass(self) -> None:
        """Begin a pass: from now on until `end_pass`, all rows come to `take_rows`."""
        is_first = self.fresh is None
        self.fresh = is_first or self.changed > ANEW
        if self.fresh:
            self.H[:] = 0.0
        elif self.single:
            self._blocks = _Block(self.design, self.H, 1.0), _Block(self.design, self.H, -1.0)
        self._n_changed, self._n_active = 0, 0
        self._is_first = is_first

    def take_rows(self, lo: int, hi: int, after: np.ndarray) -> None:
        """Let second derivatives be those of some rows, while they are in memory.

        Parameters
        ----------
        lo, hi, after : int, int, ndarray
            The ends of the rows, and their second derivatives (hi - lo,).
        """
        before = self.curvature[lo:hi]
        self._n_changed += 0 if self._is_first else np.count_nonzero(before != after)
        self._n_active += np.count_nonzero(after)
        self.changed = self._n_changed / max(self._n_active, 1)
        self._take(lo, hi, after)

    def end_pass(self) -> None:
        """Complete the matrix, once all rows have come."""
        if self._parts.size:
            self.H += self._parts.sum(axis=0)
        for block in self._blocks:
            block.flush()
        self._parts, self._blocks = np.empty((0, 0, 0)), ()

    def refine(self) -> None:
        """Begin anew in the next pass, with products in float64."""
        self.single, self.fresh = False, None

    def _add(self, lo: int, hi: int, idx: np.ndarray, weights: np.ndarray, sign: float = 1.0) -> None:
        if self.fresh:
            if not self._parts.size:
                self._parts = self._no_products(hi - lo)
            self._add_to(self._parts, lo, hi, idx, weights)
        elif self._blocks:
            self._blocks[int(sign < 0.0)].add(self.design.part(lo, hi), idx, weights)
        else:
            super()._add(lo, hi, idx, weights, sign)

    def _add_products(self, rows: Any, bias: float, idx: np.ndarray, weights: np.ndarray, parts: np.ndarray) -> None:
        if not self.single:
            super()._add_products(rows, bias, idx, weights, parts)
            return
        most = float(weights[idx].max(initial=0.0)) or 1.0
        work = 0.5 * PRODUCT * idx.size * self.design.width**2 / len(parts)
        spread(_add_single_blocks, len(parts), work, rows, bias, idx, weights / most, parts, most)


class _Block:
    """Rows times the roots of their weights, in float32, whose products are added to a matrix once there are many.

    Parameters
    ----------
    design, H : Design, ndarray of float64, shape (width, width)
        X with its bias column, and the matrix.
    sign : float
        What the products are multiplied by.
    """

    def __init__(self, design: Design, H: np.ndarray, sign: float) -> None:
        self.design, self.H, self.sign = design, H, sign
        self._rows, self._n = np.empty((TALL, design.width), np.float32), 0
        self._most = 0.0  # of the weights, which products are divided by so that none overflows

    def add(self, rows: Any, idx: np.ndarray, weights: np.ndarray) -> None:
        """Add rows to the block; it is flushed whenever it is full, or a weight is larger than all before.

        Parameters
        ----------
        rows : ndarray or CSR
            Rows of X without the bias column, as of `Design.part`.
        idx : ndarray of int64, shape (n,)
            Those that are added.
        weights : ndarray of float64, shape (number of rows,)
            The weight of each row, >= 0 for those of `idx`.
        """
        most = float(weights[idx].max(initial=0.0))
        if most > self._most:
            self.flush()
            self._most = most
        shares, lo = weights / (self._most or 1.0), 0
        while lo < idx.size:
            n = min(idx.size - lo, TALL - self._n)
            _gather(rows, self.design.bias, idx, lo, shares, self._rows[self._n : self._n + n])
            lo, self._n = lo + n, self._n + n
            if self._n == TALL:
                self.flush()

    def flush(self) -> None:
        """Add the products of the collected rows to the matrix, and begin anew."""
        width = self.design.width
        if self._n:
            products = np.zeros((self.design.n_parts(self._n // width, 4 * width**2), width, width), np.float32)
            work = 0.5 * PRODUCT * self._n * width**2 / len(products)
            spread(_multiply, len(products), work, self._rows[: self._n], products)
            self.H += self.sign * self._most * products.sum(axis=0, dtype=np.float64)
        self._n = 0


class Given(Matrix):
    """The Hessian as a matrix that the caller has summed."""

    def __init__(self, penalty: np.ndarray) -> None:
        design = SimpleNamespace(m=0, width=len(penalty), rows=None)
        super().__init__(design, penalty.copy())  # type: ignore[arg-type]
        self._of_last = float(penalty[-1])

    def take(self, H: np.ndarray, damping: float) -> None:
        """Let the Hessian be that of the penalty and H, of which the upper triangle counts; `damping` is added to the
        last entry.
        """
        self.H, self.factor, self.penalty[-1] = H, None, self._of_last + damping


def _add_blocks(
    first: int, last: int, X: Any, bias: float, idx: np.ndarray, weights: np.ndarray, parts: np.ndarray
) -> None:
    """Add the rows idx (n,) of X in parts, each from a contiguous range, block by block.

    A product by numpy, which computes one triangle only, as SYRK does, lets other threads run; SciPy's `dsyrk` does
    not.
    """
    n, share, width = len(parts), -(-idx.size // len(parts)), parts.shape[1]
    height = int(np.clip(max(BLOCK // width, width // 2), 64, 4096))  # rows beside which a sum costs little
    block, product = np.empty((min(height, share), width)), np.empty((width, width))
    for p in range(first, min(last, n)):
        for lo in range(p * share, min(idx.size, p * share + share), height):
            rows = block[: min(height, idx.size - lo, p * share + share - lo)]
            _gather(X, bias, idx, lo, weights, rows)
            parts[p] += np.matmul(rows.T, rows, out=product)


def _add_single_blocks(
    first: int, last: int, X: Any, bias: float, idx: np.ndarray, weights: np.ndarray, parts: np.ndarray, most: float
) -> None:
    """Do what `_add_blocks` does with products in float32, which are multiplied by `most` and summed in float64 block
    by block.
    """
    n, share, width = len(parts), -(-idx.size // len(parts)), parts.shape[1]
    block, product = np.empty((min(TALL, share), width), np.float32), np.empty((width, width), np.float32)
    for p in range(first, min(last, n)):
        for lo in range(p * share, min(idx.size, p * share + share), TALL):
            rows = block[: min(TALL, idx.size - lo, p * share + share - lo)]
            _gather(X, bias, idx, lo, weights, rows)
            with np.errstate(over="ignore", invalid="ignore"):  # see `Rough.overflows`
                np.matmul(rows.T, rows, out=product)
            _add_multiple(product, most, parts[p])


def _multiply(first: int, last: int, rows: np.ndarray, products: np.ndarray) -> None:
    """Write the products of the columns of rows in parts, each of a contiguous range, to `products`."""
    n, share = len(products), -(-len(rows) // len(products))
    for p in range(first, min(last, n)):
        part = rows[p * share : p * share + share]
        np.matmul(part.T, part, out=products[p])


@njit(cache=True, nogil=True)
def _add_multiple(product, most, out):
    """Add `most` times a matrix of float32 to one of float64, both (n, n)."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] += most * np.float64(product[i, j])


@njit(cache=True, nogil=True)
def _gather(X, bias, idx, lo, weights, out):
    """Write the rows idx[lo:] of X with the bias column, times the roots of their weights, to out (n, width)."""
    for k in range(out.shape[0]):
        i = np.uintp(idx[lo + k])
        root = np.sqrt(weights[i])
        out[k] = 0.0
        row_add(X, i, root, out[k])
        if bias != 0.0:
            out[k, -1] = root * bias


@njit(cache=True, nogil=True)
def _add_pairs(first, last, X, bias, idx, weights, parts):
    """Add the products of all pairs of values of sparse rows idx (n,), each part from a contiguous range."""
    share, width = (idx.size + parts.shape[0] - 1) // parts.shape[0], parts.shape[1]
    for p in range(first, last):
        H = parts[p]
        for k in range(p * share, min(idx.size, p * share + share)):
            i = np.uintp(idx[k])
            lo, hi = np.uintp(X.indptr[i]), np.uintp(X.indptr[i + np.uintp(1)])
            for a in range(lo, hi):
                column, value = np.uintp(X.indices[a]), weights[i] * X.data[a]
                for b in range(lo, a):
                    other = np.uintp(X.indices[b])
                    if other < column:
                        H[other, column] += value * X.data[b]
                    elif other > column:
                        H[column, other] += value * X.data[b]
                    else:
                        H[column, column] += 2.0 * value * X.data[b]
                H[column, column] += value * X.data[a]
                if bias != 0.0:
                    H[column, width - 1] += value * bias
            if bias != 0.0:
                H[width - 1, width - 1] += weights[i] * bias * bias


class Products:
    """The Hessian by its products with vectors, for directions by conjugate gradients with a preconditioner.

    The preconditioner is the diagonal of the Hessian and 1, mixed (Hsia, Chiang, Lin 2018). The iteration ends once a
    product lowers the quadratic model by little compared with the mean decrease so far (Nash, Sofer 1990), since
    residuals say little where the scales of the columns differ much, or once the residual is small enough for the gap.
    Each product is a pass over X; after any of them the iteration ends if the solve is `over` or after `passes` passes,
    with a direction of descent.
    """

    def __init__(
        self,
        design: Design,
        penalty: np.ndarray,
        over: Callable[[], bool] = lambda: False,
        passes: float = np.inf,
    ) -> None:
        self.design, self.penalty, self.over = design, penalty, over
        self.most = int(max(min(passes / 2.0, MOST), 1.0))  # steps, two passes each
        self.curvature = np.zeros(design.m)
        self.loose = LOOSE

    def update(self, curvature: np.ndarray) -> None:
        """Let second derivatives (m,) be those of the products."""
        self.curvature = curvature
        self._mix(self.diagonal())

    def begin(self, curvature: np.ndarray) -> bool:
        """Let second derivatives (m,) be those of the products once `add_rows` has had all rows, as it has to."""
        self.curvature, self._squares = curvature, self._no_squares()
        return True

    def add_rows(self, lo: int, hi: int) -> None:
        """Add the rows lo to hi - 1 to the diagonal of X'DX, whose last ones complete the preconditioner."""
        self._add_to(self._squares, lo, hi)
        if hi == self.design.m:
            self._mix(self._sum_of(self._squares))
            self._squares = np.empty((0, 0))

    def diagonal(self) -> np.ndarray:
        """Return the diagonal of X'DX (width,)."""
        parts = self._no_squares()
        for lo, hi in self.design.windows():
            self._add_to(parts, lo, hi)
        return self._sum_of(parts)

    def _mix(self, diagonal: np.ndarray) -> None:
        mixed = SHARE * diagonal + (1.0 - SHARE) * self.penalty + SHARE * self.penalty
        if not self.penalty[-1]:
            mixed[-1] = diagonal[-1] or 1.0
        self.inverse = 1.0 / mixed

    def _no_squares(self) -> np.ndarray:
        d = self.design
        return np.zeros((d.n_parts(d.entries // (2 * d.width), 8 * d.width), d.width))

    def _add_to(self, parts: np.ndarray, lo: int, hi: int) -> None:
        d = self.design
        work = ENTRY * d.entries * (hi - lo) / d.m / len(parts)
        spread(_add_squares, len(parts), work, d.part(lo, hi), self.curvature[lo:hi], parts)

    def _sum_of(self, parts: np.ndarray) -> np.ndarray:
        d, diagonal = self.design, parts.sum(axis=0)
        if d.width > d.d:
            diagonal[-1] = d.bias**2 * self.curvature.sum()
        return diagonal

    def forget(self) -> None:
        """Drop the second derivatives; `remember` restores them."""
        self.curvature = np.empty(0)

    def remember(self, curvature: np.ndarray) -> None:
        """Restore the second derivatives (m,) that were dropped."""
        self.curvature = curvature

    def times(self, p: np.ndarray, room: np.ndarray | None = None) -> np.ndarray:
        """Return H p (width,) in two passes over the rows with a second derivative, with numbers (m,) in `room`."""
        d, out = self.design, np.empty(self.design.m) if room is None else room
        out[:] = 0.0

        def weigh(lo: int, hi: int) -> None:
            given = d.part(lo, hi), d.bias, p, self.curvature[lo:hi], out[lo:hi]
            spread(_weigh_margins, hi - lo, ENTRY * d.entries / d.m, *given)

        return self.penalty * p + d.pull(out, along=weigh)

    def direction(
        self, g: np.ndarray, room: np.ndarray | None = None, enough: float = 0.0, value: float = np.inf
    ) -> tuple[np.ndarray, float]:
        """Return about -H^-1 g (width,), and the passes over X that it took.

        Parameters
        ----------
        g, room : ndarray, ndarray or None
            The gradient (width,), and an array (m,) to write numbers to.
        enough : float, default=0.0
            Norm of the residual at which to end: it is that of the gradient after a whole step, were the model exact.
        value : float, default=inf
            Merit at the iterate. A decrease is compared with the merit that is left, too, not only with the decrease so
            far: where C is large, the optimum is a tiny part of the merit at 0.
        """
        loose, enough = max(self.loose, TIGHT), max(enough, EXACT * float(np.linalg.norm(g)))
        self.loose *= LOWER
        s, r = np.zeros_like(g), -g
        z = self.inverse * r
        p, rz = z, float(r @ z)
        passes, fall = 1.0, 0.0
        for k in range(1, self.most + 1):
            Hp = self.times(p, room)
            passes += 2.0
            curved = float(p @ Hp)
            if not curved > 0.0:
                break
            step = rz / curved
            s += step * p
            r -= step * Hp
            last_fall = 0.5 * step * rz
            fall += last_fall
            is_little = k * last_fall <= loose * min(fall, abs(value - fall))
            if is_little or float(np.linalg.norm(r)) <= enough or self.over():
                break
            z = self.inverse * r
            rz, last = float(r @ z), rz
            p = z + (rz / last) * p
        return (s if s.any() else -g), passes


def _add_row_squares(X, i, a, out):
    """Add a x_ic^2 to out_c for each column c of X, in compiled code.

    Parameters
    ----------
    X, i : ndarray of shape (m, d) or CSR, int
        The samples, and the number of one.
    a, out : float, ndarray of float64
        The factor, and the sums.
    """
    raise TypeError("_add_row_squares is for compiled code")


@overload(_add_row_squares)
def _row_squares(X, i, a, out):
    if isinstance(X, types.Array):

        def dense(X, i, a, out):
            """Do what `_add_row_squares` does for dense rows.

            Parameters
            ----------
            X, i, a, out
                As for `_add_row_squares`.
            """
            for c in range(X.shape[1]):
                out[c] += a * np.float64(X[i, c]) ** 2

        return dense

    def sparse(X, i, a, out):
        """Do what `_add_row_squares` does for rows in CSR storage.

        Parameters
        ----------
        X, i, a, out
            As for `_add_row_squares`.
        """
        for k in range(np.uintp(X.indptr[i]), np.uintp(X.indptr[i + np.uintp(1)])):
            out[np.uintp(X.indices[k])] += a * np.float64(X.data[k]) ** 2

    return sparse


@njit(cache=True, nogil=True)
def _weigh_margins(first, last, X, bias, w, weights, out):
    for i in range(first, last):
        if weights[i] != 0.0:
            h = row_dot(X, i, w)
            if bias != 0.0:
                h += bias * w[w.size - 1]
            out[i] = weights[i] * h


@njit(cache=True, nogil=True)
def _add_squares(first, last, X, weights, parts):
    """Add sum_i weights_i x_i^2 in parts: each takes a contiguous range of rows of X."""
    n = parts.shape[0]
    step = (weights.size + n - 1) // n
    for p in range(first, last):
        for i in range(p * step, min(weights.size, p * step + step)):
            if weights[i] != 0.0:
                _add_row_squares(X, np.uintp(i), weights[i], parts[p])
