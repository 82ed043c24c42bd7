"""The fit of a calibration to decisions on samples that were not trained on."""

from __future__ import annotations

import numpy as np

from svmkit.model.calibration import Calibration, Isotonic, Sigmoid

STEPS = 100  # Newton steps at most; ten are typical
ACCURACY = 1e-9  # bound of the gradient, per unit of weight and for decisions of unit size
RIDGE = 1e-12  # added to the Hessian
SHORTEST = 1e-10  # step size at which the line search gives up
ENOUGH = 1e-4  # share of the decrease predicted by the slope
ROUNDING = 1e-14  # relative rounding error of a sum of logarithms
EDGE = 1e-2  # least width of a line, relative to the range of decisions (at most 1) or their distance to the median
FLAT = 1e-6  # of the median decision, or of itself: decisions that are all closer are one, up to rounding
LARGEST = 1e300  # decisions beyond it have no lines between them
VALUES = 1 << 20  # values of the lines at knots that are held at a time


def fitted_calibration(
    kind: str, decision: np.ndarray, positive: np.ndarray, weights: np.ndarray, ends: np.ndarray
) -> Calibration:
    """Fit a calibration to each column of decisions; it never decreases with the decision.

    Both methods fit Platt's targets (N+ + 1) / (N+ + 2) and 1 / (N- + 2), with the summed weights N+ and N- of the two
    sides, instead of 1 and 0: no probability is 0 or 1, so that the log loss of a later sample is finite.

    Parameters
    ----------
    kind : {"sigmoid", "isotonic"}
        The method.
    decision, positive, weights : ndarray of shape (n,), float64, bool, float64
        The decisions of all columns, one column after the other; which samples are positive; and their weights, > 0.
    ends : ndarray of shape (n_columns,), int
        Where the samples of each column end. A column without samples gets the probability 1/2.
    """
    n_columns, sizes = len(ends), np.diff(ends, prepend=0)
    known = np.flatnonzero(sizes)
    starts = (ends - sizes)[known]
    pro = np.add.reduceat(np.where(positive, weights, 0.0), starts)
    con = np.add.reduceat(np.where(positive, 0.0, weights), starts)
    above, below = (pro + 1.0) / (pro + 2.0), 1.0 / (con + 2.0)
    targets = np.where(positive, np.repeat(above, sizes[known]), np.repeat(below, sizes[known]))
    if kind == "sigmoid":
        A, B = np.zeros(n_columns), np.zeros(n_columns)
        A[known], B[known] = _sigmoids(decision, targets, weights, starts, sizes[known])
        return Sigmoid(A, B)
    nothing = np.zeros(1), np.full(1, 0.5)
    knots = [nothing] * n_columns
    for column, lo, size in zip(known.tolist(), starts.tolist(), sizes[known].tolist(), strict=True):
        at = slice(lo, lo + size)
        knots[column] = _knots(decision[at], targets[at], weights[at])
    return Isotonic(
        np.concatenate([x for x, _ in knots]),
        np.concatenate([share for _, share in knots]),
        np.cumsum([len(x) for x, _ in knots], dtype=np.int64),
    )


def _sigmoids(
    decision: np.ndarray, targets: np.ndarray, weights: np.ndarray, starts: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return A and B of each column, which minimise the cross entropy over A <= 0.

    Newton's method with backtracking (Lin, Lin, Weng 2007, algorithm 1), for all columns at once. The problem is
    convex: if the unconstrained A is positive, the constrained one is 0, with the mean of the targets as the
    probability.
    """
    from scipy.special import expit

    def sum_runs(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, starts)

    def each(values: np.ndarray) -> np.ndarray:
        return np.repeat(values, sizes)

    def entropy(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        f = z * each(A) + each(B)  # log(1 + e^f) - (1 - t) f, written so that no exponential overflows
        return sum_runs(weights * (np.logaddexp(0.0, -np.abs(f)) + np.maximum(f, 0.0) - (1.0 - targets) * f))

    total, hoped = sum_runs(weights), sum_runs(weights * targets)
    size = np.maximum.reduceat(np.abs(decision), starts)
    size[size == 0.0] = 1.0
    z = decision / each(size)
    A, B = np.zeros(len(starts)), np.log((total - hoped) / hoped)
    value, stuck = entropy(A, B), np.zeros(len(starts), dtype=np.bool_)
    for _ in range(STEPS):
        p = expit(-(z * each(A) + each(B)))
        curvature, pull = weights * p * (1.0 - p), weights * (targets - p)
        g_A, g_B = sum_runs(z * pull), sum_runs(pull)
        open_ = (np.maximum(np.abs(g_A), np.abs(g_B)) > ACCURACY * total) & ~stuck
        if not open_.any():
            break
        h_AA, h_BB = sum_runs(z * z * curvature) + RIDGE, sum_runs(curvature) + RIDGE
        h_AB = sum_runs(z * curvature)
        determinant = h_AA * h_BB - h_AB * h_AB
        d_A = np.where(open_, (h_AB * g_B - h_BB * g_A) / determinant, 0.0)
        d_B = np.where(open_, (h_AB * g_A - h_AA * g_B) / determinant, 0.0)
        slope, step = g_A * d_A + g_B * d_B, np.where(open_, 1.0, 0.0)
        allowed = value * (1.0 + ROUNDING)
        while True:
            found = entropy(A + step * d_A, B + step * d_B)
            long = (found > allowed + ENOUGH * step * slope) & (step > 0.0)
            if not long.any():
                break
            step[long] *= 0.5
            step[step < SHORTEST] = 0.0
        stuck |= open_ & (step == 0.0)
        A, B, value = A + step * d_A, B + step * d_B, np.where(step > 0.0, found, value)
    falls = A > 0.0
    A[falls], B[falls] = 0.0, np.log((total - hoped) / hoped)[falls]
    with np.errstate(over="ignore"):
        return np.maximum(A / size, -np.finfo(np.float64).max), B


def _knots(decision: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the decisions and probabilities at the knots of the isotonic regression of one column.

    The line from one probability to the next is at least `EDGE` wide. Rounding makes the decisions of duplicate rows
    differ slightly, and differently in each batch: a steeper line would give such rows very different probabilities.
    """
    from scipy.optimize import isotonic_regression

    x, at = np.unique(decision, return_inverse=True)
    total = np.bincount(at, weights)
    mean = np.bincount(at, weights * targets) / total
    share = np.clip(isotonic_regression(mean, weights=total).x, 0.0, 1.0)
    rise = np.diff(share)
    steps = np.flatnonzero(rise > 0.0)
    middle = x[np.searchsorted(np.cumsum(total), 0.5 * total.sum())]
    flat = FLAT * max(abs(middle), FLAT)
    if not len(steps) or not flat < x[-1] / 2.0 - x[0] / 2.0 < LARGEST:
        return x[:1], np.array([mean @ total / total.sum()])
    low, high, rise = x[steps], x[steps + 1], rise[steps]
    least = np.maximum(EDGE * np.maximum(min(x[-1] - x[0], 1.0), np.abs(low - middle)), flat)
    wider = np.maximum(least - (high - low), 0.0) / 2.0
    low, high = low - wider, high + wider
    knots = np.unique(np.concatenate([low, high]))
    parts = np.array_split(knots, 1 + len(knots) * len(low) // VALUES)
    risen = [np.clip((part[:, None] - low) / (high - low), 0.0, 1.0) @ rise for part in parts]
    return knots, np.clip(np.maximum.accumulate(share[0] + np.concatenate(risen)), 0.0, 1.0)
