"""Kernels: frozen dataclasses of parameters; what is data-dependent (gamma) becomes a number in `resolve`.

A third-party kernel subclasses `Kernel`, names itself and implements `block` and `diag`. The built-in ones also
carry a `Form`, with which the loops of `svmkit.kernels.tiles` evaluate them in tiles without temporaries.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError
from svmkit.kernels.arithmetic import Form
from svmkit.kernels.tiles import csr_square_norms


def _column_moments(X) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each column, float64, without densifying."""
    if sp.issparse(X):
        n, d = X.shape
        total, square = np.zeros(d), np.zeros(d)
        for lo in range(0, X.nnz, 1 << 20):  # bincount takes its weights as a float64 copy
            columns, values = X.indices[lo : lo + (1 << 20)], X.data[lo : lo + (1 << 20)].astype(np.float64)
            total += np.bincount(columns, values, minlength=d)
            square += np.bincount(columns, values**2, minlength=d)
        return total / n, np.maximum(square / n - (total / n) ** 2, 0.0)
    mean = X.mean(axis=0, dtype=np.float64)
    var = np.zeros(X.shape[1])
    step = max(1, (1 << 20) // X.shape[1])
    for lo in range(0, X.shape[0], step):  # numpy's var would take a float64 copy of all of X
        var += np.square(X[lo : lo + step] - mean).sum(axis=0)
    return mean, var / X.shape[0]


def resolve_gamma(gamma: str | float, X) -> float:
    """The number behind `gamma` for the training data X (n_samples, n_features).

    scale: 1 / (n_features * X.var()), scikit-learn's default. auto: 1 / n_features. msd: 1 / (2 sigma^2) with sigma^2
    the mean squared distance between training points, the default of CVM (FW/CVM paper, section 5); it has
    a closed form, so all points are used and no sample. A number is itself. Constant data gives 1.0.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    n, d = X.shape
    if gamma == "auto":
        return 1.0 / d
    mean, var = _column_moments(X)
    if gamma == "scale":
        spread = d * float(var.mean() + np.square(mean - mean.mean()).mean())
    elif gamma == "msd":
        spread = 4.0 * float(var.sum()) * n / max(n - 1, 1)
    else:
        raise InputError(f"gamma={gamma!r} is not known: give scale, auto, msd or a number > 0")
    return 1.0 / spread if spread > 0.0 and math.isfinite(1.0 / spread) else 1.0


@dataclass(frozen=True)
class Kernel:
    """k(x, z). `normalised`: k(x, x) is the same for all x (what a core vector machine needs)."""

    name: ClassVar[str] = ""
    normalised: ClassVar[bool] = False
    form: ClassVar[Form | None] = None

    def resolve(self, X) -> Kernel:
        """The same kernel with every parameter a number, for training data X (n_samples, n_features)."""
        return self

    def block(self, X, Z) -> np.ndarray:
        """k(x_a, z_b) for all rows: float64, shape (rows of X, rows of Z); X and Z both dense or both CSR."""
        raise TypeError(f"kernel {self.name!r} has to implement block(X, Z)")

    def diag(self, X) -> np.ndarray:
        """k(x, x) for each row of X: float64, shape (n_samples,)."""
        raise TypeError(f"kernel {self.name!r} has to implement diag(X)")

    @property
    def params(self) -> dict[str, Any]:
        """Parameters as plain values, as they are stored with a model."""
        return asdict(self)

    @property
    def scalars(self) -> tuple[int, float, float, int]:
        """(form, gamma, coef0, degree) for the compiled loops."""
        p = self.params
        return int(self.form or 0), float(p.get("gamma", 1.0)), float(p.get("coef0", 0.0)), int(p.get("degree", 3))


def _require_finite(coef0: Any) -> None:
    if not isinstance(coef0, int | float | np.number) or not math.isfinite(coef0):
        raise InputError(f"coef0 must be a finite number, not {coef0!r}")


def square_norms(X) -> np.ndarray:
    """|x|^2 of each row, float64 whatever the storage."""
    if sp.issparse(X):
        norms = np.empty(X.shape[0])
        csr_square_norms(X.data, X.indptr, norms)
        return norms
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = x'z."""

    name: ClassVar[str] = "linear"
    form: ClassVar[Form | None] = Form.LINEAR

    def diag(self, X) -> np.ndarray:
        return square_norms(X)


@dataclass(frozen=True)
class _WithGamma(Kernel):
    gamma: str | float = "scale"

    def __post_init__(self) -> None:
        value = self.gamma
        if isinstance(value, str):
            if value not in ("scale", "auto", "msd"):
                try:
                    value = float(value)
                except ValueError:
                    raise InputError(f"gamma={value!r} is not known: give scale, auto, msd or a number > 0") from None
                object.__setattr__(self, "gamma", value)
            else:
                return
        if not (value > 0 and math.isfinite(value)):
            raise InputError(f"gamma must be a finite number > 0 (or scale, auto, msd), not {value}")

    def resolve(self, X) -> Kernel:
        return replace(self, gamma=resolve_gamma(self.gamma, X))


@dataclass(frozen=True)
class RBF(_WithGamma):
    """k(x, z) = exp(-gamma |x - z|^2); the papers' sigma is sqrt(1 / (2 gamma))."""

    name: ClassVar[str] = "rbf"
    normalised: ClassVar[bool] = True
    form: ClassVar[Form | None] = Form.RBF

    def diag(self, X) -> np.ndarray:
        return np.ones(X.shape[0])


@dataclass(frozen=True)
class Laplacian(_WithGamma):
    """k(x, z) = exp(-gamma |x - z|_1)."""

    name: ClassVar[str] = "laplacian"
    normalised: ClassVar[bool] = True
    form: ClassVar[Form | None] = Form.LAPLACIAN

    def diag(self, X) -> np.ndarray:
        return np.ones(X.shape[0])


@dataclass(frozen=True)
class Poly(_WithGamma):
    """k(x, z) = (gamma x'z + coef0)^degree; degree 2 and coef0 0 is the SWAP paper's homogeneous (gamma x'z)^2."""

    degree: int = 3
    coef0: float = 0.0

    name: ClassVar[str] = "poly"
    form: ClassVar[Form | None] = Form.POLY

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.degree, int | float | np.number) or not self.degree >= 1 or self.degree % 1:
            raise InputError(f"degree must be a whole number >= 1, not {self.degree!r}")
        object.__setattr__(self, "degree", int(self.degree))
        _require_finite(self.coef0)

    def diag(self, X) -> np.ndarray:
        _, gamma, coef0, degree = self.scalars
        return (gamma * square_norms(X) + coef0) ** degree


