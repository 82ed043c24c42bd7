"""Fits of small subproblems with the hinge: those of a fold, for all C, in one call of compiled code.

Around a solve of a few hundred samples Python takes ten times as long as the solve itself, and a search has hundreds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from svmkit.kernels.engines.contract import PANEL
from svmkit.kernels.gram import parse_bytes
from svmkit.kernels.rounding import U
from svmkit.problems.certificate import Certificate
from svmkit.problems.sums import Bounds
from svmkit.training.settings import Method
from svmkit.tune.shared.matrix import SharedMatrix
from svmkit.tune.shared.small_loops import Fits, Parts, fit_parts

MOST = 1500  # samples of a subproblem; of more, the steps of SMO are the most of the work
MOST_OF_PATH, PATH = 600, 8  # samples where there are more Cs than that: rounds and Newton's steps gain along a path
STEPS = 50_000  # after which a solve is left to other code, of `FEW` samples; fewer of more
FEW = 500
VALUE = 8  # bytes of a number


class FoldPart(NamedTuple):
    """One subproblem: its rows of the matrix, what is learnt of them, and what C is multiplied with, each (n,)."""

    rows: np.ndarray
    y: np.ndarray
    weights: np.ndarray


class SmallFit(NamedTuple):
    """The fits of a fold for one C.

    Attributes
    ----------
    decision : ndarray of shape (n_held, n_parts)
        The decisions of the held-out rows.
    gap : float
        The largest relative gap of a certificate.
    steps, n_support : int
        The steps of SMO, and the rows that are support vectors.
    """

    decision: np.ndarray
    gap: float
    steps: int
    n_support: int


def is_small(
    shared: SharedMatrix, method: Method, sizes: Sequence[int], n_C: int, n_held: int, memory: str | int, jobs: int
) -> bool:
    """Return whether `fit_small` takes the subproblems of a fold, and has room for what it needs.

    Parameters
    ----------
    shared, method : SharedMatrix, Method
        The kernel values, and the method of the fits.
    sizes, n_C, n_held : sequence of int, int, int
        The samples of the subproblems, the values of C, and the held-out rows of the fold.
    memory, jobs : str or int, int
        The memory of all fits at a time, with that of the matrix, and their number.
    """
    most = MOST if n_C <= PATH else min(MOST, MOST_OF_PATH)
    if method.loss.name != "hinge" or shared.kernel.semidefinite is not True or not 1 < max(sizes) <= most:
        return False
    each = shared.m * n_held + max(sizes) ** 2
    return VALUE * (shared.m**2 + jobs * each) <= parse_bytes(memory)


def fit_small(
    shared: SharedMatrix, parts: Sequence[FoldPart], held: np.ndarray, Cs: Sequence[float], target: float
) -> list[SmallFit]:
    """Return the fits of the subproblems of a fold for the first of the Cs, as many as are certified.

    Parameters
    ----------
    shared, parts, held : SharedMatrix, sequence of FoldPart, ndarray of int
        The kernel values, the subproblems, and the held-out rows.
    Cs, target : sequence of float, float
        The values of C, ascending, and the relative gap that is asked for.
    """
    sizes, n_C = [len(part.rows) for part in parts], len(Cs)
    joined = Parts(
        np.concatenate([part.rows for part in parts]),
        np.cumsum([0, *sizes]),
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.weights for part in parts]),
    )
    if not 0.0 < Cs[0] * joined.weights.min() <= Cs[-1] * joined.weights.max() < np.inf:
        return []
    shape = n_C, len(parts)
    fits = Fits(
        np.empty((*shape, len(held))),
        np.empty((*shape, 5)),
        np.zeros(shape, np.int64),
        np.zeros((n_C, shared.m), np.bool_),
    )
    bounds = Bounds(shared.error, shared.largest, max(shared.m, PANEL), 0.0, U)
    columns = np.ascontiguousarray(shared.K[:, held])
    most = STEPS * FEW // max(FEW, *sizes)
    fit_parts(shared.K, columns, shared.diag, joined, np.array(Cs), target, most, bounds, fits)
    steps, support = fits.steps.sum(axis=1).tolist(), np.count_nonzero(fits.is_support, axis=1).tolist()
    found = []
    for c, values in enumerate(fits.values.tolist()):
        gaps = [
            Certificate.from_values(primal, dual, errors=(of_p, of_d)).gap for primal, dual, of_p, of_d, _ in values
        ]
        if any(gap is None or gap > target for gap in gaps):
            break
        found.append(SmallFit(fits.decision[c].T, max(gap or 0.0 for gap in gaps), steps[c], support[c]))
    return found
