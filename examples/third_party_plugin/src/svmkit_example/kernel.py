"""The Cauchy kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from svmkit.kernels import InputError, Kernel, resolve_gamma


@dataclass(frozen=True)
class Cauchy(Kernel):
    """k(x, z) = 1 / (1 + gamma |x - z|^2), heavier in the tail than rbf."""

    name: ClassVar[str] = "cauchy"
    normalised: ClassVar[bool] = True  # k(x, x) is the same for all x

    gamma: str | float = "scale"

    def __post_init__(self) -> None:
        if self.gamma in ("scale", "auto", "msd"):
            return
        try:  # the command line hands over text
            gamma = float(self.gamma)
        except ValueError:
            gamma = math.nan
        if not (gamma > 0 and math.isfinite(gamma)):
            raise InputError(f"gamma must be a finite number > 0 (or scale, auto, msd), not {self.gamma!r}")
        object.__setattr__(self, "gamma", gamma)

    def resolve(self, X) -> Cauchy:
        return replace(self, gamma=resolve_gamma(self.gamma, X))

    def block(self, X, Z) -> np.ndarray:
        dots = X @ Z.T  # both dense, or both CSR
        dots = np.asarray(dots.toarray() if sp.issparse(dots) else dots, dtype=np.float64)
        distance = _square_norms(X)[:, None] - 2.0 * dots + _square_norms(Z)[None, :]
        return 1.0 / (1.0 + self.gamma * np.maximum(distance, 0.0))

    def diag(self, X) -> np.ndarray:
        return np.ones(X.shape[0])


def _square_norms(X) -> np.ndarray:
    squares = X.multiply(X) if sp.issparse(X) else np.square(X, dtype=np.float64)
    return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()
