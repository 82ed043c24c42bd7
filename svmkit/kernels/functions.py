"""Kernels: frozen dataclasses of their parameters. `resolve` replaces parameters that depend on the data by numbers.

A third-party kernel subclasses `Kernel`, has a name and implements `block` and `diag`. The built-in kernels also have a
`Form`, by which the loops of `svmkit.kernels.loops.tiles` evaluate them in tiles without temporary arrays.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError
from svmkit.kernels.forms import NO_FORM, Form, Scalars
from svmkit.kernels.gamma import resolve_gamma
from svmkit.kernels.loops.norms import square_norms

if TYPE_CHECKING:
    from svmkit.kernels.loops.given import Survey

MAX_DEGREE = 1000  # of a polynomial kernel, whose loops multiply once per degree
TOGETHER = 32  # rows up to which a callable's diagonal is taken from their square, which is faster than calls


@dataclass(frozen=True)
class Kernel:
    """Base of all kernels k(x, z).

    Attributes
    ----------
    name : str
        Name of the kernel, as on the command line and in a stored model.
    normalised : bool
        Whether k(x, x) is the same for all x, as core vector machines require.
    form : Form or None
        The scalar function of a built-in kernel; None for a kernel that only has `block`.

    Examples
    --------
    >>> from svmkit.kernels import Poly
    >>> kernel = Poly(degree=2)
    >>> kernel.name, kernel.params["degree"]
    ('poly', 2)
    """

    name: ClassVar[str] = ""
    normalised: ClassVar[bool] = False
    form: ClassVar[Form | None] = None

    def resolve(self, X) -> Kernel:
        """Return this kernel with a number for every parameter, for training data X (n_samples, n_features)."""
        return self

    def block(self, X, Z) -> np.ndarray:
        """Return k(x_a, z_b) for all rows of X and Z.

        Parameters
        ----------
        X, Z : ndarray or CSR, shapes (n, d) and (q, d)
            Both are dense or both are CSR.

        Returns
        -------
        ndarray of float64, shape (n, q)
        """
        raise TypeError(f"kernel {self.name!r} has to implement block(X, Z)")

    def diag(self, X) -> np.ndarray:
        """Return k(x, x) of each row of X: float64, shape (n_samples,)."""
        if self.form is None:
            raise TypeError(f"kernel {self.name!r} has to implement diag(X)")
        t = np.zeros(X.shape[0]) if self.form.is_radial else square_norms(X)
        with np.errstate(over="ignore"):
            return self.form.apply(t, self.scalars)

    @property
    def semidefinite(self) -> bool | None:
        """Whether every kernel matrix is positive semidefinite: True, False, or None for not known.

        True is a promise of the kernel's author. Otherwise certificates use `svmkit.kernels.gram.semidefinite`.
        """
        return None

    @property
    def params(self) -> dict[str, Any]:
        """The parameters as plain values, as a model stores them."""
        return asdict(self)

    @cached_property
    def scalars(self) -> Scalars:
        """The number of the form, gamma, coef0 and degree for the compiled loops."""
        gamma, coef0, degree = getattr(self, "gamma", 1.0), getattr(self, "coef0", 0.0), getattr(self, "degree", 3)
        return Scalars(self.form.number if self.form else NO_FORM, float(gamma), float(coef0), int(degree))


def require_semidefinite(kernel: Kernel, what: str) -> None:
    """Raise InputError unless every matrix of a kernel is known to be positive semidefinite.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    what : str
        What needs it, as the message names it.

    Examples
    --------
    >>> from svmkit.kernels import Sigmoid
    >>> require_semidefinite(Sigmoid(), "ranking")
    Traceback (most recent call last):
    ...
    svmkit.errors.InputError: ranking needs a kernel that is known to be positive semidefinite, not sigmoid: give ...
    """
    if kernel.semidefinite is not True:
        raise InputError(
            f"{what} needs a kernel that is known to be positive semidefinite, not {kernel.name}: give linear, rbf, "
            "laplacian, or poly with coef0 >= 0"
        )


def _require_finite(coef0: Any) -> None:
    if not isinstance(coef0, int | float | np.number) or not math.isfinite(coef0):
        raise InputError(f"coef0 must be a finite number, not {coef0!r}")


@dataclass(frozen=True)
class Linear(Kernel):
    """The linear kernel k(x, z) = x'z.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import Gram, Linear
    >>> Gram(Linear(), np.array([[1.0, 2.0], [3.0, 4.0]])).row(0).tolist()
    [5.0, 11.0]
    """

    name: ClassVar[str] = "linear"
    form: ClassVar[Form | None] = Form.LINEAR
    semidefinite: ClassVar[bool | None] = True


@dataclass(frozen=True)
class _WithGamma(Kernel):
    """Base of the kernels that have a gamma."""

    gamma: str | float = "scale"

    def __post_init__(self) -> None:
        value = self.gamma
        if value in ("scale", "auto", "msd"):
            return
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                raise InputError(f"gamma={value!r} is not known: give scale, auto, msd or a number > 0") from None
            object.__setattr__(self, "gamma", value)
        if not (value > 0 and math.isfinite(value)):
            raise InputError(f"gamma must be a finite number > 0 (or scale, auto, msd), not {value}")

    def resolve(self, X) -> Kernel:
        return self if type(self.gamma) is float else replace(self, gamma=resolve_gamma(self.gamma, X))


@dataclass(frozen=True)
class RBF(_WithGamma):
    """The Gaussian kernel k(x, z) = exp(-gamma |x - z|^2). The papers' sigma is sqrt(1 / (2 gamma)).

    Parameters
    ----------
    gamma : {"scale", "auto", "msd"} or float, default="scale"
        A number > 0, or a rule for one (`resolve_gamma`).

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import RBF
    >>> RBF("scale").resolve(np.array([[0.0], [2.0]])).gamma
    1.0
    """

    name: ClassVar[str] = "rbf"
    normalised: ClassVar[bool] = True
    form: ClassVar[Form | None] = Form.RBF
    semidefinite: ClassVar[bool | None] = True


@dataclass(frozen=True)
class Laplacian(_WithGamma):
    """The Laplacian kernel k(x, z) = exp(-gamma |x - z|_1).

    Parameters
    ----------
    gamma : {"scale", "auto", "msd"} or float, default="scale"
        A number > 0, or a rule for one (`resolve_gamma`).

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import Gram, Laplacian
    >>> Gram(Laplacian(0.5), np.array([[0.0], [1.0]])).row(0).round(4).tolist()
    [1.0, 0.6065]
    """

    name: ClassVar[str] = "laplacian"
    normalised: ClassVar[bool] = True
    form: ClassVar[Form | None] = Form.LAPLACIAN
    semidefinite: ClassVar[bool | None] = True


@dataclass(frozen=True)
class Poly(_WithGamma):
    """The polynomial kernel k(x, z) = (gamma x'z + coef0)^degree.

    Degree 2 with coef0 0 is the homogeneous kernel of the SWAP paper.

    Parameters
    ----------
    gamma : {"scale", "auto", "msd"} or float, default="scale"
        A number > 0, or a rule for one (`resolve_gamma`).
    degree : int, default=3
        The degree, from 1 to 1000: the loops take a product for each.
    coef0 : float, default=0.0
        The constant term.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import Gram, Poly
    >>> Gram(Poly(degree=2, gamma=1.0, coef0=1.0), np.array([[1.0], [2.0]])).row(0).tolist()
    [4.0, 9.0]
    """

    degree: int = 3
    coef0: float = 0.0

    name: ClassVar[str] = "poly"
    form: ClassVar[Form | None] = Form.POLY

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.degree, int | float | np.number) or not self.degree >= 1 or self.degree % 1:
            raise InputError(f"degree must be a whole number >= 1, not {self.degree!r}")
        if self.degree > MAX_DEGREE:
            raise InputError(f"degree must be at most {MAX_DEGREE}, not {float(min(self.degree, 1 << 1000)):.3g}")
        object.__setattr__(self, "degree", int(self.degree))
        _require_finite(self.coef0)

    @property
    def semidefinite(self) -> bool | None:
        return self.coef0 >= 0.0


@dataclass(frozen=True)
class Sigmoid(_WithGamma):
    """The sigmoid kernel k(x, z) = tanh(gamma x'z + coef0).

    It is not positive semidefinite in general, and then no solver has a certificate.

    Parameters
    ----------
    gamma : {"scale", "auto", "msd"} or float, default="scale"
        A number > 0, or a rule for one (`resolve_gamma`).
    coef0 : float, default=0.0
        The constant term.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import Gram, Sigmoid
    >>> Gram(Sigmoid(gamma=0.5), np.array([[1.0], [2.0]])).row(0).round(4).tolist()
    [0.4621, 0.7616]
    """

    coef0: float = 0.0

    name: ClassVar[str] = "sigmoid"
    form: ClassVar[Form | None] = Form.SIGMOID
    semidefinite: ClassVar[bool | None] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_finite(self.coef0)


class Asymmetry(NamedTuple):
    """The largest |X[i, j] - X[j, i]| of a square matrix, and its position."""

    size: float = 0.0
    i: int = 0
    j: int = 0


class Reading:
    """What the pass of `Precomputed.resolve` over a dense matrix has found, for later uses of this very array.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import Precomputed
    >>> K = np.eye(2)
    >>> kernel = Precomputed().resolve(K)
    >>> kernel.reading.find(K).asymmetry, kernel.reading.find(K.copy())
    (0.0, None)
    """

    def __init__(self, X: Any = None, found: Survey | None = None) -> None:
        self._of, self._found = [] if X is None else [weakref.ref(X)], found

    def find(self, X: Any) -> Survey | None:
        """Return what was found in X, or, for a part of a matrix, in the whole; None if X is another array."""
        return self._found if any(known() is X for known in self._of) else None

    def note_part(self, part: Any, X: Any) -> None:
        """Note that another array holds values of X among some of its rows: what was found bounds its numbers."""
        if self.find(X) is not None:
            self._of = [*(known for known in self._of if known() is not None), weakref.ref(part)]

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return Reading, ()  # no other process has this array


def asymmetry(X) -> Asymmetry:
    """Return how far a square X, dense or CSR, is from its transpose."""
    if sp.issparse(X):
        difference = abs(X - X.T).tocoo()
        k = int(difference.data.argmax()) if difference.nnz else -1
        return (
            Asymmetry(float(difference.data[k]), int(difference.row[k]), int(difference.col[k]))
            if k >= 0
            else Asymmetry()
        )
    from svmkit.kernels.loops.given import survey  # here: it needs numba

    found = survey(X)
    return Asymmetry(found.asymmetry, found.i, found.j)


@dataclass(frozen=True)
class Precomputed(Kernel):
    """A kernel whose X is the kernel matrix itself: (n, n) to train, (n_test, n) to predict.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import Precomputed
    >>> K = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> Precomputed().resolve(K).diag(K).tolist()
    [2.0, 3.0]
    """

    name: ClassVar[str] = "precomputed"

    @classmethod
    def fault(cls) -> str:
        """Return why a plugin cannot be a kernel of this sort, which models and files know by its name."""
        return (
            "derives from Precomputed, whose X is the kernel matrix itself: derive from svmkit.kernels.Kernel and "
            "define block and diag, or give the matrix to the kernel precomputed"
        )

    @cached_property
    def reading(self) -> Reading:
        """What is known of the matrix that the kernel was resolved with."""
        return Reading()

    def resolve(self, X) -> Kernel:
        if X.shape[0] != X.shape[1]:
            raise InputError(
                f"a precomputed kernel matrix has to be square, not {X.shape[0]} x {X.shape[1]}: "
                "give the kernel values of all pairs of training rows"
            )
        resolved = Precomputed()
        if sp.issparse(X):
            difference, i, j = asymmetry(X)
            largest = max(float(X.max()), -float(X.min()))
        else:
            from svmkit.kernels.loops.given import survey  # here: it needs numba

            found = survey(X)
            difference, i, j, largest, _ = found
            vars(resolved)["reading"] = Reading(X, found)
        if difference > 0.0 and difference > 1e-5 * largest:
            raise InputError(
                f"a precomputed kernel matrix has to be symmetric: row {i + 1}, column {j + 1} holds {X[i, j]:g}, row "
                f"{j + 1}, column {i + 1} holds {X[j, i]:g} (counted from 1); no solver takes another one"
            )
        return resolved

    def diag(self, X) -> np.ndarray:
        return np.array(X.diagonal(), dtype=np.float64)  # for a view of X, loops would be compiled anew

    def take_rows(self, X, rows: np.ndarray):
        """Return the kernel values (n, n) among some rows, int (n,), of the matrix X (m, m)."""
        if sp.issparse(X):
            return X[rows][:, rows]
        from svmkit.kernels.loops.given import gather  # here: it needs numba

        part = gather(X, rows, rows, np.empty((len(rows), len(rows)), X.dtype))
        self.reading.note_part(part, X)
        return part


@dataclass(frozen=True)
class FromFunction(Kernel):
    """A kernel given by a Python callable, which is not saved with a model: register a `Kernel` for that.

    Parameters
    ----------
    function : callable
        f(X, Z) returns the kernel values of the rows of X and Z, shape (rows of X, rows of Z).

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import FromFunction
    >>> kernel = FromFunction(lambda X, Z: (1.0 + X @ Z.T) ** 2)
    >>> kernel.block(np.array([[1.0]]), np.array([[2.0]])).tolist()
    [[9.0]]
    """

    function: Callable[[Any, Any], np.ndarray]

    name: ClassVar[str] = "callable"

    def block(self, X, Z) -> np.ndarray:
        values = np.asarray(self.function(X, Z), dtype=np.float64)
        if values.shape != (X.shape[0], Z.shape[0]):
            raise InputError(
                f"the kernel function returned shape {values.shape} for {X.shape[0]} and {Z.shape[0]} rows; "
                f"it has to return ({X.shape[0]}, {Z.shape[0]})"
            )
        return values

    def diag(self, X) -> np.ndarray:
        values = np.empty(X.shape[0])
        for lo in range(0, len(values), TOGETHER):
            part = X[lo : lo + TOGETHER]
            values[lo : lo + TOGETHER] = self.block(part, part).diagonal()
        return values

    @property
    def params(self) -> dict[str, Any]:
        return {"function": getattr(self.function, "__qualname__", repr(self.function))}
