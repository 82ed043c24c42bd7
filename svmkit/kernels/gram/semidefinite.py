"""Examination of kernel matrices that need not be positive semidefinite: if they are not, no dual value is a bound.

Weak duality needs (c - y beta)'K (c - y beta) >= 0 for every c. A Cholesky factorisation proves it, but takes far
longer than a fit: of a larger matrix, a fit examines a sample, which can refute definiteness but not prove it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit.kernels.engines.contract import Engine
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.kernels.rounding import U

MOST = 4000  # samples whose kernel matrix is factorised: 384 MB with its copies, about a second
LEAST = 250  # samples that are examined with any memory budget: 1.5 MB, and a quarter of a fit
COPIES = 3  # of the matrix, while it is examined
FIRST = 64  # samples of a first look: most indefinite matrices show it there
LARGER = 4  # times as many samples in the next look
SHARE = 4.0  # samples that a fit may examine, in units of m^(2/3): n^3 / 3 operations next to those of m^2 values


class Definiteness(NamedTuple):
    """What is known about a kernel matrix K."""

    shift: float = 0.0  # about the size of rounding errors: K + shift I is positive semidefinite
    flaw: str | None = None  # why K cannot count as positive semidefinite


def examine(engine: Engine, diag: np.ndarray, budget: int, *, proof: bool = False) -> Definiteness:
    """Examine a kernel matrix with this diagonal, unless its kernel is known to be positive semidefinite.

    Parameters
    ----------
    engine, diag, budget : Engine, ndarray of float64, shape (m,), int
        The engine of the matrix, its diagonal, and the bytes that the examination may take.
    proof : bool, default=False
        Whether a matrix of unknown definiteness is examined as a whole, even if that takes longer than a fit.
    """
    known, name, m = engine.kernel.semidefinite, engine.kernel.name, engine.n
    if known:
        return Definiteness()
    most = int(np.clip(np.sqrt(budget / (8 * COPIES)), LEAST, MOST))
    if known is None and not proof and m > LEAST:
        most = min(most, int(SHARE * m ** (2 / 3)))
    drawn, size = np.random.default_rng(0).permutation(m), FIRST
    while LARGER * size <= min(m, most):
        looked = _factorise(engine, diag, np.sort(drawn[:size]))
        if looked.flaw is not None:
            return looked
        size *= LARGER
    proved = _factorise(engine, diag, np.sort(drawn[:most]))
    if m <= most or proved.flaw is not None:
        return proved
    if known is None:
        sound = _has_sound_minors(engine, diag, proved.shift)
        return proved if sound else Definiteness(0.0, not_semidefinite(engine.kernel))
    why = f"the {name} kernel need not be positive semidefinite, and {m:,} samples are too many to prove that it is"
    return Definiteness(0.0, why)


def not_semidefinite(kernel: Kernel) -> str:
    """Return the flaw of a certificate whose kernel matrix has shown negative curvature."""
    return f"the {kernel.name} kernel is not positive semidefinite on these data"


def not_finite(kernel: Kernel) -> str:
    """Return the message for an objective that is not a number although its weights are."""
    return f"the {kernel.name} kernel has values that are not finite on these data"


def _factorise(engine: Engine, diag: np.ndarray, at: np.ndarray) -> Definiteness:
    """Return what Cholesky factorisations prove about the kernel matrix of the samples `at`."""
    n = len(at)
    K = engine.square(at, np.empty((n, n)))
    np.fill_diagonal(K, diag[at])
    largest = max(float(K.max()), -float(K.min()), float(np.abs(diag).max()))
    if not np.isfinite(largest):
        return Definiteness(0.0, not_finite(engine.kernel))
    # the errors of the values, by which one half may be off the other, and the backward error of a factorisation
    # (Higham 2002, theorem 10.7)
    diagonal = diag[at]
    shift = n * engine.error + 2.0 * (n + 2) * U * float(np.abs(diagonal).sum())
    limit = max(shift, float(np.sqrt(engine.unit)) * largest)
    while not _is_definite(K, diagonal + shift):
        if shift >= limit:
            return Definiteness(0.0, not_semidefinite(engine.kernel))
        shift = min(limit, 16.0 * max(shift, 1e-300))
        np.copyto(K, K.T, where=np.tri(n, k=-1, dtype=bool))
    return Definiteness(2.0 * shift)


def _is_definite(K: np.ndarray, diagonal: np.ndarray) -> bool:
    """Return whether K with this diagonal has a Cholesky factor, which overwrites its lower half."""
    from scipy.linalg.lapack import dpotrf  # here: importing it takes longer than most fits

    np.fill_diagonal(K, diagonal)
    _, info = dpotrf(K.T, lower=0, clean=0, overwrite_a=1)  # of the transpose, which has the order of Fortran
    return info == 0


def _has_sound_minors(engine: Engine, diag: np.ndarray, slack: float) -> bool:
    """Return, for a stored matrix, whether |k(x, z)|^2 <= k(x, x) k(z, z) for all pairs of samples; else True."""
    if not isinstance(engine.kernel, Precomputed):
        return True  # to compute all values would take longer than most solves
    if diag.min() < -slack:
        return False
    if engine.excess <= slack:  # for a part, the result for the whole is a bound
        return True
    every, root = np.arange(engine.n), np.sqrt(np.maximum(diag, 0.0))
    step = max(1, (1 << 16) // engine.n)  # so that a part of the matrix stays in the cache
    for lo in range(0, engine.n, step):
        I = every[lo : lo + step]
        values = engine.block(engine.take(I), np.empty((len(I), engine.n)))
        if not (np.abs(values, out=values) <= root[I, None] * root + slack).all():
            return False
    return True
