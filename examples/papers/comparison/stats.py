"""Tests over several data sets, as Demsar (JMLR 7, 2006) recommends and the SWAP paper does."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from scipy import stats


class Friedman(NamedTuple):
    """ranks : (k,) mean rank of each method, 1 the smallest value; F : Iman and Davenport's, with p for it."""

    ranks: np.ndarray
    chi2: float
    F: float
    p: float


def friedman(values: np.ndarray) -> Friedman:
    """Friedman's test with Iman and Davenport's correction on (n_sets, k) values, ties at their mean rank.

    chi2 is Demsar's formula from the mean ranks, which leaves ties uncorrected; without ties it is scipy's.
    """
    n, k = values.shape
    ranks = stats.rankdata(values, axis=1).mean(axis=0)
    chi2 = 12.0 * n / (k * (k + 1)) * float(np.square(ranks).sum() - k * (k + 1) ** 2 / 4)
    rest = n * (k - 1) - chi2
    F = (n - 1) * chi2 / rest if rest > 1e-9 else np.inf  # every set agrees
    return Friedman(ranks, chi2, F, float(stats.f.sf(F, k - 1, (k - 1) * (n - 1))))


def wilcoxon(first: np.ndarray, second: np.ndarray, alternative: Literal["less", "greater", "two-sided"]) -> float:
    """Exact p of the signed-rank test on paired values (n,), zeros by Pratt: ranked with the rest, then left out.

    alternative : what `first` is against `second`. The distribution is that of all signs, so ties are exact too.
    """
    difference = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    if not difference.any():
        return 1.0
    size = stats.rankdata(np.abs(difference))[difference != 0]
    doubled = np.rint(2 * size).astype(int)  # ranks are halves
    counts = np.ones(1)
    for rank in doubled:  # how many of the 2^n sign patterns give each sum of positive ranks
        counts = np.convolve(counts, np.r_[1.0, np.zeros(rank - 1), 1.0])
    share = counts / counts.sum()
    seen = int(doubled[difference[difference != 0] > 0].sum())
    less, greater = float(share[: seen + 1].sum()), float(share[seen:].sum())
    return {"less": less, "greater": greater, "two-sided": min(1.0, 2 * min(less, greater))}[alternative]
