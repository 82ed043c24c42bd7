"""One pass of dual coordinate descent, compiled: what `LinearRisk` improves its bound by and `dcd` repeats."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from svmkit.problems.design import AHEAD, fetch_row, row_add, row_dot


class Pass(NamedTuple):
    """What a pass of coordinate descent left behind.

    n : points that stay in; gain : by how much the objective fell; apart : the points' parts of P - D, each as it was
    met; top, low : largest and smallest projected gradient; born : by how many the weights that are not 0 became more
    """

    n: int
    gain: float
    apart: float
    top: float
    low: float
    born: int


@njit(cache=True, error_model="numpy")
def coordinate_pass(X, bias, points, order, n, beta, v, high, low, sigma=1.0):
    """One pass of dual coordinate descent over order[:n] (Hsieh et al. 2008, Algorithm 3).

    Minimises 1/2 |v|^2 + 1/2 sum ridge beta^2 - sum beta, v = sum beta y x with the bias column, over 0 <= beta <=
    upper, one coordinate at a time, in place; the columns of points (m, 4) are y, upper, ridge and 1 / curvature. A
    weight at a bound whose gradient points outside by more than a threshold (`high` at 0, `low` at upper; inf and
    -inf: never) is left out: those that stay come first in `order`, as they were ordered. Returns a Pass.

    sigma : how much further than by its steps v goes, for the local problem of one worker among several (sigma' of Ma
    et al. 2015), whose objective has sigma times the square of what v has moved by; `points` with the same sigma
    """
    kept, gain, apart, top, bottom, born = 0, 0.0, 0.0, -np.inf, np.inf, 0
    last = np.uintp(v.size - 1)
    for k in range(np.uintp(n)):
        if k + AHEAD < np.uintp(n):
            fetch_row(X, order[k + AHEAD])
        i = np.uintp(order[k])
        y, upper, ridge, inverse = points[i, 0], points[i, 1], points[i, 2], points[i, 3]
        margin = row_dot(X, i, v)
        if bias != 0.0:
            margin += bias * v[last]
        slack = 1.0 - y * margin
        held = beta[i]
        slope = ridge * held - slack
        if ridge == 0.0:
            apart += upper * max(slack, 0.0) - held * slack
        else:  # loss - held slack + ridge held^2 / 2 without a branch: what is on the right side costs only held
            beyond = min(slack, 0.0)
            apart += 0.5 * (slope + beyond) ** 2 / ridge - held * beyond
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
        if abs(slope) > 1e-12:
            beta[i] = min(max(held - slope * inverse, 0.0), upper)
            step = beta[i] - held
            gain -= step * (slope + 0.5 * step / inverse)
            born += (beta[i] > 0.0) - (held > 0.0)
            move = sigma * y * step
            row_add(X, i, move, v)
            if bias != 0.0:
                v[last] += move * bias
    return Pass(kept, gain, apart, top, bottom, born)