@dataclass(frozen=True)
class Sigmoid(_WithGamma):
    """k(x, z) = tanh(gamma x'z + coef0): not positive semidefinite, so no certificate need be reached."""

    coef0: float = 0.0

    name: ClassVar[str] = "sigmoid"
    form: ClassVar[Form | None] = Form.SIGMOID

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_finite(self.coef0)

    def diag(self, X) -> np.ndarray:
        _, gamma, coef0, _ = self.scalars
        return np.tanh(gamma * square_norms(X) + coef0)


def _asymmetric(X) -> tuple[int, int] | None:
    """Where a square X differs from its transpose by more than rounding, or None; looked at a few rows at a time."""
    largest = float(np.abs(X).max()) if X.shape[0] else 0.0
    step = max(1, (1 << 20) // max(X.shape[0], 1))
    for lo in range(0, X.shape[0], step):
        apart = np.abs(X[lo : lo + step] - X[:, lo : lo + step].T)
        apart = apart.toarray() if sp.issparse(apart) else apart
        if apart.max() > 1e-5 * largest:
            i, j = np.unravel_index(int(apart.argmax()), apart.shape)
            return lo + int(i), int(j)
    return None


@dataclass(frozen=True)
class Precomputed(Kernel):
    """X is the kernel matrix itself: (n, n) to train, (n_test, n) to predict."""

    name: ClassVar[str] = "precomputed"

    def resolve(self, X) -> Kernel:
        if X.shape[0] != X.shape[1]:
            raise InputError(
                f"a precomputed kernel matrix has to be square, not {X.shape[0]} x {X.shape[1]}: "
                "give the kernel values of all pairs of training rows"
            )
        at = _asymmetric(X)
        if at is not None:
            i, j = at
            raise InputError(
                f"a precomputed kernel matrix has to be symmetric: row {i + 1}, column {j + 1} holds {X[i, j]:g}, row "
                f"{j + 1}, column {i + 1} holds {X[j, i]:g} (counted from 1); no solver takes another one"
            )
        return self

    def diag(self, X) -> np.ndarray:
        return np.asarray(X.diagonal(), dtype=np.float64)


@dataclass(frozen=True)
class FromFunction(Kernel):
    """A Python callable f(X, Z) -> (rows of X, rows of Z); not saved with a model: register a Kernel for that."""

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
        return np.array([self.block(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(X.shape[0])])

    @property
    def params(self) -> dict[str, Any]:
        return {"function": getattr(self.function, "__qualname__", repr(self.function))}
