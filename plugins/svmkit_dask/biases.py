"""The search for the bias whose summed loss is least, where the losses are known only as sums over parts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

GRID = 33  # biases that are tried in one pass over the rows
WIDER = 16.0


def least_loss(
    losses: Callable[[np.ndarray], np.ndarray], around: float, width: float, *, passes: int = 64, tol: float = 1e-11
) -> tuple[float, float]:
    """Return a bias of nearly the least summed loss, and that loss.

    The summed loss is convex in the bias. Each pass tries a grid, whose best point and neighbours enclose the minimum;
    a minimum at the end of the grid asks for a wider one.

    Parameters
    ----------
    losses : callable
        Returns the summed loss at each of several biases (k,).
    around, width : float
        Where the minimum probably is, and how far it may be from there, > 0.
    passes : int, default=64
        The most passes.
    tol : float, default=1e-11
        A pass is the last one once convexity proves that no loss is below the least one by more than this part of it.

    Returns
    -------
    bias, loss : float
        Any bias proves an upper bound, so that an inexact one costs nothing but a part of the gap.
    """
    centre, best = around, (around, np.inf)
    for _ in range(passes):
        biases = np.unique(centre + width * np.linspace(-1.0, 1.0, GRID))
        found = losses(biases)
        least = found.min()
        ties = np.flatnonzero(found == least)  # a flat minimum: its middle
        k = int(ties[len(ties) // 2])
        if least <= best[1]:
            best = float(biases[k]), float(least)
        lo, hi = max(0, int(ties[0]) - 1), min(len(biases) - 1, int(ties[-1]) + 1)
        flat = len(ties) > 2  # a convex function that is the same at three points is least there
        if len(biases) < GRID or flat or least - _lower_bound(biases, found, lo, hi) <= tol * least:
            break
        if ties[0] == 0 or ties[-1] == len(biases) - 1:
            width *= WIDER
            centre = float(biases[k])
        else:
            centre, width = 0.5 * float(biases[lo] + biases[hi]), 0.5 * float(biases[hi] - biases[lo])
    return best


def _lower_bound(x: np.ndarray, f: np.ndarray, lo: int, hi: int) -> float:
    """Return what a convex function with the values f (k,) at x, ascending, is at least between x[lo] and x[hi].

    Left of each pair of neighbours, and right of it, the function is above the line through them.
    """
    if lo == 0 or hi == len(x) - 1:
        return -np.inf
    into = (f[lo] - f[lo - 1]) / (x[lo] - x[lo - 1])  # slopes of the lines that enclose the minimum
    out = (f[hi + 1] - f[hi]) / (x[hi + 1] - x[hi])
    if not (into < 0.0 < out):
        return -np.inf
    at = (f[hi] - f[lo] + into * x[lo] - out * x[hi]) / (into - out)
    return float(f[lo] + into * (at - x[lo]))
