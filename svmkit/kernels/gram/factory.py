"""The one place that makes the Grams of a data set: of two classes, of all samples, of any rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.kernels.gram.by_class import SharedKernel
from svmkit.kernels.gram.gram import Gram, parse_bytes
from svmkit.runtime.mapping import take

if TYPE_CHECKING:
    from svmkit.kernels.gram.complete import CompleteKernel


ONCE = 2  # divisor of the memory that the matrix of problems that share it may take, as OF_ALL of `complete`


def fits_once(n: int, memory: int) -> bool:
    """Return whether several problems of the same n samples may share their kernel matrix.

    Parameters
    ----------
    n : int
        The number of samples.
    memory : int
        The memory for kernel rows in bytes.

    Examples
    --------
    >>> from svmkit.kernels.gram import fits_once
    >>> fits_once(8_000, 2**30), fits_once(9_000, 2**30)
    (True, False)
    """
    return 8 * n * n <= memory // ONCE


@dataclass(frozen=True, eq=False)
class Grams:
    """Makes the Grams of one data set, and keeps the data that they share.

    Parameters
    ----------
    kernel, X : Kernel, ndarray or CSR of shape (n, d)
        The kernel, resolved, and the samples; for a precomputed kernel the kernel values (n, n).
    members : list of ndarray of int
        The rows of X of each class, ascending, without rows that take no part.
    memory : str or int
        Memory for kernel rows, in bytes or as for `parse_bytes`.
    pairs : bool, default=True
        Whether the problems are those of two classes, rather than of all samples.
    one, known : bool, CompleteKernel
        As for `CompleteKernel`.
    several : bool, default=False
        Whether several problems have all samples: then more memory may be spent on computing their values once.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import Linear
    >>> from svmkit.kernels.gram import Grams
    >>> X = np.arange(8.0).reshape(4, 2)
    >>> rows, gram = Grams(Linear(), X, [np.array([0, 2]), np.array([1, 3])], "1MB").pair(0, 1)
    >>> rows, gram.diag
    (array([0, 1, 2, 3]), array([ 1., 13., 41., 85.]))
    """

    kernel: Kernel
    X: Any
    members: list[np.ndarray]
    memory: str | int
    pairs: bool = True
    one: bool = False
    known: CompleteKernel | None = None
    several: bool = False

    @cached_property
    def rows(self) -> np.ndarray:
        """The rows of X that take part, ascending."""
        some = [rows for rows in self.members if len(rows)]  # for outliers, one class has all rows
        return some[0] if len(some) == 1 else np.sort(np.concatenate(self.members))

    def make(self, rows: np.ndarray) -> Gram:
        """Return a Gram of some rows of X, in this order, that shares no data with others."""
        X = self.X
        if len(rows) < X.shape[0]:  # else no copy is needed
            X = self.kernel.take_rows(X, rows) if isinstance(self.kernel, Precomputed) else take(X, rows)
        return Gram(self.kernel, X, memory=self.memory)

    def pair(self, a: int, b: int, *, shared: bool = True, complete: bool = False) -> tuple[np.ndarray, Gram]:
        """Return the rows of X of two classes a < b and their Gram.

        Parameters
        ----------
        a, b : int
            In ascending order: the values of a class are dropped once a pair after its last one is requested.
        shared : bool, default=True
            With more than two classes, whether pairs share kernel values; rows of a then come before rows of b.
        complete : bool, default=False
            Whether all kernel rows are kept; `keeps` says whether there is room.
        """
        if complete:
            whole = self.complete.gram(a, b)
            return whole.engine.rows, whole
        if shared and len(self.members) > 2 and not isinstance(self.kernel, Precomputed):
            of_pair = self._by_class.gram(a, b)
            return of_pair.engine.rows, of_pair
        rows = np.sort(np.concatenate([self.members[a], self.members[b]]))
        return rows, self.make(rows)

    def whole(self, *, complete: bool = False) -> tuple[np.ndarray, Gram]:
        """Return the rows that take part and the one Gram of all of them, with all of its kernel rows if `complete`."""
        return self.rows, self._complete_whole if complete else self._whole

    def keeps(self, n: int) -> bool:
        """Return whether all kernel rows of a problem of n samples may be kept."""
        from svmkit.kernels.gram.complete import has_room  # here: it needs numba

        if self.several and fits_once(n, parse_bytes(self.memory)):
            return self.complete.whole
        return has_room(n, parse_bytes(self.memory)) and self.complete.holds(n)

    @cached_property
    def complete(self) -> CompleteKernel:
        """The kernel rows of problems that are small enough to keep all of them."""
        from svmkit.kernels.gram.complete import CompleteKernel

        members = self.members if self.pairs else [self.rows]
        memory, one = parse_bytes(self.memory), self.one and not self.pairs
        return CompleteKernel(self.kernel, self.X, members, memory, one=one, known=self.known)

    @property
    def computed(self) -> CompleteKernel | None:
        """`complete` if it has been requested."""
        return vars(self).get("complete")

    @cached_property
    def _whole(self) -> Gram:
        return self.make(self.rows)

    @cached_property
    def _complete_whole(self) -> Gram:
        return self.complete.gram(0, 0)

    @cached_property
    def _by_class(self) -> SharedKernel:
        return SharedKernel(self.kernel, self.X, self.members, parse_bytes(self.memory))
