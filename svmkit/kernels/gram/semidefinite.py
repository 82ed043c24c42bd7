"""Examination of kernel matrices that need not be positive semidefinite: if they are not, no dual value is a bound.

Weak duality needs (c - y beta)'K (c - y beta) >= 0 for every c. A Cholesky factorisation proves it. Larger matrices
than `MOST` are examined by sample, which shows what is indefinite but does not prove what is not.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

import numpy as np

from svmkit.kernels.engines.contract import Engine
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.kernels.rounding import U

MOST = 4000  # samples whose kernel matrix is factorised: 384 MB with its copies, about a second
LEAST = 500  # samples that are examined whatever the memory budget: 6 MB
COPIES = 3  # of the matrix, while it is examined


class Gram(Protocol):
    """What is asked of a `svmkit.kernels.Gram`, which asks for the examination."""

    kernel: Kernel
    engine: Engine
    m: int
    budget: int
    diag: np.ndarray

    def block(self, I: np.ndarray, J: np.ndarray) -> np.ndarray: ...

    def pause_counting(self) -> AbstractContextManager[None]: ...


class Definiteness(NamedTuple):
    """What is known about a kernel matrix K.

    Attributes
    ----------
    shift : float
        K + shift I is positive semidefinite; the shift is of the size of rounding errors.
    flaw : str or None
        Why K cannot count as positive semidefinite; None if it can.
    """

    shift: float = 0.0
    flaw: str | None = None


def examine(gram: Gram) -> Definiteness:
    """Examine the kernel matrix of a Gram, unless its kernel is known to be positive semidefinite.

    Parameters
    ----------
    gram : Gram
        The Gram. Kernel values that are computed here do not count in `Gram.kernel_values`.

    Returns
    -------
    Definiteness
    """
    known = gram.kernel.semidefinite
    if known:
        return Definiteness()
    most = int(np.clip(np.sqrt(gram.budget / (8 * COPIES)), LEAST, MOST))
    every = gram.m <= most
    at = np.arange(gram.m) if every else np.sort(np.random.default_rng(0).choice(gram.m, most, replace=False))
    with gram.pause_counting():
        proved = _factorise(gram, at)
        if every or proved.flaw is not None:
            return proved
        if known is None:
            return proved if _has_sound_minors(gram, proved.shift) else Definiteness(0.0, not_semidefinite(gram))
    name, m = gram.kernel.name, f"{gram.m:,}"
    return Definiteness(
        0.0, f"the {name} kernel need not be positive semidefinite, and {m} samples are too many to prove that it is"
    )


def not_semidefinite(gram: Gram) -> str:
    """Return the flaw of a certificate whose kernel matrix has shown negative curvature."""
    return f"the {gram.kernel.name} kernel is not positive semidefinite on these data"


def _factorise(gram: Gram, at: np.ndarray) -> Definiteness:
    """Return what Cholesky factorisations prove about the kernel matrix of the samples `at`."""
    n, K = len(at), gram.block(at, at)
    K = 0.5 * (K + K.T)
    largest = float(np.abs(K).max())
    if not np.isfinite(largest):
        return Definiteness(0.0, f"the {gram.kernel.name} kernel has values that are not finite")
    # the errors of the values, and the backward error of a factorisation (Higham 2002, theorem 10.7)
    shift = n * gram.engine.error + 2.0 * (n + 2) * U * float(np.abs(np.diag(K)).sum())
    limit = max(shift, float(np.sqrt(gram.engine.unit)) * largest)
    while not _is_definite(K, shift):
        if shift >= limit:
            return Definiteness(0.0, not_semidefinite(gram))
        shift = min(limit, 16.0 * max(shift, 1e-300))
    return Definiteness(2.0 * shift)


def _is_definite(K: np.ndarray, shift: float) -> bool:
    """Return whether K + shift I has a Cholesky factor. K is left as it was."""
    diagonal = np.diag(K).copy()
    np.fill_diagonal(K, diagonal + shift)
    try:
        np.linalg.cholesky(K)
    except np.linalg.LinAlgError:
        return False
    finally:
        np.fill_diagonal(K, diagonal)
    return True


def _has_sound_minors(gram: Gram, slack: float) -> bool:
    """Return whether |k(x, z)|^2 <= k(x, x) k(z, z) for all pairs of samples, of a stored matrix; else True."""
    if not isinstance(gram.kernel, Precomputed):
        return True  # to compute all values would take longer than most solves
    every, root = np.arange(gram.m), np.sqrt(np.maximum(gram.diag, 0.0))
    if gram.diag.min() < -slack:
        return False
    step = max(1, (1 << 22) // gram.m)
    return all(
        bool((np.abs(gram.block(I, every)) <= root[I, None] * root + slack).all())
        for I in (every[lo : lo + step] for lo in range(0, gram.m, step))
    )
