"""The standard form in which the driver of fully corrective solves takes a problem, and the phases of a solve."""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

import numpy as np

from svmkit.solver.smo.box import Epsilon


class Phase(Enum):
    """What the next step of a solve does."""

    START = auto()  # add the weights of the start to v, then survey all points
    GROWING = auto()  # v belongs to the iterate: exchange points of the working set, then solve for the set
    SOLVING = auto()  # continue SMO on the working set
    SYNCING = auto()  # add changes of weights to v, and survey all points once no change is missing


class StandardForm(NamedTuple):
    """min 1/2 x'Qx + origin'x + sum epsilon_i |x_i| over lower <= x <= upper, where sign'x is constant.

    Where `bias_penalty` is not None, sign'x is free instead and the term bias_penalty (sign'x)^2 / 2 joins the
    objective: that of a regularised bias. SMO then has one more point, the origin of the feature space, which takes up
    the sum.

    Attributes
    ----------
    sign, lower, upper, origin : ndarray of shape (m,)
        Coefficients of the equality constraint, bounds, and the gradient at x = 0.
    signs : ndarray of shape (m,) or None
        Factors of the matrix whose rows change v: sign_i sign_j Q_ij = signs_i signs_j (k_ij + bias), without the
        ridge on the diagonal. None for factors of 1.
    bias : float
        Constant that is added to each kernel value.
    worth : float
        Factor by which a change of the objective above is multiplied to give that of the problem's own objective.
    bias_penalty : float or None, default=None
        See above.
    epsilon : float, svmkit.solver.smo.box.Epsilon or None, default=None
        As in `svmkit.solver.smo.box`; None where epsilon is 0 and the ridge the same above and below 0.
    """

    sign: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    origin: np.ndarray
    signs: np.ndarray | None
    bias: float
    worth: float
    bias_penalty: float | None = None
    epsilon: float | Epsilon | None = None
