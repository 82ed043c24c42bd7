"""The requirements of a solver on the kernel, and how it reads kernel values."""

from __future__ import annotations

from enum import Enum

from svmkit.kernels.functions import Kernel


class Requires(Enum):
    """The requirement of a solver on the kernel; checked before a solve.

    Examples
    --------
    >>> from svmkit.kernels import RBF, Linear
    >>> from svmkit.solver import Requires
    >>> Requires.NORMALISED_KERNEL.holds(RBF(1.0)), Requires.NORMALISED_KERNEL.holds(Linear())
    (True, False)
    """

    NORMALISED_KERNEL = "a kernel with constant k(x, x), such as rbf or laplacian"
    LINEAR_KERNEL = "the linear kernel"

    def holds(self, kernel: Kernel) -> bool:
        """Return whether the kernel meets the requirement."""
        return kernel.normalised if self is Requires.NORMALISED_KERNEL else kernel.name == "linear"


class Reads(Enum):
    """How a solver of a kernel problem reads kernel values, which determines its cost on many samples.

    Examples
    --------
    >>> from svmkit import plugins
    >>> plugins.load("solver", "fcsmo").reads.name
    'BLOCKS'
    """

    ROWS = "single kernel rows, the same ones many times: fast while the memory holds them"
    BLOCKS = "many kernel rows in one product: fast also where the memory holds few of them"
