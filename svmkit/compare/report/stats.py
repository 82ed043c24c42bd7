"""Tests over several data sets, as recommended by Demsar (JMLR 7, 2006) and used in the SWAP paper."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from svmkit.compare.metrics import HIGHER, TITLES, as_shown
from svmkit.compare.results import Results, Row
from svmkit.solver.solution import Status

METRICS = (
    *("fit_s", "test_accuracy", "test_r2", "test_mae", "test_log_loss", "test_metric", "suboptimality", "n_support"),
)
OF_SOME = ("test_r2", "test_mae", "test_log_loss")  # metrics that are left out if no run has a value
ALPHA = 0.05


class Friedman(NamedTuple):
    """Friedman's test: mean ranks (k,), 1 the smallest value; his statistic; Iman and Davenport's F and its p."""

    ranks: np.ndarray
    chi2: float
    F: float
    p: float


@dataclass(frozen=True)
class Tests:
    """Tests of one metric over the sets on which every treatment has a value; without a test the last four are None."""

    metric: str
    sets: list[str]
    treatments: list[str]
    values: np.ndarray  # (n_sets, k): the means over the problems of a set of the means over their runs
    notes: tuple[str, ...]
    friedman: Friedman | None = None  # rank 1 is the best for every metric; p is bounded below for few sets
    wilcoxon: np.ndarray | None = None  # (k, k): two-sided p of each two treatments, Holm's correction over all
    cd: float | None = None  # Nemenyi's critical difference of mean ranks at the level `ALPHA`
    nemenyi: np.ndarray | None = None  # (k, k): p of Nemenyi's test

    @property
    def title(self) -> str:
        """The metric in words."""
        return "support vectors" if self.metric == "n_support" else TITLES[self.metric]

    @property
    def shows_pairs(self) -> bool:
        """Whether Wilcoxon's test shows a difference of two solvers at the level `ALPHA`."""
        return self.wilcoxon is not None and bool((self.wilcoxon < ALPHA).any())

    @property
    def freedom(self) -> tuple[int, int]:
        """Degrees of freedom of F."""
        k = len(self.treatments)
        return k - 1, (k - 1) * (len(self.sets) - 1)


def friedman(values: np.ndarray) -> Friedman:
    """Return Friedman's test for (n_sets, k) values, smaller being better, with Iman and Davenport's correction.

    chi2 is corrected for ties, as in scipy: the mean ranks are compared with the actual spread of the ranks, which
    without ties gives the formula of J. Demsar, "Statistical comparisons of classifiers over multiple data sets", JMLR
    7, 2006, section 3.2.2. F is then that of an analysis of variance of the ranks by sets and treatments.
    """
    from scipy import stats  # here: half a second, and few sets are not tested

    n, k = values.shape
    by_set = stats.rankdata(values, axis=1) - (k + 1) / 2
    means, spread = by_set.mean(axis=0), float(np.square(by_set).sum())
    chi2 = (k - 1) * n**2 * float(np.square(means).sum()) / spread if spread else 0.0  # 0: all values are tied
    rest = n * (k - 1) - chi2
    F = (n - 1) * chi2 / rest if rest > 1e-9 else np.inf  # all sets agree
    return Friedman(means + (k + 1) / 2, chi2, F, float(stats.f.sf(F, k - 1, (k - 1) * (n - 1))))


def least_p(values: np.ndarray) -> float:
    """Return a lower bound of the p of any rank test that is symmetric in treatments, for (n_sets, k) values.

    A set may order its k values in k! / (t1! t2! ...) ways, for ties of t1, t2, ... values. By chance, all combinations
    of the sets' orders are equally likely, and those that differ only by the names of treatments are equally extreme.
    """
    from scipy import special

    k = values.shape[1]
    ties = [np.unique(row, return_counts=True)[1] for row in values]
    ways = np.array([special.gammaln(k + 1) - special.gammaln(tied + 1.0).sum() for tied in ties])
    return math.exp(ways.max() - ways.sum())


def wilcoxon(first: np.ndarray, second: np.ndarray, alternative: Literal["less", "greater", "two-sided"]) -> float:
    """Return the exact p of the signed-rank test on paired values; zeros are ranked and then left out (Pratt).

    `alternative` is the hypothesis about `first` against `second`. The distribution covers all patterns of signs, so
    that the p-values are exact even for few sets and ties, where scipy uses the normal approximation.
    """
    from scipy import stats

    difference = _difference(np.asarray(first, dtype=float), np.asarray(second, dtype=float))
    if not difference.any():
        return 1.0
    size = stats.rankdata(np.abs(difference))[difference != 0]
    doubled = np.rint(2 * size).astype(int)  # ranks are multiples of one half
    share = np.ones(1)
    for rank in doubled:  # the number of the 2^n sign patterns that give each sum of positive ranks
        share = np.convolve(share, np.r_[0.5, np.zeros(rank - 1), 0.5])
    seen = int(doubled[difference[difference != 0] > 0].sum())
    less, greater = float(share[: seen + 1].sum()), float(share[seen:].sum())
    return {"less": less, "greater": greater, "two-sided": min(1.0, 2 * min(less, greater))}[alternative]


