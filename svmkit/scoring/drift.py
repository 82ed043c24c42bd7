"""Drift: how far the columns of new rows, and a model's decisions on them, are from those of the training rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

BINS = 10  # of equal shares of the training rows
LEAST = 0.5  # rows that an empty bin counts as, so that no logarithm is infinite
CONFIDENCE = 0.999  # of a stability index that is said to be more than chance


class Shift(NamedTuple):
    """How far one column has moved.

    Attributes
    ----------
    ks : float or None
        Kolmogorov and Smirnov's statistic, the largest difference of the distribution functions; None of categories.
    psi : float
        The population stability index, sum (q - p) log(q / p) over ten bins of equal shares of the training rows, or
        over the categories; holes are a bin of their own, and so is a number that several tenths of the rows have.
    noise : float
        What psi exceeds with a probability of 0.001 where nothing has moved: psi n m / (n + m) of n and m rows is about
        chi-squared with one degree of freedom less than bins (Yurdakul, Naranjo: Statistical properties of the
        population stability index. Journal of Risk Model Validation 14, 2020).
    beyond : float
        The share of the new rows outside the range of the training rows, or in no category of theirs.
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
        return self.psi > max(self.noise, 0.1)


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

    A number at which several tenths end has a bin of its own, and so has the smallest one where a tenth ends at it:
    what lies below was rare, or never there, and would hide among its rows.
    """
    edges, n_tenths = np.unique(np.quantile(known, np.arange(1, BINS) / BINS), return_counts=True)
    frequent = edges[(n_tenths > 1) | (edges == known[0])]
    return np.union1d(edges, np.nextafter(frequent, -np.inf))


def compare_categories(then: np.ndarray, now: np.ndarray, n_categories: int) -> Shift:
    """Return how far the shares of categories have moved.

    Parameters
    ----------
    then, now : ndarray of shape (n,) and (m,), int
        The category of each row; `n_categories` is one that training does not have, or a hole.
    n_categories : int
    """
    counts = np.array([np.bincount(each, minlength=n_categories + 1) for each in (then, now)])
    beyond = 0.0 if counts[0, -1] else counts[1, -1] / max(len(now), 1)
    return Shift(None, *_stability(counts), float(beyond))


def _stability(counts: np.ndarray) -> tuple[float, float]:
    """Return the index of two rows of counts, and what it exceeds with a probability of 0.001 by chance."""
    from scipy.stats import chi2

    counts = counts[:, counts.any(axis=0)]
    shares = np.maximum(counts, LEAST) / counts.sum(axis=1, keepdims=True)
    psi = float(((shares[1] - shares[0]) * np.log(shares[1] / shares[0])).sum())
    if counts.shape[1] < 2:
        return psi, 0.0
    return psi, float(chi2.ppf(CONFIDENCE, counts.shape[1] - 1) * (1.0 / counts.sum(axis=1)).sum())
