"""Dual weights from the decision values of a primal point, where the slope of the loss jumps.

With the hinge loss, a sample inside the margin has the dual weight C, a sample outside it has 0, and the few samples on
the margin have weights in between, which the slacks do not determine. Wrong guesses of these weights make D worthless.
So the samples nearest to the margin get weights by their place in a band around it, and some cheap passes of coordinate
descent over the band improve these weights. D is then about as close to the optimum as P is, whatever the model. For
other losses, the margin consists of the residuals at which the slope jumps.
"""

from __future__ import annotations

from operator import itemgetter

import numpy as np

from svmkit.losses.terms import Terms
from svmkit.problems.risks.linear_problem import LinearProblem

BANDS = (5, 20, 80)  # bands of a fifth of the samples and less: the better the model, the smaller the best band
BAND_PASSES = 2  # the passes over a band may read as many rows of X as this many passes over all samples do
LEAST = 100_000  # rows of X that may always be read: small data sets are cheap
MOST = 400  # largest number of passes over a band
SMALL = 1000  # up to so many samples, all of them are also tried as one band


def guess_weights(problem: LinearProblem, h: np.ndarray) -> np.ndarray:
    """Return dual weights (m,) that decision values suggest with the l2 penalty, scaled if losses are smooth."""
    t = problem.terms
    if ((t.upper > 0.0) & (t.ridge_up == 0.0) | (t.lower < 0.0) & (t.ridge_down == 0.0)).any():
        return weights_near_margin(problem, h)  # slopes jump
    beta = problem.suggest(h)
    v = problem.weights(beta)
    return beta * problem.best_factor(beta, float(v @ v))


def weights_near_margin(problem: LinearProblem, h: np.ndarray) -> np.ndarray:
    """Return the feasible dual weights (m,) with the largest D, for the l2 penalty, among those of several bands around
    the margin; h (m,) are the decision values of a primal point.
    """
    t, m, e = problem.terms, problem.m, problem.terms.target - h
    up = np.where(t.upper > 0.0, np.abs(e - t.kink_up), np.inf)  # distance to a residual beyond which a weight begins
    down = np.where(t.lower < 0.0, np.abs(e + t.kink_down), np.inf)
    distance = np.minimum(up, down)
    least = min(2 * problem.design.width, m // BANDS[0])  # about as many samples as columns lie on the margin
    parts = BANDS if m > SMALL else (1, *BANDS)
    sizes = sorted({max(m // part, least, 1) for part in parts}, reverse=True)
    candidates = []
    for size in sizes:
        inside = np.argpartition(distance, size - 1)[:size]
        width = max(float(distance[inside].max()), 1e-12)
        candidates.append(_descend(problem, blurred_weights(t, e, width), inside))
    return max(candidates, key=itemgetter(0))[1]


def blurred_weights(terms: Terms, e: np.ndarray, width: float) -> np.ndarray:
    """Return the weights (m,) that residuals e (m,) suggest, with jumps blurred to ramps of that half width."""

    def one_side(slack: np.ndarray, bound: np.ndarray, ridge: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            ramp = bound * np.clip(0.5 + slack / (2.0 * width), 0.0, 1.0)
            return np.where(ridge > 0.0, np.minimum(np.maximum(slack, 0.0) / ridge, bound), ramp)

    up = one_side(e - terms.kink_up, terms.upper, terms.ridge_up)
    return up - one_side(-e - terms.kink_down, -terms.lower, terms.ridge_down)


def _descend(problem: LinearProblem, beta: np.ndarray, inside: np.ndarray) -> tuple[float, np.ndarray]:
    """Return D and beta after coordinate descent with shrinking over the samples `inside`; beta changes in place."""
    rng, v = np.random.default_rng(0), problem.weights(beta)
    left, high, low = max(BAND_PASSES * problem.m, LEAST), np.inf, -np.inf
    for _ in range(MOST):
        left -= inside.size
        if left < 0 or not inside.size:
            break
        order = rng.permutation(inside)
        seen = problem.descend(order, beta, v, high, low)
        inside = order[: seen.n]
        high, low = seen.top if seen.top > 0.0 else np.inf, seen.low if seen.low < 0.0 else -np.inf
    return problem.dual(beta, v), beta
