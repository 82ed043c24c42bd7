"""Dual weights from the slacks of a linear model under the hinge, where those alone say too little.

With the hinge a sample within its margin has weight C, one beyond it 0, and the few on the margin something in between
that the slacks do not tell: guessed wrong, they make D worthless. So the samples nearest to the margin get a weight by
their place in a band around it, and some cheap passes of coordinate descent among themselves; D is then about as close
to the optimum as P is, whatever the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from svmkit.linear import coordinate_pass

if TYPE_CHECKING:
    from svmkit.risk import LinearProblem

BANDS = (5, 20, 80)  # a fifth of the samples, ...: the better the model, the narrower the band that pays
PASSES = 2  # over all samples are worth as many rows as the passes over a band may read
LEAST = 100_000  # rows that may be read at any rate: small sets are cheap
MOST = 1000  # passes over a band
SMALL = 1000  # samples that are a band together


def weights_near_margin(problem: LinearProblem, slack: np.ndarray) -> np.ndarray:
    """beta (m,) of the largest D among several bands; `slack` (m,) = 1 - y h(x), hinge and l2 penalty."""
    m, distance = problem.m, np.abs(slack)
    least = min(2 * problem.design.width, m // BANDS[0])  # as many as columns lie on the margin, give or take
    parts = BANDS if m > SMALL else (1, *BANDS)
    sizes = sorted({max(m // part, least, 1) for part in parts}, reverse=True)
    found = []
    for size in sizes:
        inside = np.argpartition(distance, size - 1)[:size]
        width = max(float(distance[inside].max()), 1e-12)
        beta = problem.C * np.clip(0.5 + slack / (2.0 * width), 0.0, 1.0)
        found.append(_descended(problem, beta, inside))
    return max(found, key=lambda pair: pair[0])[1]


def _descended(problem: LinearProblem, beta: np.ndarray, inside: np.ndarray) -> tuple[float, np.ndarray]:
    """(D, beta) after coordinate descent with shrinking over the samples `inside`; beta is changed in place."""
    d, rng = problem.design, np.random.default_rng(0)
    points, v = d.points(problem.y, problem.upper, problem.ridge), d.pull(problem.y * beta)
    left, high, low = max(PASSES * problem.m, LEAST), np.inf, -np.inf
    for _ in range(MOST):
        left -= inside.size
        if left < 0 or not inside.size:
            break
        order = rng.permutation(inside)
        seen = coordinate_pass(d.rows, d.bias, points, order, order.size, beta, v, high, low)
        inside = order[: seen.n]
        high, low = seen.top if seen.top > 0.0 else np.inf, seen.low if seen.low < 0.0 else -np.inf
    return float(beta.sum()) - 0.5 * float(v @ v), beta
