"""Engines: kernel values of the rows of one X with other vectors, behind one interface for every storage of X.

`block` stores kernel values, `product` multiplies them by coefficients without storing them. `Z` holds rows of X as
`take` returns them, or the vectors of a model, dense or CSR. Engines do not cache values; `Gram` does. `engine_for`, in
`svmkit.kernels.engines.choice`, chooses one.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from svmkit.kernels.functions import Kernel

ALL = np.empty(0, dtype=np.int64)  # stands for all rows of X in the compiled loops
PANEL = 256  # rows of Z that are processed together
PANEL_BYTES = 8 << 20


def with_int32_indices(X):
    """Return a CSR matrix with int32 indices if they fit, and any other X unchanged.

    One index type saves a second set of compiled loops. The values are not copied.
    """
    if getattr(X, "format", None) != "csr" or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    if max(*X.shape, X.nnz) > np.iinfo(np.int32).max:
        return X
    return type(X)((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


class Engine(Protocol):
    """The interface by which Gram and a model's decision function use a kernel on the rows of X (n, d).

    Attributes
    ----------
    kernel : Kernel
        The kernel, resolved.
    n : int
        Number of rows of X.
    batch : int
        Number of kernel rows that are worth computing together when one is asked for.
    panel : int
        Number of rows of Z that `product` sums together before it adds their sum to the sums of the rows before.
    error : float
        A bound on |computed - exact| for float64 values of `block` and `product` of the rows of X with one another,
        sums inside a value included, sums over coefficients not. It may be inf.
    largest : float
        A bound on |k(x, z)| for the rows of X with one another. It may be inf.
    """

    kernel: Kernel
    n: int
    batch: int
    panel: int

    @property
    def error(self) -> float: ...

    @property
    def largest(self) -> float: ...

    def take(self, idx: np.ndarray):
        """Return the rows `idx` of X in its storage; for a precomputed kernel `idx` itself."""

    def diag(self) -> np.ndarray:
        """Return k(x, x) of each row of X: float64, shape (n,)."""

    def block(self, Z, out: np.ndarray, sel: np.ndarray = ALL) -> np.ndarray:
        """Write k(X[sel[a]], Z[b]) to out[b, a].

        Parameters
        ----------
        Z : ndarray or CSR
            Vectors, as `take` returns them.
        out : ndarray of shape (rows of Z, len(sel)), float32 or float64
            Array for the values.
        sel : ndarray of int64, optional
            Rows of X; all by default.

        Returns
        -------
        ndarray
            `out`.
        """

    def product(self, Z, coef: np.ndarray, sel: np.ndarray = ALL, dtype=np.float64) -> np.ndarray:
        """Return K(X[sel], Z) @ coef without storing the kernel values.

        Parameters
        ----------
        Z : ndarray or CSR
            Vectors, as `take` returns them.
        coef : ndarray of shape (rows of Z, p)
            Coefficients.
        sel : ndarray of int64, optional
            Rows of X; all by default.
        dtype : {float64, float32}, default=float64
            Precision of the kernel values and of their sums over a panel. float32 takes half the time.

        Returns
        -------
        ndarray of float64, shape (len(sel), p)
        """


class StoredRows:
    """Base of the engines that hold X."""

    batch = 1
    panel = PANEL

    def __init__(self, kernel: Kernel, X) -> None:
        self.kernel, self.X, self.n = kernel, X, X.shape[0]

    def take(self, idx: np.ndarray):
        return self.X[idx]

    def diag(self) -> np.ndarray:
        return self.kernel.diag(self.X)

    def _rows(self, sel: np.ndarray) -> int:
        return sel.size or self.n
