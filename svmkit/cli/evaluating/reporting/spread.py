"""The spread of measures: intervals of 95%, by Wilson for shares, else by a seeded bootstrap of the rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

LEVEL = 0.95
SAMPLES, FEWEST, DRAWS = 1000, 200, 30_000_000  # samples of the rows, the fewest, and about how many drawn rows in all

Interval = tuple[float, float] | None


def wilson(hits: float, n: int) -> Interval:
    """Return the interval of a share of n rows (Wilson, JASA 22, 1927; without a correction for continuity).

    Parameters
    ----------
    hits, n : float, int
        The number of rows that count, and of all rows; the result is None for no rows.
    """
    from scipy.stats import norm

    if not n:
        return None
    z, share = float(norm.ppf(0.5 + LEVEL / 2)), hits / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def bootstrap(measures: Callable[[np.ndarray], dict[str, float]], n: int, seed: int) -> dict[str, Interval]:
    """Return the interval of each of several measures between percentiles of the samples (Efron 1979).

    Parameters
    ----------
    measures : callable
        Takes how often each row was drawn, float64 (n,), and returns measures by name; NaN for undefined ones.
    n, seed : int
        The number of rows, and the seed of the samples.
    """
    rng = np.random.default_rng(seed)
    times = max(FEWEST, min(SAMPLES, DRAWS // max(n, 1)))
    drawn = [measures(np.bincount(rng.integers(n, size=n), minlength=n).astype(np.float64)) for _ in range(times)]
    ends = {}
    for name in drawn[0]:
        values = np.array([sample[name] for sample in drawn])
        values = values[np.isfinite(values)]
        tail = (1 - LEVEL) / 2
        ends[name] = tuple(map(float, np.quantile(values, [tail, 1 - tail]))) if len(values) >= FEWEST // 2 else None
    return ends  # type: ignore[return-value]


def make_auc(decision: np.ndarray, positive: np.ndarray) -> Callable[[np.ndarray], float]:
    """Return a function of row weights (n,) that returns the area under the ROC curve, with ties as half.

    Parameters
    ----------
    decision, positive : ndarray of shape (n,)
        The decisions, and whether a row is of the positive class.
    """
    order = np.argsort(decision, kind="stable")
    ends = np.flatnonzero(np.diff(decision[order])) + 1
    starts, is_positive = np.concatenate([[0], ends]), positive[order]

    def area(weights: np.ndarray) -> float:
        sorted_weights = weights[order]
        ups = np.add.reduceat(sorted_weights * is_positive, starts)
        downs = np.add.reduceat(sorted_weights * ~is_positive, starts)
        pairs = ups.sum() * downs.sum()
        return float((ups * (np.cumsum(downs) - 0.5 * downs)).sum() / pairs) if pairs else float("nan")

    return area
