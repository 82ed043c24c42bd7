"""The contract of an engine: it computes kernel values of the rows of one X with other vectors, on any device.

`block` stores kernel values, `product` multiplies them by coefficients without storing them. `Z` holds rows of X as
`take` returns them, or the vectors of a model, dense or CSR. Engines do not cache values; `Gram` does. `engine_for`, in
`svmkit.kernels.engines.choice`, chooses one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cache
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from svmkit.data.formats import wide
from svmkit.kernels.extent import Extent
from svmkit.kernels.functions import Kernel
from svmkit.plugins.contracts import fault_of_texts

ALL = np.empty(0, dtype=np.int64)  # stands for all rows of X in the compiled loops
PANEL = 256  # rows of Z that are processed together
PANEL_BYTES = 8 << 20


def with_int32_indices(X):
    """Return a CSR matrix with int32 pointers and column numbers if both fit, and any other X unchanged.

    One index type saves a second set of compiled loops. The values are not copied, nor are column numbers of int32.
    More than 2^31 entries keep pointers of int64 and the column numbers that they have (`svmkit.data.sparse_rows`).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels.engines import with_int32_indices
    >>> X = np.eye(2)
    >>> with_int32_indices(X) is X
    True
    """
    if getattr(X, "format", None) != "csr" or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    if max(*X.shape, X.nnz) > wide.MOST:
        return X
    narrow = X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int32)
    return type(X)((X.data, *narrow), shape=X.shape)


@cache
def _name(dtype: np.dtype) -> str:
    return str(dtype)


class Engine(ABC):
    """Base of all engines, by which Gram, problems and the decision functions of models use a kernel on X (n, d).

    A class says what it takes; an instance computes the values of one kernel on one X. Arrays that an engine is given,
    including X and row numbers, may be read-only, and are never written to, except `out`.

    Parameters
    ----------
    kernel : Kernel
        The kernel, resolved.
    X : ndarray of shape (n, d) or CSR, float32 or float64
        The samples, whose values are not copied as a whole; for a precomputed kernel the kernel values (n, n_train).
    extent : Extent, optional
        The extent of the vectors that X will be evaluated with; by default that of X itself.

    Attributes
    ----------
    name : str
        Name of the engine in the entry-point group `svmkit.engines`.
    storages, dtypes, devices : tuple of str
        What it takes, among "dense" and "csr", "float32" and "float64", and where it computes, such as "cpu".
    solves_boxes : bool, default=False
        Whether `box_code` is code that solves box problems.
    kernel, X, n
        The kernel, the samples and their number.
    batch : int
        Number of kernel rows that are worth computing together when one is requested.
    panel : int
        Number of rows of Z that `product` sums together before it adds their sum to the sums of the rows before.
    symmetric : bool
        Whether `self_product` computes one value for two points.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import RBF, engine_for
    >>> engine = engine_for(RBF(1.0), np.array([[0.0], [1.0], [2.0]]))
    >>> engine.n, engine.diag().tolist()
    (3, [1.0, 1.0, 1.0])
    """

    name: ClassVar[str] = ""
    storages: ClassVar[tuple[str, ...]] = ("dense", "csr")
    dtypes: ClassVar[tuple[str, ...]] = ("float32", "float64")
    devices: ClassVar[tuple[str, ...]] = ("cpu",)

    solves_boxes: ClassVar[bool] = False
    batch: int = 1
    panel: int = PANEL
    symmetric: bool = False

    def __init__(self, kernel: Kernel, X: Any, extent: Extent | None = None) -> None:
        self.kernel, self.X, self.n = kernel, X, X.shape[0]

    @classmethod
    def fault(cls) -> str | None:
        """Return which of the three tuples of texts is wrong, as a continuation of the engine's name, or None."""
        examples = {"storages": '("dense",)', "dtypes": '("float64",)', "devices": '("cpu",)'}
        faults = (fault_of_texts(cls, attribute, example) for attribute, example in examples.items())
        return next((reason for reason in faults if reason), None)

    @property
    def excess(self) -> float:
        """A bound on |k(x, z)| - sqrt(k(x, x) k(z, z)) over all pairs; inf if not all pairs were examined."""
        return math.inf

    @classmethod
    def takes_kernel(cls, kernel: Kernel) -> bool:
        """Return whether the engine computes values of this kernel; by default of one that has a `Form`."""
        return kernel.form is not None

    @classmethod
    def takes(cls, kernel: Kernel, X: Any) -> bool:
        """Return whether the engine computes values of this kernel on an X of this storage and type."""
        storage = "csr" if sp.issparse(X) else "dense"
        return storage in cls.storages and _name(X.dtype) in cls.dtypes and cls.takes_kernel(kernel)

    @classmethod
    def class_on(cls, device: str) -> type[Engine] | None:
        """Return the class that computes on a device, by default this one if `devices` has it, or None.

        An engine of several devices returns one of its subclasses. InputError is raised for a device of a known kind
        that does not exist here.
        """
        return cls if device in cls.devices else None

    @classmethod
    def present(cls) -> list[str]:
        """Return the names of the devices that exist here and on which the engine computes."""
        return list(cls.devices)

    def limit_memory(self, budget: int) -> None:  # noqa: B027
        """Take at most `budget` bytes for values that are not stored; by default nothing changes, as they are few."""

    def box_code(self) -> Any:
        """Return code that solves box problems on the rows of X where they are; None unless `solves_boxes`.

        It is a `svmkit.solver.smo.boxes.SolvesBoxes`, of all rows of X.
        """
        return None

    @property
    @abstractmethod
    def error(self) -> float:
        """A bound on |computed - exact| for float64 values of `block` and `product` among the rows of X.

        Sums inside a value are included, sums over coefficients are not. It may be inf.
        """

    @property
    @abstractmethod
    def largest(self) -> float:
        """A bound on |k(x, z)| among the rows of X. It may be inf."""

    @property
    def unit(self) -> float:
        """The unit in the last place of the given values: that of a stored matrix, else that of float64."""
        return float(np.finfo(np.float64).eps)

    def take(self, idx: np.ndarray) -> Any:
        """Return the rows `idx` of X in its storage; for a precomputed kernel `idx` itself."""
        return self.X[idx]

    def diag(self) -> np.ndarray:
        """Return k(x, x) of each row of X: float64, shape (n,)."""
        return self.kernel.diag(self.X)

    @abstractmethod
    def block(self, Z: Any, out: np.ndarray, sel: np.ndarray = ALL, rough: bool = False) -> np.ndarray:
        """Write k(X[sel[a]], Z[b]) to out[b, a].

        Parameters
        ----------
        Z : ndarray or CSR
            Vectors, as `take` returns them.
        out : ndarray of shape (rows of Z, len(sel)), float32 or float64
            Array for the values.
        sel : ndarray of int64, optional
            Rows of X; all by default.
        rough : bool, default=False
            Whether float32 values may have errors of up to 5e-4, which only sums tolerate.

        Returns
        -------
        ndarray
            `out`.
        """

    def square(self, at: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Write the kernel values among the samples `at` into `out`, which is returned; they are not kept as rows.

        Parameters
        ----------
        at : ndarray of int, shape (n_at,)
            The samples, ascending and distinct.
        out : ndarray of shape (n_at, n_at), float32 or float64
            Array for the values.
        """
        return self.block(self.take(at), out, at if len(at) < self.n else ALL)

    @abstractmethod
    def product(self, Z: Any, coef: np.ndarray, sel: np.ndarray = ALL, dtype: Any = np.float64) -> np.ndarray:
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

    def self_product(self, idx: np.ndarray, coef: np.ndarray, dtype: Any = np.float64) -> tuple[np.ndarray, int]:
        """Return K(X[idx], X[idx]) @ coef and the number of values computed, one for two points where that is faster.

        Parameters
        ----------
        idx : ndarray of int64, shape (n,)
            Rows of X.
        coef : ndarray of float64, shape (n, p)
            Coefficients.
        dtype : {float64, float32}, default=float64
            As for `product`.

        Returns
        -------
        product : ndarray of float64, shape (n, p)
        computed : int
        """
        return self.product(self.take(idx), coef, idx, dtype), len(idx) ** 2

    def _count(self, sel: np.ndarray) -> int:
        return sel.size or self.n
