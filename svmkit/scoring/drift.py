"""Drift: how far the columns of new rows, and a model's decisions on them, are from those of the training rows."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

BINS = 10  # of equal shares of the training rows
LEAST = 0.5  # count of an empty bin, so that no logarithm is infinite
CONFIDENCE = 0.999  # of a stability index that is reported as more than chance
USUAL = 0.1  # stability index up to which nothing is reported as moved
ONE = 1.0  # count of an empty bin in the shares of the simulation: one gap between sorted numbers
MOST, FEWEST, VALUES = 4_999, 1_999, 1 << 18  # draws of the simulation, and counts that are drawn at a time


class Shift(NamedTuple):
    """How far one column has moved.

    Attributes
    ----------
    ks : float or None
        Kolmogorov and Smirnov's statistic, the largest difference of the distribution functions; None for categories.
    psi : float
        The population stability index, sum (q - p) log(q / p) over ten bins of equal shares of the training rows, or
        over the categories; holes are a separate bin, and so is a number that several tenths of the rows have.
    noise : float
        The quantile of psi at 0.999 if nothing has moved, by simulation. For a psi up to 0.1, which does not count as
        moved, the approximation by chi-squared with one degree of freedom less than bins, times 1 / n + 1 / m for n and
        m rows (Yurdakul, Naranjo: Statistical properties of the population stability index. Journal of Risk Model
        Validation 14, 2020), which is too small for bins of few rows.
    beyond : float
        The share of the new rows outside the range of the training rows, or in categories unknown to these.
    """

    ks: float | None
    psi: float
    noise: float
    beyond: float

    def plain(self) -> dict[str, Any]:
        """Return the values by name."""
        return self._asdict() | {"moved": self.moved}

    @property
    def moved(self) -> bool:
        """Whether the column has moved: by more than chance, and by more than the usual 0.1."""
        return self.psi > max(self.noise, USUAL)


def compare_numbers(then: np.ndarray, now: np.ndarray) -> Shift:
    """Return how far numbers have moved; NaN are holes.

    Parameters
    ----------
    then, now : ndarray of shape (n,) and (m,), float64
        The column in the training rows and in new ones.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.scoring.drift import compare_numbers
    >>> then = np.arange(1000.0)
    >>> shift = compare_numbers(then, then + 500.0)
    >>> shift.ks, shift.beyond, shift.moved
    (0.5, 0.5, True)
    """
    known, new = np.sort(then[~np.isnan(then)]), np.sort(now[~np.isnan(now)])
    holes = np.array([[len(then) - len(known)], [len(now) - len(new)]])
    if not len(known) or not len(new):
        psi, noise = _stability(np.hstack([[[len(known)], [len(new)]], holes]))
        return Shift(None, psi, noise, float(len(new) > 0) * len(new) / max(len(now), 1))
    at = np.concatenate([known, new])
    shares = [np.searchsorted(each, at, side="right") / len(each) for each in (known, new)]
    edges = _edges(known)
    counts = [np.bincount(np.searchsorted(edges, each, side="left"), minlength=len(edges) + 1) for each in (known, new)]
    psi, noise = _stability(np.hstack([np.array(counts), holes]))
    outside = np.count_nonzero((new < known[0]) | (new > known[-1]))
    return Shift(float(np.abs(shares[0] - shares[1]).max()), psi, noise, outside / len(now))


def _edges(known: np.ndarray) -> np.ndarray:
    """Return the upper ends of all bins but the last for sorted numbers.

    A number at which several tenths end has a separate bin, and so has the smallest one if a tenth ends at it: smaller
    numbers were rare or absent, and would hide among its rows.
    """
    edges, n_tenths = np.unique(np.quantile(known, np.arange(1, BINS) / BINS), return_counts=True)
    frequent = edges[(n_tenths > 1) | (edges == known[0])]
    return np.union1d(edges, np.nextafter(frequent, -np.inf))


def compare_categories(then: np.ndarray, now: np.ndarray, n_categories: int) -> Shift:
    """Return how far the shares of categories have moved.

    Parameters
    ----------
    then, now : ndarray of shape (n,) and (m,), int
        The category of each row; `n_categories` is one unknown to training, or a hole.
    n_categories : int
    """
    counts = np.array([np.bincount(each, minlength=n_categories + 1) for each in (then, now)])
    beyond = 0.0 if counts[0, -1] else counts[1, -1] / max(len(now), 1)
    once, twice = (np.count_nonzero(counts[0, :-1] == n) for n in (1, 2))
    unseen = Unseen(once + ONE, once + ONE + 2.0 * twice)
    return Shift(None, *_stability(counts, unseen, pooled=True), float(beyond))


class Unseen(NamedTuple):
    """The training count of unseen categories, and its variance.

    Together, unseen categories are as frequent as the categories of a single row (Good: The population frequencies of
    species and the estimation of population parameters. Biometrika 40, 1953; the variance: Esty, Annals of Statistics
    11, 1983).
    """

    mean: float = 0.0
    variance: float = 0.0


NOTHING = Unseen()


def _stability(counts: np.ndarray, unseen: Unseen = NOTHING, *, pooled: bool = False) -> tuple[float, float]:
    """Return the index of two rows of counts, and its quantile at 0.999 by chance.

    Parameters
    ----------
    counts : ndarray of shape (2, n_bins), int
        The training rows and the new ones in each bin.
    unseen : Unseen, default=NOTHING
        The additional training count of the last bin.
    pooled : bool, default=False
        Whether the shares of the other bins are those of all rows, and both counts are random; otherwise training rows
        have determined the bins, and their counts are given.
    """
    from scipy.stats import chi2

    n_then, n_now = counts.sum(axis=1).tolist()
    psi = float(_index(counts[0], counts[1:], n_now)[0])
    if psi > USUAL:
        both = tuple(counts.sum(axis=0).tolist()) if pooled else None
        return psi, _simulate_noise(tuple(counts[0].tolist()), n_now, unseen, both)
    return psi, float(chi2.ppf(CONFIDENCE, max(np.count_nonzero(counts.any(axis=0)) - 1, 1)) * (1 / n_then + 1 / n_now))


def _index(then: np.ndarray, now: np.ndarray, n_now: Any) -> np.ndarray:
    """Return the index of counts (n_bins,) or (n, n_bins) and each row of other counts (n, n_bins) that sum to
    n_now.
    """
    n_then = np.maximum(then.sum(axis=-1, keepdims=True), 1)
    p, q = np.maximum(then, LEAST) / n_then, np.maximum(now, LEAST) / n_now
    return np.where((then > 0) | (now > 0), (q - p) * np.log(q / p), 0.0).sum(axis=1)


@lru_cache(maxsize=256)
def _simulate_noise(then: tuple[int, ...], n_now: int, unseen: Unseen, both: tuple[int, ...] | None) -> float:
    """Return the quantile at 0.999 of the index of `n_now` new rows if nothing has moved.

    n sorted numbers divide later ones into n + 1 gaps, whose shares are uniform on the simplex: the shares of the bins
    have the Dirichlet distribution of their counts. Rows are drawn from such shares, Poisson numbers for each bin. For
    categories, whose shares are those of `both`, training rows are drawn, too: few of them determine rare ones poorly.
    """
    counts, rng = np.array(then), np.random.default_rng(0)
    rows, unit = np.where(counts > 0, counts, ONE), np.ones(len(counts))
    rows[-1] = max(counts[-1] + unseen.mean, ONE)
    unit[-1] = max(counts[-1] + unseen.variance, ONE) / rows[-1]  # a gamma variable of this mean and variance
    n_draws = max(FEWEST, min(MOST, VALUES // len(counts)))
    found, step = [], max(1, VALUES // len(counts))
    for first in range(0, n_draws, step):
        shares = unit * rng.standard_gamma(rows / unit, size=(min(step, n_draws - first), len(rows)))
        before = counts
        if both is not None:
            shares[:, :-1] = np.array(both[:-1]) * (counts[:-1].sum() / max(sum(both[:-1]), 1))
            before = np.concatenate([rng.poisson(shares[:, :-1]), np.full((len(shares), 1), counts[-1])], axis=1)
        now = rng.poisson(n_now * shares / shares.sum(axis=1, keepdims=True))
        found.append(_index(before, now, np.maximum(now.sum(axis=1, keepdims=True), 1)))
    above = round((1.0 - CONFIDENCE) * (n_draws + 1))  # so many of all draws and the new rows are as high by chance
    return float(np.sort(np.concatenate(found))[-above])
