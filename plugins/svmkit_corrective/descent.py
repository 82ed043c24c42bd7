"""The compiled loops of `svmkit_corrective.landmarks`: a proximal step of the weights of all points."""

from __future__ import annotations

from svmkit.problems.sums import find_level
from svmkit.runtime.compiling import njit


@njit(cache=True, nogil=True, error_model="numpy")
def propose(alpha, h, ridge, change):
    """Set change (m,) to the difference from alpha to the weights of `landmarks.weights_at`; return change'g and
    alpha'g.

    Parameters
    ----------
    alpha, h, ridge
        Weights (m,), half the gradient there without the ridge's part, and the ridge; g = h + ridge alpha.
    change
        The array for the difference.
    """
    level, total, slope, product = find_level(h, ridge), 0.0, 0.0, 0.0
    for i in range(h.size):
        slack = level - h[i]
        change[i] = slack / ridge[i] if slack > 0.0 else 0.0
        total += change[i]
    for i in range(h.size):
        g = h[i] + ridge[i] * alpha[i]
        change[i] = change[i] / total - alpha[i]
        slope += change[i] * g
        product += alpha[i] * g
    return slope, product


@njit(cache=True, nogil=True, error_model="numpy")
def move(alpha, h, ridge, change, moved, slope):
    """Move along `change`, whose image without the ridge is `moved`, to the minimum or the end of the change.

    Parameters
    ----------
    alpha, h, ridge, change, moved
        As for `propose`, and the product of A without the ridge with `change`; alpha and h are changed.
    slope
        change'g, below 0.
    """
    curvature = 0.0
    for i in range(h.size):
        curvature += change[i] * (moved[i] + ridge[i] * change[i])
    part = min(1.0, -slope / curvature) if curvature > 0.0 else 1.0
    for i in range(h.size):
        alpha[i] += part * change[i]
        h[i] += part * moved[i]
