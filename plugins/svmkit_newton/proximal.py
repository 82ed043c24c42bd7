"""The proximal point method on the dual, which gives losses with kinks second derivatives.

beta_(k+1) maximises D(beta) - sum_i r_i (beta_i - c_i)^2 / 2 around the centre c = beta_k (Rockafellar 1976). That is a
problem of the same family: its ridges are larger by r_i and its targets by r_i c_i, so that its losses bend within a
width delta = r_i bound_i of their kinks instead of breaking there. The centres lead to the optimum of the problem
itself, whatever the width; it need not become small.
"""

from __future__ import annotations

import numpy as np

from svmkit.problems.risks.points import LOGISTIC, Points
from svmkit.runtime.compiling import njit

LESS = 0.2  # factor of the width from centre to centre
LEAST_CHANGE = 1e-2  # of P by the first width
LEAST = 1e-9  # width, as a part of the first one, that is not passed
SOLVED, EXACT = 0.1, 1e-2  # gap, as a part of P - D and of P, at which a problem around a centre counts as solved


def shares_of(points: Points) -> np.ndarray:
    """Return r_i of a width of 1, float64 (m,): 0 where the loss has no kink; empty if none has one."""
    rows, below = points
    if below is LOGISTIC or (rows[:, 1].all() and (not below or rows[:, below[0]].all())):
        return np.empty(0)
    bound, is_kinked = np.abs(rows[:, 3]), (rows[:, 3] != 0.0) & (rows[:, 1] == 0.0)
    if below:
        np.maximum(bound, rows[:, below[0] + 2], out=bound)
        is_kinked |= (rows[:, below[0] + 2] > 0.0) & (rows[:, below[0]] == 0.0)
    if not is_kinked.any():
        return np.empty(0)
    finite = is_kinked & (bound < np.inf)
    bound = np.where(finite, bound, np.max(bound, where=finite, initial=0.0))
    return np.divide(1.0, bound, where=is_kinked, out=np.zeros(len(bound)))


@njit(cache=True, error_model="numpy")
def put_centre(exact, below, shares, width, centre, rows):
    """Write the terms of the problem around a centre (m,) to `rows`; `exact`, `below` are its `Points`."""
    for i in range(centre.size):
        r = width * shares[i]
        rows[i, 0] = exact[i, 0] + r * centre[i]
        rows[i, 1] = exact[i, 1] + r
        if below is not None and len(below):
            rows[i, 5] = exact[i, 5] + r


def find_centre(exact: np.ndarray, shares: np.ndarray, width: float, rows: np.ndarray) -> np.ndarray:
    """Return the centre (m,) for which `put_centre` has written `rows`, as far as the shares are not 0.

    Parameters
    ----------
    exact, shares, width, rows : ndarray, ndarray, float, ndarray
        Those of `put_centre`.
    """
    return np.divide(rows[:, 0] - exact[:, 0], width * shares, where=shares > 0.0, out=np.zeros(len(shares)))


@njit(cache=True, error_model="numpy")
def is_solved(excess, merit, difference):
    """Return whether a problem around a centre is solved, by its own P - D and P, and by P - D of the problem."""
    return excess <= min(SOLVED * difference, EXACT * abs(merit))
