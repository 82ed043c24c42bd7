"""The terms of a loss as compiled loops read them, one row of numbers a sample, and the loss and its derivative there.

A sample whose weight may have one sign only, as of every loss of a margin, takes fewer numbers and a shorter path: for
all others the loops are compiled once more, since numba leaves out what depends on an argument that is None.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit.losses.terms import Terms
from svmkit.runtime.compiling import njit

TINY = 1e-200  # curvature of a row of zeros


class Points(NamedTuple):
    """The terms of m samples for compiled loops.

    Attributes
    ----------
    rows : ndarray of float64, shape (m, 4) or (m, 9)
        With one sign of a sample's weight and no kinks: target, ridge, 1 / curvature of the dual, and the bound that is
        not 0, with its sign. With two signs: target, and ridge, 1 / curvature, bound and kink first of weights >= 0,
        then of weights <= 0; here bounds are >= 0.
    two_sided : True or None
        Whether weights may have either sign.
    """

    rows: np.ndarray
    two_sided: bool | None


class Side(NamedTuple):
    """The terms of a sample on one side of beta = 0, for the size of its weight.

    Attributes
    ----------
    sign : float
        1.0 for weights >= 0, -1.0 for weights <= 0.
    ridge, inverse, bound, kink : float
        As in `Points.rows`.
    """

    sign: float
    ridge: float
    inverse: float
    bound: float
    kink: float


def make_points(terms: Terms, sq: np.ndarray, sigma: float = 1.0) -> Points:
    """Return the terms in the form that compiled loops read.

    Parameters
    ----------
    terms : Terms
        The terms of m samples.
    sq : ndarray of float64, shape (m,)
        Squared norms of the samples, bias included.
    sigma : float, default=1.0
        Factor of the squared norms, as for `coordinate_pass`.

    Returns
    -------
    Points
    """
    up = terms.upper > 0.0
    kinks = np.where(up, terms.kink_up, terms.kink_down)
    if not ((up & (terms.lower < 0.0)).any() or kinks.any()):
        ridge = np.where(up, terms.ridge_up, terms.ridge_down)
        bound = np.where(up, terms.upper, terms.lower)
        return Points(np.column_stack([terms.target, ridge, _inverse(sigma * sq + ridge), bound]), None)
    above = terms.ridge_up, _inverse(sigma * sq + terms.ridge_up), terms.upper, terms.kink_up
    below = terms.ridge_down, _inverse(sigma * sq + terms.ridge_down), -terms.lower, terms.kink_down
    return Points(np.column_stack([terms.target, *above, *below]), True)


def _inverse(curvature: np.ndarray) -> np.ndarray:
    return 1.0 / np.maximum(curvature, TINY)


@njit(cache=True, error_model="numpy")
def find_side(rows, two_sided, i, held, e):
    """Return the side on which the weight `held` of sample i lies, or its residual e while the weight is 0."""
    if two_sided is None:
        bound = rows[i, 3]
        return Side(np.copysign(1.0, bound), rows[i, 1], rows[i, 2], abs(bound), 0.0)
    if held > 0.0 or (held == 0.0 and e > 0.0):
        return Side(1.0, rows[i, 1], rows[i, 2], rows[i, 3], rows[i, 4])
    return Side(-1.0, rows[i, 5], rows[i, 6], rows[i, 7], rows[i, 8])


@njit(cache=True, error_model="numpy")
def opposite_side(rows, i, side):
    """Return the other side of sample i, whose weight may have two signs."""
    if side.sign < 0.0:
        return Side(1.0, rows[i, 1], rows[i, 2], rows[i, 3], rows[i, 4])
    return Side(-1.0, rows[i, 5], rows[i, 6], rows[i, 7], rows[i, 8])


@njit(cache=True, error_model="numpy")
def side_toward(rows, two_sided, i, e):
    """Return the side of sample i toward e, without a branch: for signs that nobody could predict."""
    if two_sided is None:
        return find_side(rows, two_sided, i, 0.0, e)
    k = np.uintp(1 if e > 0.0 else 5)
    return Side(1.0 if e > 0.0 else -1.0, rows[i, k], rows[i, k + 1], rows[i, k + 2], rows[i, k + 3])


@njit(cache=True, error_model="numpy")
def loss_beyond(slack, side):
    """Return the loss on a side at a slack of any sign, which is the residual beyond the kink."""
    beyond = max(slack, 0.0)
    if side.ridge == 0.0:
        return side.bound * beyond
    most = side.ridge * side.bound
    return 0.5 * beyond * beyond / side.ridge if beyond <= most else side.bound * (beyond - 0.5 * most)


@njit(cache=True, error_model="numpy")
def excess_of(slack, held, side):
    """Return loss - held slack + ridge held^2 / 2 >= 0, a sample's part of P - D, for the size `held` of its weight."""
    if side.ridge == 0.0:
        return side.bound * max(slack, 0.0) - held * slack
    beyond, most = min(slack, 0.0), side.ridge * side.bound
    if slack > most:
        return (side.bound - held) * (slack - most + 0.5 * side.ridge * (side.bound - held))
    return 0.5 * (side.ridge * held - slack + beyond) ** 2 / side.ridge - held * beyond


@njit(cache=True, error_model="numpy")
def derivative(rows, two_sided, i, e):
    """Return the derivative of the loss of sample i at the residual e: the dual weight that e suggests."""
    side = side_toward(rows, two_sided, i, e)
    beyond = max(side.sign * e - side.kink, 0.0)
    if side.ridge > 0.0:
        return side.sign * min(beyond / side.ridge, side.bound)
    return side.sign * (side.bound if beyond > 0.0 else 0.0)
