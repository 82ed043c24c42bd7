"""Fits of small subproblems with the hinge: all subproblems of some folds, for all C, in one call of compiled code.

For a few hundred samples, the Python code around a solve takes ten times as long as the solve itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from svmkit.kernels.engines.contract import PANEL
from svmkit.kernels.gram import parse_bytes
from svmkit.kernels.rounding import U
from svmkit.problems.sums import Bounds
from svmkit.training.settings import Method
from svmkit.tune.shared.matrix import SharedMatrix
from svmkit.tune.shared.small_loops import WHOLE, Fits, Parts, Waiting, fit_parts

MOST = 600, 1500, 4000  # samples of a subproblem at most: for many Cs, where rounds and leaps gain; for few; for two
MANY, FEW_C = 8, 2  # numbers of Cs: above the first they are many, above the second few
STEPS = 50_000  # steps after which a solve of `FEW` samples is left to other code; fewer for more samples
FEW = 500
VALUE = 8  # bytes of a number


class FoldPart(NamedTuple):
    """One subproblem: its rows of the matrix, their labels, and the factors of C, each (n,)."""

    rows: np.ndarray
    y: np.ndarray
    weights: np.ndarray


class FoldParts(NamedTuple):
    """The subproblems of a fold, and its held-out rows."""

    parts: Sequence[FoldPart]
    held: np.ndarray


class SmallFits(NamedTuple):
    """The fits of some folds, for each C.

    Attributes
    ----------
    decision : ndarray of shape (n_C, n_held, n_parts)
        The decisions of the held-out rows, fold after fold.
    gap : ndarray of shape (n_folds, n_C)
        The largest relative gap of a certificate.
    steps, n_support : ndarray of shape (n_folds, n_C)
        The steps of SMO, and the rows that are support vectors.
    n_certified : ndarray of shape (n_folds,)
        How many values of C, from the first on, are certified.
    """

    decision: np.ndarray
    gap: np.ndarray
    steps: np.ndarray
    n_support: np.ndarray
    n_certified: np.ndarray


def is_small(
    shared: SharedMatrix, method: Method, sizes: Sequence[int], n_C: int, n_decisions: int, memory: str | int, jobs: int
) -> bool:
    """Return whether `fit_small` supports the subproblems of some folds, and has room for its data.

    Parameters
    ----------
    shared, method : SharedMatrix, Method
        The kernel values, and the method of the fits.
    sizes, n_C, n_decisions : sequence of int, int, int
        The samples of the subproblems, the values of C, and the decisions of held-out rows for each C.
    memory, jobs : str or int, int
        The memory of all fits at a time, with that of the matrix, and the number of calls at a time.
    """
    most = MOST[0] if n_C > MANY else MOST[1] if n_C > FEW_C else MOST[2]
    if method.loss.name != "hinge" or shared.kernel.semidefinite is not True or not 1 < max(sizes) <= most:
        return False
    each = 2 * n_C * n_decisions + max(sizes) ** 2
    return VALUE * (shared.m**2 + jobs * each) <= parse_bytes(memory)


def fit_small(shared: SharedMatrix, folds: Sequence[FoldParts], Cs: Sequence[float], target: float) -> SmallFits | None:
    """Return the fits of the subproblems of some folds; None if numbers would leave the range of float64.

    Parameters
    ----------
    shared, folds : SharedMatrix, sequence of FoldParts
        The kernel values, and the folds, all with the same number of subproblems.
    Cs, target : sequence of float, float
        The values of C, ascending, and the requested relative gap.
    """
    every = [part for fold in folds for part in fold.parts]
    sizes, n_C, n_folds, width = [len(part.rows) for part in every], len(Cs), len(folds), len(folds[0].parts)
    joined = Parts(
        np.concatenate([part.rows for part in every]),
        np.cumsum([0, *sizes]),
        np.concatenate([part.y for part in every]),
        np.concatenate([part.weights for part in every]),
        np.concatenate([fold.held for fold in folds]),
        np.cumsum([0, *(len(fold.held) for fold in folds)]),
    )
    least, most = float(joined.weights.min()), float(joined.weights.max())  # Python's floats overflow without a warning
    if not 0.0 < float(Cs[0]) * least <= float(Cs[-1]) * most < np.inf:
        return None
    shape = n_C, len(every)
    fits = Fits(
        np.zeros((n_C, width, len(joined.held))),
        np.empty((*shape, 5)),
        np.empty(shape),
        np.zeros(shape, np.int64),
        np.zeros((n_C, n_folds, shared.m), np.bool_),
    )
    bounds = Bounds(shared.error, shared.largest, max(shared.m, PANEL), 0.0, U)
    most = STEPS * FEW // max(FEW, *sizes)
    at = Waiting(np.zeros(len(every), np.int64), np.zeros(len(every), np.bool_), np.empty(len(joined.rows)))
    room = np.empty(max([n**2 for n in sizes if WHOLE * n <= shared.m], default=0))
    while (at.next < n_C).any():
        rows = shared.rows()
        fit_parts(rows, shared.diag, room, joined, np.array(Cs), target, most, bounds, at, fits)
        shared.compute(np.flatnonzero(rows.wanted))
    shared.is_used |= fits.is_support.any(axis=(0, 1))
    gap = fits.gap.reshape(n_C, n_folds, width).max(axis=2).T
    return SmallFits(
        np.ascontiguousarray(fits.decision.transpose(0, 2, 1)),
        gap,
        fits.steps.reshape(n_C, n_folds, width).sum(axis=2).T,
        np.count_nonzero(fits.is_support, axis=2).T,
        np.logical_and.accumulate(gap <= target, axis=1).sum(axis=1),
    )
