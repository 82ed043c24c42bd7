"""One pass of dual coordinate descent, compiled. `LinearRisk` improves its bounds by it, `dcd` repeats it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit.problems.risks.design import AHEAD, fetch_row, row_add, row_dot
from svmkit.runtime.compiling import njit


class Pass(NamedTuple):
    """Result of a pass of coordinate descent.

    Attributes
    ----------
    n : int
        Number of points that stay in.
    gain : float
        Decrease of the objective.
    gap : float
        Sum of the points' terms of P - D, each at the time when the point was visited.
    top, low : float
        Largest and smallest projected gradient.
    born : int
        Change of the number of nonzero weights.
    """

    n: int
    gain: float
    gap: float
    top: float
    low: float
    born: int


@njit(cache=True, error_model="numpy")
def coordinate_pass(X, bias, points, order, n, beta, v, high, low, sigma=1.0, epsilon=None):
    """Make one pass of dual coordinate descent over the points order[:n].

    The pass minimises 1/2 |v|^2 + 1/2 sum ridge beta^2 - sum beta over 0 <= beta <= upper, one coordinate at a time,
    where v = sum beta y x with the bias column. It changes `order`, `beta` and `v` in place. In regression it minimises
    1/2 |v|^2 + 1/2 sum ridge beta^2 - sum t beta + epsilon sum |beta| over |beta| <= upper, where v = sum beta x.

    Parameters
    ----------
    X : ndarray of shape (m, d) or CSR
        The samples, as in `Design.rows`.
    bias : float
        Value of the bias column; 0.0 for none.
    points : ndarray of float64, shape (m, 4)
        y, or t in regression, upper, ridge and 1 / curvature of each point (`Design.points`).
    order : ndarray of int64
        The points to visit. Afterwards the points that stay in come first, in the same order.
    n : int
        Number of points to visit.
    beta : ndarray of float64, shape (m,)
        The dual weights.
    v : ndarray of float64, shape (width,)
        The weight vector of beta.
    high, low : float
        Thresholds of shrinking. A point drops out if its weight is 0 and its gradient exceeds `high`, or if its weight
        is `upper` and its gradient is below `low`; inf and -inf keep all points.
    sigma : float, default=1.0
        Factor by which v moves further than the steps, for the local problem of one worker among several. `points`
        has to be made with the same sigma.
    epsilon : float or None, default=None
        Half the width of the tube in regression; None for classification, for which it is compiled separately.

    Returns
    -------
    Pass

    References
    ----------
    Hsieh, Chang, Lin, Keerthi, Sundararajan (2008), Algorithm 3; for sigma: Ma et al. (2015), sigma'; for regression:
    Ho, Lin (2012), Algorithm 4. A point of regression is looked at from the side on which its weight lies, or its
    residual while the weight is 0: with y for the side it is a point of classification whose slack is
    y (t - h) - epsilon and whose weight may become negative, beyond a kink of 2 epsilon in the slope.
    """
    kept, gain, gap, top, bottom, born = 0, 0.0, 0.0, -np.inf, np.inf, 0
    last = np.uintp(v.size - 1)
    for k in range(np.uintp(n)):
        if k + AHEAD < np.uintp(n):
            fetch_row(X, order[k + AHEAD])
        i = np.uintp(order[k])
        y, upper, ridge, inverse = points[i, 0], points[i, 1], points[i, 2], points[i, 3]
        margin = row_dot(X, i, v)
        if bias != 0.0:
            margin += bias * v[last]
        held = beta[i]
        if epsilon is None:
            slack, tiny = 1.0 - y * margin, 1e-12
        else:
            slack, tiny = y - margin, 1e-12 * (abs(y) + epsilon)
            y = 1.0 if held > 0.0 or (held == 0.0 and slack > 0.0) else -1.0
            slack, held = y * slack - epsilon, y * held
            other = max(-slack - 2.0 * epsilon, 0.0)  # slack of the loss on the other side
            gap += upper * other if ridge == 0.0 else 0.5 * other * other / ridge
        slope = ridge * held - slack
        if ridge == 0.0:
            gap += upper * max(slack, 0.0) - held * slack
        else:  # loss - held slack + ridge held^2 / 2, written without a branch
            beyond = min(slack, 0.0)
            gap += 0.5 * (slope + beyond) ** 2 / ridge - held * beyond
        if held == 0.0:
            if slope > high:
                continue
            slope = min(slope, 0.0)
        elif held == upper:
            if slope < low:
                continue
            slope = max(slope, 0.0)
        order[np.uintp(kept)] = np.intp(i)
        kept += 1
        top, bottom = max(top, slope), min(bottom, slope)
        if abs(slope) > tiny:
            if epsilon is None:
                beta[i] = min(max(held - slope * inverse, 0.0), upper)
                step = beta[i] - held
            else:
                at = min(held - slope * inverse, upper)
                if at < 0.0:
                    at = max(min(at + 2.0 * epsilon * inverse, 0.0), -upper)
                    gain += 2.0 * epsilon * at
                beta[i] = y * at
                step = at - held
            gain -= step * (slope + 0.5 * step / inverse)
            born += (beta[i] != 0.0) - (held != 0.0)
            move = sigma * y * step
            row_add(X, i, move, v)
            if bias != 0.0:
                v[last] += move * bias
    return Pass(kept, gain, gap, top, bottom, born)