def _difference(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return first - second (n,); sizes that differ only by rounding errors are equal, such as 0.9 - 0.8 and 0.8 - 0.7.

    A decimal value is off by up to half a unit in its last place, and so is a difference.
    """
    difference = first - second
    size, error = np.abs(difference), 2.0 * np.spacing(np.maximum(np.abs(first), np.abs(second)))
    size[size <= error] = 0.0
    order = np.argsort(size)
    for before, after in itertools.pairwise(order):
        if size[after] - size[before] <= error[after] + error[before]:
            size[after] = size[before]
    return np.sign(difference) * size


def pairwise(values: np.ndarray) -> np.ndarray:
    """Return the two-sided Wilcoxon p of each two columns of (n_sets, k) values, with Holm's correction, (k, k)."""
    k = values.shape[1]
    above = np.triu_indices(k, 1)
    raw = [wilcoxon(values[:, i], values[:, j], "two-sided") for i, j in zip(*above, strict=True)]
    p = np.eye(k)
    p[above] = correct_by_holm(np.array(raw))
    return np.maximum(p, p.T)


def correct_by_holm(p: np.ndarray) -> np.ndarray:
    """Return p-values (n,) with Holm's correction for n tests (Holm 1979): the k-th smallest counts n - k + 1 times."""
    order = np.argsort(p)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return corrected


def critical_difference(n_sets: int, k: int, alpha: float = ALPHA) -> float:
    """Return Nemenyi's critical difference: mean ranks that differ by more differ significantly at the level alpha."""
    from scipy import stats

    return float(stats.studentized_range.isf(alpha, k, np.inf)) * _rank_error(n_sets, k)


def nemenyi(ranks: np.ndarray, n_sets: int) -> np.ndarray:
    """Return p of Nemenyi's test for each two of the mean ranks (k,) over n_sets sets: (k, k), 1 on the diagonal."""
    from scipy import stats

    k = len(ranks)
    differences = np.abs(ranks[:, None] - ranks[None, :]) / _rank_error(n_sets, k)
    return np.where(np.eye(k, dtype=bool), 1.0, stats.studentized_range.sf(differences, k, np.inf))


def _rank_error(n_sets: int, k: int) -> float:
    return float(np.sqrt(k * (k + 1) / (12.0 * n_sets)))


def over_sets(results: Results) -> list[Tests]:
    """Return the tests of each metric of the comparison, in the order of `METRICS`; those of `OF_SOME` where known."""
    quantities = any(row.values["test_r2"].size for row in results.rows)
    absent = ("test_accuracy",) if quantities else ()
    known = [m for m in METRICS if m not in (*absent, *OF_SOME) or any(row.values[m].size for row in results.rows)]
    return [tests(results, metric) for metric in known if metric in results.spec.metrics]


def tests(results: Results, metric: str) -> Tests:
    """Test a metric over the data sets.

    The unit is the data set: results on several problems of one set depend on each other, so a solver's value is its
    mean over them. A problem counts if each treatment has a value in all its runs.
    """
    rows = {(name, t): results.row(name, t) for name in results.sets for t in results.treatments}
    treatments = [t for t in results.treatments if any(_known(rows[name, t], metric) for name in results.sets)]
    if not treatments:
        return Tests(metric, [], [], np.empty((0, 0)), ("No solver has a value on any set.",))
    notes = [f"{t} is left out: it has no value on any set." for t in results.treatments if t not in treatments]
    lacking = {name: [t for t in treatments if not _known(rows[name, t], metric)] for name in results.sets}
    mixed = [name for name in results.sets if metric == "suboptimality" and len(results.objectives(name)) > 1]
    whole = [name for name in results.sets if not lacking[name] and name not in mixed]
    for name, who in lacking.items():
        if who:
            first = who[0] if len(who) == 1 else f"{who[0]} and {len(who) - 1} more"
            notes.append(f"{name} is left out: no value for all runs of {first} (failed, stopped, not run or unknown).")
    if mixed := [name for name in mixed if not lacking[name]]:
        notes.append(f"Left out, since their solvers minimise different objectives: {', '.join(mixed)}.")
    by_problem = {name: [row.mean(metric) for t in treatments if (row := rows[name, t]) is not None] for name in whole}
    means = {name: np.array(values, dtype=float) for name, values in by_problem.items()}
    of_sets = {name: [means[problem] for problem in of if problem in means] for name, of in results.data_sets.items()}
    sets = [name for name, of in of_sets.items() if of]
    values = np.array([np.mean(of_sets[name], axis=0) for name in sets]).reshape(-1, len(treatments))
    if len(whole) > len(sets):
        notes.append(f"{len(whole)} problems of {len(sets)} sets: a set counts once, by the mean over its problems.")
    if metric == "fit_s" and any(r["set"] in whole and r["status"] == Status.TIME_LIMIT for r in results.records):
        notes.append("Runs that were cut by their time limit count with the time at which they were cut.")
    n, k = values.shape
    if n < 2 or k < 2:
        what = f"{n} set{'s' * (n != 1)} and {k} solver{'s' * (k != 1)}"
        return Tests(metric, sets, treatments, values, (*notes, f"{what}: a test needs two of each."))
    return _test(metric, sets, treatments, values, notes)


def _test(metric: str, sets: list[str], treatments: list[str], values: np.ndarray, notes: list[str]) -> Tests:
    n, k = values.shape
    ranked = np.vectorize(lambda value: as_shown(metric, value))(values) * (-1.0 if metric in HIGHER else 1.0)
    outcome = friedman(ranked)
    outcome = outcome._replace(p=max(outcome.p, least_p(ranked)))  # with few sets F would claim more
    least = 2.0 ** (1 - n)
    if least * (pairs := k * (k - 1) // 2) > ALPHA:
        held = f", and Holm's correction for {pairs} pairs not below {min(1.0, least * pairs):.2g}" if pairs > 1 else ""
        notes = [*notes, f"{n} sets: Wilcoxon cannot go below p = {least:.2g}{held}."]
    p, cd = pairwise(ranked), critical_difference(n, k)
    return Tests(metric, sets, treatments, values, tuple(notes), outcome, p, cd, nemenyi(outcome.ranks, n))


def _known(row: Row | None, metric: str) -> bool:
    """Return whether all requested runs of a row have a value."""
    return row is not None and row.values[metric].size == row.cells
